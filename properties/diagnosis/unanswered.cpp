#include "properties/diagnosis/unanswered.hpp"

#include <vector>

#include "properties/diagnosis/size_condition.hpp"
#include "properties/harness/runner.hpp"

namespace assay::properties {
namespace {

constexpr std::size_t farthest_size = 256;
const core::axis_sizes sizes_elsewhere{{"B", 2}, {"n", 9}, {"m", 11}, {"h", 6}, {"d", 66}, {"e", 70}, {"r", 33}};

class questions {
 public:
  questions(implementation& under_test, const test_case& of, std::uint64_t seed)
      : under_test_(under_test), of_(of), seed_(seed) {}

  /// Whether a mild call of these sizes is answered; nothing where it is not made, or ends otherwise.
  std::optional<bool> are_answered(const core::axis_sizes& sizes) {
    const core::operation& op = *of_.call.operation;
    core::attributes settings = core::completed(op, of_.call.attributes);
    case_key key{&op, of_.call.type, "mild", seed_, extent(sizes)};
    for (const core::attribute_declaration& a : op.attributes) {
      if (const auto size = sizes.find(a.axis); size != sizes.end() && !a.axis.empty())
        settings[a.name] = static_cast<std::int64_t>(size->second);
      key.settings[a.name] = {settings.at(a.name)};
    }
    if (!core::check_attributes(op, settings) || (op.conflict && !op.conflict(settings, sizes).empty()))
      return std::nullopt;
    const test_case c = make_case(key);
    if (sizes_of(c) != sizes || !within_domain(under_test_.describe(), c)) return std::nullopt;
    const call_result outputs = under_test_.evaluate(c.call);
    if (!outputs && outputs.error().kind != fault::error_reply) return std::nullopt;
    return outputs.has_value();
  }

 private:
  implementation& under_test_;
  const test_case& of_;
  std::uint64_t seed_;
};

core::axis_sizes with(core::axis_sizes sizes, const core::axis_sizes& changed) {
  for (const auto& [axis, size] : changed) sizes[axis] = size;
  return sizes;
}

// From which size on, or up to which, calls are not answered: found by doubling or halving, then between.
std::optional<size_condition> bound_along(questions& ask, const core::axis_sizes& sizes, const std::string& axis) {
  const auto at = [&](std::size_t size) { return ask.are_answered(with(sizes, {{axis, size}})); };
  const std::size_t failed = sizes.at(axis);
  for (const bool larger : {true, false}) {
    std::size_t wrong = failed, right = 0;
    for (std::size_t size = larger ? 2 * failed : failed / 2; size > 0 && size <= std::max(farthest_size, failed);
         size = larger ? 2 * size : size / 2) {
      const auto is = at(size);
      if (!is) break;
      (*is ? right : wrong) = size;
      if (*is) break;
    }
    while (right > 0 && std::max(right, wrong) - std::min(right, wrong) > 1) {
      const std::size_t middle = (right + wrong) / 2;
      const auto is = at(middle);
      if (!is) return std::nullopt;
      (*is ? right : wrong) = middle;
    }
    if (right > 0)
      return size_condition{.is = larger ? size_form::less : size_form::more, .axis = axis, .bound = right};
  }
  return std::nullopt;
}

bool holds_everywhere(questions& ask, const size_condition& condition, const std::vector<core::axis_sizes>& others) {
  bool with_it = false, without = false;
  for (const core::axis_sizes& sizes : others)
    for (const core::axis_sizes& sample : condition.samples()) {
      const core::axis_sizes all = with(sizes, sample);
      const auto is = ask.are_answered(all);
      if (!is) continue;
      if (*is == condition.holds(all)) return false;
      (*is ? without : with_it) = true;
    }
  return with_it && without;
}

}  // namespace

std::optional<std::string> where_unanswered(implementation& under_test, const test_case& c, std::uint64_t seed) {
  const call_result outputs = under_test.evaluate(c.call);
  if (outputs || outputs.error().kind != fault::error_reply) return std::nullopt;
  questions ask(under_test, c, seed);
  const core::axis_sizes sizes = sizes_of(c);
  if (ask.are_answered(sizes) != false) return std::nullopt;  // its values matter, or its family
  core::axis_sizes elsewhere = sizes;
  for (auto& [axis, size] : elsewhere)
    if (const auto usual = sizes_elsewhere.find(axis); usual != sizes_elsewhere.end()) size = usual->second;
  const std::vector<core::axis_sizes> others{sizes, elsewhere};
  for (const auto& [axis, size] : sizes) {
    std::vector<size_condition> all;
    if (const auto bound = bound_along(ask, sizes, axis)) all.push_back(*bound);
    if (size % 2 == 1) all.push_back({.is = size_form::multiple_plus, .axis = axis, .period = 2, .rest = 1});
    for (std::size_t period = 4; period <= 64; period *= 2)
      if (size % period != 0) all.push_back({.is = size_form::no_multiple, .axis = axis, .period = period});
    for (const size_condition& condition : all)
      if (holds_everywhere(ask, condition, others)) return condition.words();
  }
  return std::nullopt;
}

}  // namespace assay::properties
