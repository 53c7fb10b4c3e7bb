#include "properties/encodings/heinsen/laws/counter_inputs.hpp"

#include "properties/encodings/heinsen/laws/visible_states.hpp"

namespace assay::properties::encodings::heinsen {
namespace {

// A tensor [rows, tokens, bits] with the elements number(sign of the bit).
template <class Function>
core::tensor tensor_of_signs(const counter_inputs& c, core::dtype type, Function number) {
  const std::size_t tokens = std::size_t{1} << c.bits;
  std::vector<double> x;
  for (std::size_t row = 0; row < c.first.size(); ++row)
    for (std::size_t i = 0; i < tokens; ++i)
      for (std::size_t j = 0; j < c.bits; ++j) x.push_back(number(c.sign(row, i, j)));
  return core::make_tensor(type, {c.first.size(), tokens, c.bits}, x);
}

void fill_scan(counter_inputs& c, bool gated, core::dtype type, const reference::two_level_controls& controls) {
  const double gate = core::round_to(type, gated ? controls.gate_logit : controls.log_p());
  const double plus = core::round_to(type, controls.h_plus), minus = core::round_to(type, controls.h_minus);
  c.tensors = {{gated ? "g" : "log_p", tensor_of_signs(c, type, [&](double) { return gate; })},
               {"h", tensor_of_signs(c, type, [&](double sign) { return sign > 0 ? plus : minus; })}};
  c.bands = reference::bands_of(gated ? reference::two_level_controls{gate}.log_p() : gate, plus, minus);
}

void fill_module(counter_inputs& c, core::dtype type, const reference::two_level_controls& controls) {
  const std::size_t d = c.bits;
  const double gate = core::round_to(type, controls.gate_logit);
  const double weight = core::round_to(type, (controls.h_plus - controls.h_minus) / 2.0);
  const double bias = core::round_to(type, (controls.h_plus + controls.h_minus) / 2.0);
  std::vector<double> weights(2 * d * d, 0.0), biases(2 * d, gate);
  for (std::size_t j = 0; j < d; ++j) {
    weights[(d + j) * d + j] = weight;
    biases[d + j] = bias;
  }
  c.tensors = with_visible_states({{"x", tensor_of_signs(c, type, [](double sign) { return sign; })},
                                   {"W_H", core::make_tensor(type, {2 * d, d}, weights)},
                                   {"b_H", core::make_tensor(type, {2 * d}, biases)},
                                   {"W_R", core::zeros(type, {d, d})},
                                   {"b_R", core::zeros(type, {d})}});
  c.bands = reference::bands_of(reference::two_level_controls{gate}.log_p(), bias + weight, bias - weight);
}

}  // namespace

counter_inputs make_counter(const core::operation& op, core::dtype type, const reference::two_level_controls& controls,
                            std::size_t bits, std::vector<std::size_t> first) {
  counter_inputs c{bits, std::move(first), {}, {}};
  op.input("x") ? fill_module(c, type, controls) : fill_scan(c, op.input("g") != nullptr, type, controls);
  c.tensors.emplace("s0", core::zeros(type, {c.first.size(), bits}));
  return c;
}

}  // namespace assay::properties::encodings::heinsen
