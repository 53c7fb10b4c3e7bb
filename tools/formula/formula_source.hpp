// The user formula against which a process judges: its description, and its programs by sizes and settings. A host
// answers for them, or a record of a host's answers does.
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

/// A formula failed while a gate ran: it cannot be traced at some sizes, hangs or crashes. No candidate is at fault.
struct formula_fault : reference::no_answer {
  using no_answer::no_answer;
};

/// The part of a function's source to which a node belongs.
struct formula_step {
  std::string file{};
  int line = 0;
  std::string text{};  ///< the expression; empty if it is not known
  friend bool operator==(const formula_step&, const formula_step&) = default;
};
/// A program, with the step of each of its nodes; empty steps if they are not known.
struct placed_program {
  reference::formula::program made;
  std::vector<formula_step> steps{};
  std::vector<reference::formula::program> other_ways{};  ///< other programs of the same function (assay.same_as)
};

class formula_source {
 public:
  explicit formula_source(judged_formula about) : about_(std::move(about)) {}
  formula_source(const formula_source&) = delete;
  formula_source& operator=(const formula_source&) = delete;
  virtual ~formula_source() = default;

  [[nodiscard]] const judged_formula& about() const { return about_; }
  /// Stores what its host does not know (properties/formula_trials.hpp) under "found".
  void finds(nlohmann::json found) { about_.says["found"] = std::move(found); }
  /// Whether its programs come with their steps.
  [[nodiscard]] virtual bool tells_steps() const { return false; }
  /// The program of a call; may be called from many threads. Throws formula_fault if there is none.
  std::shared_ptr<const placed_program> placed(const reference::formula::program_sizes& call);
  reference::formula::program trace(const reference::formula::program_sizes& call) {
    const auto p = placed(call);
    return call.form == 0 ? p->made : p->other_ways.at(call.form - 1);
  }
  /// Inputs that its own function draws, by seed: see operation::drawn. Throws formula_fault if that fails.
  core::tensors draw(const core::operation& op, core::dtype type, const core::attributes& settings,
                     const core::axis_sizes& sizes, std::uint64_t seed);
  /// The known programs that checks of a call may need: at sizes up to twice those of the call, with any settings; at
  /// most 64, those at the sizes of the call first.
  [[nodiscard]] nlohmann::json programs_within(const core::request& call);

 protected:
  /// For {"sizes": {"n": 3}, "settings": {"window": 3}} returns {"program": assay-program/1}. If steps are known, also
  /// "steps", each [file, line, expression], and "step_of", the step of each node; and "other_ways", programs. Throws
  /// formula_fault if there is no program.
  virtual nlohmann::json answer_to(const nlohmann::json& question) = 0;
  /// For {"sizes": ..., "settings": ..., "seed": 1} returns {"inputs": {"table": [0, 3, ...]}}, row by row.
  virtual nlohmann::json draws_for(const nlohmann::json& question) = 0;
  void has_program_for(const nlohmann::json& question);
  judged_formula about_;  ///< complete once the source is added

 private:
  [[nodiscard]] placed_program placed_in(const nlohmann::json& answer) const;
  std::mutex mutex_;
  std::set<std::string> known_;
  std::deque<std::pair<std::string, std::shared_ptr<const placed_program>>> recent_programs_;
};

/// Adds the operation "formula/NAME" of the source to the registry, and families of its inputs by rule. Call it once,
/// before the first look-up of an operation. An error if the source declares no operation. `tells_growth`: errors are
/// reported by the number of tokens, or else of keys.
core::result<void> add_formula_source(std::shared_ptr<formula_source> source, bool tells_growth = false);

/// The data with which another process can judge these calls without the function: {"spec": ..., "says": {...},
/// "programs": [...]}. Null if this process has no formula. Calls of other operations are ignored.
nlohmann::json formula_record(const std::vector<const core::request*>& calls);

/// Adds the formula of such a record, or adds its programs to those of an earlier record of the same formula. The
/// record is not trusted.
core::result<void> add_recorded_formula(const nlohmann::json& record);

/// The formula of this process, if any.
const judged_formula* formula_of_process();
/// Its program at the smallest sizes, as mathematics. Precondition: there is a formula. Throws formula_fault if it has
/// no program.
std::string mathematics_of_formula();

}  // namespace assay::tools
