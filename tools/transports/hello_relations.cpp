#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>
#include <set>

#include "tools/transports/hello.hpp"
#include "tools/transports/message.hpp"

namespace assay::transports {

using nlohmann::json;

std::vector<properties::axis_relation> parse_relations(const json& value, const core::operation& op,
                                                       const std::string& where) {
  require(value.is_array() && !value.empty(), where + " must be a list of relations, such as \"n <= m\"");
  const std::set<std::string> axes = core::axis_symbols(op);
  std::vector<properties::axis_relation> all;
  for (const json& entry : value) {
    const auto read =
        entry.is_string() ? properties::parse_relation(entry.get_ref<const std::string&>()) : std::nullopt;
    require(read.has_value(), fmt::format("{}: {} is no relation of two axes, such as \"n <= m\", \"e = d\" or "
                                          "\"2 r = d\"",
                                          where, clean(entry.dump(), 80)));
    for (const std::string& axis : {read->left.axis, read->right.axis})
      require(axes.contains(axis),
              fmt::format("{}: {} has no axis {}; known: {}", where, op.name, axis, fmt::join(axes, ", ")));
    all.push_back(*read);
  }
  return all;
}

}  // namespace assay::transports
