#include "properties/encodings/rope/mutants/mutants.hpp"

namespace assay::properties::encodings::rope {

std::vector<variant> mutants() {
  std::vector<variant> all;
  for (const auto& some : {layout_mutants(), position_mutants(), frequency_mutants(), gradient_mutants()})
    all.insert(all.end(), some.begin(), some.end());
  return all;
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
