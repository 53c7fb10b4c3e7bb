#include "tools/formula/formula_host.hpp"

#include <fmt/format.h>

#include <chrono>
#include <mutex>
#include <nlohmann/json.hpp>

#include "properties/formula_tests.hpp"
#include "reference/formula/arrays.hpp"
#include "reference/formula/given_program.hpp"
#include "reference/formula/mathematics.hpp"
#include "reference/formula/owner.hpp"
#include "reference/registry.hpp"
#include "tools/commands.hpp"
#include "tools/transports/child_process.hpp"
#include "tools/transports/python_host.hpp"

namespace assay::tools {
namespace {

using nlohmann::json;
namespace formula = reference::formula;

constexpr auto patience = std::chrono::milliseconds(60'000);

/// The program around the function. Threads ask one after the other.
class formula_host {
 public:
  static core::result<std::shared_ptr<formula_host>> start(const std::string& module, const std::string& function) {
    const std::vector<std::string> words{transports::python_interpreter(), "-B",
                                         (transports::python_package() / "formulas" / "host.py").string(), module,
                                         function};
    transports::child_limits limits;
    limits.line_bytes = std::size_t{64} << 20;
    auto child = transports::child_process::spawn(words, limits);
    if (!child) return tl::make_unexpected(child.error());
    auto host = std::make_shared<formula_host>(std::move(*child), "python:" + module + ":" + function);
    auto greeting = host->ask("");
    if (!greeting) return tl::make_unexpected(greeting.error());
    host->greeting_ = std::move(*greeting);
    return host;
  }
  formula_host(std::unique_ptr<transports::child_process> child, std::string shown)
      : child_(std::move(child)), shown_(std::move(shown)) {}

  [[nodiscard]] const json& greeting() const { return greeting_; }

  formula::program trace(const formula::program_sizes& call) {
    json sizes = json::object(), settings = json::object();
    for (const auto& [axis, size] : call.axes) sizes[axis] = size;
    for (const core::attribute_declaration& a : call.function.attributes)  // a call has more: how its arrays lie
      std::visit([&](const auto& x) { settings[a.name] = x; }, call.settings.at(a.name));
    const auto answer = ask(json{{"ask", "trace"}, {"sizes", sizes}, {"settings", settings}}.dump() + "\n");
    if (!answer) throw formula_fault(answer.error().message);
    auto p = formula::read_given_program((*answer)["program"].dump());
    if (!p) throw formula_fault(fmt::format("{}: {}", shown_, p.error().message));
    return std::move(*p);
  }

 private:
  // An empty text: the greeting. After a fault the child is ended: it may answer late.
  core::result<json> ask(const std::string& text) {
    using outcome = transports::child_process::outcome;
    const std::lock_guard lock(mutex_);
    if (child_ == nullptr) return core::failure(broken_);
    std::string line;
    if (const outcome how = child_->exchange(text, line, patience); how != outcome::line)
      return ended(how == outcome::closed ? "its program ended. " + child_->stderr_tail()
                                          : "no answer within its limits of time and memory");
    json answer = json::parse(line, nullptr, false);
    if (!answer.is_object() || !answer.contains("ok") || !answer["ok"].is_boolean())
      return ended("an answer that is none");
    if (answer["ok"].get<bool>()) return answer;
    return core::failure(fmt::format("the formula {}: {}", shown_,
                                     answer.contains("error") && answer["error"].is_string()
                                         ? answer["error"].get<std::string>()
                                         : "it does not say why"));
  }
  tl::unexpected<core::error> ended(const std::string& why) {
    broken_ = fmt::format("the formula {}: {}", shown_, why);
    child_.reset();
    return core::failure(broken_);
  }

  std::mutex mutex_;
  std::unique_ptr<transports::child_process> child_;
  std::string shown_, broken_{};
  json greeting_{};
};

core::axis_role role_named(const std::string& name) {
  for (const auto role : {core::axis_role::batch, core::axis_role::head, core::axis_role::token, core::axis_role::key,
                          core::axis_role::width})
    if (core::name_of(role) == name) return role;
  return core::axis_role::parameter;
}

core::tensor_declaration input_of(const json& j, const std::map<std::string, core::axis_role>& roles) {
  core::value_domain domain;
  if (!j["low"].is_null()) domain.low = j["low"].get<double>();
  if (!j["high"].is_null()) domain.high = j["high"].get<double>();
  const auto axes = j["axes"].get<std::vector<std::string>>();
  const bool is_of_rows = std::ranges::any_of(axes, [&](const std::string& axis) {
    const auto it = roles.find(axis);
    return it != roles.end() && (it->second == core::axis_role::batch || it->second == core::axis_role::token ||
                                 it->second == core::axis_role::key);
  });
  const core::input_role role = is_of_rows ? core::input_role::value : core::input_role::parameter;
  if (j["type"] == "integer") {
    domain = {std::ceil(std::max(domain.low, -0x1p31)), std::floor(std::min(domain.high, 0x1p31))};
    core::tensor_declaration d = core::integers(j["name"], axes, "", domain, role);
    if (!j["into"].is_null()) d.index_into = j["into"].get<std::string>();
    return d;
  }
  core::tensor_declaration d{.name = j["name"], .axes = axes, .domain = domain, .role = role};
  return d;
}

core::attribute value_of(const json& j) {
  if (j.is_boolean()) return j.get<bool>();
  if (j.is_number_integer()) return j.get<std::int64_t>();
  if (j.is_number()) return j.get<double>();
  return j.get<std::string>();
}

core::attribute_declaration setting_of(const json& j) {
  core::attribute_declaration d{.name = j["name"], .meaning = "", .standard = value_of(j["values"][0]), .values = {}};
  for (const json& value : j["values"]) d.values.push_back(value_of(value));
  const bool is_number = !std::holds_alternative<std::string>(d.standard) && !std::holds_alternative<bool>(d.standard);
  if (is_number) d.low = -0x1p53, d.high = 0x1p53;
  return d;
}

core::operation operation_of(const json& greeting) {
  core::operation op{.name = "formula/" + greeting["name"].get<std::string>(), .source = "a formula of one's own"};
  for (const auto& [axis, role] : greeting["roles"].items()) op.axis_roles[axis] = role_named(role);
  for (const json& j : greeting["inputs"]) op.inputs.push_back(input_of(j, op.axis_roles));
  for (const json& j : greeting["outputs"])
    op.outputs.push_back({.name = j["name"], .axes = j["axes"].get<std::vector<std::string>>()});
  for (const json& j : greeting["settings"]) op.attributes.push_back(setting_of(j));
  // A mean or a maximum of nothing is none.
  op.conflict = [](const core::attributes&, const core::axis_sizes& sizes) -> std::string {
    const auto empty = std::ranges::find_if(sizes, [](const auto& axis) { return axis.second == 0; });
    return empty == sizes.end() ? "" : "the axis " + empty->first + " is empty";
  };
  return op;
}

// Of one row and head, and of two of all else.
std::string mathematics_of(formula_host& host, const core::operation& op) {
  core::axis_sizes sizes;
  for (const std::string& axis : core::axis_symbols(op)) {
    const core::axis_role role = core::role_of(op, axis);
    sizes[axis] = role == core::axis_role::batch || role == core::axis_role::head ? 1 : 2;
  }
  const core::attributes settings = core::completed(op, {});
  return formula::as_mathematics(host.trace({op, settings, sizes}));
}

}  // namespace

bool is_hosted_formula(const std::string& spec) {
  const std::string place = spec.starts_with("python:") ? spec.substr(7) : "";
  const std::size_t colon = place.rfind(':');
  return colon != std::string::npos && colon != 0 && colon + 1 != place.size();
}

int telling_of_formula(const std::string& spec, const std::function<int()>& run) {
  try {
    return run();
  } catch (const formula_fault& broken) {
    return complain(broken.what()), candidate_broke;
  } catch (const formula::evaluation_error& broken) {
    if (spec.empty()) throw;
    return complain(fmt::format("the formula {}: {}", spec, broken.what())), candidate_broke;
  } catch (const core::contract_violation& broken) {
    if (spec.empty()) throw;
    return complain(fmt::format("the formula {}: {}", spec, broken.what())), candidate_broke;
  }
}

core::result<judged_formula> add_hosted_formula(const std::string& spec) {
  ASSAY_EXPECTS(is_hosted_formula(spec));
  const std::string place = spec.substr(7);
  const std::size_t colon = place.rfind(':');
  try {
    auto host = formula_host::start(place.substr(0, colon), place.substr(colon + 1));
    if (!host) return tl::make_unexpected(host.error());
    const core::operation op = operation_of((*host)->greeting());
    reference::add_formula_owner(std::make_unique<formula::program_owner>(
        "formula",
        core::encoding_summary{.what = "a formula of one's own", .formula = "as its function has it", .sources = {}},
        std::vector<formula::recorded_operation>{
            {op, [host = *host](const formula::program_sizes& call) { return host->trace(call); }}}));
    properties::install_formula_tests();
    const json& told = (*host)->greeting();
    return judged_formula{spec, told["sha256"], told["captured"], op.name, mathematics_of(**host, op)};
  } catch (const formula_fault& wrong) {
    return core::failure(wrong.what());
  } catch (const core::contract_violation& wrong) {
    return core::failure(fmt::format("the formula {}: {}", spec, wrong.what()));
  } catch (const json::exception& wrong) {
    return core::failure(fmt::format("the formula {}: its host says what is none: {}", spec, wrong.what()));
  }
}

}  // namespace assay::tools
