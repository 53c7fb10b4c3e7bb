// Contextual positions: families, a law, wrong and right ways to count gates.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "properties/faults/call_changes.hpp"
#include "properties/faults/declared_faults.hpp"
#include "properties/kinds/attention.hpp"
#include "reference/core/special_values.hpp"
#include "reference/encodings/cope.hpp"

namespace assay::properties::encodings::cope {
namespace {

using core::infinity;
using encoding = reference::encodings::cope;
inline constexpr auto& changed = make_variant<encoding>;

using logit_source = double (*)(core::counter_random& random);
// Positions among those of the table: a whole one, and a share of the way to the next.
input_filler with_positions(double (*within)(core::counter_random& random)) {
  return [within](drawn_inputs& in, const core::operation&, core::dtype, core::counter_random& random) {
    const std::size_t size = in.sizes.at("a");
    for (double& p : in.of.at("p")) {
      const double share = within(random);
      p = size < 2 ? 0.0 : static_cast<double>(random.below(size - (share == 0.0 ? 0 : 1))) + share;
    }
  };
}
double inside(core::counter_random& random) { return random.uniform(0.05, 0.95); }
double at_an_integer(core::counter_random&) { return 0.0; }
double beside_an_integer(core::counter_random& random) { return std::exp2(-random.uniform(3, 9)); }

family of_either(std::string name, std::string summary, logit_source logit,
                 double (*within)(core::counter_random& random) = nullptr) {
  family f = attention_family(
      std::move(name), std::move(summary),
      [logit, within](drawn_inputs& in, const core::operation& op, core::dtype type, core::counter_random& random) {
        if (in.of.contains("p")) return with_positions(within)(in, op, type, random);
        for (double& g : in.of.at("g")) g = logit(random);
      });
  if (within == nullptr) f.applies = [](const core::operation& op) { return op.input("g") != nullptr; };
  if (logit == nullptr) f.applies = [](const core::operation& op) { return op.input("p") != nullptr; };
  return f;
}
double usual(core::counter_random& random) { return 1.5 * random.normal(); }
double open(core::counter_random& random) { return random.uniform(2, 9); }
double closed(core::counter_random& random) { return random.uniform(-20, -4); }
// sigmoid(60) + sigmoid(-60) would be 1: an exact tie.
double whole(core::counter_random& random) { return random.one_in(2) ? 60.0 : -61.0; }
double with_closed(core::counter_random& random) { return random.one_in(3) ? -infinity : usual(random); }
double with_infinite(core::counter_random& random) { return random.one_in(3) ? infinity : usual(random); }
double with_nan(core::counter_random& random) { return random.one_in(6) ? std::nan("") : usual(random); }

// From a key to the next one the position falls by a gate: by 0 at least and by 1 at most.
void check_steps(experiment& e) {
  const numbers p(e.call(), "p");
  const std::size_t m = sizes_of(e.c).at("m");
  const auto table =
      core::setting<std::int64_t>(core::completed(*e.c.call.operation, e.c.call.attributes), "positions");
  // An index: no rounding takes it out of the table.
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

// Ways from gates to their sums, of numbers and of those on a tape.
template <class N>
using row = std::vector<N>;
constexpr auto with_sums = [](auto of) { return [of](auto& how) { how.sums = of; }; };
constexpr auto from_far_end = []<class N>(const row<N>& gates) -> row<N> {
  row<N> s = reference::suffix_sums(row<N>(gates.rbegin(), gates.rend()));
  std::reverse(s.begin(), s.end());
  return s;
};
constexpr auto own_gate_missing = []<class N>(row<N> gates) -> row<N> {
  if (!gates.empty()) gates.back() = N(0.0);
  return reference::suffix_sums(gates);
};
constexpr auto kept_in_bf16 = []<class N>(row<N> s) -> row<N> {
  for (std::size_t j = s.size(); j-- > 1;) s[j - 1] = held_in(core::dtype::bf16, s[j - 1] + s[j]);
  return s;
};
// Blocks of four keys, whose sums are added to that of nearer blocks.
constexpr auto by_blocks = []<class N>(const row<N>& gates) -> row<N> {
  row<N> s(gates.size());
  N nearer(0.0);
  for (std::size_t last = gates.size(); last > 0;) {
    const std::size_t first = last - std::min<std::size_t>(last, 4);
    const row<N> block = reference::suffix_sums(row<N>(&gates[first], &gates[0] + last));
    for (std::size_t j = first; j < last; ++j) s[j] = block[j - first] + nearer;
    nearer = s[first];
    last = first;
  }
  return s;
};

void round_up_at_end(core::tensors& outputs, const request& call) {
  if (call.operation->name != "cope/positions") return;
  const auto last = static_cast<double>(setting_of<std::int64_t>(call, "positions") - 1);
  core::tensor& p = outputs.at("p");
  for (double& x : p.values.storage())
    if (x == last && x > 0) x += 2 * core::half_ulp(p.type, x);
}

std::vector<variant> mutants() {
  return all_of(
      {reported_faults({
           {"mutant/cope_mask_forgotten", "GR04 jax-ml/jax#23842: masked later",
            "cope/positions/causal/true_and_false_exchanged"},
           {"mutant/cope_beyond_the_table", "a clamp to the size of the table, not to its last position",
            "cope/positions/positions/one_off"},
           {"mutant/cope_no_limit", "a clamp forgotten in a port", "cope/positions/positions/ignored"},
       }),
       {
           changed("mutant/cope_from_far_end", "a cumulative sum that is not reversed",
                   "gates count from the oldest key", {.formula = with_sums(from_far_end), .telling = true}),
           changed("mutant/cope_out_of_table_by_rounding", "an index that is rounded after its clamp",
                   "at the end of the table positions are one unit too large",
                   {.outputs = round_up_at_end, .telling = true}),
           changed("mutant/cope_own_gate_missing", "SC04 triton-lang/triton#8412: off by one",
                   "the gate of the query's own key does not count", {.formula = with_sums(own_gate_missing)}),
           changed("mutant/cope_sums_in_bf16", "half-precision prefix sums", "sums are kept in bf16, and stop at 256",
                   {.formula = with_sums(kept_in_bf16), .telling = true}),
           changed(
               "mutant/cope_nearest_position", "positions that are rounded", "the nearest position stands for all",
               {.inputs =
                    [](request& call) { change_each(call.inputs, "p", [](double p) { return std::nearbyint(p); }); }}),
           changed("mutant/cope_ends_exchanged", "floor and ceil exchanged",
                   "the next position has the weight of the one before",
                   {.formula =
                        [](auto& how) {
                          how.between = [](const auto& w, const auto& lower, const auto& upper) {
                            using number = std::decay_t<decltype(w)>;
                            return w * lower + (number(1.0) - w) * upper;
                          };
                        },
                    .telling = true}),
           changed("mutant/cope_gates_detached", "GR07 pytorch/pytorch#196705: a path dropped",
                   "positions hand no gradient on",
                   {.outputs = [](core::tensors& outputs) { set_to_zero(outputs, "grad_g"); }}),
       }});
}

std::vector<variant> controls() {
  return {
      changed("control/cope_total_less_prefix", "a cumulative sum of all gates",
              "of class cumsum, where logits are finite",
              {.formula =
                   [](auto& how) {
                     using number = typename std::decay_t<decltype(how)>::number;
                     how = encoding::algorithm<number>(reference::accuracy_class::cumsum);
                   },
               .declared =
                   [](description& about) {
                     for (const char* operation : {"cope/positions", "cope/positions:vjp"})
                       about.domain[operation] = {{"g", {}}};
                   }}),
      changed("control/cope_by_blocks", "blocks of keys", "sums of four keys, added to those of nearer blocks",
              {.formula = with_sums(by_blocks)}),
      changed("control/cope_from_the_lower", "torch.lerp", "z[floor p] and w of the difference",
              {.formula =
                   [](auto& how) {
                     how.between = [](const auto& w, const auto& lower, const auto& upper) {
                       return lower + w * (upper - lower);
                     };
                   }}),
      changed("control/cope_usual_stages", "facebookresearch/RAM, context_position.py",
              "f16 and bf16: the interpolation in the dtype, sums in f32",
              {.arithmetic = in_usual_stages, .declared = nothing_declared}),
      changed("control/cope_in_f64", "all in f64, rounded once", "another precision", {.arithmetic = in_f64}),
  };
}

}  // namespace

encoding_tests make_tests() {
  encoding_tests tests;
  tests.name = "cope";
  tests.families = {
      of_either("mild", "gates of order 1/2; positions between integers", usual, inside),
      of_either("open", "gates near 1: each key counts", open),
      of_either("closed", "gates near 0", closed),
      of_either("whole", "gates that are 0 or 1, or nearly so; positions at integers", whole, at_an_integer),
      of_either("beside_integers", "positions just beyond an integer", nullptr, beside_an_integer),
      of_either("closed_inside", "every third logit is -inf", with_closed),
      of_either("infinite_logits", "every third logit is +inf", with_infinite),
      of_either("nan_inside", "a NaN among the logits", with_nan),
  };
  for (family& f : tests.families) {
    f.parts_classes = f.name == "mild" || f.name == "open";
    f.holds_nan = f.name == "infinite_logits" || f.name == "nan_inside";
    if (f.name == "open") f.tells_along = "m";
    // At the end of a table a rounded sum may be on either side, with one gradient or the other.
    if (f.name == "whole") f.settings = {{"positions", {std::int64_t{0}}}};
  }
  tests.long_ones = {{{"cope/positions"}, {{"m", 2}}}, {{"cope/interpolate"}, {{"m", 2}, {"a", 3}}}};
  tests.mutants = mutants();
  tests.controls = controls();
  tests.not_modelled = {
      {"facebookresearch/RAM", "whether q is scaled before it meets the table shows where z is made"}};
  tests.laws = {law("cope_steps", "from a key to the next one the position falls by 0 to 1, inside the table",
                    {{"cope/positions"}, {"mild", "open", "closed", "whole", "closed_inside"}}, {1, check_steps})};
  return tests;
}

}  // namespace assay::properties::encodings::cope
