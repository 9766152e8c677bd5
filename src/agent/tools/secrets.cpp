// Secrets live in one map, for the time of one call.

#include "perdure/agent/secrets.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fstream>
#include <ios>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "perdure/agent/environment.hpp"
#include "perdure/agent/toolbox.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/guarded.hpp"
#include "perdure/core/json.hpp"
#include "perdure/runtime/tool.hpp"
#include "tools/scrubbing.hpp"
#include "tools/secret_ref.hpp"

namespace perdure {
namespace {

using Values = SecretValues;

// Fills in what `spec` may have; fails for what cannot be read.
class Filling {
 public:
  Filling(const ToolSpec& spec, const Secrets& secrets) : spec_(spec), secrets_(secrets) {}

  Result<Json> fill(const Json& value) {
    if (const auto* name = secret_name(value); name != nullptr && may_have(*name)) {
      auto secret = secrets_.read(*name);
      if (!secret) return forward(secret);
      values_[*name] = *secret;
      return Json(*std::move(secret));
    }
    if (const auto* array = value.as_array()) {
      Json::Array filled;
      for (const Json& each : *array) {
        auto one = fill(each);
        if (!one) return one;
        filled.push_back(*std::move(one));
      }
      return Json(std::move(filled));
    }
    const auto* object = value.as_object();
    if (object == nullptr) return value;
    Json::Object filled;
    for (const auto& [key, member] : *object) {
      auto one = fill(member);
      if (!one) return one;
      filled.emplace_back(key, *std::move(one));
    }
    return Json(std::move(filled));
  }
  [[nodiscard]] const Values& values() const { return values_; }

 private:
  [[nodiscard]] bool may_have(const std::string& name) const {
    return std::ranges::find(spec_.secrets, name) != spec_.secrets.end();
  }

  const ToolSpec& spec_;
  const Secrets& secrets_;
  Values values_{};
};

// What a tool throws is recorded as well, and may hold what it was given.
ToolOutcome run_filled(const ToolSpec& spec, const Secrets& secrets, const CallContext& context) {
  Filling filling(spec, secrets);
  auto args = filling.fill(context.args);
  if (!args) return Failed{args.error().message};
  const CallContext inner{.session = context.session,
                          .call = context.call,
                          .args = *args,
                          .key = context.key,
                          .fence = context.fence,
                          .attempt = context.attempt,
                          .deadline = context.deadline,
                          .stop = context.stop,
                          .progress = scrubbed_progress(
                              context.progress, [values = filling.values()] { return values; })};
  auto outcome = guarded("the tool's `run`", [&] { return spec.tool.run(inner); });
  if (!outcome) return Doubtful{scrubbed(outcome.error().message, filling.values())};
  return scrubbed_outcome(*std::move(outcome), filling.values());
}

Verdict verify_filled(const ToolSpec& spec, const Secrets& secrets, const VerifyContext& context) {
  Filling filling(spec, secrets);
  auto args = filling.fill(context.args);
  if (!args) return CannotTell{args.error().message};
  const VerifyContext inner{.args = *args,
                            .key = context.key,
                            .dispatched_at = context.dispatched_at,
                            .attempt = context.attempt,
                            .twins = context.twins,
                            .deadline = context.deadline,
                            .stop = context.stop};
  auto verdict = guarded("the tool's `verify`", [&] { return spec.tool.verify(inner); });
  if (!verdict) return CannotTell{scrubbed(verdict.error().message, filling.values())};
  return scrubbed_verdict(*std::move(verdict), filling.values());
}

}  // namespace

Result<Secrets> Secrets::of(std::vector<SecretSpec> specs, Environment environment) {
  Secrets secrets;
  secrets.environment_ = std::move(environment);
  for (SecretSpec& spec : specs) {
    if (spec.name.empty() || spec.variable.empty() == spec.file.empty()) {
      return fail(ErrorCode::invalid_argument,
                  fmt::format("the secret \"{}\" must have a name, and be a variable or a file",
                              spec.name));
    }
    const std::string name = spec.name;
    if (!secrets.by_name_.emplace(name, std::move(spec)).second) {
      return fail(ErrorCode::invalid_argument, fmt::format("there are two secrets \"{}\"", name));
    }
  }
  return secrets;
}

Result<SecretValues> Secrets::read_all() const {
  SecretValues values;
  for (const auto& [name, spec] : by_name_) {
    auto value = read(name);
    if (!value && value.error().code != ErrorCode::not_found) return forward(value);
    if (value) values.emplace(name, *std::move(value));
  }
  return values;
}

Result<std::string> Secrets::read(const std::string& name) const {
  std::optional<std::string> value;
  const auto found = by_name_.find(name);
  if (found != by_name_.end() && !found->second.variable.empty()) {
    auto read = read_variable(environment_, found->second.variable);
    if (!read) return forward(read);
    value = *std::move(read);
  } else if (found != by_name_.end()) {
    std::ifstream file(found->second.file, std::ios::binary);
    if (file) value = std::string(std::istreambuf_iterator<char>(file), {});
    if (value && value->ends_with('\n')) value->pop_back();
    if (value && value->ends_with('\r')) value->pop_back();
  }
  if (!value || value->empty()) {
    return fail(ErrorCode::not_found, fmt::format("the secret \"{}\" is not set", name), name);
  }
  return *std::move(value);
}

Result<ToolSpec> with_secrets(ToolSpec spec, const Secrets& secrets) {
  if (spec.secrets.empty() || spec.tool.answer) return spec;
  for (const std::string& name : spec.secrets) {
    if (!secrets.has(name)) {
      return fail(ErrorCode::invalid_argument,
                  fmt::format("tool {}: there is no secret \"{}\"", spec.tool.name, name),
                  spec.tool.name);
    }
  }
  const ToolSpec inner = spec;
  spec.tool.run = [inner, secrets](const CallContext& context) {
    return run_filled(inner, secrets, context);
  };
  if (inner.tool.verify) {
    spec.tool.verify = [inner, secrets](const VerifyContext& context) {
      return verify_filled(inner, secrets, context);
    };
  }
  return spec;
}

}  // namespace perdure
