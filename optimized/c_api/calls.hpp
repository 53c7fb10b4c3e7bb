// Code that the functions of assay_scan.h share: their execution, the sizes and arrays of a call, and the translation
// of exceptions to codes.
#pragma once

#include <algorithm>
#include <array>
#include <cstring>
#include <exception>
#include <new>
#include <string>
#include <string_view>
#include <thread>

#include "optimized/c_api/checked_arguments.hpp"
#include "optimized/encodings/heinsen.hpp"

namespace assay::optimized::c_api {

inline constexpr int most_threads = 1024;
inline void leave_message(const assay_scan_execution* on, std::string_view text) noexcept {
  if (on == nullptr || on->message == nullptr || on->message_size == 0) return;
  const std::size_t length = std::min(text.size(), on->message_size - 1);
  std::memcpy(on->message, text.data(), length);
  on->message[length] = '\0';
}

/// Calls f. An exception of f refuses the call or reports a failure; it becomes a code.
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

inline execution execution_of(const assay_scan_execution* given) {
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

/// The sizes of a call. They are the sizes of h.
struct sizes {
  std::array<std::int64_t, 3> elements;
  std::array<std::int64_t, 2> states;
  [[nodiscard]] bool no_states() const { return states[0] == 0 || states[1] == 0; }
};

inline sizes sizes_of(const assay_const_array& h) {
  if (h.rank != 3) throw refusal{ASSAY_SCAN_SHAPE, "h: expected 3 axes but it has " + std::to_string(h.rank)};
  for (const std::int64_t size : h.size)
    if (size < 0) throw refusal{ASSAY_SCAN_SHAPE, "h: a size is negative: " + std::to_string(size)};
  return {{h.size[0], h.size[1], h.size[2]}, {h.size[0], h.size[2]}};
}

inline void check_given(const void* pointer, const char* name) {
  if (pointer == nullptr) throw refusal{ASSAY_SCAN_NULL, std::string(name) + ": a null pointer"};
}

/// Calls f with a value of the number type of h.
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

template <class Real>
heinsen::scan_outputs<Real> outputs_of(checked_arguments& checked, const assay_scan_outputs& out, const sizes& size) {
  using state = arithmetic_of<Real>;
  return {checked.written<Real>("s", out.s, size.elements), checked.written<state>("s_n", out.s_n, size.states),
          checked.written_if_any<state>("s_n_low", out.s_n_low, size.states)};
}

/// The form in which log p is given: the names of the input, of its gradient and of its tangent, and the functions.
struct log_decay {
  static constexpr const char *input = "log_p", *gradient = "grad_log_p", *tangent = "tangent_log_p";
  static constexpr auto forward = [](auto&&... arguments) { heinsen::scan(arguments...); };
  static constexpr auto vjp = [](auto&&... arguments) { heinsen::scan_vjp(arguments...); };
  static constexpr auto jvp = [](auto&&... arguments) { heinsen::scan_jvp(arguments...); };
};

struct gate_logit {
  static constexpr const char *input = "g", *gradient = "grad_g", *tangent = "tangent_g";
  static constexpr auto forward = [](auto&&... arguments) { heinsen::gated_scan(arguments...); };
  static constexpr auto vjp = [](auto&&... arguments) { heinsen::gated_scan_vjp(arguments...); };
  static constexpr auto jvp = [](auto&&... arguments) { heinsen::gated_scan_jvp(arguments...); };
};

}  // namespace assay::optimized::c_api
