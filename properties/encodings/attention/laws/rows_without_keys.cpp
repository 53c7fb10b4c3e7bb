#include "properties/encodings/attention/laws/rows_without_keys.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "reference/oracle.hpp"

namespace assay::properties::encodings::attention {
namespace {

// Every other query of the case has no key, the first or the second among them.
bool has_no_key(const test_case& c, std::size_t query) { return query % 2 == c.seed % 2; }

test_case without_keys(const test_case& c) {
  test_case other = c;
  core::tensor& bias = other.call.inputs.at("bias");
  const std::size_t queries = bias.shape()[1], keys = bias.shape()[2];
  for (std::size_t i = 0; i < bias.size(); ++i)
    if (has_no_key(c, i / keys % queries)) bias.values.storage()[i] = -std::numeric_limits<double>::infinity();
  return other;
}

// What the program makes of a row without keys: all of it 0, or all of it NaN.
enum class convention { none, zero, nan };

// Replaces such rows by 0, the reference's convention, and says which one the program has.
convention settle(experiment& e, core::tensor& o) {
  const std::size_t queries = o.shape()[2], width = o.shape()[3];
  convention seen = convention::none;
  for (std::size_t i = 0; i < o.size(); ++i) {
    if (!has_no_key(e.c, i / width % queries)) continue;
    double& x = o.values.storage()[i];
    if (x != 0.0 && !std::isnan(x))
      e.wrong(fmt::format("o at flat index {} is {:.9g}, where the query has no key: neither 0 nor NaN", i, x));
    const convention here = std::isnan(x) ? convention::nan : convention::zero;
    if (seen != convention::none && seen != here)
      e.wrong("where a query has no key some elements of o are 0 and others NaN");
    seen = here;
    x = 0.0;
  }
  return seen;
}

convention convention_of(experiment& e, const test_case& forward) {
  core::tensors outputs = e.outputs_of(forward);
  const convention seen = settle(e, outputs.at("o"));
  e.judge(forward, outputs);
  e.count(seen != convention::none);
  return seen;
}

}  // namespace

bool has_row_without_keys(const request& call) {
  const core::tensor& bias = call.inputs.at("bias");
  const std::size_t rows = bias.shape()[0] * bias.shape()[1], keys = bias.shape()[2];
  const std::vector<double> x(bias.values.begin(), bias.values.end());
  for (std::size_t row = 0; row < rows; ++row) {
    const auto first = x.begin() + static_cast<std::ptrdiff_t>(row * keys);
    if (std::all_of(first, first + static_cast<std::ptrdiff_t>(keys),
                    [](double b) { return b == -std::numeric_limits<double>::infinity(); }))
      return true;
  }
  return false;
}

void check_rows_without_keys(experiment& e) {
  e.needs_domain(e.c);
  test_case c = without_keys(e.c);
  e.needs(c.call.inputs.at("bias").size() > 0);
  e.needs_domain(c);
  if (c.call.operation->is_forward()) {
    convention_of(e, c);
    return;
  }
  // The gradients of NaN are NaN wherever they reach.
  e.needs_operation("attention/output");
  test_case point = c;
  point.call.operation = &reference::forward_of(*c.call.operation);
  point.call.inputs.erase("grad_o");
  if (convention_of(e, point) == convention::zero) e.right_call(c);
}

}  // namespace assay::properties::encodings::attention
