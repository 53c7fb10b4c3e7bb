// Mutants that are right as they are and wrong in one of the settings that they offer.
#include "properties/encodings/heinsen/mutants/mutants.hpp"
#include "properties/encodings/heinsen/mutants/recipes.hpp"

namespace assay::properties::encodings::heinsen {
namespace {

/// Right, except where its attribute has the wrong value.
template <class Wrong>
class configured_heinsen final : public implementation {
 public:
  explicit configured_heinsen(const char* name)
      : about_(description_of("heinsen", name)), right_("right"), wrong_("wrong") {
    about_.variants[attribute] = {right_value, wrong_value};
  }
  [[nodiscard]] const description& describe() const override { return about_; }
  call_result evaluate(const request& call) override {
    const auto set = call.attributes.find(attribute);
    if (set == call.attributes.end() || set->second == core::attribute(right_value)) return right_.evaluate(call);
    return wrong_.evaluate(call);
  }

 private:
  static constexpr const char* attribute = "block";
  static constexpr std::int64_t right_value = 64, wrong_value = 2;
  description about_;
  recipe_variant<unchanged_heinsen> right_;
  recipe_variant<Wrong> wrong_;
};

// The remainder of a tile of two tokens is zeroed where a larger tile would end.
struct tile_zeroed_elsewhere : unchanged_heinsen {
  static void finish(const request& call, core::tensors& outputs) {
    if (!call.operation->is_vjp()) return;
    for (auto& [name, t] : outputs) {
      const auto axis = core::axis_of(*call.operation->output(name), "n");
      if (!axis || t.shape()[*axis] % 2 == 0) continue;
      const std::size_t inner = core::stride_of(t.shape(), *axis), tokens = t.shape()[*axis];
      for (std::size_t i = 0; i < t.size(); ++i)
        if (i / inner % tokens == tokens - 1) t.values.storage()[i] = 0.0;
    }
  }
};

}  // namespace

std::vector<variant> setting_mutants() {
  static constexpr const char* id = "mutant/one_tile_size_is_wrong";
  return {{id, "GR27 state-spaces/mamba#537: under some configurations of the autotuner",
           "with blocks of 2 tokens the gradient at the last token of an odd length is zeroed",
           [] { return std::make_unique<configured_heinsen<tile_zeroed_elsewhere>>(id); }}};
}

}  // namespace assay::properties::encodings::heinsen
