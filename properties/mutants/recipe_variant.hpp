// Implementations in the plain arithmetic of a dtype, each from a recipe of its encoding: mutants and controls.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "properties/encodings.hpp"
#include "properties/implementation.hpp"
#include "reference/oracle.hpp"
#include "reference/readings/rounded.hpp"

namespace assay::properties {

/// The correct recipe, computed as most code computes: f64 in f64, all others in f32, rounded to storage once.
/// Variants change it in one place. `template <class R> Encoding::recipe<R> recipe()`, static or const, may also take
/// the storage dtype.
template <class Encoding>
struct unchanged {
  /// The precision of the arithmetic by storage dtype.
  static core::dtype arithmetic(core::dtype storage) {
    return storage == core::dtype::f64 ? core::dtype::f64 : core::dtype::f32;
  }
  /// Whether arithmetic() may be f16 or bf16.
  static constexpr bool narrow = false;
  template <class R>
  static typename Encoding::template recipe<R> recipe() {
    return {};
  }
  /// May change the inputs of a call.
  static void edit(request&) {}
  /// May change its outputs.
  static void finish(const request&, core::tensors&) {}
  /// May change what is said of it: by default, the arithmetic as it is.
  static void declare(description&) {}
};

/// The outputs of a call by a recipe; R is rounded<f64>, <f32>, <f16> or <bf16>.
template <class Encoding, class R>
core::tensors run_recipe(const request& call, const typename Encoding::template recipe<R>& how) {
  core::tensors out;
  for (const auto& [name, f] : Encoding::template evaluate<R>(reference::lift<R>(call), how)) {
    core::tensor t =
        core::zeros(call.operation->output(name)->type_in(call.type), {f.shape().begin(), f.shape().end()});
    for (std::size_t i = 0; i < f.size(); ++i) t.values.storage()[i] = core::round_to(t.type, f.storage()[i].number);
    out.emplace(name, std::move(t));
  }
  return out;
}

/// What every variant of an encoding's operations says of itself: all dtypes, deterministic.
description description_of(std::string_view encoding, std::string name);

template <class Encoding, class Variant>
class recipe_variant final : public implementation {
 public:
  explicit recipe_variant(std::string name, Variant how = {})
      : about_(description_of(Encoding::name, std::move(name))), how_(std::move(how)) {
    for (const core::dtype t : core::floating_dtypes) about_.compute[t] = Variant::arithmetic(t);
    Variant::declare(about_);
  }
  [[nodiscard]] const description& describe() const override { return about_; }

  call_result evaluate(const request& call) override {
    request edited = call;
    Variant::edit(edited);
    core::tensors outputs = run(edited);
    Variant::finish(call, outputs);
    return outputs;
  }

 private:
  core::tensors run(const request& call) const {
    const core::dtype precision = Variant::arithmetic(call.type);
    if constexpr (Variant::narrow) {
      if (precision == core::dtype::f16) return run_in<core::dtype::f16>(call);
      if (precision == core::dtype::bf16) return run_in<core::dtype::bf16>(call);
    }
    return precision == core::dtype::f64 ? run_in<core::dtype::f64>(call) : run_in<core::dtype::f32>(call);
  }
  template <core::dtype Precision>
  core::tensors run_in(const request& call) const {
    using R = reference::rounded<Precision>;
    if constexpr (requires { how_.template recipe<R>(call.type); })
      return run_recipe<Encoding, R>(call, how_.template recipe<R>(call.type));
    else
      return run_recipe<Encoding, R>(call, how_.template recipe<R>());
  }
  description about_;
  Variant how_;
};

template <class Encoding, class Variant>
variant make_variant_of(const char* id, const char* models, const char* what) {
  return {id, models, what, [id] { return std::make_unique<recipe_variant<Encoding, Variant>>(id); }};
}

}  // namespace assay::properties
