// Secrets live in one map, for the time of one call.

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <functional>
#include <ios>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <variant>
#include <vector>

#include "core/api/guarded.hpp"
#include "core/api/text.hpp"
#include "core/api/wording.hpp"
#include "perdure/agent/provider.hpp"
#include "perdure/agent/tools.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/json.hpp"
#include "perdure/runtime/tool.hpp"
#include "tools/process/program.hpp"
#include "tools/secret_ref.hpp"

namespace perdure {

namespace {

constexpr std::size_t scrubbed_bytes_min = 4;

std::string percent_encoded(std::string_view text) {
  std::string encoded;
  for (const char c : text) {
    const bool is_plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
                          (c >= 'A' && c <= 'Z') ||
                          std::string_view("-._~").find(c) != std::string_view::npos;
    encoded += is_plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return encoded;
}

// Base64 of a text in the middle of another: three alignments, less what its neighbours decide.
std::vector<std::string> base64_forms(const std::string& secret) {
  std::vector<std::string> forms;
  for (const std::size_t before : {0U, 1U, 2U}) {
    const std::string padded = std::string(before, '\0') + secret;
    const std::string encoded = to_base64(padded.substr(0, padded.size() / 3 * 3));
    const std::size_t skipped = before == 0 ? 0 : 4;
    if (encoded.size() >= skipped + 8) forms.push_back(encoded.substr(skipped));
  }
  return forms;
}

// The longest first: a secret may be a part of another's form.
std::vector<std::pair<std::string, std::string>> forms_of(const SecretValues& secrets) {
  std::vector<std::pair<std::string, std::string>> forms;
  for (const auto& [name, value] : secrets) {
    if (value.size() < scrubbed_bytes_min) continue;
    forms.emplace_back(value, name);
    forms.emplace_back(percent_encoded(value), name);
    const std::string escaped = Json(value).text();
    forms.emplace_back(escaped.substr(1, escaped.size() - 2), name);
    for (const std::string& form : base64_forms(value)) {
      forms.emplace_back(form, name);
      std::string url = form;
      std::ranges::replace(url, '+', '-');
      std::ranges::replace(url, '/', '_');
      forms.emplace_back(std::move(url), name);
    }
  }
  std::ranges::sort(forms,
                    [](const auto& a, const auto& b) { return a.first.size() > b.first.size(); });
  return forms;
}

// Of a secret with several: a search of single lines would miss it. None of any other.
std::vector<std::string> lines_of(const std::string& secret) {
  std::vector<std::string> lines;
  if (secret.find_first_of("\r\n") == std::string::npos) return lines;
  std::size_t at = 0;
  while (at < secret.size()) {
    const std::size_t end = std::min(secret.find_first_of("\r\n", at), secret.size());
    if (end > at) lines.push_back(secret.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

void replace_all(std::string& text, const std::string& form, const std::string& by) {
  for (std::size_t at = text.find(form); at != std::string::npos;
       at = text.find(form, at + by.size())) {
    text.replace(at, form.size(), by);
  }
}

// A secret that was cut: its beginning at the end of a text, or its end after what was left out.
void replace_cut(std::string& text, const std::string& form, const std::string& by) {
  const auto cut_at = [&](std::size_t end) {
    for (std::size_t size = std::min(form.size() - 1, end); size >= scrubbed_bytes_min; --size) {
      if (std::string_view(text).substr(end - size, size) != std::string_view(form).substr(0, size))
        continue;
      text.replace(end - size, size, by);
      return;
    }
  };
  const auto cut_after = [&](std::size_t begin) {
    const std::size_t size_max = std::min(form.size() - 1, text.size() - begin);
    for (std::size_t size = size_max; size >= scrubbed_bytes_min; --size) {
      if (!std::string_view(form).ends_with(std::string_view(text).substr(begin, size))) continue;
      text.replace(begin, size, by);
      return;
    }
  };
  cut_at(text.size());
  // From the last to the first: what is replaced does not move what is still to be looked at.
  std::size_t at = text.rfind(cut_end);
  while (at != std::string::npos) {
    cut_after(at + cut_end.size());
    const std::size_t begin = text.rfind(cut_begin, at);
    if (begin == std::string::npos || begin == 0) return;
    cut_at(begin);
    at = text.rfind(cut_end, begin - 1);
  }
}

std::string& words_of(Succeeded& done) { return done.content; }
template <class Said>
std::string& words_of(Said& said) {
  return said.why;
}

constexpr std::string_view withheld =
    "(withheld: the secrets that must not be in it could not be read)";

using ReadValues = std::function<Result<SecretValues>()>;

// What a tool throws is recorded as well, and may hold what it was given. What became of a call
// stays true where its words cannot be searched.
ToolOutcome run_scrubbed(const Tool& tool, const CallContext& context, const ReadValues& values) {
  auto ran = guarded("the tool's `run`", [&] { return tool.run(context); });
  ToolOutcome outcome = ran ? *std::move(ran) : Doubtful{std::move(ran.error().message)};
  const auto whole = guarded("the secrets", values);
  std::visit(
      [&](auto& said) {
        std::string& words = words_of(said);
        words = whole ? scrubbed(std::move(words), *whole) : std::string(withheld);
      },
      outcome);
  return outcome;
}

Verdict verify_scrubbed(const Tool& tool, const VerifyContext& context, const ReadValues& values) {
  auto asked = guarded("the tool's `verify`", [&] { return tool.verify(context); });
  Verdict verdict = asked ? *std::move(asked) : CannotTell{std::move(asked.error().message)};
  const auto whole = guarded("the secrets", values);
  auto* landed = std::get_if<Landed>(&verdict);
  auto* unclear = std::get_if<CannotTell>(&verdict);
  if (landed == nullptr && unclear == nullptr) return verdict;
  std::string& words = landed != nullptr ? landed->content : unclear->why;
  words = whole ? scrubbed(std::move(words), *whole) : std::string(withheld);
  return verdict;
}

// Passes `progress` each line without the secrets of that moment, nor a line of one that has
// several. A line that cannot be searched is dropped; the tool continues.
ToolProgress scrubbed_progress(const ToolProgress& progress, ReadValues values) {
  if (!progress.is_watched()) return progress;
  return ToolProgress([progress, values = std::move(values)](std::string_view line) {
    const auto whole = guarded("the secrets", values);
    if (!whole) return;
    std::string text = scrubbed(std::string(line), *whole);
    for (const auto& [name, value] : *whole) {
      for (const std::string& part : lines_of(value))
        text = scrubbed(std::move(text), {{name, part}});
    }
    progress(text);
  });
}

}  // namespace

std::string scrubbed(std::string text, const SecretValues& secrets) {
  for (const auto& [form, name] : forms_of(secrets)) {
    const std::string by = fmt::format("[secret {}]", name);
    replace_all(text, form, by);
    replace_cut(text, form, by);
  }
  return text;
}

ToolSpec without_secrets(ToolSpec spec, ReadValues values) {
  if (spec.tool.answer) return spec;
  const Tool inner = spec.tool;
  spec.tool.run = [inner, values](const CallContext& context) {
    CallContext quiet = context;
    quiet.progress = scrubbed_progress(context.progress, values);
    return run_scrubbed(inner, quiet, values);
  };
  if (!inner.verify) return spec;
  spec.tool.verify = [inner, values = std::move(values)](const VerifyContext& context) {
    return verify_scrubbed(inner, context, values);
  };
  return spec;
}

namespace {

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
  [[nodiscard]] const SecretValues& values() const { return values_; }

 private:
  [[nodiscard]] bool may_have(const std::string& name) const {
    return std::ranges::find(spec_.secrets, name) != spec_.secrets.end();
  }

  const ToolSpec& spec_;
  const Secrets& secrets_;
  SecretValues values_{};
};

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
  return run_scrubbed(spec.tool, inner, [&] { return Result<SecretValues>(filling.values()); });
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
  return verify_scrubbed(spec.tool, inner, [&] { return Result<SecretValues>(filling.values()); });
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

Result<ToolSpec> with_secrets(ToolSpec spec, std::vector<SecretSpec> secrets,
                              Environment environment) {
  auto known = Secrets::of(std::move(secrets), std::move(environment));
  return known ? with_secrets(std::move(spec), *known) : forward(known);
}

// Keys, from where people keep them.

namespace {

bool is_printable(char c) { return c > ' ' && c < '\x7f'; }

}  // namespace

Result<ApiKey> ApiKey::from_text(std::string text, std::string source) {
  ApiKey key;
  key.source_ = std::move(source);
  text = std::string(trimmed(text));
  key.text_ = std::move(text);
  if (key.text_.empty()) return fail(ErrorCode::invalid_argument, "the key is empty");
  if (!std::ranges::all_of(key.text_, is_printable)) {
    return fail(ErrorCode::invalid_argument, "the key has characters that no key has");
  }
  return key;
}

std::string ApiKey::scrub(std::string text) const {
  if (!text_.empty()) replace_all(text, text_, "[key]");
  return text;
}

Result<ApiKey> api_key_from_environment(const Environment& environment, const std::string& name) {
  auto read = read_variable(environment, name);
  if (!read) return forward(read);
  std::optional<std::string>& found = *read;
  if (!found || found->empty()) {
    return fail(ErrorCode::not_found, "the environment has no " + name + "; set it to your key",
                name);
  }
  auto key = ApiKey::from_text(*std::move(found), name);
  if (!key) return fail(key.error().code, key.error().message + " (from " + name + ")", name);
  return key;
}

Result<ApiKey> api_key_from_file(const std::filesystem::path& path) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) {
    return fail(ErrorCode::not_found, "there is no key file " + path.string(), path.string());
  }
  std::ifstream file(path);
  std::string line;
  if (!std::getline(file, line)) {
    return fail(ErrorCode::unavailable, "cannot read a key from " + path.string(), path.string());
  }
  auto key = ApiKey::from_text(std::move(line), path.string());
  if (!key) return fail(key.error().code, key.error().message + " (from " + path.string() + ")");
  return key;
}

}  // namespace perdure
