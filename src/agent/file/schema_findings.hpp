// What the schema of agent files says about one, at the places of the file.

#pragma once

#include "file/findings.hpp"
#include "file/yaml_document.hpp"

namespace perdure::agent_file {

/// Empty: the document is of the form that sections.hpp reads.
[[nodiscard]] Findings schema_findings(const YamlDocument& document);

}  // namespace perdure::agent_file
