#include "tools/transports/protocol.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "golden/formats/attributes_json.hpp"
#include "golden/formats/strict_json.hpp"
#include "reference/oracle.hpp"

namespace assay::transports {
namespace {

using nlohmann::json;

constexpr std::size_t longest_reason = 4000;

// A broken rule of a message; only within this file.
struct malformed {
  std::string rule;
};

void require(bool condition, const std::string& rule) {
  if (!condition) throw malformed{rule};
}

const json* member(const json& object, const char* name) {
  const auto it = object.find(name);
  return it == object.end() ? nullptr : &*it;
}

// Texts of a candidate reach terminals and reports: bounded, and without control characters.
std::string clean(std::string text, std::size_t longest) {
  for (char& c : text)
    if (static_cast<unsigned char>(c) < ' ' || c == '\x7f') c = c == '\n' ? '\n' : ' ';
  if (text.size() <= longest) return text;
  while (longest > 0 && (static_cast<unsigned char>(text[longest]) & 0xc0u) == 0x80u) --longest;
  return text.substr(0, longest) + "...";
}

json parse_message(std::string_view line) {
  auto parsed = formats::parse_strict_json(line);
  if (!parsed) throw malformed{"byte " + std::to_string(parsed.error().offset) + ": " + parsed.error().rule};
  return std::move(parsed->value);
}

core::dtype parse_dtype(const json& value, const std::string& where) {
  require(value.is_string(), where + " must name dtypes");
  const auto type = core::dtype_named(value.get_ref<const std::string&>());
  require(type.has_value(), where + ": unknown dtype '" + clean(value.get<std::string>(), 40) + "'");
  return *type;
}

void parse_operations(const json& value, properties::description& to) {
  require(value.is_object(), "hello.operations must be an object");
  for (const auto& [name, dtypes] : value.items()) {
    const std::string where = "hello.operations['" + clean(name, 80) + "']";
    require(dtypes.is_array() && !dtypes.empty(), where + " must be an array of dtypes");
    auto& types = to.operations[name];
    for (const json& entry : dtypes) {
      const core::dtype type = parse_dtype(entry, where);
      require(std::find(types.begin(), types.end(), type) == types.end(), where + " names a dtype twice");
      types.push_back(type);
    }
  }
  require(!to.operations.empty(), "hello.operations must offer an operation");
}

// The precision of arithmetic on tensors of `storage`, or of a stage of it.
core::dtype parse_format(const json& value, core::dtype storage, const std::string& where) {
  std::vector<std::string_view> known;
  for (const core::dtype t : core::floating_dtypes)
    if (core::format_of(t).precision >= core::format_of(storage).precision) known.push_back(core::name_of(t));
  const std::string words = fmt::format("{}", fmt::join(known, ", "));
  require(value.is_string(), where + " must name a precision (" + words + "), or one for each stage");
  const auto in = core::dtype_named(value.get_ref<const std::string&>());
  require(in.has_value(),
          fmt::format("{}: unknown dtype '{}'; known: {}", where, clean(value.get<std::string>(), 40), words));
  require(core::is_floating(*in), fmt::format("{} must be a floating-point dtype: {}", where, words));
  require(core::format_of(*in).precision >= core::format_of(storage).precision,
          fmt::format("{} must not be less precise than {}: {}", where, core::name_of(storage), words));
  return *in;
}

// A stage of none of the offered operations would change nothing, and the report would say that it was obeyed.
properties::declared_precision parse_stages(const json& value, core::dtype storage, const std::string& where,
                                            const properties::description& offered) {
  std::vector<std::string> known;
  for (const auto& [name, dtypes] : offered.operations)
    if (const core::operation* op = reference::find_operation(name))
      for (const core::stage_declaration& s : op->stages)
        if (std::find(known.begin(), known.end(), s.name) == known.end()) known.push_back(s.name);
  require(!known.empty(), where + ": no offered operation has stages; it must name one precision");
  require(!value.empty(), fmt::format("{} must name stages; known: {}", where, fmt::join(known, ", ")));
  properties::declared_precision declared;
  for (const auto& [stage, format] : value.items()) {
    const std::string member = where + "['" + clean(stage, 40) + "']";
    require(std::find(known.begin(), known.end(), stage) != known.end(),
            fmt::format("{} is no stage of an offered operation; known: {}", member, fmt::join(known, ", ")));
    declared.stages[stage] = parse_format(format, storage, member);
  }
  return declared;
}

void parse_compute(const json& value, properties::description& to) {
  require(value.is_object(), "hello.compute must be an object");
  for (const auto& [storage, arithmetic] : value.items()) {
    const core::dtype from = parse_dtype(json(storage), "hello.compute");
    const std::string where = "hello.compute['" + storage + "']";
    require(core::is_floating(from), "hello.compute must name floating-point dtypes");
    if (arithmetic.is_object())
      to.compute[from] = parse_stages(arithmetic, from, where, to);
    else
      to.compute[from] = parse_format(arithmetic, from, where);
  }
}

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

void parse_variants(const json& value, properties::description& to) {
  require(value.is_object(), "hello.variants must be an object");
  // They are sent back as they are and stand in messages: nothing may have to be cleaned.
  const auto is_short_and_printable = [](const std::string& text) {
    return text.find('\n') == std::string::npos && clean(text, 80) == text;
  };
  const std::string rule = "hello.variants: names and strings must be printable and at most 80 bytes long";
  for (const auto& [name, values] : value.items()) {
    require(is_short_and_printable(name), rule);
    require(values.is_array() && !values.empty(), "hello.variants must hold arrays of values");
    for (const json& entry : values) {
      const auto read = formats::attribute_from(entry);
      require(read.has_value(), "hello.variants: " + (read ? "" : read.error().message));
      const auto* text = std::get_if<std::string>(&*read);
      require(text == nullptr || is_short_and_printable(*text), rule);
      to.variants[name].push_back(*read);
    }
  }
}

bool parse_flag(const json& value, const char* name) {
  require(value.is_boolean(), std::string("hello.") + name + " must be true or false");
  return value.get<bool>();
}

properties::description parse_hello_object(const json& greeting) {
  require(greeting.is_object(), "hello must be an object");
  const json* protocol = member(greeting, "protocol");
  require(protocol != nullptr && protocol->is_number_unsigned() && *protocol == 1u, "hello.protocol must be 1");
  properties::description answer;
  const json* name = member(greeting, "name");
  require(name != nullptr && name->is_string() && !name->get_ref<const std::string&>().empty(),
          "hello.name must be a string that is not empty");
  answer.name = clean(name->get<std::string>(), 200);
  if (const json* version = member(greeting, "version")) {
    require(version->is_string(), "hello.version must be a string");
    answer.version = clean(version->get<std::string>(), 200);
  }
  const json* operations = member(greeting, "operations");
  require(operations != nullptr, "hello.operations is missing");
  parse_operations(*operations, answer);
  if (const json* compute = member(greeting, "compute")) parse_compute(*compute, answer);
  if (const json* domain = member(greeting, "domain")) parse_domains(*domain, answer);
  if (const json* variants = member(greeting, "variants")) parse_variants(*variants, answer);
  if (const json* flush = member(greeting, "flush_subnormals"))
    answer.flush_subnormals = parse_flag(*flush, "flush_subnormals");
  if (const json* claims = member(greeting, "properties")) {
    require(claims->is_object(), "hello.properties must be an object");
    if (const json* deterministic = member(*claims, "deterministic"))
      answer.deterministic = parse_flag(*deterministic, "properties.deterministic");
  }
  return answer;
}

}  // namespace

std::string hello_request() { return "{\"hello\":{\"protocol\":1}}\n"; }

std::string call_request(std::uint64_t id, const properties::request& call, const std::filesystem::path& inputs,
                         const std::filesystem::path& outputs) {
  nlohmann::ordered_json message{{"id", id},
                                 {"operation", call.operation->name},
                                 {"dtype", core::name_of(call.type)},
                                 {"attributes", formats::to_json(call.attributes)},
                                 {"inputs", inputs.string()},
                                 {"outputs", outputs.string()}};
  return message.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

core::result<properties::description> parse_hello(std::string_view line) {
  try {
    const json message = parse_message(line);
    const json* greeting = member(message, "hello");
    require(greeting != nullptr, "must have the member 'hello'");
    return parse_hello_object(*greeting);
  } catch (const malformed& e) {
    return core::failure(e.rule);
  }
}

std::optional<std::string> parse_refusal(std::string_view line) {
  try {
    const json message = parse_message(line);
    const json* reason = member(message, "error");
    if (message.contains("hello") || reason == nullptr || !reason->is_string()) return std::nullopt;
    return clean(reason->get<std::string>(), longest_reason);
  } catch (const malformed&) {
    return std::nullopt;
  }
}

core::result<reply> parse_reply(std::string_view line) {
  try {
    const json message = parse_message(line);
    reply answer;
    const json* id = member(message, "id");
    require(id != nullptr && id->is_number_unsigned(), "id must be a non-negative integer");
    answer.id = id->get<std::uint64_t>();
    const json* ok = member(message, "ok");
    require(ok != nullptr && ok->is_boolean(), "ok must be true or false");
    answer.ok = ok->get<bool>();
    if (answer.ok) return answer;
    if (const json* unsupported = member(message, "unsupported")) {
      require(unsupported->is_boolean(), "unsupported must be true or false");
      answer.unsupported = unsupported->get<bool>();
    }
    const json* text = member(message, answer.unsupported ? "reason" : "error");
    require(text == nullptr || text->is_string(), "reason and error must be strings");
    require(answer.unsupported || text != nullptr, "an answer that is not ok must be unsupported or have an error");
    if (text != nullptr) answer.text = clean(text->get<std::string>(), longest_reason);
    return answer;
  } catch (const malformed& e) {
    return core::failure(e.rule);
  }
}

}  // namespace assay::transports
