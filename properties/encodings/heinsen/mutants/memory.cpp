// Mutants that remember earlier calls. Their first call is right.
#include "properties/encodings/heinsen/mutants/mutants.hpp"
#include "properties/encodings/heinsen/mutants/recipes.hpp"

namespace assay::properties::encodings::heinsen {
namespace {

/// What a mutant keeps between its calls.
struct memory {
  std::size_t calls = 0;
  std::map<std::string, core::tensors> outputs;  ///< the last ones, by operation
};

/// The outputs of a call, given those of the correct recipe and of one that sums in another order.
using answer = core::tensors (*)(memory& kept, const request& call, implementation& right, implementation& reordered);

struct doubling : unchanged_heinsen {
  template <class R>
  static reference::encodings::heinsen::recipe<R> recipe() {
    reference::encodings::heinsen::recipe<R> how;
    how.scan = reference::doubling_tree_scan<R>;
    how.adjoint = reference::scan_adjoint<reference::exp_form, R>;
    return how;
  }
};

class remembering_heinsen final : public implementation {
 public:
  remembering_heinsen(const char* name, answer respond)
      : about_(description_of("heinsen", name)), right_("right"), reordered_("reordered"), respond_(respond) {}
  [[nodiscard]] const description& describe() const override { return about_; }
  call_result evaluate(const request& call) override {
    ++kept_.calls;
    core::tensors outputs = respond_(kept_, call, right_, reordered_);
    kept_.outputs[call.operation->name] = outputs;
    return outputs;
  }

 private:
  description about_;
  recipe_variant<unchanged_heinsen> right_;
  recipe_variant<doubling> reordered_;
  answer respond_;
  memory kept_;
};

bool same_shapes(const core::tensors& x, const core::tensors& y) {
  return x.size() == y.size() && std::equal(x.begin(), x.end(), y.begin(), [](const auto& a, const auto& b) {
           return a.second.type == b.second.type && a.second.shape() == b.second.shape();
         });
}

// A new sequence (s0 = -inf) in a row that an earlier call used starts from what that call left there.
core::tensors state_of_earlier_call(memory& kept, const request& call, implementation& right, implementation&) {
  request edited = call;
  const auto before = kept.outputs.find(call.operation->name);
  if (before != kept.outputs.end() && before->second.contains("s_n")) {
    const core::tensor& s_n = before->second.at("s_n");
    core::tensor& s0 = edited.inputs.at("s0");
    if (s_n.type == s0.type && s_n.shape() == s0.shape())
      for (std::size_t k = 0; k < s0.size(); ++k)
        if (std::isinf(s0.values.storage()[k])) s0.values.storage()[k] = s_n.values.storage()[k];
  }
  return right.evaluate(edited).value();
}

// The order of combination depends on which block finishes first: here, on the parity of the call.
core::tensors order_of_the_day(memory& kept, const request& call, implementation& right, implementation& reordered) {
  return (kept.calls % 2 == 0 ? reordered : right).evaluate(call).value();
}

// From the 41st call on, the buffer of the call before is handed out where it has the right size.
core::tensors buffer_reused(memory& kept, const request& call, implementation& right, implementation&) {
  core::tensors outputs = right.evaluate(call).value();
  const auto before = kept.outputs.find(call.operation->name);
  const bool fits = before != kept.outputs.end() && same_shapes(before->second, outputs);
  return kept.calls > 40 && fits ? before->second : outputs;
}

// A race between two blocks: in one call of eight the last lane misses its last update.
core::tensors lost_update(memory& kept, const request& call, implementation& right, implementation&) {
  core::tensors outputs = right.evaluate(call).value();
  if (kept.calls % 8 != 0) return outputs;
  for (auto& [name, t] : outputs)
    if (t.size() > 1) t.values.storage()[t.size() - 1] = t.values.storage()[t.size() - 2];
  return outputs;
}

variant remembering(const char* id, answer respond, const char* models, const char* what) {
  variant v{id, models, what, [id, respond] { return std::make_unique<remembering_heinsen>(id, respond); }};
  v.remembers = true;
  return v;
}

}  // namespace

std::vector<variant> memory_mutants() {
  return {
      remembering("mutant/state_of_earlier_call", state_of_earlier_call, "ST16 vllm-project/vllm-ascend#10558",
                  "an empty initial state becomes what an earlier call left"),
      remembering("mutant/order_of_the_day", order_of_the_day, "ND04 NVIDIA/thrust#1587, ND03 state-spaces/mamba#827",
                  "the order of combination changes from call to call"),
      remembering("mutant/buffer_reused", buffer_reused, "IX06 ggml-org/llama.cpp#16412",
                  "from the 41st call on, results of the call before are returned where the shapes agree"),
      remembering("mutant/lost_update", lost_update, "ND01 fla-org/flash-linear-attention#945",
                  "in one call of eight the last lane misses an update"),
  };
}

}  // namespace assay::properties::encodings::heinsen
