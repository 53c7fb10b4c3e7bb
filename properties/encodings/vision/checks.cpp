// Positions of images: families of tables, and usual sizes of models.
#include <algorithm>
#include <cmath>
#include <utility>

#include "properties/harness/usual_sizes.hpp"
#include "properties/kinds/attention.hpp"
#include "reference/oracle.hpp"

namespace assay::properties::encodings::vision {

std::vector<variant> mutants();  // variants.cpp
std::vector<variant> controls();

namespace {

using core::dtype;

bool has_numbers(const core::operation& op) { return op.has_gradient(); }
bool is_resampling(const core::operation& op) { return op.forward_name() == "vision/interpolated_table"; }
family of_tables(family f) { return only_for(is_resampling, std::move(f)); }

// Families.

// Sums of products stay finite in the format.
void of_any_size(drawn_inputs& in, const core::operation& op, dtype type, core::counter_random& random) {
  const double most = type == dtype::f16 ? 5 : 12;
  for (const core::tensor_declaration& d : op.inputs)
    for (double& x : in.numbers.at(d.name)) x *= random.one_in(4) ? 0.0 : std::exp2(random.uniform(-most, most));
}
// One row among zeros: it shows if a wrong neighbour is added.
void one_row(drawn_inputs& in, const core::operation&, dtype, core::counter_random& random) {
  const std::size_t d = in.sizes.at("d");
  std::vector<double>& table = in.numbers.at("table");
  const std::size_t kept = random.below(std::max<std::size_t>(1, table.size() / std::max<std::size_t>(d, 1)));
  for (std::size_t k = 0; k < table.size(); ++k)
    if (k / d != kept) table[k] = 0.0;
}
// A wave with a period of two places, which a mean over a smaller grid removes.
void waves(drawn_inputs& in, const core::operation&, dtype, core::counter_random& random) {
  const std::size_t d = in.sizes.at("d"), w = in.sizes.at("W");
  std::vector<double>& table = in.numbers.at("table");
  for (std::size_t k = 0; k < table.size(); ++k)
    table[k] = ((k / d % w + k / d / w) % 2 == 0 ? 1.0 : -1.0) + 0.125 * random.normal();
}
// In a resampled table a whole channel is NaN: otherwise the weight of a NaN may be 0, and the result is a matter of
// convention.
void nan_in_a_channel(drawn_inputs& in, const core::operation& op, dtype, core::counter_random& random) {
  std::vector<double>& table = in.numbers.at(op.input("table") ? "table" : "q");
  if (is_resampling(op)) {
    const std::size_t d = in.sizes.at("d"), channel = random.below(d);
    for (std::size_t k = channel; k < table.size(); k += d) table[k] = std::nan("");
  } else if (!table.empty()) {
    table[random.below(table.size())] = std::nan("");
  }
  for (const char* name : {"kept", "rows"})
    if (const auto x = in.numbers.find(name); x != in.numbers.end() && !x->second.empty())
      x->second[random.below(x->second.size())] = std::nan("");
}

// The places of a grid, an image inside its padding, and the distances of a window.
void of_a_window(drawn_inputs& in, const core::operation&, dtype, core::counter_random& random) {
  for (const std::string name : {"rows", "columns", "row_distance", "column_distance"})
    if (const auto found = in.numbers.find(name); found != in.numbers.end()) {
      std::vector<double>& places = found->second;
      const double first = name.ends_with("distance") ? -std::floor(static_cast<double>(places.size()) / 2)
                                                      : static_cast<double>(random.below(2));
      for (std::size_t k = 0; k < places.size(); ++k) places[k] = first + static_cast<double>(k);
    }
  const auto mask = in.numbers.find("mask");
  if (mask == in.numbers.end()) return;
  const std::size_t h = in.sizes.at("H"), w = in.sizes.at("W"), image = h * w;
  for (std::size_t first = 0; first < mask->second.size(); first += image) {
    const std::size_t rows = 1 + random.below(h), columns = 1 + random.below(w);
    for (std::size_t k = 0; k < image; ++k) mask->second[first + k] = k / w < rows && k % w < columns ? 1.0 : 0.0;
  }
}
void far_places(drawn_inputs& in, const core::operation&, dtype type, core::counter_random& random) {
  const double bits = type == dtype::f64 ? 31 : 12;
  for (const char* name : {"rows", "columns", "row_distance", "column_distance"})
    if (const auto found = in.numbers.find(name); found != in.numbers.end())
      for (double& x : found->second) x = random.sign() * std::floor(std::exp2(random.uniform(0, bits)));
  if (const auto mask = in.numbers.find("mask"); mask != in.numbers.end())
    for (double& x : mask->second) x = 1.0;
}
void padding_inside(drawn_inputs& in, const core::operation&, dtype, core::counter_random& random) {
  for (double& x : in.numbers.at("mask")) x = random.one_in(3) ? 0.0 : 1.0;
}
// Numbers are of order 1; places are those of a window.
void usual(drawn_inputs& in, const core::operation& op, dtype type, core::counter_random& random) {
  if (!has_numbers(op)) of_a_window(in, op, type, random);
}

// Grids with as many places as a square one: the number of places does not show that resampling is needed.
family with_as_many_places() {
  family f =
      of_tables(attention_family("as_many_places", "16 places in two rows, or one, for a square grid of 16", as_drawn));
  f.settings = {{"rows", {std::int64_t{4}}}, {"columns", {std::int64_t{4}}}};
  f.generate = [of_size = f.generate](const core::operation& op, dtype type, const core::attributes& settings,
                                      core::counter_random& random, extent size) {
    const std::size_t rows = std::size_t{1} << random.below(2);
    if (!size.is_given()) size = extent({{"H", rows}, {"W", 16 / rows}});
    return of_size(op, type, settings, random, std::move(size));
  };
  return f;
}

// If 1/2 is subtracted, a row or column of padding alone is at -1/2 divided by 1e-6: no format holds the digits of its
// angles, and nobody reads them.
bool subtracts_half(const core::attributes& settings) {
  return core::setting<bool>(settings, "normalized") && core::setting<std::string>(settings, "shift") == "half";
}
bool has_image_everywhere(const core::tensor& mask) {
  const std::size_t h = mask.shape()[1], w = mask.shape()[2];
  std::vector<bool> rows(mask.shape()[0] * h, false), columns(mask.shape()[0] * w, false);
  for (std::size_t k = 0; k < mask.size(); ++k)
    if (mask.values.storage()[k] != 0) rows[k / w] = columns[k / (h * w) * w + k % w] = true;
  return std::find(rows.begin(), rows.end(), false) == rows.end() &&
         std::find(columns.begin(), columns.end(), false) == columns.end();
}
// If 1/2 is subtracted, the first row and the first column of each mask belong to the image.
family within_an_image(family f) {
  f.generate = [drawn = std::move(f.generate)](const core::operation& op, dtype type, const core::attributes& settings,
                                               core::counter_random& random, extent size) {
    core::tensors inputs = drawn(op, type, settings, random, std::move(size));
    const auto found = inputs.find("mask");
    if (found == inputs.end() || !subtracts_half(settings)) return inputs;
    const std::size_t h = found->second.shape()[1], w = found->second.shape()[2];
    for (std::size_t k = 0; k < found->second.size(); ++k)
      if (k % w == 0 || k / w % h == 0) found->second.values.storage()[k] = 1.0;
    return inputs;
  };
  return f;
}

std::vector<family> families() {
  return {
      within_an_image(attention_family(
          "mild", "numbers of order 1; places of a window, and an image in the corner of its padding", usual)),
      only_for(has_numbers,
               attention_family("any_size", "numbers from 2^-12 to 2^12, 2^-5 to 2^5 in f16, and zeros", of_any_size)),
      of_tables(attention_family("one_row", "a table of zeros but for one row: the weights of a place", one_row)),
      of_tables(attention_family("waves", "a table that changes its sign from place to place", waves)),
      with_as_many_places(),
      only_for(
          [](const core::operation& op) { return !has_numbers(op); },
          attention_family("far", "places up to 2^31 of either sign, 2^12 in short formats; no padding", far_places)),
      of_input("mask", within_an_image(attention_family("padding_inside", "padding anywhere", padding_inside))),
      holding_nan(only_for(
          has_numbers, attention_family("nan_inside",
                                        "NaN in one channel of the table, or in one bias, and in a row of class tokens",
                                        nan_in_a_channel))),
  };
}

// Whether a weight of 0 may meet a non-finite number, or 1/2 is subtracted where there is no image.
bool is_of_convention(const request& call) {
  if (const auto mask = call.inputs.find("mask"); mask != call.inputs.end())
    return subtracts_half(core::completed(*call.operation, call.attributes)) && !has_image_everywhere(mask->second);
  if (!is_resampling(*call.operation)) return false;
  for (const auto& [name, t] : call.inputs) {
    if (name == "kept" || name == "tangent_kept") continue;
    const std::size_t d = t.shape().back();
    for (std::size_t c = 0; c < d; ++c) {
      std::size_t bad = 0, all = 0;
      for (std::size_t k = c; k < t.size(); k += d, ++all) bad += std::isfinite(t.values.storage()[k]) ? 0 : 1;
      if (bad != 0 && bad != all) return true;
    }
  }
  return false;
}

std::vector<usual_size> sizes() {
  std::vector<usual_size> all;
  const std::vector<std::string> resampled{"vision/interpolated_table"},
      biases{"vision/relative_bias", "vision/relative_bias_with_class"}, decomposed{"vision/decomposed_bias"},
      sinusoids{"vision/sinusoids"}, masked{"vision/masked_sinusoids"}, coordinates{"vision/log_coordinates"};
  for (const std::string& operation : {resampled[0], biases[0], biases[1], decomposed[0], sinusoids[0], coordinates[0]})
    for (usual_size& u : sizes_by_roles(*reference::find_operation(operation))) all.push_back(std::move(u));
  // ViT for 224 pixels used at 384 pixels, and back; DINOv2 at 224 and 96 pixels; grids that are no squares.
  add_sizes(all, resampled, "H W Y X d k", "14 14 24 24 2 1, 24 24 14 14 2 1, 37 37 16 16 1 1, 16 16 7 7 3 2");
  add_sizes(all, resampled, "H W Y X d k", "14 14 9 31 2 1, 5 11 11 5 3 0, 7 7 7 7 3 1", true, every_family);
  // The number of places stays the same, in a square; a row replaces a column.
  add_sizes(all, resampled, "H W Y X d k", "2 8 4 4 2 1, 1 9 3 3 1 0, 3 3 9 1 1 1, 1 6 6 1 2 1");
  add_sizes(all, resampled, "H W Y X d k", "64 64 100 75 1 0, 37 37 37 37 8 1, 2 2 129 3 2 0", false);
  all.push_back({resampled,
                 {{"H", 37}, {"W", 37}, {"Y", 7}, {"X", 16}, {"d", 2}, {"k", 1}},
                 true,
                 "mild",
                 {{"mode", std::string("bicubic")},
                  {"align_corners", false},
                  {"antialias", false},
                  {"scale", std::string("offset")}}});
  // Windows of Swin, grids of BEiT, windows of SAM.
  add_sizes(all, biases, "H W h", "7 7 3, 8 8 2, 12 5 2, 14 14 2");
  add_sizes(all, biases, "H W h", "16 16 12, 24 24 2, 32 8 3", false);
  add_sizes(all, decomposed, "B H W d", "2 14 14 8, 2 5 9 64, 3 7 3 80");
  add_sizes(all, decomposed, "B H W d", "12 14 14 64, 1 64 32 2", false);
  add_sizes(
      all, masked, "B H W r",
      "5 66 2 2, 5 2 66 2, 2 66 66 1, 5 2 3 33, 1 66 3 33, 1 3 66 33, 2 130 3 2, 2 127 2 2, 2 3 127 2, 2 64 64 32, "
      "2 25 34 32");
  add_sizes(all, masked, "B H W r", "5 66 2 2, 2 2 66 2, 1 2 3 33", true, every_family);
  add_sizes(all, masked, "B H W r", "66 3 2 2, 2 258 3 2, 2 100 134 64", false);
  return all;
}

}  // namespace

encoding_tests make_tests() {
  encoding_tests tests;
  tests.name = "vision";
  tests.families = families();
  tests.mutants = mutants();
  tests.controls = controls();
  tests.sizes = sizes();
  tests.rests_on_convention = is_of_convention;
  return tests;
}

}  // namespace assay::properties::encodings::vision
