// What narrow formats cost linear biases: the key form loses the order of near keys far from the first token, and
// overflows; the distance form does neither. Figures: properties_test "[hazards]" -s
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <numeric>
#include <set>

#include "properties/builtin.hpp"
#include "reference/oracle.hpp"

using namespace assay;
using namespace assay::properties;

namespace {

// The biases of one query and the keys up to it, `tokens` of them, computed in f32 and stored in `type`.
std::vector<double> last_row(core::dtype type, const char* form, double slope, std::size_t tokens) {
  std::vector<double> keys(tokens);
  std::iota(keys.begin(), keys.end(), 0.0);
  const core::request call{reference::find_operation("alibi/bias"),
                           type,
                           {{"slopes", core::make_tensor(type, {1}, {slope})},
                            {"query_position", core::make_tensor(core::dtype::i64, {1}, {keys.back()})},
                            {"key_position", core::make_tensor(core::dtype::i64, {tokens}, keys)}},
                           {{"form", std::string(form)}}};
  const auto outputs = make_builtin("control/alibi_by_exponential").value()->evaluate(call);
  const auto& bias = outputs.value().at("bias").values.storage();
  return {bias.begin(), bias.end()};
}

std::vector<double> softmax(std::vector<double> x) {
  const double largest = *std::max_element(x.begin(), x.end());
  double sum = 0;
  for (double& y : x) sum += y = std::exp(y - largest);
  for (double& y : x) y /= sum;
  return x;
}

// Half the sum of the differences between the weights with these biases alone and those of exact biases.
double total_variation(const std::vector<double>& biases, double slope) {
  std::vector<double> exact(biases.size());
  for (std::size_t j = 0; j < exact.size(); ++j) exact[j] = -slope * static_cast<double>(exact.size() - 1 - j);
  const std::vector<double> x = softmax(biases), y = softmax(exact);
  double sum = 0;
  for (std::size_t j = 0; j < x.size(); ++j) sum += std::fabs(x[j] - y[j]);
  return sum / 2;
}

std::size_t distinct_of_last(std::size_t keys, const std::vector<double>& biases) {
  return std::set<double>(biases.end() - static_cast<std::ptrdiff_t>(keys), biases.end()).size();
}

}  // namespace

// The figures of BLOOM's and Falcon's form in bf16: rounding is relative to the position of a key, not to its distance.
TEST_CASE("alibi/bias/hazards_of_bf16", "[property][hazards]") {
  struct row {
    std::size_t tokens, distinct;
    double half, flat;  // total variation at the slopes 1/2 and 2^-8
  };
  for (const row& r : {row{512, 9, 0.155, 0.001}, row{2048, 3, 0.257, 0.004}, row{8192, 1, 0.615, 0.016}}) {
    const auto keys = last_row(core::dtype::bf16, "key", 0.5, r.tokens);
    const auto distances = last_row(core::dtype::bf16, "distance", 0.5, r.tokens);
    const double half = total_variation(keys, 0.5),
                 flat = total_variation(last_row(core::dtype::bf16, "key", 0x1p-8, r.tokens), 0x1p-8);
    INFO(fmt::format("{} tokens: total variation {:.3f}, with a slope of 2^-8 {:.4f}", r.tokens, half, flat));
    CHECK(distinct_of_last(16, keys) == r.distinct);
    CHECK(distinct_of_last(16, distances) == 16);
    CHECK(half == Approx(r.half).epsilon(0.02));
    CHECK(flat >= r.flat / 2);
    CHECK(flat <= r.flat * 2);
    CHECK(total_variation(distances, 0.5) < 1e-4);
  }
}

// 131072 tokens at the slope 1/2: the key form is infinite at the last key, and a softmax that subtracts the largest
// logit has no number left; in the distance form the farthest key is masked, which e^-65536 is anyway.
TEST_CASE("alibi/bias/hazards_of_f16", "[property][hazards]") {
  constexpr std::size_t tokens = 131073;
  const auto keys = last_row(core::dtype::f16, "key", 0.5, tokens);
  CHECK(std::isinf(keys.back()));
  CHECK(keys.back() > 0);
  CHECK(std::isnan(softmax(keys).back()));
  const auto distances = last_row(core::dtype::f16, "distance", 0.5, tokens);
  CHECK(std::isinf(distances.front()));
  CHECK(distances.front() < 0);
  CHECK(total_variation(distances, 0.5) < 1e-4);
}

// From which distance on a weight e^-mt is subnormal in f32, and up to which it is not 0.
TEST_CASE("alibi/bias/horizon_of_f32", "[.hazards]") {
  struct row {
    double slope, subnormal_from, last;
  };
  for (const row& r : {row{0.5, 175, 207}, row{0x1p-8, 22359, 26616}}) {
    const auto weight = [&](double distance) {
      return core::round_to(core::dtype::f32, std::exp(-r.slope * distance));
    };
    CHECK(weight(r.subnormal_from - 1) >= core::smallest_normal(core::dtype::f32));
    CHECK(weight(r.subnormal_from) < core::smallest_normal(core::dtype::f32));
    CHECK(weight(r.last) > 0);
    CHECK(weight(r.last + 1) == 0);
  }
}

// A mask of -10000 is no mask where a key that may be seen lies more than 20000 tokens back.
TEST_CASE("alibi/bias/finite_mask_is_outweighed", "[property][hazards]") {
  const double farthest = last_row(core::dtype::f32, "distance", 0.5, 20002).front();
  CHECK(farthest < -10000);
  CHECK(last_row(core::dtype::f32, "distance", 0.5, 20001).front() == -10000);
}
