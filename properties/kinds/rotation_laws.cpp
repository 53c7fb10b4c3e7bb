// Laws of rotations by position. They need no truth.
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "properties/kinds/rotation.hpp"

namespace assay::properties {
namespace {

/// The case with positions changed one by one, row by row; nothing if a new position lies outside the domain or is no
/// number of the dtype.
template <class Change>
std::optional<test_case> with_positions(const test_case& c, Change change) {
  test_case moved = c;
  core::tensor& position = moved.call.inputs.at("position");
  for (double& m : position.values.storage()) {
    m = change(m);
    // Integer positions too must lie in the range of the call's dtype: f16 ends at 65504.
    if (std::fabs(m) > core::largest_finite(c.call.type) || core::round_to(position.type, m) != m) return std::nullopt;
    if (!c.call.operation->input("position")->domain.contains(m)) return std::nullopt;
  }
  return moved;
}

// The factor by which a rotation multiplies pairs.
double magnitude_of(const test_case& c) {
  const core::attributes all = core::completed(*c.call.operation, c.call.attributes);
  const auto found = all.find("magnitude");
  return found == all.end() ? 1.0 : std::get<double>(found->second);
}

void check_pair_norms(experiment& e) {
  const numbers y(e.call(), "y");
  const given_numbers x(e.c, "x");
  const approximate magnitude = exactly(magnitude_of(e.c));
  rotary_case(e.c).for_pairs([&](std::size_t v, std::size_t t, std::size_t first, std::size_t second) {
    e.equal(magnitude * length_of(x[first], x[second]), length_of(y[first], y[second]),
            "the length of pair {} of vector {}, before and after", t, v);
  });
}

// 1 and 0 are exact, and so are the products and the sum.
void check_identity(experiment& e) {
  e.needs(magnitude_of(e.c) == 1.0);
  const numbers y(e.call(*with_positions(e.c, [](double) { return 0.0; })), "y");
  const given_numbers x(e.c, "x");
  for (std::size_t i = 0; i < x.size(); ++i) e.equal(x[i], exactly(y.x[i]), "element {} at position 0", i);
}

// The unit vector k at all places: effects between heads and rows are tested elsewhere. Tokens stand at 0, 1, ..., a
// single one at 1. The base is 100 if the implementation takes it, and frequencies that are inputs are 1 / (t + 1):
// then no sine is subnormal.
test_case with_unit_vectors(const experiment& e, std::size_t k, const rotary_case& shape) {
  test_case probe = e.c;
  auto &x = probe.call.inputs.at("x").values.storage(), &m = probe.call.inputs.at("position").values.storage();
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = i % shape.layout.features == k ? 1.0 : 0.0;
  const std::size_t axes = m.size() / (shape.rows * shape.tokens);
  for (std::size_t i = 0; i < m.size(); ++i)
    m[i] = shape.tokens == 1 ? 1.0 : static_cast<double>(i / axes % shape.tokens);
  if (const auto given = probe.call.inputs.find("theta"); given != probe.call.inputs.end())
    for (std::size_t t = 0; t < given->second.size(); ++t)
      given->second.values.storage()[t] = core::round_to(e.c.call.type, 1.0 / static_cast<double>(t + 1));
  if (e.c.call.operation->attribute("base") == nullptr) return probe;
  test_case steep = with_setting(probe, "base", 100.0);
  return within_domain(e.about(), steep) ? steep : probe;
}

// The pairs that turn, recovered from the images of unit vectors at position 1, are the declared ones.
void check_certificate(experiment& e) {
  const rotary_case shape(e.c);
  const std::size_t d = shape.layout.features;
  e.needs(shape.vectors() > 0 && shape.layout.pairs > 0);
  const std::size_t offset = shape.tokens == 1 ? 0 : shape.heads * d;
  std::vector<std::pair<std::size_t, std::size_t>> declared, found;
  const bool backwards = reference::rotary_layout::has(e.c.call.attributes, "direction", "clockwise");
  for (std::size_t t = 0; t < shape.layout.pairs; ++t) {
    declared.emplace_back(shape.layout.first(t), shape.layout.second(t));
    if (backwards) std::swap(declared.back().first, declared.back().second);
  }
  for (std::size_t k = 0; k < d; ++k) {
    const numbers y(e.call(with_unit_vectors(e, k, shape)), "y");
    std::vector<std::size_t> reached;
    for (std::size_t i = 0; i < d; ++i)
      if (i != k && y.x[offset + i] != 0.0) reached.push_back(i);
    if (reached.size() > 1)
      e.wrong(fmt::format("no rotation of pairs: coordinate {} turns to {}", k, fmt::join(reached, ", ")));
    if (!reached.empty() && y.x[offset + reached.front()] > 0.0) found.emplace_back(k, reached.front());
  }
  std::sort(declared.begin(), declared.end());
  std::sort(found.begin(), found.end());
  if (found != declared)
    e.wrong(fmt::format("asked for pairs {}, behaves as {}, where the first of a pair turns to the second one",
                        fmt::join(declared, " "), found.empty() ? "none" : fmt::format("{}", fmt::join(found, " "))));
  e.count(true);
}

// (R_m q).(R_n k) = (R_{m+s} q).(R_{n+s} k) = (R_{m-n} q).k: the key is the token of its row at the lowest position, on
// the first axis if there are several.
void check_relativity(experiment& e) {
  const rotary_case shape(e.c);
  const given_numbers m(e.c, "position"), x(e.c, "x");
  std::vector<std::size_t> keys(shape.rows);
  const std::size_t tokens = shape.rows * shape.tokens, axes = m.size() / std::max<std::size_t>(tokens, 1);
  e.needs(axes > 0);
  for (std::size_t i = 0; i < tokens; ++i)
    if (std::size_t& key = keys[i / shape.tokens]; m[i * axes].value < m[(i - i % shape.tokens + key) * axes].value)
      key = i % shape.tokens;
  const double step = e.c.seed % 2 == 0 ? 1.0 : 3.0;
  const auto moved = with_positions(e.c, [&](double position) { return position + step; });
  const auto apart = with_positions(e.c, [&, i = std::size_t{0}](double position) mutable {
    const std::size_t row = i / axes / shape.tokens, axis = i++ % axes;
    return position - m[(row * shape.tokens + keys[row]) * axes + axis].value;
  });
  e.needs(moved && apart);
  const numbers y(e.call(), "y"), z(e.call(*moved), "y"), w(e.call(*apart), "y");
  const std::size_t d = shape.layout.features;
  const double magnitude = magnitude_of(e.c);
  for (std::size_t v = 0; v < shape.vectors(); ++v) {
    const std::size_t row = v / shape.heads / shape.tokens;
    const std::size_t key = (row * shape.tokens + keys[row]) * shape.heads + v % shape.heads;
    const auto score = [&](const auto& q, const auto& k) {
      approximate sum;
      for (std::size_t i = 0; i < d; ++i) sum += q[v * d + i] * k[key * d + i];
      return sum;
    };
    e.equal(score(y, y), score(z, z), "the score of vectors {} and {}, and where both stand {} further on", v, key,
            step);
    if (magnitude == 1.0)
      e.equal(score(y, y), score(w, x), "the score of vectors {} and {}, and by the difference of their positions", v,
              key);
  }
}

// A NaN in a pair with angle 0 makes its partner NaN, or leaves it unchanged; the other pairs do not change.
void check_nan_at_angle_0(experiment& e) {
  const auto still = with_positions(e.c, [](double) { return 0.0; });
  e.needs(still.has_value() && magnitude_of(e.c) == 1.0);
  e.needs_domain(*still);
  core::tensors outputs = e.outputs_of(*still);
  const auto& x = still->call.inputs.at("x").values.storage();
  auto& y = outputs.at("y").values.storage();
  bool informative = false;
  rotary_case(*still).for_pairs([&](std::size_t, std::size_t, std::size_t first, std::size_t second) {
    if (!std::isnan(x[first]) && !std::isnan(x[second])) return;
    informative = true;
    for (const std::size_t i : {first, second}) {
      if (!std::isnan(y[i]) && y[i] != x[i])
        e.wrong(
            fmt::format("y at flat index {} is {:.9g}, where x is {:.9g} and its pair has angle 0 and holds a NaN: "
                        "neither x nor NaN",
                        i, y[i], x[i]));
      y[i] = std::numeric_limits<double>::quiet_NaN();  // the result of the formula
    }
  });
  e.judge(*still, outputs);
  e.count(informative);
}

}  // namespace

std::vector<property> laws_of_scores(const std::string& name, const std::vector<std::string>& operations) {
  const law_scope scope{operations, {"mild", "left_padding", "decode", "evicted", "query_is_key"}};
  const auto later = [](const test_case& c, double m) { return m + static_cast<double>(1 + c.seed % 200); };
  return {
      law((name + "_shift").c_str(), "all tokens later: the same scores", scope,
          agree_after(where(has_elements, each_of({"query_position", "key_position"}, later)), "all tokens later"))};
}

bool has_special_value_at_angle_0(const request& call) {
  if (call.operation->input("x") == nullptr) return false;
  const auto& x = call.inputs.at("x").values.storage();
  const auto& position = call.inputs.at("position").values.storage();
  const auto theta = call.inputs.find("theta");
  const rotary_case shape(call);
  const std::size_t axes = position.size() / std::max<std::size_t>(shape.rows * shape.tokens, 1);
  const auto has_zero = [](const auto& all, std::size_t first, std::size_t step, std::size_t end) {
    for (std::size_t i = first; i < end; i += step)
      if (all[i] == 0.0) return true;
    return false;
  };
  bool found = false;
  std::size_t turning = 0;
  shape.for_pairs([&](std::size_t v, std::size_t t, std::size_t first, std::size_t second) {
    for (const std::size_t i : {first, second})
      if (!std::isfinite(x[i])) ++turning;
    if (found || (std::isfinite(x[first]) && std::isfinite(x[second]))) return;
    const std::size_t token = v / shape.heads;
    found = has_zero(position, token * axes, 1, (token + 1) * axes) ||
            (theta != call.inputs.end() &&
             has_zero(theta->second.values.storage(), t, shape.layout.pairs, theta->second.size()));
  });
  const auto all = std::count_if(x.begin(), x.end(), [](double v) { return !std::isfinite(v); });
  return found || (shape.layout.proportional && static_cast<std::size_t>(all) > turning);
}

std::vector<property> laws_of_rotation(const std::string& name, const std::vector<std::string>& operations) {
  const law_scope moderate{operations, {"mild", "left_padding", "decode", "real_positions", "one_hot"}};
  const auto named_law = [&](const char* what, const char* sentence, const law_scope& scope, statement says) {
    return law((name + "_" + what).c_str(), sentence, scope, std::move(says));
  };
  return {named_law("norms", "rotations keep the length of every pair", moderate, {1, check_pair_norms}),
          named_law("identity", "position 0 changes nothing", moderate, {1, check_identity}),
          named_law("certificate", "unit vectors turn in the pairs that were declared", {operations, {"mild"}},
                    {4, check_certificate}),
          named_law("relativity", "scores depend on differences of positions alone", moderate, {3, check_relativity}),
          named_law("nan_at_0", "at angle 0 a NaN reaches its partner or leaves it as it is",
                    {operations, {"nan_inside"}}, {1, check_nan_at_angle_0})};
}

}  // namespace assay::properties
