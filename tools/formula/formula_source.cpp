#include "tools/formula/formula_source.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "properties/formula_tests.hpp"
#include "properties/formula_trials.hpp"
#include "reference/formula/given_program.hpp"
#include "reference/formula/mathematics.hpp"
#include "reference/oracle.hpp"
#include "reference/registry.hpp"
#include "tools/formula/formula_faults.hpp"
#include "tools/formula/formula_operation.hpp"

namespace assay::tools {
namespace {

using nlohmann::json;
namespace formula = reference::formula;

std::shared_ptr<formula_source> source_of_process;

json question_of(const core::operation& op, const core::attributes& settings, const core::axis_sizes& axes) {
  json sizes = json::object(), named = json::object();
  for (const auto& [axis, size] : axes) sizes[axis] = size;
  for (const core::attribute_declaration& a : op.attributes)  // a call has one more: the layout of its arrays
    std::visit([&](const auto& x) { named[a.name] = x; }, settings.at(a.name));
  return {{"sizes", sizes}, {"settings", named}};
}

/// A source from a record of a host's answers.
class recorded_source final : public formula_source {
 public:
  using formula_source::formula_source;
  void add(const json& programs) {
    for (const json& one : programs) {
      const json question{{"sizes", one.at("sizes")}, {"settings", one.at("settings")}};
      kept_[question.dump()] = {{"program", one.at("program")}, {"other_ways", one.at("other_ways")}};
      has_program_for(question);
    }
  }

 private:
  json answer_to(const json& question) override {
    const auto it = kept_.find(question.dump());
    if (it != kept_.end()) return it->second;
    throw formula_fault(fmt::format("the record of the formula {} has no program for {}: --formula asks the function",
                                    about_.spec, question.dump()));
  }
  json draws_for(const json&) override {
    throw formula_fault(
        fmt::format("inputs of the formula {} are drawn by a function: --formula asks it", about_.spec));
  }
  std::map<std::string, json> kept_;
};

std::shared_ptr<recorded_source> recorded_of_process;

}  // namespace

std::shared_ptr<const placed_program> formula_source::placed(const formula::program_sizes& call) {
  const json question = question_of(call.function, call.settings, call.axes);
  const std::string text = question.dump();
  {
    const std::lock_guard lock(mutex_);
    const auto it = std::ranges::find_if(recent_programs_, [&](const auto& one) { return one.first == text; });
    if (it != recent_programs_.end()) return it->second;
  }
  auto made = std::make_shared<const placed_program>(placed_in(answer_to(question)));
  has_program_for(question);
  const std::lock_guard lock(mutex_);
  recent_programs_.emplace_front(text, made);
  constexpr std::size_t most_recent = 256;
  if (recent_programs_.size() > most_recent) recent_programs_.pop_back();
  return made;
}

core::tensors formula_source::draw(const core::operation& op, core::dtype type, const core::attributes& settings,
                                   const core::axis_sizes& sizes, std::uint64_t seed) {
  core::tensors inputs;
  for (const core::tensor_declaration& d : op.inputs)
    if (d.rule == core::value_rule::as_drawn)
      inputs.emplace(d.name, core::zeros(d.type_in(type), core::shape_of(d, sizes)));
  if (op.conflict && !op.conflict(settings, sizes).empty()) return inputs;
  json question = question_of(op, settings, sizes);
  question["seed"] = seed;
  const json answer = draws_for(question);
  for (auto& [name, t] : inputs) {
    const json& values = answer.at("inputs").at(name);
    if (!values.is_array() || values.size() != t.size())
      throw formula_fault(
          fmt::format("{}: it draws {} numbers for '{}', which has {}", about_.spec, values.size(), name, t.size()));
    for (std::size_t i = 0; i < t.size(); ++i)
      t.values.storage()[i] = core::round_to(
          t.type, values[i].is_string() ? std::stod(values[i].get<std::string>()) : values[i].get<double>());
  }
  return inputs;
}

placed_program formula_source::placed_in(const json& answer) const {
  const auto read = [&](const json& program) {
    auto p = formula::read_given_program(program.dump());
    if (!p) throw formula_fault(fmt::format("{}: {}", about_.spec, p.error().message));
    return std::move(*p);
  };
  placed_program made{read(answer.at("program"))};
  for (const json& other : answer.at("other_ways")) made.other_ways.push_back(read(other));
  if (made.other_ways.size() != about_.other_ways.size()) throw formula_fault(about_.spec + ": ways are missing");
  if (!answer.contains("steps")) return made;
  for (const json& k : answer.at("step_of")) {
    const json& step = answer.at("steps").at(k.get<std::size_t>());
    made.steps.push_back({step.at(0), step.at(1), step.at(2)});
  }
  if (made.steps.size() != made.made.nodes_in_all()) throw formula_fault(about_.spec + ": steps are missing");
  return made;
}

void formula_source::has_program_for(const json& question) {
  const std::lock_guard lock(mutex_);
  known_.insert(question.dump());
}

json formula_source::programs_within(const core::request& call) {
  if (!call.operation->name.starts_with("formula/")) return json::array();
  const core::operation_name name(call.operation->name);
  const core::operation& op = *reference::find_operation(name.forward);
  const json call_question = question_of(op, core::completed(*call.operation, call.attributes), core::sizes_of(call));
  // A law may ask for other settings, for smaller sizes, and for up to twice the sizes.
  const auto is_near = [&](const json& question) {
    return std::ranges::all_of(question["sizes"].items(), [&](const auto& one) {
      return call_question["sizes"].contains(one.key()) &&
             one.value() <= 2 * call_question["sizes"][one.key()].template get<std::size_t>();
    });
  };
  std::vector<json> questions;
  {
    const std::lock_guard lock(mutex_);
    for (const std::string& text : known_)
      if (json question = json::parse(text); is_near(question)) questions.push_back(std::move(question));
  }
  constexpr std::size_t most = 64;
  std::ranges::stable_sort(questions, {}, [&](const json& q) { return q["sizes"] == call_question["sizes"] ? 0 : 1; });
  if (questions.size() > most) questions.resize(most);
  json programs = json::array();
  for (json& question : questions) {
    json answer = answer_to(question);
    for (const char* part : {"program", "other_ways"}) question[part] = std::move(answer.at(part));
    programs.push_back(std::move(question));
  }
  return programs;
}

namespace {

json found_by_trials(const formula::recorded_operation& r, const core::axis_sizes& sizes) {
  const properties::lost_digits lost = properties::lost_by_steps(r, sizes);
  return {{"independent", properties::independent_axes(r, sizes)}, {"loses", lost.factor}, {"on", lost.family}};
}

}  // namespace

core::result<void> add_formula_source(std::shared_ptr<formula_source> source, bool tells_growth) {
  const judged_formula& about = source->about();
  try {
    formula::recorded_operation made{operation_of_formula(about.says),
                                     [source](const formula::program_sizes& call) { return source->trace(call); }};
    made.is_of_any_steps = true;
    if (tells_growth)
      for (const core::error_growth& growth : {core::with_keys, core::with_tokens})
        if (!core::axis_with(made.declaration, *growth.along).empty()) made.declaration.grows_with = growth;
    if (!about.says.at("drawn").empty())
      made.declaration.drawn = [source, op = made.declaration](core::dtype type, const core::attributes& settings,
                                                               const core::axis_sizes& sizes, std::uint64_t seed) {
        return source->draw(op, type, settings, sizes, seed);
      };
    made.other_ways = about.other_ways.size();
    if (source->tells_steps()) source->finds(found_by_trials(made, about.trial_sizes()));
    const json& found = about.says.at("found");
    made.declaration.independent = found.at("independent");
    if (!found.at("loses").is_number() || !found.at("on").is_string())
      return core::failure(fmt::format("the formula {}: it does not say what it loses", about.spec));
    for (std::size_t form = 1; source->tells_steps() && form <= made.other_ways; ++form)
      if (const std::string why = properties::difference_of_way(made, form, about.trial_sizes()); !why.empty())
        return core::failure(fmt::format("{} is not the same function as the formula {}: {}",
                                         about.other_ways[form - 1], about.spec, why));
    const core::operation op = made.declaration;
    reference::add_formula_owner(std::make_unique<formula::program_owner>(
        "formula",
        core::encoding_summary{.what = "a formula of one's own", .formula = "as its function has it", .sources = {}},
        std::vector<formula::recorded_operation>{std::move(made)}));
    properties::install_formula_tests([source, op] {
      return source->tells_steps() ? formula_faults(source, op) : std::vector<properties::variant>{};
    });
    source_of_process = std::move(source);
    return {};
  } catch (const core::contract_violation& wrong) {
    return core::failure(fmt::format("the formula {}: {}", about.spec, wrong.what()));
  } catch (const json::exception& wrong) {
    return core::failure(fmt::format("the formula {}: its description is malformed: {}", about.spec, wrong.what()));
  }
}

json formula_record(const std::vector<const core::request*>& calls) {
  if (source_of_process == nullptr) return {};
  json programs = json::array();
  for (const core::request* call : calls)
    for (json& one : source_of_process->programs_within(*call))
      if (std::ranges::find(programs, one) == programs.end()) programs.push_back(std::move(one));
  return {{"spec", source_of_process->about().spec},
          {"says", source_of_process->about().says},
          {"programs", std::move(programs)}};
}

core::result<void> add_recorded_formula(const json& record) {
  try {
    const json& says = record.at("says");
    if (recorded_of_process == nullptr) {
      auto source = std::make_shared<recorded_source>(judged_formula::that_says(record.at("spec"), says));
      if (auto ok = add_formula_source(source); !ok) return ok;
      recorded_of_process = std::move(source);
    } else if (says.at("sha256") != recorded_of_process->about().sha256) {
      return core::failure("it is of another formula");
    }
    recorded_of_process->add(record.at("programs"));
    return {};
  } catch (const std::exception& wrong) {
    return core::failure(fmt::format("its formula is no record of one: {}", wrong.what()));
  }
}

judged_formula judged_formula::that_says(std::string spec, json says) {
  judged_formula f{.spec = std::move(spec), .says = std::move(says)};
  f.sha256 = f.says.at("sha256");
  f.captured = f.says.at("captured");
  f.other_ways = f.says.at("other_ways");
  f.operation = "formula/" + f.says.at("name").get<std::string>();
  return f;
}

core::axis_sizes judged_formula::trial_sizes() const { return says.at("sizes").get<core::axis_sizes>(); }

// At one row and one head, two of every other axis, and as many turns of a loop as are needed to show it as a loop.
std::string mathematics_of_formula() {
  const core::operation& op = *reference::find_operation(source_of_process->about().operation);
  core::axis_sizes sizes;
  for (const std::string& axis : core::axis_symbols(op)) {
    const core::axis_role role = core::role_of(op, axis);
    sizes[axis] = role == core::axis_role::batch || role == core::axis_role::head ? 1 : 2;
    const json& turns = source_of_process->about().says.at("turns");
    if (turns.at("rolled").get<bool>() && std::ranges::find(turns.at("axes"), json(axis)) != turns.at("axes").end())
      sizes[axis] = 8;
  }
  const core::attributes settings = core::completed(op, {});
  if (op.conflict && !op.conflict(settings, sizes).empty()) sizes = source_of_process->about().trial_sizes();
  sizes = properties::with_settings(op, sizes, settings);
  return formula::as_mathematics(source_of_process->trace({op, settings, sizes}));
}

const judged_formula* formula_of_process() {
  return source_of_process == nullptr ? nullptr : &source_of_process->about();
}

}  // namespace assay::tools
