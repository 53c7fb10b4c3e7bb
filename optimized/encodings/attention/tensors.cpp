// The operations of dot-product attention on tensors.
#include "optimized/attention_tensors.hpp"
#include "optimized/encodings/attention.hpp"

namespace assay::optimized {

std::vector<routine> attention_routines() {
  using namespace attention;
  return {{"attention/output",
           [](const arguments& call) {
             return attention_on_tensors<inputs>(call, "bias", [](const auto&... a) { output(a...); });
           }},
          {"attention/output:vjp", [](const arguments& call) {
             return attention_vjp_on_tensors<inputs, gradients>(
                 call, "bias", [](const auto& in) { return in.bias; }, [](const auto&... a) { output_vjp(a...); });
           }}};
}

}  // namespace assay::optimized
