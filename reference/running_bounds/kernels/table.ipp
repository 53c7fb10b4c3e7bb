// The kernels of an instruction set. The order of these files matters: each uses what the files before it define.
// clang-format off
#include "reference/running_bounds/kernels/vector.ipp"
#include "reference/running_bounds/kernels/lanes.ipp"
#include "reference/running_bounds/kernels/rounding.ipp"
#include "reference/running_bounds/kernels/softplus.ipp"
#include "reference/running_bounds/kernels/two_doubles.ipp"
#include "reference/running_bounds/kernels/scan.ipp"
#include "reference/running_bounds/kernels/weights.ipp"
#include "reference/running_bounds/kernels/decay.ipp"
#include "reference/running_bounds/kernels/adjoint.ipp"
#include "reference/running_bounds/kernels/tangent.ipp"
// clang-format on

// For tests: the results of softplus() for `count` numbers z + z_low; `count` is a multiple of the lanes of a pack.
template <class Arithmetic>
void softplus_of(std::size_t count, const double* z, const double* z_low, double* power, double* sum, double* low,
                 double* error) {
  for (std::size_t i = 0; i < count; i += lanes_of_pack) {
    pack x, x_low;
    __builtin_memcpy(&x, z + i, sizeof x);
    __builtin_memcpy(&x_low, z_low + i, sizeof x_low);
    const softplus_parts plus = Arithmetic::softplus(x, x_low);
    __builtin_memcpy(power + i, &plus.power, sizeof x);
    __builtin_memcpy(sum + i, &plus.sum, sizeof x);
    __builtin_memcpy(low + i, &plus.low, sizeof x);
    __builtin_memcpy(error + i, &plus.error, sizeof x);
  }
}

bool are_bounded(const double* x, std::size_t count, double besides) {
  std::size_t i = 0;
  masks all = all_lanes();
  for (; count - i >= lanes_of_pack; i += lanes_of_pack) {
    pack y;
    __builtin_memcpy(&y, x + i, sizeof y);
    all = all & ((magnitude(y) < largest_input) | (y == besides));
  }
  bool found = are_all_set(all);
  for (; i < count; ++i) found &= __builtin_fabs(x[i]) < largest_input || x[i] == besides;
  return found;
}

void settle(double* radius, std::uint8_t* decided, std::size_t count) {
  // An undecided radius has a minus sign, also where it is 0. NaN is not decided either.
  for (std::size_t i = 0; i < count; ++i) decided[i] = radius[i] >= 0.0 && __builtin_copysign(1.0, radius[i]) > 0.0;
  for (std::size_t i = 0; i < count; ++i) radius[i] = __builtin_fabs(radius[i]);
}

template <class Arithmetic, template <class> class Decay>
constexpr kernels_of_decay make_kernels_of() {
  return {scan<Arithmetic, Decay>, adjoint<Arithmetic, Decay>, tangent<Arithmetic, Decay>};
}
template <class Arithmetic>
constexpr kernels_of_arithmetic make_kernels() {
  return {make_kernels_of<Arithmetic, log_decay>(), make_kernels_of<Arithmetic, gate_logit>(), softplus_of<Arithmetic>};
}
constexpr kernel_table make_table(const char* name) {
  return {name, make_kernels<in_doubles>(), make_kernels<in_two_doubles>(), are_bounded, settle};
}
