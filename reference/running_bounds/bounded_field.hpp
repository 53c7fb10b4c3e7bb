// The inputs and outputs of the kernels of running bounds. They are plain arrays, so that code for an instruction set
// instantiates nothing that other code could be linked to.
#pragma once

#include <cstddef>
#include <cstdint>

namespace assay::reference::running {

/// A floating-point format as the kernels need it.
struct target_format {
  double smallest_normal, largest;
  double last_place;  ///< the last place of numbers in [1, 2): 2^(1 - precision)
  bool is_f64;
};

/// An output. For each element: the truth rounded to the format, a remainder `low`, and a bound `radius` on the
/// distance of the truth from their sum. Where the bound does not decide how the truth rounds, `radius` has a minus
/// sign (also at 0) and the bound is -radius.
struct bounded_field {
  double *value, *low, *radius;
};

/// Lanes lie side by side: lane k = b d + j is feature j of batch row b of arrays [batch, tokens, features].
struct lanes_shape {
  std::size_t batch, tokens, features;
};

/// The recurrence s_i = LSE(a_i + s_{i-1}, h_i), with decays a, or with gate logits g and a = log sigmoid(g). Inputs
/// are -inf, or below `largest_input` by magnitude; gate logits may also be +inf. Other lanes give no result, but do
/// not disturb the rest.
struct scan_call {
  lanes_shape shape;
  const double *decay, *h, *s0;
  target_format format;
  bounded_field s;
};
inline constexpr double largest_input = 0x1p900;

/// The adjoint of the recurrence, as in algorithms/adjoint.hpp. Cotangents are below `largest_input` by magnitude. The
/// lanes of grad_s0 are [batch, features].
struct adjoint_call {
  lanes_shape shape;
  const double *decay, *h, *s0, *grad_s, *grad_s_n;
  target_format format;
  bounded_field grad_decay, grad_h, grad_s0;
};

/// The derivative of the recurrence along a direction, as in algorithms/forward_derivative.hpp. Tangents are below
/// `largest_input` by magnitude.
struct tangent_call {
  lanes_shape shape;
  const double *decay, *h, *s0, *tangent_decay, *tangent_h, *tangent_s0;
  target_format format;
  bounded_field tangent_s;
};

/// The kernels in one arithmetic, for one kind of decay.
struct kernels_of_decay {
  void (*scan)(const scan_call&);
  void (*adjoint)(const adjoint_call&);
  void (*tangent)(const tangent_call&);
};

/// The kernels in one arithmetic.
struct kernels_of_arithmetic {
  kernels_of_decay log_p_kernels, gate_logit_kernels;
  /// For tests: log(1 + e^z) = sum + low to within `error`, and e^z, for numbers z + z_low; `count` is a multiple of
  /// 32.
  void (*softplus)(std::size_t count, const double* z, const double* z_low, double* power, double* sum, double* low,
                   double* error);
};

/// The kernels of an instruction set.
struct kernel_table {
  const char* name;
  kernels_of_arithmetic in_doubles, in_two_doubles;
  /// Whether all numbers are below `largest_input` by magnitude, or equal to `besides`.
  bool (*are_bounded)(const double* x, std::size_t count, double besides);
  /// Sets whether each radius decides, which its sign says, and replaces the radius by its magnitude.
  void (*settle)(double* radius, std::uint8_t* decided, std::size_t count);
};

}  // namespace assay::reference::running
