// FoPE: coefficients at initialisation and after training, and usual sizes of models.
#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <string>

#include "properties/faults/call_changes.hpp"
#include "properties/harness/usual_sizes.hpp"
#include "properties/kinds/attention.hpp"
#include "properties/kinds/rotation.hpp"
#include "properties/kinds/table.hpp"
#include "reference/encodings/fope.hpp"

namespace assay::properties::encodings::fope {

std::vector<variant> mutants();  // variants.cpp
std::vector<variant> controls();
std::vector<property> laws();  // laws.cpp

namespace {

using core::counter_random;
using core::dtype;
using reference::encodings::kept_rule;

// Families.

double number_of_turns(double length, const kept_rule& by, std::size_t t) {
  return length / (2.0 * std::numbers::pi) * std::pow(by.base, -static_cast<double>(t) / static_cast<double>(by.pairs));
}
// A length at which no frequency is so near to one turn that f32 could decide otherwise.
double decided(double length, const drawing& from) {
  const kept_rule by(from.settings);
  for (std::size_t t = 0; t < by.pairs; ++t)
    if (std::fabs(number_of_turns(length, by, t) - 1.0) < 0x1p-16) return decided(length + 1.0, from);
  return length;
}
double usual_length(const drawing& from) {
  return decided(std::floor(std::exp2(from.random.uniform(0.0, 18.0))), from);
}
// The first length at which one more frequency makes a turn, or the length before it.
double length_of_turn(const drawing& from) {
  const kept_rule by(from.settings);
  const double length = std::ceil(1.0 / number_of_turns(1.0, by, from.random.below(by.pairs)));
  return length > 0x1p16 ? usual_length(from) : decided(length - static_cast<double>(from.random.below(2)), from);
}

/// The way in which coefficients are drawn: the step identity of the authors' code, with its noise or without; all
/// coefficients of order 1; or terms with equal frequencies that nearly cancel.
enum class series { initial, bare, dense, cancelling };

std::vector<double> drawn_coefficients(series kind, bool normalized, std::size_t groups, std::size_t frequencies,
                                       std::size_t columns, counter_random& random) {
  std::vector<double> all(groups * frequencies * columns);
  const double noise = random.uniform(0.3, 0.6) * std::sqrt(2.0 / static_cast<double>(frequencies + columns + 1));
  const std::size_t step = columns == 0 ? 1 : (frequencies + columns - 1) / columns;
  for (std::size_t column = 0; column < groups * columns; ++column) {
    const std::size_t o = column % columns;
    const auto coefficient = [&](std::size_t k) -> double& {
      return all[(column / columns * frequencies + k) * columns + o];
    };
    double sum = 0.0, size = 0.0;
    for (std::size_t k = 0; k < frequencies; ++k) {
      coefficient(k) = kind == series::initial ? noise * random.normal() : kind == series::bare ? 0.0 : random.normal();
      if ((kind == series::initial || kind == series::bare) && k == o * step) coefficient(k) += 1.0;
      if (kind == series::cancelling && k % 2 == 1)
        coefficient(k) = -coefficient(k - 1) * (1.0 + std::ldexp(random.normal(), -6));
      sum += coefficient(k), size += std::fabs(coefficient(k));
    }
    // Coefficients that are divided by their sum must have one that is not near 0.
    if (normalized && frequencies > 0 && std::fabs(sum) < 0.25 * size + 0x1p-4)
      for (std::size_t k = 0; k < frequencies; ++k) coefficient(k) = std::fabs(coefficient(k)) + (k == 0 ? 0.5 : 0.0);
  }
  return all;
}

/// A family with x and positions of a rotation, and with frequencies and coefficients.
family with_series(family f, series kind, setting_values chosen = {}) {
  f.settings = std::move(chosen);
  const bool holds_nan = f.holds_nan;
  f.generate = [make = f.generate, kind, holds_nan](const core::operation& op, dtype type,
                                                    const core::attributes& settings, counter_random& random,
                                                    extent size) {
    const bool given = size.is_given(), drawn = size.range == lengths::short_ones;
    // Sizes that do not go together are changed: heads to a multiple, a width to an even number that holds the columns.
    const std::size_t given_groups = std::max<std::size_t>(size.axis("g", 1), 1);
    if (given) {
      const std::size_t heads = size.axis("h", given_groups);
      size.axes["h"] = heads == 0 ? 0 : std::max<std::size_t>(heads / given_groups, 1) * given_groups;
      const std::size_t columns = size.axis("O", 0);
      size.axes["d"] = std::max(size.axis("d", 2 * columns + 4) / 2, columns) * 2;
    }
    core::tensors inputs = make(op, type, settings, random, size);
    core::tensor &x = inputs.at("x"), &position = inputs.at("position");
    std::vector<std::size_t> even(x.shape()[3] / 2 * 2);
    std::iota(even.begin(), even.end(), 0U);
    x = core::take(x, 3, even);
    const std::size_t heads = x.shape()[2], pairs = even.size() / 2;
    const std::size_t groups = size.axis("g", !given && heads > 0 && heads <= 2 && random.one_in(2) ? heads : 1);
    if (drawn && random.one_in(3)) {  // two heads with the same coefficients
      std::vector<std::size_t> twice(2 * heads);
      for (std::size_t h = 0; h < twice.size(); ++h) twice[h] = h / 2;
      x = core::take(x, 2, twice);
    }
    const std::size_t frequencies = size.axis("D", drawn ? 1 + random.below(6) : 3);
    const std::size_t columns = size.axis("O", drawn ? random.below(pairs + 1) : std::min<std::size_t>(pairs, 3));
    std::vector<double> omega(frequencies);
    for (std::size_t k = 0; k < frequencies; ++k) {
      omega[k] = random.uniform(0.5, 1) * std::pow(10000.0, -static_cast<double>(k) / static_cast<double>(frequencies));
      if (random.one_in(12) && !holds_nan) omega[k] = 0.0;
      if (kind == series::cancelling && k % 2 == 1) omega[k] = omega[k - 1];
    }
    const bool normalized = core::setting<bool>(settings, "normalized");
    inputs.emplace("omega", core::make_tensor(type, {frequencies}, omega));
    for (const char* name : {"c_cos", "c_sin"})
      inputs.emplace(name,
                     core::make_tensor(type, {groups, frequencies, columns},
                                       drawn_coefficients(kind, normalized, groups, frequencies, columns, random)));
    if (holds_nan && random.one_in(2)) {
      constexpr const char* holders[] = {"omega", "c_cos", "c_sin"};
      auto& values = inputs.at(holders[random.below(3)]).values.storage();
      if (!values.empty()) values[random.below(values.size())] = std::nan("");
    }
    // Code may leave padded pairs alone: whether a non-finite number reaches its partner there is a matter of
    // convention.
    if (core::setting<std::string>(settings, "padding") == "identity")
      for (std::size_t i = 0; i < x.size(); ++i)
        if (i % pairs >= columns && !std::isfinite(x.values.storage()[i])) x.values.storage()[i] = 0.5;
    // The gradient of a frequency sums positions times torques; at large positions f16 cannot hold such sums.
    if (type == dtype::f16)
      for (double& m : position.values.storage())
        if (m > 8.0) m = std::fmod(m, 8.0) + 1.0;
    return inputs;
  };
  return f;
}

family renamed(family f, const char* name, const char* summary, series kind, setting_values settings = {}) {
  f.name = name, f.summary = summary;
  f.parts_classes = false;
  return with_series(std::move(f), kind, std::move(settings));
}
std::vector<family> families() {
  std::vector<family> all;
  for (const char* name : {"mild", "large_positions", "left_padding", "decode", "one_hot"})
    all.push_back(with_series(rotation_family(name), series::initial));
  // At position 0 normalized coefficients have the gradient 0; beside the largest x, 35 digits cannot decide it.
  all.push_back(with_series(rotation_family("wide"), series::initial, {{"normalized", {false}}}));
  all.push_back(with_series(rotation_family("large_x"), series::initial));
  all.push_back(with_series(rotation_family("infinite_x"), series::bare));
  all.push_back(with_series(rotation_family("nan_inside"), series::initial));
  const family plain = rotation_family("mild");
  all.push_back(renamed(plain, "dense", "coefficients of order 1, as after training", series::dense));
  all.push_back(
      renamed(plain, "cancelling", "series whose terms cancel", series::cancelling, {{"normalized", {false}}}));
  all.push_back(renamed(plain, "no_noise", "coefficients of the identity: some columns are 0", series::bare,
                        {{"normalized", {false}}}));
  // The mild family is for both operations.
  all.front() = by_input("length", table_family("", "", {{"length", each(usual_length)}}), all.front());
  all.front().applies = [](const core::operation&) { return true; };
  all.push_back(table_family("ends_of_turns", "lengths at which one frequency more makes a turn, and those before",
                             {{"length", each(length_of_turn)}}));
  return all;
}

// Whether a non-finite number may stand where code may leave a pair alone, or whether a column is divided by 0.
bool is_convention(const request& call) {
  if (call.operation->input("c_cos") == nullptr) return false;
  const core::axis_sizes s = core::sizes_of(call);
  const bool identity = setting_of<std::string>(call, "padding") == "identity";
  const auto& x = call.inputs.at("x").values.storage();
  for (std::size_t i = 0; i < x.size(); ++i)
    if (!std::isfinite(x[i]) && ((identity && i % (s.at("d") / 2) >= s.at("O")) ||
                                 call.inputs.at("position").values.storage()[i / s.at("d") / s.at("h")] == 0.0))
      return true;
  if (!setting_of<bool>(call, "normalized")) return false;
  for (const char* name : {"c_cos", "c_sin"})
    for (std::size_t column = 0; s.at("D") > 0 && column < s.at("g") * s.at("O"); ++column) {
      double sum = 0.0;
      for (std::size_t k = 0; k < s.at("D"); ++k)
        sum += call.inputs.at(name).values(column / s.at("O"), k, column % s.at("O"));
      if (sum == 0.0) return true;
    }
  return false;
}

std::vector<usual_size> sizes() {
  std::vector<usual_size> all = sizes_by_roles(*reference::find_operation("fope/rotate"));
  const auto add = [&](std::size_t tokens, std::size_t heads, std::size_t groups, std::size_t d,
                       std::size_t frequencies, std::size_t columns, bool always) {
    all.push_back({{"fope/rotate"},
                   {{"B", 1}, {"n", tokens}, {"h", heads}, {"g", groups}, {"d", d}, {"D", frequencies}, {"O", columns}},
                   always});
  };
  add(65, 2, 2, 64, 16, 16, true);   // 512 tokens, 60M
  add(17, 2, 2, 128, 46, 32, true);  // 4096 tokens
  add(9, 4, 1, 128, 48, 48, true);   // square matrix, for key-value heads
  add(1025, 1, 1, 8, 3, 2, true);
  add(257, 33, 3, 8, 3, 2, true);
  add(4097, 2, 1, 64, 16, 16, false);
  add(5, 64, 4, 128, 48, 48, false);
  return all;
}

}  // namespace

encoding_tests make_tests() {
  const std::vector<std::string> rotate{"fope/rotate"};
  encoding_tests tests;
  tests.name = "fope";
  tests.families = families();
  tests.rests_on_convention = is_convention;
  tests.sizes = sizes();
  tests.long_ones = {{rotate,
                      {{"d", 0}, {"h", 0}, {"g", 0}, {"D", 2}, {"O", 0}},
                      {{"d", 16390}, {"g", 2049}, {"D", 4097}, {"O", 2049}, {"h", 4097}}}};
  tests.mutants = mutants();
  tests.controls = controls();
  tests.laws = laws();
  return tests;
}

}  // namespace assay::properties::encodings::fope
