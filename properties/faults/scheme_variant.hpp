// Implementations in the plain arithmetic of a dtype that differ from the right one in one place: mutants and controls.
#pragma once

#include <concepts>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "properties/harness/catalogue.hpp"
#include "properties/harness/implementation.hpp"
#include "reference/oracle.hpp"
#include "reference/run_scheme.hpp"

namespace assay::properties {

/// Changes a subject in place: f(subject), or f(subject, context) if the change needs the context.
template <class Subject, class Context>
struct change_of : std::function<void(Subject&, Context)> {
  using function = std::function<void(Subject&, Context)>;
  change_of() = default;
  template <std::invocable<Subject&> F>
  change_of(F f) : function([f](Subject& subject, Context) mutable { f(subject); }) {}
  template <std::invocable<Subject&, Context> F>
  change_of(F f) : function(std::move(f)) {}
};
/// The steps of a derived gradient; empty if a scheme has a gradient of its own.
template <class Scheme>
struct gradient_steps {
  struct type {};
};
template <class Scheme>
requires requires(const Scheme& scheme) { scheme.of_gradient; }
struct gradient_steps<Scheme> {
  using type = std::remove_const_t<typename decltype(Scheme::of_gradient)::element_type>;
};
/// A change of the steps of a gradient alone.
template <class Scheme>
using gradient_change = change_of<typename gradient_steps<Scheme>::type, core::dtype>;
/// A change of the steps of a formula, which may depend on the dtype of the call. A generic change, `[](auto& scheme) {
/// ... }`, also changes the derived gradient, as in automatic differentiation; any other change leaves the gradient
/// right.
template <class Scheme>
struct scheme_change : change_of<Scheme, core::dtype> {
  gradient_change<Scheme> in_gradient{};

  scheme_change() = default;
  template <class F>
  scheme_change(F f) : change_of<Scheme, core::dtype>(f) {
    if constexpr (std::constructible_from<gradient_change<Scheme>, F>) in_gradient = gradient_change<Scheme>(f);
  }
};
/// The precision of the arithmetic in one storage dtype: a dtype, or one for each stage.
using arithmetic_rule = declared_precision (*)(core::dtype storage);
/// The arithmetic of most code: f64 for f64, f32 for all others, rounded to storage once.
inline declared_precision f32_or_wider(core::dtype storage) {
  return storage == core::dtype::f64 ? core::dtype::f64 : core::dtype::f32;
}
inline declared_precision in_storage(core::dtype storage) { return storage; }
inline declared_precision in_f64(core::dtype) { return core::dtype::f64; }
/// f16 and bf16 as common frameworks compute them, each stage in its own format.
inline declared_precision in_usual_stages(core::dtype) { return {}; }
/// The arithmetic of most code, with one stage in another dtype; the variant does not declare it.
inline declared_precision with_stage_in(core::dtype own, const char* stage, const std::vector<std::string>& others,
                                        core::dtype storage) {
  declared_precision all;
  for (const std::string& other : others) all.stages[other] = *f32_or_wider(storage).all;
  all.stages[stage] = own;
  return all;
}
inline void usual_arithmetic_declared(description& about) {
  for (const core::dtype t : core::floating_dtypes) about.compute[t] = f32_or_wider(t);
}
/// A variant that declares no precision: the gate then assumes in_usual_stages.
inline void nothing_declared(description& about) { about.compute.clear(); }

/// The changes of one variant of an encoding to the right scheme. Parts that are left out stay right. Each
/// implementation has copies: a mutable lambda remembers earlier calls.
template <class Encoding>
struct variation {
  scheme_change<reference::plain_scheme<Encoding>> formula{};
  gradient_change<reference::plain_scheme<Encoding>> gradient{};  ///< if the gradient is derived
  std::function<void(request& call)> inputs{};                    ///< changes the call before it is made
  /// Changes its outputs afterwards; the request is the original one.
  change_of<core::tensors, const request&> outputs{};
  arithmetic_rule arithmetic = f32_or_wider;
  /// Changes what it declares about itself, if that is more than its arithmetic.
  std::function<void(description& about)> declared{};
  core::dtype shown_in = core::dtype::f32;  ///< see `variant`
  bool remembers = false;                   ///< see `variant`
  bool representative = false;              ///< see `variant`
};

/// The description of every variant of an encoding's operations: all dtypes, deterministic.
description description_of(std::string_view encoding, std::string name);

/// All operations of the encoding, with the changes.
template <class Encoding>
class scheme_variant final : public implementation {
 public:
  explicit scheme_variant(std::string name, variation<Encoding> changes = {})
      : about_(description_of(Encoding::name, std::move(name))), changes_(std::move(changes)) {
    for (const core::dtype t : core::floating_dtypes) about_.compute[t] = changes_.arithmetic(t);
    computed_ = about_;
    if (changes_.declared) changes_.declared(about_);
  }
  [[nodiscard]] const description& describe() const override { return about_; }

  call_result evaluate(const request& call) override {
    request edited = call;
    if (changes_.inputs) changes_.inputs(edited);
    core::tensors outputs = computed(edited, call.type);
    if (changes_.outputs) changes_.outputs(outputs, call);
    return outputs;
  }

 private:
  using steps = reference::plain_scheme<Encoding>;

  steps scheme_of(core::dtype type) {
    steps scheme;
    if (changes_.formula) changes_.formula(scheme, type);
    if constexpr (requires { scheme.of_gradient; }) {
      const auto of_gradient = std::make_shared<typename gradient_steps<steps>::type>();
      if (changes_.formula.in_gradient) changes_.formula.in_gradient(*of_gradient, type);
      if (changes_.gradient) changes_.gradient(*of_gradient, type);
      scheme.of_gradient = of_gradient;
    }
    return scheme;
  }
  core::tensors computed(const request& edited, core::dtype type) {
    const core::precisions formats = computed_.precisions_of(edited);
    if constexpr (reference::is_recorded<Encoding>) {
      auto& owner = owners_[type];
      if (!owner) owner = reference::owner_by_scheme<Encoding>(scheme_of(type));
      return owner->evaluate_in(edited, formats, reference::accuracy_class::sequential);
    } else {
      return reference::run_scheme<Encoding>(edited, scheme_of(type), formats);
    }
  }

  description about_, computed_;  // what it declares, and how it really computes
  variation<Encoding> changes_;
  // Owners of programs, by storage dtype.
  std::map<core::dtype, std::unique_ptr<const reference::formula_owner>> owners_{};
};

/// `id` is "mutant/NAME" or "control/NAME"; `models` is the public report (owner/name#issue), or what a control does
/// differently; `summary` is the fault in one sentence.
template <class Encoding>
variant make_variant(std::string id, const char* models, std::string summary, variation<Encoding> changes) {
  const auto make = [id, changes]() -> std::unique_ptr<implementation> {
    return std::make_unique<scheme_variant<Encoding>>(id, changes);
  };
  return {std::move(id), models, std::move(summary), make, changes.shown_in, changes.remembers, changes.representative};
}

/// The lists joined into one.
inline std::vector<variant> all_of(std::vector<std::vector<variant>> lists) {
  std::vector<variant> all;
  for (std::vector<variant>& list : lists)
    for (variant& v : list) all.push_back(std::move(v));
  return all;
}

}  // namespace assay::properties
