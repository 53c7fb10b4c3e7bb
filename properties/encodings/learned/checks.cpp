// Learned positions: padding and places, wrong and right ids.
#include <algorithm>
#include <cmath>

#include "properties/faults/call_changes.hpp"
#include "properties/faults/declared_faults.hpp"
#include "properties/harness/usual_sizes.hpp"
#include "properties/kinds/attention.hpp"
#include "reference/encodings/learned.hpp"
#include "reference/oracle.hpp"

namespace assay::properties::encodings::learned {
namespace {

using core::dtype;
using encoding = reference::encodings::learned;
using reference::encodings::position_rule;
inline constexpr auto& changed = make_variant<encoding>;

// Families.

// Whether a token of a row of n is padding.
using padding = bool (*)(std::size_t place, std::size_t n, std::size_t hidden, core::counter_random& random);
bool at_the_left(std::size_t i, std::size_t, std::size_t hidden, core::counter_random&) { return i < hidden; }
bool at_the_right(std::size_t i, std::size_t n, std::size_t hidden, core::counter_random&) { return i + hidden >= n; }
bool inside(std::size_t, std::size_t, std::size_t, core::counter_random& random) { return random.one_in(3); }
bool everywhere(std::size_t, std::size_t, std::size_t, core::counter_random&) { return true; }
bool nowhere(std::size_t, std::size_t, std::size_t, core::counter_random&) { return false; }

family with(std::string name, std::string summary, padding hides, input_filler rows) {
  return attention_family(
      std::move(name), std::move(summary),
      [hides, rows](drawn_inputs& in, const core::operation& op, dtype type, core::counter_random& random) {
        const std::size_t n = in.sizes.at("n");
        if (const auto mask = in.numbers.find("mask"); mask != in.numbers.end())
          for (std::size_t first = 0; first < mask->second.size(); first += n) {
            const std::size_t hidden = random.below(n);
            for (std::size_t i = 0; i < n; ++i) mask->second[first + i] = hides(i, n, hidden, random) ? 0.0 : 1.0;
          }
        if (const auto position = in.numbers.find("position"); position != in.numbers.end()) {
          for (double& p : position->second) p = std::fmod(p, static_cast<double>(in.sizes.at("N")));
          if (rows) rows(in, op, type, random);
        }
      });
}

// A family with more positions along an axis than short formats can count.
family many(const char* axis, family f) {
  f.generate = [axis, drawn = std::move(f.generate)](const core::operation& op, dtype type,
                                                     const core::attributes& settings, core::counter_random& random,
                                                     extent size) {
    if (!size.is_given()) size.axes.try_emplace(axis, 2100 + random.below(600));
    return drawn(op, type, settings, random, size);
  };
  return f;
}

void at_one_position(drawn_inputs& in, const core::operation&, dtype, core::counter_random&) {
  std::vector<double>& position = in.numbers.at("position");
  for (double& p : position) p = position.front();
}
void of_any_size(drawn_inputs& in, const core::operation&, dtype, core::counter_random& random) {
  for (const char* input : {"x", "table"})
    for (double& y : in.numbers.at(input)) y *= random.one_in(4) ? 0.0 : std::exp2(random.uniform(-12, 12));
}
void nan_in_a_row(drawn_inputs& in, const core::operation&, dtype, core::counter_random& random) {
  std::vector<double>& x = in.numbers.at(random.one_in(2) ? "x" : "table");
  if (!x.empty()) x[random.below(x.size())] = std::nan("");
}

// Faults.

using index = encoding::index;
using truth = reference::formula::traced_truth;
using place_rule = index (*)(const position_rule& rule, const index& places, const index& tokens, const truth& visible);
scheme_change<encoding::scheme> with_ids(place_rule rule) {
  return [rule](auto& scheme) { scheme.position = rule; };
}
index counted_in(dtype held, const position_rule& rule, const index& places, const index& tokens,
                 const truth& visible) {
  std::vector<std::int64_t> counts(shape_of(tokens).back() + 1);
  for (std::size_t k = 0; k < counts.size(); ++k)
    counts[k] = static_cast<std::int64_t>(core::round_to(held, static_cast<double>(k)));
  return rule.ids(places, gathered(reference::formula::known_integers({counts.size()}, counts), tokens, 0), visible);
}
truth always() { return equal(index::constant(0), index::constant(0)); }

// The gradient of a row is that of its last token alone.
void last_token_alone(core::tensors& outputs, const request& call) {
  const auto table = outputs.find("grad_table");
  if (table == outputs.end()) return;
  const core::tensor &position = call.inputs.at("position"), &x = call.inputs.at("x"), &g = call.inputs.at("grad_y");
  const bool is_product = call.operation->forward_name() == "learned/multiply";
  const std::size_t d = table->second.shape()[1];
  for (std::size_t k = 0; k < position.size(); ++k)
    for (std::size_t c = 0; c < d; ++c) {
      const double by = is_product ? x.values.storage()[k * d + c] : 1.0;
      table->second.values.storage()[static_cast<std::size_t>(position.values.storage()[k]) * d + c] =
          core::round_to(call.type, g.values.storage()[k * d + c] * by);
    }
}
// The option scale_grad_by_freq of torch.nn.Embedding.
void divided_by_uses(core::tensors& outputs, const request& call) {
  const auto table = outputs.find("grad_table");
  if (table == outputs.end()) return;
  const core::tensor& position = call.inputs.at("position");
  const std::size_t d = table->second.shape()[1];
  for (std::size_t row = 0; row < table->second.shape()[0]; ++row) {
    const auto uses = static_cast<double>(std::count(position.values.begin(), position.values.end(), row));
    for (std::size_t c = row * d; c < (row + 1) * d; ++c)
      if (uses > 1)
        table->second.values.storage()[c] = core::round_to(call.type, table->second.values.storage()[c] / uses);
  }
}
// The fault of nn.Embedding(padding_idx = 1) where no position is padding.
void none_of_padding(core::tensors& outputs, const request&) {
  const auto table = outputs.find("grad_table");
  if (table == outputs.end() || table->second.shape()[0] < 2) return;
  const std::size_t d = table->second.shape()[1];
  std::fill_n(table->second.values.storage().begin() + static_cast<std::ptrdiff_t>(d), d, 0.0);
}

std::vector<variant> mutants() {
  return all_of(
      {reported_faults({
           {"mutant/learned_padding_has_ids", "huggingface/transformers#1761: places for counted tokens",
            "learned/positions/rule/always_as_they_lie"},
           {"mutant/learned_from_zero", "huggingface/transformers#5285: ids from 0, a table from padding_idx + 1",
            "learned/positions/offset/ignored"},
           {"mutant/learned_past_forgotten", "huggingface/transformers#15292: cached tokens",
            "learned/positions/past/ignored"},
           {"mutant/learned_factor_forgotten", "tensorflow/models: embeddings times sqrt(d)",
            "learned/embed/input_factor/ignored"},
           {"mutant/learned_positions_counted", "a table read from its first row on", "learned/embed/position/counted"},
       }),
       {
           changed("mutant/learned_padding_counts_on",
                   "pytorch/fairseq, make_positions: without the product with the mask",
                   "padding has the id of the token before it",
                   {.formula = with_ids([](const position_rule& rule, const index& places, const index& tokens,
                                           const truth&) { return rule.ids(places, tokens, always()); }),
                    .representative = true}),
           changed("mutant/learned_padding_after_the_last", "padding counted, and tokens after it",
                   "padding inside moves the tokens behind it",
                   {.formula = with_ids(
                        [](const position_rule& rule, const index& places, const index&, const truth& visible) {
                          return rule.ids(places, places + index::constant(1), visible);
                        })}),
           changed(
               "mutant/learned_counted_in_f16", "cumsum of a mask in half precision", "counts are held in f16",
               {.formula = with_ids([](const position_rule& rule, const index& places, const index& tokens,
                                       const truth& v) { return counted_in(dtype::f16, rule, places, tokens, v); })}),
           changed("mutant/learned_sum_times_factor", "tensor2tensor: the factor of the embedding for both",
                   "the sum is multiplied, not the token",
                   {.outputs =
                        [](core::tensors& outputs, const request& call) {
                          if (call.operation->attribute("input_factor") == nullptr ||
                              setting_of<std::string>(call, "input_factor") == "one")
                            return;
                          const double more = std::sqrt(static_cast<double>(call.inputs.at("x").shape()[2])) - 1;
                          const auto y = outputs.find("y");
                          if (y == outputs.end()) return;
                          const core::tensor &table = call.inputs.at("table"), &positions = call.inputs.at("position");
                          const std::size_t d = table.shape()[1];
                          for (std::size_t k = 0; k < y->second.size(); ++k) {
                            const auto row = static_cast<std::size_t>(positions.values.storage()[k / d]);
                            double& out = y->second.values.storage()[k];
                            out = core::round_to(call.type, out + more * table.values.storage()[row * d + k % d]);
                          }
                        },
                    .representative = true}),
           changed("mutant/learned_last_token_alone", "grad_table[position] = g: no sum",
                   "a row has the gradient of its last token", {.outputs = last_token_alone, .representative = true}),
           changed("mutant/learned_gradient_by_uses", "torch.nn.Embedding, scale_grad_by_freq",
                   "the gradient of a row is the mean over its tokens", {.outputs = divided_by_uses}),
           changed("mutant/learned_row_of_padding", "torch.nn.Embedding, padding_idx", "row 1 has no gradient",
                   {.outputs = none_of_padding}),
       }});
}

std::vector<variant> controls() {
  return {changed("control/learned_in_f64", "all in f64, rounded once", "another precision", {.arithmetic = in_f64}),
          changed("control/learned_usual_stages", "torch.nn.Embedding and a sum",
                  "f16 and bf16: products and sums in the dtype",
                  {.arithmetic = in_usual_stages, .declared = nothing_declared}),
          changed("control/learned_row_first", "the sum in the other order", "table[position] + x",
                  {.formula = [](auto& scheme) {
                    scheme.sum = [](const auto& token, const auto& row) { return row + token; };
                  }})};
}

// In addition to the usual sizes: more tokens than f16 can count, and more than 16 bits can count if none is padding;
// tables as long as those of models.
std::vector<usual_size> sizes() {
  std::vector<usual_size> all;
  for (const char* operation : {"learned/positions", "learned/embed", "learned/multiply"})
    for (usual_size& u : sizes_by_roles(*reference::find_operation(operation))) all.push_back(std::move(u));
  add_sizes(all, {"learned/positions"}, "B n", "2 70001", false);
  add_sizes(all, {"learned/positions"}, "B n", "1 70001", true, "no_padding");
  add_sizes(all, {"learned/embed", "learned/multiply"}, "B n d N", "2 66 3 700");
  add_sizes(all, {"learned/embed", "learned/multiply"}, "B n d N", "2 5 3 70001", false);
  return all;
}

}  // namespace

encoding_tests make_tests() {
  encoding_tests tests;
  tests.name = "learned";
  tests.families = {
      with("mild", "padding on the left; numbers of order 1", at_the_left, {}),
      of_input("mask", with("on_the_right", "padding on the right", at_the_right, {})),
      of_input("mask", with("inside", "padding anywhere", inside, {})),
      of_input("mask", with("no_padding", "tokens alone", nowhere, {})),
      of_input("mask", with("all_padding", "no token", everywhere, {})),
      of_input("mask", many("n", with("many_tokens", "more tokens than f16 counts", nowhere, {}))),
      of_input("x", many("N", with("long_table", "a table of more rows than f16 counts", nowhere, {}))),
      of_input("x", with("one_position", "all tokens at one position", nowhere, at_one_position)),
      of_input("x", with("any_size", "numbers from 2^-12 to 2^12, and zeros", nowhere, of_any_size)),
      holding_nan(of_input("x", with("nan_inside", "one NaN in a token or a row", nowhere, nan_in_a_row))),
  };
  tests.sizes = sizes();
  tests.mutants = mutants();
  tests.controls = controls();
  return tests;
}

}  // namespace assay::properties::encodings::learned
