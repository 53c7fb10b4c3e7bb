#include "tools/bench/floors.hpp"

#include <array>
#include <cstring>

#include "optimized/dispatch.hpp"

namespace assay::bench {
namespace {

// Calls part(first, count) for equal parts of an array, one for each thread.
template <class Part>
void in_parts(int threads, std::size_t count, Part part) {
  const auto parts = static_cast<std::size_t>(threads);
  optimized::for_each_task(threads, parts, [&](std::size_t i) {
    const std::size_t first = count * i / parts;
    part(first, count * (i + 1) / parts - first);
  });
}

// Adds in 64 independent sums, which the compiler keeps in vector registers.
float sum_of_array(const float* x, std::size_t count) {
  std::array<float, 64> sums{};
  for (std::size_t i = 0; i + sums.size() <= count; i += sums.size())
    for (std::size_t k = 0; k < sums.size(); ++k) sums[k] += x[i + k];
  float sum = 0;
  for (const float s : sums) sum += s;
  return sum;
}

}  // namespace

std::function<void()> time_to_write(int threads, float* to, std::size_t count) {
  return [=] {
    in_parts(threads, count, [&](std::size_t first, std::size_t n) { std::memset(to + first, 0, n * sizeof *to); });
  };
}

std::function<void()> time_to_read(int threads, const float* from, std::size_t count) {
  return [=] {
    in_parts(threads, count, [&](std::size_t first, std::size_t n) {
      [[maybe_unused]] const volatile float sum = sum_of_array(from + first, n);
    });
  };
}

}  // namespace assay::bench
