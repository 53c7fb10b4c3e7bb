#include "properties/diagnosis/condition_search.hpp"

#include <algorithm>
#include <set>

namespace assay::properties {
namespace {

constexpr std::size_t most_conditions = 3, longest_period = 1024;

// The results of the wrong case at other sizes of one axis.
struct axis_profile {
  std::string axis;
  std::size_t at = 1;
  std::set<std::size_t> wrong_at{}, right_at{};
  bool complete = true;  // all sizes tried gave an answer
};

class search {
 public:
  search(const probe& wrong, size_experiments& again) : wrong_(wrong), again_(again), sizes_(sizes_of(wrong.c)) {
    raise();
  }

  // Enlarges an axis that has a size at which the case is right. False if the case is right at the larger size.
  bool enlarge(const std::string& axis) {
    constexpr std::size_t times = 4, more = 33;
    if (profile_of(axis).right_at.empty()) return false;
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
    const auto matters = [](const axis_profile& p) { return !p.right_at.empty(); };
    const auto count = static_cast<std::size_t>(std::count_if(profiles.begin(), profiles.end(), matters));
    if (count == 0 || count > most_conditions) return std::nullopt;
    conditions all;
    for (const axis_profile& x : profiles)
      for (const axis_profile& y : profiles)
        if (x.axis < y.axis && (matters(x) || matters(y)) && (matters(x) || !x.complete) && (matters(y) || !y.complete))
          if (auto c = comparison_of(x, y)) all.push_back(*c);
    const conditions comparisons = all;
    for (axis_profile& p : profiles) {
      std::erase_if(p.right_at, [&](std::size_t size) { return explained(comparisons, p.axis, size); });
      if (p.right_at.empty()) continue;
      const conditions of_axis = conditions_of(p);
      if (of_axis.empty()) return std::nullopt;
      all.insert(all.end(), of_axis.begin(), of_axis.end());
    }
    return all;
  }

 private:
  std::optional<bool> is_right(const std::string& axis, std::size_t size) {
    core::axis_sizes sizes = sizes_;
    sizes[axis] = size;
    return again_.is_right(wrong_, sizes, evidence::telling);
  }
  std::optional<bool> is_right(const core::axis_sizes& changed) {
    core::axis_sizes sizes = sizes_;
    for (const auto& [axis, size] : changed) sizes[axis] = size;
    return again_.is_right(wrong_, sizes, evidence::telling);
  }

  // A case that is right with one key or one token may tell nothing: takes two or three if the case is wrong there too.
  void raise() {
    for (auto& [axis, size] : sizes_)
      for (const std::size_t more : {2, 3}) {
        if (size != 1 || !again_.declared(wrong_, axis).holds(more)) continue;
        size = more;
        if (again_.is_right(wrong_, sizes_, evidence::telling) != false) size = 1;
      }
  }

  // Tries one, the neighbours of the size, twice the size, a whole number of blocks, and the sizes of the other axes.
  axis_profile profile_of(const std::string& axis) {
    axis_profile p{axis, sizes_.at(axis)};
    const declared_sizes declared = again_.declared(wrong_, axis);
    const std::size_t step = declared.multiple_of;
    std::set<std::size_t> sizes{1,           step,     p.at - std::min(p.at, step),
                                p.at + step, 2 * p.at, declared.nearest(whole_blocks_above(p.at))};
    for (const auto& [other, size] : sizes_) sizes.insert(size);
    for (const std::size_t size : sizes) {
      if (size == 0 || size == p.at || !declared.holds(size)) continue;
      const auto is = is_right(axis, size);
      if (is) (*is ? p.right_at : p.wrong_at).insert(size);
      p.complete = p.complete && is;
    }
    p.wrong_at.insert(p.at);
    return p;
  }

  // Returns how two axes compare in the sizes where the case is wrong.
  std::optional<size_condition> comparison_of(const axis_profile& x, const axis_profile& y) {
    const auto sign = [](std::size_t a, std::size_t b) { return a < b ? -1 : a > b ? 1 : 0; };
    const std::size_t at = std::max(x.at, y.at);
    std::set<int> wrong{sign(x.at, y.at)}, right;
    for (const core::axis_sizes& sizes : compared_sizes(x.axis, y.axis, at)) {
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
    c.at = at;
    if (c.is == size_form::equal && x.at == y.at && x.at > 1 && is_right({{x.axis, 1}, {y.axis, 1}}) != false)
      c.bound = again_.boundary(wrong_, sizes_, {x.axis, y.axis}, 1, x.at).second - 1;
    return c;
  }

  [[nodiscard]] bool explained(const conditions& all, const std::string& axis, std::size_t size) const {
    core::axis_sizes sizes = sizes_;
    sizes[axis] = size;
    return std::any_of(all.begin(), all.end(), [&](const size_condition& c) { return !c.holds(sizes); });
  }

  conditions conditions_of(const axis_profile& p) {
    const std::size_t lowest_right = *p.right_at.begin(), highest_right = *p.right_at.rbegin();
    if (highest_right < *p.wrong_at.begin())
      return {bounded(size_form::more, p.axis, highest_right, *p.wrong_at.begin())};
    if (lowest_right > *p.wrong_at.rbegin() && is_right(p.axis, highest_right + 1) != false)
      return {bounded(size_form::less, p.axis, lowest_right, *p.wrong_at.rbegin())};
    for (std::size_t period = 2; period <= longest_period; period *= 2)
      if (conditions all = conditions_of_period(p, period); !all.empty()) return all;
    return {};
  }

  conditions conditions_of_period(const axis_profile& p, std::size_t period) {
    const auto only = [&](const std::set<std::size_t>& sizes, std::size_t rest, bool same) {
      return std::all_of(sizes.begin(), sizes.end(), [&](std::size_t n) { return (n % period == rest) == same; });
    };
    const std::size_t rest = p.at % period, multiple = (p.at / period + 1) * period;
    std::set<std::size_t> not_below;  // right sizes that contradict the rule; small ones may be right
    for (const std::size_t size : p.right_at)
      if (size >= *p.wrong_at.begin() || size % period != rest) not_below.insert(size);
    if (!not_below.empty() && only(p.wrong_at, rest, true) && only(not_below, rest, false) &&
        is_right(p.axis, p.at + period) == false) {
      conditions all{of_period(size_form::multiple_plus, p.axis, period, rest)};
      if (const auto few = right_below(p, period, rest)) all.push_back(above_few(p, *few, period));
      return all;
    }
    std::set<std::size_t> few, others;  // right sizes too small to be wrong, and right sizes that must be multiples
    for (const std::size_t size : p.right_at)
      (size < *p.wrong_at.begin() && size % period != 0 ? few : others).insert(size);
    if (period == 2 || !only(others, 0, true) || !only(p.wrong_at, 0, false) || is_right(p.axis, multiple) != true)
      return {};
    conditions all{of_period(size_form::no_multiple, p.axis, period, 0)};
    if (!few.empty()) all.push_back(bounded(size_form::more, p.axis, *few.rbegin(), *p.wrong_at.begin()));
    return all;
  }

  // A right size with this rest below the wrong sizes: the largest that was tried, or else one of the first few.
  std::optional<std::size_t> right_below(const axis_profile& p, std::size_t period, std::size_t rest) {
    constexpr std::size_t first_ones = 3;
    const std::size_t end = *p.wrong_at.begin();
    std::optional<std::size_t> found;
    for (const std::size_t size : p.right_at)
      if (size < end && size % period == rest) found = size;
    for (std::size_t k = 0, size = rest; k < first_ones && !found && size < end; ++k, size += period)
      if (size > 0 && is_right(p.axis, size) == true) found = size;
    return found;
  }

  // The condition that the size is more than the last right size with the same rest.
  size_condition above_few(const axis_profile& p, std::size_t right_at, std::size_t period) {
    size_condition c{size_form::more, p.axis};
    c.bound = right_at;
    const auto steps = [&](std::size_t above) { return (above - c.bound) / period; };
    for (std::size_t wrong_at = *p.wrong_at.begin(); steps(wrong_at) > 1;) {
      const std::size_t middle = c.bound + steps(wrong_at) / 2 * period;
      const auto is = is_right(p.axis, middle);
      if (!is) break;
      (*is ? c.bound : wrong_at) = middle;
    }
    return c;
  }

  size_condition bounded(size_form is, const std::string& axis, std::size_t right_at, std::size_t wrong_at) {
    size_condition c{is, axis};
    const auto [last_right, first_wrong] = again_.boundary(wrong_, sizes_, {axis}, right_at, wrong_at);
    const bool above = is == size_form::more;
    const std::size_t between = above ? first_wrong - last_right : last_right - first_wrong;
    // Sizes between the two that were not answered are not said to be wrong.
    const bool neighbours = between <= again_.declared(wrong_, axis).multiple_of;
    c.bound = neighbours ? last_right : above ? first_wrong - 1 : first_wrong + 1;
    return c;
  }

  static size_condition of_period(size_form is, const std::string& axis, std::size_t period, std::size_t rest) {
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

std::optional<conditions_found> conditions_around(const probe& wrong, const std::optional<std::string>& larger,
                                                  size_experiments& again) {
  search around(wrong, again);
  if (larger && !around.enlarge(*larger)) return std::nullopt;
  auto all = around.read();
  if (!all) return std::nullopt;
  return conditions_found{std::move(*all), around.sizes()};
}

}  // namespace assay::properties
