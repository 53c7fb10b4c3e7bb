// Attributes of calls as JSON objects.
#pragma once

#include <nlohmann/json.hpp>

#include "reference/core/operation.hpp"
#include "reference/core/result.hpp"

namespace assay::formats {

nlohmann::ordered_json to_json(const core::attribute& value);
nlohmann::ordered_json to_json(const core::attributes& all);

/// A boolean, a string, an integer that int64 holds, or a finite number; otherwise an error that says what it was.
core::result<core::attribute> attribute_from(const nlohmann::json& value);
/// An object of such values; the error names the member.
core::result<core::attributes> attributes_from(const nlohmann::json& object);

/// All attributes of an operation, from those set in such an object, except later attributes with their standard
/// values. An error also where an attribute is not declared or has a value that does not exist.
core::result<core::attributes> declared_attributes_from(const core::operation& op, const nlohmann::json& object);

}  // namespace assay::formats
