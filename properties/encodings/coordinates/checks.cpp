// Positions by coordinates and convolutions: families of points, images and frames, and usual sizes of models.
#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "properties/harness/usual_sizes.hpp"
#include "properties/kinds/attention.hpp"
#include "reference/oracle.hpp"

namespace assay::properties::encodings::coordinates {

std::vector<variant> mutants();  // variants.cpp
std::vector<variant> controls();

namespace {

using core::dtype;

bool has_points(const core::operation& op) { return op.forward_name() == "coordinates/fourier_features"; }
bool turns_grid(const core::operation& op) { return op.forward_name() == "coordinates/rotate"; }
bool has_grid(const core::operation& op) { return op.attribute("rows") != nullptr; }
bool has_buckets(const core::operation& op) { return op.input("x_table") != nullptr; }
std::size_t grid_of(const core::attributes& settings) {
  return static_cast<std::size_t>(core::setting<std::int64_t>(settings, "rows") *
                                  core::setting<std::int64_t>(settings, "columns"));
}

// Families.

// Words of a page of 1000 by 1000, one after another in lines.
void page(drawn_inputs& in, core::counter_random& random) {
  double x = static_cast<double>(random.below(300)), y = static_cast<double>(random.below(1000));
  for (std::size_t k = 0; k < in.numbers.at("x").size(); ++k) {
    in.numbers.at("position")[k] = static_cast<double>(k % in.sizes.at("n"));
    in.numbers.at("x")[k] = x, in.numbers.at("y")[k] = y;
    x += static_cast<double>(random.below(90));
    if (x > 1000) x = static_cast<double>(random.below(300)), y += static_cast<double>(random.below(40));
  }
}
void within_square(drawn_inputs& in, const core::operation& op, dtype, core::counter_random& random) {
  if (has_buckets(op)) page(in, random);
  if (has_points(op))
    for (double& x : in.numbers.at("points")) x = random.uniform(0, 1);
}
// Distances between the other tokens and the first one begin a bucket, or come just before one.
void ends_of_buckets(drawn_inputs& in, const core::operation&, dtype, core::counter_random& random) {
  page(in, random);
  const std::size_t n = in.sizes.at("n");
  for (const char* name : {"position", "x", "y"}) {
    std::vector<double>& p = in.numbers.at(name);
    for (std::size_t k = 0; k < p.size(); ++k) {
      // For last distances of 16, 32, 128 and 256, some buckets begin at powers of two.
      const double power = std::exp2(static_cast<double>(random.below(9)));
      p[k] = k % n == 0 ? 500.0 : 500.0 + random.sign() * (power - static_cast<double>(random.below(2)));
    }
  }
}
void far_apart(drawn_inputs& in, const core::operation&, dtype, core::counter_random& random) {
  for (const char* name : {"position", "x", "y"})
    for (double& x : in.numbers.at(name)) x = random.sign() * std::floor(std::exp2(random.uniform(0, 29)));
}
// Pixels of a grid, among them the middle pixel, with angles of 0.
void pixel_centers(drawn_inputs& in, const core::operation&, dtype, core::counter_random& random) {
  for (double& x : in.numbers.at("points"))
    x = (static_cast<double>(random.below(8)) + 0.5 * (random.one_in(2) ? 0 : 1)) / 8;
}
void outside_square(drawn_inputs& in, const core::operation&, dtype type, core::counter_random& random) {
  const double most = type == dtype::f16 ? 3 : 8;
  for (double& x : in.numbers.at("points")) x = random.sign() * std::exp2(random.uniform(-4, most));
  for (double& x : in.numbers.at("matrix")) x *= 4;
}
// Sums of products stay finite in the format.
void numbers_of_any_size(drawn_inputs& in, const core::operation& op, dtype type, core::counter_random& random) {
  const double most = type == dtype::f16 ? 3 : 10;
  for (const core::tensor_declaration& d : op.inputs)
    for (double& x : in.numbers.at(d.name)) x *= random.one_in(4) ? 0.0 : std::exp2(random.uniform(-most, most));
}
// One token among zeros: it shows if a wrong neighbour is added.
void one_token(drawn_inputs& in, const core::operation&, dtype, core::counter_random& random) {
  const std::size_t n = in.sizes.at("n");
  std::vector<double>& x = in.numbers.at("x");
  if (n == 0 || x.empty()) return;
  const std::size_t rows = in.sizes.at("B"), width = x.size() / (rows * n),
                    kept = n - 1 - random.below(std::min<std::size_t>(n, 3));
  for (std::size_t k = 0; k < x.size(); ++k)
    if (k / width % n != kept) x[k] = 0.0;
}
// Only the central weight becomes NaN, because it never meets padding. A token that turns becomes NaN as a whole: at
// the angle 0 it is a matter of convention whether a NaN reaches its partner.
void nan_somewhere(drawn_inputs& in, const core::operation& op, dtype, core::counter_random& random) {
  const auto one_of = [&](const char* name) {
    std::vector<double>& x = in.numbers.at(name);
    if (!x.empty()) x[random.below(x.size())] = std::nan("");
  };
  if (has_buckets(op)) {
    page(in, random);
    for (const char* name : {"table", "x_table", "y_table"}) {
      std::vector<double>& table = in.numbers.at(name);
      for (double& x : table)
        if (random.one_in(6)) x = std::nan("");
    }
    return;
  }
  if (has_points(op)) {
    one_of(random.one_in(2) ? "points" : "matrix");
    return;
  }
  std::vector<double>& x = in.numbers.at("x");
  if (x.empty()) return;
  if (turns_grid(op)) {
    const std::size_t d = in.sizes.at("d"), first = random.below(x.size()) / d * d;
    std::fill_n(x.begin() + static_cast<std::ptrdiff_t>(first), d, std::nan(""));
    return;
  }
  one_of(random.one_in(2) ? "x" : "bias");
  std::vector<double>& weight = in.numbers.at("weight");
  // In an even kernel a setting decides which of two weights is central: no weight becomes NaN.
  const std::size_t taps = has_grid(op) ? 9 : in.sizes.at("k"), center = taps / 2;
  if (random.one_in(2) && !weight.empty() && taps % 2 != 0)
    weight[random.below(weight.size() / taps) * taps + center] = std::nan("");
}

// A grid that follows up to four other tokens, now and then more; widths of rotations are multiples of four; several
// rows of a few tokens.
family of_few_tokens(family f) {
  f.generate = [drawn = std::move(f.generate)](const core::operation& op, dtype type, const core::attributes& settings,
                                               core::counter_random& random, extent size) {
    if (has_points(op)) return drawn(op, type, settings, random, std::move(size));
    const std::size_t least = has_grid(op) ? grid_of(settings) : 1;
    core::axis_sizes axes = size.axes;
    if (!size.is_given()) {
      const bool is_long = size.range == lengths::long_ones, is_exact = size.range == lengths::exactly;
      axes["B"] = is_exact ? 1 : 1 + random.below(3);
      axes["n"] = is_exact ? std::max(least, size.tokens)
                           : least + random.below(5) +
                                 (is_long            ? 40
                                  : random.one_in(4) ? 16
                                                     : 0);
      if (turns_grid(op) || has_buckets(op)) axes["h"] = is_exact ? 1 : 1 + random.below(3);
    }
    axes.emplace("n", least + 1);
    if (op.attribute("groups") != nullptr)
      axes.emplace("c", 1 + random.below(3)), axes.emplace("k", 1 + random.below(6));
    if (has_grid(op)) axes.emplace("d", turns_grid(op) ? 4 * (1 + random.below(2)) : 2);
    return drawn(op, type, settings, random, extent(std::move(axes)));
  };
  return f;
}

std::vector<family> families() {
  const auto has_numbers = [](const core::operation& op) { return !has_points(op) && !has_buckets(op); };
  const auto has_kernel = [](const core::operation& op) { return op.input("weight") != nullptr; };
  std::vector<family> all{
      attention_family("mild", "points in the square; numbers of order 1", within_square),
      only_for(has_points, attention_family("pixel_centers", "sixteenths of the square: angles of 0", pixel_centers)),
      only_for(
          has_points,
          attention_family("outside", "points up to 2^8, 2^3 in f16, of either sign, frequencies four times as large",
                           outside_square)),
      only_for(has_numbers, attention_family("any_size", "numbers from 2^-10 to 2^10, 2^-3 to 2^3 in f16, and zeros",
                                             numbers_of_any_size)),
      only_for(has_buckets,
               attention_family("bucket_ends", "distances of powers of two, and one less", ends_of_buckets)),
      only_for(has_buckets, attention_family("far", "positions up to 2^29 of either sign", far_apart)),
      only_for(has_kernel, attention_family("one_token", "one token among zeros: the kernel", one_token)),
      holding_nan(
          attention_family("nan_inside", "NaN in a point, a token, a bias, the center of a kernel", nan_somewhere))};
  for (family& f : all) f = of_few_tokens(std::move(f));
  return all;
}

// Whether weights that are not finite meet padding, or a token that turns holds both numbers and special values, or a
// derivative has an input with special values.
bool is_of_convention(const request& call) {
  const auto is_finite = [](double x) { return std::isfinite(x); };
  const auto all_finite = [&](const core::tensor& t) {
    return std::all_of(t.values.begin(), t.values.end(), is_finite);
  };
  if (has_points(*call.operation) || has_buckets(*call.operation)) return false;
  if (!call.operation->is_forward())
    return !std::all_of(call.inputs.begin(), call.inputs.end(), [&](const auto& x) { return all_finite(x.second); });
  if (turns_grid(*call.operation)) {
    const auto& x = call.inputs.at("x").values.storage();
    const std::size_t d = call.inputs.at("x").shape()[3];
    for (std::size_t first = 0; first < x.size(); first += d) {
      const auto row = x.begin() + static_cast<std::ptrdiff_t>(first);
      const auto numbers = static_cast<std::size_t>(
          std::count_if(row, row + static_cast<std::ptrdiff_t>(d), [](double v) { return !std::isnan(v); }));
      if (numbers != 0 && !std::all_of(row, row + static_cast<std::ptrdiff_t>(d), is_finite)) return true;
    }
    return false;
  }
  const core::tensor& weight = call.inputs.at("weight");
  const std::size_t taps = has_grid(*call.operation) ? 9 : weight.shape()[2];
  for (std::size_t k = 0; k < weight.size(); ++k)
    if ((k % taps != taps / 2 || taps % 2 == 0) && !is_finite(weight.values.storage()[k])) return true;
  return false;
}

std::vector<usual_size> sizes() {
  const std::vector<std::string> features{"coordinates/fourier_features"}, rotation{"coordinates/rotate"},
      grids{"coordinates/convolved"}, line{"coordinates/convolved_line"}, buckets{"coordinates/bucket_bias"};
  std::vector<usual_size> all = sizes_by_roles(*reference::find_operation(features[0]));
  add_sizes(all, features, "B n a r", "1 4 2 128, 1 66 3 128");
  add_sizes(all, features, "B n a r", "1 4096 2 128", false);
  add_sizes(all, rotation, "B n h d",
            "5 21 9 4, 2 130 2 4, 5 66 2 4, 2 66 9 4, 5 21 2 68, 2 66 2 64, 2 66 2 128, 2 127 2 8, "
            "2 64 2 64, 2 21 9 68");
  add_sizes(all, rotation, "B n h d", "5 21 9 68, 2 66 2 4", true, every_family);
  add_sizes(all, grids, "B n d", "5 66 2, 2 130 3, 5 21 66, 2 127 2, 2 64 64, 1 66 66");
  add_sizes(all, grids, "B n d", "5 21 66, 2 66 2", true, every_family);
  add_sizes(all, line, "B n c k", "5 66 1 2, 5 4 3 3, 2 66 3 4, 2 130 1 3, 2 127 1 2, 2 64 2 2");
  add_sizes(all, line, "B n c k", "5 4 3 3, 1 66 1 2", true, every_family);
  add_sizes(all, line, "B n c k", "2 150 48 128", false);
  add_sizes(all, buckets, "B h n", "5 9 3, 5 2 66, 2 9 66, 2 2 130, 2 2 127, 2 2 64");
  add_sizes(all, buckets, "B h n", "5 9 5, 2 2 66", true, every_family);
  add_sizes(all, buckets, "B h n", "1 12 512", false);
  // Grids of models: DINOv3 at 256 pixels with a class token and four registers; a grid that is no square; PEG.
  const auto grid = [](std::int64_t rows, std::int64_t columns) -> core::attributes {
    return {{"rows", rows}, {"columns", columns}};
  };
  all.push_back({rotation, {{"B", 1}, {"n", 261}, {"h", 2}, {"d", 64}}, true, "mild", grid(16, 16)});
  all.push_back({rotation, {{"B", 2}, {"n", 135}, {"h", 1}, {"d", 16}}, true, "mild", grid(10, 13)});
  all.push_back({grids, {{"B", 2}, {"n", 196}, {"d", 3}}, true, "mild", grid(14, 14)});
  all.push_back({grids, {{"B", 1}, {"n", 136}, {"d", 8}}, true, "one_token", grid(9, 15)});
  return all;
}

}  // namespace

encoding_tests make_tests() {
  encoding_tests tests;
  tests.name = "coordinates";
  tests.families = families();
  tests.mutants = mutants();
  tests.controls = controls();
  tests.sizes = sizes();
  // Error functions and rotations take some microseconds each.
  tests.long_ones = {
      {{"coordinates/rotate"}, {{"n", 0}, {"d", 4}}, {{"B", 4200}, {"n", 8200}, {"h", 4200}, {"d", 1024}}},
      {{"coordinates/convolved"}, {{"n", 0}}, {{"B", 8200}, {"n", 16400}, {"d", 8200}}},
      {{"coordinates/convolved_line"}, {}, {{"B", 1100}, {"n", 1100}, {"g", 1100}, {"c", 65}, {"k", 8200}}},
      {{"coordinates/bucket_bias"}, {}, {{"B", 8200}, {"n", 300}, {"h", 8200}}}};
  tests.rests_on_convention = is_of_convention;
  return tests;
}

}  // namespace assay::properties::encodings::coordinates
