#include "reference/kinds/matrix_rotation.hpp"

#include <cstdint>
#include <vector>

namespace assay::reference {

using formula::traced;

namespace {

// For each pair (i, j), i < j, the entry of each matrix whose row-major index is place(i, j, b).
traced gathered_entries(const traced& matrices, std::int64_t (*place)(std::int64_t i, std::int64_t j, std::int64_t b)) {
  core::shape s = shape_of(matrices);
  const auto b = static_cast<std::int64_t>(s.back());
  s.pop_back();
  s.back() *= static_cast<std::size_t>(b);
  std::vector<std::int64_t> places;
  for (std::int64_t i = 0; i < b; ++i)
    for (std::int64_t j = i + 1; j < b; ++j) places.push_back(place(i, j, b));
  return gathered(reshaped(matrices, s), formula::known_integers({places.size()}, places), s.size() - 1);
}

}  // namespace

traced entries_above(const traced& matrices) {
  return gathered_entries(matrices, [](std::int64_t i, std::int64_t j, std::int64_t b) { return i * b + j; });
}
traced entries_below(const traced& matrices) {
  return gathered_entries(matrices, [](std::int64_t i, std::int64_t j, std::int64_t b) { return j * b + i; });
}

traced rotations_by(const matrix_scheme& steps, const traced& entries, std::size_t b) {
  core::shape s = shape_of(entries);
  const std::size_t last = s.size() - 1, count = s.back();
  s.back() = 1;
  std::vector<std::int64_t> places(b * b, static_cast<std::int64_t>(2 * count));
  std::int64_t entry = 0;
  for (std::size_t i = 0; i < b; ++i)
    for (std::size_t j = i + 1; j < b; ++j, ++entry) {
      places[i * b + j] = entry;
      places[j * b + i] = entry + static_cast<std::int64_t>(count);
    }
  const traced x = in_stage<traced>(matrix_stage::exponent, [&] {
    const traced signed_entries = formula::joined({entries, -entries, broadcast(traced(0.0), s)}, last);
    s.back() = b;
    s.push_back(b);
    return reshaped(gathered(signed_entries, formula::known_integers({b * b}, places), last), s);
  });
  return b == 0 ? x : in_stage<traced>(matrix_stage::exponential, [&] { return steps.exponential(x); });
}

traced rotated_blocks(const matrix_scheme& steps, const traced& x, const traced& entries, std::size_t b) {
  const core::shape s = shape_of(x);
  const std::size_t blocks = shape_of(entries)[2], turning = blocks * b;
  if (turning == 0) return x;
  const traced r = rotations_by(steps, entries, b);
  return in_stage<traced>(matrix_stage::product, [&] {
    const traced taken = taken_from(static_cast<std::size_t>(matrix_stage::exponential), r),
                 own = reshaped(between(x, 3, 0, turning), {s[0], s[1], s[2], blocks, b});
    const traced y = reshaped(contracted(taken, own, "nhcij,rnhcj->rnhci"), {s[0], s[1], s[2], turning});
    return turning == s[3] ? y : formula::joined({y, between(x, 3, turning, s[3])}, 3);
  });
}

}  // namespace assay::reference
