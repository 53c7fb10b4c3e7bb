// The verdict rule for one element (verdict.hpp states it).
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "properties/harness/verdict.hpp"
#include "reference/error_bound.hpp"
#include "reference/other_answers.hpp"

namespace assay::properties {

constexpr std::size_t widest = reference::accuracy_classes.size() - 1;
constexpr std::size_t sequential = static_cast<std::size_t>(reference::accuracy_class::sequential);

// Compares elements of one output with their truths and with their allowances under each class.
class element_judge {
 public:
  element_judge(const expectation& e, const reference::allowances& laws, const std::string& name)
      : storage_(e.call.operation->output(name)->type_in(e.call.type)),
        compute_(e.compute.unit()),
        truth_(e.truth.at(name)),
        scales_(scales_of(e, name)),
        law_(laws.at(name)),
        last_law_(&laws == e.first_laws.get() ? sequential : widest),
        about_(e),
        name_(name) {}

  // The ratios of error to law, infinite for a wrong special value; the class slack is not yet applied.
  [[nodiscard]] std::array<double, widest + 1> ratios(double x, std::size_t i) const {
    std::array<double, widest + 1> r{};
    if (is_other_answer(x, i)) return r;
    const double rounded = truth_.rounded.values.storage()[i], truth = truth_.truth(i);
    if (truth_.rung[i] == reference::undecided && std::isinf(rounded) && std::isinf(truth_.radius.storage()[i]))
      return r;  // no precision decides the truth
    if (!std::isfinite(truth)) {
      r.fill(core::same_value(x, truth) ? 0.0 : infinity);
      return r;
    }
    const double error = std::isnan(x) ? infinity : proved_error(x, i), half_ulp = half_ulp_at(truth);
    const double beyond_rounding = error - half_ulp;
    for (std::size_t c = 0; c <= widest; ++c) {
      if (c > last_law_) {
        r[c] = r[c - 1];
        continue;
      }
      const double k = law_.k[c].storage()[i];
      if (reference::is_not_judged(storage_, k, truth)) {
        r[c] = 0.0;
      } else if (std::isnan(x)) {
        r[c] = infinity;
      } else if (std::isinf(x) || std::isinf(rounded)) {
        // Beyond the largest number, infinity and the number are both right if the allowance reaches there (an
        // unbounded allowance means "any finite answer").
        const double reach =
            k == infinity ? std::fabs(truth) : std::fabs(truth) + reference::bug_bound(storage_, compute_, k, truth);
        const bool overflow_explained =
            reach >= core::largest_finite(storage_) && std::signbit(x) == std::signbit(truth);
        r[c] = std::isinf(x) ? (overflow_explained ? 0.0 : infinity)
                             : quotient(beyond_rounding, reference::allowed_by(compute_, k, truth));
      } else {
        r[c] = quotient(adds_rounding(c) ? beyond_rounding : error, reference::allowed_by(compute_, k, truth));
      }
    }
    return r;
  }

  // The part of the error that remains for any truth inside its enclosure.
  double proved_error(double x, std::size_t i) const {
    return std::max(0.0, std::fabs(truth_.error_of(x, i)) - truth_.radius.storage()[i]);
  }

  // Whether x is another right answer than the truth (reference/other_answers.hpp).
  [[nodiscard]] bool is_other_answer(double x, std::size_t i) const {
    const double truth = truth_.truth(i);
    const bool may_be =
        std::isnan(x) ? std::isfinite(truth) : truth == 0.0 && x != 0.0 && about_.call.operation->is_forward();
    if (!may_be) return false;
    const reference::other_answers& all = others();
    if (all.nan.empty()) return false;
    if (std::isnan(x)) return all.nan[i] != 0;
    if (all.number.empty() || std::isnan(all.number[i])) return false;
    return std::fabs(x - all.number[i]) <= reference::bug_bound(storage_, compute_, all.k[i], all.number[i]);
  }

  // The error in ulp of the output's scale; 0 if either number is not finite, and for another right answer.
  double error_in_ulp(double x, std::size_t i) const {
    if (is_other_answer(x, i) || !std::isfinite(truth_.truth(i)) || !std::isfinite(x)) return 0.0;
    return proved_error(x, i) / ulp_at(i);
  }

  // The largest error that each class's law still explains, in the unit of error_in_ulp. Precondition: the
  // truth is finite.
  std::array<double, widest + 1> laws_in_ulp(std::size_t i) const {
    std::array<double, widest + 1> allowed{};
    for (std::size_t c = 0; c <= widest; ++c) {
      if (c > last_law_) {
        allowed[c] = allowed[c - 1];
        continue;
      }
      const double k = law_.k[c].storage()[i];
      allowed[c] =
          reference::class_bound(reference::accuracy_classes[c], storage_, compute_, k, truth_.truth(i)) / ulp_at(i);
    }
    return allowed;
  }

  element_report report(const std::string& name, double x, std::size_t i, double ratio) const {
    const double truth = truth_.truth(i), error = proved_error(x, i);
    return {name,
            i,
            truth_.rounded.values.storage()[i],
            x,
            error,
            error_in_ulp(x, i),
            allowed_error(storage_, compute_, law_.k[widest].storage()[i], truth),
            ratio};
  }

 private:
  [[nodiscard]] const reference::other_answers& others() const {
    if (!others_) {
      auto all = reference::other_answers_of(about_.call, about_.truth);
      const auto answers = all.find(name_);
      others_ = answers == all.end() ? reference::other_answers{} : std::move(answers->second);
    }
    return *others_;
  }
  [[nodiscard]] bool adds_rounding(std::size_t c) const {
    return reference::adds_final_rounding(reference::accuracy_classes[c], storage_, compute_);
  }

  static constexpr double infinity = std::numeric_limits<double>::infinity();
  static double quotient(double x, double y) { return x <= 0.0 ? 0.0 : y > 0.0 ? x / y : infinity; }

  // The ulp of the element's scale; 1 in integer dtypes.
  double ulp_at(std::size_t i) const {
    if (!core::is_floating(storage_)) return 1.0;
    return 2.0 * half_ulp_at(scales_[i]);
  }
  // Half an ulp of a finite number; 0 in integer dtypes.
  [[nodiscard]] double half_ulp_at(double x) const {
    return core::is_floating(storage_) ? core::half_ulp(format_, x) : 0.0;
  }

  core::dtype storage_, compute_;
  core::float_format format_ = core::is_floating(storage_) ? core::format_of(storage_) : core::float_format{};
  const reference::certified& truth_;
  std::vector<double> scales_;
  const reference::allowance& law_;
  std::size_t last_law_;  // the laws after it are the same
  const expectation& about_;
  std::string name_;
  mutable std::optional<reference::other_answers> others_{};  // found when it is first needed
};

}  // namespace assay::properties
