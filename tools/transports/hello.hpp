// The parts of a candidate's greeting that say in which formats it computes, and what it takes. Each function throws
// `malformed`. The offered operations are read before: names of other operations would have no effect, and are refused.
#pragma once

#include <nlohmann/json.hpp>

#include "properties/harness/implementation.hpp"

namespace assay::transports {

/// hello.compute: for each storage dtype a precision, or one for each stage.
void parse_compute(const nlohmann::json& value, properties::description& to);
/// hello.parameters: for each operation the parameter names of its function; returns them. Settings without a parameter
/// have standard values.
std::map<std::string, std::vector<std::string>> parse_parameters(const nlohmann::json& value,
                                                                 properties::description& to);
/// hello.domain: for each operation the values of inputs, settings and axes.
void parse_domains(const nlohmann::json& value, properties::description& to);
/// The member "relations" of a domain: relations between sizes of axes, such as ["n <= m", "2 r = d"].
std::vector<properties::axis_relation> parse_relations(const nlohmann::json& value, const core::operation& op,
                                                       const std::string& where);

}  // namespace assay::transports
