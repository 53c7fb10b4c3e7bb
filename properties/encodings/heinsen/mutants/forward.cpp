// Mutants whose steps or scans are wrong.
#include <cmath>
#include <limits>

#include "properties/encodings/heinsen/mutants/mutants.hpp"
#include "properties/encodings/heinsen/mutants/recipes.hpp"

namespace assay::properties::encodings::heinsen {
namespace {

using namespace reference;  // the recipes below are written in its vocabulary
using namespace reference::encodings;

struct guarded_single_only : unchanged_heinsen {
  template <class R>
  static reference::encodings::heinsen::recipe<R> recipe() {
    return with_scan<R>([](const_lane<R> a, const_lane<R> h, const R& s0, lane<R> s) {
      if (s.size() < 2) return sequential_scan<R>(a, h, s0, s);
      R state = s0;
      for (std::size_t i = 0; i < s.size(); ++i) {
        const R t = a[i] + state, z = t - h[i];
        s[i] = state = larger(t, h[i]) + log1p(exp(larger(z, -z) * R(-1.0)));
      }
    });
  }
};

struct gate_saturates : unchanged_heinsen {
  template <class R>
  static reference::encodings::heinsen::recipe<R> recipe() {
    reference::encodings::heinsen::recipe<R> how;
    how.gate = [](const R& g) { return g.number >= 11.0 ? R(0.0) : log_sigmoid(g); };
    return how;
  }
};

struct takes_p_for_log_p : unchanged_heinsen {
  template <class R>
  static reference::encodings::heinsen::recipe<R> recipe() {
    return with_step<R>(
        [](const R& a, const R& state, const R& h, std::size_t) { return log_sum_exp(exp(a) + state, h); });
  }
};

// exp(A) and the sum of exp(h - A) apart: one overflows where their product is harmless.
struct factored_exponentials : unchanged_heinsen {
  template <class R>
  static reference::encodings::heinsen::recipe<R> recipe() {
    return with_scan<R>([](const_lane<R> a, const_lane<R> h, const R& s0, lane<R> s) {
      R decay(0.0), sum = exp(s0);
      for (std::size_t i = 0; i < s.size(); ++i) {
        decay = decay + a[i];
        sum = sum + exp(h[i] - decay);
        s[i] = decay + log(sum);
      }
    });
  }
};

struct exp_without_underflow : unchanged_heinsen {
  template <class R>
  static reference::encodings::heinsen::recipe<R> recipe() {
    return with_step<R>([](const R& a, const R& state, const R& h, std::size_t) {
      const R t = a + state;
      const double gap = std::fabs(t.number - h.number);
      return gap > 88.0 && gap < 104.0 ? R(std::numeric_limits<double>::quiet_NaN()) : log_sum_exp(t, h);
    });
  }
};

struct upper_half_forgets : unchanged_heinsen {
  template <class R>
  static reference::encodings::heinsen::recipe<R> recipe() {
    return with_step<R>([](const R& a, const R& state, const R& h, std::size_t i) {
      return i % 32 == 16 ? h : log_sum_exp(a + state, h);
    });
  }
};

struct odd_tail_lost : unchanged_heinsen {
  template <class R>
  static reference::encodings::heinsen::recipe<R> recipe() {
    return with_scan<R>([](const_lane<R> a, const_lane<R> h, const R& s0, lane<R> s) {
      sequential_scan<R>(a, h, s0, s);
      if (s.size() > 1 && s.size() % 2 == 1) s[s.size() - 1] = h[s.size() - 1];
    });
  }
};

struct swapped_at_blocks : unchanged_heinsen {
  template <class R>
  static reference::encodings::heinsen::recipe<R> recipe() {
    return with_step<R>([](const R& a, const R& state, const R& h, std::size_t i) {
      return i > 0 && i % 16 == 0 ? log_sum_exp(state, a + h) : log_sum_exp(a + state, h);
    });
  }
};

struct restarts_after_64 : unchanged_heinsen {
  template <class R>
  static reference::encodings::heinsen::recipe<R> recipe() {
    return with_scan<R>([](const_lane<R> a, const_lane<R> h, const R& s0, lane<R> s) {
      R state = s0;
      for (std::size_t i = 0; i < s.size(); ++i) s[i] = state = log_sum_exp(a[i] + (i == 64 ? s0 : state), h[i]);
    });
  }
};

struct runs_backwards : unchanged_heinsen {
  template <class R>
  static reference::encodings::heinsen::recipe<R> recipe() {
    return with_scan<R>([](const_lane<R> a, const_lane<R> h, const R& s0, lane<R> s) {
      R state = s0;
      for (std::size_t i = s.size(); i-- > 0;) s[i] = state = log_sum_exp(a[i] + state, h[i]);
    });
  }
};

struct exclusive_scan : unchanged_heinsen {
  template <class R>
  static reference::encodings::heinsen::recipe<R> recipe() {
    return with_scan<R>([](const_lane<R> a, const_lane<R> h, const R& s0, lane<R> s) {
      R state = s0;
      for (std::size_t i = 0; i < s.size(); ++i) {
        s[i] = state;
        state = log_sum_exp(a[i] + state, h[i]);
      }
    });
  }
};

struct torn_read : unchanged_heinsen {
  template <class R>
  static reference::encodings::heinsen::recipe<R> recipe() {
    return with_scan<R>([](const_lane<R> a, const_lane<R> h, const R& s0, lane<R> s) {
      R state = s0;
      for (std::size_t i = 0; i < s.size(); ++i) {
        const bool torn = i % 8 == 7 && i + 1 < s.size();
        s[i] = state = log_sum_exp(a[torn ? i + 1 : i] + state, h[i]);
      }
    });
  }
};

}  // namespace

std::vector<variant> forward_mutants() {
  return {
      make_variant<guarded_single_only>("mutant/guarded_single_only", "FW09 HenrikBengtsson/matrixStats#84",
                                        "-inf is guarded for one token and not for two"),
      make_variant<gate_saturates>("mutant/gate_saturates", "FW13 sbryngelson/ANEForge#113",
                                   "log sigmoid(g) is 0 from g = 11 on"),
      make_variant<takes_p_for_log_p>("mutant/takes_p_for_log_p", "FW30 fla-org/flash-linear-attention#11",
                                      "p is used where log p is expected"),
      make_variant<factored_exponentials>("mutant/factored_exponentials", "FW35 tenstorrent/tt-metal#56550",
                                          "exp(A) and exp(h - A) are formed apart and overflow"),
      make_variant<exp_without_underflow>("mutant/exp_without_underflow", "FW20 VcDevel/Vc#273",
                                          "exp gives NaN where its result is subnormal"),
      make_variant<upper_half_forgets>("mutant/upper_half_forgets", "SC03 triton-lang/triton#2361",
                                       "the carry between the halves of a block of 32 is lost"),
      make_variant<odd_tail_lost>("mutant/odd_tail_lost", "SC05 pytorch/pytorch#137943",
                                  "the last token of an odd length is not combined"),
      make_variant<swapped_at_blocks>("mutant/swapped_at_blocks", "SC02 triton-lang/triton#2359",
                                      "operands are swapped between blocks of 16"),
      make_variant<restarts_after_64>("mutant/restarts_after_64", "SC10 tile-ai/TileOPs#1718",
                                      "the second tile of 64 starts from the initial state"),
      make_variant<runs_backwards>("mutant/runs_backwards", "SC15 NVIDIA/TensorRT#4513", "time runs backwards"),
      make_variant<exclusive_scan>("mutant/exclusive_scan", "SC17 microsoft/onnxruntime#13174",
                                   "the scan is exclusive: every state is the one before"),
      make_variant<torn_read>("mutant/torn_read", "SC11 diku-dk/futhark#1188",
                              "at the edge of a block of 8 the decay is that of the next token"),
  };
}

}  // namespace assay::properties::encodings::heinsen
