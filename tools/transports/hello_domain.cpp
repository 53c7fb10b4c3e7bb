#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "golden/formats/attributes_json.hpp"
#include "properties/harness/steering.hpp"
#include "reference/oracle.hpp"
#include "tools/transports/hello.hpp"
#include "tools/transports/message.hpp"

namespace assay::transports {
namespace {

using nlohmann::json;

properties::declared_domain parse_domain(const json& value, const std::string& where) {
  if (value == "finite") return {};
  const auto is_number = [](const json& v) { return v.is_number(); };
  require(value.is_array() && value.size() == 2 && std::all_of(value.begin(), value.end(), is_number),
          where + " must be \"finite\" or [low, high]");
  const properties::declared_domain domain{value[0].get<double>(), value[1].get<double>()};
  require(domain.low <= domain.high, where + ": low must not exceed high");
  return domain;
}

// The interval of an input must contain some value of the operation's domain: otherwise no case is left.
void require_values(const core::tensor_declaration& input, const properties::declared_domain& declared,
                    const std::string& where) {
  const auto [low, high, minus_infinity] = input.domain;
  require(declared.low <= high && declared.high >= low,
          where + fmt::format(" holds no value of {}, which lies in [{}, {}]", input.name, low, high));
}

// Parses sizes, or the integers of a setting, from [low, high] or {"multiple_of": k, "at_least": low, "at_most": high};
// each member may be left out.
properties::declared_sizes parse_sizes(const json& value, const std::string& where) {
  constexpr std::size_t largest = std::size_t{1} << 24;  // no case is larger
  properties::declared_sizes sizes;
  const auto count = [&](const json& v) {
    require(v.is_number_unsigned() && v.get<std::uint64_t>() <= largest,
            where + fmt::format(" must hold whole numbers from 0 to {}", largest));
    return v.get<std::size_t>();
  };
  if (value.is_array() && value.size() == 2) {
    sizes.low = count(value[0]);
    sizes.high = count(value[1]);
  } else {
    require(value.is_object() && !value.empty(), where + " must be [low, high] or {\"multiple_of\": k}");
    for (const auto& [word, number] : value.items()) {
      require(word == "multiple_of" || word == "at_least" || word == "at_most",
              where + " has the unknown word '" + clean(word, 40) + "'; known: multiple_of, at_least, at_most");
      (word == "multiple_of" ? sizes.multiple_of : word == "at_least" ? sizes.low : sizes.high) = count(number);
    }
  }
  require(sizes.multiple_of > 0, where + ": multiple_of must not be 0");
  const std::size_t some = sizes.nearest(1);
  require(some > 0 && sizes.holds(some), where + " holds no number above 0");
  return sizes;
}

// The names that a domain may have in addition to settings and axes: the inputs, and the state of a recurrent
// operation.
std::vector<std::string> names_of_values(const core::operation& op) {
  std::vector<std::string> names;
  for (const auto& input : op.inputs) names.push_back(input.name);
  if (reference::forward_of(op).recurrent) names.emplace_back("state");
  return names;
}

// The values that a candidate takes for a setting: each must be a value that the setting has.
std::vector<core::attribute> parse_values(const json& value, const core::operation& op, const std::string& name,
                                          const std::string& where) {
  require(value.is_array() && !value.empty(), where + " must be a list of values");
  std::vector<core::attribute> all;
  for (const json& entry : value) {
    const auto read = formats::attribute_from(entry);
    require(read.has_value(), where + ": " + (read ? "" : read.error().message));
    const core::attributes set{{name, *read}};
    const auto right = core::check_attributes(op, set);
    require(right.has_value(), where + ": " + (right ? "" : clean(right.error().message, 200)));
    all.push_back(core::completed(op, set).at(name));
  }
  return all;
}

// The usual values of a setting that lie within the sizes, or else some values from the smallest one on.
std::vector<core::attribute> values_inside(core::attribute_declaration setting,
                                           const properties::declared_sizes& sizes) {
  setting.axis = setting.name;
  return properties::values_to_draw(setting, {}, {{setting.axis, sizes}});
}

// An unknown name would have no effect, but the report would say that it was obeyed.
[[noreturn]] void refuse_domain_name(const core::operation& op, std::vector<std::string> known,
                                     const std::string& where) {
  for (const auto& a : op.attributes) known.push_back(a.name);
  for (const std::string& symbol : core::axis_symbols(op)) known.push_back(symbol);
  throw malformed{
      fmt::format("{} is no input, setting or axis of {}; known: {}", where, op.name, fmt::join(known, ", "))};
}

void parse_domain_of(const core::operation& op, const json& members, const std::string& where,
                     properties::description& to) {
  const std::vector<std::string> known = names_of_values(op);
  for (const auto& [name, declared] : members.items()) {
    const std::string member = where + "['" + clean(name, 40) + "']";
    const core::attribute_declaration* setting = op.attribute(name);
    if (name == "relations") {
      to.relations[op.name] = parse_relations(declared, op, member);
      continue;
    }
    if (setting != nullptr && declared.is_object() && std::holds_alternative<std::int64_t>(setting->standard)) {
      const properties::declared_sizes sizes = parse_sizes(declared, member);
      // If a setting is the size of an axis, the sizes may be declared under both names.
      if (!setting->axis.empty())
        to.sizes[op.name][setting->axis] = sizes;
      else
        to.settings[op.name][name] = values_inside(*setting, sizes);
      continue;
    }
    if (setting != nullptr) {
      to.settings[op.name][name] = parse_values(declared, op, name, member);
      continue;
    }
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      if (!core::axis_symbols(op).contains(name)) refuse_domain_name(op, known, member);
      to.sizes[op.name][name] = parse_sizes(declared, member);
      continue;
    }
    const auto& domain = to.domain[op.name][name] = parse_domain(declared, member);
    if (const core::tensor_declaration* input = op.input(name)) require_values(*input, domain, member);
  }
}

using values_by_setting = std::map<std::string, std::vector<core::attribute>>;

// For each setting, the values from which cases are drawn: those inside the declared sizes and among the declared
// values. For a later setting that is not named, the values that the candidate knows.
values_by_setting values_of(const core::operation& op, const properties::description& about,
                            const properties::setting_values& declared) {
  const auto sizes = about.sizes.find(op.name);
  const properties::size_domains axis_domains = sizes == about.sizes.end() ? properties::size_domains{} : sizes->second;
  values_by_setting all;
  for (const core::attribute_declaration& a : op.attributes)
    all[a.name] = a.is_later() && !declared.contains(a.name) ? a.values_of(about.written_for)
                                                             : properties::values_to_draw(a, declared, axis_domains);
  return all;
}

// Tells whether values of some settings go together with any values of the others.
class compatibility {
 public:
  compatibility(const core::operation& op, const properties::description& about, values_by_setting others)
      : op_(op),
        others_(std::move(others)),
        bounds_(about.sizes.contains(op.name) ? properties::bounds_of(about.sizes.at(op.name))
                                              : std::map<std::string, core::size_bounds>{}) {}

  /// Why these values fit none of the others; without values: why all combinations conflict. Empty if some fit, or if
  /// there are too many combinations to try.
  std::string conflict_of(const core::attributes& values) {
    tried_ = 0;
    return conflict_from(0, values);
  }

 private:
  static constexpr int most = 10'000;

  std::string conflict_from(std::size_t next, const core::attributes& set) {
    if (next == op_.attributes.size()) return ++tried_ > most ? "" : core::conflict_within(op_, set, bounds_);
    const std::string& name = op_.attributes[next].name;
    if (set.contains(name)) return conflict_from(next + 1, set);
    std::string first;
    for (const core::attribute& value : others_.at(name)) {
      core::attributes more = set;
      more[name] = value;
      const std::string why = conflict_from(next + 1, more);
      if (why.empty()) return "";
      if (first.empty()) first = why;
    }
    return first;
  }

  const core::operation& op_;
  values_by_setting others_;
  std::map<std::string, core::size_bounds> bounds_;
  int tried_ = 0;
};

// Each declared value of a setting must go together with some values of the others, and with some declared sizes:
// otherwise no case has it. A value that fits no values at all is reported before a value that fits no declared ones.
// Among the latter, a value that would fit some other value comes first, and not one of a setting that the conflict
// does not concern.
void require_compatible(const core::operation& op, const properties::description& about, const std::string& where) {
  const values_by_setting declared = values_of(op, about, about.settings_of(op));
  const values_by_setting free = values_of(op, about, {});
  const auto conflict_whatever_is = [&](const std::string& setting, values_by_setting others) {
    others[setting] = free.at(setting);
    return !compatibility(op, about, std::move(others)).conflict_of({}).empty();
  };
  for (const values_by_setting& others : {free, declared}) {
    compatibility all(op, about, others);
    std::string first;
    for (const core::attribute_declaration& a : op.attributes)
      for (const core::attribute& value : declared.at(a.name)) {
        const std::string member = where + "['" + a.name + "']";
        const auto right = core::check_attributes(op, {{a.name, value}});
        require(right.has_value(), member + ": " + (right ? "" : clean(right.error().message, 200)));
        if (!about.settings_of(op).contains(a.name)) continue;
        const std::string why = all.conflict_of({{a.name, value}});
        if (why.empty()) continue;
        const std::string text = fmt::format("{}: {} = {}: {}", member, a.name, core::to_string(value), why);
        require(conflict_whatever_is(a.name, others), text);
        if (first.empty()) first = text;
      }
    require(first.empty(), first);
  }
}

}  // namespace

void parse_domains(const json& value, properties::description& to) {
  require(value.is_object(), "hello.domain must be an object");
  for (const auto& [operation, inputs] : value.items()) {
    const std::string where = "hello.domain['" + clean(operation, 80) + "']";
    // A misspelt name would silently narrow nothing.
    require(to.operations.contains(operation), where + " is no operation that hello.operations offers");
    require(inputs.is_object(), where + " must be an object");
    // Unknown operations are ignored: this version asks nothing of them.
    if (const core::operation* op = reference::find_operation(operation)) {
      parse_domain_of(*op, inputs, where, to);
      require_compatible(*op, to, where);
    }
  }
}

std::map<std::string, std::vector<std::string>> parse_parameters(const json& value, properties::description& to) {
  require(value.is_object(), "hello.parameters must be an object");
  std::map<std::string, std::vector<std::string>> all;
  for (const auto& [operation, names] : value.items()) {
    const std::string where = "hello.parameters['" + clean(operation, 80) + "']";
    require(to.operations.contains(operation), where + " is no operation that hello.operations offers");
    require(names.is_array() && std::all_of(names.begin(), names.end(), [](const json& n) { return n.is_string(); }),
            where + " must be an array of names");
    all[operation] = names.get<std::vector<std::string>>();
    const core::operation* op = reference::find_operation(operation);
    if (op == nullptr) continue;
    properties::setting_values settings = to.settings_of(*op);
    for (const core::attribute_declaration& a : op->attributes)
      if (std::find(names.begin(), names.end(), a.name) == names.end()) settings.try_emplace(a.name, 1, a.standard);
    to.settings[operation] = std::move(settings);
    require_compatible(*op, to, where);
  }
  return all;
}

}  // namespace assay::transports
