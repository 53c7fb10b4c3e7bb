// The functions of assay_scan.h: checks, then the call of the C++ function on views, then exceptions as codes.
#include "optimized/c_api/assay_scan.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <new>
#include <string_view>
#include <thread>

#include "optimized/c_api/checked_arguments.hpp"
#include "optimized/c_api/dense_rows.hpp"
#include "optimized/encodings/heinsen.hpp"

namespace assay::optimized::c_api {
namespace {

constexpr int most_threads = 1024;
// Numbers that a call keeps of each state: heinsen_scan.cpp has two of a state, and one more of its adjoint.
constexpr std::size_t numbers_of_state = 3;
constexpr std::size_t workspace_alignment = 64;

void leave_message(const assay_scan_execution* on, std::string_view text) noexcept {
  if (on == nullptr || on->message == nullptr || on->message_size == 0) return;
  const std::size_t length = std::min(text.size(), on->message_size - 1);
  std::memcpy(on->message, text.data(), length);
  on->message[length] = '\0';
}

// Calls f, which refuses or fails by an exception.
template <class Function>
int guarded(const assay_scan_execution* on, Function f) noexcept {
  leave_message(on, "");
  int code = ASSAY_SCAN_OK;
  try {
    f();
  } catch (const refusal& why) {
    leave_message(on, why.what);
    return why.code;
  } catch (const std::bad_alloc&) {
    code = ASSAY_SCAN_NO_MEMORY;
  } catch (const std::exception& fault) {
    leave_message(on, fault.what());
    return ASSAY_SCAN_INTERNAL;
  } catch (...) {
    code = ASSAY_SCAN_INTERNAL;
  }
  if (code != ASSAY_SCAN_OK) leave_message(on, assay_scan_message(code));
  return code;
}

execution execution_of(const assay_scan_execution* given) {
  const std::string_view target = given == nullptr || given->target == nullptr ? "best" : given->target;
  const int threads = given == nullptr ? 1 : given->threads;
  if (threads < -1)
    throw refusal{ASSAY_SCAN_EXECUTION, "threads: expected at least -1 but it is " + std::to_string(threads)};
  execution on{find_kernels(target), std::clamp(threads, 1, most_threads), {}};
  if (threads == -1) on.threads = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  if (on.kernels == nullptr)
    throw refusal{ASSAY_SCAN_EXECUTION, "target: this processor has no instruction set '" + std::string(target) + "'"};
  if (given != nullptr && given->workspace != nullptr)
    on.workspace = {static_cast<std::byte*>(given->workspace), given->workspace_size};
  return on;
}

// The sizes of a call, which h has.
struct sizes {
  std::array<std::int64_t, 3> elements;
  std::array<std::int64_t, 2> states;
  [[nodiscard]] bool no_states() const { return states[0] == 0 || states[1] == 0; }
};

sizes sizes_of(const assay_const_array& h) {
  if (h.rank != 3) throw refusal{ASSAY_SCAN_SHAPE, "h: expected 3 axes but it has " + std::to_string(h.rank)};
  for (const std::int64_t size : h.size)
    if (size < 0) throw refusal{ASSAY_SCAN_SHAPE, "h: a size is negative: " + std::to_string(size)};
  return {{h.size[0], h.size[1], h.size[2]}, {h.size[0], h.size[2]}};
}

void check_given(const void* pointer, const char* name) {
  if (pointer == nullptr) throw refusal{ASSAY_SCAN_NULL, std::string(name) + ": a null pointer"};
}

// f with the number type of h.
template <class Function>
void with_number_type(const assay_const_array& h, Function f) {
  if (h.dtype == ASSAY_SCAN_F32) return f(float{});
  if (h.dtype == ASSAY_SCAN_F64) return f(double{});
  if (h.dtype == ASSAY_SCAN_F16) return f(float16{});
  if (h.dtype == ASSAY_SCAN_BF16) return f(bfloat16{});
  throw refusal{ASSAY_SCAN_DTYPE,
                "h: expected the dtype 1 (f32), 2 (f64), 3 (f16) or 4 (bf16) but it is " + std::to_string(h.dtype)};
}

template <class Real>
heinsen::scan_inputs<Real> inputs_of(checked_arguments& checked, const assay_scan_inputs& in, const char* decay,
                                     const sizes& size) {
  return {checked.read<Real>(decay, in.decay, size.elements), checked.read<Real>("h", in.h, size.elements),
          checked.read_if_any<arithmetic_of<Real>>("s0", in.s0, size.states),
          checked.read_if_any<arithmetic_of<Real>>("s0_low", in.s0_low, size.states)};
}

// How log p is given: the name of the input, its gradient's, and the functions.
struct log_decay {
  static constexpr const char *input = "log_p", *gradient = "grad_log_p";
  static constexpr auto forward = [](auto&&... arguments) { heinsen::scan(arguments...); };
  static constexpr auto vjp = [](auto&&... arguments) { heinsen::scan_vjp(arguments...); };
};

struct gate_logit {
  static constexpr const char *input = "g", *gradient = "grad_g";
  static constexpr auto forward = [](auto&&... arguments) { heinsen::gated_scan(arguments...); };
  static constexpr auto vjp = [](auto&&... arguments) { heinsen::gated_scan_vjp(arguments...); };
};

template <class Decay>
int forward(const assay_scan_execution* on, const assay_scan_inputs* in, const assay_scan_outputs* out) noexcept {
  return guarded(on, [&] {
    check_given(in, "in");
    check_given(out, "out");
    const execution runs_on = execution_of(on);
    with_number_type(in->h, [&]<class Real>(Real) {
      const sizes size = sizes_of(in->h);
      using state = arithmetic_of<Real>;
      checked_arguments checked(sizeof(Real));
      const auto inputs = inputs_of<Real>(checked, *in, Decay::input, size);
      const heinsen::scan_outputs<Real> outputs{checked.written<Real>("s", out->s, size.elements),
                                                checked.written<state>("s_n", out->s_n, size.states),
                                                checked.written_if_any<state>("s_n_low", out->s_n_low, size.states)};
      checked.check_overlaps();
      if (!size.no_states()) Decay::forward(runs_on, inputs, outputs);
    });
  });
}

// Those of a forward call; none in 16 bits.
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
