// Wrong gradients of rotations and frequencies.
#include "properties/encodings/rope/mutants/edits.hpp"
#include "properties/encodings/rope/mutants/mutants.hpp"

namespace assay::properties::encodings::rope {
namespace {

using namespace reference;  // the recipes below are written in its vocabulary
using namespace reference::encodings;

struct gradient_turned_forwards : unchanged_rope {
  template <class R>
  static reference::encodings::rope::recipe<R> recipe() {
    reference::encodings::rope::recipe<R> how;
    how.backward = turned<R>;
    return how;
  }
};
struct gradient_without_position : unchanged_rope {
  template <class R>
  static reference::encodings::rope::recipe<R> recipe() {
    reference::encodings::rope::recipe<R> how;
    how.lever = [](const R&) { return R(1.0); };
    return how;
  }
};
struct torque_of_input : unchanged_rope {
  template <class R>
  static reference::encodings::rope::recipe<R> recipe() {
    reference::encodings::rope::recipe<R> how;
    how.angle_slope = [](const coordinate_pair<R>& x, const rotation<R>&, const coordinate_pair<R>& g) {
      return g.second * x.first - g.first * x.second;
    };
    return how;
  }
};
struct torque_of_wrong_sign : unchanged_rope {
  template <class R>
  static reference::encodings::rope::recipe<R> recipe() {
    reference::encodings::rope::recipe<R> how;
    how.angle_slope = [](const coordinate_pair<R>& x, const rotation<R>& by, const coordinate_pair<R>& g) {
      return -torque(x, by, g);
    };
    return how;
  }
};
// The frequencies are one tensor for all rows.
struct frequencies_of_first_row : unchanged_rope {
  static void edit(request& call) {
    if (call.operation->name != "rope/rotate_by:vjp") return;
    const auto rows = call.inputs.at("position").shape()[0];
    core::tensor& g = call.inputs.at("grad_y");
    for (std::size_t k = 0; rows > 1 && k < g.size(); ++k)
      if (k >= g.size() / rows) g.values.storage()[k] = 0.0;
  }
};

struct base_gradient_of_wrong_sign : unchanged_rope {
  static void finish(const request& call, core::tensors& outputs) {
    if (call.operation->name != "rope/frequencies:vjp") return;
    for (double& x : outputs.at("grad_base").values.storage()) x = -x;
  }
};
struct base_gradient_without_scaling : unchanged_rope {
  static void edit(request& call) {
    if (call.operation->name == "rope/frequencies:vjp") call.attributes["scaling"] = std::string("none");
  }
};

}  // namespace

std::vector<variant> gradient_mutants() {
  return {
      make_variant<gradient_turned_forwards>("mutant/rope_gradient_turned_forwards",
                                             "GR27 state-spaces/mamba#537: a gradient alone is wrong",
                                             "the gradient is rotated by R_m instead of R_-m"),
      make_variant<gradient_without_position>("mutant/rope_gradient_without_position",
                                              "GR07 pytorch/pytorch#196705: a factor lost in the derivative",
                                              "the gradient of a frequency lacks the position"),
      make_variant<torque_of_input>("mutant/rope_torque_of_input", "GR08 pytorch/pytorch#36308: the wrong tensor saved",
                                    "the gradients of angles have x for y"),
      make_variant<torque_of_wrong_sign>("mutant/rope_torque_of_wrong_sign", "a convention of sign",
                                         "the gradients of angles have the other sign"),
      make_variant<frequencies_of_first_row>("mutant/rope_gradient_of_first_row",
                                             "GR19 fla-org/flash-linear-attention#955: B > 1",
                                             "gradients count the first row alone"),
      make_variant<base_gradient_of_wrong_sign>("mutant/rope_base_gradient_of_wrong_sign",
                                                "GR27 state-spaces/mamba#537: a gradient alone is wrong",
                                                "the gradient of the base has the other sign"),
      make_variant<base_gradient_without_scaling>("mutant/rope_base_gradient_without_scaling",
                                                  "GR07 pytorch/pytorch#196705: a factor lost in the derivative",
                                                  "the gradient of the base is that of frequencies without scaling")};
}

}  // namespace assay::properties::encodings::rope
