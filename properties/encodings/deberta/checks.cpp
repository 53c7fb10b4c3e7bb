// DeBERTa: distances near the ends of buckets, and wrong and right ways to compute buckets.
#include <algorithm>
#include <cmath>

#include "properties/faults/declared_faults.hpp"
#include "properties/harness/usual_sizes.hpp"
#include "properties/kinds/attention.hpp"
#include "properties/kinds/relative_scores.hpp"
#include "properties/kinds/table.hpp"
#include "reference/encodings/deberta.hpp"
#include "reference/oracle.hpp"

namespace assay::properties::encodings::deberta {
namespace {

using encoding = reference::encodings::deberta;
using reference::encodings::deberta_rows;
using reference::formula::traced;
inline constexpr auto& changed = make_variant<encoding>;

// Distances.

double near(const drawing& from) {
  const deberta_rows rows = encoding::rows_of(from.settings, "buckets");
  return from.random.sign() * static_cast<double>(from.random.below(static_cast<std::size_t>(rows.span + 2)));
}
double up_to_maximum(const drawing& from) {
  const deberta_rows rows = encoding::rows_of(from.settings, "buckets");
  const auto last = static_cast<double>(rows.max_distance - 1);
  if (from.random.one_in(4)) return from.random.sign() * (last - 1 + static_cast<double>(from.random.below(4)));
  return from.random.sign() * std::floor(std::exp2(from.random.uniform(0, std::log2(last))));
}
// The last distance of a bucket, or the first of the next.
double at_boundary(const drawing& from) {
  const deberta_rows rows = encoding::rows_of(from.settings, "buckets");
  const std::int64_t middle = rows.span / 2;
  const auto bucket = middle + static_cast<std::int64_t>(from.random.below(static_cast<std::size_t>(middle)));
  std::int64_t n = middle, beyond = rows.max_distance - 1;
  while (beyond - n > 1) {  // invariant: rows.bucket(n) <= bucket
    const std::int64_t between = n + (beyond - n) / 2;
    (rows.bucket(between) <= bucket ? n : beyond) = between;
  }
  return from.random.sign() * static_cast<double>(n + (from.random.one_in(3) ? 1 : 0));
}
double far(const drawing& from) { return from.random.sign() * std::floor(std::exp2(from.random.uniform(0, 31))); }

// A family of distances for buckets, and of vectors for scores.
family of_both(const std::string& name, const std::string& summary, double (*distance)(const drawing&),
               input_filler vectors) {
  return by_input("distance", table_family(name, summary, {{"distance", each(distance)}}),
                  attention_family(name, summary, std::move(vectors)));
}
// Ceilings of quotients of logarithms, as programs compute them.
using quotient = double (*)(double n, double middle, double last);
std::int64_t bucket_by(quotient steps, const deberta_rows& rows, std::int64_t distance) {
  const std::int64_t middle = rows.span / 2, last = rows.max_distance - 1;
  const std::int64_t n = rows.clamp_first ? std::min(std::abs(distance), last) : std::abs(distance);
  if (n <= middle) return distance;
  const auto beyond = static_cast<std::int64_t>(
      std::ceil(steps(static_cast<double>(n), static_cast<double>(middle), static_cast<double>(last))));
  return (distance < 0 ? -1 : 1) * (middle + beyond);
}
scheme_change<encoding::scheme> with_steps(quotient steps) {
  return [steps](auto& scheme) {
    scheme.bucket = [steps](const deberta_rows& rows, std::int64_t distance) {
      return bucket_by(steps, rows, distance);
    };
  };
}
double f32(double x) { return static_cast<float>(x); }
double in_f32(double n, double middle, double last) {
  return f32(f32(f32(std::log(f32(n / middle))) / f32(std::log(f32(last / middle)))) * (middle - 1));
}
double in_f64(double n, double middle, double last) {
  return std::log(n / middle) / std::log(last / middle) * (middle - 1);
}

std::vector<variant> mutants() {
  return all_of(
      {reported_faults({
           {"mutant/deberta_opposite_bucket", "nntrainer/nntrainer#3982: -bucket without the transposition",
            "deberta/scores/p2c_index/code_and_paper_exchanged"},
           {"mutant/deberta_no_positions_to_keys", "huggingface/transformers#14621: a term that nothing reads",
            "deberta/scores/terms/always_c2p"},
           {"mutant/deberta_maximum_ignored", "NVIDIA/TensorRT#3370: another length for the maximum",
            "deberta/bucket/max_distance/ignored"},
           {"mutant/deberta_buckets_go_on", "huggingface/transformers, make_log_bucket_position: no clamp before",
            "deberta/bucket/clamp_first/always_false"},
       }),
       faults_of_scores<encoding>("deberta"),
       {
           changed("mutant/deberta_floor", "ceil and floor exchanged", "buckets begin where their distances end",
                   {.formula = with_steps(
                        [](double n, double middle, double last) { return std::floor(in_f64(n, middle, last)); })}),
           changed("mutant/deberta_above_the_last", "NVIDIA/TensorRT#3370: a quotient that should be 1",
                   "the logarithm of the largest distance is rounded up",
                   {.formula = with_steps([](double n, double middle, double last) {
                      return f32(std::log(f32(n / middle))) * (1 + 0x1p-23) / std::log(last / middle) * (middle - 1);
                    })}),
           changed("mutant/deberta_clipped_at_both_ends", "delta clipped to -a + 1 and a - 1",
                   "the row 0 is no distance's",
                   {.formula =
                        [](auto& scheme) {
                          scheme.row = [](const deberta_rows& rows, std::int64_t distance) {
                            return std::max<std::int64_t>(rows.row(distance), 1);
                          };
                        }}),
           changed("mutant/deberta_scale_of_one_term", "a factor that forgets the terms of positions",
                   "scores are scaled by 1 / sqrt(d)",
                   {.formula =
                        [](auto& scheme) {
                          scheme.factor = [](std::size_t width, std::size_t, std::size_t) {
                            return reference::inverse_root(width);
                          };
                        }}),
       }});
}

void declare_one_setting(description& about) {
  about.settings["deberta/bucket"] = {{"buckets", {std::int64_t{256}}}, {"max_distance", {std::int64_t{512}}}};
}
std::vector<variant> controls() {
  return {changed("control/deberta_logarithms_in_f64", "microsoft/DeBERTa with NumPy",
                  "right for the settings that tests draw", {.formula = with_steps(in_f64)}),
          changed("control/deberta_logarithms_in_f32", "huggingface/transformers, make_log_bucket_position",
                  "right for the settings that it declares",
                  {.formula = with_steps(in_f32), .declared = declare_one_setting}),
          changed("control/deberta_factor_first", "microsoft/DeBERTa, disentangled_attention.py: keys times the factor",
                  "a vector of each product is scaled, and rounded",
                  {.formula =
                       [](auto& scheme) {
                         scheme.factor = [](std::size_t, std::size_t, std::size_t) { return traced(1.0); };
                         scheme.product = [](reference::score_term term) {
                           term.x = reference::inverse_root(3 * shape_of(term.x).back()) * term.x;
                           return product_of(term);
                         };
                       },
                   .declared =
                       [](description& about) {
                         for (const char* operation : {"deberta/scores", "deberta/scores:vjp"})
                           about.settings[operation] = {{"terms", {std::string("both")}}};
                       }})};
}

std::vector<usual_size> sizes() {
  std::vector<usual_size> all = sizes_by_roles(*reference::find_operation("deberta/bucket"));
  for (usual_size& u : sizes_of_square_scores("deberta/scores")) all.push_back(std::move(u));
  return all;
}

}  // namespace

encoding_tests make_tests() {
  const std::vector<std::string> tables{"position_keys", "position_queries"};
  encoding_tests tests = tests_of_scores<encoding>(
      "deberta",
      {parting_classes(of_both("mild", "distances up to the number of buckets; normal vectors", near, as_drawn)),
       of_both("large_positions", "distances up to the largest one told apart; tables 16 times as large, or 0",
               up_to_maximum, far_larger(tables)),
       of_input("distance", of_both("boundaries", "first and last distances of buckets", at_boundary, as_drawn)),
       of_input("distance", of_both("far", "distances up to 2^31", far, as_drawn)),
       holding_nan(of_input("q", of_both("nan_inside", "one NaN in a table", near, nan_in(tables))))});
  tests.sizes = sizes();
  tests.long_ones = {// As many tables as heads, each with 2 b rows.
                     {{"deberta/scores"}, {}, {{"h", 16390}, {"n", 600}, {"d", 8200}}}};
  tests.mutants = mutants();
  for (variant& v : controls()) tests.controls.push_back(std::move(v));
  return tests;
}

}  // namespace assay::properties::encodings::deberta
