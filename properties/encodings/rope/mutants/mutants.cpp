#include "properties/encodings/rope/mutants/mutants.hpp"

namespace assay::properties::encodings::rope {

using namespace reference;  // the recipes below are written in its vocabulary

std::vector<variant> mutants() {
  std::vector<variant> all;
  for (const auto& some : {layout_mutants(), position_mutants(), frequency_mutants(), gradient_mutants()})
    all.insert(all.end(), some.begin(), some.end());
  return all;
}

std::vector<variant> gradient_mutants() {
  return {
      changed_rope("mutant/rope_gradient_turned_forwards", "GR27 state-spaces/mamba#537: a gradient alone is wrong",
                   "the gradient is rotated by R_m instead of R_-m",
                   {.formula = [](recipe& how) { how.backward = turned<R>; }}),
      changed_rope("mutant/rope_gradient_without_position",
                   "GR07 pytorch/pytorch#196705: a factor lost in the derivative",
                   "the gradient of a frequency lacks the position",
                   {.formula = [](recipe& how) { how.lever = [](const R&) { return R(1.0); }; }, .telling = true}),
      changed_rope("mutant/rope_torque_of_input", "GR08 pytorch/pytorch#36308: the wrong tensor saved",
                   "the gradients of angles have x for y",
                   {.formula =
                        [](recipe& how) {
                          how.angle_slope = [](const auto& x, const auto&, const auto& g) {
                            return g.second * x.first - g.first * x.second;
                          };
                        }}),
      changed_rope(
          "mutant/rope_torque_of_wrong_sign", "a convention of sign", "the gradients of angles have the other sign",
          {.formula =
               [](recipe& how) {
                 how.angle_slope = [](const auto& x, const auto& by, const auto& g) { return -torque(x, by, g); };
               }}),
      // The frequencies are one tensor for all rows.
      changed_rope("mutant/rope_gradient_of_first_row", "GR19 fla-org/flash-linear-attention#955: B > 1",
                   "gradients count the first row alone",
                   {.inputs =
                        [](request& call) {
                          if (call.operation->name != "rope/rotate_by:vjp") return;
                          const auto rows = call.inputs.at("position").shape()[0];
                          auto& g = call.inputs.at("grad_y").values.storage();
                          for (std::size_t k = 0; k < g.size(); ++k)
                            if (k >= g.size() / rows) g[k] = 0.0;
                        }}),
      changed_rope("mutant/rope_base_gradient_of_wrong_sign", "GR27 state-spaces/mamba#537: a gradient alone is wrong",
                   "the gradient of the base has the other sign",
                   {.outputs = [](core::tensors& outputs) { negate(outputs, "grad_base"); }, .telling = true}),
      changed_rope("mutant/rope_base_gradient_without_scaling",
                   "GR07 pytorch/pytorch#196705: a factor lost in the derivative",
                   "the gradient of the base is that of frequencies without scaling",
                   {.inputs =
                        [](request& call) {
                          if (call.operation->is_vjp()) set_setting<std::string>(call, "scaling", "none");
                        }}),
  };
}

std::vector<unmodelled> not_modelled() {
  return {
      {"RP06 lucidrains/rotary-embedding-torch#27", "no operation has the scales of xPos"},
      {"RP11 vllm-project/vllm#41236, vllm-project/vllm#3488",
       "no operation has the trained length that dynamic scaling compares with; a base that is always stretched is "
       "mutant/rope_base_always_scaled"},
      {"RP16 NVIDIA/TensorRT-LLM#16379", "no operation has the factor by which YaRN multiplies scores"},
  };
}

}  // namespace assay::properties::encodings::rope
