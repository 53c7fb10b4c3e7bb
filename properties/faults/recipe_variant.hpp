// Implementations in the plain arithmetic of a dtype, each from a recipe of its encoding: mutants and controls.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "properties/harness/catalogue.hpp"
#include "properties/harness/implementation.hpp"
#include "reference/oracle.hpp"
#include "reference/run_recipe.hpp"

namespace assay::properties {

/// The correct recipe, computed as most code computes: f64 in f64, all others in f32, rounded to storage once.
/// Variants change it in one place. `template <class R> Encoding::recipe<R> recipe()`, static or const, may also take
/// the storage dtype.
template <class Encoding>
struct unchanged {
  using encoding = Encoding;
  /// The precision of the arithmetic by storage dtype: a dtype, or a declared_precision.
  static core::dtype arithmetic(core::dtype storage) {
    return storage == core::dtype::f64 ? core::dtype::f64 : core::dtype::f32;
  }
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

/// What every variant of an encoding's operations says of itself: all dtypes, deterministic.
description description_of(std::string_view encoding, std::string name);

/// All operations of the encoding whose recipe Variant changes.
template <class Variant>
class recipe_variant final : public implementation {
  using encoding = typename Variant::encoding;

 public:
  explicit recipe_variant(std::string name, Variant how = {})
      : about_(description_of(encoding::name, std::move(name))), how_(std::move(how)) {
    for (const core::dtype t : core::floating_dtypes) about_.compute[t] = Variant::arithmetic(t);
    computed_ = about_;
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
    using R = reference::rounded;
    const reference::computing_in formats(computed_.precisions_of(call));
    if constexpr (requires { how_.template recipe<R>(call.type); })
      return reference::run_recipe<encoding>(call, how_.template recipe<R>(call.type));
    else
      return reference::run_recipe<encoding>(call, how_.template recipe<R>());
  }
  description about_, computed_;  // what it says, and what is so
  Variant how_;
};

/// Right: f16 and bf16 as common frameworks compute them, each stage in its own format, of which nothing is declared.
template <class Encoding>
struct usual_stages : unchanged<Encoding> {
  static declared_precision arithmetic(core::dtype) { return {}; }
  static void declare(description& about) { about.compute.clear(); }
};

template <class Variant>
variant make_variant(const char* id, const char* models, const char* what) {
  return {id, models, what, [id] { return std::make_unique<recipe_variant<Variant>>(id); }};
}

}  // namespace assay::properties
