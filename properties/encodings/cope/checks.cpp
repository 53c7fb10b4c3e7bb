// Contextual positions: families and laws.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "properties/harness/usual_sizes.hpp"
#include "properties/kinds/attention.hpp"
#include "reference/core/special_values.hpp"
#include "reference/oracle.hpp"

namespace assay::properties::encodings::cope {

std::vector<variant> mutants();  // variants.cpp
std::vector<variant> controls();

namespace {

using core::infinity;

using logit_source = double (*)(core::counter_random& random);
// Positions inside the table: a whole number plus a share of the way to the next.
input_filler with_positions(double (*within)(core::counter_random& random)) {
  return [within](drawn_inputs& in, const core::operation&, core::dtype, core::counter_random& random) {
    const std::size_t size = in.sizes.at("a");
    for (double& p : in.numbers.at("p")) {
      const double share = within(random);
      p = size < 2 ? 0.0 : static_cast<double>(random.below(size - (share == 0.0 ? 0 : 1))) + share;
    }
  };
}
double inside(core::counter_random& random) { return random.uniform(0.05, 0.95); }
double at_an_integer(core::counter_random&) { return 0.0; }
double beside_an_integer(core::counter_random& random) { return std::exp2(-random.uniform(3, 9)); }

double usual(core::counter_random& random) { return 1.5 * random.normal(); }

// Position vectors whose products with queries are of order 1. Keys of one feature have one sign: otherwise a gate of
// -x and one of x would add up to 1, and no precision decides on which side of an integer a sum lies.
void usual_keys(drawn_inputs& in) {
  const auto width = static_cast<double>(in.sizes.at("d"));
  for (double& x : in.numbers.at("table")) x /= std::sqrt(width);
  if (width == 1)
    for (double& x : in.numbers.at("k")) x = std::fabs(x);
}

// Gates by their logits, and positions for operations without gates; `of_attention`: attention can have such logits,
// which are finite.
family of_either(std::string name, std::string summary, logit_source logit,
                 double (*within)(core::counter_random& random), bool of_attention) {
  family f = attention_family(
      std::move(name), std::move(summary),
      [logit, within](drawn_inputs& in, const core::operation& op, core::dtype type, core::counter_random& random) {
        if (in.numbers.contains("p")) return with_positions(within)(in, op, type, random);
        if (in.numbers.contains("g"))
          for (double& g : in.numbers.at("g")) g = logit(random);
        else if (logit == usual)
          usual_keys(in);
        else
          draw_logits(in, logit, random);
      });
  const bool gates = logit != nullptr, positions = within != nullptr;
  f.applies = [gates, positions, of_attention](const core::operation& op) {
    return op.input("p") != nullptr ? positions : op.input("g") != nullptr ? gates : of_attention;
  };
  return f;
}
// At the end of a table a rounded sum may fall on either side, with different gradients.
family without_end_of_table(family f) {
  f.settings = {{"positions", {std::int64_t{0}}}};
  return f;
}
// Padding has gates of 1/2: every second position is an integer.
void without_keys(drawn_inputs& in, const core::operation&, core::dtype, core::counter_random&) {
  std::fill(in.numbers.at("k").begin(), in.numbers.at("k").end(), 0.0);
}
// The NaN stands in the value of the first key, which all queries see: for other keys a weight of 0 times NaN is NaN in
// some programs. Published code looks up the position of a NaN and crashes: queries and keys hold none.
void nan_in_values(drawn_inputs& in, const core::operation&, core::dtype, core::counter_random& random) {
  std::vector<double>& v = in.numbers.at("v");
  if (!v.empty()) v[random.below(in.sizes.at("e"))] = std::nan("");
}
double open(core::counter_random& random) { return random.uniform(2, 9); }
double closed(core::counter_random& random) { return random.uniform(-20, -4); }
// The negative logit is -41: sigmoid(40) + sigmoid(-40) would be 1, an exact tie.
double whole(core::counter_random& random) { return random.one_in(2) ? 40.0 : -41.0; }
double with_closed(core::counter_random& random) { return random.one_in(3) ? -infinity : usual(random); }
double with_infinite(core::counter_random& random) { return random.one_in(3) ? infinity : usual(random); }
double with_nan(core::counter_random& random) { return random.one_in(6) ? std::nan("") : usual(random); }

// Laws.

// The positions of two neighbouring keys differ by one gate: the later position is lower by at least 0 and at most 1.
void check_steps(experiment& e) {
  const numbers p(e.call(), "p");
  const std::size_t m = sizes_of(e.c).at("m");
  const auto table =
      core::setting<std::int64_t>(core::completed(*e.c.call.operation, e.c.call.attributes), "positions");
  // The position is an index: rounding must not take it out of the table.
  for (std::size_t k = 0; table > 0 && k < p.size(); ++k)
    if (p.x[k] > static_cast<double>(table - 1))
      e.wrong(fmt::format("the position at flat index {} is {:.9g}, behind the last one of a table of {}", k, p.x[k],
                          table));
  for (std::size_t k = 0; k + 1 < p.size(); ++k) {
    if ((k + 1) % m == 0) continue;
    e.at_most(p[k + 1], p[k], "the position at flat index {}, and the one before", k + 1);
    e.at_most(p[k], p[k + 1] + exactly(1.0), "the position at flat index {}, and the next one and 1", k);
  }
}

// All positions have the vector of position 0, or all have 0.
change with_equal_entries(bool zero) {
  return [zero](const test_case& c) -> std::optional<test_case> {
    test_case other = c;
    core::tensor& table = other.call.inputs.at("table");
    double* x = table.values.data();
    for (std::size_t k = 0, size = table.shape()[1]; k < table.size(); ++k) x[k] = zero ? 0.0 : x[k - k % size];
    return other;
  };
}

// The output of a query that sees no key is 0 or NaN.
bool has_query_without_keys(const request& call) {
  if (!call.inputs.contains("q")) return false;
  const std::size_t n = call.inputs.at("q").shape()[2], m = call.inputs.at("k").shape()[2];
  const bool causal = core::setting<bool>(core::completed(*call.operation, call.attributes), "causal");
  return causal ? n > m : n > 0 && m == 0;
}

// The usual sizes by roles, without expensive ones and those with fewer keys than queries; tables as long as in models.
std::vector<usual_size> sizes() {
  const std::string attention = "cope/attention";
  std::vector<usual_size> all = sizes_by_roles(*reference::find_operation(attention));
  std::erase_if(all, [](const usual_size& u) {
    return u.axes.at("n") > u.axes.at("m") || (u.axes.at("n") > 64 && u.axes.at("m") > 64);
  });
  add_sizes(all, {attention}, "B h n m d e a",
            "1 1 9 130 64 64 64, 1 1 9 130 128 128 65, 1 2 66 130 2 2 131, 1 2 127 191 1 1 9,"
            "1 1 2 514 2 2 300, 5 1 66 66 1 1 3, 1 9 66 67 1 1 3, 1 1 66 66 66 1 3, 1 1 66 66 1 66 3,"
            "2 2 129 130 1 1 9");
  add_sizes(all, {attention}, "B h n m d e a", "1 1 66 66 2 2 5", true, every_family);
  return all;
}

}  // namespace

encoding_tests make_tests() {
  encoding_tests tests;
  tests.name = "cope";
  tests.families = {
      parting_classes(of_either("mild", "gates of order 1/2; positions between integers", usual, inside, true)),
      parting_classes(long_along("m", of_either("open", "gates near 1: each key counts", open, nullptr, true))),
      of_either("closed", "gates near 0", closed, nullptr, true),
      without_end_of_table(
          of_either("whole", "gates that are 0 or 1, or nearly so; positions at integers", whole, at_an_integer, true)),
      of_either("beside_integers", "positions just beyond an integer", nullptr, beside_an_integer, false),
      of_either("closed_inside", "every third logit is -inf", with_closed, nullptr, false),
      holding_nan(of_either("infinite_logits", "every third logit is +inf", with_infinite, nullptr, false)),
      holding_nan(of_either("nan_inside", "a NaN among the logits", with_nan, nullptr, false)),
      of_input("q", attention_family("zero_keys", "keys of 0: gates of 1/2, and every other position an integer",
                                     without_keys)),
      holding_nan(of_input("q", attention_family("nan_values", "a NaN among the values", nan_in_values))),
  };
  tests.sizes = sizes();
  tests.long_ones = {{{"cope/positions"}, {{"m", 2}}},
                     {{"cope/interpolate"}, {{"m", 2}, {"a", 3}}},
                     {{"cope/attention"}, {{"m", 0}, {"a", 3}}, {{"n", 130}, {"m", 33000}}}};
  tests.mutants = mutants();
  tests.controls = controls();
  tests.rests_on_convention = has_query_without_keys;
  tests.laws = {
      law("cope_steps", "from a key to the next one the position falls by 0 to 1, inside the table",
          {{"cope/positions"}, {"mild", "open", "closed", "whole", "closed_inside"}}, {1, check_steps}),
      law("cope_equal_entries", "a table that has one vector for all positions changes nothing",
          {{"cope/attention"}, {"mild", "open", "closed", "whole", "zero_keys"}},
          agree_between(with_equal_entries(true), with_equal_entries(false), "a table of one vector, and none"))};
  return tests;
}

}  // namespace assay::properties::encodings::cope
