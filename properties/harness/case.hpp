// A case: one call of an operation. Its key makes the same case again on any machine.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "properties/harness/implementation.hpp"
#include "reference/core/counter_random.hpp"

namespace assay::properties {

/// The length of a case. Only a few cases are long; they decide the accuracy class.
enum class lengths { short_ones, around_blocks, long_ones, exactly, given };
struct extent {
  lengths range = lengths::short_ones;
  std::size_t tokens = 0;  ///< for `exactly`: n, with one batch row and four lanes
  /// For `given`: the sizes of the named axes. Families give the other axes a few positions, not one: a sum of one
  /// weight, or a rotation at position 0 alone, tells nothing about the named axis.
  core::axis_sizes axes{};

  extent() = default;
  extent(lengths r, std::size_t n = 0) : range(r), tokens(n) {}
  explicit extent(core::axis_sizes sizes) : range(lengths::given), axes(std::move(sizes)) {}
  [[nodiscard]] bool is_given() const { return range == lengths::given; }
  /// The given size of an axis, or `otherwise` if none is given.
  [[nodiscard]] std::size_t axis(const std::string& symbol, std::size_t otherwise) const {
    const auto it = axes.find(symbol);
    return it == axes.end() ? otherwise : it->second;
  }
  friend bool operator==(const extent&, const extent&) = default;
};

/// The values that settings may have, by name; a setting that is not listed may have all its declared values.
using setting_values = std::map<std::string, std::vector<core::attribute>>;

/// Intervals of inputs by name.
using input_domains = std::map<std::string, declared_domain>;
/// Sizes of axes by symbol.
using size_domains = std::map<std::string, declared_sizes>;

/// The key of a case: equal keys make equal cases, on any machine.
struct case_key {
  const core::operation* operation = nullptr;
  core::dtype type = core::dtype::f64;
  std::string family;
  std::uint64_t seed = 0;
  extent size{};
  /// The values from which its settings are drawn, if these are fewer than the declared ones.
  setting_values settings{};
  /// The intervals into which its inputs are moved (steering.hpp), if these are narrower than the operation's domain.
  input_domains domain{};
  /// The sizes into which drawn sizes are moved; sizes that are given by number stay as they are.
  size_domains sizes{};
  /// The relations that its sizes are made to fulfil, given sizes too.
  std::vector<axis_relation> relations{};
  friend bool operator==(const case_key&, const case_key&) = default;
};

/// One line that determines the key: "heinsen/scan f32 mild 42 short".
std::string canonical_text(const case_key& key);

struct test_case {
  request call;
  std::string family;
  std::uint64_t seed = 0;
  /// The key of the case, or of the case from which shrinking or a law made it.
  case_key key{};
};

/// "heinsen/scan f32 B=1 n=3 d=1 family mild seed 42"
std::string summary(const test_case& c);
/// The sizes of the case's axes.
inline core::axis_sizes sizes_of(const test_case& c) { return core::sizes_of(c.call); }

/// A family of inputs: a regime in which some fault shows that no other family shows.
struct family {
  std::string name, summary;
  /// The usual inputs, numbers of order 1. It is the first family of an encoding, and every operation has it.
  bool is_mild = false;
  /// NaN is among the inputs: forward operations only.
  bool holds_nan = false;
  /// The list with which it came. Implementations that were written for an earlier list get no inputs of it.
  core::list_version since = core::first_list;
  /// Whether it is worth running at more than 1000 tokens, where accuracy classes differ.
  bool parts_classes = false;
  /// Whether cotangents and tangents have one sign too (one_sign.hpp).
  bool of_one_sign = false;
  /// The axis that is long with these inputs, because mild inputs average away or allow faults along it; empty if there
  /// is none.
  std::string long_axis{};
  /// The values from which its settings are drawn if the key allows it: with these values its inputs can show faults. A
  /// value that is listed twice is drawn twice as often.
  setting_values settings{};
  /// All inputs that the *forward* operation declares, for these settings; make_case adds cotangents and tangents.
  std::function<core::tensors(const core::operation& op, core::dtype type, const core::attributes& settings,
                              core::counter_random& random, extent size)>
      generate{};
  std::function<bool(const core::operation& op)> applies = [](const core::operation&) { return true; };
};

/// The same family, marked as having NaN among its inputs: only forward operations get it.
inline family holding_nan(family f) {
  f.holds_nan = true;
  return f;
}
/// The same family, marked as worth running at more than 1000 tokens, where accuracy classes part.
inline family parting_classes(family f) {
  f.parts_classes = true;
  return f;
}
/// The same family, marked with the axis that is long with these inputs.
inline family long_along(std::string axis, family f) {
  f.long_axis = std::move(axis);
  return f;
}
/// The same family, for these forward operations and for no others.
inline family only_for(std::function<bool(const core::operation& op)> applies, family f) {
  f.applies = std::move(applies);
  return f;
}

/// The families of all encodings that apply to an operation.
std::vector<family> families_of(const core::operation& op);
/// The families without those that came after a list.
std::vector<family> without_later(std::vector<family> all, core::list_version known);
/// Whether settings, values or families of an operation were added between two lists.
bool has_additions_between(const core::operation& op, core::list_version one, core::list_version other);

/// The family of an operation with this name; null if there is none.
const family* find_family(const core::operation& op, const std::string& name);

/// The mild family of an operation.
const family& mild_family_of(const core::operation& op);
/// Whether the mild family of the operation has this name.
bool is_mild(const core::operation& op, const std::string& name);
/// Whether the inputs of the case are of the mild family.
inline bool is_mild(const test_case& c) { return is_mild(*c.call.operation, c.family); }

/// The case of a key. Every setting is drawn from its values. Cotangents of all outputs, and tangents of all
/// differentiable inputs, are random. In one of eight cases whose key gives no sizes, only one of them is not zero.
/// Precondition: the operation has the family.
test_case make_case(const case_key& key);
/// The same with the family at hand.
test_case make_case(const case_key& key, const family& from);
/// The settings of that case, without its inputs. Precondition: the key gives sizes.
core::attributes settings_of(const case_key& key);

/// Simpler cases, the most drastic first: fewer positions of an axis; simpler settings; simpler values. RapidCheck
/// walks them (case_generator.hpp).
std::vector<test_case> simpler_cases(const test_case& c);
/// The first simpler case that is wanted; no further case is made.
std::optional<test_case> find_simpler_case(const test_case& c, const std::function<bool(const test_case&)>& wanted);

}  // namespace assay::properties
