#include "properties/encodings/alibi/mutants/mutants.hpp"

#include <algorithm>
#include <cmath>

#include "properties/encodings/alibi/mutants/recipes.hpp"
#include "properties/faults/several_encodings.hpp"
#include "reference/encodings/attention.hpp"

namespace assay::properties::encodings::alibi {
namespace {

using namespace reference;  // the recipes below are written in its vocabulary
using namespace reference::encodings;

template <class R>
R negated_product(const R& slope, const R& c) {
  return -(slope * c);
}
struct bias_of_wrong_sign : unchanged_alibi {
  template <class R>
  static reference::encodings::alibi::recipe<R> recipe() {
    reference::encodings::alibi::recipe<R> how;
    how.product = negated_product<R>;
    return how;
  }
};
// The correct recipe with another coefficient of the slope.
template <class R, class Coefficient>
reference::encodings::alibi::recipe<R> with_coefficient(Coefficient coefficient) {
  reference::encodings::alibi::recipe<R> how;
  how.coefficient = [coefficient](const alibi_form& form, double query, double key) {
    return from_integer<R>(coefficient(form, query, key));
  };
  return how;
}
struct key_form_in_both_directions : unchanged_alibi {
  template <class R>
  static reference::encodings::alibi::recipe<R> recipe() {
    return with_coefficient<R>([](const alibi_form& form, double query, double key) {
      return form.name == "absolute" ? key - query : form.coefficient(query, key);
    });
  }
};
struct key_forms_of_wrong_sign : unchanged_alibi {
  template <class R>
  static reference::encodings::alibi::recipe<R> recipe() {
    return with_coefficient<R>([](const alibi_form& form, double query, double key) {
      const double c = form.coefficient(query, key);
      return form.name.starts_with("key") ? -c : c;
    });
  }
};
struct distance_from_one : unchanged_alibi {
  template <class R>
  static reference::encodings::alibi::recipe<R> recipe() {
    return with_coefficient<R>([](const alibi_form& form, double query, double key) {
      return form.coefficient(query, key) - (form.name == "distance" || form.name == "absolute" ? 1.0 : 0.0);
    });
  }
};
struct distance_in_storage_dtype : unchanged_alibi {
  template <class R>
  static reference::encodings::alibi::recipe<R> recipe(core::dtype storage) {
    return with_coefficient<R>([storage](const alibi_form& form, double query, double key) {
      return core::round_to(storage, form.coefficient(query, key));
    });
  }
};
struct window_of_keys : unchanged_alibi {
  template <class R>
  static reference::encodings::alibi::recipe<R> recipe() {
    return with_coefficient<R>([](const alibi_form& form, double query, double key) {
      return std::max(form.coefficient(query, key), -256.0);
    });
  }
};

// Keys are counted as they lie in memory, and queries as the last of them, wherever their tokens stand.
struct indices_for_positions : unchanged_alibi {
  static void edit(request& call) {
    if (!call.inputs.contains("key_position")) return;
    auto& queries = call.inputs.at("query_position").values.storage();
    auto& keys = call.inputs.at("key_position").values.storage();
    for (std::size_t j = 0; j < keys.size(); ++j) keys[j] = static_cast<double>(j);
    for (std::size_t i = 0; i < queries.size(); ++i)
      queries[i] = static_cast<double>(keys.size() + i) - static_cast<double>(queries.size());
  }
};

struct causal_ignored : unchanged_alibi {
  template <class R>
  static reference::encodings::alibi::recipe<R> recipe() {
    reference::encodings::alibi::recipe<R> how;
    how.hides = [](const alibi_form&, double, double) { return false; };
    return how;
  }
};
struct own_key_masked : unchanged_alibi {
  template <class R>
  static reference::encodings::alibi::recipe<R> recipe() {
    reference::encodings::alibi::recipe<R> how;
    how.hides = [](const alibi_form& form, double query, double key) { return form.causal && key >= query; };
    return how;
  }
};
struct mask_is_finite : unchanged_alibi {
  static void finish(const request& call, core::tensors& outputs) {
    if (call.operation->name != "alibi/bias") return;
    for (double& x : outputs.at("bias").values.storage())
      if (std::isinf(x) && x < 0) x = core::round_to(call.type, -10000);
  }
};
struct keys_by_queries : unchanged_alibi {
  static void finish(const request& call, core::tensors& outputs) {
    if (call.operation->name != "alibi/bias") return;
    core::tensor& bias = outputs.at("bias");
    const core::tensor right = bias;
    const std::size_t n = bias.shape()[1], m = bias.shape()[2];
    for (std::size_t k = 0; k < bias.size(); ++k)
      bias.values.storage()[k] = right.values.storage()[k / (n * m) * n * m + k % n * m + k / n % m];
  }
};
struct masked_pairs_in_gradient : unchanged_alibi {
  static void edit(request& call) {
    if (call.operation->is_vjp()) call.attributes["causal"] = false;
  }
};
struct gradient_of_wrong_sign : unchanged_alibi {
  static void finish(const request& call, core::tensors& outputs) {
    if (!call.operation->is_vjp()) return;
    for (double& x : outputs.at("grad_slopes").values.storage()) x = -x;
  }
};

// The backward pass of the distance form multiplies by i - j.
struct distance_gradient_of_wrong_sign : unchanged_alibi {
  static void finish(const request& call, core::tensors& outputs) {
    if (!call.operation->is_vjp()) return;
    if (core::setting<std::string>(core::completed(*call.operation, call.attributes), "form") != "distance") return;
    for (double& x : outputs.at("grad_slopes").values.storage()) x = -x;
  }
};

// The interpolation factor is applied to slopes that are kept, at every call.
class rescaled_at_every_call final : public implementation {
 public:
  explicit rescaled_at_every_call(const char* name) : about_(description_of("alibi", name)) {}
  [[nodiscard]] const description& describe() const override { return about_; }
  call_result evaluate(const request& call) override {
    request edited = call;
    if (const auto slopes = edited.inputs.find("slopes"); slopes != edited.inputs.end()) {
      for (double& m : slopes->second.values.storage()) m *= factor_;
      factor_ /= 2;
    }
    return right_.evaluate(edited);
  }

 private:
  description about_;
  recipe_variant<unchanged_alibi> right_{"right"};
  double factor_ = 1;
};

}  // namespace

std::vector<variant> mutants() {
  static constexpr const char* rescaled = "mutant/alibi_rescaled_at_every_call";
  std::vector<variant> all{
      make_variant<bias_of_wrong_sign>("mutant/alibi_wrong_sign", "meta-pytorch/attention-gym#86",
                                       "the bias grows with distance"),
      make_variant<key_form_in_both_directions>("mutant/alibi_key_form_in_both_directions",
                                                "AL09 bigscience-workshop/Megatron-DeepSpeed#101",
                                                "a bias linear in the key's position where the distance is meant"),
      make_variant_beside<key_forms_of_wrong_sign, reference::encodings::attention>(
          "mutant/alibi_key_forms_of_wrong_sign", "meta-pytorch/attention-gym#86: in the key forms alone",
          "near keys weigh less where the form is that of the key"),
      make_variant<distance_from_one>("mutant/alibi_distance_from_one",
                                      "Press, Smith and Lewis 2022, section 3, whose indices begin at 1",
                                      "the nearest key has the distance 1"),
      make_variant<distance_in_storage_dtype>(
          "mutant/alibi_distance_in_storage_dtype", "EleutherAI/gpt-neox, positional_embeddings.py",
          "distances are rounded to the dtype of the scores before they are multiplied"),
      make_variant<window_of_keys>("mutant/alibi_window", "a table of 256 distances, the last one repeated",
                                   "distances beyond 256 count as 256"),
      make_variant<indices_for_positions>("mutant/alibi_indices_for_positions", "AL05 lucidrains/x-transformers#242",
                                          "keys and queries are counted, those of a masked memory too"),
      make_variant<causal_ignored>("mutant/alibi_causal_ignored", "AL09 Dao-AILab/flash-attention#540",
                                   "the mask is left out"),
      make_variant<own_key_masked>("mutant/alibi_own_key_masked", "SC04 triton-lang/triton#8412: off by one",
                                   "the query's own key is masked"),
      make_variant<mask_is_finite>("mutant/alibi_mask_is_finite", "a mask of -10000, as early code has it",
                                   "-10000 instead of -inf"),
      make_variant<keys_by_queries>("mutant/alibi_keys_by_queries", "SC04 triton-lang/triton#8412: axes",
                                    "the bias is written keys by queries"),
      make_variant<masked_pairs_in_gradient>("mutant/alibi_masked_pairs_in_gradient", "GR04 jax-ml/jax#23842",
                                             "cotangents of masked pairs count"),
      make_variant<gradient_of_wrong_sign>("mutant/alibi_gradient_of_wrong_sign",
                                           "meta-pytorch/attention-gym#86: the gradient",
                                           "the gradient of the slopes is negated"),
      make_variant<distance_gradient_of_wrong_sign>(
          "mutant/alibi_distance_gradient_of_wrong_sign", "meta-pytorch/attention-gym#86: the gradient alone",
          "the gradient of the slopes is negated where the form is the distance"),
      {rescaled, "NVIDIA/NeMo: an interpolation factor", "slopes that are kept are halved at every call",
       [] { return std::make_unique<rescaled_at_every_call>(rescaled); }},
  };
  for (auto* others : {precision_mutants, slope_mutants})
    for (variant& v : others()) all.push_back(std::move(v));
  for (variant& v : all) {
    if (v.id == "mutant/alibi_distance_in_storage_dtype") v.shown_in = core::dtype::bf16;
    v.remembers = v.id == rescaled;
  }
  return all;
}

}  // namespace assay::properties::encodings::alibi
