// An operation of an encoding as one record: what it declares, how a reading evaluates it and its derivatives, and the
// algorithms that it has.
//
// An encoding that is compiled is a type with
//   name, summary()  as a list of encodings shows them
//   scheme<R>     the steps of its formulas, which algorithms and mutants replace
//   records<R>()  its operations, as operation_record<R, scheme<R>> with designated initialisers
// and, where its operations have several algorithms, `algorithm` and `laws`. Evaluators have no default: a record
// that leaves one out does not compile.
#pragma once

#include <concepts>
#include <string>
#include <utility>
#include <vector>

#include "reference/accuracy_class.hpp"
#include "reference/core/operation.hpp"
#include "reference/formula_owner.hpp"
#include "reference/readings/reading.hpp"
#include "reference/rung_output.hpp"

namespace assay::reference {

/// The outputs of an operation, computed by a scheme in a reading.
template <class R, class Scheme>
class evaluator {
 public:
  using function = fields<R>(const arguments<R>& call, const Scheme& steps);

  template <std::convertible_to<function*> F>
  evaluator(F f) : function_(f) {
    ASSAY_EXPECTS(function_ != nullptr);
  }
  fields<R> operator()(const arguments<R>& call, const Scheme& steps) const { return function_(call, steps); }

 private:
  function* function_;
};

/// Marks that the jvp is not offered as an operation.
struct not_offered_t {};
inline constexpr not_offered_t not_offered{};

/// An evaluator, or none.
template <class R, class Scheme>
class optional_evaluator {
 public:
  template <std::convertible_to<evaluator<R, Scheme>> F>
  optional_evaluator(F f) : evaluator_(evaluator<R, Scheme>(f)) {}
  optional_evaluator(not_offered_t) {}

  [[nodiscard]] bool exists() const { return evaluator_.has_value(); }
  /// Precondition: exists().
  fields<R> operator()(const arguments<R>& call, const Scheme& steps) const {
    ASSAY_EXPECTS(exists());
    return (*evaluator_)(call, steps);
  }

 private:
  std::optional<evaluator<R, Scheme>> evaluator_;
};

/// The algorithms of an operation, by the accuracy classes that are named after them.
class algorithm_list {
 public:
  template <std::same_as<accuracy_class>... Class>
  requires(sizeof...(Class) > 0) algorithm_list(Class... classes) : classes_{classes...} {}
  [[nodiscard]] const std::vector<accuracy_class>& classes() const { return classes_; }

 private:
  std::vector<accuracy_class> classes_;
};

/// The running bounds of an operation and of its derivatives.
struct running_bounds {
  running_bound forward = nullptr, vjp = nullptr, jvp = nullptr;
};

template <class R, class Scheme>
struct operation_record {
  core::operation declaration;
  algorithm_list algorithms;
  evaluator<R, Scheme> forward, vjp;
  optional_evaluator<R, Scheme> jvp;
  running_bounds bounds{};

  [[nodiscard]] bool has(core::derivative kind) const { return kind != core::derivative::jvp || jvp.exists(); }
  fields<R> evaluate(core::derivative kind, const arguments<R>& call, const Scheme& steps) const {
    switch (kind) {
      case core::derivative::none:
        return forward(call, steps);
      case core::derivative::vjp:
        return vjp(call, steps);
      case core::derivative::jvp:
        return jvp(call, steps);
    }
    throw core::contract_violation("there is no such derivative of " + declaration.name);
  }
};

/// The record of an operation that is no derivative. A contract violation where there is none.
template <class Encoding, class R>
const auto& record_of(std::string_view forward) {
  static const auto records = Encoding::template records<R>();
  for (const auto& record : records)
    if (record.declaration.name == forward) return record;
  throw core::contract_violation("no evaluator for the operation '" + std::string(forward) + "'");
}

/// Evaluates the operation that a call names, or its vjp or jvp, by a scheme. A contract violation where there is no
/// such operation.
template <class Encoding, class R>
fields<R> evaluate(const arguments<R>& call, const typename Encoding::template scheme<R>& steps) {
  const core::operation_name name(call.operation);
  return record_of<Encoding, R>(name.forward).evaluate(name.kind, call, steps);
}

/// The operations of an encoding, each followed by its derivatives.
template <class Encoding, class R>
std::vector<declared_operation> declared_operations() {
  std::vector<declared_operation> all;
  for (const auto& record : Encoding::template records<R>()) {
    const core::operation& forward = record.declaration;
    ASSAY_EXPECTS(forward.is_forward() && forward.has_gradient());
    const std::vector<accuracy_class>& algorithms = record.algorithms.classes();
    all.push_back({forward, algorithms, record.bounds.forward});
    all.push_back({core::vjp_of(forward), algorithms, record.bounds.vjp});
    if (record.jvp.exists()) all.push_back({core::jvp_of(forward), algorithms, record.bounds.jvp});
  }
  return all;
}

}  // namespace assay::reference
