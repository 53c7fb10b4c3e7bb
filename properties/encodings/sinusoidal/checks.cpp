// Sinusoidal encodings: families, and laws of rows, columns and decay.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "properties/kinds/table.hpp"
#include "properties/laws/relations/relations.hpp"
#include "reference/algorithms/sinusoidal_columns.hpp"

namespace assay::properties::encodings::sinusoidal {

std::vector<variant> mutants();  // variants.cpp
std::vector<variant> controls();

namespace {

using core::dtype;
using reference::column;
using reference::waveform;

// Convergents of pi: sin m is smaller than 1/m. At 312689 and 169646 whole rows nearly repeat row 0.
const std::vector<double> near_repeats{0,      3,      22,     44,     333,    355,    710,     33102,
                                       103993, 104348, 169646, 208341, 312689, 833719, 1146408, 4272943};

double of_either_sign(const drawing& from) { return static_cast<double>(from.random.below(600)) - 300.0; }
void fractions(std::vector<double>& positions, const drawing& from) {
  const bool halves = from.random.one_in(2);
  for (double& m : positions)
    m = halves ? static_cast<double>(from.random.below(200)) / 2.0 - 20.0 : from.random.uniform(-50.0, 50.0);
}
/// Numbers of either sign with magnitudes spread over powers of two, from 2^-`steps` of the largest to 2^`most`.
double log_uniform(const drawing& from, int most, std::size_t steps) {
  return from.random.sign() *
         std::ldexp(from.random.uniform(0.5, 1.0), most - static_cast<int>(from.random.below(steps)));
}
double zero_or_small(const drawing& from) { return from.random.one_in(3) ? 0.0 : log_uniform(from, 1, 12); }

double geometric(const drawing& from) { return std::pow(1e4, -static_cast<double>(from.random.below(16)) / 16.0); }
double one_or_geometric(const drawing& from) { return from.random.one_in(3) ? 1.0 : geometric(from); }
// Zero, subnormal, and larger than any frequency that a base gives.
double extreme_theta(const drawing& from) {
  switch (from.random.below(4)) {
    case 0:
      return 0.0;
    case 1:
      return core::smallest_subnormal(from.type) * static_cast<double>(1 + from.random.below(40));
    case 2:
      return from.random.sign() * from.random.uniform(1.0, 60.0);
    default:
      return std::ldexp(1.0, static_cast<int>(from.random.below(9)));
  }
}

double usual_base(const drawing& from) {
  constexpr std::array bases{10000.0, 1000.0, 100.0, 10.0, 20000.0, 2.0};
  return from.random.one_in(2) ? bases[from.random.below(bases.size())] : from.random.uniform(2.0, 20000.0);
}
double extreme_base(const drawing& from) {
  if (from.random.one_in(2)) return 1.0 + std::fabs(log_uniform(from, 0, 20));
  const double largest = core::largest_finite(from.type);
  return std::ldexp(largest, -static_cast<int>(from.random.below(static_cast<std::size_t>(std::ilogb(largest)))));
}

// Distances for decay: near 0, between 1 and the base, and beyond.
double usual_distance(const drawing& from) { return from.random.sign() * from.random.uniform(0.0, 60.0); }
double small_distance(const drawing& from) {
  return from.random.one_in(4) ? 0.0 : log_uniform(from, 1, from.type == dtype::f16 ? 12 : 60);
}
double wide_distance(const drawing& from) {
  return from.type == dtype::f16 ? log_uniform(from, 15, 15) : log_uniform(from, 30, 30);
}

core::attributes settings_of(const test_case& c) { return core::completed(*c.call.operation, c.call.attributes); }
std::vector<column> columns_of(const test_case& c) {
  if (c.call.inputs.contains("theta")) {
    const std::size_t pairs = c.call.inputs.at("theta").size();
    return reference::arrange_pairs(settings_of(c), pairs, pairs);
  }
  return reference::plan_of_table(settings_of(c)).columns;
}
test_case with_positions(const test_case& c, const std::vector<double>& positions) {
  test_case other = c;
  core::tensor& m = other.call.inputs.at("position");
  m = core::make_tensor(m.type, {positions.size()}, positions);
  if (c.call.operation->attribute("offset") != nullptr) other.call.attributes["offset"] = std::int64_t{0};
  return other;
}

// At position 0 every sine is 0 and every cosine 1: the row shows which function each column holds.
void check_first_row(experiment& e) {
  const numbers row(e.call(with_positions(e.c, {0.0})), "p");
  const std::vector<column> columns = columns_of(e.c);
  for (std::size_t k = 0; k < columns.size(); ++k)
    e.equal(exactly(columns[k].function == waveform::cosine), row[k], 1.0, "column {} of position 0, row {:.3g}", k,
            fmt::join(row.x.begin(), row.x.end(), " "));
}

// The columns of sine and cosine, for each frequency that has both.
struct column_pair {
  std::size_t sine, cosine;
};
std::vector<column_pair> pairs_of(const test_case& c) {
  const std::vector<column> columns = columns_of(c);
  std::map<std::size_t, std::size_t> cosines;
  for (std::size_t k = 0; k < columns.size(); ++k)
    if (columns[k].function == waveform::cosine) cosines[columns[k].pair] = k;
  std::vector<column_pair> pairs;
  for (std::size_t s = 0; s < columns.size(); ++s)
    if (columns[s].function == waveform::sine && cosines.contains(columns[s].pair))
      pairs.push_back({s, cosines.at(columns[s].pair)});
  return pairs;
}
std::vector<double> positions_of(const test_case& c) {
  const auto& m = c.call.inputs.at("position").values.storage();
  return {m.begin(), m.end()};
}

// Row `to` of q equals row `from` of p, turned by the angles of row `by` of p: the addition theorem for all pairs.
struct turned_row {
  std::size_t from, by, to;
};
void check_turned(experiment& e, const numbers& p, const numbers& q, turned_row row, double position) {
  for (const auto [s, c] : pairs_of(e.c)) {
    const approximate sine = p(row.from, s) * p(row.by, c) + p(row.from, c) * p(row.by, s),
                      cosine = p(row.from, c) * p(row.by, c) - p(row.from, s) * p(row.by, s);
    e.equal(q(row.to, s), sine, 1.0, "the sine of a sum at position {}, column {}", position, s);
    e.equal(q(row.to, c), cosine, 1.0, "the cosine of a sum at position {}, column {}", position, c);
  }
}
void check_addition(experiment& e) {
  std::vector<double> all = positions_of(e.c);
  const std::size_t n = all.size();
  const bool far = n > 0 && *std::max_element(all.begin(), all.end()) > 1000;
  const double by = (far ? -1.0 : 1.0) * static_cast<double>(1 + e.c.seed % 100);  // towards 0
  for (std::size_t i = 0; i < n; ++i) all.push_back(all[i] + by);
  all.push_back(by);
  const numbers p(e.call(with_positions(e.c, all)), "p");
  for (std::size_t i = 0; i < n; ++i) check_turned(e, p, p, {i, 2 * n, n + i}, all[n + i]);
}
// SHAPE: an offset k turns all rows alike, by the angles of position k.
void check_offset(experiment& e) {
  test_case shifted = e.c;
  const auto k = std::max(core::setting<std::int64_t>(settings_of(e.c), "offset"), std::int64_t{1});
  shifted.call.attributes["offset"] = k;
  std::vector<double> all = positions_of(e.c);
  const std::size_t n = all.size();
  all.push_back(static_cast<double>(k));
  const numbers p(e.call(with_positions(e.c, all)), "p"), q(e.call(shifted), "p");
  for (std::size_t i = 0; i < n; ++i) check_turned(e, p, q, {i, n, i}, all[i] + all[n]);
}
// <p_m, p_n> is the sum of the cosines of m - n.
void check_inner_products(experiment& e) {
  std::vector<double> all = positions_of(e.c);
  const std::size_t n = all.size();
  for (std::size_t i = 0; i < n; ++i) all.push_back(std::fabs(all[i] - all[i / 2]));
  const numbers p(e.call(with_positions(e.c, all)), "p");
  const std::vector<column_pair> pairs = pairs_of(e.c);
  for (std::size_t i = 0; i < n; ++i) {
    approximate product, cosines;
    for (const auto [s, c] : pairs) {
      product += p(i, s) * p(i / 2, s) + p(i, c) * p(i / 2, c);
      cosines += p(n + i, c);
    }
    e.equal(cosines, product, static_cast<double>(pairs.size()), "the inner product of positions {} and {}", all[i],
            all[i / 2]);
  }
}
// p_{m+1} + p_{m-1} = 2 cos(theta) p_m, taken at the neighbour of each position that is nearer to 0.
void check_recurrence(experiment& e) {
  std::vector<double> all;
  const std::vector<double> given = positions_of(e.c);
  const bool has_one_sign = std::none_of(given.begin(), given.end(), [](double m) { return m < 0; });
  for (const double m : given) {
    const double nearer = m > 0 ? m - 1 : m < 0 ? m + 1 : m, middle = has_one_sign ? std::max(nearer, 1.0) : nearer;
    all.insert(all.end(), {middle - 1, middle, middle + 1});
  }
  all.push_back(1);
  const numbers p(e.call(with_positions(e.c, all)), "p");
  for (const auto [s, c] : pairs_of(e.c))
    for (const std::size_t column : {s, c})
      for (std::size_t i = 0; i + 1 < all.size(); i += 3)
        e.equal(p(i, column) + p(i + 2, column), exactly(2) * p(all.size() - 1, c) * p(i + 1, column), 1.0,
                "the sum of the neighbours of position {}, column {}", all[i + 1], column);
}

double negated(const test_case&, double x) { return -x; }

}  // namespace

encoding_tests make_tests() {
  const std::string table = "sinusoidal/table", table_at = "sinusoidal/table_at";
  const number_filler usual = each(geometric), or_one = each(one_or_geometric), distances = each(usual_distance);
  encoding_tests tests;
  tests.name = "sinusoidal";
  // Several families have longer tables: a single long case may have no frequency.
  tests.families = {
      parting_classes(
          table_family("mild", "consecutive positions; bases from 2 to 20000; distances below 60",
                       {{"position", in_a_row}, {"theta", usual}, {"base", each(usual_base)}, {"s", distances}})),
      table_family("large_positions", "positions that short formats cannot tell apart, to 2^31",
                   {{"position", one_of(hard_positions)}, {"theta", usual}}),
      table_family("consecutive_far", "consecutive positions, far away",
                   {{"position", in_a_row_from(hard_positions)}, {"theta", usual}}),
      parting_classes(table_family("negative_positions", "positions of both signs",
                                   {{"position", each(of_either_sign)}, {"theta", usual}})),
      table_family("near_collisions", "positions whose rows nearly repeat",
                   {{"position", one_of(near_repeats)}, {"theta", or_one}}),
      parting_classes(of_real_numbers(
          table_family("fractions", "halves and other fractions", {{"position", fractions}, {"theta", usual}}))),
      of_real_numbers(table_family("extreme_theta", "frequencies that are 0, subnormal or large",
                                   {{"position", fractions}, {"theta", each(extreme_theta)}})),
      of_real_numbers(table_family("small_positions", "positions that are 0 or below 2",
                                   {{"position", each(zero_or_small)}, {"theta", or_one}})),
      table_family("extreme_bases", "bases near 1 and to the end of the format", {{"base", each(extreme_base)}}),
      table_family("small_distances", "distances that are 0 or below 2", {{"s", each(small_distance)}}),
      table_family("wide_distances", "distances inside the window of decay and beyond", {{"s", each(wide_distance)}}),
      holding_nan(of_real_numbers(
          table_family("nan_inside", "a NaN in some positions or distances",
                       {{"position", with_nan(in_a_row)}, {"theta", usual}, {"s", with_nan(distances)}}))),
  };
  tests.sizes = table_sizes(table, "d");
  for (const usual_size& size : table_sizes(table_at, "r", 2)) tests.sizes.push_back(size);
  const auto odd = [&](const char* setting, const char* value, const char* last) -> usual_size {
    return {{table}, {{"n", 5}, {"d", 33}}, true, "", {{setting, std::string(value)}, {"odd", std::string(last)}}};
  };
  tests.sizes.push_back({{table}, {{"n", 3}, {"d", 514}}, true, "consecutive_far"});
  tests.sizes.push_back(odd("layout", "interleaved", "zero"));
  tests.sizes.push_back(odd("rule", "tensor2tensor", "extra"));
  tests.long_ones = {{{table}, {{"n", 2}, {"d", 2}}},
                     {{table_at}, {{"n", 2}}},
                     {{"sinusoidal/frequencies"}, {{"r", 1}}},
                     {{"sinusoidal/decay"}, {}, {{"n", 4100}}}};  // an integral takes 0.1 ms
  tests.mutants = mutants();
  tests.controls = controls();
  const std::vector<std::string> whole{"mild", "large_positions", "consecutive_far", "near_collisions",
                                       "negative_positions"};
  tests.laws = {
      law("sinusoidal_first_row", "at position 0 sines are 0 and cosines 1", {{table, table_at}, whole},
          {1, check_first_row}),
      law("sinusoidal_addition", "a later row is a rotation of an earlier one", {{table}, whole}, {1, check_addition}),
      law("sinusoidal_offset", "an offset turns all rows by the angles of that position (SHAPE)", {{table}, whole},
          {2, check_offset}),
      law("sinusoidal_inner_products", "inner products of rows are the sums of the cosines of their distance",
          {{table}, whole}, {1, check_inner_products}),
      law("sinusoidal_recurrence", "the neighbours of a row add up to 2 cos(theta) times it", {{table}, whole},
          {1, check_recurrence}),
      law("sinusoidal_decay", "decay is even in the distance", {{"sinusoidal/decay"}},
          agree_after(each_of({"s"}, negated), "the other direction"))};
  return tests;
}

}  // namespace assay::properties::encodings::sinusoidal
