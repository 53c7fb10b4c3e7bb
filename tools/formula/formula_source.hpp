// The formula of one's own that a process judges against: what it says of itself, and its programs by sizes and
// settings. A host answers for them, or a record of what a host answered.
#pragma once

#include <deque>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>

#include "reference/formula/owner.hpp"
#include "tools/report/report.hpp"

namespace assay::tools {

/// A formula broke while a gate ran: it cannot be traced at some sizes, hangs or dies. No candidate is at fault.
struct formula_fault : reference::no_answer {
  using no_answer::no_answer;
};

/// What of a function's source a node is of.
struct formula_step {
  std::string file{};
  int line = 0;
  std::string text{};  ///< the expression; empty where it is not told
  friend bool operator==(const formula_step&, const formula_step&) = default;
};
/// A program, and the step that each of its nodes is of; no steps where they are not known.
struct placed_program {
  reference::formula::program made;
  std::vector<formula_step> steps{};
  std::vector<reference::formula::program> other_ways{};  ///< of the same function (assay.same_as)
};

class formula_source {
 public:
  explicit formula_source(judged_formula about) : about_(std::move(about)) {}
  formula_source(const formula_source&) = delete;
  formula_source& operator=(const formula_source&) = delete;
  virtual ~formula_source() = default;

  [[nodiscard]] const judged_formula& about() const { return about_; }
  /// What its host does not know (properties/formula_trials.hpp), under "found".
  void finds(nlohmann::json found) { about_.says["found"] = std::move(found); }
  /// Whether its programs come with their steps.
  [[nodiscard]] virtual bool tells_steps() const { return false; }
  /// The program of a call, from many threads. A formula_fault where there is none.
  std::shared_ptr<const placed_program> placed(const reference::formula::program_sizes& call);
  reference::formula::program trace(const reference::formula::program_sizes& call) {
    const auto p = placed(call);
    return call.form == 0 ? p->made : p->other_ways.at(call.form - 1);
  }
  /// Inputs that its own function draws, by seed: see operation::drawn. A formula_fault where it breaks.
  core::tensors draw(const core::operation& op, core::dtype type, const core::attributes& settings,
                     const core::axis_sizes& sizes, std::uint64_t seed);
  /// The programs that were there of such settings, of these sizes and of smaller ones: what checks of a call ask.
  [[nodiscard]] nlohmann::json programs_within(const core::request& call);

 protected:
  /// Of {"sizes": {"n": 3}, "settings": {"window": 3}}: {"program": assay-program/1}, and where they are known "steps",
  /// [file, line, expression] each, and "step_of", which of them each node is of; "other_ways", programs. A
  /// formula_fault where there is none.
  virtual nlohmann::json answer_to(const nlohmann::json& question) = 0;
  /// Of {"sizes": ..., "settings": ..., "seed": 1}: {"inputs": {"table": [0, 3, ...]}}, row by row.
  virtual nlohmann::json draws_for(const nlohmann::json& question) = 0;
  void has_program_for(const nlohmann::json& question);
  judged_formula about_;  ///< complete once the source is added

 private:
  [[nodiscard]] placed_program placed_in(const nlohmann::json& answer) const;
  std::mutex mutex_;
  std::set<std::string> known_;
  std::deque<std::pair<std::string, std::shared_ptr<const placed_program>>> of_late_;
};

/// Adds the operation "formula/NAME" of what the source says to the registry, and families of its inputs by rule.
/// Before the first look-up of an operation, and once. An error where it declares no operation. `tells_growth`:
/// its errors are asked for by the number of its tokens, or else of its keys.
core::result<void> add_formula_source(std::shared_ptr<formula_source> source, bool tells_growth = false);

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
