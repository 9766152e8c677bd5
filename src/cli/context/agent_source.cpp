// An option wins over the file, and is remembered with it: otherwise a resume would find a changed
// agent.

#include "context/agent_source.hpp"

#include <array>

#include "agent/api/agent_file.hpp"
#include "context/command_context.hpp"
#include "core/api/json_text.hpp"
#include "perdure/agent/tools.hpp"
#include "store/api/seam.hpp"

namespace perdure::cli {
namespace {

constexpr std::string_view anthropic_key = "ANTHROPIC_API_KEY";
constexpr std::string_view openai_key = "OPENAI_API_KEY";
constexpr std::string_view anthropic_url = "ANTHROPIC_BASE_URL";
constexpr std::string_view openai_url = "OPENAI_BASE_URL";

bool has_variable(const Environment& environment, std::string_view name) {
  const auto value = environment(std::string(name));
  return value && !value->empty();
}

// The members of a source, as a session remembers them.
constexpr std::array<std::pair<std::string_view, std::string AgentSource::*>, 4> source_members = {
    {{"file", &AgentSource::file},
     {"model", &AgentSource::model},
     {"provider", &AgentSource::provider},
     {"base_url", &AgentSource::base_url}}};

// The one provider of both whose variable is set; empty: both are, or none.
std::optional<ProviderKind> only_one_with(const Environment& environment,
                                          std::string_view anthropic, std::string_view openai) {
  const bool has_anthropic = has_variable(environment, anthropic);
  if (has_anthropic == has_variable(environment, openai)) return std::nullopt;
  return has_anthropic ? ProviderKind::anthropic : ProviderKind::openai;
}

std::optional<ProviderKind> provider_named(std::string_view name) {
  if (name == "anthropic") return ProviderKind::anthropic;
  if (name == "openai") return ProviderKind::openai;
  if (name == "scripted") return ProviderKind::scripted;
  return std::nullopt;
}

Result<ProviderKind> guess_provider(const AgentSource& source, const Environment& environment) {
  if (const auto named = provider_named(source.provider)) return *named;
  if (!source.base_url.empty()) return ProviderKind::openai;
  if (source.model.starts_with("claude")) return ProviderKind::anthropic;
  for (const std::string_view beginning : {"gpt-", "chatgpt", "o1", "o3", "o4"}) {
    if (source.model.starts_with(beginning)) return ProviderKind::openai;
  }
  if (const auto served = only_one_with(environment, anthropic_url, openai_url)) return *served;
  if (const auto keyed = only_one_with(environment, anthropic_key, openai_key)) return *keyed;
  return misuse(
      fmt::format("whose model {} is, neither its name says nor the environment, which has {} of "
                  "{} and {}: say --provider anthropic|openai, or --base-url",
                  source.model, has_variable(environment, anthropic_key) ? "both" : "none",
                  anthropic_key, openai_key));
}

Result<std::string> script_text(const std::string& path) {
  auto text = read_agent_text(path);
  if (!text && text.error().code == ErrorCode::not_found) {
    return fail(ErrorCode::not_found, fmt::format("the script {} is not there", path));
  }
  if (text && text->size() > agent_file_bytes_max) {
    return misuse(fmt::format("the script {} is too large: it has {} bytes at most", path,
                              agent_file_bytes_max));
  }
  return text;
}

void take_server(AgentSource& source, ProviderKind kind, const Environment& environment) {
  const bool is_anthropic = kind == ProviderKind::anthropic;
  const auto url = environment(std::string(is_anthropic ? anthropic_url : openai_url));
  if (!url || url->empty()) return;
  source.base_url = *url;
  source.provider = is_anthropic ? "anthropic" : "openai";
}

// Another provider's key and parameters are not this one's.
Result<void> set_model(ModelSpec& model, AgentSource& source, const Environment& environment) {
  auto kind = guess_provider(source, environment);
  if (!kind) return forward(kind);
  if (*kind == ProviderKind::scripted) {
    auto script = script_text(source.model);
    if (!script) return forward(script);
    model = {.provider = *kind, .id = "scripted", .script = *std::move(script)};
    return {};
  }
  const std::string_view key = *kind == ProviderKind::anthropic ? anthropic_key : openai_key;
  if (model.provider != *kind || model.id.empty()) model = {.provider = *kind};
  model.id = source.model;
  if (source.base_url.empty() && model.http.base_url.empty())
    take_server(source, *kind, environment);
  if (!source.base_url.empty()) model.http.base_url = source.base_url;
  // A server of one's own may want no key.
  const bool needs_key = model.http.base_url.empty() || has_variable(environment, key);
  if (model.key_variable.empty() && model.key_file.empty() && needs_key) model.key_variable = key;
  return {};
}

std::optional<AgentSource> source_among(const Json& members) {
  const Json* agent = members.find("agent");
  if (agent == nullptr || !agent->is_object()) return std::nullopt;
  AgentSource source;
  for (const auto& [name, part] : source_members) source.*part = text_in(*agent, name);
  if (source.file.empty() && source.model.empty()) return std::nullopt;
  return source;
}

}  // namespace

AgentSource source_of(const Invocation& given, const std::string& file, const std::string& folder) {
  AgentSource source{.file = file.empty() ? file : whole_path(file, folder),
                     .model = given.find("model").value_or(""),
                     .provider = given.find("provider").value_or(""),
                     .base_url = given.find("base-url").value_or("")};
  if (source.provider == "scripted" && !source.model.empty()) {
    source.model = whole_path(source.model, folder);
  }
  return source;
}

std::optional<AgentSource> source_in(const std::string& metadata) {
  const auto parsed = parse_json(metadata);
  return parsed ? source_among(*parsed) : std::nullopt;
}

std::optional<AgentSource> imported_source_in(const std::string& metadata) {
  const auto parsed = parse_json(metadata);
  const Json* imported = parsed ? parsed->find(imported_member) : nullptr;
  return imported != nullptr ? source_among(*imported) : std::nullopt;
}

std::string source_words(const AgentSource& source) {
  std::string words = source.file;
  const auto add = [&](std::string_view link, const std::string& word, std::string_view end = "") {
    if (!word.empty()) words += fmt::format("{}{}{}", words.empty() ? "" : link, word, end);
  };
  add(" with ", source.model);
  add(" (", source.provider, ")");
  add(" at ", source.base_url);
  return words;
}

std::string with_source(const std::string& metadata, const AgentSource& source) {
  Json agent = Json::Object{};
  for (const auto& [name, part] : source_members) {
    if (!(source.*part).empty()) agent.set(name, source.*part);
  }
  auto parsed = parse_json(metadata);
  Json whole = parsed && parsed->is_object() ? *std::move(parsed) : Json(Json::Object{});
  whole.set("agent", std::move(agent));
  return whole.text();
}

Result<AgentFile> load_agent(AgentSource& source, const Environment& environment) {
  AgentFile file{.name = "prompt", .folder = "/"};
  if (!source.file.empty()) {
    auto read = read_agent_file(source.file);
    if (!read && read.error().code == ErrorCode::not_found) {
      return fail(
          ErrorCode::not_found,
          fmt::format("the agent file {} is not there: look at its path; a session continues "
                      "under another file by --agent FILE",
                      source.file));
    }
    if (!read) return read;
    file = *std::move(read);
  }
  if (source.model.empty()) {
    if (!source.base_url.empty()) file.model.http.base_url = source.base_url;
    return file;
  }
  if (auto set = set_model(file.model, source, environment); !set) return forward(set);
  return file;
}

}  // namespace perdure::cli
