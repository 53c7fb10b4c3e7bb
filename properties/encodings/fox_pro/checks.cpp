// The Pro block of the Forgetting Transformer: families and laws.
#include <algorithm>
#include <cmath>

#include "properties/kinds/attention.hpp"
#include "reference/core/special_values.hpp"

namespace assay::properties::encodings::fox_pro {

std::vector<variant> mutants();  // variants.cpp
std::vector<variant> controls();

namespace {

using core::dtype;
using core::infinity;

// Families.

/// Draws a factor for the numbers of a row, and the logit of a gate.
using row_scale = double (*)(dtype type, core::counter_random& random);
using logit_source = double (*)(core::counter_random& random);
double one(dtype, core::counter_random&) { return 1.0; }
double zero_or_one(dtype, core::counter_random& random) { return random.one_in(2) ? 0.0 : 1.0; }
double tiny(dtype, core::counter_random& random) { return std::exp2(-random.uniform(6, 40)); }
double large(dtype type, core::counter_random& random) {
  const double most = std::min(std::log2(core::largest_finite(type)) - 3, 24.0);
  return std::exp2(random.uniform(most - 5, most));
}
double of_any_size(dtype, core::counter_random& random) {
  return random.one_in(3) ? 0.0 : std::exp2(-random.uniform(0, 12));
}
double usual(core::counter_random& random) { return 1.5 * random.normal(); }
double far(core::counter_random& random) { return random.sign() * random.uniform(6, 40); }
double closed(core::counter_random& random) { return random.one_in(2) ? -infinity : usual(random); }
double infinite(core::counter_random& random) { return random.one_in(2) ? random.sign() * infinity : usual(random); }

// Padding stands at the left of about half of the rows.
void pad(drawn_inputs& in, core::counter_random& random) {
  const std::size_t n = in.sizes.at("n");
  std::vector<double>& visible = in.numbers.at("visible");
  for (std::size_t row = 0; row * n < visible.size(); ++row) {
    const std::size_t hidden = n == 0 || random.one_in(2) ? 0 : random.below(n);
    for (std::size_t t = 0; t < n; ++t) visible[row * n + t] = t < hidden ? 0.0 : 1.0;
  }
}

family of_rows(std::string name, std::string summary, row_scale scale, logit_source logit, input_filler then = {}) {
  return attention_family(
      std::move(name), std::move(summary),
      [scale, logit, then](drawn_inputs& in, const core::operation& op, dtype type, core::counter_random& random) {
        const std::size_t d = in.sizes.at("d");
        for (const char* rows : {"x", "o", "x0"})
          if (const auto found = in.numbers.find(rows); found != in.numbers.end())
            for (std::size_t row = 0; row * d < found->second.size(); ++row) {
              const double by = scale(type, random);
              for (std::size_t c = 0; c < d; ++c) found->second[row * d + c] *= by;
            }
        for (const char* gates : {"a", "g"})
          if (const auto found = in.numbers.find(gates); found != in.numbers.end())
            for (double& g : found->second) g = logit(random);
        if (in.numbers.contains("visible")) pad(in, random);
        if (then) then(in, op, type, random);
      });
}
void hide_inside(drawn_inputs& in, const core::operation&, dtype, core::counter_random& random) {
  for (double& v : in.numbers.at("visible")) v = random.one_in(3) ? 0.0 : 1.0;
}
void one_channel(drawn_inputs& in, const core::operation& op, dtype, core::counter_random& random) {
  const std::size_t d = in.sizes.at("d");
  std::vector<double>& x = in.numbers.at(op.inputs.front().name);
  for (std::size_t row = 0; row * d < x.size(); ++row) x[row * d + random.below(d)] *= 4096;
}
void with_nan(drawn_inputs& in, const core::operation& op, dtype, core::counter_random& random) {
  for (double& x : in.numbers.at(op.inputs.front().name))
    if (random.one_in(9)) x = std::nan("");
}

bool has_gates(const core::operation& op) { return op.input("a") != nullptr || op.input("g") != nullptr; }

std::vector<family> families() {
  return {
      parting_classes(of_rows("mild", "numbers of order 1; padding on the left", one, usual)),
      parting_classes(only_for(
          has_gates, of_rows("large_gates", "gates of 6 to 40 of either sign, beside rows of any size, or of zeros",
                             of_any_size, far))),
      only_for(has_gates, of_rows("closed_gates", "every other gate is closed: -inf", one, closed)),
      holding_nan(only_for(has_gates, of_rows("infinite_gates", "gates of -inf and +inf", one, infinite))),
      of_input("visible", of_rows("hidden_inside", "padding anywhere", one, usual, hide_inside)),
      of_rows("zero_rows", "every other row is 0", zero_or_one, usual),
      of_input("w", of_rows("tiny_rows", "rows whose squares are as epsilon, or far below it", tiny, usual)),
      of_rows("large_rows", "rows whose squares overflow f16", large, usual),
      of_input("w", of_rows("one_channel", "a channel of 4096 times the others", one, usual, one_channel)),
      holding_nan(of_rows("nan_inside", "a NaN here and there, in padding too", one, usual, with_nan)),
  };
}

// Laws.

// Sets all gates of the case to one number.
test_case with_gates(const test_case& c, double gate) {
  test_case other = c;
  for (double& a : other.call.inputs.at("a").values.storage()) a = gate;
  return other;
}
// Number k of x, or the number of the same channel one token before; of the state before the first token. Hidden tokens
// are 0.
double token_at(const test_case& c, std::size_t k, bool before) {
  const core::shape s = c.call.inputs.at("x").shape();
  const std::size_t row = s[2] * s[3], t = k / row % s[1], b = k / row / s[1];
  if (before && t == 0) return c.call.inputs.at("x0").values.storage()[b * row + k % row];
  const std::size_t back = before ? 1 : 0;
  return c.call.inputs.at("visible").values(b, t - back) == 0.0
             ? 0.0
             : c.call.inputs.at("x").values.storage()[k - back * row];
}
void check_ends(experiment& e) {
  for (const bool open : {false, true}) {
    const test_case c = with_gates(e.c, open ? 1000.0 : -infinity);
    const numbers y(e.call(c), "y");
    for (std::size_t k = 0; k < y.size(); ++k)
      e.equal(exactly(token_at(c, k, open)), y[k], "number {} of y, {}", k,
              open ? "of the token before" : "of its token");
  }
}
// Changes the signs of every second number.
void check_signs(experiment& e) {
  const std::string rows = e.c.call.operation->inputs.front().name;
  test_case turned = e.c;
  core::tensor& x = turned.call.inputs.at(rows);
  for (std::size_t k = 0; k < x.size(); k += 2) x.values.storage()[k] *= -1;
  const numbers y(e.call(), "y"), turned_y(e.call(turned), "y");
  for (std::size_t k = 0; k < y.size(); ++k)
    e.equal(y[k], k % 2 == 0 ? -turned_y[k] : turned_y[k], "number {} of y where signs of its row are others", k);
}

}  // namespace

encoding_tests make_tests() {
  const std::vector<std::string> finite{"mild",          "large_gates", "closed_gates",
                                        "hidden_inside", "zero_rows",   "large_rows"};
  encoding_tests tests;
  tests.name = "fox_pro";
  tests.families = families();
  tests.mutants = mutants();
  tests.controls = controls();
  tests.not_modelled = {{"zhixuan-lin/forgetting-transformer, shift_state.copy_(out[:, -1, :])",
                         "the state is the last token also where it is padding: a block that pads on the left alone"}};
  tests.laws = {law("shift_ends", "a closed gate leaves the token, an open one the token before",
                    {{"fox_pro/shift"}, finite}, {2, check_ends}),
                law("norm_signs", "other signs of channels are other signs of outputs, and no more",
                    {{"fox_pro/norm", "fox_pro/output"}, {"mild", "tiny_rows", "one_channel"}}, {2, check_signs})};
  return tests;
}

}  // namespace assay::properties::encodings::fox_pro
