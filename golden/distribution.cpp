#include "golden/distribution.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "golden/formats/json_file.hpp"
#include "golden/formats/number_text.hpp"

namespace assay::golden {
namespace {

using nlohmann::json;
using draw_function = decltype(distribution::draw);

core::result<double> number_from(const json& j) {
  if (j.is_number()) return j.get<double>();
  const auto x = j.is_string() ? formats::parse_number(j.get_ref<const std::string&>()) : std::nullopt;
  if (!x) return core::failure(formats::shown(j.dump()) + " is no number");
  return std::isnan(*x) ? std::numeric_limits<double>::quiet_NaN() : *x;
}

core::result<std::vector<double>> numbers_from(const json& j) {
  if (!j.is_array() || j.empty()) return core::failure("must be a list of numbers that is not empty");
  std::vector<double> all;
  for (const json& item : j) {
    const auto x = number_from(item);
    if (!x) return tl::make_unexpected(x.error());
    all.push_back(*x);
  }
  return all;
}

core::result<draw_function> uniform(const json& j) {
  const auto ends = numbers_from(j);
  if (!ends) return tl::make_unexpected(ends.error());
  if (ends->size() != 2 || !std::isfinite((*ends)[1] - (*ends)[0]))
    return core::failure("must be two finite numbers [low, high]");
  return [low = (*ends)[0], high = (*ends)[1]](core::counter_random& random, core::dtype, std::size_t) {
    return random.uniform(low, high);
  };
}

core::result<draw_function> integers(const json& j) {
  constexpr double most = 0x1p53;
  const auto ends = numbers_from(j);
  if (!ends) return tl::make_unexpected(ends.error());
  const auto is_integer = [](double x) { return std::fabs(x) <= most && std::floor(x) == x; };
  if (ends->size() != 2 || !std::all_of(ends->begin(), ends->end(), is_integer) || (*ends)[0] > (*ends)[1])
    return core::failure("must be two integers [low, high] in this order, within 2^53");
  return [low = (*ends)[0], count = static_cast<std::size_t>((*ends)[1] - (*ends)[0]) + 1](core::counter_random& random,
                                                                                           core::dtype, std::size_t) {
    return low + static_cast<double>(random.below(count));
  };
}

core::result<draw_function> normal(const json& j) {
  if (auto ok = formats::require_members(j, {"scale", "shift"}); !ok) return tl::make_unexpected(ok.error());
  const auto scale = number_from(j.at("scale")), shift = number_from(j.at("shift"));
  if (!scale) return formats::within("scale", scale.error());
  if (!shift) return formats::within("shift", shift.error());
  return [scale = *scale, shift = *shift](core::counter_random& random, core::dtype, std::size_t) {
    return shift + scale * random.normal();
  };
}

core::result<draw_function> values(const json& j) {
  const auto all = numbers_from(j);
  if (!all) return tl::make_unexpected(all.error());
  return [all = *all](core::counter_random&, core::dtype, std::size_t index) { return all[index % all.size()]; };
}

core::result<draw_function> constant(const json& j) { return values(json::array({j})); }

core::result<draw_function> choice(const json& j) {
  const auto all = numbers_from(j);
  if (!all) return tl::make_unexpected(all.error());
  return [all = *all](core::counter_random& random, core::dtype, std::size_t) { return all[random.below(all.size())]; };
}

// The exponent of the unit of the binades.
int unit_exponent(const std::string& unit, core::dtype type) {
  if (unit == "one") return 0;
  return std::ilogb(unit == "smallest_normal" ? core::smallest_normal(type) : core::smallest_subnormal(type));
}

core::result<draw_function> scaled_powers(const json& j, bool random_significand) {
  if (auto ok = formats::require_members(j, {"from", "to", "sign"}, {"of"}); !ok)
    return tl::make_unexpected(ok.error());
  const auto exponent = [&](const char* key) -> std::optional<int> {
    constexpr std::int64_t most = 2000;
    const json& e = j.at(key);
    // An unsigned number may be larger than any signed number.
    if (!e.is_number_integer() || (e.is_number_unsigned() && e.get<std::uint64_t>() > most)) return std::nullopt;
    const auto value = e.get<std::int64_t>();
    return value >= -most && value <= most ? std::optional(static_cast<int>(value)) : std::nullopt;
  };
  const auto from = exponent("from"), to = exponent("to");
  if (!from || !to || *from > *to)
    return core::failure("from and to must be integers from -2000 to 2000 in this order");
  const std::string sign = j.at("sign").is_string() ? j.at("sign").get<std::string>() : "";
  if (sign != "positive" && sign != "negative" && sign != "either")
    return core::failure("sign must be positive, negative or either");
  const std::string unit = !j.contains("of") ? "one" : j.at("of").is_string() ? j.at("of").get<std::string>() : "";
  if (unit != "one" && unit != "smallest_normal" && unit != "smallest_subnormal")
    return core::failure("of must be one, smallest_normal or smallest_subnormal");
  return [=, low = *from, count = static_cast<std::size_t>(*to - *from) + 1](core::counter_random& random,
                                                                             core::dtype type, std::size_t) {
    const double significand = random_significand ? 1.0 + random.uniform() : 1.0;
    const int e = low + static_cast<int>(random.below(count)) + unit_exponent(unit, type);
    const double drawn_sign = random.sign();
    const double x = std::ldexp(significand, e);
    return sign == "either" ? drawn_sign * x : sign == "negative" ? -x : x;
  };
}
core::result<draw_function> binades(const json& j) { return scaled_powers(j, true); }
core::result<draw_function> powers(const json& j) { return scaled_powers(j, false); }

struct kind {
  const char* name;
  core::result<draw_function> (*parse)(const json&);
};
constexpr std::array<kind, 8> kinds{{{"uniform", uniform},
                                     {"integers", integers},
                                     {"normal", normal},
                                     {"constant", constant},
                                     {"values", values},
                                     {"choice", choice},
                                     {"binades", binades},
                                     {"powers", powers}}};

core::result<sprinkle> sprinkle_from(const json& j) {
  if (auto ok = formats::require_members(j, {"value", "one_in"}); !ok) return tl::make_unexpected(ok.error());
  const auto value = number_from(j.at("value"));
  if (!value) return tl::make_unexpected(value.error());
  const auto one_in = formats::count_member(j, "one_in");
  if (!one_in || *one_in == 0) return core::failure("one_in must be a positive integer");
  return sprinkle{*value, *one_in};
}

core::result<prefix> prefix_from(const json& j) {
  if (auto ok = formats::require_members(j, {"axis", "count", "value"}); !ok) return tl::make_unexpected(ok.error());
  const auto value = number_from(j.at("value"));
  if (!value) return tl::make_unexpected(value.error());
  const auto axis = formats::text_member(j, "axis");
  if (!axis) return tl::make_unexpected(axis.error());
  const auto count = formats::count_member(j, "count");
  if (!count) return tl::make_unexpected(count.error());
  return prefix{*axis, *count, *value};
}

// One object, or a list of them; nothing where the member is absent.
template <class T>
core::result<std::vector<T>> one_or_more(const json& j, const char* key, core::result<T> (*parse)(const json&)) {
  std::vector<T> all;
  if (!j.contains(key)) return all;
  const json list = j.at(key).is_array() ? j.at(key) : json::array({j.at(key)});
  for (const json& item : list) {
    auto one = parse(item);
    if (!one) return formats::within(key, one.error());
    all.push_back(std::move(*one));
  }
  return all;
}

}  // namespace

core::result<distribution> parse_distribution(const json& j) {
  if (!j.is_object()) return core::failure("a distribution must be an object");
  const auto chosen = std::find_if(kinds.begin(), kinds.end(), [&](const kind& k) { return j.contains(k.name); });
  if (chosen == kinds.end()) {
    std::string names;
    for (const kind& k : kinds) names += (names.empty() ? "" : ", ") + std::string(k.name);
    return core::failure("a distribution must have one of the members " + names);
  }
  if (auto ok = formats::require_members(j, {chosen->name}, {"sprinkle", "prefix"}); !ok)
    return tl::make_unexpected(ok.error());
  auto drawn = chosen->parse(j.at(chosen->name));
  if (!drawn) return formats::within(chosen->name, drawn.error());
  auto sprinkles = one_or_more(j, "sprinkle", sprinkle_from);
  if (!sprinkles) return tl::make_unexpected(sprinkles.error());
  auto prefixes = one_or_more(j, "prefix", prefix_from);
  if (!prefixes) return tl::make_unexpected(prefixes.error());
  return distribution{std::move(*drawn), std::move(*sprinkles), std::move(*prefixes)};
}

core::tensor draw(const distribution& d, const core::tensor_declaration& declaration, core::dtype type,
                  const core::axis_sizes& sizes, std::uint64_t seed) {
  core::counter_random random(seed);
  const core::shape shape = core::shape_of(declaration, sizes);
  std::vector<double> numbers(core::element_count(shape));
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    numbers[i] = d.draw(random, type, i);
    for (const sprinkle& s : d.sprinkles)
      if (random.one_in(s.one_in)) numbers[i] = s.value;
  }
  for (const prefix& p : d.prefixes) {
    const auto axis = core::axis_of(declaration, p.axis);
    if (!axis) continue;
    std::size_t inner = 1;
    for (std::size_t k = *axis + 1; k < shape.size(); ++k) inner *= shape[k];
    for (std::size_t i = 0; i < numbers.size(); ++i)
      if (i / inner % shape[*axis] < p.count) numbers[i] = p.value;
  }
  return core::make_tensor(declaration.type_in(type), shape, numbers);
}

}  // namespace assay::golden
