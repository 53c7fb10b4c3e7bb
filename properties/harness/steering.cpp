#include "properties/harness/steering.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace assay::properties {
namespace {

using values = xt::xarray<double>::storage_type;

// The numbers of a dtype in an interval: none where low > high.
declared_domain numbers_inside(core::dtype type, const declared_domain& d) {
  if (!core::is_floating(type)) return {std::ceil(d.low), std::floor(d.high)};
  const double largest = core::largest_finite(type);
  double low = core::round_to(type, std::max(d.low, -largest)), high = core::round_to(type, std::min(d.high, largest));
  if (low < d.low) low = core::next_above(type, low);
  if (high > d.high) high = core::next_below(type, high);
  return {low, high};
}

struct steering {
  core::dtype type;
  declared_domain inside;
  bool has_low, has_high;  // whether the domain has a lower and an upper end
  bool low_end, high_end;  // whether some number becomes the lower end, and the upper one

  [[nodiscard]] bool holds(double x) const { return x >= inside.low && x <= inside.high; }

  // A number inside the interval in place of x, which is outside: mirrored at the only end if there is one end, else
  // anywhere, spread over the binades if the interval spans many.
  [[nodiscard]] double another(double x, core::counter_random& random) const {
    const double low = inside.low, high = inside.high, share = random.uniform();
    if (!has_low || !has_high)
      return std::clamp(core::round_to(type, has_low ? low + (low - x) : high - (x - high)), low, high);
    if (!core::is_floating(type)) return low + std::floor(share * (high - low + 1.0));
    const double y = low > 0.0 && high / low > 64.0    ? low * std::pow(high / low, share)
                     : high < 0.0 && low / high > 64.0 ? high * std::pow(low / high, share)
                                                       : low * (1.0 - share) + high * share;
    return std::clamp(core::round_to(type, y), low, high);
  }

  void move(values& x, core::counter_random& random) const {
    for (double& v : x)
      if (!holds(v)) v = another(v, random);
    if (x.empty()) return;
    const std::size_t index = random.below(x.size());
    if (low_end) x[index] = inside.low;
    if (high_end) x[(index + x.size() / 2) % x.size()] = inside.high;
  }

  // Shifts a row of consecutive integers: it begins at the lower end, ends at the upper one, or lies between.
  // Precondition: the domain has both ends.
  void shift(values& x, std::size_t first, std::size_t size, core::counter_random& random) const {
    const double length = static_cast<double>(size), room = inside.high - inside.low - length + 1.0;
    double begin = x[first];
    if (high_end)
      begin = inside.low + room;
    else if (low_end)
      begin = inside.low;
    else if (!holds(begin) || !holds(begin + length - 1.0))
      begin = inside.low + std::floor(random.uniform() * (room + 1.0));
    for (std::size_t i = 0; i < size; ++i) x[first + i] = begin + static_cast<double>(i);
  }

  // Whether all rows of the last axis hold consecutive integers and fit into a domain that has both ends.
  [[nodiscard]] bool has_consecutive_rows(const values& x, std::size_t row) const {
    if (core::is_floating(type) || row < 2 || !has_low || !has_high ||
        static_cast<double>(row) > inside.high - inside.low + 1.0)
      return false;
    for (std::size_t i = 1; i < x.size(); ++i)
      if (i % row != 0 && x[i] != x[i - 1] + 1.0) return false;
    return true;
  }
};

}  // namespace

void steer_into(test_case& c, const input_domains& domains, core::counter_random& random) {
  for (const auto& [name, t] : c.call.inputs)
    if (domains.contains(name))
      for (const double x : t.values.storage())
        if (!std::isfinite(x)) return;
  const std::size_t ends = random.below(4);
  for (const auto& [name, domain] : domains) {
    const auto input = c.call.inputs.find(name);
    if (input == c.call.inputs.end()) continue;
    core::tensor& t = input->second;
    const declared_domain everything;
    const bool has_low = domain.low > everything.low, has_high = domain.high < everything.high;
    if (!has_low && !has_high) continue;
    const steering s{t.type,   numbers_inside(t.type, domain),      has_low,
                     has_high, has_low && (ends == 1 || ends == 3), has_high && ends >= 2};
    if (!(s.inside.low <= s.inside.high)) continue;
    values& x = t.values.storage();
    const core::shape shape = t.shape();
    const std::size_t row = shape.empty() ? 0 : shape.back();
    if (s.has_consecutive_rows(x, row))
      for (std::size_t first = 0; first < x.size(); first += row) s.shift(x, first, row, random);
    else
      s.move(x, random);
  }
}

std::vector<core::attribute> values_to_draw(const core::attribute_declaration& setting, const setting_values& within,
                                            const size_domains& declared) {
  const auto narrowed = within.find(setting.name);
  std::vector<core::attribute> all = narrowed == within.end() ? setting.values : narrowed->second;
  const auto sizes = declared.find(setting.axis);
  if (setting.axis.empty() || sizes == declared.end()) return all;
  const auto size_of = [](const core::attribute& value) {
    return static_cast<std::size_t>(std::get<std::int64_t>(value));
  };
  std::vector<core::attribute> inside;
  std::copy_if(all.begin(), all.end(), std::back_inserter(inside),
               [&](const core::attribute& value) { return sizes->second.holds(size_of(value)); });
  if (!inside.empty()) return inside;
  for (core::attribute& value : all)
    value = static_cast<std::int64_t>(sizes->second.nearest(sizes->second.nearest(1) + size_of(value) - 1));
  return all;
}

core::axis_sizes sizes_inside(core::axis_sizes drawn, const size_domains& declared, std::uint64_t seed) {
  core::counter_random random(seed);
  for (auto& [symbol, size] : drawn) {
    const auto sizes = declared.find(symbol);
    if (sizes == declared.end() || sizes->second.holds(size)) continue;
    const std::size_t more = random.below(3);
    size = sizes->second.nearest(sizes->second.nearest(size) + more * sizes->second.multiple_of);
  }
  return drawn;
}

std::map<std::string, core::size_bounds> bounds_of(const size_domains& declared) {
  std::map<std::string, core::size_bounds> all;
  for (const auto& [symbol, sizes] : declared)
    all[symbol] = {sizes.nearest(1), sizes.nearest(core::size_bounds{}.high)};
  return all;
}

}  // namespace assay::properties
