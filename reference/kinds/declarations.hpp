// Settings of an operation, one on each line. The first value is the standard one.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "reference/core/operation.hpp"

namespace assay::reference {

/// A setting that chooses one of several conventions, or true or false.
template <class Value>
core::attribute_declaration choice_of(std::string name, const std::vector<Value>& values, std::string meaning) {
  return {.name = std::move(name),
          .meaning = std::move(meaning),
          .standard = values.front(),
          .values = {values.begin(), values.end()}};
}
inline core::attribute_declaration choice(std::string name, const std::vector<std::string>& values,
                                          std::string meaning) {
  return choice_of(std::move(name), values, std::move(meaning));
}
inline core::attribute_declaration flag(std::string name, bool standard, std::string meaning) {
  return choice_of<bool>(std::move(name), {standard, !standard}, std::move(meaning));
}

/// A number of the definition within [low, high], with the values that tests draw; `axis` is the axis whose size it is.
inline core::attribute_declaration integer(std::string name, const std::vector<std::int64_t>& values,
                                           core::value_domain within, std::string meaning, std::string axis = {}) {
  core::attribute_declaration a = choice_of(std::move(name), values, std::move(meaning));
  a.low = within.low, a.high = within.high, a.axis = std::move(axis);
  return a;
}
inline core::attribute_declaration real(std::string name, const std::vector<double>& values, core::value_domain within,
                                        std::string meaning) {
  core::attribute_declaration a = choice_of(std::move(name), values, std::move(meaning));
  a.low = within.low, a.high = within.high;
  return a;
}

/// A setting that was added with a later list (core::list_version).
inline core::attribute_declaration since(core::list_version list, core::attribute_declaration a) {
  a.since = list;
  return a;
}
/// A setting of which one value was added later than the setting.
inline core::attribute_declaration with_later_value(core::attribute value, core::list_version since,
                                                    core::attribute_declaration a) {
  a.later_values.emplace_back(std::move(value), since);
  return a;
}

}  // namespace assay::reference
