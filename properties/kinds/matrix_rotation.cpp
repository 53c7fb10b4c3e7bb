#include "properties/kinds/matrix_rotation.hpp"

#include <algorithm>
#include <cmath>

#include "properties/harness/usual_sizes.hpp"
#include "reference/oracle.hpp"

namespace assay::properties {
namespace {

using core::counter_random;
using core::dtype;

core::axis_sizes sizes_of_blocks(const core::operation& op, counter_random& random, const extent& size) {
  core::axis_sizes s{{"B", 1}, {"n", 3}, {"h", 1}, {"a", 2}};
  const bool drawn = size.range == lengths::short_ones;
  if (drawn)
    s = {{"B", 1 + random.below(2)},
         {"n", random.one_in(12) ? 0 : 1 + random.below(4)},
         {"h", random.one_in(40) ? 0 : 1 + random.below(3)},
         {"a", 1 + random.below(3)}};
  if (size.range == lengths::exactly) s["n"] = size.tokens;
  if (size.range == lengths::long_ones) s["n"] = 20 + random.below(10);
  if (size.range == lengths::around_blocks) s["n"] = (std::size_t{1} << (3 + random.below(3))) - 1 + random.below(3);
  constexpr std::size_t widths[] = {1, 2, 3, 3, 4, 8};
  const std::size_t d = size.axis("d", 0);
  s["b"] = drawn ? widths[random.below(std::size(widths))] : d == 0 ? 3 : std::min<std::size_t>(d, 8);
  s["b"] = size.axis("b", s["b"]);
  // The number of blocks is what the width holds, and smaller for many tokens, because each block needs an exponential.
  const std::size_t vectors = std::max<std::size_t>(size.axis("n", s["n"]) * size.axis("h", s["h"]), 1);
  s["c"] = size.axis(
      "c", d == 0 || s["b"] == 0 ? 1 + random.below(3) : std::min(d / s["b"], std::max<std::size_t>(192 / vectors, 1)));
  s["d"] = size.axis("d", s["b"] * s["c"] + random.below(3));
  for (auto& [symbol, n] : s) n = size.axis(symbol, n);
  const std::set<std::string> known = core::axis_symbols(op);
  std::erase_if(s, [&](const auto& axis) { return !known.contains(axis.first); });
  return s;
}

/// The indices of a token and of an axis of positions, and the numbers of tokens and of axes.
struct token_place {
  std::size_t token, tokens, axis, axes;
};
using place_source = double (*)(const token_place& place, counter_random& random);
/// Entries of U or P, and factors of positions.
using generator_source = double (*)(counter_random& random);

// Places on a grid with different sides, within (0, 1].
double within_one(const token_place& place, counter_random&) {
  const std::size_t side = 3, own = place.axis == 0 ? place.token % side : place.token / side + place.axis % 3;
  return (0.5 + static_cast<double>(own)) / static_cast<double>(place.axis == 0 ? side : place.tokens / side + 3);
}
double first_at_zero(const token_place& place, counter_random& random) {
  return place.token == 0 ? 0.0 : within_one(place, random);
}
double numbered(const token_place& place, counter_random&) {
  return static_cast<double>(1 + (place.token + 3 * place.axis) % 7);
}
double signed_place(const token_place&, counter_random& random) { return random.normal(); }
double far_place(const token_place&, counter_random& random) { return random.sign() * random.uniform(4, 12); }
double tiny_place(const token_place&, counter_random& random) { return random.sign() * random.uniform(0.5, 1) * 1e-3; }
double middling_place(const token_place&, counter_random& random) {
  return random.sign() * std::exp2(random.uniform(-8, 0));
}
double last_axis_alone(const token_place& place, counter_random& random) {
  return place.axis + 1 == place.axes ? random.sign() * random.uniform(0.5, 2) : 0.0;
}

double normal_entry(counter_random& random) { return random.normal(); }
double initial_entry(counter_random& random) { return random.uniform(0, 2 * M_PI); }

using coordinate_filler = void (*)(std::vector<double>& x, dtype type, counter_random& random);
void normal_coordinates(std::vector<double>& x, dtype, counter_random& random) {
  for (double& v : x) v = random.normal();
}
void large_coordinates(std::vector<double>& x, dtype type, counter_random& random) {
  for (double& v : x) v = std::ldexp(random.normal(), static_cast<int>(random.below(type == dtype::f16 ? 3 : 9)));
}
void coordinates_with_nan(std::vector<double>& x, dtype type, counter_random& random) {
  normal_coordinates(x, type, random);
  for (double& v : x)
    if (random.one_in(8)) v = std::nan("");
}

enum class planes { all, one };

family turned_blocks(std::string name, std::string summary, place_source position, generator_source generator,
                     coordinate_filler fill = normal_coordinates, planes turned_planes = planes::all) {
  family f{std::move(name), std::move(summary)};
  f.generate = [=](const core::operation& op, dtype type, const core::attributes&, counter_random& random,
                   extent size) -> core::tensors {
    const core::axis_sizes s = sizes_of_blocks(op, random, size);
    const std::size_t axes = s.at("a");
    const double share =
        std::max(1.0, static_cast<double>(axes) / 3.0);  // more axes than models have, with the same norm
    core::tensors inputs;
    for (const core::tensor_declaration& d : op.inputs) {
      const core::shape shape = core::shape_of(d, s);
      std::size_t count = 1;
      for (const std::size_t n : shape) count *= n;
      std::vector<double> numbers(count);
      if (d.name == "x") {
        fill(numbers, type, random);
      } else if (d.name == "position") {
        for (std::size_t k = 0; k < count; ++k)
          numbers[k] = position({k / axes, s.at("n"), k % axes, axes}, random) / share;
      } else {
        for (double& u : numbers) u = generator(random);
        const std::size_t b = s.at("b");
        // One plane of each block: the other coordinates of the block do not move.
        if (turned_planes == planes::one && d.name != "theta" && b > 1)
          for (std::size_t first = 0; first < count; first += b * b) {
            const std::size_t kept = random.below(b - 1), other = kept + 1 + random.below(b - 1 - kept);
            for (std::size_t k = 0; k < b * b; ++k)
              if (k != kept * b + other) numbers[first + k] = 0.0;
          }
      }
      inputs.emplace(d.name, core::make_tensor(type, shape, numbers));
    }
    return inputs;
  };
  if (fill != normal_coordinates) f.applies = [](const core::operation& op) { return op.input("x") != nullptr; };
  return f;
}

}  // namespace

std::vector<family> matrix_rotation_families() {
  return {
      turned_blocks("mild", "positions of a grid within 1, generators as they are initialised", within_one,
                    initial_entry),
      turned_blocks("class_token", "the first token at 0, where nothing turns", first_at_zero, normal_entry),
      turned_blocks("small_angles", "angles of 1e-3", tiny_place, normal_entry),
      turned_blocks("middling_angles", "angles from 2^-8 to 1, where series of each degree end", middling_place,
                    normal_entry),
      turned_blocks("counted", "positions 1, 2, ... on each axis, normal generators", numbered, normal_entry),
      turned_blocks("either_sign", "positions and generators of either sign", signed_place, normal_entry),
      turned_blocks("large_angles", "angles up to 130", far_place, initial_entry),
      turned_blocks("one_axis", "all axes but the last at 0", last_axis_alone, normal_entry),
      turned_blocks("one_plane", "two coordinates of each block turn, the others stay", signed_place, normal_entry,
                    normal_coordinates, planes::one),
      turned_blocks("large_x", "x up to 2^8", within_one, normal_entry, large_coordinates),
      holding_nan(turned_blocks("nan_inside", "a NaN here and there", numbered, initial_entry, coordinates_with_nan)),
  };
}

std::vector<usual_size> matrix_rotation_sizes(const std::vector<std::string>& operations) {
  const auto size = [&](std::size_t rows, std::size_t tokens, std::size_t heads, std::size_t features, std::size_t b,
                        bool always, const char* name = "") -> usual_size {
    return {operations, {{"B", rows}, {"n", tokens}, {"h", heads}, {"d", features}, {"a", 2}, {"b", b}}, always, name};
  };
  std::vector<usual_size> all{
      size(1, 66, 1, 128, 4, true),
      size(2, 9, 2, 64, 8, true),
      size(1, 2, 1, 64, 64, true),
      size(2, 3, 1, 65, 16, true, "large_angles"),
      size(2, 5, 2, 96, 8, false),
      size(2, 5, 2, 256, 8, false),
      size(2, 5, 2, 64, 64, false, every_family),
      size(2, 197, 3, 64, 8, false),
  };
  // The usual sizes of any operation, at least as wide as the blocks.
  for (const std::string& operation : operations)
    for (usual_size& u : sizes_by_roles(*reference::find_operation(operation))) {
      u.axes.at("d") = std::max(u.axes.at("d"), u.axes.at("b") * u.axes.at("c"));
      all.push_back(std::move(u));
    }
  return all;
}

std::vector<long_calls> long_matrix_rotations(const std::vector<std::string>& operations) {
  return {{operations,
           {{"d", 0}, {"b", 2}, {"c", 0}, {"a", 2}},
           {{"n", 2049}, {"h", 2049}, {"a", 2049}, {"b", 33}, {"c", 2049}, {"d", 16390}}}};
}

void zero_on_and_below(core::tensor& matrices) {
  const std::size_t b = matrices.shape().back();
  for (std::size_t k = 0; k < matrices.size(); ++k)
    if (k % b <= k / b % b) matrices.values.storage()[k] = 0.0;
}

bool has_nan_where_nothing_turns(const request& call) {
  const auto has = [&](const core::tensor& t, auto is) { return std::any_of(t.values.begin(), t.values.end(), is); };
  const auto x = call.inputs.find("x");
  if (x == call.inputs.end() || !has(x->second, [](double v) { return !std::isfinite(v); })) return false;
  return std::any_of(call.inputs.begin(), call.inputs.end(), [&](const auto& input) {
    const core::tensor_declaration* d = call.operation->input(input.first);
    return d != nullptr && input.first != "x" && d->role != core::input_role::cotangent &&
           has(input.second, [](double v) { return v == 0.0; });
  });
}

}  // namespace assay::properties
