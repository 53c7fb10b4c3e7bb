// Encodings of the list whose formulas are programs.
//
// Such an encoding is a type with
//   name, summary()  as a list of encodings shows them
//   scheme           the steps of its formulas, which algorithms and mutants replace: a recorded_scheme
//   formulas()       its operations
// and, where its operations have several algorithms, algorithm(c).
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "reference/formula/owner.hpp"
#include "reference/formula/recording.hpp"

namespace assay::reference {

template <class Scheme>
struct recorded_scheme {
  /// The steps of the gradient where they are not the standard ones.
  std::shared_ptr<const Scheme> of_gradient{};
};

/// An operation of such an encoding, recorded by a scheme.
template <class Scheme>
struct recorded_formula {
  core::operation declaration;
  std::function<formula::program(const Scheme& steps, const formula::program_sizes& sizes)> record;
  std::vector<accuracy_class> algorithms{accuracy_class::sequential};
  std::size_t other_gradients = 0;  ///< see recorded_operation

  [[nodiscard]] formula::recorded_operation by(std::function<formula::program(const formula::program_sizes&)> f) const {
    return {.declaration = declaration,
            .record = std::move(f),
            .algorithms = algorithms,
            .other_gradients = other_gradients};
  }
};

template <class Encoding>
typename Encoding::scheme recorded_algorithm(accuracy_class c) {
  if constexpr (requires { Encoding::algorithm(c); })
    return Encoding::algorithm(c);
  else
    return {};
}

template <class Encoding>
std::vector<formula::recorded_operation> recorded_operations() {
  std::vector<formula::recorded_operation> all;
  for (const auto& f : Encoding::formulas()) {
    all.push_back(f.by([record = f.record](const formula::program_sizes& sizes) {
      return record(recorded_algorithm<Encoding>(sizes.algorithm), sizes);
    }));
  }
  return all;
}

/// The operations recorded by the scheme of a variant.
template <class Encoding>
std::vector<formula::recorded_operation> operations_by_scheme(const typename Encoding::scheme& steps) {
  using scheme = typename Encoding::scheme;
  const scheme of_gradient = steps.of_gradient ? *steps.of_gradient : scheme{};
  std::vector<formula::recorded_operation> all;
  for (const auto& f : Encoding::formulas()) {
    all.push_back(f.by([record = f.record, steps, of_gradient](const formula::program_sizes& sizes) {
      return record(sizes.is_of_gradient ? of_gradient : steps, sizes);
    }));
  }
  return all;
}

}  // namespace assay::reference
