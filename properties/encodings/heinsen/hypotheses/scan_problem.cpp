#include "properties/encodings/heinsen/hypotheses/scan_problem.hpp"

#include <algorithm>
#include <cmath>

#include "reference/core/special_values.hpp"

namespace assay::properties::encodings::heinsen {
namespace {

using core::infinity;

double log_sigmoid(double g) { return std::isnan(g) ? g : -log_add_exp(0.0, -g); }
double sigmoid(double x) { return x >= 0 ? 1.0 / (1.0 + std::exp(-x)) : std::exp(x) / (1.0 + std::exp(x)); }

const auto& values_of(const request& call, const char* name) { return call.inputs.at(name).values.storage(); }

// y = x W^T + b for each of `rows` rows of x.
std::vector<double> affine(const core::tensor& x, const core::tensor& weight, const core::tensor& bias) {
  const std::size_t in = weight.shape()[1], out = weight.shape()[0], rows = in == 0 ? 0 : x.size() / in;
  std::vector<double> y(rows * out);
  for (std::size_t r = 0; r < rows; ++r)
    for (std::size_t k = 0; k < out; ++k) {
      double sum = bias.values.storage()[k];
      for (std::size_t m = 0; m < in; ++m) sum += x.values.storage()[r * in + m] * weight.values.storage()[k * in + m];
      y[r * out + k] = sum;
    }
  return y;
}

bool is_module(const request& call) { return call.inputs.contains("W_H"); }

scan_problem problem_of(const request& call) {
  scan_problem p;
  const core::shape state = call.inputs.at("s0").shape();
  p.batch = state[0];
  p.features = state[1];
  p.tokens = call.inputs.at(is_module(call) ? "x" : "h").shape()[1];
  const std::size_t count = p.batch * p.tokens;
  std::vector<double> h;
  if (is_module(call)) {
    const std::vector<double> logits = affine(call.inputs.at("x"), call.inputs.at("W_H"), call.inputs.at("b_H"));
    for (std::size_t t = 0; t < count && !logits.empty(); ++t)
      for (std::size_t j = 0; j < p.features; ++j) {
        p.gates.push_back(logits[t * 2 * p.features + j]);
        h.push_back(logits[t * 2 * p.features + p.features + j]);
      }
  } else {
    h.assign(values_of(call, "h").begin(), values_of(call, "h").end());
    if (call.inputs.contains("g")) p.gates.assign(values_of(call, "g").begin(), values_of(call, "g").end());
  }
  const bool gated = is_module(call) || call.inputs.contains("g");
  for (std::size_t b = 0; b < p.batch; ++b)
    for (std::size_t j = 0; j < p.features; ++j) {
      scan_lane lane;
      lane.s0 = values_of(call, "s0")[b * p.features + j];
      for (std::size_t i = 0; i < p.tokens; ++i) {
        const std::size_t index = (b * p.tokens + i) * p.features + j;
        lane.a.push_back(gated ? log_sigmoid(p.gates[index]) : values_of(call, "log_p")[index]);
        lane.h.push_back(h[index]);
      }
      lane.s.resize(p.tokens);
      p.lanes.push_back(std::move(lane));
    }
  return p;
}

core::tensor states_of(const scan_problem& p) {
  std::vector<double> s(p.batch * p.tokens * p.features);
  for (std::size_t k = 0; k < p.lanes.size(); ++k)
    for (std::size_t i = 0; i < p.tokens; ++i)
      s[(k / p.features * p.tokens + i) * p.features + k % p.features] = p.lanes[k].s[i];
  return core::make_tensor(core::dtype::f64, {p.batch, p.tokens, p.features}, s);
}

}  // namespace

double log_add_exp(double x, double y) {
  if (std::isnan(x) || std::isnan(y)) return x + y;
  const double larger = std::max(x, y), smaller = std::min(x, y);
  return smaller == -infinity ? larger : larger + std::log1p(std::exp(smaller - larger));
}

void scan_by(scan_lane& lane, scan_step next) {
  lane.s_n = lane.s0;
  for (std::size_t i = 0; i < lane.h.size(); ++i) lane.s[i] = lane.s_n = next(lane, i, lane.s_n);
}

void right_scan(scan_lane& lane) {
  scan_by(lane, [](const scan_lane& l, std::size_t i, double state) { return log_add_exp(l.a[i] + state, l.h[i]); });
}

core::tensors forward_outputs(const request& call, const std::function<void(scan_problem&)>& model) {
  scan_problem p = problem_of(call);
  model(p);
  std::vector<double> last;
  for (const scan_lane& lane : p.lanes) last.push_back(lane.s_n);
  core::tensors out{{"s_n", core::make_tensor(core::dtype::f64, {p.batch, p.features}, last)}};
  core::tensor s = states_of(p);
  if (!is_module(call)) {
    out.emplace("s", std::move(s));
    return out;
  }
  const core::tensor& x = call.inputs.at("x");
  std::vector<double> y(x.values.storage().begin(), x.values.storage().end());
  const std::size_t width = x.shape()[2];
  const auto &weight = values_of(call, "W_R"), &bias = values_of(call, "b_R");
  for (std::size_t i = 0; i < y.size(); ++i) {
    y[i] += bias[i % width];
    for (std::size_t j = 0; j < p.features; ++j)
      y[i] += weight[i % width * p.features + j] * s.values.storage()[i / width * p.features + j];
  }
  out.emplace("y", core::make_tensor(core::dtype::f64, x.shape(), y));
  return out;
}

void adjoint_by(adjoint_lane& lane, const std::function<double(std::size_t)>& passed) {
  double carry = lane.grad_s_n;
  for (std::size_t i = lane.w.size(); i-- > 0;) {
    const double lambda = lane.grad_s[i] + carry;
    lane.grad_a[i] = lane.w[i] * lambda;
    lane.grad_h[i] = lane.v[i] * lambda;
    carry = lane.grad_a[i] * passed(i);
  }
  lane.grad_s0 = carry;
}

void right_adjoint(adjoint_lane& lane) {
  adjoint_by(lane, [](std::size_t) { return 1.0; });
}

core::tensors vjp_outputs(const request& call,
                          const std::function<void(std::vector<adjoint_lane>&, std::size_t features)>& model) {
  scan_problem p = problem_of(call);
  const auto &grad_s = values_of(call, "grad_s"), &grad_s_n = values_of(call, "grad_s_n");
  std::vector<adjoint_lane> lanes;
  for (std::size_t k = 0; k < p.lanes.size(); ++k) {
    scan_lane& lane = p.lanes[k];
    right_scan(lane);
    adjoint_lane back;
    back.s0 = lane.s0;
    back.grad_s_n = grad_s_n[k];
    for (std::size_t i = 0; i < p.tokens; ++i) {
      const double t = lane.a[i] + (i == 0 ? lane.s0 : lane.s[i - 1]);
      const bool alive = lane.s[i] != -infinity;
      back.w.push_back(alive ? (lane.h[i] == -infinity ? 1.0 : sigmoid(t - lane.h[i])) : 0.0);
      back.v.push_back(alive ? (t == -infinity ? 1.0 : sigmoid(lane.h[i] - t)) : 0.0);
      back.grad_s.push_back(grad_s[(k / p.features * p.tokens + i) * p.features + k % p.features]);
    }
    back.grad_a.resize(p.tokens);
    back.grad_h.resize(p.tokens);
    lanes.push_back(std::move(back));
  }
  model(lanes, p.features);
  const bool gated = !p.gates.empty() || call.inputs.contains("g");
  const core::shape full{p.batch, p.tokens, p.features};
  core::tensor grad_gate = core::zeros(core::dtype::f64, full), grad_h = grad_gate;
  core::tensor grad_state = core::zeros(core::dtype::f64, {p.batch, p.features});
  for (std::size_t k = 0; k < lanes.size(); ++k) {
    grad_state.values.storage()[k] = lanes[k].grad_s0;
    for (std::size_t i = 0; i < p.tokens; ++i) {
      const std::size_t index = (k / p.features * p.tokens + i) * p.features + k % p.features;
      grad_gate.values.storage()[index] = lanes[k].grad_a[i] * (gated ? sigmoid(-p.gates[index]) : 1.0);
      grad_h.values.storage()[index] = lanes[k].grad_h[i];
    }
  }
  return {{gated ? "grad_g" : "grad_log_p", grad_gate}, {"grad_h", grad_h}, {"grad_s0", grad_state}};
}

}  // namespace assay::properties::encodings::heinsen
