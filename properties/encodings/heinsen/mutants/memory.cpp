// Mutants that are wrong only in some calls: after earlier ones, or in one of the settings that they offer.
#include <algorithm>
#include <cmath>
#include <map>
#include <memory>

#include "properties/encodings/heinsen/mutants/mutants.hpp"

namespace assay::properties::encodings::heinsen {
namespace {

// A new sequence (s0 = -inf) in a row that an earlier call used starts from the state that call left there. An
// implementation has one memory, which both functions share: two mutable lambdas would have one each.
std::unique_ptr<implementation> state_of_earlier_call(std::string name) {
  const auto left = std::make_shared<std::map<std::string, core::tensor>>();  // by operation
  variation<reference::encodings::heinsen> change{.declared = nothing_declared};
  change.inputs = [left](request& call) {
    const auto found = left->find(call.operation->name);
    if (found == left->end()) return;
    const core::tensor& s_n = found->second;
    core::tensor& s0 = call.inputs.at("s0");
    if (s_n.type != s0.type || s_n.shape() != s0.shape()) return;
    for (std::size_t k = 0; k < s0.size(); ++k)
      if (std::isinf(s0.values.storage()[k])) s0.values.storage()[k] = s_n.values.storage()[k];
  };
  change.outputs = [left](core::tensors& outputs, const request& call) {
    if (outputs.contains("s_n")) (*left)[call.operation->name] = outputs.at("s_n");
  };
  return std::make_unique<scheme_variant<reference::encodings::heinsen>>(std::move(name), std::move(change));
}

bool same_shapes(const core::tensors& x, const core::tensors& y) {
  return x.size() == y.size() && std::equal(x.begin(), x.end(), y.begin(), [](const auto& a, const auto& b) {
           return a.second.type == b.second.type && a.second.shape() == b.second.shape();
         });
}

auto reused_buffers() {
  return [calls = 0, buffers = std::map<std::string, core::tensors>()](core::tensors& outputs,
                                                                       const request& call) mutable {
    core::tensors& buffer = buffers[call.operation->name];
    if (++calls > 40 && same_shapes(buffer, outputs)) outputs = buffer;
    buffer = outputs;
  };
}

// Tokens and features lie in memory in the other order.
void read_as_contiguous(core::tensor& t) {
  const std::size_t n = t.shape()[1], d = t.shape()[2];
  const auto x = t.values.storage();
  for (std::size_t i = 0; i < t.size(); ++i) {
    const std::size_t place = i % (n * d);
    t.values.storage()[i] = x[i - place + place % n * d + place / n];
  }
}

void zero_odd_last_token(core::tensors& outputs, const core::operation& op) {
  for (auto& [name, t] : outputs) {
    const auto axis = core::axis_of(*op.output(name), "n");
    if (!axis || t.shape()[*axis] % 2 == 0) continue;
    const std::size_t inner = core::stride_of(t.shape(), *axis), tokens = t.shape()[*axis];
    for (std::size_t i = 0; i < t.size(); ++i)
      if (i / inner % tokens == tokens - 1) t.values.storage()[i] = 0.0;
  }
}

}  // namespace

std::vector<variant> memory_mutants() {
  static constexpr const char* state_kept = "mutant/state_of_earlier_call";
  return {
      {.id = state_kept,
       .models = "vllm-project/vllm-ascend#10558",
       .summary = "an empty initial state becomes what an earlier call left",
       .make = [] { return state_of_earlier_call(state_kept); },
       .remembers = true},
      // The order of combination depends on which block finishes first: here, on the parity of the call.
      changed_heinsen("mutant/order_of_the_day", "NVIDIA/thrust#1587, state-spaces/mamba#827",
                      "the order of combination changes from call to call",
                      {.formula =
                           [calls = 0](scan_scheme& scheme) mutable {
                             if (++calls % 2 != 0) return;
                             scheme.scan = reference::doubling_tree_scan<R>;
                             scheme.adjoint = reference::scan_adjoint<reference::exp_form, R>;
                           },
                       .declared = nothing_declared,
                       .remembers = true,
                       .representative = true}),
      changed_heinsen("mutant/buffer_reused", "ggml-org/llama.cpp#16412",
                      "from the 41st call on, results of the call before are returned where the shapes agree",
                      {.outputs = reused_buffers(), .declared = nothing_declared, .remembers = true}),
      // A race between two blocks.
      changed_heinsen("mutant/lost_update", "fla-org/flash-linear-attention#945",
                      "in one call of eight the last lane misses an update",
                      {.outputs =
                           [calls = 0](core::tensors& outputs) mutable {
                             if (++calls % 8 != 0) return;
                             for (auto& [name, t] : outputs)
                               if (t.size() > 1) t.values.storage()[t.size() - 1] = t.values.storage()[t.size() - 2];
                           },
                       .declared = nothing_declared,
                       .remembers = true}),
  };
}

std::vector<variant> setting_mutants() {
  static constexpr std::int64_t right_block = 64, wrong_block = 2;
  return {
      // The remainder of a tile of two tokens is zeroed where a larger tile would end.
      changed_heinsen("mutant/one_tile_size_is_wrong",
                      "state-spaces/mamba#537: under some configurations of the autotuner",
                      "with blocks of 2 tokens the gradient at the last token of an odd length is zeroed",
                      {.outputs =
                           [](core::tensors& outputs, const request& call) {
                             const auto block = call.attributes.find("block");
                             if (!call.operation->is_vjp() || block == call.attributes.end()) return;
                             if (block->second != core::attribute(right_block))
                               zero_odd_last_token(outputs, *call.operation);
                           },
                       .declared =
                           [](description& about) {
                             nothing_declared(about);
                             about.variants["block"] = {right_block, wrong_block};
                           },
                       .representative = true}),
      changed_heinsen("mutant/strides_ignored", "ggml-org/llama.cpp#25568, pytorch/FBGEMM#5761",
                      "h is read in the order in which it lies in memory",
                      {.inputs =
                           [](request& call) {
                             if (call.attributes.contains(strides_variant) && call.inputs.contains("h"))
                               read_as_contiguous(call.inputs.at("h"));
                           },
                       .declared =
                           [](description& about) {
                             nothing_declared(about);
                             about.variants[strides_variant] = {std::string("transposed")};
                           },
                       .representative = true}),
  };
}

}  // namespace assay::properties::encodings::heinsen
