#include "properties/diagnosis/condition_search.hpp"

#include <algorithm>
#include <set>

namespace assay::properties {
namespace {

constexpr std::size_t most_conditions = 3, longest_period = 1024;

// The results of the wrong case at other sizes of one axis.
struct axis_profile {
  std::string axis;
  std::size_t size = 1;
  std::set<std::size_t> wrong_sizes{}, right_sizes{};
  bool complete = true;  // all sizes tried gave an answer
};

class search {
 public:
  search(const probe& wrong, size_experiments& again) : wrong_(wrong), again_(again), sizes_(sizes_of(wrong.c)) {
    raise();
  }

  // Enlarges an axis. False if no size of it makes the case right, or if the case is not wrong at the larger size.
  bool enlarge(const std::string& axis) {
    constexpr std::size_t times = 4, more = 33;
    if (profile_of(axis).right_sizes.empty()) return false;
    const std::size_t larger = again_.declared(wrong_, axis).nearest(times * sizes_.at(axis) + more);
    if (is_right(axis, larger) != false) return false;
    sizes_[axis] = larger;
    return true;
  }

  [[nodiscard]] const core::axis_sizes& sizes() const { return sizes_; }

  // The conditions that explain at which sizes of one axis, or of two axes that compare, the case is right. Nothing if
  // there are no such conditions, or too many axes matter.
  std::optional<conditions> read() {
    std::vector<axis_profile> profiles;
    for (const auto& [axis, size] : sizes_) profiles.push_back(profile_of(axis));
    const auto matters = [](const axis_profile& p) { return !p.right_sizes.empty(); };
    const auto count = static_cast<std::size_t>(std::count_if(profiles.begin(), profiles.end(), matters));
    if (count == 0 || count > most_conditions) return std::nullopt;
    conditions all;
    for (const axis_profile& x : profiles)
      for (const axis_profile& y : profiles)
        if (x.axis < y.axis && (matters(x) || matters(y)) && (matters(x) || !x.complete) && (matters(y) || !y.complete))
          if (auto c = comparison_of(x, y)) all.push_back(*c);
    const conditions comparisons = all;
    for (axis_profile& p : profiles) {
      std::erase_if(p.right_sizes, [&](std::size_t size) { return explained(comparisons, p.axis, size); });
      if (p.right_sizes.empty()) continue;
      const conditions conditions_on_axis = conditions_of(p);
      if (conditions_on_axis.empty()) return std::nullopt;
      all.insert(all.end(), conditions_on_axis.begin(), conditions_on_axis.end());
    }
    return all;
  }

 private:
  std::optional<bool> is_right(const std::string& axis, std::size_t size) {
    core::axis_sizes sizes = sizes_;
    sizes[axis] = size;
    return again_.is_right(wrong_, sizes, evidence::informative);
  }
  std::optional<bool> is_right(const core::axis_sizes& changed) {
    core::axis_sizes sizes = sizes_;
    for (const auto& [axis, size] : changed) sizes[axis] = size;
    return again_.is_right(wrong_, sizes, evidence::informative);
  }

  // Gives each axis of size 1 the size 2 or 3, if the case stays wrong: cases that are right with one key or one token
  // may tell nothing.
  void raise() {
    for (auto& [axis, size] : sizes_)
      for (const std::size_t more : {2, 3}) {
        if (size != 1 || !again_.declared(wrong_, axis).holds(more)) continue;
        size = more;
        if (again_.is_right(wrong_, sizes_, evidence::informative) != false) size = 1;
      }
  }

  // Tries one, the neighbours of the size, twice the size, a whole number of blocks, and the sizes of the other axes.
  axis_profile profile_of(const std::string& axis) {
    axis_profile p{axis, sizes_.at(axis)};
    const declared_sizes declared = again_.declared(wrong_, axis);
    const std::size_t step = declared.multiple_of;
    std::set<std::size_t> sizes{1,
                                step,
                                p.size - std::min(p.size, step),
                                p.size + step,
                                2 * p.size,
                                declared.nearest(whole_blocks_above(p.size))};
    for (const auto& [other, size] : sizes_) sizes.insert(size);
    for (const std::size_t size : sizes) {
      if (size == 0 || size == p.size || !declared.holds(size)) continue;
      const auto is = is_right(axis, size);
      if (is) (*is ? p.right_sizes : p.wrong_sizes).insert(size);
      p.complete = p.complete && is;
    }
    p.wrong_sizes.insert(p.size);
    return p;
  }

  // Returns how two axes compare in the sizes where the case is wrong.
  std::optional<size_condition> comparison_of(const axis_profile& x, const axis_profile& y) {
    const auto sign = [](std::size_t a, std::size_t b) { return a < b ? -1 : a > b ? 1 : 0; };
    const std::size_t middle = std::max(x.size, y.size);
    std::set<int> wrong{sign(x.size, y.size)}, right;
    for (const core::axis_sizes& sizes : compared_sizes(x.axis, y.axis, middle)) {
      const auto is = is_right(sizes);
      if (is) (*is ? right : wrong).insert(sign(sizes.at(x.axis), sizes.at(y.axis)));
      if (std::any_of(right.begin(), right.end(), [&](int s) { return wrong.contains(s); })) return std::nullopt;
    }
    if (right.size() + wrong.size() < 3 || right.empty()) return std::nullopt;
    const bool turned = wrong.contains(1) && !wrong.contains(-1), ends = wrong.contains(0);
    const bool both = wrong.contains(1) == wrong.contains(-1);
    size_condition c{
        both ? (ends ? size_form::equal : size_form::unequal) : (ends ? size_form::at_most : size_form::smaller),
        turned ? y.axis : x.axis, turned ? x.axis : y.axis};
    c.middle = middle;
    if (c.is == size_form::equal && x.size == y.size && x.size > 1 && is_right({{x.axis, 1}, {y.axis, 1}}) != false)
      c.bound = again_.boundary(wrong_, sizes_, {x.axis, y.axis}, 1, x.size).second - 1;
    return c;
  }

  [[nodiscard]] bool explained(const conditions& all, const std::string& axis, std::size_t size) const {
    core::axis_sizes sizes = sizes_;
    sizes[axis] = size;
    return std::any_of(all.begin(), all.end(), [&](const size_condition& c) { return !c.holds(sizes); });
  }

  conditions conditions_of(const axis_profile& p) {
    const std::size_t lowest_right = *p.right_sizes.begin(), highest_right = *p.right_sizes.rbegin();
    if (highest_right < *p.wrong_sizes.begin())
      return {bounded(size_form::more, p.axis, highest_right, *p.wrong_sizes.begin())};
    if (lowest_right > *p.wrong_sizes.rbegin() && is_right(p.axis, highest_right + 1) != false)
      return {bounded(size_form::less, p.axis, lowest_right, *p.wrong_sizes.rbegin())};
    for (std::size_t period = 2; period <= longest_period; period *= 2)
      if (conditions all = conditions_of_period(p, period); !all.empty()) return all;
    return {};
  }

  conditions conditions_of_period(const axis_profile& p, std::size_t period) {
    const auto only = [&](const std::set<std::size_t>& sizes, std::size_t rest, bool same) {
      return std::all_of(sizes.begin(), sizes.end(), [&](std::size_t n) { return (n % period == rest) == same; });
    };
    const std::size_t rest = p.size % period, multiple = (p.size / period + 1) * period;
    std::set<std::size_t> not_below;  // right sizes, except small ones with this rest: these may be right
    for (const std::size_t size : p.right_sizes)
      if (size >= *p.wrong_sizes.begin() || size % period != rest) not_below.insert(size);
    if (!not_below.empty() && only(p.wrong_sizes, rest, true) && only(not_below, rest, false) &&
        is_right(p.axis, p.size + period) == false) {
      conditions all{condition_of_period(size_form::multiple_plus, p.axis, period, rest)};
      if (const auto few = right_below(p, period, rest)) all.push_back(above_few(p, *few, period));
      return all;
    }
    std::set<std::size_t> few, others;  // right sizes too small to be wrong, and right sizes that must be multiples
    for (const std::size_t size : p.right_sizes)
      (size < *p.wrong_sizes.begin() && size % period != 0 ? few : others).insert(size);
    if (period == 2 || !only(others, 0, true) || !only(p.wrong_sizes, 0, false) || is_right(p.axis, multiple) != true)
      return {};
    conditions all{condition_of_period(size_form::no_multiple, p.axis, period, 0)};
    if (!few.empty()) all.push_back(bounded(size_form::more, p.axis, *few.rbegin(), *p.wrong_sizes.begin()));
    return all;
  }

  // A right size with this rest below the wrong sizes: the largest that was tried, or else one of the first few.
  std::optional<std::size_t> right_below(const axis_profile& p, std::size_t period, std::size_t rest) {
    constexpr std::size_t first_ones = 3;
    const std::size_t end = *p.wrong_sizes.begin();
    std::optional<std::size_t> found;
    for (const std::size_t size : p.right_sizes)
      if (size < end && size % period == rest) found = size;
    for (std::size_t k = 0, size = rest; k < first_ones && !found && size < end; ++k, size += period)
      if (size > 0 && is_right(p.axis, size) == true) found = size;
    return found;
  }

  // The condition that the size is more than the last right size with the same rest.
  size_condition above_few(const axis_profile& p, std::size_t right_size, std::size_t period) {
    size_condition c{size_form::more, p.axis};
    c.bound = right_size;
    const auto steps = [&](std::size_t above) { return (above - c.bound) / period; };
    for (std::size_t wrong_size = *p.wrong_sizes.begin(); steps(wrong_size) > 1;) {
      const std::size_t middle = c.bound + steps(wrong_size) / 2 * period;
      const auto is = is_right(p.axis, middle);
      if (!is) break;
      (*is ? c.bound : wrong_size) = middle;
    }
    return c;
  }

  size_condition bounded(size_form is, const std::string& axis, std::size_t right_size, std::size_t wrong_size) {
    size_condition c{is, axis};
    const auto [last_right, first_wrong] = again_.boundary(wrong_, sizes_, {axis}, right_size, wrong_size);
    const bool above = is == size_form::more;
    const std::size_t between = above ? first_wrong - last_right : last_right - first_wrong;
    // If calls between the two sizes were not answered, the condition leaves those sizes out.
    const bool neighbours = between <= again_.declared(wrong_, axis).multiple_of;
    c.bound = neighbours ? last_right : above ? first_wrong - 1 : first_wrong + 1;
    return c;
  }

  static size_condition condition_of_period(size_form is, const std::string& axis, std::size_t period,
                                            std::size_t rest) {
    size_condition c{is, axis};
    c.period = period;
    c.rest = rest;
    return c;
  }

  const probe& wrong_;
  size_experiments& again_;
  core::axis_sizes sizes_;  // a wrong case
};

}  // namespace

std::optional<conditions_found> conditions_around(const probe& wrong, const std::optional<std::string>& enlarged,
                                                  size_experiments& again) {
  search around(wrong, again);
  if (enlarged && !around.enlarge(*enlarged)) return std::nullopt;
  auto all = around.read();
  if (!all) return std::nullopt;
  return conditions_found{std::move(*all), around.sizes()};
}

}  // namespace assay::properties
