// An implementation of Heinsen's operations in the plain arithmetic of a dtype, from a recipe.
#pragma once

#include <memory>
#include <utility>

#include "properties/encodings.hpp"
#include "properties/implementation.hpp"
#include "reference/encodings/heinsen.hpp"
#include "reference/oracle.hpp"
#include "reference/readings/rounded.hpp"

namespace assay::properties {

/// `Variant` has `template <class R> static heinsen::recipe<R> recipe()`, `static void edit(request&)`,
/// which may change the inputs of a call, `static void finish(const request&, core::tensors&)`, which may
/// change its outputs, and `static constexpr bool in_double`: f32 computed in f64.
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
    core::tensors outputs = single ? run<core::dtype::f32>(edited) : run<core::dtype::f64>(edited);
    Variant::finish(call, outputs);
    return outputs;
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
  static void finish(const request&, core::tensors&) {}
};

/// One step of a scan: the state after token i.
template <class R>
using scan_step = R (*)(const R& a, const R& state, const R& h, std::size_t i);

/// The correct recipe with another step.
template <class R>
reference::heinsen::recipe<R> with_step(scan_step<R> next) {
  reference::heinsen::recipe<R> how;
  how.scan = [next](reference::const_lane<R> a, reference::const_lane<R> h, const R& s0, reference::lane<R> s) {
    R state = s0;
    for (std::size_t i = 0; i < s.size(); ++i) s[i] = state = next(a[i], state, h[i], i);
  };
  return how;
}

template <class Variant>
std::function<std::unique_ptr<implementation>()> make_heinsen_variant(const char* id) {
  return [id] { return std::make_unique<heinsen_variant<Variant>>(id); };
}

template <class Variant>
variant make_variant(const char* id, const char* models, const char* what) {
  return {id, models, what, make_heinsen_variant<Variant>(id)};
}

}  // namespace assay::properties
