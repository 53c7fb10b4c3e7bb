// Mutants whose derivatives are wrong; their values are right.
#include <cmath>

#include "properties/encodings/heinsen/mutants/mutants.hpp"
#include "properties/encodings/heinsen/mutants/recipes.hpp"

namespace assay::properties::encodings::heinsen {
namespace {

using namespace reference;  // the recipes below are written in its vocabulary
using namespace reference::encodings;

// The right adjoint, with cotangents carried over only where `carried(i, n)` says so.
template <class R, class Carried>
void adjoint_with_carry(const_lane<R> a, const_lane<R> h, const R& s0, const_lane<R> s, const_lane<R> grad_s,
                        const R& grad_last, scan_gradients<R> grad, Carried carried) {
  std::vector<R> of_a(1), of_h(1);
  R carry = grad_last;
  for (std::size_t i = s.size(); i-- > 0;) {
    const R before = i == 0 ? s0 : s[i - 1], none(0.0);
    R out(0.0);
    scan_adjoint<sigmoid_form, R>({&a[i], 1, 1}, {&h[i], 1, 1}, before, {&s[i], 1, 1}, {&grad_s[i], 1, 1},
                                  carried(i) ? carry : none, {{of_a.data(), 1, 1}, {of_h.data(), 1, 1}, out});
    grad.a[i] = of_a[0];
    grad.h[i] = of_h[0];
    carry = out;
  }
  grad.s0 = carry;
}

struct gradient_cut_at_blocks : unchanged_heinsen {
  template <class R>
  static reference::encodings::heinsen::recipe<R> recipe() {
    return with_adjoint<R>([](const_lane<R> a, const_lane<R> h, const R& s0, const_lane<R> s, const_lane<R> grad_s,
                              const R& grad_last, scan_gradients<R> grad) {
      adjoint_with_carry<R>(a, h, s0, s, grad_s, grad_last, grad,
                            [&](std::size_t i) { return i % 16 != 15 || i + 1 == s.size(); });
    });
  }
};

struct carry_lost_without_state : unchanged_heinsen {
  template <class R>
  static reference::encodings::heinsen::recipe<R> recipe() {
    return with_adjoint<R>([](const_lane<R> a, const_lane<R> h, const R& s0, const_lane<R> s, const_lane<R> grad_s,
                              const R& grad_last, scan_gradients<R> grad) {
      adjoint_with_carry<R>(a, h, s0, s, grad_s, grad_last, grad,
                            [&](std::size_t i) { return s0.number != 0.0 || i + 1 == s.size(); });
    });
  }
};

struct short_chunk_drops_state_gradient : unchanged_heinsen {
  template <class R>
  static reference::encodings::heinsen::recipe<R> recipe() {
    return with_adjoint<R>([](const_lane<R> a, const_lane<R> h, const R& s0, const_lane<R> s, const_lane<R> grad_s,
                              const R& grad_last, scan_gradients<R> grad) {
      scan_adjoint<sigmoid_form, R>(a, h, s0, s, grad_s, grad_last, grad);
      if (s.size() < 3) grad.s0 = R(0.0);
    });
  }
};

struct tail_gradient_not_cleared : unchanged_heinsen {
  template <class R>
  static reference::encodings::heinsen::recipe<R> recipe() {
    return with_adjoint<R>([](const_lane<R> a, const_lane<R> h, const R& s0, const_lane<R> s, const_lane<R> grad_s,
                              const R& grad_last, scan_gradients<R> grad) {
      scan_adjoint<sigmoid_form, R>(a, h, s0, s, grad_s, grad_last, grad);
      const std::size_t n = s.size(), tail = n - n % 16;
      if (tail > 0 && tail < n) grad.a[tail] = grad.a[tail] + grad.a[tail - 1];
    });
  }
};

struct stale_cotangent : unchanged_heinsen {
  template <class R>
  static reference::encodings::heinsen::recipe<R> recipe() {
    return with_adjoint<R>([](const_lane<R> a, const_lane<R> h, const R& s0, const_lane<R> s, const_lane<R> grad_s,
                              const R& grad_last, scan_gradients<R> grad) {
      std::vector<R> stale;
      for (std::size_t i = 0; i < s.size(); ++i) stale.push_back(grad_s[i == 0 ? 0 : i - 1]);
      scan_adjoint<sigmoid_form, R>(a, h, s0, s, {stale.data(), 1, stale.size()}, grad_last, grad);
    });
  }
};

// exp(h) times the sum of gbar exp(-s): right until an exponent leaves the range.
struct naive_backward : unchanged_heinsen {
  template <class R>
  static reference::encodings::heinsen::recipe<R> recipe() {
    return with_adjoint<R>([](const_lane<R> a, const_lane<R> h, const R& s0, const_lane<R> s, const_lane<R> grad_s,
                              const R& grad_last, scan_gradients<R> grad) {
      R sum = s.size() == 0 ? grad_last : grad_last * exp(-s[s.size() - 1]);
      for (std::size_t i = s.size(); i-- > 0;) {
        sum = sum + grad_s[i] * exp(-s[i]);
        grad.h[i] = exp(h[i]) * sum;
        sum = exp(a[i]) * sum;
        grad.a[i] = exp(i == 0 ? s0 : s[i - 1]) * sum;
      }
      grad.s0 = s.size() == 0 ? grad_last : exp(s0) * sum;
    });
  }
};

struct shared_gradient_counted_per_row : unchanged_heinsen {
  static void finish(const request& call, core::tensors& outputs) {
    const auto bias = outputs.find("grad_b_H");
    if (bias == outputs.end()) return;
    const auto rows = static_cast<double>(call.inputs.at("s0").shape()[0]);
    for (double& x : bias->second.values.storage()) x = core::round_to(call.type, x * rows);
  }
};

struct gradient_of_first_row : unchanged_heinsen {
  static void finish(const request&, core::tensors& outputs) {
    for (const char* name : {"grad_g", "grad_log_p"}) {
      const auto of_gate = outputs.find(name);
      if (of_gate == outputs.end() || of_gate->second.shape()[0] == 0) continue;
      of_gate->second = core::take(of_gate->second, 0, std::vector<std::size_t>(of_gate->second.shape()[0], 0));
    }
  }
};

struct tangent_without_decay : unchanged_heinsen {
  static void edit(request& call) {
    for (const char* name : {"tangent_g", "tangent_log_p"}) {
      const auto t = call.inputs.find(name);
      if (t != call.inputs.end()) t->second = core::zeros(call.type, t->second.shape());
    }
  }
};

// Weights about one largest state of the whole lane: terms far below it vanish.
struct tangent_about_one_maximum : unchanged_heinsen {
  template <class R>
  static reference::encodings::heinsen::recipe<R> recipe() {
    reference::encodings::heinsen::recipe<R> how;
    how.tangent = [](const_lane<R> a, const_lane<R> h, const R& s0, const_lane<R> s, scan_direction<R> d, lane<R> ds) {
      R largest = s0, carried = d.s0;
      for (std::size_t i = 0; i < s.size(); ++i) largest = larger(largest, s[i]);
      for (std::size_t i = 0; i < s.size(); ++i) {
        const R of_state = exp(s[i] - largest);
        const R w = exp(a[i] + (i == 0 ? s0 : s[i - 1]) - largest), v = exp(h[i] - largest);
        const double inverse = of_state.number > 0.0 ? 1.0 / of_state.number : 0.0;
        ds[i] = carried = (w * (d.a[i] + carried) + v * d.h[i]) * R(inverse);
      }
    };
    return how;
  }
};

}  // namespace

std::vector<variant> gradient_mutants() {
  return {
      make_variant<gradient_cut_at_blocks>("mutant/gradient_cut_at_blocks", "TS06 mlx-swift-lm#574",
                                           "the gradient stops at blocks of 16"),
      make_variant<carry_lost_without_state>("mutant/carry_lost_without_state", "GR11 pytorch/pytorch#184528",
                                             "with s0 = 0 the gradient through later states is lost"),
      make_variant<short_chunk_drops_state_gradient>("mutant/short_chunk_drops_state_gradient",
                                                     "GR18 fla-org/flash-linear-attention#1140",
                                                     "grad_s0 is 0 for fewer than 3 tokens"),
      make_variant<tail_gradient_not_cleared>("mutant/tail_gradient_not_cleared", "GR27 state-spaces/mamba#537",
                                              "behind the last block of 16 the decay's gradient is not cleared first"),
      make_variant<stale_cotangent>("mutant/stale_cotangent", "GR28 pytorch/pytorch#153679",
                                    "cotangents are read from the token before"),
      make_variant<naive_backward>("mutant/naive_backward", "GR08 pytorch/pytorch#36308",
                                   "the gradient is exp(h) times a sum of g exp(-s), which overflows"),
      make_variant<shared_gradient_counted_per_row>("mutant/shared_gradient_counted_per_row",
                                                    "GR19 fla-org/flash-linear-attention#955",
                                                    "the bias's gradient is multiplied by the batch size"),
      make_variant<gradient_of_first_row>("mutant/gradient_of_first_row", "IX14 huggingface/transformers#22797",
                                          "all rows get the first row's gate gradient"),
      make_variant<tangent_without_decay>("mutant/tangent_without_decay", "GR07 pytorch/pytorch#196705",
                                          "the directional derivative ignores the decay's direction"),
      make_variant<tangent_about_one_maximum>("mutant/tangent_about_one_maximum", "GR07 pytorch/pytorch#196705",
                                              "directional derivatives about one maximum lose a whole prefix"),
  };
}

}  // namespace assay::properties::encodings::heinsen
