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

/// The correct recipe, computed as most code computes: f64 in f64, all others in f32, rounded to storage once.
/// Variants change it in one place. `template <class R> heinsen::recipe<R> recipe()`, static or const, may also take
/// the storage dtype.
struct unchanged_heinsen {
  /// The precision of the arithmetic by storage dtype.
  static core::dtype arithmetic(core::dtype storage) {
    return storage == core::dtype::f64 ? core::dtype::f64 : core::dtype::f32;
  }
  /// Whether arithmetic() may be f16 or bf16.
  static constexpr bool narrow = false;
  template <class R>
  static reference::heinsen::recipe<R> recipe() {
    return {};
  }
  /// May change the inputs of a call.
  static void edit(request&) {}
  /// May change its outputs.
  static void finish(const request&, core::tensors&) {}
  /// May change what is said of it: by default, the arithmetic as it is.
  static void declare(description&) {}
};

/// The outputs of a call by a recipe. Defined for R = rounded<f64, f32, f16, bf16>.
template <class R>
core::tensors run_heinsen(const request& call, const reference::heinsen::recipe<R>& how);

/// Compiled in heinsen_recipes.cpp.
extern template core::tensors run_heinsen(const request&,
                                          const reference::heinsen::recipe<reference::rounded<core::dtype::f64>>&);
extern template core::tensors run_heinsen(const request&,
                                          const reference::heinsen::recipe<reference::rounded<core::dtype::f32>>&);
extern template core::tensors run_heinsen(const request&,
                                          const reference::heinsen::recipe<reference::rounded<core::dtype::f16>>&);
extern template core::tensors run_heinsen(const request&,
                                          const reference::heinsen::recipe<reference::rounded<core::dtype::bf16>>&);

/// What every variant of the operations says of itself: all dtypes, deterministic.
description heinsen_description(std::string name);

template <class Variant>
class heinsen_variant final : public implementation {
 public:
  explicit heinsen_variant(std::string name, Variant how = {})
      : about_(heinsen_description(std::move(name))), how_(std::move(how)) {
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
      return run_heinsen<R>(call, how_.template recipe<R>(call.type));
    else
      return run_heinsen<R>(call, how_.template recipe<R>());
  }
  description about_;
  Variant how_;
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

template <class R>
using scan_routine = void (*)(reference::const_lane<R> a, reference::const_lane<R> h, const R& s0,
                              reference::lane<R> s);
/// The correct recipe with another scan.
template <class R>
reference::heinsen::recipe<R> with_scan(scan_routine<R> scan) {
  reference::heinsen::recipe<R> how;
  how.scan = scan;
  return how;
}

template <class R>
using adjoint_routine = void (*)(reference::const_lane<R> a, reference::const_lane<R> h, const R& s0,
                                 reference::const_lane<R> s, reference::const_lane<R> grad_s, const R& grad_last,
                                 reference::scan_gradients<R> grad);
/// The correct recipe with another adjoint.
template <class R>
reference::heinsen::recipe<R> with_adjoint(adjoint_routine<R> adjoint) {
  reference::heinsen::recipe<R> how;
  how.adjoint = adjoint;
  return how;
}

template <class Variant>
variant make_variant(const char* id, const char* models, const char* what) {
  return {id, models, what, [id] { return std::make_unique<heinsen_variant<Variant>>(id); }};
}

}  // namespace assay::properties
