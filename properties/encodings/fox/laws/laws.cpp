#include "properties/encodings/fox/laws/laws.hpp"

#include <algorithm>
#include <cmath>

#include "properties/encodings/fox/laws/attention.hpp"
#include "properties/encodings/fox/laws/beside_others.hpp"
#include "properties/encodings/fox/laws/heads.hpp"
#include "reference/core/special_values.hpp"

namespace assay::properties::encodings::fox {
namespace {

using core::infinity;

// Says something of the decays of every head of a case.
template <class Says>
void for_heads(experiment& e, const test_case& c, Says says) {
  const numbers d(e.call(c), "D");
  for (const head& h : heads_of(c)) says(h, d);
}

// The diagonal is 0, what lies above it -inf, whatever the gates are.
void check_mask(experiment& e) {
  for_heads(e, e.c, [&](const head& h, const numbers& d) {
    for (std::size_t i = 0; i < h.tokens; ++i)
      for (std::size_t j = i; j < h.tokens; ++j)
        e.equal(exactly(j == i ? 0.0 : -infinity), exactly(d.x[h.pair(i, j)]), "row {} head {}: D at query {}, key {}",
                h.row, h.index, i, j);
  });
}

// F_ij F_jk = F_ik: D_ij + D_jk = D_ik within the errors allowed to the three.
void check_path(experiment& e) {
  for_heads(e, e.c, [&](const head& h, const numbers& d) {
    for (std::size_t i = 0; i < h.tokens; ++i)
      for (std::size_t k = 0; k < i; ++k) {
        const std::size_t j = (i + k) / 2;
        e.equal(d[h.pair(i, k)], d[h.pair(i, j)] + d[h.pair(j, k)], "row {} head {}: D from {} to {}, and by way of {}",
                h.row, h.index, k, i, j);
      }
  });
}

// No decay is positive, and it grows with the distance: towards later queries and earlier keys.
void check_order(experiment& e) {
  for_heads(e, e.c, [&](const head& h, const numbers& d) {
    for (std::size_t i = 1; i < h.tokens; ++i)
      for (std::size_t j = 0; j < i; ++j)
        for (const std::size_t nearer : {h.pair(i, j + 1), h.pair(i - 1, j)})
          e.at_most(d[h.pair(i, j)], d[nearer], "row {} head {}: D at query {}, key {}, and at a nearer pair", h.row,
                    h.index, i, j);
  });
}

// A constant gate is ALiBi (Press, Smith and Lewis 2022) with the slope -log f: D_ij = (i - j) log f.
void check_slope(experiment& e, const test_case& c, approximate log_f) {
  for_heads(e, c, [&](const head& h, const numbers& d) {
    for (std::size_t i = 0; i < h.tokens; ++i)
      for (std::size_t j = 0; j <= i; ++j)
        e.equal(i == j ? exactly(0) : exactly(static_cast<double>(i - j)) * log_f, d[h.pair(i, j)],
                "row {} head {}: a constant gate of log f = {:.9g} at a distance of {}", h.row, h.index, log_f.value,
                i - j);
  });
}

double log_sigmoid(double g) { return std::min(g, 0.0) - std::log1p(std::exp(-std::fabs(g))); }

const core::tensor& gates_of(const test_case& c) { return c.call.inputs.at(gate_name(*c.call.operation)); }

// All gates alike.
test_case with_gate(const test_case& c, double gate) {
  core::tensor gates = gates_of(c);
  for (double& x : gates.values.storage()) x = gate;
  return with_gates(c, std::move(gates));
}

void check_alibi(experiment& e) {
  e.needs(gates_of(e.c).size() > 0);
  const double gate = gates_of(e.c).values.storage()[0];
  const double log_f = e.c.call.operation->input("g") != nullptr ? log_sigmoid(gate) : gate;
  check_slope(e, with_gate(e.c, gate), {log_f, 0x1p-51 * std::fabs(log_f)});
}

// The gate that does not depend on the data (section 3 of the paper): with the logit b = -log(expm1(1 / T)) log f is
// -1 / T, T the time of decay. Storing b moves it by at most e = u |b|, and log f by at most e times the slope
// 1 - f between both, which is at most (1 - exp(-1 / T)) exp(e) as log(1 - f) has a slope of at most 1 in b.
void check_decay_time(experiment& e) {
  e.needs(gates_of(e.c).size() > 0);
  const double rate = std::ldexp(1.0, 2 - static_cast<int>(e.c.seed % 12)), b = -std::log(std::expm1(rate));
  const double stored = core::round_to(e.c.call.type, b), moved = std::fabs(stored - b) + 0x1p-50 * std::fabs(b);
  const double slope = -std::expm1(-rate) * std::exp(moved);
  check_slope(e, with_gate(e.c, stored), {-rate, moved * slope + 0x1p-50 * rate});
}

// D of some tokens is their block of the D of more tokens.
void compare_block(experiment& e, const measured_call& alone, const measured_call& whole,
                   const std::vector<std::size_t>& kept, const std::string& what) {
  const core::shape shape = whole.outputs.at("D").shape();
  core::shape of_keys = shape;  // queries chosen
  of_keys[2] = kept.size();
  const std::vector<std::size_t> queries = taken(shape, 2, kept), both = taken(of_keys, 3, kept);
  std::vector<std::size_t> to;
  for (const std::size_t i : both) to.push_back(queries[i]);
  e.equal("D", alone, every(to.size()), whole, to, what);
}

// D of a run of tokens alone is that block of the whole: nothing outside enters.
void check_window(experiment& e) {
  const std::size_t n = sizes_of(e.c).at("n");
  e.needs(n > 2);
  core::counter_random random(e.c.seed);
  const std::size_t first = 1 + random.below(n - 2), last = first + 1 + random.below(n - first);
  const std::vector<std::size_t> kept = span_of(first, last);
  const measured_call& alone =
      e.call(with_inputs(e.c, core::restrict_axis(*e.c.call.operation, e.c.call.inputs, "n", kept)));
  compare_block(e, alone, e.call(), kept, fmt::format("tokens {} to {} alone", first, last - 1));
}

// A token whose gate is 1 is neutral to all others, wherever it stands: padding, whose gates are set to 1 so that they
// do not spoil sums over it (zhixuan-lin/forgetting-transformer).
void check_padding(experiment& e) {
  const core::tensor& gates = gates_of(e.c);
  const std::size_t n = gates.shape()[1], heads = gates.shape()[2];
  e.needs(gates.size() > 0);
  core::counter_random random(e.c.seed);
  const std::size_t place = random.below(n + 1), count = 1 + random.below(3);
  std::vector<std::size_t> kept = every(n), from(n + count, 0);
  for (std::size_t i = 0; i < n; ++i) from[kept[i] = i < place ? i : i + count] = i;
  core::tensor padded = core::take(gates, 1, from);
  for (std::size_t i = 0; i < padded.size(); ++i)
    if (const std::size_t token = i / heads % (n + count); token >= place && token < place + count)
      padded.values.storage()[i] = 0.0;
  const measured_call& alone = e.call();
  compare_block(e, alone, e.call(with_gates(e.c, std::move(padded))), kept,
                fmt::format("{} tokens of padding before token {}", count, place));
}

}  // namespace

std::vector<property> laws() {
  const law_scope decay = of({"fox/decay", "fox/gated_decay"});
  std::vector<property> all{
      law("decay_mask", "D is 0 on the diagonal and -inf above it", decay, {1, check_mask}),
      law("decay_path", "D from key to query is the sum over any token between", decay, {1, check_path}),
      law("decay_window", "D of a run of tokens alone is that block of D", decay, {2, check_window}),
      law("decay_order", "D falls with the distance", decay, {1, check_order}),
      law("decay_padding", "a token whose gate is 1 is neutral to all others", of({"fox/decay"}), {2, check_padding}),
      law("decay_alibi", "a constant gate is ALiBi with the slope -log f",
          {decay.operations, {"mild", "gates_near_one", "gates_near_zero", "constant_gate", "wide"}}, {1, check_alibi}),
      law("decay_time", "a gate logit of -log(expm1(1 / T)) decays by 1 / T a token", {{"fox/gated_decay"}, {"mild"}},
          {1, check_decay_time}),
  };
  for (auto more : {attention_laws, laws_beside_others})
    for (property& p : more()) all.push_back(std::move(p));
  return all;
}

}  // namespace assay::properties::encodings::fox
