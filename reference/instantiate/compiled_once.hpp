// What the formulas of all encodings call and what does not depend on them is compiled once for each reading, in
// compiled_once.cpp, and not for each encoding: a fifth of the time that an encoding takes.
#pragma once

#include "reference/derived_vjp.hpp"
#include "reference/readings/all.hpp"

#define ASSAY_COMPILED_ONCE(prefix, ...)                                       \
  prefix template fields<__VA_ARGS__> lift<__VA_ARGS__>(const core::tensors&); \
  prefix template arguments<__VA_ARGS__> lift<__VA_ARGS__>(const core::request&);
#define ASSAY_GRADIENTS_COMPILED_ONCE(prefix, ...) \
  ASSAY_COMPILED_ONCE(prefix, __VA_ARGS__)         \
  prefix template class tape<__VA_ARGS__>;         \
  prefix template struct lifted_inputs<__VA_ARGS__>;
#define ASSAY_ALL_COMPILED_ONCE(prefix)                   \
  ASSAY_GRADIENTS_COMPILED_ONCE(prefix, ball<double>)     \
  ASSAY_GRADIENTS_COMPILED_ONCE(prefix, ball<two_double>) \
  ASSAY_GRADIENTS_COMPILED_ONCE(prefix, enclosure)        \
  ASSAY_GRADIENTS_COMPILED_ONCE(prefix, rounded)          \
  ASSAY_GRADIENTS_COMPILED_ONCE(prefix, tracked)          \
  ASSAY_COMPILED_ONCE(prefix, tangent)

namespace assay::reference {
ASSAY_ALL_COMPILED_ONCE(extern)
}  // namespace assay::reference
