#include "properties/encodings/heinsen/mutants/mutants.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "properties/encodings/heinsen/mutants/recipes.hpp"

namespace assay::properties::encodings::heinsen {
namespace {

using namespace reference;  // the recipes below are written in its vocabulary
using namespace reference::encodings;

// Each mutant replaces one routine of the correct recipe.
struct ignores_initial_state : unchanged_heinsen {
  template <class R>
  static reference::encodings::heinsen::recipe<R> recipe() {
    reference::encodings::heinsen::recipe<R> how;
    how.scan = [](const_lane<R> a, const_lane<R> h, const R& s0, lane<R> s) {
      sequential_scan<R>(a, h, s.size() > 1 ? R(0.0) : s0, s);
    };
    return how;
  }
};

struct decay_sum_restarts : unchanged_heinsen {
  static constexpr std::size_t tile = 16;
  template <class R>
  static reference::encodings::heinsen::recipe<R> recipe() {
    reference::encodings::heinsen::recipe<R> how;
    how.scan = [](const_lane<R> a, const_lane<R> h, const R& s0, lane<R> s) {
      R sum(0.0), relative = s0;
      for (std::size_t i = 0; i < s.size(); ++i) {
        sum = i % tile == 0 ? a[i] : sum + a[i];
        relative = log_sum_exp(relative, h[i] - sum);
        s[i] = relative + sum;
      }
    };
    return how;
  }
};

struct swapped_combine : unchanged_heinsen {
  template <class R>
  struct element {
    R decay, input;
    friend element then(const element& first, const element& second) {
      return {first.decay + second.decay, log_sum_exp(second.input + first.decay, first.input)};
    }
  };
  template <class R>
  static reference::encodings::heinsen::recipe<R> recipe() {
    reference::encodings::heinsen::recipe<R> how;
    how.scan = [](const_lane<R> a, const_lane<R> h, const R& s0, lane<R> s) {
      std::vector<element<R>> elements{{R(0.0), s0}};
      for (std::size_t i = 0; i < s.size(); ++i) elements.push_back({a[i], h[i]});
      const auto prefixes = balanced_prefixes(elements);
      for (std::size_t i = 0; i < s.size(); ++i) s[i] = prefixes[i + 1].input;
    };
    return how;
  }
};

struct naive_log_add_exp : unchanged_heinsen {
  template <class R>
  static reference::encodings::heinsen::recipe<R> recipe() {
    return with_step<R>(
        [](const R& a, const R& state, const R& h, std::size_t) { return log(exp(a + state) + exp(h)); });
  }
};

struct unguarded_infinite_prefix : unchanged_heinsen {
  template <class R>
  static reference::encodings::heinsen::recipe<R> recipe() {
    return with_step<R>([](const R& a, const R& state, const R& h, std::size_t) {
      const R t = a + state, z = t - h;
      return larger(t, h) + log1p(exp(larger(z, -z) * R(-1.0)));
    });
  }
};

struct drops_nan : unchanged_heinsen {
  template <class R>
  static reference::encodings::heinsen::recipe<R> recipe() {
    return with_step<R>([](const R& a, const R& state, const R& h, std::size_t) {
      const R t = a + state, m(std::fmax(t.number, h.number));  // fmax ignores a NaN
      const R x(std::isnan(t.number) ? m.number : t.number), y(std::isnan(h.number) ? m.number : h.number);
      return log_sum_exp(x, y);
    });
  }
};

struct carries_input : unchanged_heinsen {
  template <class R>
  static reference::encodings::heinsen::recipe<R> recipe() {
    reference::encodings::heinsen::recipe<R> how;
    how.scan = [](const_lane<R> a, const_lane<R> h, const R& s0, lane<R> s) {
      for (std::size_t i = 0; i < s.size(); ++i) s[i] = log_sum_exp(a[i] + (i == 0 ? s0 : h[i - 1]), h[i]);
    };
    return how;
  }
};

struct log_of_sigmoid : unchanged_heinsen {
  template <class R>
  static reference::encodings::heinsen::recipe<R> recipe() {
    reference::encodings::heinsen::recipe<R> how;
    how.gate = [](const R& g) { return log(sigmoid(g)); };
    return how;
  }
};

struct guarded_exp_at_zero : unchanged_heinsen {
  template <class R>
  static reference::encodings::heinsen::recipe<R> recipe() {
    return with_step<R>([](const R& a, const R& state, const R& h, std::size_t) {
      return a.number >= 0.0 ? h : log_sum_exp(a + state, h);
    });
  }
};

struct global_shift : unchanged_heinsen {
  template <class R>
  static reference::encodings::heinsen::recipe<R> recipe() {
    reference::encodings::heinsen::recipe<R> how;
    how.scan = [](const_lane<R> a, const_lane<R> h, const R& s0, lane<R> s) {
      R largest = s0;
      for (std::size_t i = 0; i < s.size(); ++i) largest = larger(largest, h[i]);
      R sum = exp(s0 - largest);
      for (std::size_t i = 0; i < s.size(); ++i) {
        sum = exp(a[i]) * sum + exp(h[i] - largest);
        s[i] = largest + log(sum);
      }
    };
    return how;
  }
};

struct backward_carry_at_blocks : unchanged_heinsen {
  static constexpr std::size_t block = 16;
  template <class R>
  static reference::encodings::heinsen::recipe<R> recipe() {
    reference::encodings::heinsen::recipe<R> how;
    how.adjoint = [](const_lane<R> a, const_lane<R> h, const R& s0, const_lane<R> s, const_lane<R> grad_s,
                     const R& grad_last, scan_gradients<R> grad) {
      R carry = grad_last;
      for (std::size_t i = s.size(); i-- > 0;) {
        const R t = a[i] + (i == 0 ? s0 : s[i - 1]);
        const weight_pair<R> weight = carry_weights(t - h[i]);
        // At a block's last token the incoming carry multiplies the local term instead of joining it.
        const bool edge = i % block == block - 1 && i + 1 < s.size();
        const R lambda = edge ? grad_s[i] * weight.w + carry : grad_s[i] + carry;
        grad.a[i] = carry = weight.w * lambda;
        grad.h[i] = weight.v * lambda;
      }
      grad.s0 = carry;
    };
    return how;
  }
};

struct unguarded_backward : unchanged_heinsen {
  template <class R>
  static reference::encodings::heinsen::recipe<R> recipe() {
    reference::encodings::heinsen::recipe<R> how;
    how.adjoint = [](const_lane<R> a, const_lane<R> h, const R& s0, const_lane<R> s, const_lane<R> grad_s,
                     const R& grad_last, scan_gradients<R> grad) {
      R carry = grad_last;
      for (std::size_t i = s.size(); i-- > 0;) {
        const R lambda = grad_s[i] + carry;
        grad.h[i] = exp(h[i] - s[i]) * lambda;
        grad.a[i] = carry = exp(a[i] + (i == 0 ? s0 : s[i - 1]) - s[i]) * lambda;
      }
      grad.s0 = carry;
    };
    return how;
  }
};

struct final_state_detached : unchanged_heinsen {
  static void edit(request& call) {
    const auto it = call.inputs.find("grad_s_n");
    if (it != call.inputs.end()) it->second = core::zeros(call.type, it->second.shape());
  }
};

struct first_row_state : unchanged_heinsen {
  static void edit(request& call) {
    core::tensor& s0 = call.inputs.at("s0");
    const std::size_t batch = s0.shape()[0];
    if (batch > 0) s0 = core::take(s0, 0, std::vector<std::size_t>(batch, 0));
  }
};

}  // namespace

std::vector<variant> mutants() {
  std::vector<variant> all{
      make_variant<ignores_initial_state>("mutant/ignores_initial_state",
                                          "ST03 state-spaces/mamba#641, ST04 fla-org/flash-linear-attention#90",
                                          "the initial state is ignored when there is more than one token"),
      make_variant<decay_sum_restarts>("mutant/decay_sum_restarts", "FW31 flashinfer-ai/flashinfer#2768",
                                       "the sum of log p restarts at each tile of 16 tokens"),
      make_variant<swapped_combine>("mutant/swapped_combine", "SC06 TheHPXProject/hpx#1958",
                                    "the scan combines its operands in the wrong order"),
      make_variant<naive_log_add_exp>("mutant/naive_log_add_exp", "FW10 llvm/torch-mlir#4748",
                                      "log(exp(x) + exp(y)) without a shift"),
      make_variant<unguarded_infinite_prefix>("mutant/unguarded_infinite_prefix", "FW05 tinygrad/tinygrad#17853",
                                              "a -inf prefix gives NaN"),
      make_variant<drops_nan>("mutant/drops_nan", "FW02 tensorflow/tensorflow#127513",
                              "a NaN input is replaced by the running maximum"),
      make_variant<carries_input>("mutant/carries_input", "FW11 microsoft/onnxscript#904",
                                  "the next state is built from the last input, not the last state"),
      make_variant<log_of_sigmoid>("mutant/log_of_sigmoid", "FW14 pytorch/pytorch#1835",
                                   "the gate is log(sigmoid(g)), which loses the decay at both ends"),
      make_variant<guarded_exp_at_zero>("mutant/guarded_exp_at_zero", "FW24 fla-org/flash-linear-attention#461",
                                        "a guard against positive exponents also cuts log p = 0"),
      make_variant<global_shift>("mutant/global_shift", "FW10 llvm/torch-mlir#4748",
                                 "one maximum over the whole lane as shift: a late spike wipes out what came before"),
      make_variant<backward_carry_at_blocks>("mutant/backward_carry_at_blocks", "GR15 proger/accelerated-scan#15",
                                             "the gradient carried between blocks of 16 scales the wrong term"),
      make_variant<unguarded_backward>("mutant/unguarded_backward", "GR01 pytorch/pytorch#49724, GR03 google/jax#6811",
                                       "the gradient is NaN where a state is -inf"),
      make_variant<final_state_detached>("mutant/final_state_detached", "GR23 state-spaces/mamba#258",
                                         "the cotangent of the last state is dropped"),
      make_variant<first_row_state>("mutant/first_row_state", "IX03 BlinkDL/RWKV-LM#241",
                                    "all batch rows start from the first row's state"),
  };
  for (auto more : {forward_mutants, state_mutants, gradient_mutants, block_mutants, precision_mutants, memory_mutants,
                    setting_mutants})
    for (variant& m : more()) all.push_back(std::move(m));
  return all;
}

}  // namespace assay::properties::encodings::heinsen
