#include "tools/formula/formula_operation.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <regex>
#include <set>

#include "reference/formula/program.hpp"

namespace assay::tools {
namespace {

using nlohmann::json;

core::axis_role role_named(const std::string& name) {
  for (const auto role : {core::axis_role::batch, core::axis_role::head, core::axis_role::token, core::axis_role::key,
                          core::axis_role::width})
    if (core::name_of(role) == name) return role;
  return core::axis_role::parameter;
}

core::value_rule rule_named(const std::string& name) {
  constexpr std::pair<const char*, core::value_rule> rules[] = {{"unit", core::value_rule::unit},
                                                                {"sorted", core::value_rule::ascending},
                                                                {"offsets", core::value_rule::offsets},
                                                                {"one in each row", core::value_rule::one_in_each_row}};
  for (const auto& [word, rule] : rules)
    if (name == word) return rule;
  return core::value_rule::none;
}

core::tensor_declaration input_of(const json& j, const std::map<std::string, core::axis_role>& roles, bool is_drawn) {
  core::value_domain domain;
  if (!j.at("low").is_null()) domain.low = j.at("low").get<double>();
  if (!j.at("high").is_null()) domain.high = j.at("high").get<double>();
  const auto axes = j.at("axes").get<std::vector<std::string>>();
  const bool is_of_rows = std::ranges::any_of(axes, [&](const std::string& axis) {
    const auto it = roles.find(axis);
    return it != roles.end() && (it->second == core::axis_role::batch || it->second == core::axis_role::token ||
                                 it->second == core::axis_role::key);
  });
  const core::input_role role = is_of_rows ? core::input_role::value : core::input_role::parameter;
  core::tensor_declaration d{.name = j.at("name"), .axes = axes, .domain = domain, .role = role};
  if (j.at("type") == "boolean") d = core::truths(d.name, axes, "", role);
  if (j.at("type") == "integer") {
    domain = {std::ceil(std::max(domain.low, -0x1p31)), std::floor(std::min(domain.high, 0x1p31))};
    d = core::integers(d.name, axes, "", domain, role);
    if (!j.at("into").is_null()) d.index_into = j.at("into").get<std::string>();
  }
  d.rule = rule_named(j.value("rule", ""));
  if (is_drawn) d.rule = core::value_rule::as_drawn;
  return d;
}

core::attribute value_of(const json& j) {
  if (j.is_boolean()) return j.get<bool>();
  if (j.is_number_integer()) return j.get<std::int64_t>();
  if (j.is_number()) return j.get<double>();
  return j.get<std::string>();
}

core::attribute_declaration setting_of(const json& j) {
  core::attribute_declaration d{
      .name = j.at("name"), .meaning = "", .standard = value_of(j.at("values").at(0)), .values = {}};
  for (const json& value : j.at("values")) d.values.push_back(value_of(value));
  const bool is_number = !std::holds_alternative<std::string>(d.standard) && !std::holds_alternative<bool>(d.standard);
  if (is_number) d.low = -0x1p53, d.high = 0x1p53;
  d.axis = j.at("axis").get<std::string>();
  if (!d.axis.empty()) d.low = 1, d.high = 0x1p24;
  return d;
}

// A mean or a maximum over nothing does not exist.
std::string conflict_of(const std::map<std::string, std::string>& multiples, const core::axis_sizes& sizes) {
  const auto empty = std::ranges::find_if(sizes, [](const auto& axis) { return axis.second == 0; });
  if (empty != sizes.end()) return "the axis " + empty->first + " is empty";
  for (const auto& [axis, divisor] : multiples) {
    const auto other = sizes.find(divisor);
    const std::size_t factor = other != sizes.end() ? other->second : std::stoul(divisor);
    if (sizes.at(axis) % factor != 0)
      return fmt::format("{} = {} is no multiple of {}", axis, sizes.at(axis),
                         other == sizes.end() ? divisor : fmt::format("{} = {}", divisor, factor));
  }
  return "";
}

// A setting that is the size of an axis takes only its declared values.
std::string no_declared_size(const std::map<std::string, std::vector<core::attribute>>& counts,
                             const core::axis_sizes& sizes) {
  for (const auto& [axis, values] : counts)
    if (const core::attribute own = static_cast<std::int64_t>(sizes.at(axis));
        std::ranges::find(values, own) == values.end())
      return fmt::format("{} = {} is not among its values", axis, sizes.at(axis));
  return "";
}

// Whether an array of the program would be too large.
std::string beyond_an_array(const std::vector<std::vector<std::string>>& arrays, const core::axis_sizes& sizes) {
  for (const std::vector<std::string>& axes : arrays) {
    double elements = 1;
    for (const std::string& axis : axes) {
      const auto it = sizes.find(axis);
      elements *= it != sizes.end() ? static_cast<double>(it->second) : std::strtod(axis.c_str(), nullptr);
    }
    if (elements > static_cast<double>(reference::formula::most_elements))
      return fmt::format("an array of {} has {:.0f} elements, and a program's have {} at most", fmt::join(axes, " x "),
                         elements, reference::formula::most_elements);
  }
  return "";
}

// Loops are traced turn by turn. Loops that are not rolled up are written out, and their gradient is three times as
// large.
std::string beyond_a_program(const std::vector<std::string>& looped, const std::vector<int>& powers, bool is_rolled,
                             std::size_t operations, const core::axis_sizes& sizes) {
  constexpr std::size_t most_traced = std::size_t{1} << 18;
  const std::size_t most = is_rolled ? most_traced : reference::formula::most_nodes / 4;
  std::size_t turns = 1;
  for (std::size_t k = 0; k < looped.size(); ++k)
    for (int p = 0; p < powers.at(k); ++p) turns = std::min(turns * std::min(sizes.at(looped[k]), most), most);
  if (looped.empty() || turns <= most / std::max<std::size_t>(operations, 1)) return "";
  return fmt::format("a loop along {} has {} turns or more, of about {} operations, and a program {} at most",
                     fmt::join(looped, " and "), turns, operations, most);
}

}  // namespace

namespace {

// Checks the names in the first line of a host: a record of one may come from anywhere.
void check_names(const core::operation& op, const json& says) {
  const auto refuse = [](const std::string& why) { throw core::contract_violation(why); };
  const std::set<std::string> symbols = core::axis_symbols(op);
  const std::regex plain(R"([1-9][0-9]{0,3}|([1-9][0-9]?)?[A-Za-z_]\w*(\+[0-9]{1,3})?)"),
      made(R"([0-9]{0,8}|([0-9]{0,4})[A-Za-z_]\w*(\+[0-9]{1,3}|\*[A-Za-z_]\w*|/[1-9][0-9]{0,3})?)"),
      name(R"([A-Za-z_]\w*)");
  constexpr std::size_t longest = 64;  // std::regex recurses as deep as a text is long
  const auto check_axes = [&](const core::tensor_declaration& d, const std::regex& form) {
    for (const std::string& axis : d.axes) {
      if (axis.size() > longest || !std::regex_match(axis, form))
        refuse("'" + axis + "' is no axis of '" + d.name + "'");
      for (std::sregex_iterator it(axis.begin(), axis.end(), name), end; it != end; ++it)
        if (!symbols.contains(it->str())) refuse("there is no axis '" + it->str() + "'");
    }
  };
  for (const core::tensor_declaration& d : op.inputs) {
    check_axes(d, plain);
    if (d.rule != core::value_rule::none && d.axes.empty()) refuse("'" + d.name + "' has no rows");
    if (!d.index_into.empty() && !symbols.contains(d.index_into)) refuse("there is no axis '" + d.index_into + "'");
  }
  for (const core::tensor_declaration& d : op.outputs) check_axes(d, made);
  for (const core::stage_declaration& s : op.stages)
    if (s.name.size() > longest || s.meaning.size() > 4 * longest || !std::regex_match(s.name, name))
      refuse("'" + s.name + "' is no stage");
  if (op.stages.size() > 64) refuse("it has too many stages");
  for (const auto& [axis, divisor] : says.at("multiples").get<std::map<std::string, std::string>>()) {
    const bool is_number = divisor.size() <= 6 && std::regex_match(divisor, std::regex("[1-9][0-9]{0,5}"));
    if (!symbols.contains(axis) || (!is_number && !symbols.contains(divisor)))
      refuse("'" + axis + "' is no multiple of '" + divisor + "'");
  }
  const auto looped = says.at("turns").at("axes").get<std::vector<std::string>>();
  for (const std::string& axis : looped)
    if (!symbols.contains(axis)) refuse("there is no axis '" + axis + "'");
  const auto powers = says.at("turns").at("powers").get<std::vector<int>>();
  if (powers.size() != looped.size() || std::ranges::any_of(powers, [](int p) { return p < 1 || p > 3; }))
    refuse("its loops have no such turns");
}

}  // namespace

core::operation operation_of_formula(const json& says) {
  core::operation op{.name = "formula/" + says.at("name").get<std::string>(), .source = "a formula of one's own"};
  for (const auto& [axis, role] : says.at("roles").items()) op.axis_roles[axis] = role_named(role);
  const auto drawn = says.at("drawn").get<std::set<std::string>>();
  for (const json& j : says.at("inputs"))
    op.inputs.push_back(input_of(j, op.axis_roles, drawn.contains(j.at("name").get<std::string>())));
  for (const json& j : says.at("outputs"))
    op.outputs.push_back({.name = j.at("name"), .axes = j.at("axes").get<std::vector<std::string>>()});
  for (const json& j : says.at("settings")) op.attributes.push_back(setting_of(j));
  for (const json& j : says.at("stages"))
    op.stages.push_back({.name = j.at("name"), .meaning = j.at("meaning"), .narrow = j.at("narrow").get<bool>()});
  check_names(op, says);
  std::map<std::string, std::vector<core::attribute>> counts;
  for (const core::attribute_declaration& a : op.attributes)
    if (!a.axis.empty()) counts[a.axis] = a.values;
  op.conflict = [counts, multiples = says.at("multiples").get<std::map<std::string, std::string>>(),
                 looped = says.at("turns").at("axes").get<std::vector<std::string>>(),
                 arrays = says.at("arrays").get<std::vector<std::vector<std::string>>>(),
                 powers = says.at("turns").at("powers").get<std::vector<int>>(),
                 is_rolled = says.at("turns").at("rolled").get<bool>(),
                 operations = says.at("turns").at("operations").get<std::size_t>()](const core::attributes&,
                                                                                    const core::axis_sizes& sizes) {
    std::string why = conflict_of(multiples, sizes);
    if (why.empty()) why = no_declared_size(counts, sizes);
    if (why.empty()) why = beyond_an_array(arrays, sizes);
    return why.empty() ? beyond_a_program(looped, powers, is_rolled, operations, sizes) : why;
  };
  return op;
}

}  // namespace assay::tools
