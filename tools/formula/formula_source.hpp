// The formula of one's own that a process judges against: what it says of itself, and its programs by sizes and
// settings. A host answers for them, or a record of what a host answered.
#pragma once

#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>

#include "reference/formula/owner.hpp"
#include "tools/report/report.hpp"

namespace assay::tools {

/// A formula broke while a gate ran: it cannot be traced at some sizes, hangs or dies. No candidate is at fault.
struct formula_fault : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class formula_source {
 public:
  explicit formula_source(judged_formula about) : about_(std::move(about)) {}
  formula_source(const formula_source&) = delete;
  formula_source& operator=(const formula_source&) = delete;
  virtual ~formula_source() = default;

  [[nodiscard]] const judged_formula& about() const { return about_; }
  /// What its host does not know (properties/formula_axes.hpp).
  void finds_independent(const std::vector<std::string>& axes) { about_.says["independent"] = axes; }
  /// The program of a call, from many threads. A formula_fault where there is none.
  reference::formula::program trace(const reference::formula::program_sizes& call);
  /// The programs that were there of such settings, of these sizes and of smaller ones: what checks of a call ask.
  [[nodiscard]] nlohmann::json programs_within(const core::request& call);

 protected:
  /// Of {"sizes": {"n": 3}, "settings": {"window": 3}}: assay-program/1. A formula_fault where there is none.
  virtual nlohmann::json program_for(const nlohmann::json& question) = 0;
  void has_program_for(const nlohmann::json& question);
  judged_formula about_;  ///< complete once the source is added

 private:
  std::mutex mutex_;
  std::set<std::string> known_;
};

/// Adds the operation "formula/NAME" of what the source says to the registry, and families of its inputs by rule.
/// Before the first look-up of an operation, and once. An error where it declares no operation.
core::result<void> add_formula_source(std::shared_ptr<formula_source> source);

/// What judges these calls elsewhere, without the function: {"spec": ..., "says": {...}, "programs": [...]}. Null where
/// this process judges against none. Calls of other operations count for nothing.
nlohmann::json formula_record(const std::vector<const core::request*>& calls);

/// Adds the formula of such a record, or its programs to those of an earlier record of the same formula. Read as if it
/// were hostile.
core::result<void> add_recorded_formula(const nlohmann::json& record);

/// The formula of this process, if any.
const judged_formula* formula_of_process();
/// Its program at the smallest sizes, as mathematics. Precondition: there is one. A formula_fault where it has no
/// program.
std::string mathematics_of_formula();

}  // namespace assay::tools
