// The functions of assay_scan.h without a direction. Each function checks its arguments and calls the C++ function on
// views.
#include "optimized/c_api/assay_scan.h"

#include "optimized/c_api/calls.hpp"
#include "optimized/c_api/dense_rows.hpp"

namespace assay::optimized::c_api {
namespace {

// Numbers that a call keeps of each state, at most: scan_jvp.cpp has two of a state and of its derivative, and the
// state before.
constexpr std::size_t numbers_of_state = 5;
constexpr std::size_t workspace_alignment = 64;

template <class Decay>
int forward(const assay_scan_execution* on, const assay_scan_inputs* in, const assay_scan_outputs* out) noexcept {
  return guarded(on, [&] {
    check_given(in, "in");
    check_given(out, "out");
    const execution runs_on = execution_of(on);
    with_number_type(in->h, [&]<class Real>(Real) {
      const sizes size = sizes_of(in->h);
      checked_arguments checked(sizeof(Real));
      const auto inputs = inputs_of<Real>(checked, *in, Decay::input, size);
      const auto outputs = outputs_of<Real>(checked, *out, size);
      checked.check_overlaps();
      if (!size.no_states()) Decay::forward(runs_on, inputs, outputs);
    });
  });
}

// The states that a forward call saved; 16-bit calls have none.
template <class Real>
view<const Real, 3> saved_states(checked_arguments& checked, const assay_const_array& s, const sizes& size) {
  if constexpr (std::is_same_v<Real, arithmetic_of<Real>>) return checked.read<Real>("s", s, size.elements);
  if (s.rank != 0) throw refusal{ASSAY_SCAN_SHAPE, "s: expected to be absent, as h has 16 bits"};
  return {};
}

template <class Decay>
int vjp(const assay_scan_execution* on, const assay_scan_inputs* in, const assay_scan_cotangents* cotangents,
        const assay_scan_gradients* out) noexcept {
  return guarded(on, [&] {
    check_given(in, "in");
    check_given(cotangents, "cotangents");
    check_given(out, "out");
    const execution runs_on = execution_of(on);
    with_number_type(in->h, [&]<class Real>(Real) {
      const sizes size = sizes_of(in->h);
      using state = arithmetic_of<Real>;
      checked_arguments checked(sizeof(Real));
      auto inputs = inputs_of<Real>(checked, *in, Decay::input, size);
      heinsen::scan_cotangents<Real> given{saved_states<Real>(checked, cotangents->s, size),
                                           checked.read<Real>("grad_s", cotangents->grad_s, size.elements),
                                           checked.read_if_any<state>("grad_s_n", cotangents->grad_s_n, size.states)};
      heinsen::scan_gradients<Real> outputs{checked.written<Real>(Decay::gradient, out->grad_decay, size.elements),
                                            checked.written<Real>("grad_h", out->grad_h, size.elements),
                                            checked.written<state>("grad_s0", out->grad_s0, size.states)};
      checked.check_overlaps();
      if (size.no_states()) return;
      const dense_rows<const Real> decay(inputs.decay), h(inputs.h), s(given.s), grad_s(given.grad_s);
      const dense_rows<Real> grad_decay(outputs.grad_decay), grad_h(outputs.grad_h);
      inputs.decay = decay.rows(), inputs.h = h.rows();
      given.s = s.rows(), given.grad_s = grad_s.rows();
      outputs.grad_decay = grad_decay.rows(), outputs.grad_h = grad_h.rows();
      Decay::vjp(runs_on, inputs, given, outputs);
      grad_decay.write_back();
      grad_h.write_back();
    });
  });
}

}  // namespace
}  // namespace assay::optimized::c_api

namespace c_api = assay::optimized::c_api;

extern "C" {

int assay_scan(const assay_scan_execution* on, const assay_scan_inputs* in, const assay_scan_outputs* out) {
  return c_api::forward<c_api::log_decay>(on, in, out);
}
int assay_gated_scan(const assay_scan_execution* on, const assay_scan_inputs* in, const assay_scan_outputs* out) {
  return c_api::forward<c_api::gate_logit>(on, in, out);
}
int assay_scan_vjp(const assay_scan_execution* on, const assay_scan_inputs* in, const assay_scan_cotangents* cotangents,
                   const assay_scan_gradients* out) {
  return c_api::vjp<c_api::log_decay>(on, in, cotangents, out);
}
int assay_gated_scan_vjp(const assay_scan_execution* on, const assay_scan_inputs* in,
                         const assay_scan_cotangents* cotangents, const assay_scan_gradients* out) {
  return c_api::vjp<c_api::gate_logit>(on, in, cotangents, out);
}

size_t assay_scan_workspace_size(int dtype, int64_t batch, int64_t features) {
  if ((dtype != ASSAY_SCAN_F32 && dtype != ASSAY_SCAN_F64) || batch < 0 || features < 0) return 0;
  const std::size_t number = dtype == ASSAY_SCAN_F32 ? sizeof(float) : sizeof(double);
  std::size_t bytes = c_api::numbers_of_state * number;
  if (__builtin_mul_overflow(bytes, static_cast<std::size_t>(batch), &bytes) ||
      __builtin_mul_overflow(bytes, static_cast<std::size_t>(features), &bytes) ||
      __builtin_add_overflow(bytes, c_api::workspace_alignment, &bytes))
    return 0;
  return bytes;
}

const char* assay_scan_target(int index) {
  return index < 0 ? nullptr : assay::optimized::supported_target(static_cast<std::size_t>(index));
}

const char* assay_scan_message(int code) {
  switch (code) {
    case ASSAY_SCAN_OK:
      return "no error";
    case ASSAY_SCAN_NULL:
      return "a null pointer where something must be";
    case ASSAY_SCAN_DTYPE:
      return "the type of elements is unknown, or not the one that goes with h";
    case ASSAY_SCAN_SHAPE:
      return "the wrong number of axes or elements, or more elements than memory can hold";
    case ASSAY_SCAN_STRIDE:
      return "a negative stride, or elements of an output that lie in one place";
    case ASSAY_SCAN_ALIGNMENT:
      return "data that is no multiple of the size of an element";
    case ASSAY_SCAN_OVERLAP:
      return "an output shares elements with another array";
    case ASSAY_SCAN_EXECUTION:
      return "an instruction set that this processor lacks, or a wrong number of threads";
    case ASSAY_SCAN_NO_MEMORY:
      return "no memory could be allocated";
    case ASSAY_SCAN_INTERNAL:
      return "a fault of assay_scan itself";
    default:
      return "an unknown code";
  }
}

int assay_scan_abi(void) { return ASSAY_SCAN_ABI; }

}  // extern "C"
