#include "properties/laws/sinusoidal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "properties/laws/approximate.hpp"
#include "properties/laws/laws.hpp"
#include "reference/algorithms/sinusoidal_columns.hpp"

namespace assay::properties {
namespace {

using reference::column;
using reference::waveform;

constexpr const char* table_name = "sinusoidal/table";
constexpr const char* table_at_name = "sinusoidal/table_at";

/// Sine and cosine of one angle, as a table has them.
struct wave_pair {
  approximate sine, cosine;
};

/// A table, and where the two functions of each frequency stand; an odd column out is in none.
class pair_table {
 public:
  pair_table(const test_case& c, measured_call call) : call_(std::move(call)) {
    const core::attributes settings = core::completed(*c.call.operation, c.call.attributes);
    std::vector<column> columns;
    if (c.call.operation->name == table_name) {
      columns = reference::plan_of_table(settings).columns;
    } else {
      const std::size_t pairs = sizes_of(c).at("r");
      columns = reference::arrange_pairs(settings, pairs, pairs);
    }
    width_ = columns.size();
    for (std::size_t s = 0; s < columns.size(); ++s)
      for (std::size_t t = 0; t < columns.size(); ++t)
        if (columns[s].function == waveform::sine && columns[t].function == waveform::cosine &&
            columns[s].pair == columns[t].pair)
          places_.push_back({s, t});
  }
  [[nodiscard]] std::size_t pairs() const { return places_.size(); }
  [[nodiscard]] wave_pair operator()(std::size_t row, std::size_t pair) const {
    return {element(row, places_[pair].sine), element(row, places_[pair].cosine)};
  }
  [[nodiscard]] const core::tensors& outputs() const { return call_.outputs; }

 private:
  struct place {
    std::size_t sine, cosine;
  };
  [[nodiscard]] approximate element(std::size_t row, std::size_t at) const {
    const std::size_t k = row * width_ + at;
    return {call_.outputs.at("p").values.storage()[k], call_.allowed.at("p")[k]};
  }
  measured_call call_;
  std::size_t width_ = 0;
  std::vector<place> places_;
};

tl::expected<pair_table, outcome> table_of(implementation& under_test, const test_case& c) {
  auto call = measure(under_test, c);
  if (!call) return tl::make_unexpected(call.error());
  return pair_table(c, std::move(*call));
}

std::vector<double> positions_of(const test_case& c) {
  const auto& m = c.call.inputs.at("position").values.storage();
  return {m.begin(), m.end()};
}

/// The table of other positions, the offset counted already.
test_case at_positions(const test_case& c, std::vector<double> positions) {
  core::tensors inputs = c.call.inputs;
  inputs.at("position") = core::make_tensor(inputs.at("position").type, {positions.size()}, positions);
  test_case other = with_inputs(c, std::move(inputs));
  if (c.call.operation->attribute("offset") != nullptr) other.call.attributes["offset"] = std::int64_t{0};
  return other;
}

std::string differing(const char* what, double m, std::size_t pair, approximate x, approximate y) {
  return fmt::format("{} at position {:.17g}, frequency {}: {:.9g} and {:.9g}, allowed difference {:.3g}", what, m,
                     pair, x.value, y.value, x.error + y.error);
}

// Checks every pair of every row of a case; `wrong` says what is wrong.
outcome check_rows(const pair_table& p, std::size_t rows,
                   const std::function<std::string(std::size_t row, std::size_t pair)>& wrong) {
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t k = 0; k < p.pairs(); ++k)
      if (const std::string text = wrong(i, k); !text.empty()) return violated(text, {}, p.outputs());
  return rows == 0 || p.pairs() == 0 ? outcome{status::uninformative} : outcome{};
}

// Each pair is a point of the unit circle: |p_m|^2 = floor(d/2).
outcome check_norm(implementation& under_test, const test_case& c) {
  const auto p = table_of(under_test, c);
  if (!p) return p.error();
  const std::vector<double> m = positions_of(c);
  return check_rows(*p, m.size(), [&](std::size_t i, std::size_t k) -> std::string {
    const wave_pair w = (*p)(i, k);
    const approximate norm = w.sine * w.sine + w.cosine * w.cosine, one{1.0, 0.0};
    return agree(norm, one) ? "" : differing("the squared norm of a pair", m[i], k, norm, one);
  });
}

approximate product_of(const wave_pair& x, const wave_pair& y) { return x.sine * y.sine + x.cosine * y.cosine; }

/// How far all positions can be moved within the formats of a call: towards 0.
double drawn_shift(const test_case& c) {
  const std::vector<double> m = positions_of(c);
  const double step = 1.0 + static_cast<double>(core::counter_random(c.seed).below(100));
  return !m.empty() && *std::max_element(m.begin(), m.end()) > 1000 ? -step : step;
}

// <p_{m+k}, p_{n+k}> = <p_m, p_n>, of each frequency.
outcome check_shift(implementation& under_test, const test_case& c) {
  const std::vector<double> m = positions_of(c);
  if (m.size() < 2) return {status::uninformative};
  std::vector<double> both = m;
  for (const double x : m) both.push_back(x + drawn_shift(c));
  const auto p = table_of(under_test, at_positions(c, both));
  if (!p) return p.error();
  return check_rows(*p, m.size() - 1, [&](std::size_t i, std::size_t k) -> std::string {
    const approximate here = product_of((*p)(i, k), (*p)(i + 1, k));
    const approximate there = product_of((*p)(m.size() + i, k), (*p)(m.size() + i + 1, k));
    return agree(here, there) ? "" : differing("the product with the next row, shifted,", m[i], k, here, there);
  });
}

// |p_m - p_n|^2 = 2 - 2 cos((m - n) theta), of each frequency: the cosine is in row m - n.
outcome check_distance(implementation& under_test, const test_case& c) {
  const std::vector<double> m = positions_of(c);
  if (m.size() < 2) return {status::uninformative};
  std::vector<double> with_differences = m;
  for (std::size_t i = 0; i + 1 < m.size(); ++i) with_differences.push_back(m[i + 1] - m[i]);
  const auto p = table_of(under_test, at_positions(c, with_differences));
  if (!p) return p.error();
  return check_rows(*p, m.size() - 1, [&](std::size_t i, std::size_t k) -> std::string {
    const wave_pair x = (*p)(i, k), y = (*p)(i + 1, k);
    const approximate sine = y.sine - x.sine, cosine = y.cosine - x.cosine, two{2.0, 0.0};
    const approximate distance = sine * sine + cosine * cosine;
    const approximate expected = two - two * (*p)(m.size() + i, k).cosine;
    return agree(distance, expected) ? "" : differing("the distance to the next row", m[i], k, distance, expected);
  });
}

// p_{m+k} = p_m R_k^T.
outcome check_addition(implementation& under_test, const test_case& c) {
  const std::vector<double> m = positions_of(c);
  const double k = drawn_shift(c);
  std::vector<double> all = m;
  for (const double x : m) all.push_back(x + k);
  all.push_back(k);
  const auto p = table_of(under_test, at_positions(c, all));
  if (!p) return p.error();
  return check_rows(*p, m.size(), [&](std::size_t i, std::size_t t) -> std::string {
    const wave_pair x = (*p)(i, t), y = (*p)(2 * m.size(), t), sum = (*p)(m.size() + i, t);
    const approximate sine = x.sine * y.cosine + x.cosine * y.sine;
    const approximate cosine = x.cosine * y.cosine - x.sine * y.sine;
    if (!agree(sum.sine, sine)) return differing("the sine of a sum", m[i] + k, t, sum.sine, sine);
    return agree(sum.cosine, cosine) ? "" : differing("the cosine of a sum", m[i] + k, t, sum.cosine, cosine);
  });
}

// p_{m+1} + p_{m-1} = 2 cos(theta) p_m.
outcome check_recurrence(implementation& under_test, const test_case& c) {
  const std::vector<double> m = positions_of(c);
  std::vector<double> all;
  for (const double x : m) all.insert(all.end(), {x - 2, x - 1, x});  // towards 0 from the furthest
  all.push_back(1);
  const auto p = table_of(under_test, at_positions(c, all));
  if (!p) return p.error();
  return check_rows(*p, m.size(), [&](std::size_t i, std::size_t k) -> std::string {
    const wave_pair before = (*p)(3 * i, k), here = (*p)(3 * i + 1, k), after = (*p)(3 * i + 2, k);
    const approximate factor = approximate{2.0, 0.0} * (*p)(3 * m.size(), k).cosine;
    const approximate sines = before.sine + after.sine, cosines = before.cosine + after.cosine;
    if (!agree(sines, factor * here.sine))
      return differing("the sum of the neighbours' sines", m[i] - 1, k, sines, factor * here.sine);
    return agree(cosines, factor * here.cosine)
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
  return check_rows(*p, m.size(), [&](std::size_t i, std::size_t k) -> std::string {
    const wave_pair x = (*p)(i, k), y = (*p)(m.size() + i, k);
    if (!agree(-x.sine, y.sine)) return differing("the sine of -m", m[i], k, -x.sine, y.sine);
    return agree(x.cosine, y.cosine) ? "" : differing("the cosine of -m", m[i], k, x.cosine, y.cosine);
  });
}

std::vector<column> columns_of(const test_case& c) {
  const core::attributes settings = core::completed(*c.call.operation, c.call.attributes);
  if (c.call.operation->name == table_name) return reference::plan_of_table(settings).columns;
  const std::size_t pairs = sizes_of(c).at("r");
  return reference::arrange_pairs(settings, pairs, pairs);
}

// The other layout holds the same columns elsewhere, bit by bit where calls repeat so.
outcome check_layouts(implementation& under_test, const test_case& c) {
  test_case other = c;
  const core::attributes settings = core::completed(*c.call.operation, c.call.attributes);
  const bool interleaved = core::setting<std::string>(settings, "layout") == "interleaved";
  other.call.attributes["layout"] = std::string(interleaved ? "half_split" : "interleaved");
  const auto here = measure(under_test, c);
  if (!here) return here.error();
  const auto there = measure(under_test, other);
  if (!there) return there.error();
  const std::vector<column> from = columns_of(c), to = columns_of(other);
  std::vector<std::size_t> order;
  for (const column& wanted : to)
    for (std::size_t k = 0; k < from.size(); ++k)
      if (from[k].function == wanted.function && from[k].pair == wanted.pair) order.push_back(k);
  const core::tensors expected{{"p", core::take(here->outputs.at("p"), 1, order)}};
  const outcome bits = compare_bits(expected, there->outputs, "the other layout's columns in this one's order");
  if (bits.verdict != status::failed || under_test.describe().deterministic) return bits;
  const std::size_t rows = positions_of(c).size(), width = to.size();
  std::vector<std::size_t> origin, every;
  for (std::size_t i = 0; i < rows * width; ++i) {
    every.push_back(i);
    origin.push_back(i / width * width + order[i % width]);
  }
  const auto wrong = compare_elements("p", *here, origin, *there, every);
  return wrong ? violated("the other layout: " + *wrong, here->outputs, there->outputs) : outcome{};
}

// An offset is nothing but another position.
outcome check_offset(implementation& under_test, const test_case& c) {
  const core::attributes settings = core::completed(*c.call.operation, c.call.attributes);
  const auto offset = static_cast<double>(core::setting<std::int64_t>(settings, "offset"));
  std::vector<double> moved = positions_of(c);
  for (double& m : moved) m += offset;
  const auto here = measure(under_test, c);
  if (!here) return here.error();
  const auto there = measure(under_test, at_positions(c, moved));
  if (!there) return there.error();
  std::vector<std::size_t> every(here->outputs.at("p").size());
  for (std::size_t i = 0; i < every.size(); ++i) every[i] = i;
  const auto wrong = compare_elements("p", *there, every, *here, every);
  if (wrong) return violated(fmt::format("an offset of {}: {}", offset, *wrong), there->outputs, here->outputs);
  return offset == 0.0 || every.empty() ? outcome{status::uninformative} : outcome{};
}

// The column that an odd width leaves over is exactly 0.
outcome check_odd_width(implementation& under_test, const test_case& c) {
  const auto call = measure(under_test, c);
  if (!call) return call.error();
  const std::vector<column> columns = columns_of(c);
  const core::tensor& p = call->outputs.at("p");
  bool any = false;
  for (std::size_t k = 0; k < p.size(); ++k) {
    if (columns[k % columns.size()].function != waveform::zero) continue;
    any = true;
    if (const double x = p.values.storage()[k]; x != 0.0)
      return violated(fmt::format("p{} is {:.9g} instead of 0", core::index_text(p.shape(), k), x), {}, call->outputs);
  }
  return any ? outcome{} : outcome{status::uninformative};
}

}  // namespace

std::vector<property> sinusoidal_laws() {
  const std::vector<std::string> of_integers{table_name}, tables{table_name, table_at_name};
  const std::vector<std::string> whole{"mild", "large_positions", "consecutive_far", "near_collisions",
                                       "negative_positions"};
  std::vector<std::string> real = whole;
  real.insert(real.end(), {"fractions", "extreme_theta", "small_positions"});
  std::vector<property> laws{
      sinusoidal_law("sinusoidal_norm", "the two functions of a frequency lie on the unit circle", check_norm, tables,
                     real),
      sinusoidal_law("sinusoidal_shift", "products of rows do not change where all positions move", check_shift,
                     of_integers, whole),
      sinusoidal_law("sinusoidal_distance", "the distance of rows is that of their positions", check_distance,
                     of_integers, whole),
      sinusoidal_law("sinusoidal_addition", "a later row is a rotation of an earlier one", check_addition, of_integers,
                     whole),
      sinusoidal_law("sinusoidal_recurrence", "neighbours of a row add up to 2 cos(theta) times it", check_recurrence,
                     of_integers, whole),
      sinusoidal_law("sinusoidal_parity", "sines are odd in the position, cosines even", check_parity, tables, real),
      sinusoidal_law("sinusoidal_layouts", "the layouts hold the same columns in another order", check_layouts, tables,
                     real, 2),
      sinusoidal_law("sinusoidal_offset", "an offset is another position", check_offset, of_integers, whole, 2),
      sinusoidal_law("sinusoidal_odd_width", "the column that an odd width leaves over is 0", check_odd_width,
                     of_integers, whole),
  };
  const std::vector<property> others = sinusoidal_function_laws();
  laws.insert(laws.end(), others.begin(), others.end());
  return laws;
}

}  // namespace assay::properties
