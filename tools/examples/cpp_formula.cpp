// A user formula in C++: logits with a cap, and ALiBi's bias added after it (Gemma 2 caps, arXiv 2408.00118; Press et
// al. 2022, arXiv 2108.12409). It is written once, as a template over the number type. With traced numbers it records a
// program, which has a truth, a gradient and an allowance. With float it is a kernel, which is judged.
//
//   find_package(assay 0.2 REQUIRED COMPONENTS formula)
//   target_link_libraries(cpp_formula PRIVATE assay::formula)
//
//   cpp_formula           the formula and its gradient as mathematics, and the result of the float kernel
//   cpp_formula --json    the program as text ("assay-program/1")
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>

#include "reference/error_bound.hpp"
#include "reference/formula/differentiate.hpp"
#include "reference/formula/evaluate.hpp"
#include "reference/formula/mathematics.hpp"
#include "reference/formula/recording.hpp"
#include "reference/formula/text.hpp"

using namespace assay;
using namespace assay::reference;
using std::tanh;

template <class R>
R capped_logit(const R& score, const R& slope, const R& distance) {
  const R cap(50.0);
  return cap * tanh(score / cap) - slope * distance;
}

// One call on arrays: the formula for one element is recorded for all elements.
formula::program recorded(std::size_t heads, std::size_t queries, std::size_t keys) {
  formula::recording recording;
  const auto scores = recording.input("scores", {heads, queries, keys});
  const auto slopes = recording.input("slopes", {heads, 1, 1});
  const auto distances = recording.input("distances", {1, queries, keys});
  recording.output("logits", capped_logit(scores, slopes, distances));
  return recording.finish();
}

int main(int count, char** arguments) {
  const std::size_t heads = 4, queries = 16, keys = 16;
  const formula::program p = recorded(heads, queries, keys);
  if (count > 1 && std::string(arguments[1]) == "--json") {
    std::puts(formula::to_text(p).c_str());
    return 0;
  }
  const auto gradient = formula::differentiate(p);
  if (!gradient) return 1;
  std::printf("%s\nits gradient\n%s\n", formula::as_mathematics(p).c_str(), formula::as_mathematics(*gradient).c_str());

  core::tensors inputs{{"scores", core::zeros(core::dtype::f32, {heads, queries, keys})},
                       {"slopes", core::zeros(core::dtype::f32, {heads, 1, 1})},
                       {"distances", core::zeros(core::dtype::f32, {1, queries, keys})}};
  const auto numbers = [&](const char* name) -> auto& { return inputs.at(name).values.storage(); };
  for (std::size_t k = 0; k < heads * queries * keys; ++k)
    numbers("scores")[k] = core::round_to(core::dtype::f32, 100.0 * std::sin(static_cast<double>(k)));
  for (std::size_t h = 0; h < heads; ++h) numbers("slopes")[h] = std::exp2(-2.0 * static_cast<double>(h + 1));
  for (std::size_t i = 0; i < queries; ++i)
    for (std::size_t j = 0; j < keys; ++j)
      numbers("distances")[i * keys + j] = static_cast<double>(i < j ? j - i : i - j);

  // The truth, with each element proved, and the loss allowed to plain arithmetic in f32.
  const auto truth = formula::certify(p, inputs, core::dtype::f32);
  const auto allowances = formula::allow(p, inputs, core::dtype::f32);
  if (!truth || !allowances) return 1;
  const certified& logits = truth->at("logits");
  std::size_t wrong = 0;
  double largest = 0.0;
  for (std::size_t k = 0; k < heads * queries * keys; ++k) {
    const std::size_t head = k / (queries * keys), pair = k % (queries * keys);
    const auto number_at = [&](const char* name, std::size_t index) {
      return static_cast<float>(numbers(name)[index]);
    };
    const float found = capped_logit(number_at("scores", k), number_at("slopes", head), number_at("distances", pair));
    const double error = std::fabs(logits.error_of(static_cast<double>(found), k));
    const double allowed =
        bug_bound(core::dtype::f32, core::dtype::f32, allowances->at("logits").storage()[k], logits.truth(k));
    wrong += error > allowed ? 1 : 0;
    largest = std::max(largest, error / allowed);
  }
  std::printf("the float kernel: %zu of %zu elements wrong, at most %.2f of the allowance used\n", wrong,
              heads * queries * keys, largest);
  return wrong == 0 ? 0 : 1;
}
