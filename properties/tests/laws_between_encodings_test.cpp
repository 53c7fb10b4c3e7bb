// "This encoding with that setting equals that encoding": laws of the references, bit by bit. Numbers are multiples of
// 1/4 and heads are four features wide, so that products, their sums and the factor 1/2 are exact. Next to each law
// stands an encoding, or a parameter, that breaks it.
#include <catch2/catch.hpp>

#include "reference/core/counter_random.hpp"
#include "reference/core/special_values.hpp"
#include "reference/oracle.hpp"

using namespace assay;

namespace {

using list = std::vector<double>;
constexpr std::size_t width = 4;

list drawn(std::size_t count, std::uint64_t seed) {
  core::counter_random random(seed);
  list x;
  for (std::size_t k = 0; k < count; ++k) x.push_back(static_cast<double>(random.below(17)) / 4 - 2);
  return x;
}
struct input {
  core::shape shape;
  list numbers;
  bool is_integer = false;
};
/// An output of a call in f64, as proved.
list output_of(const char* operation, const std::map<std::string, input>& inputs, const char* output,
               core::attributes settings = {}) {
  core::request call{reference::find_operation(operation), core::dtype::f64, {}, std::move(settings)};
  REQUIRE(call.operation != nullptr);
  for (const auto& [name, x] : inputs)
    call.inputs.emplace(name, core::make_tensor(x.is_integer ? core::dtype::i64 : call.type, x.shape, x.numbers));
  const auto proved = reference::certify(call);
  const auto& y = proved.at(output).rounded.values.storage();
  return {y.begin(), y.end()};
}
list plus(list x, const list& y) {
  for (std::size_t k = 0; k < x.size(); ++k) x[k] += y[k % y.size()];
  return x;
}
/// x [n, n] where the key is not after the query, else 0.
list on_and_below(list x, std::size_t n) {
  for (std::size_t k = 0; k < x.size(); ++k)
    if (k % n > k / n % n) x[k] = 0;
  return x;
}
/// Each row minus its first element: the part that a softmax can see.
list but_row_constants(list x, std::size_t n) {
  for (std::size_t first = 0; first < x.size(); first += n)
    for (std::size_t j = n; j-- > 0;) x[first + j] -= x[first];
  return x;
}
input tokens(const list& x) { return {{1, 1, x.size() / width, width}, x}; }
input head_input(const list& x) { return {{1, width}, x}; }
input positions(const list& x) { return {{1, x.size() / width, width}, x}; }
input table(const list& x) { return {{x.size() / width, width}, x}; }
const list zero(width, 0.0);

/// The same rows in reverse order.
list reversed(const list& rows) {
  list out;
  for (std::size_t first = rows.size(); first > 0; first -= width)
    out.insert(out.end(), rows.begin() + static_cast<std::ptrdiff_t>(first - width),
               rows.begin() + static_cast<std::ptrdiff_t>(first));
  return out;
}

constexpr std::size_t n = 5;
const list q = drawn(n * width, 1), k = drawn(n * width, 2), p = drawn(n * width, 3);
list plain() { return output_of("shaw/scores", {{"q", tokens(q)}, {"k", tokens(k)}, {"table", table(zero)}}, "s"); }

list transformer_xl(const list& queries, const list& u, const list& v, const list& distance_rows) {
  return output_of("transformer_xl/scores",
                   {{"q", tokens(queries)},
                    {"k", tokens(k)},
                    {"u", head_input(u)},
                    {"v", head_input(v)},
                    {"p", positions(distance_rows)}},
                   "s");
}
list xlnet(const list& u, const list& v, const list& w, const list& distance_rows,
           const list& segment_rows = list(8, 0.0)) {
  return output_of("xlnet/scores",
                   {{"q", tokens(q)},
                    {"k", tokens(k)},
                    {"u", head_input(u)},
                    {"v", head_input(v)},
                    {"w", head_input(w)},
                    {"p", positions(distance_rows)},
                    {"e", {{1, 2, width}, segment_rows}},
                    {"other_segment", {{1, n, n}, list(n * n, 0.0), true}}},
                   "s");
}
list deberta(const list& position_keys, const list& position_queries, const char* terms) {
  // With four features and three terms the factor would be 1 / sqrt(12), which is not exact: so one term is left out
  // and there are two features.
  const auto two = [](const list& x) { return input{{1, 1, x.size() / 2, 2}, x}; };
  const input keys{{1, position_keys.size() / 2, 2}, position_keys},
      queries{{1, position_queries.size() / 2, 2}, position_queries};
  return output_of("deberta/scores",
                   {{"q", two(q)}, {"k", two(k)}, {"position_keys", keys}, {"position_queries", queries}}, "s",
                   {{"form", std::string("linear")},
                    {"span", std::int64_t(position_keys.size() / 4)},
                    {"terms", std::string(terms)}});
}

}  // namespace

// Queries and keys that are sums of tokens and positions give four terms: token and token, token and position, position
// and token, position and position. One query i has the terms of Transformer-XL with p_i as u and v, and with the
// position of the key in place of the distance (Dai et al. 2019, section 3.3).
TEST_CASE("laws_between_encodings/additive_positions_are_the_four_terms_of_transformer_xl", "[property]") {
  for (std::size_t i = 0; i < n; ++i) {
    const auto row = [i](const list& x) {
      return list(x.begin() + static_cast<std::ptrdiff_t>(i * width),
                  x.begin() + static_cast<std::ptrdiff_t>((i + 1) * width));
    };
    const list here = row(p);
    const list added = output_of(
        "shaw/scores", {{"q", tokens(plus(row(q), here))}, {"k", tokens(plus(k, p))}, {"table", table(zero)}}, "s");
    CHECK(transformer_xl(row(q), here, here, reversed(p)) == added);
    CHECK(transformer_xl(row(q), zero, here, reversed(p)) != added);  // without the term of position and token
    CHECK(transformer_xl(row(q), here, here, p) != added);
  }
}

TEST_CASE("laws_between_encodings/without_positions_all_scores_are_products", "[property]") {
  const list nowhere(n * width, 0.0), both(2 * n * width, 0.0);
  CHECK(on_and_below(transformer_xl(q, zero, zero, nowhere), n) == on_and_below(plain(), n));
  CHECK(xlnet(zero, zero, list(width, 3.0), both) == plain());  // no segment to meet
  CHECK(xlnet(list(width, 1.0), zero, zero, both) != plain());
  const list products = deberta(list(16, 0.0), list(16, 0.0), "c2p");
  CHECK(products == deberta(list(16, 0.0), list(16, 0.0), "p2c"));
  double first = 0;
  for (std::size_t c = 0; c < 2; ++c) first += q[c] * k[c];
  CHECK(products.front() == first / 2);  // 1 / sqrt(2 d), and not 1 / sqrt(d)
}

// XLNet in one direction, and Shaw if no distance is clipped and each distance has its own key.
TEST_CASE("laws_between_encodings/three_encodings_of_keys_behind_queries", "[property]") {
  const list u = drawn(width, 4), v = drawn(width, 5), ahead = drawn(n * width, 6);
  const list xl = on_and_below(transformer_xl(q, u, v, p), n);
  list distance_rows = drawn(width, 7);  // for the distance n, which no pair has
  const list falling = reversed(p);
  distance_rows.insert(distance_rows.end(), falling.begin(), falling.end());
  distance_rows.insert(distance_rows.end(), ahead.begin() + width, ahead.end());
  CHECK(distance_rows.size() == 2 * n * width);
  CHECK(on_and_below(xlnet(u, v, zero, distance_rows), n) == xl);
  CHECK(on_and_below(xlnet(v, u, zero, distance_rows), n) != xl);
  const auto shaw = [](const char* meets) {
    return output_of("shaw/scores", {{"q", tokens(q)}, {"k", tokens(k)}, {"table", table(reversed(p))}}, "s",
                     {{"right", std::int64_t{0}}, {"meets", std::string(meets)}});
  };
  CHECK(on_and_below(shaw("queries"), n) == on_and_below(transformer_xl(q, zero, zero, p), n));
  CHECK(on_and_below(shaw("both"), n) != on_and_below(transformer_xl(q, zero, zero, p), n));
}

// A number added to a row of logits changes nothing after a softmax: a term that only adds one has no effect.
TEST_CASE("laws_between_encodings/what_adds_a_number_to_each_row_is_dead", "[property]") {
  const list c = drawn(width, 8), u = drawn(width, 4), v = drawn(width, 5), both = drawn(2 * n * width, 9);
  const auto alike = [](const list& x, const list& y) { return but_row_constants(x, n) == but_row_constants(y, n); };
  const auto shaw = [](const list& rows, const char* meets) {
    return output_of("shaw/scores", {{"q", tokens(q)}, {"k", tokens(k)}, {"table", table(rows)}}, "s",
                     {{"meets", std::string(meets)}});
  };
  const list rows = drawn(5 * width, 10);
  CHECK(shaw(plus(rows, c), "queries") != shaw(rows, "queries"));
  CHECK(alike(shaw(plus(rows, c), "queries"), shaw(rows, "queries")));
  CHECK_FALSE(alike(shaw(plus(rows, c), "both"), shaw(rows, "both")));  // keys are multiplied by it as well
  CHECK(alike(xlnet(u, v, zero, plus(both, c)), xlnet(u, v, zero, both)));
  // All tokens are in one segment.
  CHECK(alike(xlnet(u, v, zero, both, plus(list(8, 0.0), c)), xlnet(u, v, zero, both)));
  CHECK_FALSE(alike(xlnet(plus(u, c), v, zero, both), xlnet(u, v, zero, both)));
  CHECK_FALSE(alike(xlnet(u, plus(v, c), zero, both), xlnet(u, v, zero, both)));
  const list keys = drawn(16, 11), queries = drawn(16, 12), two{c[0], 1.0};
  for (const char* terms : {"c2p", "p2c"}) {
    const bool has_keys = terms[0] == 'c';
    const std::size_t tokens_of_two = 2 * n;
    const auto same = [&](const list& x, const list& y) {
      return but_row_constants(x, tokens_of_two) == but_row_constants(y, tokens_of_two);
    };
    CHECK(same(deberta(plus(keys, two), queries, terms), deberta(keys, queries, terms)));
    CHECK(same(deberta(keys, plus(queries, two), terms), deberta(keys, queries, terms)) == has_keys);
  }
}

// After a softmax the gradients of a row of logits add up to 0; then those of all rows of the table do too.
TEST_CASE("laws_between_encodings/gradients_of_a_dead_direction_add_up_to_0", "[property]") {
  list g = drawn(n * n, 13);
  const auto in_a_row = [&](const list& grad_s, const char* meets) {
    const list grad = output_of("shaw/scores:vjp",
                                {{"q", tokens(q)},
                                 {"k", tokens(k)},
                                 {"table", table(drawn(5 * width, 10))},
                                 {"grad_s", {{1, 1, n, n}, grad_s}}},
                                "grad_table", {{"meets", std::string(meets)}});
    list sums(width, 0.0);
    for (std::size_t index = 0; index < grad.size(); ++index) sums[index % width] += grad[index];
    return sums;
  };
  CHECK(in_a_row(g, "queries") != zero);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 1; j < n; ++j) g[i * n] -= g[i * n + j] + (j == 1 ? g[i * n] : 0.0);
  CHECK(in_a_row(g, "queries") == zero);
  CHECK(in_a_row(g, "both") != zero);
}

// Attention of an encoding is attention with its bias; open gates, and tables of 0, add no bias.
TEST_CASE("laws_between_encodings/attention_of_an_encoding_is_attention_with_its_bias", "[property]") {
  const list v = drawn(n * width, 14);
  const std::map<std::string, input> qkv{{"q", tokens(q)}, {"k", tokens(k)}, {"v", tokens(v)}};
  const auto with = [&](const char* name, input x) {
    std::map<std::string, input> all = qkv;
    all.emplace(name, std::move(x));
    return all;
  };
  const auto biased = [&](list bias, core::attributes settings = {}) {
    for (std::size_t index = 0; index < bias.size(); ++index)
      if (index % n > index / n) bias[index] = -core::infinity;
    return output_of("attention/output", with("bias", {{1, n, n}, bias}), "o", std::move(settings));
  };
  const list none = biased(list(n * n, 0.0)), numbers{0, 1, 2, 3, 4};
  const auto bias_of = [&](const char* operation, const char* name, input x, core::attributes settings = {}) {
    return output_of(
        operation,
        {{name, std::move(x)}, {"query_position", {{n}, numbers, true}}, {"key_position", {{n}, numbers, true}}},
        "bias", std::move(settings));
  };
  const list alibi = output_of("alibi/attention", with("slopes", {{1}, {0.5}}), "o");
  CHECK(alibi == biased(bias_of("alibi/bias", "slopes", {{1}, {0.5}})));
  CHECK(alibi != biased(bias_of("alibi/bias", "slopes", {{1}, {0.25}})));
  const core::attributes clipped{
      {"buckets", std::int64_t{5}}, {"bidirectional", false}, {"form", std::string("clipped")}};
  core::attributes causal = clipped;
  causal.insert({{"causal", true}, {"scale", std::string("one")}});
  const input buckets{{1, 5}, {0, -0.5, -1.5, 2, 0.25}};
  const list t5 = output_of("t5_bias/attention", with("table", buckets), "o", causal);
  CHECK(t5 == biased(bias_of("t5_bias/bias", "table", buckets, clipped), {{"scale", std::string("one")}}));
  CHECK(t5 != biased(bias_of("t5_bias/bias", "table", buckets, clipped)));  // T5 has no factor
  CHECK(output_of("fox/attention", with("log_f", {{1, n, 1}, list(n, 0.0)}), "o") == none);
  CHECK(output_of("fox/attention", with("log_f", {{1, n, 1}, list(n, -0.5)}), "o") != none);
  CHECK(output_of("cope/attention", with("table", {{width, 3}, list(3 * width, 0.0)}), "o") == none);
  CHECK(output_of("cope/attention", with("table", {{width, 3}, drawn(3 * width, 15)}), "o") != none);
}
