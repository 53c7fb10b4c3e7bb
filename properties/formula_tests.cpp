#include "properties/formula_tests.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>

#include "properties/harness/sizes_together.hpp"
#include "reference/formula_owner.hpp"

namespace assay::properties {
namespace {

using core::counter_random;

// If the domain has no end on some side, the number is of order 1.
double usual_number(const core::value_domain& domain, counter_random& random) {
  const bool has_low = std::isfinite(domain.low), has_high = domain.high < std::numeric_limits<double>::max();
  if (has_low && has_high) return random.uniform(domain.low, domain.high);
  if (has_low) return domain.low + std::fabs(random.normal());
  if (has_high) return domain.high - std::fabs(random.normal());
  return random.normal();
}

bool is_free(const core::tensor_declaration& d) {
  return !d.own_type && d.rule == core::value_rule::none && !std::isfinite(d.domain.low) &&
         d.domain.high == std::numeric_limits<double>::max();
}
bool has_free_input(const core::operation& op) { return std::any_of(op.inputs.begin(), op.inputs.end(), is_free); }

double usual_integer(const core::tensor_declaration& d, const core::axis_sizes& sizes, counter_random& random) {
  double low = d.domain.low, high = d.domain.high;
  if (!d.index_into.empty()) low = 0.0, high = static_cast<double>(sizes.at(d.index_into)) - 1.0;
  if (low <= -0x1p31) low = high >= 0x1p31 ? 0.0 : high - 64;
  if (high >= 0x1p31) high = low + (random.one_in(4) ? 5000 : 64);
  const auto count = static_cast<std::uint64_t>(std::max(high - low, 0.0)) + 1;
  return low + static_cast<double>(random.below(count));
}

void make_unit(core::dtype type, std::span<double> row) {
  const double norm = std::sqrt(std::inner_product(row.begin(), row.end(), row.begin(), 0.0));
  if (norm == 0.0 || !std::isfinite(norm)) {
    std::fill(row.begin(), row.end(), 0.0);
    row.front() = 1.0;
    return;
  }
  for (double& x : row) x = core::round_to(type, x / norm);
}
// The first offset is 0 and the last is the size: parts of any length lie between, now and then an empty one.
void make_offsets(std::size_t size, std::span<double> row, counter_random& random) {
  for (double& x : row) x = static_cast<double>(random.below(size + 1));
  row.front() = 0.0;
  row.back() = static_cast<double>(size);
  std::sort(row.begin(), row.end());
}

/// Changes the numbers of an input so that they keep to its rule.
void keep_to_rule(const core::tensor_declaration& d, core::tensor& t, const core::axis_sizes& sizes,
                  counter_random& random) {
  if (d.rule == core::value_rule::none || t.size() == 0 || t.shape().empty()) return;
  const std::span<double> all(t.values.storage());
  const std::size_t width = t.shape().back();
  for (std::size_t k = 0; k < all.size(); k += width) {
    const std::span<double> row = all.subspan(k, width);
    if (d.rule == core::value_rule::unit) make_unit(t.type, row);
    if (d.rule == core::value_rule::ascending) std::sort(row.begin(), row.end());
    if (d.rule == core::value_rule::offsets) make_offsets(sizes.at(d.index_into), row, random);
    if (d.rule == core::value_rule::one_in_each_row &&
        std::ranges::count(row, 0.0) == static_cast<std::ptrdiff_t>(width))
      row[random.below(width)] = 1.0;
  }
}

core::axis_sizes drawn_sizes(const core::operation& op, const core::attributes& settings, counter_random& random,
                             extent size) {
  core::axis_sizes sizes;
  for (const std::string& symbol : core::axis_symbols(op)) {
    if (const core::attribute_declaration* a = core::attribute_of_axis(op, symbol)) {
      sizes[symbol] = static_cast<std::size_t>(core::setting<std::int64_t>(settings, a->name));
      continue;
    }
    const core::axis_role role = core::role_of(op, symbol);
    const bool is_long = role == core::axis_role::token || role == core::axis_role::key;
    std::size_t drawn = 1 + random.below(role == core::axis_role::batch || role == core::axis_role::head ? 3 : 6);
    if (role == core::axis_role::width) drawn += drawn % 2;  // halves and pairs are usual
    if (is_long && size.range == lengths::exactly) drawn = size.tokens;
    if (is_long && size.range == lengths::around_blocks) drawn = random.below(3) == 0 ? 65 : 30 + random.below(5);
    sizes[symbol] = size.axis(symbol, drawn);
  }
  // Sizes are limited before anything is drawn. A call for which a formula has no program may be too large for a
  // machine, and calls with a program show nothing more at many positions than at few.
  constexpr std::size_t few = 64;
  if (op.conflict && !op.conflict(core::completed(op, settings), sizes).empty())
    for (auto& [symbol, own] : sizes)
      if (core::attribute_of_axis(op, symbol) == nullptr) own = std::min(own, few);
  return sizes_together(op, settings, sizes, size.axes);
}

/// Changes a number of an input, from what is usual there.
using change_of_number = double (*)(double usual, counter_random& random);

family family_of(std::string name, std::string summary, change_of_number change) {
  family f{std::move(name), std::move(summary)};
  f.generate = [change](const core::operation& op, core::dtype type, const core::attributes& settings,
                        counter_random& random, extent size) {
    const core::axis_sizes sizes = drawn_sizes(op, settings, random, size);
    core::tensors inputs;
    if (op.drawn) inputs = op.drawn(type, settings, sizes, random.below(std::uint64_t{1} << 32));
    for (const core::tensor_declaration& d : op.inputs) {
      if (d.rule == core::value_rule::as_drawn) continue;
      core::tensor t = core::zeros(d.type_in(type), core::shape_of(d, sizes));
      for (double& x : t.values.storage()) {
        if (d.own_type) {
          x = usual_integer(d, sizes, random);
          continue;
        }
        x = usual_number(d.domain, random);
        if (change != nullptr && is_free(d)) x = change(x, random);
        x = core::round_to(type, x);
        if (!d.domain.contains(x)) x = core::round_to(type, usual_number(d.domain, random));
      }
      keep_to_rule(d, t, sizes, random);
      inputs.emplace(d.name, std::move(t));
    }
    return inputs;
  };
  if (change != nullptr) f.applies = has_free_input;
  return f;
}

}  // namespace

std::vector<family> formula_families() {
  return {
      parting_classes(family_of("mild", "normal numbers, or those of their domains", nullptr)),
      family_of("large", "numbers 16 times as large", [](double x, counter_random&) { return 16 * x; }),
      family_of("small", "numbers 1000 times as small", [](double x, counter_random&) { return x / 1024; }),
      family_of("offset", "numbers about 32", [](double x, counter_random&) { return x + 32; }),
      family_of("zeros", "every third number is 0",
                [](double x, counter_random& random) { return random.one_in(3) ? 0.0 : x; }),
      holding_nan(family_of("nan_inside", "a NaN among the numbers",
                            [](double x, counter_random& random) { return random.one_in(9) ? std::nan("") : x; })),
  };
}

void install_formula_tests(std::function<std::vector<variant>()> mutants) {
  install_owner_tests([mutants = std::move(mutants)](const reference::formula_owner& owner) {
    encoding_tests tests;
    tests.name = std::string(owner.name());
    tests.families = formula_families();
    if (mutants) tests.mutants = mutants();
    return tests;
  });
}

}  // namespace assay::properties
