// Temperatures of queries for long contexts.
#pragma once

#include "reference/formula/recording.hpp"

namespace assay::reference {

/// 1 + attn_scale log(1 + step). The step is the number of whole lengths (`floor_scale` of Llama 4) up to a query;
/// while it is 0, the temperature is exactly 1 (huggingface/transformers, modeling_llama4.py, Llama4TextAttention).
inline formula::traced temperature_of_step(const formula::traced_integer& step, const formula::traced& attn_scale) {
  using formula::traced;
  const auto one = formula::traced_integer::constant(1);
  return either(less(step, one), traced(1.0), traced(1.0) + attn_scale * log(index_number(one + step)));
}

/// log p / log L0 of places p = 1, 2, ... beyond the trained length L0 > 1, and 1 up to it (Qwen: QwenLM/Qwen,
/// modeling_qwen.py, logn_list).
inline formula::traced logarithmic_temperature(const formula::traced_integer& places,
                                               const formula::traced_integer& trained) {
  using formula::traced;
  return either(less(trained, places), log(index_number(places)) / log(index_number(trained)), traced(1.0));
}

}  // namespace assay::reference
