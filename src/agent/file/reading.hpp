// One agent file while it is read: what is found wrong on the way, and files that it refers to.

#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "file/findings.hpp"
#include "file/yaml_document.hpp"
#include "perdure/agent/agent_file.hpp"

namespace perdure::agent_file {

/// All references outlive it.
class Reading {
 public:
  Reading(const YamlDocument& document, std::filesystem::path folder, const FileReader& read)
      : document_(document), folder_(std::move(folder)), read_(read) {}

  void found(std::string_view pointer, std::string what) {
    if (findings_.size() == findings_max) return;
    findings_.push_back({spot_at(document_, pointer).place.at, std::move(what)});
  }

  /// The file's content; empty, and found to be wrong, if it cannot be had.
  [[nodiscard]] std::string content(std::string_view pointer, const std::string& path);

  /// The files whose content was asked for.
  [[nodiscard]] const std::vector<std::string>& sources() const { return sources_; }
  [[nodiscard]] const Json& value() const { return document_.value; }
  [[nodiscard]] Findings findings() && { return std::move(findings_); }

 private:
  const YamlDocument& document_;
  std::filesystem::path folder_;
  const FileReader& read_;
  Findings findings_;
  std::vector<std::string> sources_;
};

}  // namespace perdure::agent_file
