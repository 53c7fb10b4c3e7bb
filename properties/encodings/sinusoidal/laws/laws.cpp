#include "properties/encodings/sinusoidal/laws/laws.hpp"

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

/// What a law says of one frequency of one row.
using says_of_row = std::function<void(const pair_table& p, std::size_t row, std::size_t pair)>;

// Says something of every frequency of the first rows of the table of a case.
void for_rows(experiment& e, const test_case& c, std::size_t rows, const says_of_row& says) {
  const pair_table p(c, e.call(c));
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t k = 0; k < p.pairs(); ++k) says(p, i, k);
}

// Two numbers made of points of the unit circle agree.
void on_circle(experiment& e, approximate x, approximate y, const char* what, double m, std::size_t pair) {
  e.equal(x, y, 1.0, "{} at position {:.17g}, frequency {}", what, m, pair);
}

// Each pair is a point of the unit circle: |p_m|^2 = floor(d/2).
void check_norm(experiment& e) {
  const std::vector<double> m = positions_of(e.c);
  for_rows(e, e.c, m.size(), [&](const pair_table& p, std::size_t i, std::size_t k) {
    const wave_pair w = p(i, k);
    on_circle(e, w.sine * w.sine + w.cosine * w.cosine, exactly(1), "the squared norm of a pair", m[i], k);
  });
}

approximate product_of(const wave_pair& x, const wave_pair& y) { return x.sine * y.sine + x.cosine * y.cosine; }

// <p_{m+k}, p_{n+k}> = <p_m, p_n>, of each frequency.
void check_shift(experiment& e) {
  const std::vector<double> m = grid_positions(e.c);
  e.needs(m.size() > 1);
  const std::vector<std::size_t> partner = drawn_partners(e.c, m.size());
  std::vector<double> both = m;
  for (const double x : m) both.push_back(x + drawn_shift(e.c, m));
  for_rows(e, at_positions(e.c, both), m.size(), [&](const pair_table& p, std::size_t i, std::size_t k) {
    on_circle(e, product_of(p(i, k), p(partner[i], k)), product_of(p(m.size() + i, k), p(m.size() + partner[i], k)),
              "the product with another row, shifted,", m[i], k);
  });
}

// |p_m - p_n|^2 = 2 - 2 cos((m - n) theta), of each frequency: the cosine is in row m - n.
void check_distance(experiment& e) {
  const std::vector<double> m = grid_positions(e.c);
  e.needs(m.size() > 1);
  const std::vector<std::size_t> partner = drawn_partners(e.c, m.size());
  std::vector<double> with_differences = m;
  for (std::size_t i = 0; i < m.size(); ++i) with_differences.push_back(m[partner[i]] - m[i]);
  for_rows(e, at_positions(e.c, with_differences), m.size(), [&](const pair_table& p, std::size_t i, std::size_t k) {
    const wave_pair x = p(i, k), y = p(partner[i], k);
    const approximate sine = y.sine - x.sine, cosine = y.cosine - x.cosine;
    on_circle(e, sine * sine + cosine * cosine, exactly(2) - exactly(2) * p(m.size() + i, k).cosine,
              "the distance to another row", m[i], k);
  });
}

// p_{m+k} = p_m R_k^T.
void check_addition(experiment& e) {
  const std::vector<double> m = grid_positions(e.c);
  const double by = drawn_shift(e.c, m);
  std::vector<double> all = m;
  for (const double x : m) all.push_back(x + by);
  all.push_back(by);
  for_rows(e, at_positions(e.c, all), m.size(), [&](const pair_table& p, std::size_t i, std::size_t k) {
    const wave_pair x = p(i, k), y = p(2 * m.size(), k), sum = p(m.size() + i, k);
    on_circle(e, sum.sine, x.sine * y.cosine + x.cosine * y.sine, "the sine of a sum", m[i] + by, k);
    on_circle(e, sum.cosine, x.cosine * y.cosine - x.sine * y.sine, "the cosine of a sum", m[i] + by, k);
  });
}

// p_{m+1} + p_{m-1} = 2 cos(theta) p_m.
void check_recurrence(experiment& e) {
  const std::vector<double> m = grid_positions(e.c);
  std::vector<double> all;
  for (const double x : m) all.insert(all.end(), {x - 2, x - 1, x});  // towards 0 from the furthest
  all.push_back(1);
  for_rows(e, at_positions(e.c, all), m.size(), [&](const pair_table& p, std::size_t i, std::size_t k) {
    const wave_pair before = p(3 * i, k), here = p(3 * i + 1, k), after = p(3 * i + 2, k);
    const approximate factor = exactly(2) * p(3 * m.size(), k).cosine;
    on_circle(e, before.sine + after.sine, factor * here.sine, "the sum of the neighbours' sines", m[i] - 1, k);
    on_circle(e, before.cosine + after.cosine, factor * here.cosine, "the sum of the neighbours' cosines", m[i] - 1, k);
  });
}

// p_{-m} is p_m with its sines negated.
void check_parity(experiment& e) {
  const std::vector<double> m = positions_of(e.c);
  std::vector<double> both = m;
  for (const double x : m) both.push_back(0.0 - x);
  for_rows(e, at_positions(e.c, both), m.size(), [&](const pair_table& p, std::size_t i, std::size_t k) {
    const wave_pair x = p(i, k), y = p(m.size() + i, k);
    on_circle(e, -x.sine, y.sine, "the sine of -m", m[i], k);
    on_circle(e, x.cosine, y.cosine, "the cosine of -m", m[i], k);
  });
}

}  // namespace

std::vector<property> laws() {
  const std::vector<std::string> tables{table_name, "sinusoidal/table_at"};
  const law_scope whole{tables, families_of_integers()}, real{tables, families_of_positions()};
  std::vector<property> all{
      law("sinusoidal_norm", "the two functions of a frequency lie on the unit circle", real, {1, check_norm}),
      law("sinusoidal_shift", "products of rows do not change where all positions move", whole, {1, check_shift}),
      law("sinusoidal_distance", "the distance of rows is that of their positions", whole, {1, check_distance}),
      law("sinusoidal_addition", "a later row is a rotation of an earlier one", whole, {1, check_addition}),
      law("sinusoidal_recurrence", "neighbours of a row add up to 2 cos(theta) times it", whole, {1, check_recurrence}),
      law("sinusoidal_parity", "sines are odd in the position, cosines even", real, {1, check_parity}),
  };
  for (const auto& others : {column_laws(), function_laws()}) all.insert(all.end(), others.begin(), others.end());
  return all;
}

}  // namespace assay::properties::encodings::sinusoidal
