// Sums up the cases of a check: verdict, class, digits.
#include <algorithm>
#include <cmath>

#include "properties/harness/runner.hpp"
#include "reference/oracle.hpp"

namespace assay::properties {

void widen_class(check_result& r, const test_case& c, const value_report& value) {
  for (std::size_t k = 0; k < r.ratios.size(); ++k)
    if (value.ratios[k] > r.ratios[k] || !r.forced_by[k]) {
      r.ratios[k] = std::max(r.ratios[k], value.ratios[k]);
      r.forced_by[k] = summary(c);
    }
}

std::string without_digits(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char x) { return x >= '0' && x <= '9'; }, '0');
  return text;
}

std::size_t check_result::count(status s) const {
  const auto it = cases.find(s);
  return it == cases.end() ? 0 : it->second;
}

std::size_t check_result::run() const {
  return count(status::passed) + count(status::failed) + count(status::uninformative);
}

status check_result::verdict() const {
  for (const status s : {status::failed, status::passed, status::unsupported, status::outside_domain})
    if (count(s) > 0) return s;
  return status::uninformative;
}

bool check_result::tells_digits() const {
  const auto& outputs = operation->outputs;
  return std::any_of(outputs.begin(), outputs.end(),
                     [&](const auto& d) { return core::is_floating(d.type_in(type)); }) &&
         std::any_of(by_growth.begin(), by_growth.end(),
                     [](const auto& from) { return from.second.digits_farthest >= 0; });
}

namespace {

// The error from which digits are reported. Half an ulp is the last rounding; a correct rounding does not exceed it.
// The rest of a program's error is larger in some rows and at some positions that were not tried. For rope in f32, with
// widths 64, 128 and 256, the worst error over all positions between two powers of two is 1.1 times the worst over the
// last 64 positions in the median, and at most 1.8 times in 540 draws (over the last two: 2.3 and 8.6; over the last
// 16, as beyond 2^17: 1.35 and 3.3). So twice the rest is reported.
double reported_error(double largest_seen_ulp) {
  constexpr double last_rounding = 0.5, unseen = 2;
  return largest_seen_ulp <= last_rounding ? largest_seen_ulp
                                           : last_rounding + unseen * (largest_seen_ulp - last_rounding);
}

}  // namespace

std::vector<digits_up_to> check_result::digits() const {
  if (!tells_digits()) return {};
  // One ulp of the scale is at most this part of the scale.
  const double ulp = std::ldexp(1.0, 1 - core::format_of(type).precision);
  std::vector<error_there> reported;
  double before = 0;  // of cases that count for digits and reach no further than the reported ones
  for (const auto& [from, there] : by_growth) {
    before = std::max(before, there.digits_ulp);
    if (there.digits_farthest < 0) continue;
    reported.push_back(there);
    reported.back().digits_ulp = before;
  }
  std::vector<digits_up_to> all;
  for (int digits = static_cast<int>(core::format_of(type).precision * 0.30103); digits >= 1; --digits) {
    const auto lost = std::find_if(reported.begin(), reported.end(), [&](const error_there& there) {
      return !(reported_error(there.digits_ulp) * ulp <= std::pow(10.0, -digits));
    });
    if (lost == reported.begin()) continue;
    const double farthest = std::prev(lost)->digits_farthest;
    if (all.empty() || farthest > all.back().farthest) all.push_back({digits, farthest});
    if (lost == reported.end()) break;
  }
  return all;
}

std::optional<reference::accuracy_class> check_result::explaining_class() const {
  if (!checked->decides_class || verdict() != status::passed) return std::nullopt;
  for (const auto c : reference::accuracy_classes)
    if (ratios[static_cast<std::size_t>(c)] <= 1.0) return c;
  return std::nullopt;
}

std::optional<reference::accuracy_class> check_result::accuracy_class() const {
  return reference::has_classes(*operation) ? explaining_class() : std::nullopt;
}

std::optional<double> check_result::share_of_law() const {
  if (!checked->decides_class || verdict() != status::passed || reference::has_classes(*operation)) return std::nullopt;
  return class_slack * ratios[static_cast<std::size_t>(reference::one_algorithm)];
}

}  // namespace assay::properties
