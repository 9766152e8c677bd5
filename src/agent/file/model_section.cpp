// `model`: who answers.

#include <string>
#include <utility>

#include "file/fields.hpp"
#include "file/reading.hpp"
#include "file/sections.hpp"
#include "perdure/agent/agent_file.hpp"
#include "perdure/agent/providers.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/json.hpp"
#include "perdure/core/raw_json.hpp"

namespace perdure::agent_file {
namespace {

ProviderKind provider_from(const std::string& word) {
  if (word == "anthropic") return ProviderKind::anthropic;
  return word == "openai" ? ProviderKind::openai : ProviderKind::scripted;
}

void read_script(Reading& reading, const Fields& fields, ModelSpec& model) {
  std::string path;
  fields.read("script", path);
  model.script = reading.content("/model/script", path);
  if (model.script.empty()) return;
  if (auto made = make_scripted(model.script); !made) {
    reading.found("/model/script", "model.script: " + path + ": " + made.error().message);
  }
}

}  // namespace

ModelSpec read_model(Reading& reading) {
  const Fields fields = Fields(reading.value()).object("model");
  ModelSpec model;
  model.provider = provider_from(fields.word("provider", ""));
  fields.read("id", model.id);
  fields.read("base_url", model.base_url);
  if (const Json* parameters = fields.find("parameters")) {
    model.parameters = RawJson::from_value(*parameters);
  }
  fields.object("key").read("env", model.key_variable);
  fields.object("key").read("file", model.key_file);
  fields.read("ca_file", model.ca_file);
  const Fields timeouts = fields.object("timeouts");
  timeouts.read("connect", model.timeouts.connect);
  timeouts.read("first_byte", model.timeouts.first_byte);
  timeouts.read("idle", model.timeouts.idle);
  fields.read("retry_for", model.retry_for);
  fields.read("response_bytes_max", model.response_bytes_max);
  for (const auto& [name, value] : fields.members("headers")) {
    model.headers.emplace_back(name, *value.as_string());
  }
  fields.read("tokens_out_max", model.tokens_out_max);
  fields.read("cache_hints", model.cache_hints);
  fields.read("version", model.version);
  fields.read("sends_reasoning", model.sends_reasoning);
  fields.read("system_role", model.system_role);
  fields.read("cap_parameter", model.cap_parameter);
  if (model.provider == ProviderKind::scripted) {
    model.id = "scripted";  // By which a price is found.
    read_script(reading, fields, model);
  }
  return model;
}

}  // namespace perdure::agent_file
