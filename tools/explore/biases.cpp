// Biases in narrow formats: linear ones by two forms, T5's buckets by floating-point logarithms, and forget gates by
// prefix sums.
#include <algorithm>
#include <cmath>
#include <set>

#include "reference/algorithms/log_buckets.hpp"
#include "reference/readings/rounded.hpp"
#include "tools/explore/single_cells.hpp"
#include "tools/explore/streams.hpp"

namespace assay::explore {
namespace {

using R = reference::rounded;

std::vector<double> softmax(std::vector<double> x) {
  const double largest = *std::max_element(x.begin(), x.end());
  double sum = 0;
  for (double& y : x) sum += y = std::exp(y - largest);
  for (double& y : x) y /= sum;
  return x;
}

// The biases of the last of `size` queries, slope `decay`: m j of key j, or -m (i - j).
results linear_biases(const cell& c) {
  const storage_format& stored = *find_format(c.storage);
  const reference::computing_in format(*core::dtype_named(c.arithmetic));
  const R slope(stored.round(c.decay));
  std::vector<double> biases(c.size), exact(c.size);
  for (std::size_t j = 0; j < c.size; ++j) {
    const auto key = static_cast<double>(j), distance = static_cast<double>(c.size - 1 - j);
    const R bias = c.implementation == "key_form" ? slope * R(key) : -(slope * R(distance));
    biases[j] = stored.round(bias.number);
    exact[j] = -c.decay * distance;
  }
  const std::size_t near = std::min<std::size_t>(16, c.size);
  const std::set<double> distinct(biases.end() - static_cast<std::ptrdiff_t>(near), biases.end());
  const std::vector<double> x = softmax(biases), y = softmax(exact);
  double variation = 0;
  for (std::size_t j = 0; j < c.size; ++j) variation += std::fabs(x[j] - y[j]) / 2;
  return {{"distinct_of_16", static_cast<double>(distinct.size())},
          {"total_variation", variation},
          {"nonfinite", std::isnan(variation) ? 1.0 : 0.0}};
}

// floor of (N - E) log(n / E) / log(D / E) as programs have it.
std::int64_t computed_bucket(const reference::bucket_map& map, std::int64_t n, const std::string& form) {
  const auto exact = static_cast<double>(map.exact()), wide = static_cast<double>(map.of_direction() - map.exact());
  R of_n = log(R(static_cast<double>(n)) / R(exact));
  if (form == "low_logarithm") of_n = R(core::next_below(reference::arithmetic().type, of_n.number));
  const R of_largest = log(R(static_cast<double>(map.max_distance)) / R(exact));
  const R share = form == "reciprocal" ? of_n * (R(1.0) / of_largest) : of_n / of_largest;
  const double offset = std::floor((share * R(wide)).number);
  return std::min(map.of_direction() - 1, map.exact() + static_cast<std::int64_t>(offset));
}

// Distances up to the largest, `size`, whose bucket differs from that of exact integers.
results wrong_buckets(const cell& c) {
  const reference::bucket_map map{static_cast<std::int64_t>(c.scale), static_cast<std::int64_t>(c.size),
                                  c.family == "bidirectional"};
  const reference::computing_in format(*core::dtype_named(c.arithmetic));
  double wrong = 0, first = nothing, last = nothing;
  for (auto n = map.exact(); n <= map.max_distance; ++n) {
    if (computed_bucket(map, n, c.implementation) == reference::bucket_of(map, -static_cast<double>(n))) continue;
    wrong += 1;
    last = static_cast<double>(n);
    if (std::isnan(first)) first = last;
  }
  return {{"wrong", wrong}, {"first_wrong", first}, {"last_wrong", last}};
}

// The largest |D_{i,i-1} - log f_i| of the last 512 pairs of n tokens.
results forget_gates(const cell& c) {
  constexpr std::size_t window = 512, block = 4096;
  const storage_format& stored = *find_format(c.storage);
  const reference::computing_in format(*core::dtype_named(c.arithmetic));
  token_stream stream(c, 0);
  std::vector<double> a(block), h(block);
  R sum(0.0);
  double before = 0, worst = 0;
  for (std::uint64_t first = 0; first < c.size; first += block) {
    const std::size_t tokens = std::min<std::uint64_t>(block, c.size - first);
    stream.next({a.data(), tokens}, {h.data(), tokens});
    for (std::size_t i = 0; i < tokens; ++i) {
      sum = sum + R(a[i]);
      const double prefix = stored.round(sum.number), pair = stored.round(prefix - before);
      before = prefix;
      if (first + i + window < c.size) continue;
      const double error = std::fabs((c.implementation == "segments" ? stored.round(R(a[i]).number) : pair) - a[i]);
      worst = std::isnan(error) || std::isnan(worst) ? nothing : std::max(worst, error);
    }
  }
  // Both ends are numbers of the format near |C_n|: up to half its spacing each.
  const double law = c.implementation == "segments"
                         ? nothing
                         : 2.0 * stored.unit_roundoff() * std::exp2(std::floor(std::log2(std::fabs(sum.number))));
  return {{"largest", worst}, {"prefix_sum", std::fabs(sum.number)}, {"law", law}};
}

core::result<void> check_slope(const cell& c) {
  return c.decay > 0.0 && c.decay <= 1.0 ? core::result<void>() : refuse_cell(c, "the slope is above 0, at most 1");
}
core::result<void> check_buckets(const cell& c) {
  const reference::bucket_map map{static_cast<std::int64_t>(c.scale), static_cast<std::int64_t>(c.size),
                                  c.family == "bidirectional"};
  if (c.scale < 4 || c.scale > 1024 || c.scale != std::floor(c.scale))
    return refuse_cell(c, "scale is the number of buckets here: 4 to 1024");
  const std::string conflict = map.conflict();
  return conflict.empty() ? core::result<void>() : refuse_cell(c, conflict);
}

}  // namespace

measure linear_bias() {
  return of_single_cells(measure{.name = "linear_bias",
                                 .summary = "what a format does to the weights of linear biases (ALiBi)",
                                 .size_means = "tokens n",
                                 .decay_means = "slope",
                                 .scale_means = "",
                                 .implementations = {"key_form", "distance_form"},
                                 .takes_storage = true,
                                 .check = check_slope},
                         linear_biases, every_token);
}

measure bucket_flips() {
  return of_single_cells(measure{.name = "buckets",
                                 .summary = "distances that floating-point logarithms put into a wrong bucket (T5)",
                                 .size_means = "largest distance D",
                                 .decay_means = "",
                                 .scale_means = "number of buckets",
                                 .implementations = {"quotient", "reciprocal", "low_logarithm"},
                                 .families = {"bidirectional", "causal"},
                                 .check = check_buckets},
                         wrong_buckets, every_token);
}

measure forget_gate_sums() {
  return of_single_cells(measure{.name = "forget_gates",
                                 .summary = "error of the nearest pair's decay at the end of a sequence (FoX)",
                                 .size_means = "tokens n",
                                 .decay_means = "mean of the gate logits",
                                 .scale_means = "",
                                 .implementations = {"prefix_sums", "segments"},
                                 .families = {"gates"},
                                 .takes_storage = true},
                         forget_gates, every_token);
}

}  // namespace assay::explore
