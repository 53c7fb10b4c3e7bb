// Counterexamples as files that `assay replay` runs: JSON, numbers as hexadecimal floats.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>

#include "properties/harness/property.hpp"

namespace assay::tools {

struct stored_case {
  const properties::property* checked = nullptr;
  properties::test_case value;
};

/// {"shape": [1, 2, 1], "values": ["0x1.8p+1", "-inf"]}
nlohmann::ordered_json to_json(const core::tensor& t);
nlohmann::ordered_json to_json(const core::tensors& all);
nlohmann::ordered_json to_json(const stored_case& c);

/// Reads a case strictly; the error names the file and what is wrong in it. The formula of a case is added as the
/// formula of this process, if the process has none (formula/formula_source.hpp).
core::result<stored_case> read_case(const std::filesystem::path& path);

}  // namespace assay::tools
