// What memory takes for as much as an operation reads and writes.
#pragma once

#include <cstddef>
#include <functional>

namespace assay::bench {

/// Each is divided among the threads. Arrays are those of the operation, so that caches hold what they hold for it.
std::function<void()> time_to_write(int threads, float* to, std::size_t count);
std::function<void()> time_to_read(int threads, const float* from, std::size_t count);

}  // namespace assay::bench
