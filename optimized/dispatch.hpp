// Which instruction set the kernels run on, and on how many threads. Neither changes a bit of any result.
//
// The fastest instruction set of the processor is used unless the environment variable ASSAY_TARGET or
// force_target names another one. All functions may be called from any thread; a choice holds for calls
// that begin after it.
#pragma once

#include <cstddef>
#include <functional>
#include <string_view>
#include <vector>

#include "optimized/kernel_table.hpp"
#include "reference/core/result.hpp"

namespace assay::optimized {

/// The instruction sets that were compiled in, slowest first, and those of them that this processor has.
std::vector<std::string_view> declared_targets();
std::vector<std::string_view> supported_targets();

/// The instruction set in use, or an error where ASSAY_TARGET names one that is unknown or not supported.
core::result<std::string_view> active_target();

/// Uses the named instruction set from now on, whatever ASSAY_TARGET says; an empty name goes back to the
/// default. False, and no change, where it is unknown or not supported.
bool force_target(std::string_view name);

/// The kernels of the active target. Precondition: active_target() is no error.
const kernel_table& active_kernels();

/// The number of threads of the calls that follow; 0 for one per processor, the default. Precondition: >= 0.
void set_threads(int count);
int threads();

/// Calls task(i) once for each i < count, on threads() threads, in no particular order.
void for_each_task(std::size_t count, const std::function<void(std::size_t)>& task);

}  // namespace assay::optimized
