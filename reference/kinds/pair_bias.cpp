#include "reference/kinds/pair_bias.hpp"

#include <limits>

namespace assay::reference {

using formula::traced;
using formula::traced_integer;

recorded_pairs::recorded_pairs(const formula::program_sizes& call) : recorded_call(call) {
  if (call.settings.contains("future")) future_ = future_keys(call.settings);
  const std::size_t n = size("n"), m = size("m");
  query_ = reshaped(recording_.integers("query_position", {n}), {n, 1});
  key_ = reshaped(recording_.integers("key_position", {m}), {1, m});
}

traced recorded_pairs::operator[](const char* input) const {
  core::shape shape = core::shape_of(*call_.function.input(input), call_.axes);
  if (shape.size() == 1) shape.insert(shape.end(), {1, 1});
  return recording_.input(input, shape);
}

traced_integer recorded_pairs::distance() const {
  const traced_integer apart = magnitude_of(query_ - key_);
  return has_future(future_keys::rule::symmetric) ? apart
                                                  : either(less(query_, key_), traced_integer::constant(0), apart);
}

formula::program recorded_pairs::finish(const traced& bias) {
  const traced hidden(-std::numeric_limits<double>::infinity());
  return recorded_call::finish(has_future(future_keys::rule::masked) ? either(less(query_, key_), hidden, bias) : bias);
}

logarithm_scheme algorithm_of_logarithm(accuracy_class c) {
  logarithm_scheme steps;
  if (c == accuracy_class::linear) steps.log_of_one_plus = [](const traced& x) { return log(traced(1.0) + x); };
  return steps;
}

traced leaky_relu(const traced& y, const traced& slope, bool vanishes) {
  const traced zero(0.0), below = vanishes ? either(is_nan(y), y, zero) : slope * y;
  const traced activated = either(less(zero, y), y, below);
  return either(equal(y, zero), right_as_well(activated, y), activated);
}

}  // namespace assay::reference
