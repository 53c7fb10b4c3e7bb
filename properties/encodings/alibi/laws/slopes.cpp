// The laws of the slopes of linear biases: of a list of numbers that has no inputs.
#include <cmath>

#include "properties/encodings/alibi/laws/laws.hpp"
#include "properties/laws/relations/relations.hpp"

namespace assay::properties::encodings::alibi {
namespace {

/// The heads of a case: by the rule naive one geometric list; by the others a list of a power of two and the rest.
struct heads_of {
  explicit heads_of(const test_case& c)
      : naive(setting<std::string>(c, "rule") == "naive"), count(setting<std::int64_t>(c, "heads")) {
    while (2 * first_piece <= count) first_piece *= 2;
    if (naive) first_piece = count;
  }
  bool naive;
  std::int64_t count, first_piece = 1;
};

// The slopes of the first list of c heads stand at the even places of those of 2c heads, and the remaining heads have
// the odd places in their order.
void check_nesting(experiment& e) {
  const heads_of heads(e.c);
  const measured_call& few = e.call();
  std::vector<std::size_t> from;
  for (std::int64_t k = 0; k < heads.count; ++k)
    from.push_back(static_cast<std::size_t>(k < heads.first_piece ? 2 * k + 1 : 2 * (k - heads.first_piece)));
  e.equal("slopes", e.call(with_setting(e.c, "heads", 2 * heads.first_piece)), from, few, every(from.size()),
          fmt::format("{} heads and {}", 2 * heads.first_piece, heads.count));
}

// The sum of the logarithms of all slopes of a geometric list is that of a series: product 2^(-alpha (n + 1) / 2).
void check_product(experiment& e) {
  const heads_of heads(e.c);
  e.needs(heads.first_piece == heads.count);
  const numbers slopes(e.call(), "slopes");
  approximate sum;
  for (std::size_t k = 0; k < slopes.size(); ++k)  // 1 / log 2 < 2
    sum += {std::log2(slopes.x[k]), 2 * slopes.allowed[k] / std::fabs(slopes.x[k])};
  const double alpha = setting<std::string>(e.c, "rule") == "official" ? 8.0 : setting<double>(e.c, "alpha_max");
  e.equal(computed(-alpha * static_cast<double>(heads.count + 1) / 2), sum, "log2 of the product of all slopes");
}

// A slope squared is the product of its neighbours, within each of the two geometric pieces.
void check_ratio(experiment& e) {
  const auto piece = static_cast<std::size_t>(heads_of(e.c).first_piece);
  const numbers slopes(e.call(), "slopes");
  for (std::size_t k = 1; k + 1 < slopes.size(); ++k)
    if (k + 1 != piece && k != piece)
      e.equal(slopes[k] * slopes[k], slopes[k - 1] * slopes[k + 1], "slope {} squared, and its neighbours' product", k);
}

}  // namespace

std::vector<property> slope_laws() {
  const law_scope slopes{{"alibi/slopes"}};
  return {law("alibi_nesting", "the slopes of 2c heads hold those of c heads", slopes, {2, check_nesting}),
          law("alibi_product", "the product of all slopes", slopes, {1, check_product}),
          law("alibi_ratio", "slopes are geometric", slopes, {1, check_ratio})};
}

}  // namespace assay::properties::encodings::alibi
