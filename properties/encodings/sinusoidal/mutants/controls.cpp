#include <algorithm>
#include <cmath>

#include "properties/encodings/sinusoidal/mutants/mutants.hpp"
#include "properties/encodings/sinusoidal/mutants/recipes.hpp"

namespace assay::properties::encodings::sinusoidal {
namespace {

using namespace reference;  // the recipes below are written in its vocabulary
using namespace reference::encodings;

// Right: exp(-(t / steps) log b), as most code has it.
struct exponential_form : unchanged_table {
  template <class R>
  static reference::encodings::sinusoidal::recipe<R> recipe() {
    reference::encodings::sinusoidal::recipe<R> how;
    how.frequency = [](const R& base, std::size_t step, std::size_t steps) {
      return exp(-(R(static_cast<double>(step)) / R(static_cast<double>(steps)) * log(base)));
    };
    return how;
  }
};

// Right: frequencies in f64, rounded once.
struct frequencies_in_f64 : unchanged_table {
  template <class R>
  static reference::encodings::sinusoidal::recipe<R> recipe() {
    reference::encodings::sinusoidal::recipe<R> how;
    how.frequency = [](const R& base, std::size_t step, std::size_t steps) {
      return R(std::pow(base.number, -static_cast<double>(step) / static_cast<double>(steps)));
    };
    return how;
  }
};

// Right: a coarse rotation by a multiple of 256 and a fine one by the rest, put together by the addition theorem.
struct coarse_and_fine : unchanged_table {
  template <class R>
  static reference::encodings::sinusoidal::recipe<R> recipe() {
    reference::encodings::sinusoidal::recipe<R> how;
    how.wave = [](waveform function, const R& m, const R& theta) {
      const double steps = 256 * std::nearbyint(m.number / 256);
      const double coarse = steps * theta.number, fine = (m.number - steps) * theta.number;
      const double sine = std::sin(coarse) * std::cos(fine) + std::cos(coarse) * std::sin(fine);
      const double cosine = std::cos(coarse) * std::cos(fine) - std::sin(coarse) * std::sin(fine);
      return R(function == waveform::sine ? sine : cosine);
    };
    return how;
  }
};

// Right: rows from the last to the first.
struct rows_backwards : unchanged_table {
  static void reverse_rows(core::tensor& t) {
    std::vector<std::size_t> order(t.shape()[0]);
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = order.size() - 1 - i;
    t = core::take(t, 0, order);
  }
  static void edit(request& call) {
    for (const auto& d : call.operation->inputs)
      if (d.axes.front() == "n") reverse_rows(call.inputs.at(d.name));
  }
  static void finish(const request& call, core::tensors& outputs) {
    for (const auto& d : call.operation->outputs)
      if (d.axes.front() == "n") reverse_rows(outputs.at(d.name));
  }
};

// Right: made with the columns side by side and permuted where halves are wanted.
struct permuted_afterwards : unchanged_table {
  static void edit(request& call) {
    if (call.operation->name == "sinusoidal/table") call.attributes["layout"] = std::string("interleaved");
  }
  static void finish(const request& call, core::tensors& outputs) {
    if (call.operation->name != "sinusoidal/table") return;
    core::attributes wanted = core::completed(*call.operation, call.attributes), made = wanted;
    made["layout"] = std::string("interleaved");
    const std::vector<column> to = plan_of_table(wanted).columns, from = plan_of_table(made).columns;
    std::vector<std::size_t> order;
    for (const column& c : to)
      order.push_back(static_cast<std::size_t>(
          std::find_if(from.begin(), from.end(),
                       [&](const column& o) { return o.function == c.function && o.pair == c.pair; }) -
          from.begin()));
    outputs.at("p") = core::take(outputs.at("p"), 1, order);
  }
};

}  // namespace

std::vector<variant> controls() {
  return {
      make_variant<exponential_form>("control/sinusoidal_exponential_form", "exp(-(2i/d) log b) instead of a power",
                                     "frequencies by an exponential"),
      make_variant<frequencies_in_f64>("control/sinusoidal_frequencies_in_f64", "frequencies in f64, rounded once",
                                       "frequencies within half a unit"),
      make_variant<coarse_and_fine>("control/sinusoidal_coarse_and_fine",
                                    "rotations by multiples of 256 and by the rest", "the addition theorem in f64"),
      make_variant<rows_backwards>("control/sinusoidal_rows_backwards", "rows from the last to the first",
                                   "another order of evaluation"),
      make_variant<permuted_afterwards>("control/sinusoidal_permuted_afterwards", "CT02 allenai/allennlp#2993",
                                        "halves as a permutation of the paper's columns"),
  };
}

}  // namespace assay::properties::encodings::sinusoidal
