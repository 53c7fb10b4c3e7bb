#include "properties/diagnosis/joint_conditions.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "properties/diagnosis/condition_search.hpp"

namespace assay::properties {
namespace {

constexpr std::size_t most_started_from = 3, many_more = 128;
// One case in so many for which the conditions hold may be right by chance: where indices wrap around, some wrap to
// right elements.
constexpr std::size_t wrong_for_each_exception = 5;

class confirmation {
 public:
  confirmation(const probe& wrong, const conditions_found& found, bool has_exceptions, size_experiments& again)
      : wrong_(wrong), again_(again), all_(found.all), wrong_sizes_(found.sizes), has_exceptions_(has_exceptions) {}

  // Whether fresh cases on both sides of each condition behave as the conditions say: some are wrong, and for each
  // condition some are right. The same must hold with one and with many positions of every other axis, and with other
  // choices. If there are exceptions, a few cases for which all conditions hold may be right.
  bool holds(const std::vector<const probe*>& with_other_choices) {
    for (const probe* p : with_other_choices)
      if (again_.is_right(*p, moved(false), evidence::informative) == true && !has_exceptions_) return false;
    std::size_t appears = 0, exceptions = 0;
    std::vector<bool> disappears(all_.size());
    for (const core::axis_sizes& from : {wrong_sizes_, moved(false), moved(true)})
      for (const size_condition& c : all_)
        for (const core::axis_sizes& sample : c.samples()) {
          core::axis_sizes sizes = from;
          for (const auto& [axis, size] : sample) sizes[axis] = size;
          const auto broken = std::count_if(all_.begin(), all_.end(), [&](const auto& x) { return !x.holds(sizes); });
          const auto is = again_.is_right(wrong_, sizes, evidence::informative);
          if (!is) continue;
          if (!*is && broken > 0) return false;
          if (*is && broken == 0 && !has_exceptions_) return false;
          appears += !*is;
          exceptions += *is && broken == 0;
          for (std::size_t k = 0; k < all_.size(); ++k)
            if (broken == 1 && !all_[k].holds(sizes)) disappears[k] = true;
        }
    return appears > 0 && wrong_for_each_exception * exceptions <= appears &&
           std::all_of(disappears.begin(), disappears.end(), [](bool b) { return b; }) &&
           std::all_of(wrong_sizes_.begin(), wrong_sizes_.end(),
                       [&](const auto& other) { return does_not_matter(other.first); });
  }

 private:
  // Whether cases that are wrong beside the bounds stay wrong with one position of another axis, and right cases there
  // stay right with many.
  bool does_not_matter(const std::string& other) {
    if (std::any_of(all_.begin(), all_.end(), [&](const auto& c) { return c.axis == other || c.other == other; }))
      return true;
    core::axis_sizes sizes = moved(false);
    const declared_sizes declared = again_.declared(wrong_, other);
    const std::size_t many = declared.nearest(2 * sizes.at(other) + many_more);
    sizes[other] = declared.nearest(1);
    if (again_.is_right(wrong_, sizes, evidence::informative) == true) return false;
    for (const size_condition& c : all_) {
      if (c.has_two_axes()) continue;
      core::axis_sizes beside = moved(false);
      beside[other] = many;
      for (const core::axis_sizes& sample : c.samples())
        if (!c.holds(sample)) {
          beside[c.axis] = sample.at(c.axis);
          break;
        }
      if (!c.holds(beside) && again_.is_right(wrong_, beside, evidence::informative) == false) return false;
    }
    return true;
  }

  // The case with the first or the last sizes for which each condition on one axis holds; unchanged if these sizes do
  // not go together.
  [[nodiscard]] core::axis_sizes moved(bool far) const {
    core::axis_sizes sizes = wrong_sizes_;
    for (const size_condition& c : all_) {
      if (c.has_two_axes()) continue;
      auto samples = c.samples();
      std::erase_if(samples, [&](const auto& s) { return !c.holds(s); });
      if (!samples.empty()) sizes[c.axis] = (far ? samples.back() : samples.front()).at(c.axis);
    }
    const bool together = std::all_of(all_.begin(), all_.end(), [&](const auto& c) { return c.holds(sizes); });
    return together ? sizes : wrong_sizes_;
  }

  const probe& wrong_;
  size_experiments& again_;
  const conditions& all_;
  const core::axis_sizes& wrong_sizes_;
  bool has_exceptions_;
};

// The largest product of two axes at which the case is right, with this axis short and the others unchanged.
std::optional<std::size_t> bound_of_product(const probe& wrong, const std::string& axis, const std::string& other,
                                            size_experiments& again) {
  const core::axis_sizes sizes = sizes_of(wrong.c);
  constexpr std::size_t few = 2;
  const std::size_t product = sizes.at(axis) * sizes.at(other);
  if (product <= few || !again.declared(wrong, axis).holds(few)) return std::nullopt;
  const core::axis_sizes short_one{{axis, few}};
  const auto is_right_with = [&](std::size_t size) {
    return again.is_right(wrong, {{axis, few}, {other, size}}, evidence::informative);
  };
  const std::size_t large = product / few + 1;
  if (is_right_with(1) != true || is_right_with(large) != false) return std::nullopt;
  return few * again.boundary(wrong, short_one, {other}, 1, large).first;
}

// "m n is more than 1000": a bound that shows with either axis short.
std::optional<conditions_found> product_around(const probe& wrong, size_experiments& again) {
  const core::axis_sizes sizes = sizes_of(wrong.c);
  for (const auto& [axis, size] : sizes)
    for (const auto& [other, size_of_other] : sizes) {
      if (!(axis < other)) continue;
      const auto by_one = bound_of_product(wrong, axis, other, again),
                 by_other = bound_of_product(wrong, other, axis, again);
      if (!by_one || by_one != by_other) continue;
      size_condition c{size_form::product, axis, other};
      // A short axis of two cannot reach an odd product.
      const core::axis_sizes odd{{axis, 1}, {other, *by_one + 1}};
      c.bound = again.is_right(wrong, odd, evidence::informative) == true ? *by_one + 1 : *by_one;
      return conditions_found{{c}, sizes};
    }
  return std::nullopt;
}

bool holds_for(const conditions& all, const probe& p) {
  const core::axis_sizes sizes = sizes_of(p.c);
  return std::all_of(all.begin(), all.end(), [&](const size_condition& c) { return c.holds(sizes); });
}

}  // namespace

std::optional<std::string> by_several_axes(const std::vector<const probe*>& wrong,
                                           const std::vector<const probe*>& right, size_experiments& again) {
  const auto confirmed = [&](const probe& p,
                             const std::optional<conditions_found>& found) -> std::optional<std::string> {
    if (!found) return std::nullopt;
    const auto holds = [&](const probe* other) { return holds_for(found->all, *other); };
    const auto refutes = [&](const probe* other) { return !has_empty_axis(*other) && holds(other); };
    const auto exceptions = static_cast<std::size_t>(std::count_if(right.begin(), right.end(), refutes));
    if (!std::all_of(wrong.begin(), wrong.end(), holds) || wrong_for_each_exception * exceptions > wrong.size() ||
        !confirmation(p, *found, exceptions > 0, again).holds(one_of_each_choice(wrong)))
      return std::nullopt;
    return " where " + words_of(found->all) +
           (exceptions == 0 ? relation_in_words(found->all)
                            : fmt::format(", in {} of {} such cases tried", wrong.size(), wrong.size() + exceptions));
  };
  std::size_t started = 0;
  for (const probe* p : wrong) {
    if (++started > most_started_from) break;
    // Fresh numbers may hide a fault that special numbers show.
    if (has_empty_axis(*p) || again.is_right(*p, {}) != false) continue;
    if (auto said = confirmed(*p, conditions_around(*p, std::nullopt, again))) return said;
    for (const auto& [axis, size] : sizes_of(p->c))
      if (auto said = confirmed(*p, conditions_around(*p, axis, again))) return said;
    if (auto said = confirmed(*p, product_around(*p, again))) return said;
  }
  return std::nullopt;
}

bool stands_alone(const probe& wrong, const std::string& axis, std::size_t right_size, std::size_t wrong_size,
                  size_experiments& again) {
  if (again.is_right(wrong, {{axis, wrong_size}}) == true) return false;
  for (const auto& [other, size] : sizes_of(wrong.c)) {
    if (other == axis) continue;
    const declared_sizes declared = again.declared(wrong, other);
    const std::size_t more = declared.nearest(2 * size + many_more);
    // A single position may tell nothing: with one key, features do not matter.
    for (const std::size_t few : {declared.nearest(1), declared.nearest(2)})
      if (few < size && again.is_right(wrong, {{axis, wrong_size}, {other, few}}, evidence::informative) == true)
        return false;
    if (more > size && again.is_right(wrong, {{axis, right_size}, {other, more}}) == false) return false;
  }
  return true;
}

namespace {

// Whether cases are right far behind the bound. A right case may tell nothing: with one key, features do not matter.
std::vector<std::optional<bool>> far_behind(const std::vector<const probe*>& wrong, const std::string& axis,
                                            std::size_t bound, size_experiments& again) {
  std::vector<std::optional<bool>> all;
  for (const probe* p : {wrong.front(), wrong[wrong.size() / 2], wrong.back()})
    for (const std::size_t far : {2 * bound + many_more, 2 * bound + many_more + 1, whole_blocks_above(bound)})
      all.push_back(again.is_right(*p, {{axis, again.declared(*p, axis).nearest(far)}}, evidence::informative));
  return all;
}

bool has(const std::vector<std::optional<bool>>& all, bool value) {
  return std::find(all.begin(), all.end(), std::optional(value)) != all.end();
}

}  // namespace

bool holds_far_behind(const std::vector<const probe*>& wrong, const std::string& axis, std::size_t bound,
                      size_experiments& again) {
  const auto found = far_behind(wrong, axis, bound, again);
  return has(found, false) && !has(found, true);
}

bool is_right_far_behind(const std::vector<const probe*>& wrong, const std::string& axis, std::size_t bound,
                         size_experiments& again) {
  return !has(far_behind(wrong, axis, bound, again), false);
}

}  // namespace assay::properties
