// Kernels of attention do not compute the gradient of their softmax by its rule: they compute sum_j P_ij dP_ij as the
// product of the output and its cotangent (Dao et al., "FlashAttention", NeurIPS 2022, arXiv 2205.14135, appendix B).
// The allowance of the program covers that.
#include <catch2/catch.hpp>

#include "reference/core/counter_random.hpp"
#include "reference/formula/tests/recorded_operations.hpp"
#include "reference/formula_owner.hpp"

namespace assay::reference::formula::owned {
namespace {

struct sizes_of_head {
  std::size_t n, m, d;
};
using numbers = std::vector<double>;

// The backward pass with each operation rounded to f32.
struct backward_of_flash_attention {
  std::vector<float> q, k, v, bias;

  backward_of_flash_attention(const core::request& call, const sizes_of_head& s)
      : q(s.n * s.d), k(s.m * s.d), v(s.m * s.d), bias(s.n * s.m) {
    const auto in = [&](const char* name) -> const auto& { return call.inputs.at(name).values.storage(); };
    for (std::size_t i = 0; i < s.n; ++i) row(i, s, in("q"), in("k"), in("v"), in("bias"), in("grad_o"));
  }

 private:
  template <class Storage>
  void row(std::size_t i, const sizes_of_head& s, const Storage& in_q, const Storage& in_k, const Storage& in_v,
           const Storage& in_bias, const Storage& in_g) {
    const auto dot = [&](const Storage& x, std::size_t a, const Storage& y, std::size_t b) {
      float sum = 0.0F;
      for (std::size_t c = 0; c < s.d; ++c)
        sum += static_cast<float>(x[a * s.d + c]) * static_cast<float>(y[b * s.d + c]);
      return sum;
    };
    const float scale = 1.0F / std::sqrt(static_cast<float>(s.d));
    std::vector<float> p(s.m);
    float most = -HUGE_VALF, total = 0.0F, delta = 0.0F;
    for (std::size_t j = 0; j < s.m; ++j) {
      p[j] = dot(in_q, i, in_k, j) * scale + static_cast<float>(in_bias[i * s.m + j]);
      most = std::max(most, p[j]);
    }
    for (float& x : p) total += x = std::exp(x - most);
    for (float& x : p) x /= total;
    for (std::size_t c = 0; c < s.d; ++c) {
      float o = 0.0F;
      for (std::size_t j = 0; j < s.m; ++j) o += p[j] * static_cast<float>(in_v[j * s.d + c]);
      delta += o * static_cast<float>(in_g[i * s.d + c]);
    }
    for (std::size_t j = 0; j < s.m; ++j) {
      const float slope = p[j] * (dot(in_g, i, in_v, j) - delta);
      bias[i * s.m + j] = slope;
      for (std::size_t c = 0; c < s.d; ++c) {
        q[i * s.d + c] += slope * static_cast<float>(in_k[j * s.d + c]) * scale;
        k[j * s.d + c] += slope * static_cast<float>(in_q[i * s.d + c]) * scale;
        v[j * s.d + c] += p[j] * static_cast<float>(in_g[i * s.d + c]);
      }
    }
  }
};

core::request drawn_head(const core::operation& op, const sizes_of_head& s, core::counter_random& random) {
  core::request call{&op, core::dtype::f32, {}};
  const double spread = std::exp2(static_cast<double>(random.below(6)) - 3.0);
  const double apart = random.below(3) == 0 ? 100.0 : 0.0;
  for (const core::tensor_declaration& t : op.inputs) {
    core::tensor x = core::zeros(
        core::dtype::f32, core::shape_of(t, {{"B", 1}, {"h", 1}, {"n", s.n}, {"m", s.m}, {"d", s.d}, {"e", s.d}}));
    for (double& number : x.values.storage()) {
      number = core::round_to(core::dtype::f32,
                              (t.name == "q" ? spread : 1.0) * random.normal() + (t.name == "v" ? apart : 0.0));
      if (t.name == "bias" && random.below(5) == 0) number = -std::numeric_limits<double>::infinity();
    }
    call.inputs.emplace(t.name, std::move(x));
  }
  for (std::size_t i = 0; i < s.n; ++i)
    call.inputs.at("bias").values.storage()[i * s.m] = 0.0;  // each query sees a
                                                             // key
  return call;
}

// The largest share of the allowance that an error uses.
double largest_share(const std::vector<float>& found, const certified& truth, const xt::xarray<double>& k) {
  double largest = 0.0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const double error = std::fabs(truth.error_of(static_cast<double>(found[i]), i));
    const double beyond = error - core::half_ulp(core::dtype::f32, truth.truth(i));
    if (beyond > 0.0) largest = std::max(largest, beyond / (core::unit_roundoff(core::dtype::f32) * k.storage()[i]));
  }
  return largest;
}

}  // namespace
}  // namespace assay::reference::formula::owned

// exp(x - max) / sum as somebody may write it. Its own gradient, through the maximum, is exact to the last digits; the
// rule of softmax, p (g - sum p g), which frameworks compute, has no digit left there.
TEST_CASE("formula/owner/a_weight_that_rounds_to_one_has_the_gradient_of_its_rule", "[unit]") {
  using namespace assay;
  using namespace assay::reference;
  using namespace assay::reference::formula;
  const core::operation softmax{.name = "mine/softmax", .inputs = {{"x", {"d"}}}, .outputs = {{"y", {"d"}}}};
  const auto record = [](const program_sizes& s) {
    recording recorder;
    const traced x = recorder.input("x", {s.size("d")}), e = exp(x - reshaped(largest_along(x, 0), {1}));
    recorder.output("y", e / reshaped(summed(e, {0}), {1}));
    return recorder.finish();
  };
  const program_owner owner("mine", {}, {{.declaration = softmax, .record = record, .is_of_any_steps = true}});
  core::request call{&owner.operations()[1].declaration, core::dtype::f32, {}};
  call.inputs.emplace("x", core::tensor{core::dtype::f32, xt::xarray<double>{0.0, -19.0}});
  call.inputs.emplace("grad_y", core::tensor{core::dtype::f32, xt::xarray<double>{0.5, 0.0}});
  const auto law = owner.laws(call, {accuracy_class::sequential}, core::dtype::f32).front().at("grad_x");
  const double truth = 0.5 * std::exp(-19.0);  // and the rule gives 0
  CHECK(core::unit_roundoff(core::dtype::f32) * law.k[0] > truth);
  CHECK(law.k[0] < 20.0);
}

TEST_CASE("formula/owner/the_backward_of_flash_attention_stays_within_the_law", "[property]") {
  using namespace assay;
  using namespace assay::reference;
  using namespace assay::reference::formula::owned;
  const formula::program_owner owner("mine", {},
                                     {{declared_as("mine/output", "attention/output"), recorded_attention}});
  const core::operation &op = owner.operations()[1].declaration, &listed = *find_operation("attention/output:vjp");
  double largest = 0.0;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    core::counter_random random(seed);
    const sizes_of_head s{1 + random.below(16), 1 + random.below(40), 1 + random.below(48)};
    core::request call = drawn_head(op, s, random);
    const auto law = owner.laws(call, {accuracy_class::sequential}, core::dtype::f32).front();
    call.operation = &listed;
    const certified_outputs truth = truth_of(call);
    const backward_of_flash_attention found(call, s);
    INFO("seed " << seed);
    for (const auto& [name, x] : {std::pair("grad_q", &found.q), std::pair("grad_k", &found.k),
                                  std::pair("grad_v", &found.v), std::pair("grad_bias", &found.bias)}) {
      const double share = largest_share(*x, truth.at(name), law.at(name).k);
      CHECK(share < 1.0);
      largest = std::max(largest, share);
    }
  }
  CHECK(largest > 0.01);  // the law is no wider than that
}
