#include <algorithm>
#include <cmath>
#include <numeric>

#include "properties/encodings/sinusoidal/mutants/mutants.hpp"

namespace assay::properties::encodings::sinusoidal {
namespace {

using namespace reference;  // the recipes below are written in its vocabulary

// By the addition theorem.
R coarse_and_fine(waveform function, const R& m, const R& theta) {
  const double steps = 256 * std::nearbyint(m.number / 256);
  const double coarse = steps * theta.number, fine = (m.number - steps) * theta.number;
  const double sine = std::sin(coarse) * std::cos(fine) + std::cos(coarse) * std::sin(fine);
  const double cosine = std::cos(coarse) * std::cos(fine) - std::sin(coarse) * std::sin(fine);
  return R(function == waveform::sine ? sine : cosine);
}
G coarse_and_fine_taped(waveform function, const G& m, const G& theta) {
  const auto at = [&](waveform f) { return coarse_and_fine(f, m.number, theta.number); };
  return G::made(at(function), G::by(m * theta, [&] {
                   return function == waveform::sine ? at(waveform::cosine) : -at(waveform::sine);
                 }));
}

void reverse_rows(core::tensors& all, const std::vector<core::tensor_declaration>& declared) {
  for (const auto& d : declared) {
    if (d.axes.front() != "n") continue;
    core::tensor& t = all.at(d.name);
    std::vector<std::size_t> order(t.shape()[0]);
    std::iota(order.rbegin(), order.rend(), std::size_t{0});
    t = core::take(t, 0, order);
  }
}

// From columns side by side to those of the call.
void permute_columns(core::tensors& outputs, const request& call) {
  if (call.operation->name != "sinusoidal/table") return;
  core::attributes wanted = core::completed(*call.operation, call.attributes), made = wanted;
  made["layout"] = std::string("interleaved");
  const std::vector<column> to = plan_of_table(wanted).columns, from = plan_of_table(made).columns;
  std::vector<std::size_t> order;
  for (const column& c : to) {
    const auto same = [&](const column& o) { return o.function == c.function && o.pair == c.pair; };
    order.push_back(static_cast<std::size_t>(std::find_if(from.begin(), from.end(), same) - from.begin()));
  }
  outputs.at("p") = core::take(outputs.at("p"), 1, order);
}

}  // namespace

std::vector<variant> controls() {
  return {
      // As most code has it.
      changed_sinusoidal("control/sinusoidal_exponential_form", "exp(-(2i/d) log b) instead of a power",
                         "frequencies by an exponential",
                         {.formula = with_frequency([](const auto& base, std::size_t step, std::size_t steps) {
                            using number = std::decay_t<decltype(base)>;
                            const number share = number(static_cast<double>(step)) / number(static_cast<double>(steps));
                            return exp(-(share * log(base)));
                          })}),
      changed_sinusoidal("control/sinusoidal_frequencies_in_f64", "frequencies in f64, rounded once",
                         "frequencies within half a unit",
                         {.formula = with_frequency([](const R& base, std::size_t step, std::size_t steps) {
                            return R(std::pow(base.number, -static_cast<double>(step) / static_cast<double>(steps)));
                          })}),
      changed_sinusoidal("control/sinusoidal_coarse_and_fine", "rotations by multiples of 256 and by the rest",
                         "the addition theorem in f64",
                         {.formula = [](recipe& how) { how.wave = coarse_and_fine; },
                          .gradient = [](gradient_recipe& how) { how.wave = coarse_and_fine_taped; }}),
      changed_sinusoidal("control/sinusoidal_rows_backwards", "rows from the last to the first",
                         "another order of evaluation",
                         {.inputs = [](request& call) { reverse_rows(call.inputs, call.operation->inputs); },
                          .outputs = [](core::tensors& outputs,
                                        const request& call) { reverse_rows(outputs, call.operation->outputs); }}),
      changed_sinusoidal("control/sinusoidal_permuted_afterwards", "CT02 allenai/allennlp#2993",
                         "halves as a permutation of the paper's columns",
                         {.inputs =
                              [](request& call) {
                                if (call.operation->name == "sinusoidal/table")
                                  call.attributes["layout"] = std::string("interleaved");
                              },
                          .outputs = permute_columns}),
  };
}

}  // namespace assay::properties::encodings::sinusoidal
