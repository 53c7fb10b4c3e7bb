#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "golden/formats/attributes_json.hpp"
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

// The interval of an input must hold some value that the operation is defined for: otherwise no case is left.
void require_values(const core::tensor_declaration& input, const properties::declared_domain& declared,
                    const std::string& where) {
  const auto [low, high, minus_infinity] = input.domain;
  require(declared.low <= high && declared.high >= low,
          where + fmt::format(" holds no value of {}, which lies in [{}, {}]", input.name, low, high));
}

// A size of [low, high] or {"multiple_of": k, "at_least": low, "at_most": high}, each of which may be left out.
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
  require(some > 0 && sizes.holds(some), where + " holds no size above 0");
  return sizes;
}

// What a domain may name besides settings and axes: the inputs, and the state of a recurrent operation.
std::vector<std::string> names_of_values(const core::operation& op) {
  std::vector<std::string> names;
  for (const auto& input : op.inputs) names.push_back(input.name);
  if (reference::forward_of(op).recurrent) names.emplace_back("state");
  return names;
}

// The values that it takes of an attribute: each must be one that there is.
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

// A name that is not known would narrow nothing, and the report would say that it was obeyed.
[[noreturn]] void refuse_domain_name(const core::operation& op, std::vector<std::string> known,
                                     const std::string& where) {
  for (const auto& a : op.attributes) known.push_back(a.name);
  for (const std::string& symbol : core::free_axes(op)) known.push_back(symbol);
  throw malformed{
      fmt::format("{} is no input, setting or axis of {}; known: {}", where, op.name, fmt::join(known, ", "))};
}

void parse_domain_of(const core::operation& op, const json& members, const std::string& where,
                     properties::description& to) {
  const std::vector<std::string> known = names_of_values(op);
  for (const auto& [name, declared] : members.items()) {
    const std::string member = where + "['" + clean(name, 40) + "']";
    if (op.attribute(name) != nullptr) {
      to.settings[op.name][name] = parse_values(declared, op, name, member);
      continue;
    }
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      if (!core::free_axes(op).contains(name)) refuse_domain_name(op, known, member);
      to.sizes[op.name][name] = parse_sizes(declared, member);
      continue;
    }
    const auto& domain = to.domain[op.name][name] = parse_domain(declared, member);
    if (const core::tensor_declaration* input = op.input(name)) require_values(*input, domain, member);
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
    // Of an operation that this version does not know, nothing is asked.
    if (const core::operation* op = reference::find_operation(operation)) parse_domain_of(*op, inputs, where, to);
  }
}

}  // namespace assay::transports
