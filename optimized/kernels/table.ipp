// The kernels of one instruction set. Its kernel_table names them.

// Each file needs the files before it. The files of isa/ are included after kernels/vector.ipp.
// clang-format off
#include "optimized/kernels/exp.ipp"
#include "optimized/kernels/log1p.ipp"
#include "optimized/kernels/softplus.ipp"
#include "optimized/kernels/scan_step.ipp"
#include "optimized/kernels/scan_rows.ipp"
#include "optimized/kernels/scan_chunks.ipp"
#include "optimized/kernels/scan_vjp.ipp"
#include "optimized/kernels/scan_jvp.ipp"
#include "optimized/kernels/scan_vjp_narrow.ipp"
#include "optimized/kernels/two_part.ipp"
#include "optimized/kernels/reduction.ipp"
#include "optimized/kernels/rotation.ipp"
#include "optimized/kernels/split_rotation.ipp"
#include "optimized/kernels/turn.ipp"
#include "optimized/kernels/softmax.ipp"
#include "optimized/kernels/storage.ipp"
// clang-format on

template <class Real>
[[gnu::flatten]] void exp_array(const Real* x, Real* y, std::size_t count) noexcept {
  for_each_pack<Real>(count, [=](auto place) { store(y, place, each(exp_nonpositive<Real>, load(x, place))); });
}

template <class Real>
[[gnu::flatten]] void log1p_array(const Real* x, Real* y, std::size_t count) noexcept {
  for_each_pack<Real>(count, [=](auto place) { store(y, place, each(log1p_unit<Real>, load(x, place))); });
}

template <class Real>
constexpr kernels<Real> make_kernels() {
  return {lane_count<Real>,
          scan_rows<Real, decay_as_log_p>,
          scan_rows<Real, decay_as_logit>,
          summarize_chunks<Real, decay_as_log_p>,
          summarize_chunks<Real, decay_as_logit>,
          scan_chunks<Real, decay_as_log_p>,
          scan_chunks<Real, decay_as_logit>,
          scan_rows_vjp<Real, decay_as_log_p, slope_of_log_p>,
          scan_rows_vjp<Real, decay_as_logit, slope_of_logit>,
          scan_rows_jvp<Real, decay_as_log_p, slope_of_log_p>,
          scan_rows_jvp<Real, decay_as_logit, slope_of_logit>,
          turn<Real>,
          softmax<Real>,
          softmax_vjp<Real>,
          exp_array<Real>,
          log1p_array<Real>};
}

constexpr narrow_kernels make_narrow_kernels() {
  return {weigh_tokens<decay_as_log_p>, weigh_tokens<decay_as_logit>, go_back_tokens, finish_tokens<slope_of_log_p>,
          finish_tokens<slope_of_logit>};
}

constexpr rotation_kernels make_rotation_kernels() { return {rotations, split_rotations}; }

constexpr kernel_table make_table() {
  return {make_kernels<float>(),
          make_kernels<double>(),
          make_rotation_kernels(),
          make_narrow_kernels(),
          join_maps,
          make_storage_kernels<bfloat16>(),
          make_storage_kernels<float16>()};
}
