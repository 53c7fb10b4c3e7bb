// Mutants whose states are wrong where sequences, chunks, rows or features meet.
#include <algorithm>
#include <cmath>

#include "properties/encodings/heinsen/mutants/mutants.hpp"

namespace assay::properties::encodings::heinsen {
namespace {

using namespace reference;  // the schemes below are written in its vocabulary
using namespace reference::encodings;
using change_of_outputs = change_of<core::tensors, const request&>;

std::function<void(request& call)> with_initial_state(double (*f)(double s0)) {
  return [f](request& call) { change_each(call.inputs, "s0", f); };
}

double value_at(const core::tensor& s, std::size_t row, std::size_t token, std::size_t feature) {
  return s.values.storage()[(row * s.shape()[1] + token) * s.shape()[2] + feature];
}

// Replaces the last state of every lane of a forward scan by a function of the states.
template <class Last>
void replace_last_state(core::tensors& outputs, Last last) {
  const auto s = outputs.find("s");
  if (s == outputs.end()) return;
  core::tensor& s_n = outputs.at("s_n");
  const std::size_t d = s_n.shape()[1];
  for (std::size_t k = 0; k < s_n.size(); ++k)
    s_n.values.storage()[k] = core::round_to(s_n.type, last(s->second, k / d, k % d, s_n.values.storage()[k]));
}

void return_state_before_last(core::tensors& outputs) {
  replace_last_state(outputs, [](const core::tensor& s, std::size_t row, std::size_t j, double s_n) {
    const std::size_t n = s.shape()[1];
    return n < 2 ? s_n : value_at(s, row, n - 2, j);
  });
}

// The tail of a block of 16 is filled with (0, 0) instead of (0, -inf).
void pad_with_zeros(core::tensors& outputs) {
  replace_last_state(outputs, [](const core::tensor& s, std::size_t, std::size_t, double s_n) {
    const std::size_t padding = (16 - s.shape()[1] % 16) % 16;
    if (padding == 0) return s_n;
    const double added = std::log(static_cast<double>(padding)), m = std::max(s_n, added);
    return m + std::log1p(std::exp(std::min(s_n, added) - m));
  });
}

void subtract_decay(core::tensors& outputs, const request& call) {
  const auto log_p = call.inputs.find("log_p");
  if (log_p == call.inputs.end()) return;
  replace_last_state(outputs, [&](const core::tensor& s, std::size_t row, std::size_t j, double s_n) {
    for (std::size_t i = 0; i < s.shape()[1]; ++i)
      s_n = core::round_to(s.type, s_n - value_at(log_p->second, row, i, j));
    return s_n;
  });
}

// A forward scan returns the state that it was given.
change_of_outputs state_handed_on_where(bool (*wrong)(std::size_t tokens)) {
  return [wrong](core::tensors& outputs, const request& call) {
    if (outputs.contains("s") && wrong(outputs.at("s").shape()[1])) outputs.at("s_n") = call.inputs.at("s0");
  };
}

void reverse_gates(request& call) {
  for (const char* name : {"g", "log_p"}) {
    const auto gate = call.inputs.find(name);
    if (gate == call.inputs.end()) continue;
    std::vector<std::size_t> reversed;
    for (std::size_t j = gate->second.shape()[2]; j-- > 0;) reversed.push_back(j);
    gate->second = core::take(gate->second, 2, reversed);
  }
}

}  // namespace

std::vector<variant> state_mutants() {
  return {
      changed_heinsen("mutant/state_mapped_twice", "lucidrains/minGRU-pytorch#9",
                      "a positivity map is applied to the initial state once more",
                      {.inputs = with_initial_state([](double s0) { return std::log1p(std::exp(s0)); })}),
      changed_heinsen("mutant/state_read_as_value", "lucidrains/minGRU-pytorch#17",
                      "s0 is exponentiated: read as a logarithm of itself",
                      {.inputs = with_initial_state([](double s0) { return std::exp(s0); })}),
      changed_heinsen("mutant/empty_state_is_zero", "vllm-project/vllm-ascend#10558",
                      "no initial state counts as the state 0",
                      {.inputs = with_initial_state([](double s0) { return std::isinf(s0) ? 0.0 : s0; })}),
      changed_heinsen("mutant/first_token_does_not_decay", "vllm-project/vllm#21783",
                      "the first token does not decay s0",
                      {.formula = with_step([](const R& a, const R& state, const R& h, std::size_t i) {
                         return log_sum_exp(i == 0 ? state : a + state, h);
                       })}),
      changed_heinsen("mutant/last_state_of_wrong_index", "vllm-project/vllm#34587",
                      "the returned state is the one before the last", {.outputs = return_state_before_last}),
      changed_heinsen("mutant/padding_reaches_the_state", "huggingface/transformers#32677, pytorch/pytorch#139641",
                      "padding to blocks of 16 enters the state with h = 0", {.outputs = pad_with_zeros}),
      changed_heinsen("mutant/short_chunk_keeps_the_state", "vllm-project/vllm#56196",
                      "chunks of fewer than 4 tokens return the state they were given",
                      {.outputs = state_handed_on_where([](std::size_t tokens) { return tokens < 4; })}),
      changed_heinsen("mutant/state_carried_for_single_tokens", "syv-ai/qwen38-27b-rtx3090#43",
                      "the state is returned for single tokens only",
                      {.outputs = state_handed_on_where([](std::size_t tokens) { return tokens > 1; })}),
      changed_heinsen("mutant/last_state_without_decay", "state-spaces/mamba#371",
                      "the returned state lacks the sum of log p", {.outputs = subtract_decay}),
      changed_heinsen("mutant/gates_of_other_features", "ggml-org/llama.cpp#15625", "features read one another's gates",
                      {.inputs = reverse_gates}),
  };
}

}  // namespace assay::properties::encodings::heinsen
