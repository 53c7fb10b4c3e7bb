// An implementation of Heinsen's operations in the plain arithmetic of a dtype, from a recipe.
#pragma once

#include <memory>
#include <utility>

#include "properties/implementation.hpp"
#include "reference/encodings/heinsen.hpp"
#include "reference/oracle.hpp"
#include "reference/readings/rounded.hpp"

namespace assay::properties {

/// `Variant` has `template <class R> static heinsen::recipe<R> recipe()`, `static void edit(request&)`,
/// which may change the inputs of a call, and `static constexpr bool in_double`: f32 computed in f64.
template <class Variant>
class heinsen_variant final : public implementation {
 public:
  explicit heinsen_variant(std::string name) {
    about_.name = std::move(name);
    about_.version = "1";
    about_.deterministic = true;
    for (const core::operation& op : reference::operations())
      if (op.name.starts_with("heinsen/")) about_.operations[op.name] = {core::dtype::f64, core::dtype::f32};
  }
  [[nodiscard]] const description& describe() const override { return about_; }

  call_result evaluate(const request& call) override {
    request edited = call;
    Variant::edit(edited);
    const bool single = call.type == core::dtype::f32 && !Variant::in_double;
    return single ? run<core::dtype::f32>(edited) : run<core::dtype::f64>(edited);
  }

 private:
  template <core::dtype Arithmetic>
  static core::tensors run(const request& call) {
    using R = reference::rounded<Arithmetic>;
    core::tensors out;
    for (const auto& [name, f] : reference::heinsen::evaluate<R>(call.operation->name, reference::lift<R>(call.inputs),
                                                                 Variant::template recipe<R>())) {
      core::tensor t = core::zeros(call.type, {f.shape().begin(), f.shape().end()});
      for (std::size_t i = 0; i < f.size(); ++i)
        t.values.storage()[i] = core::round_to(call.type, f.storage()[i].number);
      out.emplace(name, std::move(t));
    }
    return out;
  }
  description about_;
};

/// The correct recipe, which variants change in one place.
struct unchanged_heinsen {
  static constexpr bool in_double = false;
  template <class R>
  static reference::heinsen::recipe<R> recipe() {
    return {};
  }
  static void edit(request&) {}
};

template <class Variant>
std::function<std::unique_ptr<implementation>()> make_heinsen_variant(const char* id) {
  return [id] { return std::make_unique<heinsen_variant<Variant>>(id); };
}

}  // namespace assay::properties
