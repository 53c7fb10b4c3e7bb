// The parts of a candidate's greeting that say what it computes in, and what it takes. Each throws `malformed`. The
// operations that it offers are read already: names of others would narrow nothing, and are refused.
#pragma once

#include <nlohmann/json.hpp>

#include "properties/harness/implementation.hpp"

namespace assay::transports {

/// hello.compute: by storage dtype a precision, or one for each stage.
void parse_compute(const nlohmann::json& value, properties::description& to);
/// hello.parameters: by operation what its function has names for, which it returns. Settings that are not among them
/// have standard values.
std::map<std::string, std::vector<std::string>> parse_parameters(const nlohmann::json& value, properties::description& to);
/// hello.domain: by operation the values of inputs, settings and axes.
void parse_domains(const nlohmann::json& value, properties::description& to);
/// The member "relations" of a domain: how sizes of axes go together, such as ["n <= m", "2 r = d"].
std::vector<properties::axis_relation> parse_relations(const nlohmann::json& value, const core::operation& op,
                                                       const std::string& where);

}  // namespace assay::transports
