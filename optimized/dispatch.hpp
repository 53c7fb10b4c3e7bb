// Which instruction set the kernels run on, and on how many threads. The number of threads changes no bit of any
// result; instruction sets agree in all bits but those of scans (encodings/heinsen.hpp).
//
// The fastest instruction set of the processor is used unless the environment variable ASSAY_TARGET or
// force_target names another one. All functions may be called from any thread; a choice holds for calls
// that begin after it.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "optimized/kernel_table.hpp"
#include "reference/core/result.hpp"

namespace assay::optimized {

/// The instruction sets that were compiled in, slowest first, and those of them that this processor has.
std::vector<std::string_view> declared_targets();
std::vector<std::string_view> supported_targets();

/// The name of the instruction set of this processor at that place, slowest first; null behind the last. Lives for
/// ever.
const char* supported_target(std::size_t index);

/// The kernels of an instruction set of this processor, "best" being the fastest; null where it has none of that name.
/// The choice of the process has no say: neither ASSAY_TARGET nor force_target.
const kernel_table* find_kernels(std::string_view name);

/// The instruction set in use, or an error where ASSAY_TARGET names one that is unknown or not supported.
core::result<std::string_view> active_target();

/// Uses the named instruction set from now on, whatever ASSAY_TARGET says; an empty name goes back to the
/// default. False, and no change, where it is unknown or not supported.
bool force_target(std::string_view name);

/// The kernels of the active target. Precondition: active_target() is no error.
const kernel_table& active_kernels();

/// What a call runs on, given by its caller.
struct execution {
  const kernel_table* kernels;
  int threads = 1;                      ///< at least 1
  std::span<std::byte> workspace = {};  ///< for what a call needs beside its arguments; where it is too small, the call
                                        ///< allocates
};

/// The active target, on threads() threads. Precondition: active_target() is no error.
execution process_execution();

/// The number of threads of the calls that follow; 0 for one per processor, the default. Precondition: >= 0.
void set_threads(int count);
int threads();

/// Calls task(i) once for each i < count, on threads() threads or on the wanted number, in no particular order.
void for_each_task(std::size_t count, const std::function<void(std::size_t)>& task);
void for_each_task(int wanted, std::size_t count, const std::function<void(std::size_t)>& task);

}  // namespace assay::optimized
