// What laws of operations with settings share: a case under another setting, and the numbers of one output.
#pragma once

#include "properties/laws/measured.hpp"

namespace assay::properties {

inline test_case with_setting(const test_case& c, const char* name, core::attribute value) {
  test_case other = c;
  other.call.attributes[name] = std::move(value);
  return other;
}
template <class T>
const T& setting(const test_case& c, const char* name) {
  return core::setting<T>(c.call.attributes, name);
}

/// The numbers of one output and their allowed errors.
struct numbers {
  numbers(const measured_call& call, const char* output)
      : x(call.outputs.at(output).values.storage()), allowed(call.allowed.at(output)) {}
  const xt::xarray<double>::storage_type& x;
  const std::vector<double>& allowed;
};

}  // namespace assay::properties
