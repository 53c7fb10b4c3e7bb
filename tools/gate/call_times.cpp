#include "tools/gate/call_times.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace assay::tools {
namespace {

constexpr double farthest = 32, right_to = 4;
constexpr std::size_t most_kept = 32;
constexpr double shortest = 1e-6;  // seconds: no time is 0

// The terms are 1, the size of each axis, and the number of elements of the largest tensor.
std::vector<double> terms_of(const properties::request& call, const core::axis_sizes& sizes) {
  std::vector<double> terms{1.0};
  for (const auto& [axis, size] : sizes) terms.push_back(static_cast<double>(size));
  std::size_t most = 0;
  for (const auto* declared : {&call.operation->inputs, &call.operation->outputs})
    for (const core::tensor_declaration& d : *declared)
      most = std::max(most, core::element_count(core::shape_of(d, sizes)));
  terms.push_back(static_cast<double>(most));
  return terms;
}

double product(const std::vector<double>& x, const std::vector<double>& y) {
  return std::inner_product(x.begin(), x.end(), y.begin(), 0.0);
}

}  // namespace

// Least squares with non-negative weights, one weight after the other: each step reduces a convex sum.
call_times::numbers call_times::fit::weights() const {
  constexpr int rounds = 4000;
  numbers w(sums.size(), 0.0);
  for (int round = 0; round < rounds; ++round)
    for (std::size_t j = 0; j < w.size(); ++j) {
      const double others = product(products[j], w) - products[j][j] * w[j];
      if (products[j][j] > 0) w[j] = std::max(0.0, (sums[j] - others) / products[j][j]);
    }
  return w;
}

void call_times::note(const properties::request& call, double seconds) {
  const auto sizes = core::check_request(call);
  if (!std::isfinite(limit_) || !sizes) return;
  const timed now{terms_of(call, *sizes), std::max(seconds, shortest)};
  fit& f = fits_[{call.operation->name, call.type}];
  const std::size_t count = now.terms.size();
  f.sums.resize(count, 0.0);
  f.products.resize(count, numbers(count, 0.0));
  for (std::size_t j = 0; j < count; ++j) {
    const double relative = now.terms[j] / now.seconds;
    f.sums[j] += relative;
    for (std::size_t k = 0; k < count; ++k) f.products[j][k] += relative * now.terms[k] / now.seconds;
  }
  for (const auto& [axis, size] : *sizes) f.tried[axis] = std::max(f.tried[axis], size);
  const auto place =
      std::find_if(f.longest.begin(), f.longest.end(), [&](const timed& other) { return other.seconds < now.seconds; });
  f.longest.insert(place, now);
  if (f.longest.size() > most_kept) f.longest.pop_back();
}

std::optional<expected_time> call_times::expected(const properties::request& call) const {
  const auto found = fits_.find({call.operation->name, call.type});
  const auto sizes = core::check_request(call);
  // Up to 32 times the longest call, no fit is needed.
  if (found == fits_.end() || !sizes || found->second.longest.front().seconds * farthest * right_to < limit_ / 4)
    return std::nullopt;
  return by_fit(found->second, call);
}

bool call_times::is_short(const properties::request& call, double multiple) const {
  const auto found = fits_.find({call.operation->name, call.type});
  if (found == fits_.end() || !core::check_request(call)) return false;
  const auto t = by_fit(found->second, call);
  return t && !may_outlast({t->least, t->most * multiple, {}});
}

std::optional<expected_time> call_times::by_fit(const fit& f, const properties::request& call) const {
  const auto sizes = core::check_request(call);
  const numbers w = f.weights();
  const double fitted_here = product(w, terms_of(call, *sizes));
  // The largest call for which the fit is right.
  double largest = 0, slower = 1;
  for (const timed& x : f.longest) {
    const double fitted = product(w, x.terms);
    if (fitted <= largest || fitted > right_to * x.seconds || x.seconds > right_to * fitted) continue;
    largest = fitted;
    slower = x.seconds / fitted;
  }
  if (fitted_here > farthest * largest) return std::nullopt;
  expected_time t{std::min(1.0, slower) * fitted_here, std::max(1.0, slower) * fitted_here, {}};
  const auto times = [&](const auto& axis) {
    return static_cast<double>(axis.second) / static_cast<double>(std::max<std::size_t>(f.tried.at(axis.first), 1));
  };
  t.axis = std::max_element(sizes->begin(), sizes->end(), [&](const auto& x, const auto& y) {
             return times(x) < times(y);
           })->first;
  t.tried = f.tried.at(t.axis);
  return t;
}

}  // namespace assay::tools
