// Mutants that compute in less precision than they declare: right formulas, wrong dtypes.
#include "properties/encodings/heinsen/mutants/mutants.hpp"
#include "properties/encodings/heinsen/mutants/recipes.hpp"

namespace assay::properties::encodings::heinsen {
namespace {

using namespace reference;  // the recipes below are written in its vocabulary
using namespace reference::encodings;

// x as a tensor of the storage dtype would hold it.
template <class R>
R stored(core::dtype storage, const R& x) {
  return R(core::round_to(storage, x.number));
}

struct narrow_inside : unchanged_heinsen {
  static core::dtype arithmetic(core::dtype storage) { return storage; }
  static void declare(description& about) { about.compute.clear(); }  // the default: f32 for f16 and bf16
};

struct carry_in_storage : unchanged_heinsen {
  template <class R>
  static reference::encodings::heinsen::recipe<R> recipe(core::dtype storage) {
    reference::encodings::heinsen::recipe<R> how;
    how.scan = [storage](const_lane<R> a, const_lane<R> h, const R& s0, lane<R> s) {
      R state = s0;
      for (std::size_t i = 0; i < s.size(); ++i) s[i] = state = stored(storage, log_sum_exp(a[i] + state, h[i]));
    };
    return how;
  }
};

struct decayed_state_in_storage : unchanged_heinsen {
  template <class R>
  static reference::encodings::heinsen::recipe<R> recipe(core::dtype storage) {
    reference::encodings::heinsen::recipe<R> how;
    how.scan = [storage](const_lane<R> a, const_lane<R> h, const R& s0, lane<R> s) {
      R state = s0;
      for (std::size_t i = 0; i < s.size(); ++i) s[i] = state = log_sum_exp(stored(storage, a[i] + state), h[i]);
    };
    return how;
  }
};

struct state_gradient_in_storage : unchanged_heinsen {
  template <class R>
  static reference::encodings::heinsen::recipe<R> recipe(core::dtype storage) {
    reference::encodings::heinsen::recipe<R> how;
    how.adjoint = [storage](const_lane<R> a, const_lane<R> h, const R& s0, const_lane<R> s, const_lane<R> grad_s,
                            const R& grad_last, scan_gradients<R> grad) {
      scan_adjoint<sigmoid_form, R>(a, h, s0, s, grad_s, grad_last, grad);
      R carry = stored(storage, grad_last);
      for (std::size_t i = s.size(); i-- > 0;) {
        const weight_pair<R> weight = carry_weights(a[i] + (i == 0 ? s0 : s[i - 1]) - h[i]);
        carry = stored(storage, weight.w * (grad_s[i] + carry));
      }
      // Only this gradient is summed in storage: where no state is empty, which has rules of its own.
      if (!is_minus_infinity(s0)) grad.s0 = carry;
    };
    return how;
  }
};

struct gate_gradient_by_difference : unchanged_heinsen {
  template <class R>
  static reference::encodings::heinsen::recipe<R> recipe(core::dtype storage) {
    reference::encodings::heinsen::recipe<R> how;
    how.adjoint = [storage](const_lane<R> a, const_lane<R> h, const R& s0, const_lane<R> s, const_lane<R> grad_s,
                            const R& grad_last, scan_gradients<R> grad) {
      scan_adjoint<sigmoid_form, R>(a, h, s0, s, grad_s, grad_last, grad);
      R of_states = stored(storage, grad_last), of_inputs(0.0);
      for (std::size_t i = s.size(); i-- > 0;) {
        of_states = stored(storage, of_states + grad_s[i]);
        of_inputs = stored(storage, of_inputs + grad.h[i]);
        if (!is_minus_infinity(s[i])) grad.a[i] = of_states - of_inputs;
      }
    };
    return how;
  }
};

// The softplus of the gate in the storage dtype: its exponential overflows from log(largest number) on.
struct gate_in_storage : unchanged_heinsen {
  template <class R>
  static reference::encodings::heinsen::recipe<R> recipe(core::dtype storage) {
    reference::encodings::heinsen::recipe<R> how;
    how.gate = [storage](const R& g) {
      const R e = stored(storage, exp(-g));
      return -stored(storage, log1p(e));
    };
    return how;
  }
};

template <class Variant>
variant in(core::dtype shown_in, const char* id, const char* models, const char* what) {
  variant v = make_variant<Variant>(id, models, what);
  v.shown_in = shown_in;
  return v;
}

}  // namespace

std::vector<variant> precision_mutants() {
  using core::dtype;
  return {
      in<narrow_inside>(dtype::bf16, "mutant/narrow_inside", "DT09 huggingface/transformers#47787",
                        "every operation is rounded to bf16"),
      in<carry_in_storage>(dtype::bf16, "mutant/carry_in_storage", "DT06 pytorch/pytorch#141802",
                           "the carried state is rounded to bf16 at each step"),
      in<decayed_state_in_storage>(dtype::f16, "mutant/decayed_state_in_storage", "DT09 huggingface/transformers#47787",
                                   "log p + s is rounded to f16 before the update"),
      in<state_gradient_in_storage>(dtype::bf16, "mutant/state_gradient_in_storage",
                                    "GR17 fla-org/flash-linear-attention#37",
                                    "the gradient of s0 is accumulated in bf16"),
      in<gate_gradient_by_difference>(dtype::bf16, "mutant/gate_gradient_by_difference",
                                      "DT08 fla-org/flash-linear-attention#29",
                                      "the decay's gradient is the difference of two sums kept in bf16"),
      in<gate_in_storage>(dtype::f16, "mutant/gate_in_storage", "FW13 sbryngelson/ANEForge#113",
                          "the gate's softplus is computed in f16 and overflows"),
  };
}

}  // namespace assay::properties::encodings::heinsen
