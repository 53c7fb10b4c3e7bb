#include "properties/encodings/sinusoidal/laws/laws.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "properties/encodings/sinusoidal/laws/table.hpp"

namespace assay::properties::encodings::sinusoidal {
namespace {

/// Positions that can be added and subtracted in the format of a call: integers as they are, real ones reduced to
/// multiples of 1/2 below an eighth of what the format counts.
std::vector<double> grid_positions(const test_case& c) {
  std::vector<double> all = positions_of(c);
  if (c.call.inputs.at("position").type == core::dtype::i64) return all;
  const double limit = std::ldexp(1.0, core::format_of(c.call.type).precision - 3);
  for (double& m : all) m = std::round(2.0 * std::fmod(m, limit)) / 2.0 + 0.0;
  return all;
}

/// How far all positions can be moved within the formats of a call: towards 0.
double drawn_shift(const test_case& c, const std::vector<double>& m) {
  const bool integers = c.call.inputs.at("position").type == core::dtype::i64;
  const double drawn = 1.0 + static_cast<double>(core::counter_random(c.seed).below(integers ? 100 : 32));
  const double step = integers ? drawn : drawn / 2.0;
  return !m.empty() && *std::max_element(m.begin(), m.end()) > 1000 ? -step : step;
}

/// Another row for every row, near or far.
std::vector<std::size_t> drawn_partners(const test_case& c, std::size_t rows) {
  std::vector<std::size_t> all(rows);
  core::counter_random random(c.seed);
  for (std::size_t i = 0; i < rows; ++i) all[i] = (i + 1 + (rows > 2 ? random.below(rows - 1) : 0)) % rows;
  return all;
}

std::string differing(const char* what, double m, std::size_t pair, approximate x, approximate y) {
  return fmt::format("{} at position {:.17g}, frequency {}: {:.9g} and {:.9g}, allowed difference {:.3g}", what, m,
                     pair, x.value, y.value, x.error + y.error);
}

/// Whether two numbers made of points of the unit circle agree.
using circle_check = std::function<bool(approximate, approximate)>;

// Checks every pair of every row of a case; `wrong` says what is wrong.
outcome check_rows(
    const pair_table& p, std::size_t rows,
    const std::function<std::string(std::size_t row, std::size_t pair, const circle_check& agrees)>& wrong) {
  comparisons all;
  const circle_check agrees = [&](approximate x, approximate y) { return agree(all, x, y, 1.0); };
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t k = 0; k < p.pairs(); ++k)
      if (const std::string text = wrong(i, k, agrees); !text.empty()) return violated(text, {}, p.outputs());
  return all.result();
}

// Each pair is a point of the unit circle: |p_m|^2 = floor(d/2).
outcome check_norm(implementation& under_test, const test_case& c) {
  const auto p = table_of(under_test, c);
  if (!p) return p.error();
  const std::vector<double> m = positions_of(c);
  return check_rows(*p, m.size(), [&](std::size_t i, std::size_t k, const circle_check& agrees) -> std::string {
    const wave_pair w = (*p)(i, k);
    const approximate norm = w.sine * w.sine + w.cosine * w.cosine, one{1.0, 0.0};
    return agrees(norm, one) ? "" : differing("the squared norm of a pair", m[i], k, norm, one);
  });
}

approximate product_of(const wave_pair& x, const wave_pair& y) { return x.sine * y.sine + x.cosine * y.cosine; }

// <p_{m+k}, p_{n+k}> = <p_m, p_n>, of each frequency.
outcome check_shift(implementation& under_test, const test_case& c) {
  const std::vector<double> m = grid_positions(c);
  if (m.size() < 2) return {status::uninformative};
  const std::vector<std::size_t> partner = drawn_partners(c, m.size());
  std::vector<double> both = m;
  for (const double x : m) both.push_back(x + drawn_shift(c, m));
  const auto p = table_of(under_test, at_positions(c, both));
  if (!p) return p.error();
  return check_rows(*p, m.size(), [&](std::size_t i, std::size_t k, const circle_check& agrees) -> std::string {
    const approximate here = product_of((*p)(i, k), (*p)(partner[i], k));
    const approximate there = product_of((*p)(m.size() + i, k), (*p)(m.size() + partner[i], k));
    return agrees(here, there) ? "" : differing("the product with another row, shifted,", m[i], k, here, there);
  });
}

// |p_m - p_n|^2 = 2 - 2 cos((m - n) theta), of each frequency: the cosine is in row m - n.
outcome check_distance(implementation& under_test, const test_case& c) {
  const std::vector<double> m = grid_positions(c);
  if (m.size() < 2) return {status::uninformative};
  const std::vector<std::size_t> partner = drawn_partners(c, m.size());
  std::vector<double> with_differences = m;
  for (std::size_t i = 0; i < m.size(); ++i) with_differences.push_back(m[partner[i]] - m[i]);
  const auto p = table_of(under_test, at_positions(c, with_differences));
  if (!p) return p.error();
  return check_rows(*p, m.size(), [&](std::size_t i, std::size_t k, const circle_check& agrees) -> std::string {
    const wave_pair x = (*p)(i, k), y = (*p)(partner[i], k);
    const approximate sine = y.sine - x.sine, cosine = y.cosine - x.cosine, two{2.0, 0.0};
    const approximate distance = sine * sine + cosine * cosine;
    const approximate expected = two - two * (*p)(m.size() + i, k).cosine;
    return agrees(distance, expected) ? "" : differing("the distance to another row", m[i], k, distance, expected);
  });
}

// p_{m+k} = p_m R_k^T.
outcome check_addition(implementation& under_test, const test_case& c) {
  const std::vector<double> m = grid_positions(c);
  const double k = drawn_shift(c, m);
  std::vector<double> all = m;
  for (const double x : m) all.push_back(x + k);
  all.push_back(k);
  const auto p = table_of(under_test, at_positions(c, all));
  if (!p) return p.error();
  return check_rows(*p, m.size(), [&](std::size_t i, std::size_t t, const circle_check& agrees) -> std::string {
    const wave_pair x = (*p)(i, t), y = (*p)(2 * m.size(), t), sum = (*p)(m.size() + i, t);
    const approximate sine = x.sine * y.cosine + x.cosine * y.sine;
    const approximate cosine = x.cosine * y.cosine - x.sine * y.sine;
    if (!agrees(sum.sine, sine)) return differing("the sine of a sum", m[i] + k, t, sum.sine, sine);
    return agrees(sum.cosine, cosine) ? "" : differing("the cosine of a sum", m[i] + k, t, sum.cosine, cosine);
  });
}

// p_{m+1} + p_{m-1} = 2 cos(theta) p_m.
outcome check_recurrence(implementation& under_test, const test_case& c) {
  const std::vector<double> m = grid_positions(c);
  std::vector<double> all;
  for (const double x : m) all.insert(all.end(), {x - 2, x - 1, x});  // towards 0 from the furthest
  all.push_back(1);
  const auto p = table_of(under_test, at_positions(c, all));
  if (!p) return p.error();
  return check_rows(*p, m.size(), [&](std::size_t i, std::size_t k, const circle_check& agrees) -> std::string {
    const wave_pair before = (*p)(3 * i, k), here = (*p)(3 * i + 1, k), after = (*p)(3 * i + 2, k);
    const approximate factor = approximate{2.0, 0.0} * (*p)(3 * m.size(), k).cosine;
    const approximate sines = before.sine + after.sine, cosines = before.cosine + after.cosine;
    if (!agrees(sines, factor * here.sine))
      return differing("the sum of the neighbours' sines", m[i] - 1, k, sines, factor * here.sine);
    return agrees(cosines, factor * here.cosine)
               ? ""
               : differing("the sum of the neighbours' cosines", m[i] - 1, k, cosines, factor * here.cosine);
  });
}

// p_{-m} is p_m with its sines negated.
outcome check_parity(implementation& under_test, const test_case& c) {
  const std::vector<double> m = positions_of(c);
  std::vector<double> both = m;
  for (const double x : m) both.push_back(0.0 - x);
  const auto p = table_of(under_test, at_positions(c, both));
  if (!p) return p.error();
  return check_rows(*p, m.size(), [&](std::size_t i, std::size_t k, const circle_check& agrees) -> std::string {
    const wave_pair x = (*p)(i, k), y = (*p)(m.size() + i, k);
    if (!agrees(-x.sine, y.sine)) return differing("the sine of -m", m[i], k, -x.sine, y.sine);
    return agrees(x.cosine, y.cosine) ? "" : differing("the cosine of -m", m[i], k, x.cosine, y.cosine);
  });
}

}  // namespace

std::vector<property> laws() {
  const std::vector<std::string> tables{table_name, "sinusoidal/table_at"};
  const std::vector<std::string>& whole = families_of_integers();
  const std::vector<std::string> real = families_of_positions();
  std::vector<property> laws{
      law_of("sinusoidal_norm", "the two functions of a frequency lie on the unit circle", check_norm, tables, real),
      law_of("sinusoidal_shift", "products of rows do not change where all positions move", check_shift, tables, whole),
      law_of("sinusoidal_distance", "the distance of rows is that of their positions", check_distance, tables, whole),
      law_of("sinusoidal_addition", "a later row is a rotation of an earlier one", check_addition, tables, whole),
      law_of("sinusoidal_recurrence", "neighbours of a row add up to 2 cos(theta) times it", check_recurrence, tables,
             whole),
      law_of("sinusoidal_parity", "sines are odd in the position, cosines even", check_parity, tables, real),
  };
  for (const auto& others : {column_laws(), function_laws()}) laws.insert(laws.end(), others.begin(), others.end());
  return laws;
}

}  // namespace assay::properties::encodings::sinusoidal
