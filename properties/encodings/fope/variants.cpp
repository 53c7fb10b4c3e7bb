// Wrong and right ways to compute Fourier series, and to count their frequencies.
#include <algorithm>
#include <set>
#include <string>

#include "properties/faults/call_changes.hpp"
#include "properties/faults/declared_faults.hpp"
#include "properties/kinds/rotation_faults.hpp"
#include "reference/encodings/fope.hpp"

namespace assay::properties::encodings::fope {

// Reverses the frequencies and the rows of coefficients; gradients are reversed back.
void reverse_frequencies(core::tensors& all) {
  for (const char* name : {"omega", "c_cos", "c_sin", "grad_omega", "grad_c_cos", "grad_c_sin"}) {
    const auto t = all.find(name);
    if (t == all.end()) continue;
    const std::size_t axis = t->second.shape().size() == 1 ? 0 : 1, count = t->second.shape()[axis];
    std::vector<std::size_t> order(count);
    for (std::size_t k = 0; k < count; ++k) order[k] = count - 1 - k;
    t->second = core::take(t->second, axis, order);
  }
}

namespace {

using reference::encodings::kept_rule;
using reference::formula::traced;
using index = reference::formula::traced_integer;
using encoding = reference::encodings::fope;
inline constexpr auto& changed = make_variant<encoding>;

void exchange_coefficients(core::tensors& all) {
  for (const auto& [one, other] : {std::pair{"c_cos", "c_sin"}, {"grad_c_cos", "grad_c_sin"}})
    if (all.contains(one)) std::swap(all.at(one), all.at(other));
}
void share_coefficients(request& call) {
  if (call.inputs.contains("c_sin")) call.inputs.at("c_sin") = call.inputs.at("c_cos");
}
void transpose_coefficients(core::tensors& all) {
  for (const char* name : {"c_cos", "c_sin", "grad_c_cos", "grad_c_sin"}) {
    const auto t = all.find(name);
    if (t == all.end() || t->second.shape()[1] != t->second.shape()[2]) continue;
    const core::tensor old = t->second;
    for (std::size_t g = 0; g < old.shape()[0]; ++g)
      for (std::size_t k = 0; k < old.shape()[1]; ++k)
        for (std::size_t o = 0; o < old.shape()[2]; ++o) t->second.values(g, k, o) = old.values(g, o, k);
  }
}
// Pairs neighbours in place of halves, and back.
void reorder_coordinates(core::tensors& all, bool back) {
  for (const char* name : {"x", "y", "grad_x", "grad_y"}) {
    const auto t = all.find(name);
    if (t == all.end()) continue;
    const std::size_t d = t->second.shape()[3];
    std::vector<std::size_t> order(d);
    for (std::size_t c = 0; c < d; ++c) {
      const std::size_t from = c < d / 2 ? 2 * c : 2 * (c - d / 2) + 1;
      order[back ? from : c] = back ? c : from;
    }
    t->second = core::take(t->second, 3, order);
  }
}
void clear_padded(core::tensors& outputs, const request& call) {
  const auto y = outputs.find(call.operation->is_vjp() ? "grad_x" : "y");
  if (y == outputs.end()) return;
  const core::axis_sizes s = core::sizes_of(call);
  for (std::size_t i = 0; i < y->second.size(); ++i)
    if (i % (s.at("d") / 2) >= s.at("O")) y->second.values.storage()[i] = 0.0;
}
traced over_row_sums(const traced& c) {
  const core::shape s = shape_of(c);
  return c / reshaped(summed(c, {2}), {s[0], s[1], 1});
}
// Counts at lengths times `times`, and `more` frequencies in addition.
variation<encoding> with_kept_limit(std::int64_t times, std::int64_t more) {
  return {.formula = [=](auto& scheme) {
    scheme.kept = [=](const kept_rule& by, const index& lengths) {
      const index kept = by.number_of_kept(lengths * index::constant(times));
      return by.counts ? kept : clamp(kept + index::constant(more), 0, by.all());
    };
  }};
}

}  // namespace

std::vector<variant> mutants() {
  std::vector<variant> all = reported_faults({
      {"mutant/fope_sine_padding",
       "vllm-project/vllm#55204, TsinghuaC3I/Fourier-Position-Embedding#6: sines padded with 1, or with 0",
       "fope/rotate/padding/ones_and_identity_exchanged"},
      {"mutant/fope_not_normalized", "vllm-project/vllm, fope.py: there is no fourier_norm",
       "fope/rotate/normalized/ignored"},
      {"mutant/fope_count_ignored", "a configuration whose num_inv_freq is not read", "fope/kept/count/ignored"},
  });
  // Left out: the torque of one angle, layouts (there are none), and faults that have their own mutants here.
  const std::set<std::string> of_one_angle{"mutant/fope_rest_is_zero", "mutant/fope_positions_of_heads",
                                           "mutant/fope_torque_of_input", "mutant/fope_tables_of_halves",
                                           "mutant/fope_cosine_as_sine"};
  for (variant& v : faults_of_rotation<encoding>("fope"))
    if (!of_one_angle.contains(v.id)) all.push_back(std::move(v));
  const auto reordered = [](void (*reorder)(core::tensors&)) -> variation<encoding> {
    return {.inputs = [reorder](request& call) { reorder(call.inputs); },
            .outputs = [reorder](core::tensors& outputs) { reorder(outputs); }};
  };
  for (variant& v : std::vector<variant>{
           changed("mutant/fope_coefficients_exchanged", "two parameters loaded under each other's names",
                   "cosines have the coefficients of sines, and sines those of cosines",
                   reordered(exchange_coefficients)),
           changed("mutant/fope_coefficients_shared", "TsinghuaC3I/Fourier-Position-Embedding, fourier_separate_basis",
                   "sines have the coefficients of cosines", {.inputs = share_coefficients}),
           changed("mutant/fope_coefficients_transposed", "nn.Linear multiplies by the transposed matrix",
                   "square matrices of coefficients are transposed", reordered(transpose_coefficients)),
           changed("mutant/fope_sorted", "torch.unique of the frequencies, which sorts them",
                   "frequencies are sorted, and their coefficients are not",
                   {.inputs =
                        [](request& call) {
                          if (const auto omega = call.inputs.find("omega"); omega != call.inputs.end())
                            std::sort(omega->second.values.begin(), omega->second.values.end());
                        },
                   .representative = true}),
           changed("mutant/fope_neighbours", "rotate_gptj for rotate_neox of vllm-project/vllm",
                   "neighbours are paired in place of halves",
                   {.inputs = [](request& call) { reorder_coordinates(call.inputs, false); },
                   .outputs = [](core::tensors& outputs) { reorder_coordinates(outputs, true); }}),
           changed("mutant/fope_padded_with_0", "the standard value of torch.nn.functional.pad",
                   "padded pairs are multiplied by 0", {.outputs = clear_padded}),
           changed("mutant/fope_normalized_by_rows", "dim=-1 for dim=-2",
                   "coefficients are divided by the sums of their rows",
                   {.formula = [](auto& scheme) { scheme.normalize = over_row_sums; }, .representative = true}),
           changed("mutant/fope_heads_by_turns", "repeat for repeat_interleave, with key-value heads",
                   "heads have the coefficients by turns",
                   {.formula =
                        [](auto& scheme) {
                          scheme.group = [](std::size_t head, std::size_t, std::size_t groups) {
                            return head % groups;
                          };
                        }}),
           changed("mutant/fope_count_uncapped", "num_inv_freq for the length of the slice",
                   "by the rule count there are as many as asked for, though there are fewer pairs",
                   {.formula =
                        [](auto& scheme) {
                          scheme.kept = [](const kept_rule& by, const index& lengths) {
                            return by.counts ? index::constant(by.count) : by.number_of_kept(lengths);
                          };
                        }}),
           changed("mutant/fope_half_a_turn", "pi / N for 2 pi / N", "frequencies of half a turn are kept",
                   with_kept_limit(2, 0)),
           changed("mutant/fope_last_one_dropped", "the index of the last one for their number",
                   "the last frequency of those to be kept is dropped", with_kept_limit(1, -1)),
           changed("mutant/fope_rounded_up", "one more beside a ceil, which has it already",
                   "frequencies are kept down to the first one that makes no turn", with_kept_limit(1, 1)),
       })
    all.push_back(std::move(v));
  return all;
}

std::vector<variant> controls() {
  std::vector<variant> all;
  for (variant& v : controls_of_rotation<encoding>("fope"))
    if (v.id != "control/fope_complex_products") all.push_back(std::move(v));  // its torque is that of one angle
  all.push_back(changed("control/fope_complex_products", "torch.view_as_complex", "products in double",
                        {.arithmetic = products_in_f64, .declared = usual_arithmetic_declared}));
  all.push_back(
      changed("control/fope_in_f64", "all in f64, rounded once", "another precision", {.arithmetic = in_f64}));
  all.push_back(changed("control/fope_other_order", "a matrix product that adds up from the other end",
                        "frequencies are added up from the last one on",
                        {.inputs = [](request& call) { reverse_frequencies(call.inputs); },
                         .outputs = [](core::tensors& outputs) { reverse_frequencies(outputs); }}));
  return all;
}

}  // namespace assay::properties::encodings::fope
