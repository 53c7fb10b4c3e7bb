// The selection that a gate run was asked to check: operations, dtypes, properties, families, effort, accuracy classes.
#pragma once

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "properties/harness/runner.hpp"
#include "reference/oracle.hpp"
#include "tools/commands.hpp"

namespace assay::tools {

/// The effort of a run. It is a number of cases, not of seconds.
struct effort {
  std::string name;
  std::size_t cases_per_family;
  std::size_t horizon_tokens;  ///< 0: no long sequence is tried
  properties::run_options::usual sizes;
  /// Unless the user names others: only values and derivatives are checked, in one dtype (f32 if it is offered).
  bool values_in_one_dtype = false;
};

/// "6@131072": errors leave this many digits up to that many tokens, keys or positions.
struct required_digits {
  int digits = 0;
  std::uint64_t up_to = 0;
};

struct selection {
  std::vector<const core::operation*> operations;
  std::vector<core::dtype> dtypes;
  std::vector<const properties::property*> properties;
  std::vector<std::string> families;  ///< empty: all
  std::set<reference::accuracy_class> good_enough;
  std::vector<required_digits> digits;
  const effort* level = nullptr;
  std::size_t most_elements = 0;         ///< the most elements of a tensor at the usual sizes of the effort
  std::vector<core::axis_sizes> shapes;  ///< in addition to those of the effort
  bool dtypes_named = false;             ///< whether the user named dtypes
  /// Whether only one of the offered dtypes is checked: f32, or else the first.
  [[nodiscard]] bool asks_one_dtype() const { return level->values_in_one_dtype && !dtypes_named; }
  bool properties_named = false;  ///< whether the user named properties
  bool goes_on = false;           ///< every planned case is run, even after failures

  /// Whether the selected checks compare outputs of the operation with the truth on mild inputs. Only then is the
  /// horizon measured, which does the same on a long sequence.
  [[nodiscard]] bool holds_mild_values(const core::operation& op) const {
    return std::any_of(properties.begin(), properties.end(), [](const auto* p) { return p->name == "value"; }) &&
           (families.empty() || std::any_of(families.begin(), families.end(),
                                            [&](const std::string& f) { return properties::is_mild(op, f); }));
  }
};

/// The error names what is unknown and lists what exists.
core::result<selection> select(const gate_options& o);

/// An error if a shape has axes that no selected and offered operation has, if a tensor of it would have more elements
/// than --max-elements, or if no operation can take these sizes.
core::result<void> check_shapes(const gate_options& o, const selection& s, const properties::description& about);

/// The sizes and shapes that were not tried for an offered operation, and why; one sentence each.
std::vector<std::string> sizes_left_out(const gate_options& o, const selection& s,
                                        const properties::description& about);

}  // namespace assay::tools
