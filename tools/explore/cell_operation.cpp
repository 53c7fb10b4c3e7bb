#include "tools/explore/cell_operation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "properties/harness/sized_key.hpp"
#include "reference/evaluate_in.hpp"
#include "reference/oracle.hpp"
#include "tools/explore/formats.hpp"
#include "tools/explore/single_cells.hpp"

namespace assay::explore {

using core::axis_role;

namespace {

// Parses a value of the setting's type.
std::optional<core::attribute> value_from(const core::attribute& standard, const std::string& text) {
  return std::visit(
      [&]<class T>(const T&) -> std::optional<core::attribute> {
        if constexpr (std::is_same_v<T, std::string>) return text;
        if constexpr (std::is_same_v<T, bool>)
          return text == "true" || text == "false" ? std::optional<core::attribute>(text == "true") : std::nullopt;
        if constexpr (std::is_same_v<T, std::int64_t> || std::is_same_v<T, double>) {
          T x{};
          const char* last = text.data() + text.size();
          const auto [end, wrong] = std::from_chars(text.data(), last, x);
          if (wrong == std::errc() && end == last) return x;
        }
        return std::nullopt;
      },
      standard);
}

}  // namespace

core::result<cell_operation> operation_from(const std::string& text) {
  std::size_t end = std::min(text.find(','), text.size());
  cell_operation requested{reference::find_operation(text.substr(0, end))};
  if (requested.operation == nullptr || !requested.operation->is_forward())
    return core::failure("'" + text.substr(0, end) + "' is no operation, or it is a derivative, which is not measured");
  requested.family = properties::mild_family_of(*requested.operation).name;
  while (end < text.size()) {
    const std::size_t first = end + 1;
    end = std::min(text.find(',', first), text.size());
    const std::string word = text.substr(first, end - first);
    if (properties::find_family(*requested.operation, word) != nullptr) {
      requested.family = word;
      continue;
    }
    const std::size_t equals = word.find('=');
    const auto* setting = equals == word.npos ? nullptr : requested.operation->attribute(word.substr(0, equals));
    const auto value = setting == nullptr ? std::nullopt : value_from(setting->standard, word.substr(equals + 1));
    if (!value) return core::failure("'" + word + "' is no family and no setting of " + requested.operation->name);
    requested.settings[setting->name] = *value;
  }
  if (const auto right = core::check_attributes(*requested.operation, requested.settings); !right)
    return tl::make_unexpected(right.error());
  return requested;
}

bool has_stage(const core::operation& op, const std::string& name) {
  return std::any_of(op.stages.begin(), op.stages.end(), [&](const auto& s) { return s.name == name; });
}

bool grows_along_axis(const core::operation& op) { return op.grows_with && op.grows_with->along; }

std::vector<std::string> algorithm_names(const core::operation& op) {
  if (!reference::has_classes(op)) return {"formula"};
  std::vector<std::string> names;
  for (const reference::accuracy_class c : reference::algorithms_of(op)) names.emplace_back(reference::name_of(c));
  return names;
}

std::string_view size_words(const cell& c) {
  const auto requested = operation_from(c.family);
  return requested && requested->operation->grows_with ? requested->operation->grows_with->quantity
                                                       : std::string_view("position");
}

cell_operation cell_operation_of(const cell& c) {
  cell_operation requested = *operation_from(c.family);
  const core::dtype arithmetic = *core::dtype_named(c.arithmetic);
  requested.type = find_format(c.storage)->type.value_or(arithmetic);
  requested.formats = arithmetic;
  requested.algorithm = reference::accuracy_class_named(c.implementation);
  if (c.implementation == "usual") requested.formats = requested.operation->usual_precisions(requested.type);
  if (has_stage(*requested.operation, c.implementation)) {
    std::vector<core::dtype> formats;
    for (const core::stage_declaration& s : requested.operation->stages)
      formats.push_back(s.name == c.implementation ? requested.type : arithmetic);
    requested.formats = {requested.operation->stages, formats};
  }
  return requested;
}

namespace {

std::map<axis_role, std::size_t> sizes_of(const core::operation& op, const cell& c, std::size_t tokens) {
  const auto width = static_cast<std::size_t>(c.scale);
  std::size_t queries = core::places_of(op).key == nullptr ? tokens : 1;
  // The last queries see as many keys as a single query does.
  if (op.grows_with && op.grows_with->along == axis_role::key)
    queries = std::clamp<std::size_t>(16384 / tokens, 1, tokens);
  return {{axis_role::batch, 1},    {axis_role::head, 2},      {axis_role::token, queries},
          {axis_role::key, tokens}, {axis_role::width, width}, {axis_role::pairs, std::max<std::size_t>(1, width / 2)}};
}

// Whether distances may be negative: code may treat keys before a query and keys after it differently, so both signs
// are measured.
bool has_both_signs(const core::operation& op) {
  const core::tensor_declaration* own = core::places_of(op).own;
  return own != nullptr && own->role == core::input_role::distance && own->domain.low < 0;
}

std::size_t rows_growing_to_size(const core::operation& op, const cell& c) {
  if (grows_along_axis(op)) return c.size;
  return has_both_signs(op) ? 2 * rows_of(c) : rows_of(c);
}

}  // namespace

core::request call_of(const cell_operation& requested, const cell& c, std::size_t tokens) {
  const core::operation& op = *requested.operation;
  core::request call = properties::make_case(properties::mild_key(op, requested.type, sizes_of(op, c, tokens),
                                                                  requested.settings, requested.family, c.seed))
                           .call;
  const storage_format& stored = *find_format(c.storage);
  for (const core::tensor_declaration& d : op.inputs)
    if (!stored.type && !d.own_type)
      for (double& x : call.inputs.at(d.name).values.storage()) x = stored.round(x);
  return call;
}

std::size_t rows_of(const cell& c) {
  return std::min<std::size_t>(std::clamp<std::size_t>(static_cast<std::size_t>(8192 / c.scale), 16, 256), c.size + 1);
}

const std::string& axis_of_places(const core::operation& op, const core::tensor_declaration& positions) {
  const auto place = [&](const std::string& axis) {
    const axis_role role = core::role_of(op, axis);
    return role == axis_role::token || role == axis_role::key;
  };
  const auto found = std::find_if(positions.axes.begin(), positions.axes.end(), place);
  return found == positions.axes.end() ? positions.axes.back() : *found;
}

core::request call_growing_to_size(const cell_operation& requested, const cell& c) {
  const core::operation& op = *requested.operation;
  const std::size_t rows = rows_growing_to_size(op, c);
  core::request call = call_of(requested, c, rows);
  if (grows_along_axis(op)) return call;
  const auto size = static_cast<double>(c.size);
  const auto [own, key] = core::places_of(op);
  const bool has_key = key != nullptr;
  // Distances of both signs; the first half is negative.
  const auto rows_per_sign = static_cast<double>(has_both_signs(op) ? rows / 2 : rows);
  put(call, own, [&](double i) {
    if (has_key) return size;
    const double distance = size - (rows_per_sign - 1) + std::fmod(i, rows_per_sign);
    return i < rows_per_sign && has_both_signs(op) ? 0 - distance : distance;
  });
  put(call, key, [](double i) { return i; });
  return call;
}

double pairs_in_call(const cell_operation& requested, const cell& c) {
  const core::operation& op = *requested.operation;
  const auto sizes = sizes_of(op, c, rows_growing_to_size(op, c));
  const auto tokens = static_cast<double>(sizes.at(axis_role::token));
  if (!core::axis_with(op, axis_role::key).empty()) return tokens * static_cast<double>(sizes.at(axis_role::key));
  return grows_along_axis(op) && !op.recurrent ? tokens * tokens : tokens;
}

core::result<core::tensors> computed(const cell_operation& requested, const cell& c, const core::request& call,
                                     const caller& outside) {
  if (is_candidate(c.implementation)) return outside(c.implementation, call);
  core::request in_arithmetic = call;
  if (requested.algorithm) {
    in_arithmetic.type = requested.formats.unit();
    for (const core::tensor_declaration& d : requested.operation->inputs)
      if (!d.own_type) in_arithmetic.inputs.at(d.name).type = in_arithmetic.type;
  }
  core::tensors out = requested.algorithm ? reference::evaluate(in_arithmetic, *requested.algorithm)
                                          : reference::evaluate_in(call, requested.formats);
  const storage_format& stored = *find_format(c.storage);
  for (const core::tensor_declaration& d : requested.operation->outputs) {
    if (d.own_type) continue;
    core::tensor& t = out.at(d.name);
    t.type = requested.type;
    for (double& x : t.values.storage()) x = stored.type ? core::round_to(t.type, x) : stored.round(x);
  }
  return out;
}

core::result<void> check_operation(const cell& c) {
  const auto requested = operation_from(c.family);
  if (!requested) return refuse_cell(c, requested.error().message);
  const core::operation& op = *requested->operation;
  const bool is_plain = c.implementation == "formula" || c.implementation == "usual" || is_candidate(c.implementation);
  const std::vector<std::string> algorithms = algorithm_names(op);
  const bool is_algorithm = std::find(algorithms.begin(), algorithms.end(), c.implementation) != algorithms.end();
  if (!is_plain && !is_algorithm && !has_stage(op, c.implementation))
    return refuse_cell(c, fmt::format("{} has no stage and no algorithm '{}'; its algorithms: {}", op.name,
                                      c.implementation, fmt::join(algorithms, ", ")));
  if (c.implementation != "formula" && !is_algorithm && !find_format(c.storage)->type)
    return refuse_cell(c, "only the formula and algorithms have tensors in " + c.storage);
  const bool has_width =
      !core::axis_with(op, axis_role::width).empty() || !core::axis_with(op, axis_role::pairs).empty();
  const bool is_even = c.scale >= 2 && c.scale <= 4096 && c.scale == 2 * std::floor(c.scale / 2);
  if (has_width ? !is_even : c.scale != 1)
    return refuse_cell(c, has_width ? "scale is the width here: even, 2 to 4096" : "it has no width: scale is 1");
  return {};
}

measure operation_measure(measure m,
                          core::result<results> (*found)(const cell_operation&, const cell&, const caller&)) {
  m.scale_means = "width d; 1 where there is none";
  m.family_means = "an operation, with settings or a family of inputs: alibi/bias,form=key";
  m.implementations = {"formula", "usual"};
  for (const reference::accuracy_class c : reference::accuracy_classes)
    if (c != reference::accuracy_class::uniform) m.implementations.emplace_back(reference::name_of(c));
  for (const core::operation& op : reference::operations())
    for (const core::stage_declaration& s : op.stages)
      if (std::find(m.implementations.begin(), m.implementations.end(), s.name) == m.implementations.end())
        m.implementations.push_back(s.name);
  m.takes_candidates = m.takes_storage = true;
  m.operation_of = [](const std::string& family) {
    const auto requested = operation_from(family);
    return requested ? requested->operation->name : "";
  };
  m.each_family = [] {
    std::vector<std::string> names;
    for (const core::operation& op : reference::operations()) {
      if (!op.is_forward()) continue;
      names.push_back(op.name);
      if (!grows_along_axis(op)) continue;
      for (const properties::family& f : properties::families_of(op))
        if (!f.is_mild && f.long_axis == core::axis_with(op, *op.grows_with->along))
          names.push_back(op.name + "," + f.name);
    }
    return names;
  };
  m.each_implementation = [](const std::string& family) {
    const auto requested = operation_from(family);
    return requested ? algorithm_names(*requested->operation) : std::vector<std::string>{"formula"};
  };
  m.batch = text_of;
  m.run = [found](std::span<const cell> batch, const caller& call) -> core::result<std::vector<results>> {
    std::vector<results> all;
    for (const cell& c : batch) {
      auto one = found(cell_operation_of(c), c, call);
      if (!one) return tl::make_unexpected(one.error());
      all.push_back(std::move(*one));
    }
    return all;
  };
  return m;
}

}  // namespace assay::explore
