// Merging parts of attention: families, sizes, and the law that the order of parts does not matter.
#include "properties/encodings/attention/merge.hpp"

#include <algorithm>
#include <span>

#include "properties/faults/call_changes.hpp"
#include "properties/harness/usual_sizes.hpp"
#include "properties/kinds/attention.hpp"
#include "reference/core/special_values.hpp"
#include "reference/oracle.hpp"

namespace assay::properties::encodings::attention {
namespace {

using core::infinity;

// Families.

using lse_source = void (*)(std::span<double> lses, core::counter_random& random);
family of_lses(std::string name, std::string summary, lse_source draw) {
  const auto fill = [draw](drawn_inputs& in, const core::operation&, core::dtype, core::counter_random& random) {
    std::vector<double>& all = in.numbers.at("lses");
    const std::size_t parts = in.sizes.at("p");
    for (std::size_t first = 0; first < all.size(); first += parts) draw(std::span(all).subspan(first, parts), random);
  };
  return of_input("lses", attention_family(std::move(name), std::move(summary), fill));
}
void usual_lses(std::span<double> lses, core::counter_random& random) {
  for (double& x : lses) x = 4 * random.normal();
}
void one_part_wins(std::span<double> lses, core::counter_random& random) {
  for (double& x : lses) x = random.normal();
  lses[random.below(lses.size())] += random.uniform(8, 60);
}
void equal_lses(std::span<double> lses, core::counter_random&) { std::fill(lses.begin(), lses.end(), 2.5); }
void far_lses(std::span<double> lses, core::counter_random& random) {
  const double level = random.one_in(2) ? 1e4 : -1e4;
  for (double& x : lses) x = level + 2 * random.normal();
}
// Powers of their differences overflow in f32, whose largest number is about e^88.7 or 2^128.
void lses_far_apart(std::span<double> lses, core::counter_random& random) {
  for (double& x : lses) x = random.normal();
  double& one = lses[random.below(lses.size())];
  one += random.sign() * random.uniform(130, 400);
}
void without_some_keys(std::span<double> lses, core::counter_random& random) {
  for (double& x : lses) x = random.one_in(2) ? -infinity : random.normal();
  lses[random.below(lses.size())] = random.normal();
}
void without_keys(std::span<double> lses, core::counter_random& random) {
  const bool none = !random.one_in(3);
  for (double& x : lses) x = none ? -infinity : random.normal();
}
// Values of a part without keys are finite: whatever they are, their weight is 0.
family of_empty_parts(std::string name, std::string summary, lse_source draw) {
  family f = of_lses(std::move(name), std::move(summary), draw);
  f.generate = [drawn = f.generate](const core::operation& op, core::dtype type, const core::attributes& settings,
                                    core::counter_random& random, extent size) {
    core::tensors inputs = drawn(op, type, settings, random, size);
    const auto as = core::setting<std::string>(core::completed(op, settings), "empty");
    for (double& x : inputs.at("lses").values.storage())
      if (x == -infinity && as == "plus_infinity" && !random.one_in(3)) x = infinity;
    return inputs;
  };
  return f;
}
void nan_in_a_part(drawn_inputs& in, const core::operation&, core::dtype, core::counter_random& random) {
  // A single part is returned as it is.
  std::vector<double>& x = in.numbers.at(in.sizes.at("p") > 1 && random.one_in(2) ? "lses" : "parts");
  if (!x.empty()) x[random.below(x.size())] = std::nan("");
}

// Laws.

std::optional<test_case> with_parts_reversed(const test_case& c) {
  const std::size_t parts = sizes_of(c).at("p");
  if (parts < 2) return std::nullopt;
  std::vector<std::size_t> order(parts);
  for (std::size_t i = 0; i < parts; ++i) order[i] = parts - 1 - i;
  test_case other = c;
  other.call.inputs = core::restrict_axis(*c.call.operation, c.call.inputs, "p", order);
  return other;
}

}  // namespace

std::vector<family> merge_families() {
  return {
      of_lses("usual_lses", "log-sum-exps of order 4", usual_lses),
      of_lses("one_part_wins", "one part has nearly all the weight", one_part_wins),
      of_lses("equal_lses", "all parts weigh the same", equal_lses),
      of_lses("far_lses", "log-sum-exps near 10000 or -10000", far_lses),
      of_lses("parts_far_apart", "parts of a query are 130 to 400 apart", lses_far_apart),
      of_empty_parts("empty_parts", "some parts have no keys", without_some_keys),
      of_empty_parts("no_keys", "queries none of whose parts has keys", without_keys),
      holding_nan(
          of_input("lses", attention_family("nan_in_a_part", "a NaN in a part or its log-sum-exp", nan_in_a_part))),
  };
}

// The usual sizes by roles. Sizes with many numbers have fewer positions of the axes that are not tested: five axes are
// many.
std::vector<usual_size> merge_sizes() {
  std::vector<usual_size> all = sizes_by_roles(*reference::find_operation("attention/merge"));
  const core::axis_sizes few{{"B", 2}, {"h", 2}, {"n", 3}, {"p", 5}, {"e", 3}},
      fewer{{"B", 1}, {"h", 1}, {"n", 1}, {"p", 3}, {"e", 2}};
  for (usual_size& u : all) {
    std::size_t numbers = 1;
    for (const auto& [axis, size] : u.axes) numbers *= size;
    if (numbers <= std::size_t{1} << 13) continue;
    for (auto& [axis, size] : u.axes)
      if (size <= few.at(axis)) size = fewer.at(axis);
  }
  add_sizes(all, {"attention/merge"}, "B h n p e", "2 2 130 3 2, 2 2 64 64 64");
  return all;
}

bool has_lse_out_of_place(const request& call) {
  const auto lses = call.inputs.find("lses");
  if (lses == call.inputs.end() || setting_of<std::string>(call, "empty") == "plus_infinity") return false;
  const auto& x = lses->second.values.storage();
  return std::find(x.begin(), x.end(), infinity) != x.end();
}

std::vector<property> merge_laws() {
  return {law("attention_merge_order", "parts in another order give the same",
              {{"attention/merge"},
               {"mild", "usual_lses", "one_part_wins", "equal_lses", "far_lses", "empty_parts", "no_keys"}},
              agree_after(with_parts_reversed, "the parts in reverse order"))};
}

}  // namespace assay::properties::encodings::attention
