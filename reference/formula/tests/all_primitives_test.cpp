// Examples for authors of formulas: what recording.hpp has, each function and constant in a line that can be copied.
//
// The test fails where a primitive is added and not shown. Those that recording.hpp has no function for are listed.
#include <algorithm>
#include <cmath>
#include <set>

#include "reference/formula/recording.hpp"
#include "reference/formula/tests/programs_under_test.hpp"

using namespace assay::reference;
using namespace assay::reference::formula;

namespace {

// Functions of x and of y > 0, element by element.
program functions_of_numbers() {
  recording recorder;
  const traced x = recorder.input("x", {2, 3}), y = recorder.input("y", {2, 3});
  recorder.output("constants", traced(0.1) + traced::from_integer(3.0));  // a double as it is; an integer
  recorder.output("of_a_definition", setting(10000.0) * pi<traced>());    // setting: as the definition has it, 10^4
  recorder.output("arithmetic", -x + y - x * y / traced(2.0));
  recorder.output("exponentials", exp(-y) + log(y) + log1p(y) + log_sum_exp(x, y));
  recorder.output("gates", sigmoid(x) + softplus(x) + log_sigmoid(x) + tanh(x) + erf(x));
  recorder.output("waves", sin(x) + cos(x) + entire_cosine_integral(x));
  recorder.output("waves_of_rotations",
                  sine_of(x) + cosine_of(x));  // in any of the ways in which rotations compute them
  recorder.output("powers", pow(y, x) + power(y, ratio(-1, 2)) + reciprocal_root(y, 3));
  recorder.output("frequencies", geometric_frequencies(between(y, 1, 0, 1), 0, 3, 4));  // y^(-t / 4) of t = 0, 1, 2
  recorder.output("pieces", floor(x) + magnitude_of(x) + larger(x, y) + clamp(x, -1.0, 1.0) + modulus_of(x, y));
  recorder.output("choices", either(less(x, y) && !(equal(x, y) || is_nan(x)), x, y));
  return recorder.finish();
}

// Functions of the integers p from 0 to 5.
program functions_of_integers() {
  recording recorder;
  const auto constant = traced_integer::constant;
  const traced_integer p = recorder.integers("p", {2, 3}), counted_on = cumulative_sum(p, 1);
  recorder.output("arithmetic", floor_divide(p * p + constant(7), constant(2)) - magnitude_of(p - constant(3)));
  recorder.output("steps", last_reached(p, {0, 2, 4}, 6) + stepwise(p, 0, 5, [](std::int64_t k) { return k / 2; }));
  recorder.output("choices", either(less(p, constant(3)) || equal(p, constant(5)), p, clamp(p, 1, 4)));
  recorder.output("known", known_integers({3}, {4, 1, 7}) + counted(3) + counted_on);
  recorder.output("numbers", to_real(p) + index_number(p));  // rounded where a format cannot hold it, and never
  return recorder.finish();
}

// Functions that move elements, and that add them up.
program functions_of_arrays() {
  recording recorder;
  const traced x = recorder.input("x", {2, 3}), y = recorder.input("y", {2, 3});
  const traced_integer places = known_integers({3}, {2, 0, 2}),
                       places_in_rows = known_integers({2, 3}, {2, 0, 2, 1, 1, 0});
  const traced_truth mask = known_truths({2, 3}, {true, false, true, true, true, false});
  recorder.output("shapes", reshaped(transposed(x, {1, 0}), {6}) + broadcast(traced(1.0), {6}));
  recorder.output("parts", joined({between(x, 1, 0, 2), between(y, 1, 2, 3)}, 1));
  recorder.output("gathered", gathered(x, places, 1) + taken_along(y, places_in_rows, 1));
  recorder.output("by_place", summed_by_place(x, places_in_rows, 4, 1));
  recorder.output("sums", summed(x, {0, 1}));
  recorder.output("sums_so_far", cumulative_sum(x, 1) + sums_from_each_on(x, 1) + sums_from_each_on_by_total(y, 1));
  recorder.output("added_and_subtracted", cumulative_sum_twice(reshaped(x, {2, 1, 3})));
  recorder.output("rows", largest_along(x, 1) + smallest_along(x, 1) + log_sum_exp_along(x, 1));
  recorder.output("weights", softmax_along(either(mask, x, traced(0.0)), 1));
  recorder.output("seen", either(any_along(mask, 1), traced(1.0), traced(0.0)));
  recorder.output("products", contracted(x, y, "nd,md->nm"));
  recorder.output("of_some_terms", contracted_where(mask, x, y, "nd,md->nm"));
  recorder.output("at_some_places", contracted_at(between(mask, 1, 0, 2), x, y, "nd,md->nm"));
  recorder.output("between_places", interpolated(x, clamp(y, 0.0, 2.0)));
  const traced angle = between(x, 1, 0, 1), none = broadcast(traced(0.0), {2, 1});
  recorder.output("turned", skew_exponential(reshaped(joined({none, angle, -angle, none}, 1), {2, 2, 2})));
  accumulator<traced> terms;  // in any order: no algorithm is meant
  terms.add(x);
  terms.add_product(x, y);
  recorder.output("terms", terms.total());
  return recorder.finish();
}

// s = x_t s + y_t, token by token.
program a_loop() {
  recording recorder;
  const traced x = recorder.input("x", {2, 3}), y = recorder.input("y", {2, 3});
  const loop_turn made = looped(2, {broadcast(traced(0.0), {3})}, {x, y},
                                [](const std::vector<traced>& carried, const std::vector<traced>& stepped) {
                                  const traced next = stepped[0] * carried[0] + stepped[1];
                                  return loop_turn{{next}, {next}};
                                });
  recorder.output("all", made.given[0]);
  recorder.output("last", made.left[0]);
  return recorder.finish();
}

// What says of an error or of a slope more than arithmetic does.
program words_of_allowances() {
  enum stage { angle, table };
  recording recorder({"angle", "table"});
  const traced x = recorder.input("x", {2, 3}), y = recorder.input("y", {2, 3});
  const traced theta = in_stage<traced>(angle, [&] { return x / y; });  // a format of its own
  recorder.output("stages", in_stage<traced>(table, [&] { return cos(taken_from(angle, theta)); }));
  recorder.output("other_ways", covering(x - y, [&] { return -(y - x); }) + right_as_well(x, y));
  recorder.output("more_error", off_by(x, y) + rounded_once(x));
  recorder.output("no_error", without_error(x));
  recorder.output("slopes", detach(x) + with_slope(x, y, x) + with_gradient_of(x, y));
  recorder.output("fault", held_in(assay::core::dtype::bf16, x));
  return recorder.finish();
}

// Texts alone have them, as formulas in Python are written; gradients and proofs make them.
const std::set<op> operators_of_texts{op::fraction, op::boolean, op::remainder, op::less_equal,  op::to_integer,
                                      op::update,   op::mean,    op::all,       op::scatter_add, op::largest_share};
const std::set<op> operators_of_gradients{
    op::modulus_slope,       op::less_heaviest,        op::cumulative_sum_from_total, op::cumulative_difference,
    op::interpolation_slope, op::interpolation_shares, op::skew_exponential_pullback};

void find_operators(const program& p, std::set<op>& found) {
  for (const node& n : p.nodes()) {
    found.insert(n.what);
    if (n.body) find_operators(*n.body, found);
  }
}

}  // namespace

TEST_CASE("formula/recording/all_primitives_are_shown", "[unit]") {
  const std::vector<double> x{0.5, -1, 2, 0, 3, -0.25}, y{0.5, 1, 2, 0.125, 3, 1.5};
  std::set<op> shown;
  for (const auto& example :
       {functions_of_numbers, functions_of_integers, functions_of_arrays, a_loop, words_of_allowances}) {
    const program p = example();
    find_operators(p, shown);
    for (const auto& [name, values] : evaluated<rounded>(p, {{"x", x}, {"y", y}, {"p", {0, 1, 2, 3, 4, 5}}})) {
      INFO(name);
      CHECK(std::all_of(values.begin(), values.end(), [](const rounded& v) { return std::isfinite(v.number); }));
    }
  }
  for (std::size_t k = 0; k <= static_cast<std::size_t>(op::scan); ++k) {  // the last one
    const op what = static_cast<op>(k);
    INFO(row_of(what).name);
    CHECK(shown.contains(what) + operators_of_texts.contains(what) + operators_of_gradients.contains(what) == 1);
    if (operators_of_texts.contains(what)) CHECK(find_operator(row_of(what).name) != nullptr);
  }
}
