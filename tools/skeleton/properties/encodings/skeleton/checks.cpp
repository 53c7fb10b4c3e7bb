// The example: families, laws, and faults of public reports.
#include <limits>

#include "properties/kinds/pair_bias.hpp"
#include "reference/encodings/skeleton.hpp"

namespace assay::properties::encodings::skeleton {
namespace {

using core::counter_random;
using core::dtype;
using encoding = reference::encodings::skeleton;
using reference::formula::traced;

double usual(std::string_view, dtype, counter_random& random) { return random.uniform(0.1, 2.0); }
double with_nan(std::string_view input, dtype type, counter_random& random) {
  return random.one_in(3) ? std::numeric_limits<double>::quiet_NaN() : usual(input, type, random);
}

// Wrong implementations. Each names the public report (owner/name#issue) that it models. `variation` in
// recipe_variant.hpp lists what a fault can change: a step, the inputs, the outputs, the precision.
std::vector<variant> mutants() {
  std::vector<variant> all = faults_of_distance<encoding>("skeleton");
  all.push_back(make_variant<encoding>("mutant/skeleton_distances_from_one", "triton-lang/triton#8412: off by one",
                                       "distances count from 1", {.formula = [](auto& how) {
                                         how.levelled = [](const traced& t) {
                                           return (t + traced(1.0)) / (t + traced(2.0));
                                         };
                                       }}));
  return all;
}

}  // namespace

encoding_tests make_tests() {
  const std::vector<std::string> operations{"skeleton/bias"};
  encoding_tests tests;
  tests.name = "skeleton";
  tests.families = {
      // The first family has usual numbers. Each other one shows a fault that no family before it shows.
      pair_bias_family("mild", "parameters up to 2, the last queries of a sequence", usual, in_order),
      pair_bias_family("nan_inside", "a NaN among parameters, positions in no order", with_nan, scattered),
  };
  tests.families.front().parts_classes = true;
  tests.families.back().holds_nan = true;  // derivatives do not run it
  tests.sizes = pair_bias_sizes(operations);
  tests.mutants = mutants();
  tests.controls = controls_of_precision<encoding>("skeleton");
  tests.laws = laws_of_distance("skeleton", operations, {"mild"});
  return tests;
}

}  // namespace assay::properties::encodings::skeleton
