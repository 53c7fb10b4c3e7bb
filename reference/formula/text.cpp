#include "reference/formula/text.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

namespace assay::reference::formula {
namespace {

using core::failure;
using core::result;
using nlohmann::json;
using form = attribute::form;
constexpr std::string_view schema = "assay-program/1";
constexpr std::size_t longest_text = std::size_t{64} << 20, longest_name = 256;

std::optional<std::int64_t> integer_of(const json& j) {
  if (j.is_number_unsigned()) {
    const auto x = j.get<std::uint64_t>();
    constexpr auto most = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    return x <= most ? std::optional(static_cast<std::int64_t>(x)) : std::nullopt;
  }
  return j.is_number_integer() ? std::optional(j.get<std::int64_t>()) : std::nullopt;
}

std::optional<double> real_of(const json& j) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (j == "inf") return infinity;
  if (j == "-inf") return -infinity;
  if (j == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (!j.is_number()) return std::nullopt;
  const auto x = j.get<double>();
  // As a double, an integer beyond 2^53 is another number.
  if (j.is_number_integer() && (std::fabs(x) > 0x1p53)) return std::nullopt;
  return std::isfinite(x) ? std::optional(x) : std::nullopt;
}

bool is_name(const json& j) {
  return j.is_string() && !j.get_ref<const std::string&>().empty() &&
         j.get_ref<const std::string&>().size() <= longest_name;
}

// Takes an attribute; false where the member does not have the attribute's form.
bool take_attribute(const json& j, form attribute_form, std::size_t k, node& n) {
  const auto keep = [&](std::optional<std::int64_t> x) {
    if (x) n.integers[k] = {*x};
    return x.has_value();
  };
  switch (attribute_form) {
    case form::one:
      return keep(integer_of(j));
    case form::truth:
      return keep(j.is_boolean() ? std::optional<std::int64_t>(j.get<bool>()) : std::nullopt);
    case form::word: {
      const auto kind = j.is_string() ? kind_named(j.get_ref<const std::string&>()) : std::nullopt;
      return keep(kind ? std::optional(static_cast<std::int64_t>(*kind)) : std::nullopt);
    }
    case form::list:
      if (!j.is_array() || j.size() > most_axes) return false;
      for (const json& each : j) {
        const auto x = integer_of(each);
        if (!x) return false;
        n.integers[k].push_back(*x);
      }
      return true;
    case form::real: {
      const auto x = real_of(j);
      n.number = x.value_or(0.0);
      return x.has_value();
    }
    case form::values:
      if (!j.is_array() || j.size() > most_elements) return false;
      n.values.reserve(j.size());
      for (const json& each : j) {
        const auto x = each.is_boolean() ? std::optional<double>(each.get<bool>()) : real_of(each);
        if (!x) return false;
        n.values.push_back(*x);
      }
      return true;
    case form::name:
    case form::letters:
      if (!is_name(j)) return false;
      n.text = j.get<std::string>();
      return true;
    case form::program:
      break;
  }
  return false;
}

// Nesting may be deep.
std::string shown(const json& j) { return j.is_structured() ? "a list or an object" : j.dump().substr(0, 80); }

result<program> program_from(const json& j, std::size_t depth);

result<node> node_from(const json& j, std::size_t depth) {
  if (!j.is_object() || !j.contains("op") || !j["op"].is_string()) return failure("needs the member op");
  const operator_row* row = find_operator(j["op"].get_ref<const std::string&>());
  if (row == nullptr) return failure(fmt::format("there is no operator '{}'", j["op"].get<std::string>()));
  node n{.what = row->what};
  std::size_t known = 1;
  if (j.contains("in")) {
    ++known;
    if (!j["in"].is_array()) return failure("in: must be a list of nodes");
    for (const json& each : j["in"]) {
      const auto id = integer_of(each);
      if (!id || *id < 0 || *id >= static_cast<std::int64_t>(most_nodes)) return failure("in: must be a list of nodes");
      n.in.push_back(static_cast<node_id>(*id));
    }
  }
  if (j.contains("stage")) {
    ++known;
    if (!is_name(j["stage"])) return failure("stage: must be a name");
    n.stage = j["stage"].get<std::string>();
  }
  for (std::size_t k = 0; k < row->attributes.size(); ++k) {
    const std::string name(row->attributes[k].name);
    if (!j.contains(name)) return failure(fmt::format("{} needs the member {}", row->name, name));
    if (row->attributes[k].kind == form::program) {
      auto body = program_from(j[name], depth + 1);
      if (!body) return failure("its body: " + body.error().message);
      n.body = std::make_shared<const program>(std::move(*body));
    } else if (!take_attribute(j[name], row->attributes[k].kind, k, n))
      return failure(fmt::format("{}: {} cannot be {}", row->name, name, shown(j[name])));
    ++known;
  }
  if (known != j.size()) return failure(fmt::format("{} has an unknown member", row->name));
  return n;
}

result<program> program_from(const json& j, std::size_t depth) {
  if (depth > most_nested_loops) return failure(fmt::format("loops are nested at most {} deep", most_nested_loops));
  const std::size_t members = depth == 0 ? 3 : 2;
  if (!j.is_object() || j.size() != members || !j.contains("nodes") || !j["nodes"].is_array() ||
      !j.contains("outputs") || !j["outputs"].is_array())
    return failure(fmt::format("a program has the members {}nodes and outputs", depth == 0 ? "schema, " : ""));
  program p;
  for (const json& each : j["nodes"]) {
    auto n = node_from(each, depth);
    if (!n) return failure(fmt::format("node {}: {}", p.nodes().size(), n.error().message));
    if (const auto id = p.append(std::move(*n)); !id) return tl::make_unexpected(id.error());
  }
  for (const json& each : j["outputs"]) {
    const auto id =
        each.is_object() && each.size() == 2 && each.contains("node") ? integer_of(each["node"]) : std::nullopt;
    if (!id || *id < 0 || !each.contains("name") || !is_name(each["name"]) ||
        *id >= static_cast<std::int64_t>(most_nodes))
      return failure("an output must have a name and a node");
    if (auto ok = p.name_output(each["name"].get<std::string>(), static_cast<node_id>(*id)); !ok)
      return tl::make_unexpected(ok.error());
  }
  if (p.outputs().empty()) return failure("a program must have an output");
  return p;
}

json json_of(double x) {
  if (std::isfinite(x)) return x;
  return std::isnan(x) ? "nan" : x < 0 ? "-inf" : "inf";
}

json json_of(const program& p);

json member_of(const node& n, const attribute& a, std::size_t k) {
  switch (a.kind) {
    case form::one:
      return n.integer(k);
    case form::truth:
      return n.integer(k) != 0;
    case form::word:
      return std::string(name_of(static_cast<number_kind>(n.integer(k))));
    case form::list:
      return n.integers[k];
    case form::real:
      return json_of(n.number);
    case form::values: {
      json all = json::array();
      for (const double x : n.values) all.push_back(json_of(x));
      return all;
    }
    case form::name:
    case form::letters:
      return n.text;
    case form::program:
      return json_of(*n.body);
  }
  return {};
}

json json_of(const program& p) {
  json nodes = json::array(), outputs = json::array();
  for (const node& n : p.nodes()) {
    const operator_row& row = row_of(n.what);
    json j{{"op", row.name}};
    if (!n.in.empty()) j["in"] = n.in;
    for (std::size_t k = 0; k < row.attributes.size(); ++k)
      j[std::string(row.attributes[k].name)] = member_of(n, row.attributes[k], k);
    if (!n.stage.empty()) j["stage"] = n.stage;
    nodes.push_back(std::move(j));
  }
  for (const program::output& o : p.outputs()) outputs.push_back({{"name", o.name}, {"node", o.node}});
  return {{"nodes", std::move(nodes)}, {"outputs", std::move(outputs)}};
}

}  // namespace

result<program> read_program(std::string_view text) {
  if (text.size() > longest_text) return failure(fmt::format("a program has at most {} bytes", longest_text));
  const json j = json::parse(text.begin(), text.end(), nullptr, false);
  if (j.is_discarded()) return failure("the text is not JSON");
  if (!j.is_object() || j.value("schema", json()) != schema)
    return failure(fmt::format("its schema is not {}", schema));
  return program_from(j, 0);
}

std::string to_text(const program& p) {
  json j = json_of(p);
  j["schema"] = schema;
  return j.dump();
}

}  // namespace assay::reference::formula
