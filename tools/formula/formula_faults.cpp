#include "tools/formula/formula_faults.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "properties/faults/scheme_variant.hpp"
#include "properties/formula_trials.hpp"
#include "reference/formula/arrays.hpp"
#include "reference/formula/edits.hpp"

namespace assay::tools {
namespace {

namespace formula = reference::formula;

// The edited steps: in each program those of one operator at one place in the source.
struct edited_place {
  formula_step step;
  formula::op what;
  [[nodiscard]] std::vector<std::size_t> in(const placed_program& p) const {
    const std::vector<formula::node_place> nodes = formula::all_nodes(p.made);
    std::vector<std::size_t> all;
    for (std::size_t k = 0; k < p.steps.size(); ++k)
      if (p.steps[k] == step && nodes[k].in->nodes()[nodes[k].node].what == what) all.push_back(k);
    return all;
  }
};

// The source text of a node, if it is a part of the text of the step that takes it.
std::string name_in_source(const formula::node& n, const formula_step& own, const formula_step& beside) {
  if (n.what == formula::op::input && own.text.empty()) return fmt::format("`{}`", n.text);
  if (n.what == formula::op::number) return fmt::format("{:.6g}", n.number);
  const bool is_part = own.text.size() < beside.text.size() && beside.text.find(own.text) != std::string::npos;
  return own.text.empty() || !is_part ? "" : fmt::format("`{}`", own.text);
}

// "`i - j` (reference.py:7)", "the subtract at reference.py:7"
std::string words_of(const edited_place& place, const formula::node& n) {
  const std::string where =
      fmt::format("{}:{}", std::filesystem::path(place.step.file).filename().string(), place.step.line);
  if (place.step.text.empty()) return fmt::format("the {} at {}", formula::row_of(place.what).name, where);
  return fmt::format("{}`{}` ({})", n.what == formula::op::number ? fmt::format("{:.6g} in ", n.number) : "",
                     place.step.text, where);
}

std::vector<formula::program_edit> edits_at(const placed_program& p, const edited_place& place) {
  const std::vector<formula::node_place> nodes = formula::all_nodes(p.made);
  const formula::node_place first = nodes[place.in(p).front()];
  const auto named = [&](formula::node_id k) {
    const auto it =
        std::ranges::find_if(nodes, [&](const auto& other) { return other.in == first.in && other.node == k; });
    return name_in_source(first.in->nodes()[k], p.steps[static_cast<std::size_t>(it - nodes.begin())], place.step);
  };
  return formula::edits_of(*first.in, first.node, named);
}

/// The formula with such an edit, in the arithmetic of most code.
class edited_formula final : public properties::implementation {
 public:
  edited_formula(const std::string& id, const core::operation& op, std::shared_ptr<formula_source> source,
                 edited_place place, std::string what)
      : about_(properties::description_of("formula", id)),
        edited_{op, [source = std::move(source), place = std::move(place),
                     what = std::move(what)](const formula::program_sizes& call) {
                  const auto p = source->placed(call);
                  const std::vector<std::size_t> steps = place.in(*p);
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
    const std::vector<formula::node_place> nodes = formula::all_nodes(p->made);
    for (std::size_t k = 0; k < p->steps.size() && all.size() < most; ++k) {
      const formula::node& n = nodes[k].in->nodes()[nodes[k].node];
      const edited_place place{p->steps[k], n.what};
      const bool is_known = std::ranges::any_of(
          seen, [&](const edited_place& other) { return other.step == place.step && other.what == place.what; });
      if (is_known || place.step.line == 0 || place.what == formula::op::input) continue;
      seen.push_back(place);
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
