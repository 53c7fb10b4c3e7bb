#include "tools/formula/formula_faults.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "properties/faults/recipe_variant.hpp"
#include "properties/formula_trials.hpp"
#include "reference/formula/arrays.hpp"
#include "reference/formula/edits.hpp"

namespace assay::tools {
namespace {

namespace formula = reference::formula;

// Which steps are edited: in each program those of one operator in one place of the source.
struct edited_place {
  formula_step at;
  formula::op what;
  [[nodiscard]] std::vector<formula::node_id> in(const placed_program& p) const {
    std::vector<formula::node_id> all;
    for (formula::node_id k = 0; k < p.steps.size(); ++k)
      if (p.steps[k] == at && p.made.nodes()[k].what == what) all.push_back(k);
    return all;
  }
};

// What the source calls a node, where it has a name of its own beside that of the step which takes it.
std::string name_in_source(const placed_program& p, formula::node_id k, const formula_step& beside) {
  const formula::node& n = p.made.nodes()[k];
  if (n.what == formula::op::input) return fmt::format("`{}`", n.text);
  if (n.what == formula::op::number) return fmt::format("{:.6g}", n.number);
  const std::string& text = p.steps[k].text;
  const bool is_part = text.size() < beside.text.size() && beside.text.find(text) != std::string::npos;
  return text.empty() || !is_part ? "" : fmt::format("`{}`", text);
}

// "`i - j` (reference.py:7)", "the subtract at reference.py:7"
std::string words_of(const edited_place& place, const formula::node& n) {
  const std::string where =
      fmt::format("{}:{}", std::filesystem::path(place.at.file).filename().string(), place.at.line);
  if (place.at.text.empty()) return fmt::format("the {} at {}", formula::row_of(place.what).name, where);
  return fmt::format("{}`{}` ({})", n.what == formula::op::number ? fmt::format("{:.6g} in ", n.number) : "",
                     place.at.text, where);
}

std::vector<formula::program_edit> edits_at(const placed_program& p, const edited_place& place) {
  const auto named = [&](formula::node_id k) { return name_in_source(p, k, place.at); };
  return formula::edits_of(p.made, place.in(p).front(), named);
}

/// The formula with such an edit, in the plain arithmetic of most code.
class edited_formula final : public properties::implementation {
 public:
  edited_formula(const std::string& id, const core::operation& op, std::shared_ptr<formula_source> source,
                 edited_place place, std::string what)
      : about_(properties::description_of("formula", id)),
        edited_{op, [source = std::move(source), place = std::move(place),
                     what = std::move(what)](const formula::program_sizes& call) {
                  const auto p = source->placed(call);
                  const std::vector<formula::node_id> steps = place.in(*p);
                  if (steps.empty()) return p->made;
                  for (const formula::program_edit& e : edits_at(*p, place))
                    if (e.what == what)
                      if (auto made = formula::with_edit(p->made, steps, e)) return std::move(*made);
                  return p->made;
                }} {
    properties::usual_arithmetic_declared(about_);
  }
  [[nodiscard]] const properties::description& describe() const override { return about_; }
  properties::call_result evaluate(const properties::request& call) override {
    try {
      return formula::evaluate_recorded(edited_, call, about_.precisions_of(call));
    } catch (const formula::evaluation_error& why) {
      return tl::make_unexpected(properties::call_failure{properties::fault::error_reply, why.what()});
    }
  }

 private:
  properties::description about_;
  formula::recorded_operation edited_;
};

}  // namespace

std::vector<properties::variant> formula_faults(const std::shared_ptr<formula_source>& source,
                                                const core::operation& op) {
  constexpr std::size_t most = 512;
  std::vector<properties::variant> all;
  std::vector<edited_place> seen;
  for (const core::attributes& settings : properties::each_setting_of(op)) {
    const core::axis_sizes sizes = properties::with_settings(op, source->about().trial_sizes(), settings);
    const auto p = source->placed({op, settings, sizes});
    for (formula::node_id k = 0; k < p->steps.size() && all.size() < most; ++k) {
      const edited_place place{p->steps[k], p->made.nodes()[k].what};
      const bool is_known = std::ranges::any_of(
          seen, [&](const edited_place& other) { return other.at == place.at && other.what == place.what; });
      if (is_known || place.at.line == 0) continue;
      seen.push_back(place);
      const formula::node& n = p->made.nodes()[k];
      for (const formula::program_edit& e : edits_at(*p, place)) {
        if (!formula::with_edit(p->made, place.in(*p), e)) continue;
        const std::string id =
            fmt::format("mutant/{}/{}_{}/{}", op.name, formula::row_of(place.what).name, seen.size(), e.what);
        all.push_back({id, "", words_of(place, n) + " " + e.words,
                       [=] { return std::make_unique<edited_formula>(id, op, source, place, e.what); }});
      }
    }
  }
  return all;
}

}  // namespace assay::tools
