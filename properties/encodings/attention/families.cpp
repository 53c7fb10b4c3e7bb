// Families of inputs for attention with a bias of the logits.
#include <limits>

#include "properties/encodings/attention/laws/laws.hpp"
#include "properties/encodings/attention/laws/rows_without_keys.hpp"
#include "properties/encodings/attention/mutants/mutants.hpp"
#include "properties/harness/catalogue.hpp"
#include "reference/core/special_values.hpp"

namespace assay::properties::encodings::attention {
namespace {

using core::counter_random;
using core::dtype;

using core::infinity;

struct extents {
  std::size_t batch, heads, queries, keys, width, value_width;
};

extents draw_extents(counter_random& random, extent size) {
  if (size.is_given())
    // Of one key alone attention gives the value, whatever the logits are; of a query without features likewise.
    return {size.axis("B", 1), size.axis("h", 1), size.axis("n", 2),
            size.axis("m", 5), size.axis("d", 2), size.axis("e", 2)};
  if (size.range == lengths::exactly) return {1, 1, size.tokens, size.tokens, 2, 2};
  if (size.range == lengths::around_blocks) {
    const std::size_t keys = (std::size_t{1} << (3 + random.below(4))) - 1 + random.below(3);
    return {1, 1, 1 + random.below(3), keys, 1 + random.below(3), 1 + random.below(2)};
  }
  if (size.range == lengths::long_ones) return {1, 1, 2, 200 + random.below(100), 4, 2};
  extents s{1, 1, 1 + random.below(5), 1 + random.below(5), 1 + random.below(4), 1 + random.below(3)};
  if (random.one_in(3)) s.batch = 2;
  if (random.one_in(3)) s.heads = 2;
  if (random.one_in(30)) s.queries = 0;
  if (random.one_in(30)) s.keys = 0;
  return s;
}

/// A case before rounding: row-major arrays of the declared shapes.
struct attention_inputs {
  extents size;
  std::vector<double> q, k, v, bias;
  double& bias_at(std::size_t h, std::size_t i, std::size_t j) { return bias[(h * size.queries + i) * size.keys + j]; }
  /// At least one key stays for every query: without one implementations differ.
  void mask(std::size_t h, std::size_t i, std::size_t j) {
    std::size_t left = 0;
    for (std::size_t l = 0; l < size.keys; ++l) left += bias_at(h, i, l) != -infinity;
    if (left > 1) bias_at(h, i, j) = -infinity;
  }
  template <class Visit>
  void for_pairs(Visit visit) {
    for (std::size_t h = 0; h < size.heads; ++h)
      for (std::size_t i = 0; i < size.queries; ++i)
        for (std::size_t j = 0; j < size.keys; ++j) visit(h, i, j);
  }
};

using filler = void (*)(attention_inputs& in, dtype type, counter_random& random);

void fill_normal(std::vector<double>& x, double scale, counter_random& random) {
  for (double& y : x) y = scale * random.normal();
}

family filled_by(std::string name, std::string summary, filler fill) {
  family f{std::move(name), std::move(summary)};
  f.generate = [fill](const core::operation&, dtype type, const core::attributes&, counter_random& random,
                      extent size) -> core::tensors {
    const extents s = draw_extents(random, size);
    const std::size_t rows = s.batch * s.heads;
    attention_inputs in{
        s, std::vector<double>(rows * s.queries * s.width), std::vector<double>(rows * s.keys * s.width),
        std::vector<double>(rows * s.keys * s.value_width), std::vector<double>(s.heads * s.queries * s.keys)};
    for (std::vector<double>* x : {&in.q, &in.k, &in.v, &in.bias}) fill_normal(*x, 1.0, random);
    fill(in, type, random);
    return {{"q", core::make_tensor(type, {s.batch, s.heads, s.queries, s.width}, in.q)},
            {"k", core::make_tensor(type, {s.batch, s.heads, s.keys, s.width}, in.k)},
            {"v", core::make_tensor(type, {s.batch, s.heads, s.keys, s.value_width}, in.v)},
            {"bias", core::make_tensor(type, {s.heads, s.queries, s.keys}, in.bias)}};
  };
  return f;
}

void mild(attention_inputs&, dtype, counter_random&) {}

void no_bias(attention_inputs& in, dtype, counter_random&) { std::fill(in.bias.begin(), in.bias.end(), 0.0); }

// The last query sees every key.
void causal(attention_inputs& in, dtype, counter_random&) {
  in.for_pairs([&](std::size_t h, std::size_t i, std::size_t j) {
    if (j + in.size.queries > i + in.size.keys) in.mask(h, i, j);
  });
}

void masked_inside(attention_inputs& in, dtype, counter_random& random) {
  in.for_pairs([&](std::size_t h, std::size_t i, std::size_t j) {
    if (random.one_in(2)) in.mask(h, i, j);
  });
}

// Logits of order 100 to 1000: exp of them overflows.
void large_logits(attention_inputs& in, dtype, counter_random& random) {
  fill_normal(in.q, 16, random);
  fill_normal(in.k, 16, random);
}

void equal_logits(attention_inputs& in, dtype, counter_random& random) {
  std::fill(in.q.begin(), in.q.end(), 0.0);
  const double all = random.normal();
  std::fill(in.bias.begin(), in.bias.end(), all);
}

// ALiBi, slope 1/2, of queries behind all keys.
void linear_bias(attention_inputs& in, dtype, counter_random&) {
  in.for_pairs([&](std::size_t h, std::size_t i, std::size_t j) {
    in.bias_at(h, i, j) = -0.5 * static_cast<double>(in.size.keys + i - j);
  });
}

// All keys so far away that a mask weighs more than they do: one of -10000, or what a format holds. Where keys are so
// far that their logits round to one number, every finite answer is right, and no other one.
void far_keys(attention_inputs& in, dtype type, counter_random& random) {
  const double farthest = std::min(std::exp2(random.uniform(15, 100)), core::largest_finite(type) - 8),
               level = random.one_in(2) ? 30000 : farthest;
  in.for_pairs(
      [&](std::size_t h, std::size_t i, std::size_t j) { in.bias_at(h, i, j) = random.uniform(-8, 8) - level; });
  masked_inside(in, type, random);
}

// Rows whose logits differ by more than the exponent range: each needs a shift of its own.
void rows_apart(attention_inputs& in, dtype, counter_random&) {
  in.for_pairs(
      [&](std::size_t h, std::size_t i, std::size_t j) { in.bias_at(h, i, j) += i % 2 == 0 ? 1500.0 : -1500.0; });
}

// Three keys for every query: one of the last, and two that lie anywhere: with all keys one weighs next to nothing.
void few_keys(attention_inputs& in, dtype, counter_random& random) {
  std::vector<double> row(in.size.keys);
  for (std::size_t h = 0; h < in.size.heads; ++h)
    for (std::size_t i = 0; i < in.size.queries && in.size.keys > 0; ++i) {
      std::fill(row.begin(), row.end(), -infinity);
      row[in.size.keys - 1 - random.below(std::min<std::size_t>(in.size.keys, 4))] = random.normal();
      for (int k = 0; k < 2; ++k) row[random.below(in.size.keys)] = random.normal();
      std::copy(row.begin(), row.end(),
                in.bias.begin() + static_cast<std::ptrdiff_t>((h * in.size.queries + i) * in.size.keys));
    }
}

void one_key_wins(attention_inputs& in, dtype, counter_random& random) {
  for (std::size_t h = 0; h < in.size.heads; ++h)
    for (std::size_t i = 0; i < in.size.queries && in.size.keys > 0; ++i)
      in.bias_at(h, i, random.below(in.size.keys)) += 50.0;
}

void equal_values(attention_inputs& in, dtype, counter_random& random) {
  const double all = random.normal();
  for (std::size_t i = 0; i < in.v.size(); ++i)
    if (i / in.size.value_width % in.size.keys + 1 < in.size.keys) in.v[i] = all;
}

void small_values(attention_inputs& in, dtype type, counter_random& random) {
  fill_normal(in.v, 4 * core::smallest_normal(type), random);
}

void large_values(attention_inputs& in, dtype type, counter_random& random) {
  for (double& x : in.v) x = random.uniform(-1, 1) * core::largest_finite(type) / 64;
}

void nan_inside(attention_inputs& in, dtype, counter_random& random) {
  std::vector<double>& x = random.one_in(2) ? in.q : in.v;
  if (!x.empty()) x[random.below(x.size())] = std::numeric_limits<double>::quiet_NaN();
}

// Every output element is a sum over all keys: a product of two large axes costs as much as a third.
std::vector<usual_size> usual_sizes() {
  const std::vector<std::string> output{"attention/output"};
  return {
      {output, {{"B", 5}, {"h", 9}, {"n", 3}, {"m", 130}, {"d", 80}, {"e", 3}}, true},
      {output, {{"B", 5}, {"h", 9}, {"n", 66}, {"m", 3}, {"d", 66}, {"e", 130}}, true},
      {output, {{"B", 1}, {"h", 2}, {"n", 66}, {"m", 130}, {"d", 3}, {"e", 66}}, true},
      {output, {{"B", 2}, {"h", 2}, {"n", 64}, {"m", 64}, {"d", 64}, {"e", 64}}, true},
      {output, {{"B", 1}, {"h", 1}, {"n", 9}, {"m", 130}, {"d", 64}, {"e", 64}}, true},
      {output, {{"B", 66}, {"h", 2}, {"n", 2}, {"m", 9}, {"d", 3}, {"e", 65}}, true},
      {output, {{"B", 1}, {"h", 2}, {"n", 5}, {"m", 258}, {"d", 3}, {"e", 2}}, true},
      {output, {{"B", 1}, {"h", 1}, {"n", 66}, {"m", 66}, {"d", 2}, {"e", 2}}, true},
      {output, {{"B", 1}, {"h", 2}, {"n", 9}, {"m", 130}, {"d", 128}, {"e", 128}}, true},
      {output, {{"B", 2}, {"h", 2}, {"n", 130}, {"m", 130}, {"d", 2}, {"e", 3}}, true, "causal"},
      {output, {{"B", 1}, {"h", 2}, {"n", 66}, {"m", 130}, {"d", 3}, {"e", 2}}, true, "masked_inside"},
      {output, {{"B", 1}, {"h", 34}, {"n", 2}, {"m", 5}, {"d", 3}, {"e", 2}}, true},
      {output, {{"B", 1}, {"h", 2}, {"n", 3}, {"m", 1300}, {"d", 3}, {"e", 2}}, true},
      {output, {{"B", 1}, {"h", 2}, {"n", 255}, {"m", 63}, {"d", 3}, {"e", 2}}, true},
      {output, {{"B", 5}, {"h", 9}, {"n", 2}, {"m", 5}, {"d", 66}, {"e", 66}}, true, every_family},
      {output, {{"B", 1}, {"h", 2}, {"n", 5}, {"m", 258}, {"d", 3}, {"e", 2}}, true, every_family},
      {output, {{"B", 2}, {"h", 2}, {"n", 66}, {"m", 17}, {"d", 3}, {"e", 2}}, true, every_family},
      {output, {{"B", 1}, {"h", 2}, {"n", 9}, {"m", 17}, {"d", 96}, {"e", 96}}},
      {output, {{"B", 1}, {"h", 2}, {"n", 9}, {"m", 17}, {"d", 256}, {"e", 256}}},
      {output, {{"B", 1}, {"h", 2}, {"n", 258}, {"m", 258}, {"d", 64}, {"e", 64}}, false, "causal"},
      {output, {{"B", 1}, {"h", 2}, {"n", 66}, {"m", 513}, {"d", 65}, {"e", 65}}},
      {output, {{"B", 2}, {"h", 2}, {"n", 2}, {"m", 4097}, {"d", 3}, {"e", 2}}},
      {output, {{"B", 2}, {"h", 65}, {"n", 3}, {"m", 17}, {"d", 4}, {"e", 3}}},
      {output, {{"B", 2}, {"h", 2}, {"n", 130}, {"m", 130}, {"d", 128}, {"e", 128}}},
      {output, {{"B", 65537}, {"h", 1}, {"n", 1}, {"m", 2}, {"d", 2}, {"e", 1}}},
      {output, {{"B", 2}, {"h", 2}, {"n", 4097}, {"m", 2}, {"d", 2}, {"e", 2}}},
      {output, {{"B", 5}, {"h", 9}, {"n", 66}, {"m", 258}, {"d", 66}, {"e", 66}}, false, every_family},
  };
}

}  // namespace

encoding_tests make_tests() {
  encoding_tests tests;
  tests.name = "attention";
  tests.families = {
      filled_by("mild", "numbers of order 1", mild),
      filled_by("no_bias", "a bias of 0 everywhere", no_bias),
      filled_by("causal", "no key behind the query", causal),
      filled_by("masked_inside", "every other key is masked", masked_inside),
      filled_by("few_keys", "all keys but three are masked", few_keys),
      filled_by("large_logits", "logits of order 1000", large_logits),
      filled_by("equal_logits", "all keys weigh the same", equal_logits),
      filled_by("linear_bias", "a bias of -1/2 a token of distance", linear_bias),
      filled_by("far_keys", "all logits near -30000, or farther, to -1e30", far_keys),
      filled_by("rows_apart", "rows of +1500 and rows of -1500", rows_apart),
      filled_by("one_key_wins", "one key weighs e^50 times the others", one_key_wins),
      filled_by("equal_values", "all values but the last key's are the same number", equal_values),
      filled_by("small_values", "values near the smallest normal number", small_values),
      filled_by("large_values", "values near the largest number", large_values),
      filled_by("nan_inside", "a NaN in q or v", nan_inside),
  };
  tests.families.back().holds_nan = true;
  for (family& f : tests.families)
    if (f.name == "few_keys" || f.name == "mild") f.tells_along = "m";  // values show of few, gradients of all
  // Where logits are sums of 2^16 terms, their law allows any weights, unless the terms are 0.
  for (family& f : tests.families)
    if (f.name == "equal_logits") f.tells_along = "d";
  tests.sizes = usual_sizes();
  tests.long_ones = {{{"attention/output"}, {{"m", 2}}}};
  tests.mutants = mutants();
  tests.controls = controls();
  tests.laws = laws();
  tests.rests_on_convention = has_row_without_keys;
  return tests;
}

}  // namespace assay::properties::encodings::attention
