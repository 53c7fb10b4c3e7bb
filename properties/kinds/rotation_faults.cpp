#include "properties/kinds/rotation_faults.hpp"

#include <algorithm>

#include "properties/kinds/rotation.hpp"

namespace assay::properties {
namespace {

// The tensor of a rotation with tokens and heads exchanged.
core::tensor transposed(const core::tensor& t) {
  const core::shape s = t.shape();
  core::tensor other = core::zeros(t.type, {s[0], s[2], s[1], s[3]});
  for (std::size_t row = 0; row < s[0]; ++row)
    for (std::size_t token = 0; token < s[1]; ++token)
      for (std::size_t head = 0; head < s[2]; ++head)
        for (std::size_t k = 0; k < s[3]; ++k) other.values(row, head, token, k) = t.values(row, token, head, k);
  return other;
}
bool rotates_tokens(const request& call) {
  const auto position = call.inputs.find("position");
  return call.inputs.contains("x") && !call.inputs.contains("theta") && position->second.size() > 0;
}

}  // namespace

change_of_call with_position(double (*position)(const token_positions& given, std::size_t row, std::size_t token)) {
  return [position](request& call) {
    const auto found = call.inputs.find("position");
    if (found == call.inputs.end()) return;
    auto& m = found->second.values;
    if (m.dimension() < 2) return;  // a table has no such axes
    const std::size_t rows = m.shape(0), tokens = m.shape(1), axes = m.size() / std::max<std::size_t>(rows * tokens, 1);
    for (std::size_t k = 0; k < axes; ++k) {
      token_positions given = xt::zeros<double>({rows, tokens});
      for (std::size_t i = 0; i < given.size(); ++i) given.storage()[i] = m.storage()[i * axes + k];
      for (std::size_t i = 0; i < given.size(); ++i)
        m.storage()[i * axes + k] = position(given, i / tokens, i % tokens);
    }
  };
}
change_of_call with_each_position(double (*new_position)(double m)) {
  return [new_position](request& call) {
    const auto found = call.inputs.find("position");
    if (found == call.inputs.end()) return;
    for (double& m : found->second.values.storage()) m = new_position(m);
  };
}

void heads_as_tokens(request& call) {
  if (!rotates_tokens(call)) return;
  for (const char* name : {"x", "grad_y"})
    if (const auto t = call.inputs.find(name); t != call.inputs.end()) t->second = transposed(t->second);
  core::tensor& position = call.inputs.at("position");
  const std::size_t tokens = position.shape()[1];
  std::vector<std::size_t> head_order(call.inputs.at("x").shape()[1]);
  for (std::size_t h = 0; h < head_order.size(); ++h) head_order[h] = std::min(h, tokens - 1);
  position = core::take(position, 1, head_order);
}
void tokens_again(core::tensors& outputs, const request& call) {
  if (!rotates_tokens(call)) return;
  for (auto& [name, t] : outputs) t = transposed(t);
}

void clear_the_rest(core::tensors& outputs, const request& call) {
  if (!call.inputs.contains("x")) return;
  const rotary_case shape(call);
  core::tensor& y = outputs.at(call.operation->is_vjp() ? "grad_x" : "y");
  core::tensor turned = core::zeros(y.type, y.shape());
  shape.for_pairs([&](std::size_t, std::size_t, std::size_t first, std::size_t second) {
    for (const std::size_t i : {first, second}) turned.values.storage()[i] = y.values.storage()[i];
  });
  y = std::move(turned);
}

}  // namespace assay::properties
