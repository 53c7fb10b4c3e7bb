// Measures of any operation, made from its declaration: its error along the quantity with which errors grow, the effect
// of rounding its inputs, the error of angles, and the first position whose row equals the next one.
//
// A candidate computes the outputs, or an algorithm after which a class is named ("cumsum"), or the formula in plain
// arithmetic. "formula" computes all stages in the arithmetic of the cell. The name of a stage ("angle") computes this
// stage alone in the storage format. "usual" computes in the storage format the stages that common code computes there
// (assay list stages). Inputs are numbers of the storage format.
#include "tools/explore/operations.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "reference/core/counter_random.hpp"
#include "reference/error_bound.hpp"
#include "reference/evaluate_in.hpp"
#include "reference/oracle.hpp"
#include "tools/explore/cell_operation.hpp"
#include "tools/explore/formats.hpp"
#include "tools/explore/single_cells.hpp"

namespace assay::explore {
namespace {

// The position or distance of an element of an output, in a call of call_growing_to_size; NaN if the output has no axis
// of positions.
double place_of(const core::request& call, const core::tensor_declaration& output, const core::shape& shape,
                std::size_t element, double size, std::size_t rows) {
  const core::operation& op = *call.operation;
  const core::place_inputs places = core::places_of(op);
  const core::tensor_declaration* positions = places.key == nullptr ? places.own : places.key;
  const auto axis = positions == nullptr ? std::nullopt : core::axis_of(output, axis_of_places(op, *positions));
  if (!axis || grows_along_axis(op)) return nothing;
  const std::size_t k = element / core::stride_of(shape, *axis) % shape[*axis];
  if (positions->role == core::input_role::distance)
    return std::fabs(call.inputs.at(positions->name).values.storage()[k]);
  const auto row = static_cast<double>(k);
  return places.key == nullptr ? size - static_cast<double>(rows - 1) + row : size - row;
}

double digits_of(double error) {
  constexpr double most = 15;
  return std::isnan(error) ? 0.0 : std::clamp(-std::log10(error), 0.0, most) + 0.0;
}

// The errors of a call_growing_to_size, relative to the scale of the output (core::error_scales).
core::result<results> errors_of(const cell_operation& requested, const cell& c, const caller& outside) {
  const core::operation& op = *requested.operation;
  const core::request call = call_growing_to_size(requested, c);
  const reference::accuracy_class law_of = requested.algorithm.value_or(reference::one_algorithm);
  const reference::certified_outputs truth = reference::truth_of(call);
  const reference::allowances allowed = reference::allow(call, requested.formats, law_of);
  const auto out = computed(requested, c, call, outside);
  if (!out) return tl::make_unexpected(out.error());
  const double u = core::unit_roundoff(requested.formats.unit()), u_stored = find_format(c.storage)->unit_roundoff();
  double largest = 0, squares = 0, count = 0, law = 0, wrong = 0, first = nothing, last = nothing;
  for (const core::tensor_declaration& d : op.outputs) {
    const core::tensor& found = out->at(d.name);
    const reference::certified& proved = truth.at(d.name);
    const auto& k = allowed.at(d.name).k[static_cast<std::size_t>(law_of)];
    std::vector<double> values(found.values.size());
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = proved.truth(i);
    const std::vector<double> scales = core::error_scales(d, d.type_in(requested.type), found.shape(), values);
    // If a number is its own scale, only numbers count whose rounding is no less than the smallest normal number: for
    // smaller ones a law allows the whole number. In f16 most numbers are smaller, so there all count.
    const bool is_relative =
        d.scale == core::error_scale::relative && requested.type != core::dtype::f16 && !d.own_type;
    const double least = is_relative ? core::smallest_normal(requested.type) / u : 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double x = found.values.storage()[i];
      if (std::fabs(values[i]) < least && std::fabs(x) < least) continue;
      const double error = std::fabs(proved.error_of(x, i)) / scales[i];
      largest = std::isnan(error) || std::isnan(largest) ? nothing : std::max(largest, error);
      squares += error * error;
      count += 1;
      if (std::isfinite(values[i]) && !d.own_type) {
        const bool is_judged = !reference::is_not_judged(d.type_in(requested.type), k.storage()[i], values[i]);
        const double by_law =
            is_judged ? reference::allowed_by(requested.formats.unit(), k.storage()[i], values[i]) : HUGE_VAL;
        law = std::max(law, (2 * by_law + u_stored * std::fabs(values[i])) / scales[i]);
      }
      if (error < 1) continue;
      const double place = place_of(call, d, found.shape(), i, static_cast<double>(c.size), rows_of(c));
      wrong += 1;
      first = std::fmin(first, place);
      last = std::fmax(last, place);
    }
  }
  return results{{"largest", largest},
                 {"rms", std::sqrt(squares / count)},
                 {"digits", digits_of(largest)},
                 {"law", law},
                 {"wrong", wrong},
                 {"first_wrong", first},
                 {"last_wrong", last}};
}

// The change of an element of an output, relative to its scale, by a rounding of every input: the root mean square over
// random signs. No code that takes rounded inputs has more digits of the intended result.
core::result<results> moved_by_inputs(const cell_operation& requested, const cell& c, const caller&) {
  constexpr int draws = 8;
  const core::operation& op = *requested.operation;
  core::request call = call_growing_to_size(requested, c);
  const core::precisions exactly(core::dtype::f64);
  const double u = find_format(c.storage)->unit_roundoff();
  call.type = core::dtype::f64;
  for (const core::tensor_declaration& d : op.inputs)
    if (!d.own_type) call.inputs.at(d.name).type = core::dtype::f64;
  const core::tensors before = reference::evaluate_in(call, exactly);
  core::counter_random random(c.seed);
  std::map<std::string, xt::xarray<double>> squares;
  for (int k = 0; k < draws; ++k) {
    core::request moved = call;
    for (const core::tensor_declaration& d : op.inputs)
      if (!d.own_type)
        for (double& x : moved.inputs.at(d.name).values.storage()) x *= 1 + u * random.sign();
    for (const auto& [name, y] : reference::evaluate_in(moved, exactly)) {
      const xt::xarray<double> off = y.values - before.at(name).values;
      const auto it = squares.try_emplace(name, xt::zeros_like(off)).first;
      it->second += off * off / draws;
    }
  }
  double largest = 0, sum = 0, count = 0;
  for (const core::tensor_declaration& d : op.outputs) {
    const core::tensor& y = before.at(d.name);
    const std::vector<double> values(y.values.begin(), y.values.end());
    const std::vector<double> scales = core::error_scales(d, d.type_in(requested.type), y.shape(), values);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double square = squares.at(d.name).storage()[i] / (scales[i] * scales[i]);
      if (!std::isfinite(square)) continue;
      largest = std::max(largest, std::sqrt(square));
      sum += square, count += 1;
    }
  }
  return results{{"largest", largest}, {"rms", std::sqrt(sum / std::max(count, 1.0))}, {"digits", digits_of(largest)}};
}

// The first position, or distance of a key from the query, whose row equals the next one; all other inputs are those of
// one token.
core::result<results> first_repeated_row(const cell_operation& requested, const cell& c, const caller& outside) {
  const core::operation& op = *requested.operation;
  const auto [own, key] = core::places_of(op);
  const bool has_key = key != nullptr;
  const std::string& axis = axis_of_places(op, *(has_key ? key : own));
  const std::size_t rows = std::max<std::size_t>(2, rows_of(c));
  core::request call = call_of(requested, c, rows);
  call.inputs = core::restrict_axis(op, call.inputs, axis, std::vector<std::size_t>(rows, 0));
  constexpr std::size_t near = 16;
  const auto size = static_cast<double>(c.size);
  double merged = nothing, distinct = 1;
  for (std::size_t from = 0; from < c.size && (std::isnan(merged) || from < near); from += rows - 1) {
    const auto start = static_cast<double>(from);
    put(call, own, [&](double i) { return has_key ? size : start + i; });
    put(call, key, [&](double i) { return size - start - i; });
    const auto out = computed(requested, c, call, outside);
    if (!out) return tl::make_unexpected(out.error());
    for (std::size_t i = 0; i + 1 < rows && from + i < c.size; ++i) {
      bool is_same = true;
      for (const core::tensor_declaration& d : op.outputs) {
        const core::tensor& found = out->at(d.name);
        const std::size_t along = core::axis_of(d, axis).value();
        is_same =
            is_same && core::identical(core::slice(found, along, i, i + 1), core::slice(found, along, i + 1, i + 2));
      }
      if (is_same && std::isnan(merged)) merged = start + static_cast<double>(i);
      if (!is_same && from + i + 1 < near) distinct += 1;
    }
  }
  return results{{"merged_at", merged}, {"distinct_of_16", distinct}};
}

// The error of m theta in radians, with theta as the implementation gives it for the base 10000, and the product
// rounded to the arithmetic. Code that rotates by this angle has no more digits, in whatever format it computes the
// rest.
core::result<results> errors_of_angles(const cell_operation& requested, const cell& c, const caller& outside) {
  core::request call = call_of(requested, c, 1);
  put(call, requested.operation->input("base"), [](double) { return 10000.0; });
  const reference::certified theta = reference::truth_of(call).at("theta");
  const auto out = computed(requested, c, call, outside);
  if (!out) return tl::make_unexpected(out.error());
  const core::tensor& found = out->at("theta");
  const auto m = static_cast<double>(c.size);
  const core::dtype arithmetic = *core::dtype_named(c.arithmetic);
  const auto allowed = reference::allow(call, requested.formats, reference::one_algorithm);
  const auto& k = allowed.at("theta").k[static_cast<std::size_t>(reference::one_algorithm)].storage();
  const double u = core::unit_roundoff(arithmetic), u_stored = find_format(c.storage)->unit_roundoff();
  double largest = 0, law = 0, pair = 0;
  for (std::size_t t = 0; t < found.size(); ++t) {
    law =
        std::max(law, m * (2 * core::unit_roundoff(requested.formats.unit()) * k[t] + (u + u_stored) * theta.truth(t)));
    const double x = found.values.storage()[t], product = core::round_to(arithmetic, m * x);
    const double error = std::fabs(m * theta.error_of(x, t) - std::fma(m, x, -product));
    if (error > largest || std::isnan(error)) pair = static_cast<double>(t);
    largest = std::isnan(error) || std::isnan(largest) ? nothing : std::max(largest, error);
  }
  return results{{"largest", largest}, {"digits", digits_of(largest)}, {"law", law}, {"pair", pair}};
}

core::result<void> check_error(const cell& c) {
  if (const auto checked = check_operation(c); !checked) return checked;
  const core::operation& op = *operation_from(c.family)->operation;
  if (!op.grows_with) return refuse_cell(c, op.name + ": it declares nothing with which its errors grow");
  constexpr double most = 4096.0 * 4096.0;
  const double pairs = pairs_in_call(cell_operation_of(c), c);
  return pairs > most ? refuse_cell(c, fmt::format("at most {} pairs of tokens, and it has {}", most, pairs))
                      : core::result<void>();
}

core::result<void> check_inputs(const cell& c) {
  if (const auto checked = check_error(c); !checked) return checked;
  const core::operation& op = *operation_from(c.family)->operation;
  const bool has_real = std::ranges::any_of(op.inputs, [](const auto& d) { return !d.own_type; });
  return has_real && c.implementation == "formula"
             ? core::result<void>()
             : refuse_cell(c, has_real ? "the implementation must be formula" : op.name + " has no real inputs");
}

core::result<void> check_angles(const cell& c) {
  if (const auto checked = check_operation(c); !checked) return checked;
  const core::operation& op = *operation_from(c.family)->operation;
  const bool has_theta = op.outputs.size() == 1 && op.outputs.front().name == "theta" && op.input("base") != nullptr;
  return has_theta ? core::result<void>() : refuse_cell(c, op.name + " gives no frequencies theta of a base");
}

core::result<void> check_repeats(const cell& c) {
  if (const auto checked = check_operation(c); !checked) return checked;
  const core::operation& op = *operation_from(c.family)->operation;
  const auto [own, key] = core::places_of(op);
  const core::tensor_declaration* positions = key == nullptr ? own : key;
  const bool has_rows = positions != nullptr && std::all_of(op.outputs.begin(), op.outputs.end(), [&](const auto& d) {
                          return core::axis_of(d, axis_of_places(op, *positions)).has_value();
                        });
  return has_rows ? core::result<void>() : refuse_cell(c, op.name + " has no positions");
}

}  // namespace

measure operation_errors() {
  measure m{.name = "error",
            .summary = "error of an operation, by the quantity with which its errors grow",
            .size_means = "tokens, keys, or the largest position or distance",
            .decay_means = "",
            .scale_means = "",
            .check = check_error};
  m.steps = [](std::span<const cell> batch) {
    return batch.front().scale * pairs_in_call(cell_operation_of(batch.front()), batch.front());
  };
  return operation_measure(std::move(m), errors_of);
}

measure input_errors() {
  measure m = operation_errors();
  m.name = "sensitivity";
  m.summary = "change of the outputs of an operation by a rounding of its inputs";
  m.check = check_inputs;
  m = operation_measure(std::move(m), moved_by_inputs);
  m.implementations = {"formula"};
  m.each_implementation = [](const std::string&) { return std::vector<std::string>{"formula"}; };
  m.takes_candidates = false;
  return m;
}

measure angle_errors() {
  measure m{.name = "angles",
            .summary = "error of the angles that frequencies make at a position, in radians",
            .size_means = "position",
            .decay_means = "",
            .scale_means = "",
            .check = check_angles};
  m.steps = [](std::span<const cell> batch) { return batch.front().scale; };
  return operation_measure(std::move(m), errors_of_angles);
}

measure repeated_rows() {
  measure m{.name = "repeats",
            .summary = "the first position whose row equals the next one",
            .size_means = "positions tried",
            .decay_means = "",
            .scale_means = "",
            .check = check_repeats};
  m.steps = [](std::span<const cell> batch) { return static_cast<double>(batch.front().size) * batch.front().scale; };
  return operation_measure(std::move(m), first_repeated_row);
}

}  // namespace assay::explore
