// The time that memory needs to read and write as much as an operation does.
#pragma once

#include <cstddef>
#include <functional>

namespace assay::bench {

/// The work is divided among the threads. Precondition: the arrays are as large as those of the operation, so that
/// caches hold as much of them.
std::function<void()> time_to_write(int threads, float* to, std::size_t count);
std::function<void()> time_to_read(int threads, const float* from, std::size_t count);

}  // namespace assay::bench
