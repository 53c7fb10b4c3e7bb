// The laws of the slopes of linear biases: of a list of numbers that has no inputs.
#include <fmt/format.h>

#include <cmath>

#include "properties/encodings/alibi/laws/laws.hpp"
#include "properties/laws/compared_calls.hpp"
#include "properties/laws/settings.hpp"

namespace assay::properties::encodings::alibi {
namespace {

std::int64_t power_of_two_below(std::int64_t n) {
  std::int64_t c = 1;
  while (2 * c <= n) c *= 2;
  return c;
}

// The slopes of c heads stand at the even places of those of 2c heads, whatever c is by the rule naive; by the others
// where c is a power of two, and the remaining heads have the odd places in their order.
outcome check_nesting(implementation& under_test, const test_case& c) {
  const auto heads = setting<std::int64_t>(c, "heads");
  const bool naive = setting<std::string>(c, "rule") == "naive";
  const std::int64_t nested = naive ? heads : power_of_two_below(heads);
  const auto few = measure(under_test, c);
  if (!few) return few.error();
  const auto many = measure(under_test, with_setting(c, "heads", 2 * nested));
  if (!many) return many.error();
  std::vector<std::size_t> from, to;
  for (std::int64_t k = 0; k < heads; ++k) {
    from.push_back(static_cast<std::size_t>(k < nested ? 2 * k + 1 : 2 * (k - nested)));
    to.push_back(static_cast<std::size_t>(k));
  }
  comparisons all;
  if (const auto wrong = compare_elements(all, "slopes", *many, from, *few, to))
    return violated(fmt::format("{} heads and {}: {}", 2 * nested, heads, *wrong), many->outputs, few->outputs);
  return all.result();
}

// The sum of the logarithms of all slopes of a geometric list is that of a series: product 2^(-alpha (n + 1) / 2).
outcome check_product(implementation& under_test, const test_case& c) {
  const auto heads = setting<std::int64_t>(c, "heads");
  const auto& rule = setting<std::string>(c, "rule");
  if (rule != "naive" && power_of_two_below(heads) != heads) return {status::uninformative};
  const auto call = measure(under_test, c);
  if (!call) return call.error();
  const numbers slopes(*call, "slopes");
  double sum = 0, allowed = 0;
  for (std::size_t k = 0; k < slopes.x.size(); ++k) {
    sum += std::log2(slopes.x[k]);
    allowed += 2 * slopes.allowed[k] / std::fabs(slopes.x[k]);  // 1 / log 2 < 2
  }
  const double alpha = rule == "official" ? 8.0 : setting<double>(c, "alpha_max");
  const double wanted = -alpha * static_cast<double>(heads + 1) / 2;
  comparisons all;
  if (all.agree(wanted, sum, allowed + 0x1p-48 * std::fabs(wanted))) return all.result();
  return violated(fmt::format("log2 of the product of all slopes is {:.9g} instead of {}", sum, wanted), {},
                  call->outputs);
}

// A slope squared is the product of its neighbours, within each of the two geometric pieces.
outcome check_ratio(implementation& under_test, const test_case& c) {
  const auto heads = static_cast<std::size_t>(setting<std::int64_t>(c, "heads"));
  const bool naive = setting<std::string>(c, "rule") == "naive";
  const std::size_t first_piece =
      naive ? heads : static_cast<std::size_t>(power_of_two_below(static_cast<std::int64_t>(heads)));
  const auto call = measure(under_test, c);
  if (!call) return call.error();
  const numbers slopes(*call, "slopes");
  const auto& x = slopes.x;
  comparisons all;
  for (std::size_t k = 1; k + 1 < heads; ++k) {
    if (k + 1 == first_piece || k == first_piece) continue;
    const double square = x[k] * x[k], product = x[k - 1] * x[k + 1];
    const double allowed = 2 * x[k] * slopes.allowed[k] + x[k - 1] * slopes.allowed[k + 1] +
                           x[k + 1] * slopes.allowed[k - 1] + 0x1p-50 * square;
    if (!all.agree(square, product, 1.01 * allowed))
      return violated(fmt::format("slopes {} to {} are not geometric: {:.9g} squared, product {:.9g}", k - 1, k + 1,
                                  square, product),
                      {}, call->outputs);
  }
  return all.result();
}

property law(const char* name, const char* summary, outcome (*check)(implementation&, const test_case&),
             std::size_t calls) {
  property p{name, summary, [](const core::operation& op) { return op.name == "alibi/slopes"; }, check};
  p.calls = calls;
  return p;
}

}  // namespace

std::vector<property> slope_laws() {
  return {law("alibi_nesting", "the slopes of 2c heads hold those of c heads", check_nesting, 2),
          law("alibi_product", "the product of all slopes", check_product, 1),
          law("alibi_ratio", "slopes are geometric", check_ratio, 1)};
}

}  // namespace assay::properties::encodings::alibi
