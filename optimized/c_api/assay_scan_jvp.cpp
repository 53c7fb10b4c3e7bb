// The functions of assay_scan.h that take a direction.
#include "optimized/c_api/assay_scan.h"
#include "optimized/c_api/calls.hpp"
#include "optimized/c_api/dense_rows.hpp"

namespace assay::optimized::c_api {
namespace {

template <class Decay, class Real>
void jvp_of(const execution& on, const assay_scan_inputs& in, const assay_scan_direction& direction,
            const assay_scan_outputs& states, const assay_scan_tangents& out) {
  const sizes size = sizes_of(in.h);
  checked_arguments checked(sizeof(Real));
  auto inputs = inputs_of<Real>(checked, in, Decay::input, size);
  heinsen::scan_direction<Real> along{
      checked.read<Real>(Decay::tangent, direction.tangent_decay, size.elements),
      checked.read<Real>("tangent_h", direction.tangent_h, size.elements),
      checked.read_if_any<Real>("tangent_s0", direction.tangent_s0, size.states),
      checked.read_if_any<Real>("tangent_s0_low", direction.tangent_s0_low, size.states)};
  auto scanned = outputs_of<Real>(checked, states, size);
  heinsen::scan_tangents<Real> tangents{
      checked.written<Real>("tangent_s", out.tangent_s, size.elements),
      checked.written<Real>("tangent_s_n", out.tangent_s_n, size.states),
      checked.written_if_any<Real>("tangent_s_n_low", out.tangent_s_n_low, size.states)};
  checked.check_overlaps();
  if (size.no_states()) return;
  const dense_rows<const Real> decay(inputs.decay), h(inputs.h), in_decay(along.tangent_decay), in_h(along.tangent_h);
  const dense_rows<Real> s(scanned.s), tangent_s(tangents.tangent_s);
  inputs.decay = decay.rows(), inputs.h = h.rows();
  along.tangent_decay = in_decay.rows(), along.tangent_h = in_h.rows();
  scanned.s = s.rows(), tangents.tangent_s = tangent_s.rows();
  Decay::jvp(on, inputs, along, scanned, tangents);
  s.write_back();
  tangent_s.write_back();
}

template <class Decay>
int jvp(const assay_scan_execution* on, const assay_scan_inputs* in, const assay_scan_direction* direction,
        const assay_scan_outputs* states, const assay_scan_tangents* out) noexcept {
  return guarded(on, [&] {
    check_given(in, "in");
    check_given(direction, "direction");
    check_given(states, "states");
    check_given(out, "out");
    const execution runs_on = execution_of(on);
    with_number_type(in->h, [&]<class Real>(Real) {
      if constexpr (std::is_same_v<Real, arithmetic_of<Real>>)
        jvp_of<Decay, Real>(runs_on, *in, *direction, *states, *out);
      else
        throw refusal{ASSAY_SCAN_DTYPE,
                      "h: expected the dtype 1 (f32) or 2 (f64) but it is " + std::to_string(in->h.dtype)};
    });
  });
}

}  // namespace
}  // namespace assay::optimized::c_api

namespace c_api = assay::optimized::c_api;

extern "C" {

int assay_scan_jvp(const assay_scan_execution* on, const assay_scan_inputs* in, const assay_scan_direction* direction,
                   const assay_scan_outputs* states, const assay_scan_tangents* out) {
  return c_api::jvp<c_api::log_decay>(on, in, direction, states, out);
}
int assay_gated_scan_jvp(const assay_scan_execution* on, const assay_scan_inputs* in,
                         const assay_scan_direction* direction, const assay_scan_outputs* states,
                         const assay_scan_tangents* out) {
  return c_api::jvp<c_api::gate_logit>(on, in, direction, states, out);
}

}  // extern "C"
