// Wrong pairs of coordinates.
#include <cmath>

#include "properties/encodings/rope/mutants/edits.hpp"
#include "properties/encodings/rope/mutants/mutants.hpp"

namespace assay::properties::encodings::rope {
namespace {

using namespace reference;  // the recipes below are written in its vocabulary
using namespace reference::encodings;

struct wrong_layout : unchanged_rope {
  static void edit(request& call) {
    edit_setting<std::string>(call, "layout", [](const std::string& layout) {
      return std::string(layout == "half_split" ? "interleaved" : "half_split");
    });
  }
};
struct layout_ignored : unchanged_rope {
  static void edit(request& call) {
    edit_setting<std::string>(call, "layout", [](const std::string&) { return std::string("half_split"); });
  }
};

// The coordinates that do not rotate, overwritten.
struct rest_is_zero : unchanged_rope {
  static void finish(const request& call, core::tensors& outputs) {
    if (!call.inputs.contains("x")) return;
    core::tensor& t = outputs.at(call.operation->is_vjp() ? "grad_x" : "y");
    const std::size_t features = t.shape()[3], rotated = 2 * pairs_of(call);
    for (std::size_t k = 0; k < t.size(); ++k)
      if (k % features >= rotated) t.values.storage()[k] = 0.0;
  }
};

// Partial rotary as if there were none.
struct rotary_ignored : unchanged_rope {
  static void edit(request& call) {
    edit_setting<std::int64_t>(call, "rotary", [](std::int64_t) { return std::int64_t{0}; });
  }
};

// Coordinate k of what is rotated is coordinate Order::of(k, ...) of what is given, and goes back there.
template <class Order>
struct reordered : unchanged_rope {
  static std::vector<std::size_t> order_of(const request& call) {
    const std::size_t features = call.inputs.at("x").shape()[3], pairs = pairs_of(call);
    std::vector<std::size_t> order(features);
    for (std::size_t k = 0; k < features; ++k) order[k] = k;
    if (Order::layout.empty() ||
        core::setting<std::string>(core::completed(*call.operation, call.attributes), "layout") == Order::layout)
      for (std::size_t k = 0; k < features; ++k) order[k] = Order::of(k, pairs, features);
    return order;
  }
  static void edit(request& call) {
    if (!call.inputs.contains("x")) return;
    const std::vector<std::size_t> order = order_of(call);
    for (const char* name : {"x", "grad_y"})
      if (const auto t = call.inputs.find(name); t != call.inputs.end()) t->second = core::take(t->second, 3, order);
  }
  static void finish(const request& call, core::tensors& outputs) {
    for (const char* name : {"y", "grad_x"})
      if (const auto t = outputs.find(name); t != outputs.end()) {
        const std::vector<std::size_t> order = order_of(call);
        std::vector<std::size_t> back(order.size());
        for (std::size_t k = 0; k < order.size(); ++k) back[order[k]] = k;
        t->second = core::take(t->second, 3, back);
      }
  }
};
struct tail {
  static constexpr std::string_view layout = "";
  static std::size_t of(std::size_t k, std::size_t pairs, std::size_t features) {
    return (k + features - 2 * pairs) % features;
  }
};
struct outside_in {
  static constexpr std::string_view layout = "half_split";
  static std::size_t of(std::size_t k, std::size_t pairs, std::size_t) {
    return k < pairs || k >= 2 * pairs ? k : 3 * pairs - 1 - k;
  }
};
// The partner of t is t + floor(d/2), however many pairs rotate.
struct whole_head {
  static constexpr std::string_view layout = "half_split";
  static std::size_t of(std::size_t k, std::size_t pairs, std::size_t features) {
    const std::size_t half = features / 2;
    if (k < pairs) return k;
    if (k < 2 * pairs) return half + k - pairs;
    return k < half + pairs ? k - pairs : k;
  }
};

// Partners half a head apart, frequencies in the order of neighbours: theta_0, theta_0, theta_1, theta_1, ...
struct frequencies_of_neighbours : unchanged_rope {
  static void finish(const request& call, core::tensors& outputs) {
    if (call.operation->name != "rope/rotate_by") return;
    if (core::setting<std::string>(core::completed(*call.operation, call.attributes), "layout") != "half_split") return;
    const auto &x = call.inputs.at("x").values.storage(), &theta = call.inputs.at("theta").values.storage(),
               &m = call.inputs.at("position").values.storage();
    core::tensor& y = outputs.at("y");
    const std::size_t heads = y.shape()[2], features = y.shape()[3], pairs = theta.size();
    for (std::size_t k = 0; k < y.size(); ++k) {
      const std::size_t c = k % features;
      if (c >= 2 * pairs) continue;
      const double angle = m[k / features / heads] * theta[c / 2];
      const double partner = c < pairs ? -x[k + pairs] : x[k - pairs];
      y.values.storage()[k] = core::round_to(y.type, x[k] * std::cos(angle) + partner * std::sin(angle));
    }
  }
};

// A kernel that has (d + 1) / 2 pairs turns the last coordinate of an odd head with the first one of the next.
struct beyond_the_head : unchanged_rope {
  static void finish(const request& call, core::tensors& outputs) {
    if (call.operation->name != "rope/rotate") return;
    const core::attributes settings = core::completed(*call.operation, call.attributes);
    core::tensor& y = outputs.at("y");
    const std::size_t heads = y.shape()[2], features = y.shape()[3];
    if (features % 2 == 0 || pairs_of(call) != features / 2) return;
    const double theta = std::pow(core::setting<double>(settings, "base"), 1.0 / static_cast<double>(features) - 1.0) /
                         core::setting<double>(settings, "position_scale");
    auto& values = y.values.storage();
    for (std::size_t v = 0; (v + 1) * features < values.size(); ++v) {
      const double angle = call.inputs.at("position").values.storage()[v / heads] * theta;
      double &last = values[(v + 1) * features - 1], &next = values[(v + 1) * features];
      const double before = last;
      last = core::round_to(y.type, before * std::cos(angle) - next * std::sin(angle));
      next = core::round_to(y.type, before * std::sin(angle) + next * std::cos(angle));
    }
  }
};

}  // namespace

std::vector<variant> layout_mutants() {
  return {
      make_variant<wrong_layout>("mutant/rope_wrong_layout", "RP02 huggingface/candle#3948", "the other layout"),
      make_variant<layout_ignored>("mutant/rope_layout_ignored", "RP03 vllm-project/vllm-ascend#12820",
                                   "half-split whatever the layout"),
      make_variant<rest_is_zero>("mutant/rope_rest_is_zero", "RP07 fla-org/flash-linear-attention#1177",
                                 "coordinates that do not rotate become 0"),
      make_variant<rotary_ignored>("mutant/rope_rotary_ignored", "AI-Hypercomputer/maxtext#4616",
                                   "all pairs rotate where some should"),
      make_variant<reordered<tail>>("mutant/rope_at_end_of_head",
                                    "pie-project/pie#603: rope_partial_last beside rope_partial",
                                    "the last coordinates rotate instead of the first"),
      make_variant<reordered<outside_in>>("mutant/rope_outside_in",
                                          "a layout of no implementation: halves, one of them flipped",
                                          "coordinate t is a pair with 2r - 1 - t where halves are asked for"),
      make_variant<reordered<whole_head>>("mutant/rope_pairs_of_whole_head", "pie-project/pie#602",
                                          "coordinate t is a pair with t + d/2, though fewer rotate"),
      make_variant<frequencies_of_neighbours>("mutant/rope_frequencies_of_neighbours",
                                              "raiyanyahya/how-to-train-your-gpt#6",
                                              "halves are paired, and frequencies in the order of neighbours"),
      make_variant<beyond_the_head>("mutant/rope_beyond_the_head", "RP07 fla-org/flash-linear-attention#1177",
                                    "of an odd d the last coordinate rotates with the first one of the next head"),
  };
}

}  // namespace assay::properties::encodings::rope
