// Forgetting attention: its families are those of Heinsen's gates, since one lane of gates is filled alike in both; and
// laws of the decay.
#include <algorithm>
#include <cmath>

#include "properties/generators/lane_inputs.hpp"
#include "properties/kinds/attention.hpp"
#include "reference/core/special_values.hpp"

namespace assay::properties::encodings::fox {

std::vector<variant> mutants();  // variants.cpp
std::vector<variant> controls();

namespace {

using core::infinity;

// Padding in two rows of three: at most half of the keys, or, for attention, at most the keys before all queries. There
// every query keeps a key, because programs differ in the output of a query without one.
void draw_first_keys(drawn_inputs& in, const core::operation& op, core::counter_random& random) {
  if (op.input("first_key") == nullptr) return;
  const std::size_t m = in.sizes.at("m"), most = op.input("q") ? m - std::min(m, in.sizes.at("n")) : m / 2;
  for (double& first : in.numbers.at("first_key"))
    first = random.one_in(3) ? 0.0 : static_cast<double>(random.below(most + 1));
}

family of_gates(std::string name, std::string summary, lane_filler fill, input_filler then = {}) {
  return attention_family(
      std::move(name), std::move(summary),
      [fill, then](drawn_inputs& in, const core::operation& op, core::dtype type, core::counter_random& random) {
        const bool gated = op.input("g") != nullptr;
        const std::size_t n = in.sizes.at(op.input("first_key") ? "m" : "n"), heads = in.sizes.at("h");
        std::vector<double>& gates = in.numbers.at(gated ? "g" : "log_f");
        for (std::size_t k = 0; k < in.sizes.at("B") * heads; ++k) {
          lane_inputs lane{std::vector<double>(n), std::vector<double>(n)};
          fill(lane, gated, type, random);
          for (std::size_t i = 0; i < n; ++i) gates[(k / heads * n + i) * heads + k % heads] = lane.gate[i];
        }
        if (then) then(in, op, type, random);
        draw_first_keys(in, op, random);
      });
}

// D_ij + D_jk = D_ik within the errors allowed to the three; the diagonal and the elements above it have their defined
// values.
void check_path(experiment& e) {
  const numbers d(e.call(), "D");
  const std::size_t n = d.shape[3];
  for (std::size_t p = 0; p < d.size(); ++p) {
    const std::size_t i = p / n % n, k = p % n, j = (i + k) / 2, block = p - i * n - k;
    if (k >= i)
      e.equal(exactly(k == i ? 0.0 : -infinity), exactly(d.x[p]), "D at query {}, key {}", i, k);
    else
      e.equal(d[p], d[block + i * n + j] + d[block + j * n + k], "D from {} to {}, and by way of {}", k, i, j);
  }
}

// With gates that are equal for all tokens, the decay is that of ALiBi with slope -log f: D_ij = log f (i - j).
std::optional<test_case> with_constant_gates(const test_case& c) {
  test_case constant = c;
  auto& a = constant.call.inputs.at("log_f").values.storage();
  const core::shape s = c.call.inputs.at("log_f").shape();
  for (std::size_t k = 0; k < a.size(); ++k) a[k] = std::max(a[k / (s[1] * s[2]) * s[1] * s[2] + k % s[2]], -64.0);
  return constant;
}
void check_constant_gates(experiment& e) {
  e.needs(has_elements(e.c));
  const test_case c = *with_constant_gates(e.c);
  const numbers d(e.call(c), "D");
  const core::tensor& a = c.call.inputs.at("log_f");
  const std::size_t n = d.shape[2], m = d.shape[3], heads = d.shape[1];
  for (std::size_t p = 0; p < d.size(); ++p) {
    const std::size_t i = p / m % n, j = p % m, head = p / (m * n);
    if (d.x[p] == -infinity) continue;
    const double exact = a.values.storage()[head / heads * m * heads + head % heads] *
                         (static_cast<double>(i + m) - static_cast<double>(j + n));
    e.equal({exact, std::fabs(exact) * 0x1p-53}, d[p], "D of query {} and key {}, and that of ALiBi", i, j);
  }
}

// The case with queries among the padding.
test_case with_hidden_queries(const test_case& c) {
  test_case hidden = c;
  const std::size_t n = sizes_of(c).at("n"), m = sizes_of(c).at("m");
  core::counter_random random(c.seed);
  for (double& first : hidden.call.inputs.at("first_key").values.storage())
    first = static_cast<double>(m + 1 + random.below(n)) - static_cast<double>(std::min(m, n));
  return hidden;
}
bool sees_no_key(const request& call, std::size_t row, std::size_t query) {
  const std::size_t n = call.inputs.at("q").shape()[2], m = call.inputs.at("k").shape()[2];
  return static_cast<double>(query + m) - static_cast<double>(n) < call.inputs.at("first_key").values.storage()[row];
}
bool has_hidden_query(const request& call) {
  const auto first_key = call.inputs.find("first_key");
  if (first_key == call.inputs.end() || !call.inputs.contains("q") || call.inputs.at("q").shape()[2] == 0) return false;
  for (std::size_t row = 0; row < first_key->second.size(); ++row)
    if (sees_no_key(call, row, 0)) return true;
  return false;
}

// Tokens from a token with gate 0 on give the same outputs and gradients as a sequence that starts there: none of them
// sees an earlier token.
void check_reset(experiment& e) {
  const core::operation& op = *e.c.call.operation;
  const std::size_t n = sizes_of(e.c).at("n");
  e.needs(n > 1);
  const std::size_t first = 1 + core::counter_random(e.c.seed).below(n - 1);
  core::tensors inputs = e.c.call.inputs;
  fill_along(op, inputs, "log_f", "n", {first}, -infinity);
  const std::vector<std::size_t> kept = span_of(first, n);
  const measured_call& alone = e.call(with_inputs(e.c, core::restrict_axis(op, inputs, "n", kept)));
  e.equal_along("n", alone, every(kept.size()), e.call(with_inputs(e.c, inputs)), kept, experiment::without_axis::equal,
                fmt::format("a gate of 0 at token {}", first));
}

std::vector<std::size_t> first_tokens(const test_case& c, std::size_t n) {
  return n < 2 ? std::vector<std::size_t>{} : span_of(0, 1 + core::counter_random(c.seed).below(n - 1));
}

// Decays grow as the square of the tokens. Attention sums over one side of it; mild gates leave about twenty tokens
// with weight, and distant tokens have weight only if gates are near one.
std::vector<usual_size> sizes() {
  const std::vector<std::string> decays{"fox/decay", "fox/gated_decay"}, attention{"fox/attention"};
  const std::string gates = "B n h", heads = "B h n d e";
  std::vector<usual_size> all;
  add_sizes(all, decays, gates, "5 17 9, 66 5 2, 2 130 2, 1 258 1, 5 66 1, 1 66 9, 2 128 4, 1 255 1, 3 9 9");
  add_sizes(all, decays, gates, "5 9 9, 1 66 2", true, every_family);
  add_sizes(all, decays, gates, "2 1025 2, 2 129 33, 1 513 3, 65537 2 1", false);
  add_sizes(all, decays, gates, "5 130 9", false, every_family);
  add_sizes(all, attention, heads,
            "5 9 17 80 3, 66 2 5 2 65, 2 2 130 3 2, 5 1 66 2 3, 1 1 66 64 64, 1 9 66 2 3, 2 2 64 64 64, 1 1 72 128 128,"
            "3 9 9 3 2");
  add_sizes(all, attention, heads, "1 2 383 2 2", true, "gates_near_one");
  add_sizes(all, attention, heads, "5 9 5 66 66, 1 2 66 3 2", true, every_family);
  add_sizes(all, attention, heads, "1 2 9 96 96, 1 2 9 256 256, 1 2 258 65 33, 2 2 1025 2 1, 65537 1 2 1 1", false);
  add_sizes(all, attention, heads, "1 1 1300 2 1", false, "gates_near_one");
  add_sizes(all, attention, heads, "5 9 130 66 66", false, every_family);
  const std::vector<std::string> cached{"fox/cached_attention"};
  const std::string of_cache = "B h n m d e";
  add_sizes(all, {"fox/cached_decay"}, "B n m h",
            "5 1 9 17, 66 2 5 2, 2 130 132 2, 1 1 514 2, 5 1 130 2, 5 66 70 1, 1 66 130 9, 2 64 128 2, 2 127 255 2, 1 "
            "1 258 1,"
            "2 1 66 9, 5 2 7 9");
  add_sizes(all, {"fox/cached_decay"}, "B n m h", "5 2 9 9, 1 66 130 1", true, every_family);
  add_sizes(all, {"fox/cached_decay"}, "B n m h", "1 1 33000 2, 2 129 1025 2", false);
  add_sizes(
      all, cached, of_cache,
      "5 9 2 17 80 3, 66 2 2 5 2 65, 2 2 130 132 2 1, 5 1 66 70 2 2, 1 9 66 67 1 1, 1 1 66 130 2 66, 1 1 66 70 66 2,"
      "5 1 2 130 1 2, 1 9 2 130 66 1, 1 1 1 130 3 66, 5 9 1 7 2 2, 5 2 1 9 2 66, 1 9 1 9 2 66, 1 1 1 9 66 66,"
      "2 2 64 128 64 64, 1 1 66 72 64 64, 1 1 66 72 128 128, 2 2 127 191 1 1");
  add_sizes(all, cached, of_cache, "1 2 1 383 2 2", true, "gates_near_one");
  add_sizes(all, cached, of_cache, "5 9 2 5 66 66, 1 1 66 130 2 2", true, every_family);
  add_sizes(all, cached, of_cache, "1 2 1 8193 64 64, 2 2 258 1025 2 1", false);
  return all;
}

}  // namespace

encoding_tests make_tests() {
  const std::vector<std::string> finite{"mild",          "gates_near_one", "gates_near_zero",
                                        "constant_gate", "no_decay",       "infinite_inside",
                                        "wide",          "block_half_life"};
  encoding_tests tests;
  tests.name = "fox";
  // Distant tokens keep some weight if gates are near one. A logit is finite: only log f itself can be -inf.
  tests.families = {
      parting_classes(of_gates("mild", "gates of order 1", mild)),
      parting_classes(long_along("n", of_gates("gates_near_one", "log f from -2^-4 to -2^-29", gates_near_one))),
      of_gates("gates_near_zero", "log f from -5 to -60", gates_near_zero),
      of_gates("constant_gate", "one gate for the whole lane, 2^-17 to 1: ALiBi", constant_gate),
      of_gates("block_half_life", "decay over a block is e^-0.3 to e^-3", block_half_life),
      of_input("log_f", of_gates("infinite_inside", "log f is -inf here and there: resets", infinite_inside)),
      of_gates("no_decay", "log f = 0 or above -1e-6", no_decay),
      of_gates("powers_of_two", "all gates are powers of two", powers_of_two),
      of_gates("subnormal", "all gates are subnormal", subnormal),
      parting_classes(of_gates("wide", "log f from -69 to 0", wide)),
      of_gates("extreme_gates", "decays beyond the exponent range", extreme_gates),
      of_input("q", of_gates("large_logits", "logits of order 100 to 1000: exp of them overflows", mild, large_logits)),
      of_gates("special_values", "zeros, and numbers at the ends of the domain and of the formats", special_values),
      holding_nan(of_gates("nan_inside", "a NaN in some lanes", nan_inside)),
  };
  tests.sizes = sizes();
  tests.long_ones = {{{"fox/decay", "fox/gated_decay"}, {{"n", 2}}},
                     {{"fox/attention"}, {{"n", 2}}, {{"n", 1100}}},
                     {{"fox/cached_decay"}, {{"m", 0}}, {{"n", 260}}},
                     {{"fox/cached_attention"}, {{"n", 1}, {"m", 0}}, {{"n", 260}}}};
  tests.mutants = mutants();
  tests.controls = controls();
  tests.laws = {law("decay_path", "D is 0 on the diagonal, -inf above it, and below it the sum over any token between",
                    {{"fox/decay", "fox/gated_decay"}, finite}, {1, check_path}),
                law("constant_gates", "gates that are one number decay as ALiBi does with the slope -log f",
                    {{"fox/decay", "fox/cached_decay"}, finite}, {1, check_constant_gates}),
                law_of_rows_without_keys(
                    "fox", {{"fox/cached_attention", "fox/cached_attention:vjp"}, finite},
                    {with_hidden_queries, [](const test_case& c, std::size_t row,
                                             std::size_t query) { return sees_no_key(c.call, row, query); }}),
                law("gate_reset", "a gate of 0 forgets all that came before",
                    {{"fox/attention", "fox/attention:vjp"}, finite}, {2, check_reset}),
                law("later_tokens", "tokens that come later change no output", {{"fox/attention"}, finite},
                    agree_alone("n", first_tokens, "the first tokens"))};
  tests.rests_on_convention = has_hidden_query;
  tests.not_modelled = {
      {"fla-org/flash-linear-attention#769, NVIDIA-NeMo/Automodel#3802",
       "an index beyond 2^31 needs 46 341 tokens, whose pairs do not fit a gate run"},
      {"zhixuan-lin/forgetting-transformer, _find_end_index_kernel",
       "blocks to prune are looked for with gates of the first tokens in place of those of queries behind a "
       "cache: sums of them are no smaller, and no block is left out that counts"}};
  tests.facts = {{"infinite_inside", "log f = -inf gives"},
                 {"extreme_gates", "decays beyond the exponent range give"},
                 {"no_decay", "gates at 1 (log f = 0, or nearly) give"},
                 {"gates_near_one", "gates near 1 give"},
                 {"gates_near_zero", "gates near 0 give"},
                 {"special_values", "special values (zeros, ends of the domain and of the formats) give"}};
  return tests;
}

}  // namespace assay::properties::encodings::fox
