// Laws of rotations by matrices.
#include <algorithm>
#include <cmath>

#include "properties/kinds/matrix_rotation.hpp"

namespace assay::properties {
namespace {

/// The case with positions times a factor; the product is exact.
test_case with_scaled_positions(const test_case& c, double factor) {
  test_case moved = c;
  for (double& p : moved.call.inputs.at("position").values.storage()) p *= factor;
  return moved;
}

bool is_exact(const test_case& c, double factor) {
  const core::tensor& position = c.call.inputs.at("position");
  return std::all_of(position.values.begin(), position.values.end(),
                     [&](double p) { return core::round_to(position.type, factor * p) == factor * p; });
}

void check_block_norms(experiment& e) {
  const core::axis_sizes s = sizes_of(e.c);
  const numbers y(e.call(), "y");
  const given_numbers x(e.c, "x");
  const std::size_t d = s.at("d"), b = s.at("b"), turning = s.at("c") * b;
  for (std::size_t first = 0; first < y.size(); first += d) {
    for (std::size_t block = 0; block < turning; block += std::max<std::size_t>(b, 1)) {
      approximate before, after;
      double scale = 0.0;
      for (std::size_t i = first + block; i < first + block + b; ++i) {
        before += x[i] * x[i], after += y[i] * y[i];
        scale += x[i].value * x[i].value;
      }
      e.equal(before, after, scale, "the squared length of the block at element {}, before and after", first + block);
    }
    for (std::size_t i = first + turning; i < first + d; ++i)
      e.equal(x[i], exactly(y.x[i]), "element {}, in no block", i);
  }
}
void check_no_rotation(experiment& e) {
  const numbers y(e.call(with_scaled_positions(e.c, 0.0)), "y");
  const given_numbers x(e.c, "x");
  for (std::size_t i = 0; i < x.size(); ++i) e.equal(x[i], exactly(y.x[i]), "element {} at position 0", i);
}
// The result is rounded to y's storage before it is an input again. An element of a rotated vector inherits at most the
// sum of the errors of that vector.
void check_rotations_on_a_line(experiment& e) {
  const test_case once = e.c;
  const numbers y(e.call(once), "y");
  const std::size_t d = sizes_of(e.c).at("d");
  for (const double then : {1.0, -1.0, 2.0}) {
    if (!is_exact(once, then + 1.0)) continue;
    test_case again = with_scaled_positions(once, then);
    again.call.inputs.at("x").values.storage() = y.x;
    const numbers z(e.call(again), "y"), both(e.call(with_scaled_positions(once, then + 1.0)), "y");
    for (std::size_t first = 0; first < y.size(); first += d) {
      double inherited = 0.0;
      for (std::size_t i = first; i < first + d; ++i) inherited += y.allowed[i];
      for (std::size_t i = first; i < first + d; ++i)
        e.equal(both[i], approximate{z.x[i], z.allowed[i] + inherited}, "element {} after {} of a position", i,
                then > 0 ? "rotations one after another and the rotation of all" : "the rotation back and none");
    }
  }
}
bool is_difference(const test_case& c) {
  return c.call.operation->attribute("form") == nullptr || setting_of<std::string>(c.call, "form") == "difference";
}
/// The index of entry (j, i), given the index k of entry (i, j), for matrices of b rows.
std::size_t across_the_diagonal(std::size_t k, std::size_t b) { return k + (k % b) * (b - 1) - (k / b % b) * (b - 1); }
// The inputs lie on a grid where sums with 1/2 are exact in all formats.
void check_symmetric_part(experiment& e, const std::string& generators) {
  test_case first = e.c;
  core::tensor& u = first.call.inputs.at(generators);
  const std::size_t b = sizes_of(e.c).at("b");
  for (double& x : u.values.storage()) x = std::nearbyint(16 * x) / 16;
  test_case other = first;
  for (std::size_t k = 0; k < u.size(); ++k)
    if (is_difference(e.c) || k % b <= k / b % b) other.call.inputs.at(generators).values.storage()[k] += 0.5;
  const numbers y(e.call(first), "y"), z(e.call(other), "y");
  for (std::size_t i = 0; i < y.size(); ++i) e.equal(y[i], z[i], 1.0, "element {} with another symmetric part", i);
}
void check_dead_gradient(experiment& e, const std::string& generators) {
  const numbers gradient(e.call(), "grad_" + generators);
  const std::size_t b = sizes_of(e.c).at("b");
  for (std::size_t k = 0; k < gradient.size(); ++k) {
    if (k % b > k / b % b) continue;
    const approximate expected = is_difference(e.c) ? -gradient[across_the_diagonal(k, b)] : exactly(0.0);
    e.equal(expected, gradient[k], 1.0, "element {} of the gradient on or below the diagonal", k);
  }
}

}  // namespace

std::vector<property> laws_of_matrix_rotation(const std::string& name, const std::vector<std::string>& operations,
                                              const std::string& generators) {
  const law_scope finite{operations, {"mild", "class_token", "counted", "either_sign", "one_axis", "one_plane"}};
  law_scope gradients = finite;
  for (std::string& operation : gradients.operations) operation += ":vjp";
  const auto named_law = [&](const char* what, const char* sentence, statement says, const law_scope& where) {
    return law((name + "_" + what).c_str(), sentence, where, std::move(says));
  };
  const auto on = [&generators](auto check) { return [check, generators](experiment& e) { check(e, generators); }; };
  return {named_law("norms", "rotations keep the length of every block, and what is in none", {1, check_block_norms},
                    finite),
          named_law("identity", "position 0 changes nothing", {1, check_no_rotation}, finite),
          named_law("group", "a rotation by p, then by s p, is that by (1 + s) p, for s = 1, 2 and -1",
                    {7, check_rotations_on_a_line}, finite),
          named_law("symmetric_part", "what is symmetric in a matrix, or not above its diagonal, changes nothing",
                    {2, on(check_symmetric_part)}, finite),
          named_law("dead_gradient", "the gradient of a matrix is antisymmetric, or 0 on and below the diagonal",
                    {1, on(check_dead_gradient)}, gradients)};
}

}  // namespace assay::properties
