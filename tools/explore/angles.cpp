// Angles of sinusoidal and rotary encodings: how far the usual recipes are off at a position, and from where on
// neighbours are the same.
#include <array>
#include <cmath>

#include "reference/core/counter_random.hpp"
#include "reference/oracle.hpp"
#include "reference/readings/rounded.hpp"
#include "tools/explore/formats.hpp"
#include "tools/explore/single_cells.hpp"

namespace assay::explore {
namespace {

using R = reference::rounded;

constexpr double base = 10000.0;

std::size_t width_of(const cell& c) { return static_cast<std::size_t>(c.scale); }

// Frequency t of d columns in the working format: as a power, by exp and log, or computed in double and rounded once.
R frequency(const std::string& recipe, std::size_t t, std::size_t d) {
  const R exponent = R(static_cast<double>(2 * t)) / R(static_cast<double>(d));
  if (recipe == "power") return R(1.0) / R(std::pow(R(base).number, exponent.number));
  if (recipe == "exponential")
    return exp(R(static_cast<double>(2 * t)) * (-(log(R(base)) / R(static_cast<double>(d)))));
  return R(std::pow(base, -static_cast<double>(2 * t) / static_cast<double>(d)));
}

// A row of the table: angle, sine and cosine in the working format, stored in another.
std::vector<double> table_row(const cell& c, const std::vector<R>& theta, double position) {
  const storage_format& stored = *find_format(c.storage);
  std::vector<double> row;
  for (const R& t : theta) {
    const R angle = R(position) * t;
    row.push_back(stored.round(sin(angle).number));
    row.push_back(stored.round(cos(angle).number));
  }
  return row;
}

std::vector<R> frequencies(const cell& c) {
  std::vector<R> theta;
  for (std::size_t t = 0; t < width_of(c) / 2; ++t) theta.push_back(frequency(c.implementation, t, width_of(c)));
  return theta;
}

// The largest error of the row, against the certified table.
results table_errors(const cell& c) {
  const auto position = static_cast<double>(c.size);
  const core::request call{reference::find_operation("sinusoidal/table"),
                           core::dtype::f64,
                           {{"position", core::make_tensor(core::dtype::i64, {1}, {position})}},
                           {{"width", static_cast<std::int64_t>(width_of(c))}}};
  const auto truth =
      reference::truth_of({call.operation, call.type, call.inputs, core::completed(*call.operation, call.attributes)});
  const reference::computing_in format(*core::dtype_named(c.arithmetic));
  const std::vector<double> row = table_row(c, frequencies(c), position);
  double largest = 0;
  for (std::size_t k = 0; k < row.size(); ++k) {
    const double error = std::fabs(truth.at("p").error_of(row[k], k));
    largest = std::isnan(error) ? 2.0 : std::max(largest, error);
  }
  // The fastest angle is exact up to rounding of the position; the next ones are off by m theta (u + u_theta), and no
  // sine is off by more than 2.
  const double u = core::unit_roundoff(*core::dtype_named(c.arithmetic));
  const double bound = position * u * 2.0 + find_format(c.storage)->unit_roundoff();
  return {{"largest", largest}, {"digits", std::clamp(-std::log10(largest), 0.0, 16.0)}, {"law", std::min(2.0, bound)}};
}

// The first position whose row is that of its successor.
results neighbours(const cell& c) {
  const core::dtype type = *core::dtype_named(c.arithmetic);
  const reference::computing_in format(type);
  const std::vector<R> theta = frequencies(c);
  double merged = nothing;
  std::vector<double> row = table_row(c, theta, 0.0);
  for (std::uint64_t m = 0; m < c.size && std::isnan(merged); ++m) {
    std::vector<double> next = table_row(c, theta, static_cast<double>(m + 1));
    if (next == row) merged = static_cast<double>(m);
    row = std::move(next);
  }
  // From 2^p on odd numbers are no numbers of the format.
  return {{"merged_at", merged}, {"law", std::ldexp(1.0, core::format_of(type).precision)}};
}

// In which format each step of a rotation is rounded.
struct stages {
  const storage_format *position, *angle, *table, *product, *output;
};
stages stages_of(const cell& c) {
  const storage_format *wide = find_format(c.arithmetic), *narrow = find_format(c.storage);
  if (c.implementation == "narrow_output") return {wide, wide, wide, wide, narrow};
  if (c.implementation == "narrow_table") return {wide, wide, narrow, wide, narrow};
  if (c.implementation == "narrow_positions") return {narrow, wide, wide, wide, narrow};
  return {narrow, narrow, narrow, narrow, narrow};
}

constexpr std::size_t rotary_width = 128, rotary_offset = 10, rotary_positions = 64, rotary_draws = 8;
using vector = std::array<double, rotary_width>;

vector rotated(const stages& r, const vector& x, double position) {
  const double m = r.position->round(position);
  vector y{};
  for (std::size_t t = 0; t < rotary_width / 2; ++t) {
    const double theta = r.angle->round(std::pow(base, -2.0 * static_cast<double>(t) / rotary_width));
    const double angle = r.angle->round(m * theta);
    const double cosine = r.table->round(std::cos(angle)), sine = r.table->round(std::sin(angle));
    const auto product = [&](double a, double b) { return r.product->round(a * b); };
    y[2 * t] = r.output->round(product(x[2 * t], cosine) - product(x[2 * t + 1], sine));
    y[2 * t + 1] = r.output->round(product(x[2 * t], sine) + product(x[2 * t + 1], cosine));
  }
  return y;
}

double score(const vector& q, const vector& k) {
  double sum = 0;
  for (std::size_t i = 0; i < rotary_width; ++i) sum += q[i] * k[i];
  return sum / std::sqrt(static_cast<double>(rotary_width));
}

// The largest error of a score of q at m and k at m + 10, which depends on the distance alone: the truth is q against k
// turned by 10 in double, whose own error is below 1e-14.
results score_errors(const cell& c) {
  const storage_format* exact = find_format("f64");
  const stages steps = stages_of(c), in_double{exact, exact, exact, exact, exact};
  core::counter_random random(c.seed);
  double largest = 0;
  for (std::size_t draw = 0; draw < rotary_draws; ++draw) {
    vector q{}, k{};
    for (double& x : q) x = steps.output->round(random.normal());
    for (double& x : k) x = steps.output->round(random.normal());
    const double truth = score(q, rotated(in_double, k, static_cast<double>(rotary_offset)));
    for (std::size_t i = 0; i < rotary_positions; ++i) {
      const auto m = static_cast<double>(c.size + i);
      const double error = std::fabs(score(rotated(steps, q, m), rotated(steps, k, m + rotary_offset)) - truth);
      largest = std::isnan(error) || std::isnan(largest) ? nothing : std::max(largest, error);
    }
  }
  return {{"largest", largest}, {"nonfinite", std::isnan(largest) ? 1.0 : 0.0}};
}

double one_row(const cell& c) { return c.scale; }
// Neighbours merge where positions do, if not before.
double all_rows(const cell& c) {
  const int precision = core::format_of(*core::dtype_named(c.arithmetic)).precision;
  return std::min(static_cast<double>(c.size), std::ldexp(1.0, precision)) * c.scale;
}
double one_start(const cell&) { return 1; }

core::result<void> check_width(const cell& c) {
  const bool is_even = c.scale >= 2 && c.scale <= 4096 && c.scale == 2 * std::floor(c.scale / 2);
  return is_even ? core::result<void>() : refuse_cell(c, "scale is the width here: even, 2 to 4096");
}

core::result<void> check_table(const cell& c) {
  if (reference::find_operation("sinusoidal/table") == nullptr)
    return refuse_cell(c, "its truth is that of sinusoidal/table, which this program has not");
  return check_width(c);
}

}  // namespace

measure angle_errors() {
  return of_single_cells(measure{.name = "angle",
                                 .summary = "error of a row of the sinusoidal table, by recipe of the frequencies",
                                 .size_means = "position m",
                                 .decay_means = "",
                                 .scale_means = "width d",
                                 .implementations = {"power", "exponential", "rounded_once"},
                                 .takes_storage = true,
                                 .check = check_table},
                         table_errors, one_row);
}

measure merging_neighbours() {
  return of_single_cells(measure{.name = "neighbours",
                                 .summary = "the first position whose row of the table is that of the next one",
                                 .size_means = "positions tried",
                                 .decay_means = "",
                                 .scale_means = "width d",
                                 .implementations = {"power", "exponential", "rounded_once"},
                                 .takes_storage = true,
                                 .check = check_width},
                         neighbours, all_rows);
}

measure rotary_scores() {
  return of_single_cells(measure{.name = "rotary_score",
                                 .summary = "error of a score between rotated vectors, by what is narrow",
                                 .size_means = "position m",
                                 .decay_means = "",
                                 .scale_means = "",
                                 .implementations = {"all_narrow", "narrow_output", "narrow_table", "narrow_positions"},
                                 .takes_storage = true},
                         score_errors, one_start);
}

}  // namespace assay::explore
