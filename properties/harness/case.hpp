// A case: one call of an operation, which its key makes again on any machine.
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

/// How large a case may be. Long cases are few: they decide the accuracy class.
enum class lengths { short_ones, around_blocks, long_ones, exactly, given };
struct extent {
  lengths range = lengths::short_ones;
  std::size_t tokens = 0;  ///< for `exactly`: n, with one batch row and four lanes
  /// For `given`: the sizes of the axes that are named. Families give the others a few positions, not one: a sum of
  /// one weight, or a rotation at position 0 alone, tells nothing of the axis that is named.
  core::axis_sizes axes{};

  extent() = default;
  extent(lengths r, std::size_t n = 0) : range(r), tokens(n) {}
  explicit extent(core::axis_sizes sizes) : range(lengths::given), axes(std::move(sizes)) {}
  [[nodiscard]] bool is_given() const { return range == lengths::given; }
  /// The size that is given of an axis, else the other one.
  [[nodiscard]] std::size_t axis(const std::string& symbol, std::size_t otherwise) const {
    const auto it = axes.find(symbol);
    return it == axes.end() ? otherwise : it->second;
  }
  friend bool operator==(const extent&, const extent&) = default;
};

/// The values that settings may have, by name; all that are declared where a name is not there.
using setting_values = std::map<std::string, std::vector<core::attribute>>;

/// Intervals of inputs by name.
using input_domains = std::map<std::string, declared_domain>;
/// Sizes of axes by symbol.
using size_domains = std::map<std::string, declared_sizes>;

/// What makes a case: equal keys make equal cases, on any machine.
struct case_key {
  const core::operation* operation = nullptr;
  core::dtype type = core::dtype::f64;
  std::string family;
  std::uint64_t seed = 0;
  extent size{};
  /// What its settings are drawn from, where that is less than what is declared.
  setting_values settings{};
  /// What its inputs are moved into (steering.hpp), where that is less than what an operation is defined for.
  input_domains domain{};
  /// What the sizes that its family draws are moved into; sizes that are given by number stay as they are.
  size_domains sizes{};
  /// What its sizes, those that are given too, are moved into.
  std::vector<axis_relation> relations{};
  friend bool operator==(const case_key&, const case_key&) = default;
};

/// One line, the same for equal keys and for no others: "heinsen/scan f32 mild 42 short".
std::string canonical_text(const case_key& key);
/// The hash of the canonical text (FNV-1a), the same on any machine.
std::uint64_t hash_of(const case_key& key);

struct test_case {
  request call;
  std::string family;
  std::uint64_t seed = 0;
  /// What made it, or the case that it was made from by shrinking or by a law.
  case_key key{};
};

/// "heinsen/scan f32 B=1 n=3 d=1 family mild seed 42"
std::string summary(const test_case& c);
/// The sizes of the case's axes.
inline core::axis_sizes sizes_of(const test_case& c) { return core::sizes_of(c.call); }

/// A family of inputs: the regime in which some fault, and no other family, shows.
struct family {
  std::string name, summary;
  /// The usual inputs, numbers of order 1. It is the first family of an encoding, and every operation has it.
  bool is_mild = false;
  /// NaN is among the inputs: forward operations only.
  bool holds_nan = false;
  /// The list that it came with. One of special values is asked only of who was written for that list.
  core::list_version since = core::first_list;
  /// Worth running at more than 1000 tokens, where accuracy classes part.
  bool parts_classes = false;
  /// Cotangents and tangents are of one sign, too (one_sign.hpp).
  bool of_one_sign = false;
  /// The axis that is long with these inputs, where mild ones average away or allow what goes wrong along it; empty
  /// where there is none.
  std::string tells_along{};
  /// What its settings are drawn from where the key allows it: those beside which its inputs tell. A value that stands
  /// there twice is drawn twice as often.
  setting_values settings{};
  /// The inputs of the *forward* operation for these settings, all that it declares; cotangents and tangents are added
  /// by make_case.
  std::function<core::tensors(const core::operation& op, core::dtype type, const core::attributes& settings,
                              core::counter_random& random, extent size)>
      generate{};
  std::function<bool(const core::operation& op)> applies = [](const core::operation&) { return true; };
};

/// The family, as one with NaN among its inputs.
inline family holding_nan(family f) {
  f.holds_nan = true;
  return f;
}
/// The family, as one that is worth running at more than 1000 tokens, where accuracy classes part.
inline family parting_classes(family f) {
  f.parts_classes = true;
  return f;
}

/// The families of all encodings that apply to an operation.
std::vector<family> families_of(const core::operation& op);
/// Without those that came after a list.
std::vector<family> without_later(std::vector<family> all, core::list_version known);
/// Whether settings, values or families came to an operation between two lists.
bool is_asked_otherwise(const core::operation& op, core::list_version one, core::list_version other);

/// The family of an operation by its name; null where it has none of that name.
const family* find_family(const core::operation& op, const std::string& name);

/// The mild family of an operation.
const family& mild_family_of(const core::operation& op);
/// Whether it is the mild one of the operation that has this name.
bool is_mild(const core::operation& op, const std::string& name);
/// Whether the inputs are of the mild family.
inline bool is_mild(const test_case& c) { return is_mild(*c.call.operation, c.family); }

/// The case of a key. Every setting is drawn from its values. Cotangents and tangents are
/// random, not constant, and cover every output or input; one in eight cases has them on one alone.
/// Precondition: the operation has the family.
test_case make_case(const case_key& key);
/// The same, where the family is at hand.
test_case make_case(const case_key& key, const family& from);

/// Simpler cases, the most drastic first: fewer tokens, lanes, rows; simpler values. RapidCheck walks them
/// (case_generator.hpp).
std::vector<test_case> simpler_cases(const test_case& c);
/// The first of them that is wanted; none is made after it.
std::optional<test_case> find_simpler_case(const test_case& c, const std::function<bool(const test_case&)>& wanted);

}  // namespace assay::properties
