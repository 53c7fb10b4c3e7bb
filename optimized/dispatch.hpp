// The instruction set of the kernels and the number of threads. The number of threads changes no bit of any result.
// Instruction sets agree in all bits except those of scans (encodings/heinsen.hpp).
//
// By default, the fastest instruction set of the processor is used. The environment variable ASSAY_TARGET or
// force_target can name another one. All functions may be called from any thread. A choice holds for all calls that
// begin after it.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "optimized/kernel_table.hpp"
#include "reference/core/result.hpp"

namespace assay::optimized {

/// The instruction sets that were compiled in, slowest first, and those among them that this processor supports.
///
///     for (const std::string_view name : supported_targets()) std::cout << name << "\n";
std::vector<std::string_view> declared_targets();
std::vector<std::string_view> supported_targets();

/// The name of the supported instruction set at this index, slowest first; null behind the last one. The name stays
/// valid until the process ends.
///
///     for (std::size_t i = 0; supported_target(i) != nullptr; ++i) std::puts(supported_target(i));
const char* supported_target(std::size_t index);

/// The kernels of an instruction set of this processor, or null if it supports none of that name. "best" names the
/// fastest one. Neither ASSAY_TARGET nor force_target has an effect here.
///
///     const execution on{find_kernels("best"), 8};
const kernel_table* find_kernels(std::string_view name);

/// The instruction set in use. It is an error if ASSAY_TARGET names an unknown or unsupported one.
///
///     if (const auto target = active_target(); !target) throw std::runtime_error(target.error().message);
core::result<std::string_view> active_target();

/// From now on uses the named instruction set, whatever ASSAY_TARGET says; an empty name restores the default. If the
/// instruction set is unknown or unsupported, returns false and changes nothing.
///
///     if (!force_target("avx2")) std::cerr << "this processor lacks avx2\n";
bool force_target(std::string_view name);

/// The kernels of the active target. Precondition: active_target() is not an error.
///
///     const execution on{&active_kernels(), 8};
const kernel_table& active_kernels();

/// The means with which a call runs. The caller gives them.
struct execution {
  const kernel_table* kernels;
  int threads = 1;                      ///< at least 1
  std::span<std::byte> workspace = {};  ///< memory for all that a call needs beside its arguments; if it is too small,
                                        ///< the call allocates memory
};

/// The active target with threads() threads. Precondition: active_target() is not an error.
///
///     heinsen::scan<float>(process_execution(), in, out);
execution process_execution();

/// Sets the number of threads of later calls; 0, the default, means one thread for each processor. Precondition: >= 0.
///
///     set_threads(8);
///     std::cout << "on " << threads() << " threads\n";
void set_threads(int count);
int threads();

/// Calls task(i) once for each i < count, on the wanted number of threads, in no particular order.
///
///     for_each_task(on.threads, rows,
///                   [&](std::size_t row) { total[row] = std::accumulate(x[row].begin(), x[row].end(), 0.0); });
void for_each_task(int wanted, std::size_t count, const std::function<void(std::size_t)>& task);

}  // namespace assay::optimized
