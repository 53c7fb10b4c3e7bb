// TUPE: families, and wrong and right ways to scale positions and to untie [CLS].
#include "properties/faults/call_changes.hpp"
#include "properties/faults/declared_faults.hpp"
#include "properties/kinds/attention.hpp"
#include "properties/kinds/pair_bias.hpp"
#include "properties/kinds/relative_scores.hpp"
#include "reference/encodings/tupe.hpp"

namespace assay::properties::encodings::tupe {
namespace {

using encoding = reference::encodings::tupe;
using traced = encoding::traced;
using truth = encoding::truth;
inline constexpr auto& changed = make_variant<encoding>;

// Scales by `of_width` times the width of a head.
auto with_factor(std::size_t of_width) {
  return [of_width](auto& scheme) {
    scheme.factor = [of_width](std::size_t width, std::size_t, std::size_t) {
      return reference::inverse_root(of_width == 0 ? 1 : of_width * width);
    };
  };
}

std::vector<variant> mutants() {
  return all_of(
      {reported_faults({
           {"mutant/tupe_absolute_alone", "guolinke/TUPE: a checkpoint of TUPE-R read without rel_pos",
            "tupe/bias/relative/always_none"},
           {"mutant/tupe_table_of_the_next_head", "triton-lang/triton#8412: axes",
            "tupe/bias/table/reversed_along_h_0"},
           {"mutant/tupe_maximum_is_128", "guolinke/TUPE: max_rel_pos that is not passed on",
            "tupe/bias/max_distance/ignored"},
       }),
       faults_of_scores<encoding>("tupe"),
       {
           changed("mutant/tupe_one_term", "guolinke/TUPE, attn_scale_factor: forgotten in a port",
                   "positions are scaled by 1 / sqrt(d), as if they were added to no other scores",
                   {.formula = with_factor(1)}),
           changed("mutant/tupe_unscaled", "guolinke/TUPE, pos_scaling: forgotten in a port",
                   "positions are not scaled", {.formula = with_factor(0)}),
           changed("mutant/tupe_tied", "guolinke/TUPE, offset of [CLS]: forgotten in a port",
                   "[CLS] has the bias of its position",
                   {.formula =
                        [](auto& scheme) {
                          scheme.reset = [](const truth&, const truth&, const auto& terms, const traced&,
                                            const traced&) { return encoding::sum_of(terms); };
                        }}),
           changed("mutant/tupe_column_last", "guolinke/TUPE: column and row are set in the other order",
                   "[CLS] has theta_2 with itself",
                   {.formula =
                        [](auto& scheme) {
                          scheme.reset = [](const truth& i, const truth& j, const auto& terms, const traced& row,
                                            const traced& column) {
                            return either(j, column, either(i, row, encoding::sum_of(terms)));
                          };
                        }}),
           changed("mutant/tupe_row_for_column", "guolinke/TUPE: other_to_cls and cls_to_other exchanged",
                   "theta_1 and theta_2 are exchanged",
                   {.inputs =
                        [](request& call) {
                          for (const auto& row : rows_of(call.inputs.at("theta"))) std::swap(row[0], row[1]);
                        }}),
           changed("mutant/tupe_reset_first", "guolinke/TUPE, abs_pos_bias += rel_pos_bias, with the table of T5",
                   "the relative bias is added to theta_1 and theta_2, too",
                   {.formula =
                        [](auto& scheme) {
                          scheme.reset = [](const truth& i, const truth& j, const auto& terms, const traced& row,
                                            const traced& column) {
                            auto reset = terms;
                            reset.front() = either(i, row, either(j, column, terms.front()));
                            return encoding::sum_of(reset);
                          };
                        }}),
           changed("mutant/tupe_opposite_sign", "dmlc/gluon-nlp#1470", "buckets are those of i - j",
                   {.formula =
                        [](auto& scheme) {
                          scheme.bucket = [](const reference::bucket_map& map, double distance) {
                            return reference::bucket_of(map, -distance);
                          };
                        }}),
           changed("mutant/tupe_detached", "guolinke/TUPE: in-place writes before the gradient is taken",
                   "theta has no gradient",
                   {.outputs = [](core::tensors& outputs) { set_to_zero(outputs, "grad_theta"); }}),
       }});
}

std::vector<variant> controls() {
  std::vector<variant> all = controls_of_precision<encoding>("tupe");
  all.push_back(changed("control/tupe_scaled_queries", "guolinke/TUPE: pos_q *= pos_scaling",
                        "positions of queries are scaled before they meet those of keys", {.formula = [](auto& scheme) {
                          scheme.product = [](const traced& factor, const traced& queries, const traced& keys) {
                            return contracted(factor * queries, keys, "hid,hjd->hij");
                          };
                        }}));
  return all;
}

std::vector<usual_size> sizes() {
  std::vector<usual_size> all;
  add_sizes(all, {"tupe/bias"}, "h n d", "66 5 2, 2 130 3, 1 66 64, 9 66 2, 2 64 64, 1 66 128, 2 127 1");
  add_sizes(all, {"tupe/bias"}, "h n d", "9 5 66, 2 66 3", true, every_family);
  add_sizes(all, {"tupe/bias"}, "h n d", "2 9 96, 2 9 256, 2 258 65, 2 513 2", false);
  return all;
}

}  // namespace

encoding_tests make_tests() {
  const std::vector<std::string> numbers{"theta", "table"};
  encoding_tests tests;
  tests.name = encoding::name;
  tests.families = {parting_classes(attention_family("mild", "normal numbers", as_drawn)),
                    attention_family("large_numbers", "numbers of heads 16 times as large, or 0", far_larger(numbers)),
                    holding_nan(attention_family("nan_inside", "one NaN", nan_in({"p_q", "p_k", "theta", "table"})))};
  tests.sizes = sizes();
  tests.long_ones = {{{"tupe/bias"}, {}, {{"n", 400}}}};
  tests.mutants = mutants();
  tests.controls = controls();
  return tests;
}

}  // namespace assay::properties::encodings::tupe
