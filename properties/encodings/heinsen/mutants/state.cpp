// Mutants whose states are wrong where sequences, chunks, rows or features meet.
#include <cmath>

#include "properties/encodings/heinsen/mutants/mutants.hpp"
#include "properties/encodings/heinsen/mutants/recipes.hpp"

namespace assay::properties::encodings::heinsen {
namespace {

using namespace reference;  // the recipes below are written in its vocabulary
using namespace reference::encodings;

void map_state(request& call, double (*f)(double)) {
  for (double& x : call.inputs.at("s0").values.storage()) x = core::round_to(call.type, f(x));
}

struct state_mapped_twice : unchanged_heinsen {
  static void edit(request& call) {
    map_state(call, [](double x) { return std::log1p(std::exp(x)); });
  }
};
struct state_read_as_value : unchanged_heinsen {
  static void edit(request& call) {
    map_state(call, [](double x) { return std::exp(x); });
  }
};
struct empty_state_is_zero : unchanged_heinsen {
  static void edit(request& call) {
    map_state(call, [](double x) { return std::isinf(x) ? 0.0 : x; });
  }
};

struct first_token_does_not_decay : unchanged_heinsen {
  template <class R>
  static reference::encodings::heinsen::recipe<R> recipe() {
    return with_step<R>([](const R& a, const R& state, const R& h, std::size_t i) {
      return log_sum_exp(i == 0 ? state : a + state, h);
    });
  }
};

// The last state, given the states, of every lane of a forward scan.
void replace_last_state(core::tensors& outputs,
                        double (*last)(const core::tensor& s, std::size_t row, std::size_t j, double s_n)) {
  const auto s = outputs.find("s");
  if (s == outputs.end()) return;
  core::tensor& s_n = outputs.at("s_n");
  const std::size_t d = s_n.shape()[1];
  for (std::size_t k = 0; k < s_n.size(); ++k)
    s_n.values.storage()[k] = core::round_to(s_n.type, last(s->second, k / d, k % d, s_n.values.storage()[k]));
}

double state_at(const core::tensor& s, std::size_t row, std::size_t token, std::size_t feature) {
  return s.values.storage()[(row * s.shape()[1] + token) * s.shape()[2] + feature];
}

struct last_state_of_wrong_index : unchanged_heinsen {
  static void finish(const request&, core::tensors& outputs) {
    replace_last_state(outputs, [](const core::tensor& s, std::size_t row, std::size_t j, double s_n) {
      const std::size_t n = s.shape()[1];
      return n < 2 ? s_n : state_at(s, row, n - 2, j);
    });
  }
};
struct padding_reaches_the_state : unchanged_heinsen {
  static void finish(const request&, core::tensors& outputs) {
    // The tail of a block of 16 is filled with (0, 0) instead of (0, -inf).
    replace_last_state(outputs, [](const core::tensor& s, std::size_t, std::size_t, double s_n) {
      const std::size_t padding = (16 - s.shape()[1] % 16) % 16;
      if (padding == 0) return s_n;
      const double added = std::log(static_cast<double>(padding)), m = std::max(s_n, added);
      return m + std::log1p(std::exp(std::min(s_n, added) - m));
    });
  }
};

// s_n of a forward scan from the inputs.
void state_from_inputs(const request& call, core::tensors& outputs, bool (*wrong)(std::size_t tokens)) {
  if (outputs.contains("s") && wrong(outputs.at("s").shape()[1])) outputs.at("s_n") = call.inputs.at("s0");
}

struct short_chunk_keeps_the_state : unchanged_heinsen {
  static void finish(const request& call, core::tensors& outputs) {
    state_from_inputs(call, outputs, [](std::size_t tokens) { return tokens < 4; });
  }
};
struct state_carried_for_single_tokens : unchanged_heinsen {
  static void finish(const request& call, core::tensors& outputs) {
    state_from_inputs(call, outputs, [](std::size_t tokens) { return tokens > 1; });
  }
};

struct last_state_without_decay : unchanged_heinsen {
  static void finish(const request& call, core::tensors& outputs) {
    const auto log_p = call.inputs.find("log_p");
    if (log_p == call.inputs.end() || !outputs.contains("s")) return;
    core::tensor& s_n = outputs.at("s_n");
    const std::size_t d = s_n.shape()[1], n = log_p->second.shape()[1];
    for (std::size_t k = 0; k < s_n.size(); ++k)
      for (std::size_t i = 0; i < n; ++i) {
        double& x = s_n.values.storage()[k];
        x = core::round_to(s_n.type, x - state_at(log_p->second, k / d, i, k % d));
      }
  }
};

struct gates_of_other_features : unchanged_heinsen {
  static void edit(request& call) {
    for (const char* name : {"g", "log_p"}) {
      const auto gate = call.inputs.find(name);
      if (gate == call.inputs.end()) continue;
      const std::size_t d = gate->second.shape()[2];
      std::vector<std::size_t> reversed;
      for (std::size_t j = d; j-- > 0;) reversed.push_back(j);
      gate->second = core::take(gate->second, 2, reversed);
    }
  }
};

}  // namespace

std::vector<variant> state_mutants() {
  return {
      make_variant<state_mapped_twice>("mutant/state_mapped_twice", "ST01 lucidrains/minGRU-pytorch#9",
                                       "a positivity map is applied to the initial state once more"),
      make_variant<state_read_as_value>("mutant/state_read_as_value", "ST02 lucidrains/minGRU-pytorch#17",
                                        "s0 is exponentiated: read as a logarithm of itself"),
      make_variant<empty_state_is_zero>("mutant/empty_state_is_zero", "ST16 vllm-project/vllm-ascend#10558",
                                        "no initial state counts as the state 0"),
      make_variant<first_token_does_not_decay>("mutant/first_token_does_not_decay", "ST05 vllm-project/vllm#21783",
                                               "the first token does not decay s0"),
      make_variant<last_state_of_wrong_index>("mutant/last_state_of_wrong_index", "ST06 vllm-project/vllm#34587",
                                              "the returned state is the one before the last"),
      make_variant<padding_reaches_the_state>("mutant/padding_reaches_the_state",
                                              "ST15 huggingface/transformers#32677, SC13 pytorch/pytorch#139641",
                                              "padding to blocks of 16 enters the state with h = 0"),
      make_variant<short_chunk_keeps_the_state>("mutant/short_chunk_keeps_the_state", "ST07 vllm-project/vllm#56196",
                                                "chunks of fewer than 4 tokens return the state they were given"),
      make_variant<state_carried_for_single_tokens>("mutant/state_carried_for_single_tokens",
                                                    "ST09 syv-ai/qwen38-27b-rtx3090#43",
                                                    "the state is returned for single tokens only"),
      make_variant<last_state_without_decay>("mutant/last_state_without_decay", "ST13 state-spaces/mamba#371",
                                             "the returned state lacks the sum of log p"),
      make_variant<gates_of_other_features>("mutant/gates_of_other_features", "IX04 ggml-org/llama.cpp#15625",
                                            "features read one another's gates"),
  };
}

}  // namespace assay::properties::encodings::heinsen
