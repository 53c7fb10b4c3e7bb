// Code that laws of operations with settings share: a case under another setting.
#pragma once

#include "properties/laws/approximate.hpp"

namespace assay::properties {

inline test_case with_setting(const test_case& c, const char* name, core::attribute value) {
  test_case other = c;
  other.call.attributes[name] = std::move(value);
  return other;
}
/// The same for several settings at once.
inline test_case with_settings(const test_case& c, const core::attributes& values) {
  test_case other = c;
  for (const auto& [name, value] : values) other.call.attributes[name] = value;
  return other;
}
template <class T>
const T& setting(const test_case& c, const char* name) {
  return core::setting<T>(c.call.attributes, name);
}

}  // namespace assay::properties
