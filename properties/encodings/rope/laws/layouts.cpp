// Laws of layouts: which coordinates are a pair.
#include <algorithm>
#include <cmath>
#include <map>

#include "properties/encodings/rope/laws/laws.hpp"
#include "properties/encodings/rope/laws/rotary_case.hpp"

namespace assay::properties::encodings::rope {
namespace {

// The case in the other layout with the coordinates of each pair moved there, and whence each element came.
struct moved_case {
  test_case c;
  std::vector<std::size_t> origin;
};
moved_case in_other_layout(const test_case& c) {
  const std::string& layout = setting<std::string>(c, "layout");
  moved_case other{with_setting(c, "layout", std::string(layout == "half_split" ? "interleaved" : "half_split")), {}};
  const rotary_case here(c), there(other.c);
  other.origin.resize(here.vectors() * here.features());
  for (std::size_t i = 0; i < other.origin.size(); ++i) other.origin[i] = i;
  for (std::size_t v = 0; v < here.vectors(); ++v)
    for (std::size_t t = 0; t < here.pairs(); ++t) {
      const auto [first, second] = here.pair(v, t);
      const auto [new_first, new_second] = there.pair(v, t);
      other.origin[new_first] = first;
      other.origin[new_second] = second;
    }
  for (const char* name : {"x", "grad_y"})
    if (const auto given = c.call.inputs.find(name); given != c.call.inputs.end())
      for (std::size_t i = 0; i < other.origin.size(); ++i)
        other.c.call.inputs.at(name).values.storage()[i] = given->second.values.storage()[other.origin[i]];
  return other;
}

// The layouts are permutations of one another, and so are their gradients.
void check_layouts(experiment& e) {
  const moved_case other = in_other_layout(e.c);
  const measured_call &here = e.call(), &there = e.call(other.c);
  for (const auto& [name, t] : here.outputs) {
    const bool moves = name == "y" || name == "grad_x";
    e.equal(name, here, moves ? other.origin : every(t.size()), there, every(t.size()), "the other layout");
  }
}

// Coordinates that do not rotate come out as they went in, cotangents too.
void check_partial(experiment& e) {
  const rotary_case shape(e.c);
  e.needs(2 * shape.pairs() != shape.features());
  const bool backwards = e.c.call.operation->is_vjp();
  const numbers got(e.call(), backwards ? "grad_x" : "y");
  const given_numbers given(e.c, backwards ? "grad_y" : "x");
  for (std::size_t i = 0; i < given.size(); ++i)
    if (i % shape.features() >= 2 * shape.pairs())
      e.equal(given[i], exactly(got.x[i]), "element {}, which does not rotate", i);
}

using pairing = std::vector<std::pair<std::size_t, std::size_t>>;

std::string text_of(const pairing& pairs) {
  std::string text;
  for (const auto& [first, second] : pairs) text += fmt::format(" ({}, {})", first, second);
  return text;
}

// The pairings in use, published ones and known mistakes, of r pairs among d coordinates.
std::map<std::string, pairing> known_pairings(std::size_t r, std::size_t d) {
  std::map<std::string, pairing> all;
  const auto add = [&](const std::string& name, auto first, auto second) {
    for (std::size_t t = 0; t < r; ++t) {
      all[name].emplace_back(first(t), second(t));
      all[name + ", backwards"].emplace_back(second(t), first(t));
    }
  };
  const auto same = [](std::size_t t) { return t; };
  const std::size_t rest = d - 2 * r;
  add(
      "interleaved", [](std::size_t t) { return 2 * t; }, [](std::size_t t) { return 2 * t + 1; });
  add("half_split", same, [r](std::size_t t) { return t + r; });
  add("half_split of the whole head", same, [d](std::size_t t) { return t + d / 2; });
  add("outside in", same, [r](std::size_t t) { return 2 * r - 1 - t; });
  add(
      "interleaved at the end of the head", [rest](std::size_t t) { return rest + 2 * t; },
      [rest](std::size_t t) { return rest + 2 * t + 1; });
  add(
      "half_split at the end of the head", [rest](std::size_t t) { return rest + t; },
      [rest, r](std::size_t t) { return rest + t + r; });
  return all;
}

// "2 pairs interleaved"; the declared name where several fit, else the shortest.
std::string described(pairing found, std::size_t d, const std::string& declared) {
  if (found.empty()) return "no pairs";
  std::sort(found.begin(), found.end());
  std::string name;
  if (2 * found.size() <= d)
    for (auto [known, pairs] : known_pairings(found.size(), d)) {
      std::sort(pairs.begin(), pairs.end());
      if (pairs == found && (name.empty() || known == declared || (name != declared && known.size() < name.size())))
        name = known;
    }
  return fmt::format("{} {} {}", found.size(), found.size() == 1 ? "pair" : "pairs",
                     name.empty() ? "of no known layout," + text_of(found) : name);
}

// One vector everywhere, in the sizes of the case: what heads and rows do to one another shows elsewhere. Tokens stand
// at 0, 1, ..., one alone at 1; angles of their own: no sine is subnormal, where the implementation knows a base of
// 100.
test_case everywhere(const description& about, const test_case& c, const std::vector<double>& vector) {
  test_case probe = c;
  for (const char* name : {"x", "grad_y"})
    if (const auto given = probe.call.inputs.find(name); given != probe.call.inputs.end()) {
      auto& x = given->second.values.storage();
      for (std::size_t i = 0; i < x.size(); ++i) x[i] = vector[i % vector.size()];
    }
  core::tensor& position = probe.call.inputs.at("position");
  const std::size_t tokens = rotary_case(c).tokens();
  for (std::size_t i = 0; i < position.size(); ++i)
    position.values.storage()[i] = tokens == 1 ? 1.0 : static_cast<double>(i % tokens);
  if (const auto given = probe.call.inputs.find("theta"); given != probe.call.inputs.end())
    for (std::size_t t = 0; t < given->second.size(); ++t)
      given->second.values.storage()[t] = core::round_to(c.call.type, 1.0 / static_cast<double>(t + 1));
  if (c.call.operation->attribute("base") == nullptr) return probe;
  test_case steep = with_setting(probe, "base", 100.0);
  return within_domain(about, steep) ? steep : probe;
}

// The rotation at position 1 as a matrix, and what is read off it.
class rotation_matrix {
 public:
  // Of the first vector that stands there: a column for each unit vector.
  explicit rotation_matrix(experiment& e) : d_(rotary_case(e.c).features()) {
    const rotary_case shape(e.c);
    backwards_ = e.c.call.operation->is_vjp();
    const std::size_t at = shape.vector(0, shape.tokens() == 1 ? 0 : 1, 0) * d_;
    std::vector<double> unit(d_);
    const auto image = [&] {
      const numbers all(e.call(everywhere(e.about(), e.c, unit)), backwards_ ? "grad_x" : "y");
      std::vector<approximate> of_vector;
      for (std::size_t k = 0; k < d_; ++k) of_vector.push_back(all[at + k]);
      return of_vector;
    };
    of_zero_ = image();
    for (std::size_t c = 0; c < d_; ++c) {
      unit[c] = 1.0;
      columns_.push_back(image());
      unit[c] = 0.0;
    }
  }
  [[nodiscard]] approximate element(std::size_t row, std::size_t column) const { return columns_[column][row]; }
  /// The pairs that rotate, by what is not 0 and by the sign of the sine; or what is no rotation of pairs.
  [[nodiscard]] tl::expected<pairing, std::string> pairs() const {
    for (std::size_t k = 0; k < d_; ++k)
      if (of_zero_[k].value != 0.0) return tl::make_unexpected(fmt::format("coordinate {} of 0 is not 0", k));
    pairing all;
    for (std::size_t c = 0; c < d_; ++c) {
      std::vector<std::size_t> others;
      for (std::size_t k = 0; k < d_; ++k) {
        if (!std::isfinite(element(k, c).value))
          return tl::make_unexpected(fmt::format("coordinate {} makes coordinate {} {}", c, k, element(k, c).value));
        if (k != c && element(k, c).value != 0.0) others.push_back(k);
      }
      if (others.empty()) continue;
      if (others.size() > 1 || element(c, others[0]).value == 0.0)
        return tl::make_unexpected(
            fmt::format("coordinate {} goes to coordinate {} too, which is not its partner", c, others.back()));
      if ((element(others[0], c).value > 0.0) != backwards_) all.emplace_back(c, others[0]);
    }
    return all;
  }
  /// The numbers of a pairing are those of rotations.
  void compare_numbers(experiment& e, const pairing& pairs) const {
    std::vector<bool> turns(d_);
    for (const auto& [first, second] : pairs) {
      turns[first] = turns[second] = true;
      const approximate cosine = element(first, first), sine = element(second, first);
      e.equal(cosine, element(second, second), "the cosines of coordinates {} and {}", first, second);
      e.equal(sine, -element(first, second), "the sines of coordinates {} and {}", first, second);
      e.equal(cosine * cosine + sine * sine, exactly(1), "cos^2 + sin^2 of coordinates {} and {}", first, second);
    }
    for (std::size_t c = 0; c < d_; ++c)
      if (!turns[c]) e.equal(exactly(1), exactly(element(c, c).value), "the factor of coordinate {}, which stays", c);
  }

 private:
  std::size_t d_;
  bool backwards_ = false;
  std::vector<approximate> of_zero_;
  std::vector<std::vector<approximate>> columns_;
};

// The pairing, recovered from what unit vectors become, is the declared one.
void check_certificate(experiment& e) {
  const rotary_case shape(e.c);
  const std::size_t d = shape.features();
  e.needs(shape.vectors() > 0);
  const rotation_matrix matrix(e);
  pairing declared;
  for (std::size_t t = 0; t < shape.pairs(); ++t) declared.push_back(shape.pair(0, t));
  const std::string& layout = setting<std::string>(e.c, "layout");
  const std::string wanted = "declared " + described(declared, d, layout);
  auto found = matrix.pairs();
  if (!found) e.wrong(wanted + ", behaves as no rotation of pairs: " + found.error());
  // No layout is the cause: positions are, or angles.
  if (found->empty() && !declared.empty()) e.wrong(wanted + ", and nothing turns at position 1");
  std::sort(found->begin(), found->end());
  std::sort(declared.begin(), declared.end());
  if (*found != declared) e.wrong(wanted + ", behaves as " + described(*found, d, layout));
  matrix.compare_numbers(e, declared);
}

}  // namespace

std::vector<property> layout_laws() {
  law_scope certified = rotations_and_gradients();
  certified.families = {"mild"};
  return {law("rotation_layouts", "the layouts are permutations of one another", rotations_and_gradients(),
              {2, check_layouts}),
          law("rotation_partial", "coordinates beyond the pairs stay as they are", rotations_and_gradients(),
              {1, check_partial}),
          law("rotation_certificate", "unit vectors turn in the pairs that were declared", certified,
              {4, check_certificate})};
}

}  // namespace assay::properties::encodings::rope
