// Attributes of calls as JSON objects.
#pragma once

#include <nlohmann/json.hpp>

#include "reference/core/operation.hpp"
#include "reference/core/result.hpp"

namespace assay::formats {

nlohmann::ordered_json to_json(const core::attribute& value);
nlohmann::ordered_json to_json(const core::attributes& all);

/// A boolean, a string, an integer that int64 holds, or a finite number; otherwise an error that shows the value.
core::result<core::attribute> attribute_from(const nlohmann::json& value);
/// The members of an object, each read by attribute_from; the error names the member.
core::result<core::attributes> attributes_from(const nlohmann::json& object);

/// All attributes of an operation: those that are set in the object, and the others with their standard values. Later
/// attributes (attribute_declaration::is_later) with their standard values are left out. It is an error, too, if an
/// attribute of the object is not declared or has a value that its declaration excludes.
core::result<core::attributes> declared_attributes_from(const core::operation& op, const nlohmann::json& object);

}  // namespace assay::formats
