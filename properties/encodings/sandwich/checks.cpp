// Sandwich: families, laws, faults of public reports, and the ways in which programs compute it.
#include <cmath>

#include "properties/faults/declared_faults.hpp"
#include "properties/kinds/pair_bias.hpp"
#include "properties/laws/relations/relations.hpp"
#include "reference/encodings/sandwich.hpp"

namespace assay::properties::encodings::sandwich {
namespace {

using core::counter_random;
using core::dtype;
using encoding = reference::encodings::sandwich;
using reference::formula::traced;
inline constexpr auto& changed = make_variant<encoding>;

double no_parameter(std::string_view, dtype, counter_random&) { return 0.0; }
// Keys far before the queries, up to distances at which angles still have meaning; their errors are proportional to the
// distance.
void distant(pair_positions& positions, dtype type, counter_random& random) {
  const double bits = type == dtype::f64 ? 31 : 15;
  for (double& i : positions.query) i = static_cast<double>(random.below(8));
  for (double& j : positions.key) j = -std::floor(std::exp2(random.uniform(0, bits)));
}

/// The bias times c_h, from a call with other settings.
struct uncompressed {
  numbers bias;
  std::size_t pairs;
  double heads;

  uncompressed(experiment& e, const core::attributes& settings)
      : bias(e.call(*with(settings)(e.c)), "bias"),
        pairs(e.c.call.inputs.at("query_position").size() * e.c.call.inputs.at("key_position").size()),
        heads(pairs == 0 ? 1.0 : static_cast<double>(bias.size() / pairs)) {}
  [[nodiscard]] double compression(std::size_t k) const { return 8.0 * (1.0 + static_cast<double>(k / pairs)) / heads; }
  [[nodiscard]] approximate operator[](std::size_t k) const { return bias[k] * computed(compression(k)); }
  /// The distance of the query and the key of element k; nothing if the pair is masked.
  [[nodiscard]] std::optional<double> distance(const test_case& c, std::size_t k) const {
    const given_numbers query(c, "query_position"), key(c, "key_position");
    return reference::future_keys(settings_of_case(c))
        .distance(query[k % pairs / key.size()].value, key[k % key.size()].value);
  }
  static core::attributes settings_of_case(const test_case& c) {
    return core::completed(*c.call.operation, c.call.attributes);
  }
};

// -d <= c_h B_h <= 0, and c_h B_h is the same for all heads.
void check_heads(experiment& e) {
  const uncompressed b(e, {{"offset", true}});
  const auto width = static_cast<double>(setting<std::int64_t>(e.c, "width"));
  for (std::size_t k = 0; k < b.bias.size(); ++k) {
    if (!b.distance(e.c, k)) continue;
    e.within(-width, 0.0, b[k], "the bias times c_h, element {}", k);
    e.equal(b[k % b.pairs], b[k], width, "the bias times c_h of the first head and of element {}", k);
  }
}
// With the offset the result is lower by d/2.
void check_offset(experiment& e) {
  const uncompressed less(e, {{"offset", true}}), whole(e, {{"offset", false}});
  const double half = static_cast<double>(setting<std::int64_t>(e.c, "width")) / 2;
  for (std::size_t k = 0; k < less.bias.size(); ++k)
    if (less.distance(e.c, k)) e.equal(less[k] + exactly(half), whole[k], half, "with and without d/2, element {}", k);
}
// The sums from k = 0 and from k = 1 share all terms but one.
void check_first(experiment& e) {
  const uncompressed zero(e, {{"first", std::string("zero")}}), one(e, {{"first", std::string("one")}});
  const auto base = setting<double>(e.c, "base");
  for (std::size_t k = 0; k < zero.bias.size(); ++k)
    if (const auto t = zero.distance(e.c, k))
      e.equal(one[k] + computed(std::cos(*t)) - approximate{std::cos(*t / base), 0x1p-50 * (1 + *t / base)}, zero[k],
              static_cast<double>(setting<std::int64_t>(e.c, "width")), "the sums from 1 and from 0, element {}", k);
}

// Keys beyond the index of a query's row get the bias of distance 0: d / (2 c_h), or 0 with the offset.
void keys_beyond_the_row_at_0(core::tensors& outputs, const request& call) {
  core::tensor& bias = outputs.at("bias");
  const std::size_t heads = bias.shape()[0], n = bias.shape()[1], m = bias.shape()[2];
  const double sum =
      setting_of<bool>(call, "offset") ? 0.0 : static_cast<double>(setting_of<std::int64_t>(call, "width")) / 2;
  for (std::size_t k = 0; k < bias.size(); ++k)
    if (double& x = bias.values.storage()[k]; k % m > k / m % n && std::isfinite(x))
      x = core::round_to(bias.type, sum * static_cast<double>(heads) / (8.0 * static_cast<double>(1 + k / (n * m))));
}

std::vector<variant> mutants() {
  std::vector<variant> all = faults_of_distance<encoding>("sandwich");
  const auto with_sum = [](std::function<traced(const traced&, bool)> sum) {
    return variation<encoding>{.formula = [sum](encoding::scheme& scheme) { scheme.sum = sum; },
                               .representative = true};
  };
  const auto all_but_the_last = [](const traced& angles) { return between(angles, 2, 0, shape_of(angles).back() - 1); };
  const auto count_of = [](const traced& angles) { return static_cast<double>(shape_of(angles).back()); };
  all.push_back(changed("mutant/sandwich_without_cosine", "NVIDIA/NeMo, sandwich_relative_position.py",
                        "angles are added up, and not their cosines; the last frequency is missing",
                        with_sum([=](const traced& angles, bool offset) {
                          return traced(offset ? -count_of(angles) : 0.0) - summed(all_but_the_last(angles), {2});
                        })));
  all.push_back(changed("mutant/sandwich_one_term_less", "NVIDIA/NeMo: arange(1, hidden_size / 2)",
                        "the last frequency is missing, and d/2 is subtracted all the same",
                        with_sum([=](const traced& angles, bool offset) {
                          return encoding::sum_by_cosines(all_but_the_last(angles), offset) -
                                 traced(offset ? 1.0 : 0.0);
                        })));
  all.push_back(changed("mutant/sandwich_cosines_in_bf16", "code that runs in the dtype of the scores",
                        "cosines have the digits of bf16, and their sum cancels",
                        {.formula = [](encoding::scheme& scheme) { scheme.sum = encoding::sum_by_cosines; },
                         .arithmetic =
                             [](dtype storage) {
                               return with_stage_in(dtype::bf16, "wave", {"angle", "accumulation"}, storage);
                             },
                         .declared = usual_arithmetic_declared,
                         .representative = true}));
  all.push_back(changed("mutant/sandwich_triangle_of_cached_queries",
                        "NVIDIA/NeMo: torch.tril behind the choice of the last rows",
                        "keys beyond the index of the query's row stand at the distance 0",
                        {.outputs = keys_beyond_the_row_at_0, .representative = true}));
  for (variant& v : reported_faults({{"mutant/sandwich_from_zero", "the table of Vaswani et al. against NVIDIA/NeMo",
                                      "sandwich/bias/first/one_and_zero_exchanged"},
                                     {"mutant/sandwich_without_offset", "the formula as surveys print it: without d/2",
                                      "sandwich/bias/offset/always_false"}})) {
    v.representative = true;
    all.push_back(std::move(v));
  }
  return all;
}

// (first + k) / steps, for k < count.
traced exponents(std::size_t first, std::size_t count, std::size_t steps) {
  const auto constant = [](std::size_t x) {
    return reference::formula::traced_integer::constant(static_cast<std::int64_t>(x));
  };
  return to_real(reference::formula::counted(count) + constant(first)) / to_real(constant(steps));
}

std::vector<variant> controls() {
  std::vector<variant> all = controls_of_precision<encoding>("sandwich");
  all.push_back(changed("control/sandwich_sum_of_cosines",
                        "NVIDIA/NeMo, sandwich_relative_position_embedding.py: 1 / b^(2k/d), and d/2 at the end",
                        "a sum of cosines less d/2", {.formula = [](encoding::scheme& scheme) {
                          scheme.sum = encoding::sum_by_cosines;
                          scheme.frequencies = [](const auto& base, std::size_t first, std::size_t count,
                                                  std::size_t steps) {
                            return traced(1.0) / pow(base, exponents(first, count, steps));
                          };
                        }}));
  all.push_back(changed("control/sandwich_squared_sines", "exp(-(2k/d) log b), and -2 sum sin^2(t theta / 2)",
                        "sines of half the angles", {.formula = [](encoding::scheme& scheme) {
                          scheme.frequencies = [](const auto& base, std::size_t first, std::size_t count,
                                                  std::size_t steps) {
                            return exp(-(exponents(first, count, steps) * log(base)));
                          };
                        }}));
  return all;
}

}  // namespace

encoding_tests make_tests() {
  const std::vector<std::string> bias{"sandwich/bias"}, near{"mild", "distant"};
  encoding_tests tests;
  tests.name = "sandwich";
  tests.families = {
      parting_classes(pair_bias_family("mild", "the last queries of a sequence", no_parameter, in_order)),
      pair_bias_family("distant", "keys far before the queries", no_parameter, distant),
      pair_bias_family("far_window", "a window far from the first token", no_parameter, far_window),
      pair_bias_family("scattered", "positions all over their range, in no order", no_parameter, scattered),
  };
  tests.long_ones = {{bias, {}, {{"n", 33000}}}};  // a sum of 64 waves takes 20 us with two doubles
  tests.mutants = mutants();
  tests.controls = controls();
  tests.laws = laws_of_distance("sandwich", bias, near);
  tests.laws.push_back(law("sandwich_heads", "heads differ by their factor alone, and nothing is below -d or above 0",
                           {bias, near}, {1, check_heads}));
  tests.laws.push_back(law("sandwich_offset", "with the offset, d/2 less", {bias, near}, {2, check_offset}));
  tests.laws.push_back(
      law("sandwich_first", "the sums from 0 and from 1 differ by two cosines", {bias, near}, {2, check_first}));
  return tests;
}

}  // namespace assay::properties::encodings::sandwich
