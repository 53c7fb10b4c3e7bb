// What is wrong in the gates, and in the precision of what is made of them.
#include <cmath>

#include "properties/encodings/fox/mutants/mutants.hpp"
#include "properties/encodings/fox/mutants/recipes.hpp"
#include "reference/encodings/attention.hpp"

namespace assay::properties::encodings::fox {
namespace {

using namespace reference;  // the recipes below are written in its vocabulary
using namespace reference::encodings;

struct log_of_sigmoid : unchanged_fox {
  template <class R>
  static reference::encodings::fox::recipe<R> recipe() {
    reference::encodings::fox::recipe<R> how;
    how.gate = [](const R& g) { return log(exp(g)) - log(R(1.0) + exp(g)); };
    return how;
  }
};
struct slope_of_other_side : unchanged_fox {
  template <class R>
  static reference::encodings::fox::recipe<R> recipe() {
    reference::encodings::fox::recipe<R> how;
    how.gate_slope = [](const R& g) { return sigmoid(g); };
    return how;
  }
};

// log(1 + exp(-g)), whose exponential is lost beside 1.
struct gate_without_log1p : unchanged_fox {
  template <class R>
  static reference::encodings::fox::recipe<R> recipe() {
    reference::encodings::fox::recipe<R> how;
    how.gate = [](const R& g) { return g.number > 0.0 ? -log(R(1.0) + exp(-g)) : log_sigmoid(g); };
    return how;
  }
};

// softplus in f16, whose exponential overflows: what is no number becomes 0, no decay at all.
struct gate_saturates : unchanged_fox {
  template <class R>
  static reference::encodings::fox::recipe<R> recipe() {
    reference::encodings::fox::recipe<R> how;
    how.gate = [](const R& g) { return std::exp(-g.number) > 65504.0 ? R(0.0) : log_sigmoid(g); };
    return how;
  }
};

// A guard against positive exponents that lets no log f = 0 pass: its exponential is 0.
struct open_gate_forgets : unchanged_fox {
  template <class R>
  static reference::encodings::fox::recipe<R> recipe() {
    return with_entry<R>([](const_lane<R> a, std::size_t i, std::size_t j) {
      R sum(0.0);
      for (std::size_t l = j + 1; l <= i; ++l)
        sum = sum + (a[l].number >= 0.0 ? R(-std::numeric_limits<double>::infinity()) : a[l]);
      return sum;
    });
  }
};

// Prefix sums kept in the storage dtype.
struct prefix_in_storage : unchanged_fox {
  static core::dtype arithmetic(core::dtype storage) { return storage; }
  static void declare(description& about) {
    for (const core::dtype t : {core::dtype::f16, core::dtype::bf16}) about.compute[t] = core::dtype::f32;
  }
  template <class R>
  static reference::encodings::fox::recipe<R> recipe() {
    reference::encodings::fox::recipe<R> how;
    how.sums = segment_sums_by_prefix<R>;
    return how;
  }
};

// D in bf16, whatever the dtype.
struct decay_in_bf16 : unchanged_fox {
  template <class R>
  static reference::encodings::fox::recipe<R> recipe() {
    reference::encodings::fox::recipe<R> how;
    how.sums = [](const_lane<R> a, R* out) {
      segment_sums<R>(a, out);
      for (std::size_t i = 0; i < a.size(); ++i)
        for (std::size_t j = 0; j < i; ++j) {
          R& x = out[i * a.size() + j];
          x = R(core::round_to(core::dtype::bf16, x.number));
        }
    };
    return how;
  }
};

}  // namespace

std::vector<variant> gate_mutants() {
  std::vector<variant> all{
      make_variant<log_of_sigmoid>("mutant/fox_log_of_sigmoid", "FW14 pytorch/pytorch#1835", "the gate overflows"),
      make_variant<slope_of_other_side>("mutant/fox_slope_of_other_side", "FW14 pytorch/pytorch#1835: the derivative",
                                        "the slope of the gate is sigmoid(g)"),
      make_variant<gate_without_log1p>("mutant/fox_gate_without_log1p", "FW18 meta-pytorch/attention-gym#351",
                                       "log f is -log(1 + exp(-g)), 0 for large g"),
      make_variant<gate_saturates>("mutant/fox_gate_saturates", "FW13 sbryngelson/ANEForge#113",
                                   "a gate that forgets by more than f16 can say forgets nothing"),
      make_variant_beside<open_gate_forgets, reference::encodings::attention>(
          "mutant/fox_open_gate_forgets", "FW24 fla-org/flash-linear-attention#461", "log f = 0 forgets everything"),
      make_variant<prefix_in_storage>("mutant/fox_prefix_in_storage", "half-precision prefix sums",
                                      "prefix sums are kept in the storage dtype"),
      make_variant<decay_in_bf16>("mutant/fox_decay_in_bf16", "DT17 HabanaAI/vllm-fork#503: biases in bf16",
                                  "D has the digits of bf16"),
  };
  for (variant& v : all)
    if (v.id == "mutant/fox_prefix_in_storage") v.shown_in = core::dtype::bf16;
  return all;
}

}  // namespace assay::properties::encodings::fox
