#include "tools/explore/asked_operation.hpp"

#include <algorithm>
#include <charconv>

#include "properties/harness/sized_key.hpp"
#include "reference/oracle.hpp"
#include "tools/explore/formats.hpp"

namespace assay::explore {
namespace {

// A value of the type that the setting has.
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

core::result<asked> operation_from(const std::string& text) {
  std::size_t end = std::min(text.find(','), text.size());
  asked what{reference::find_operation(text.substr(0, end))};
  if (what.operation == nullptr || !what.operation->is_forward())
    return core::failure("there is no operation '" + text.substr(0, end) + "' without a derivative's name");
  what.family = properties::mild_family_of(*what.operation).name;
  while (end < text.size()) {
    const std::size_t first = end + 1;
    end = std::min(text.find(',', first), text.size());
    const std::string word = text.substr(first, end - first);
    if (properties::find_family(*what.operation, word) != nullptr) {
      what.family = word;
      continue;
    }
    const std::size_t equals = word.find('=');
    const auto* setting = equals == word.npos ? nullptr : what.operation->attribute(word.substr(0, equals));
    const auto value = setting == nullptr ? std::nullopt : value_from(setting->standard, word.substr(equals + 1));
    if (!value) return core::failure("'" + word + "' is no family and no setting of " + what.operation->name);
    what.settings[setting->name] = *value;
  }
  if (const auto right = core::check_attributes(*what.operation, what.settings); !right)
    return tl::make_unexpected(right.error());
  return what;
}

bool has_stage(const core::operation& op, const std::string& name) {
  return std::any_of(op.stages.begin(), op.stages.end(), [&](const auto& s) { return s.name == name; });
}

bool grows_along_axis(const core::operation& op) { return op.grows_with != nullptr && op.grows_with->along; }

asked asked_by(const cell& c) {
  asked what = *operation_from(c.family);
  const core::dtype arithmetic = *core::dtype_named(c.arithmetic);
  what.type = find_format(c.storage)->type.value_or(arithmetic);
  what.formats = arithmetic;
  if (c.implementation == "usual") what.formats = what.operation->usual_precisions(what.type);
  if (has_stage(*what.operation, c.implementation)) {
    std::vector<core::dtype> formats;
    for (const core::stage_declaration& s : what.operation->stages)
      formats.push_back(s.name == c.implementation ? what.type : arithmetic);
    what.formats = {what.operation->stages, formats};
  }
  return what;
}

core::request call_of(const asked& what, const cell& c, std::size_t tokens) {
  const core::operation& op = *what.operation;
  const auto width = static_cast<std::size_t>(c.scale);
  using core::axis_role;
  const std::map<axis_role, std::size_t> by_role{{axis_role::batch, 1},
                                                 {axis_role::head, 2},
                                                 {axis_role::token, core::places_of(op).key == nullptr ? tokens : 1},
                                                 {axis_role::key, tokens},
                                                 {axis_role::width, width},
                                                 {axis_role::pairs, std::max<std::size_t>(1, width / 2)}};
  core::request call =
      properties::make_case(properties::mild_key(op, what.type, by_role, what.settings, what.family, c.seed)).call;
  const storage_format& stored = *find_format(c.storage);
  for (const core::tensor_declaration& d : op.inputs)
    if (!stored.type && !d.own_type)
      for (double& x : call.inputs.at(d.name).values.storage()) x = stored.round(x);
  return call;
}

}  // namespace assay::explore
