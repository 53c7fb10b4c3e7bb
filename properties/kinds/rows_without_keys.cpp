// Laws of a bias that is an input (constants of a row), and of queries without any key.
//
// The softmax of a row of -inf is 0 / 0. Programs give NaN there, as the formula does; or 0, as fused kernels do
// (pytorch/pytorch#103963 and #133882); or the mean of all values, as code does that uses the lowest finite number for
// -inf (eager attention of huggingface/transformers). All are right (reference/other_answers.hpp); anything else is a
// value that no key gave. Other queries must not change. If such a row is 0, its gradients are 0, and it gives none.
#include <cmath>
#include <optional>

#include "properties/kinds/attention.hpp"
#include "reference/core/special_values.hpp"
#include "reference/oracle.hpp"

namespace assay::properties {
namespace {

using core::infinity;

// The case with a bias on a grid, so that adding whole numbers is exact, and with those numbers added; nothing if the
// dtype has no room for the sum.
std::optional<test_case> with_row_constants(const test_case& c, double (*constant)(std::size_t row)) {
  test_case moved = c;
  core::tensor& bias = moved.call.inputs.at("bias");
  const auto rows = rows_of(bias);
  for (std::size_t row = 0; row < rows.size(); ++row)
    for (double& x : rows[row]) {
      if (!std::isfinite(x)) continue;
      const double exact = std::nearbyint(x * 8) / 8;
      x = exact + constant(row);
      if (core::round_to(bias.type, exact) != exact || core::round_to(bias.type, x) != x) return std::nullopt;
    }
  return moved.call.inputs.at("bias").size() > 0 ? std::optional(moved) : std::nullopt;
}
std::optional<test_case> on_grid(const test_case& c) {
  return with_row_constants(c, [](std::size_t) { return 0.0; });
}
// The law holds exactly unless a number that is no logit of the row competes with the row: a null key, or a finite
// number that stands for the mask. To find a finite mask, some of the added numbers are larger than any such mask.
std::optional<test_case> with_constants(const test_case& c) {
  std::optional<test_case> far;
  if (c.seed % 2 == 0) far = with_row_constants(c, [](std::size_t row) { return row % 2 == 0 ? -25000.0 : 25000.0; });
  return far ? far : with_row_constants(c, [](std::size_t row) { return static_cast<double>(row % 5) - 1.0; });
}

// Whether a query has no key: every second query, from the first or the second on.
bool is_every_other(const test_case& c, std::size_t, std::size_t query) { return query % 2 == c.seed % 2; }

test_case with_masked_rows(const test_case& c) {
  test_case other = c;
  core::tensor& bias = other.call.inputs.at("bias");
  const auto rows = rows_of(bias);
  for (std::size_t row = 0; row < rows.size(); ++row)
    if (is_every_other(c, 0, row % bias.shape()[1])) std::fill(rows[row].begin(), rows[row].end(), -infinity);
  return other;
}

// The program's answer for rows without keys: all of them 0, all NaN, or all the mean of the values; `none` if there is
// no such row.
enum class convention { none, zero, nan, mean };

// The convention that the program follows; it must be the same everywhere. The verdict knows which number a mean is.
convention convention_in(experiment& e, const test_case& c, const queries_without_keys& keyless_queries,
                         const core::tensor& o) {
  const std::size_t heads = o.shape()[1], queries = o.shape()[2], width = o.shape()[3];
  convention seen = convention::none;
  for (std::size_t i = 0; i < o.size(); ++i) {
    if (!keyless_queries.has_none(c, i / (width * queries * heads), i / width % queries)) continue;
    const double x = o.values.storage()[i];
    const convention here = std::isnan(x) ? convention::nan : x == 0.0 ? convention::zero : convention::mean;
    if (seen != convention::none && seen != here)
      e.wrong("where a query has no key some elements of o are 0, others NaN or the mean of the values");
    seen = here;
  }
  return seen;
}

convention convention_of(experiment& e, const queries_without_keys& keyless_queries, const test_case& forward) {
  const core::tensors outputs = e.outputs_of(forward);
  const convention seen = convention_in(e, forward, keyless_queries, outputs.at("o"));
  e.judge(forward, outputs);
  e.count(seen != convention::none);
  return seen;
}

void check_rows_without_keys(experiment& e, const queries_without_keys& keyless_queries) {
  e.needs_domain(e.c);
  e.needs(has_elements(e.c));
  const test_case c = keyless_queries.hide(e.c);
  e.needs_domain(c);
  const core::operation& forward = reference::forward_of(*c.call.operation);
  if (c.call.operation->is_forward()) {
    convention_of(e, keyless_queries, c);
    return;
  }
  // With NaN, gradients are NaN wherever such a row reaches; with a mean, the values have gradients.
  e.needs_operation(forward.name);
  test_case point = c;
  point.call.operation = &forward;
  point.call.inputs.erase("grad_o");
  if (convention_of(e, keyless_queries, point) == convention::zero) e.right_call(c);
}

}  // namespace

bool has_row_without_keys(const request& call) {
  if (!call.inputs.contains("bias")) return false;
  core::tensor bias = call.inputs.at("bias");
  const auto rows = rows_of(bias);
  const bool no_keys = bias.shape()[2] == 0 && bias.shape()[0] * bias.shape()[1] > 0;
  return no_keys || std::any_of(rows.begin(), rows.end(), [](std::span<double> row) {
           return std::all_of(row.begin(), row.end(), [](double b) { return b == -infinity; });
         });
}

property law_of_rows_without_keys(const std::string& name, const law_scope& scope,
                                  const queries_without_keys& queries) {
  return law((name + "_rows_without_keys").c_str(),
             "a query without a key gives 0, NaN or the mean of all values, and other queries do not notice", scope,
             {2, [queries](experiment& e) { check_rows_without_keys(e, queries); }});
}

std::vector<property> laws_of_bias(const std::string& name, const std::string& operation,
                                   const std::vector<std::string>& families) {
  const law_scope both{{operation, operation + ":vjp"}, families};
  return {law((name + "_row_constants").c_str(), "a number added to a row of the bias changes nothing", both,
              agree_between(on_grid, with_constants, "a number added to each row of logits")),
          law_of_rows_without_keys(name, both, {with_masked_rows, is_every_other})};
}

}  // namespace assay::properties
