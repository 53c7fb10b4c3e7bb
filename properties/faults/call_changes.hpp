// The changes that faults make to the tensors and settings of a call.
#pragma once

#include <string>
#include <string_view>

#include "properties/harness/implementation.hpp"

namespace assay::properties {

/// Replaces every element x of the named tensor, if there is one, by f(x), rounded to its dtype.
template <class F>
void change_each(core::tensors& all, std::string_view name, F f) {
  const auto found = all.find(std::string(name));
  if (found == all.end()) return;
  for (double& x : found->second.values.storage()) x = core::round_to(found->second.type, f(x));
}

inline void negate(core::tensors& all, std::string_view name) {
  change_each(all, name, [](double x) { return -x; });
}
inline void set_to_zero(core::tensors& all, std::string_view name) {
  change_each(all, name, [](double) { return 0.0; });
}
/// Rounds all elements to the dtype `held`.
inline void round_each(core::tensors& all, std::string_view name, core::dtype held) {
  change_each(all, name, [held](double x) { return core::round_to(held, x); });
}

/// Rounds all positions, so that large ones become equal.
inline void round_positions(request& call, core::dtype held) {
  for (const core::tensor_declaration& d : call.operation->inputs)
    if (d.role == core::input_role::position) round_each(call.inputs, d.name, held);
}

/// The value of a setting, or its standard value if the call does not set it. Precondition: the operation has the
/// setting.
template <class T>
T setting_of(const request& call, std::string_view name) {
  return core::setting<T>(core::completed(*call.operation, call.attributes), name);
}

/// Replaces the value of a setting by f(value), if the operation has the setting.
template <class T, class F>
void change_setting(request& call, const char* name, F f) {
  if (call.operation->attribute(name) != nullptr) call.attributes[name] = T(f(setting_of<T>(call, name)));
}
template <class T>
void set_setting(request& call, const char* name, T value) {
  change_setting<T>(call, name, [&](const T&) { return value; });
}

}  // namespace assay::properties
