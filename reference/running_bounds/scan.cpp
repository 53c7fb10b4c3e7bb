#include "reference/running_bounds/scan.hpp"

#include <cmath>
#include <initializer_list>
#include <limits>
#include <string>
#include <utility>

#include "reference/running_bounds/dispatch.hpp"

namespace assay::reference::running {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

target_format target_of(core::dtype type) {
  return {core::smallest_normal(type), core::largest_finite(type), 2.0 * core::unit_roundoff(type),
          type == core::dtype::f64};
}

rung_output empty_output(core::dtype type, const core::shape& s) {
  const auto numbers = [&] { return xt::xarray<double>::from_shape(s); };
  const std::size_t size = core::element_count(s);
  return {{type, numbers()}, numbers(), numbers(), std::vector<std::uint8_t>(size), std::vector<std::uint8_t>(size)};
}

bounded_field field_of(rung_output& o) { return {o.rounded.values.data(), o.low.data(), o.radius.data()}; }

// Whether the kernels prove anything for a lane that holds x.
bool is_bounded(double x, double lowest, double highest) {
  return std::fabs(x) < largest_input || x == lowest || x == highest;
}

// With one lane alone every step waits for the step before: balls of one double are as fast.
bool is_worth_while(const lanes_shape& s, doubles doubles_per_number) {
  return s.tokens > 0 && s.batch * s.features > (doubles_per_number == doubles::one ? 1u : 0u);
}

// Marks the lanes of tensors [batch, tokens, features] and [batch, features]: 1 where a lane holds an unbounded input.
class excluded_lanes {
 public:
  explicit excluded_lanes(const lanes_shape& s) : shape_(s), excluded_(s.batch * s.features, 0) {}
  /// `lowest` and `highest` count as bounded, too; they are 0 where no infinite number is allowed.
  void look_at(const core::tensor& t, double lowest, double highest) {
    const auto& x = t.values.storage();
    if (kernels().are_bounded(x.data(), x.size(), lowest)) return;
    const std::size_t tokens = t.values.dimension() == 3 ? shape_.tokens : 1, row = tokens * shape_.features;
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (is_bounded(x[i], lowest, highest)) continue;
      excluded_[i / row * shape_.features + i % shape_.features] = 1;
      any_ = true;
    }
  }
  /// Leaves out the excluded lanes of an output [batch, tokens, features].
  void leave_out(rung_output& o, std::size_t tokens) const {
    const std::size_t row = tokens * shape_.features;
    for (std::size_t i = 0; any_ && i < o.low.size(); ++i)
      if (excluded_[i / row * shape_.features + i % shape_.features] != 0) {
        o.rounded.values.storage()[i] = o.low.storage()[i] = 0.0;
        o.radius.storage()[i] = -infinity;
      }
  }

 private:
  lanes_shape shape_;
  std::vector<std::uint8_t> excluded_;
  bool any_ = false;
};

void mark_decided(rung_output& o) { kernels().settle(o.radius.data(), o.decided.data(), o.decided.size()); }

// The states after the last of at least one token.
rung_output last_token(const rung_output& s, const lanes_shape& shape) {
  rung_output last = empty_output(s.rounded.type, {shape.batch, shape.features});
  for (std::size_t k = 0; k < last.decided.size(); ++k) {
    const std::size_t b = k / shape.features, j = k % shape.features;
    const std::size_t i = ((b + 1) * shape.tokens - 1) * shape.features + j;
    last.rounded.values.storage()[k] = s.rounded.values.storage()[i];
    last.low.storage()[k] = s.low.storage()[i];
    last.radius.storage()[k] = s.radius.storage()[i];
    last.decided[k] = s.decided[i];
  }
  return last;
}

// The input that says how the past decays: its name, whether it is a gate logit, and which infinite number it may be
// besides -inf.
struct kind_of_decay {
  const char* name;
  bool is_gate_logit;
  double highest;
};
constexpr kind_of_decay log_p{"log_p", false, 0.0}, gate_logits{"g", true, infinity};

// A call of a scan or of one of its derivatives.
struct bounded_call {
  const core::request& call;
  const kind_of_decay& decay;
  lanes_shape shape;
  excluded_lanes excluded;

  bounded_call(const core::request& requested, const kind_of_decay& kind)
      : call(requested), decay(kind), shape(shape_of(input(kind.name).shape())), excluded(shape) {}
  static lanes_shape shape_of(const core::shape& s) { return {s[0], s[1], s[2]}; }

  [[nodiscard]] const core::tensor& input(const std::string& name) const { return call.inputs.at(name); }
  [[nodiscard]] const double* numbers(const std::string& name) const { return input(name).values.data(); }
  [[nodiscard]] std::string name_of_output(const char* prefix) const { return std::string(prefix) + decay.name; }
  [[nodiscard]] rung_output whole() const { return empty_output(call.type, input(decay.name).shape()); }
  [[nodiscard]] target_format format() const { return target_of(call.type); }
  [[nodiscard]] const kernels_of_decay& kernels_in(doubles doubles_per_number) const {
    const kernels_of_arithmetic& all =
        doubles_per_number == doubles::one ? kernels().in_doubles : kernels().in_two_doubles;
    return decay.is_gate_logit ? all.gate_logit_kernels : all.log_p_kernels;
  }

  void look_at_point() {
    excluded.look_at(input(decay.name), -infinity, decay.highest);
    for (const char* name : {"h", "s0"}) excluded.look_at(input(name), -infinity, 0.0);
  }
  void look_at_derivatives(std::initializer_list<std::string> names) {
    for (const std::string& name : names) excluded.look_at(input(name), 0.0, 0.0);
  }
  void finish(rung_output& o) const {
    excluded.leave_out(o, o.low.dimension() == 3 ? shape.tokens : 1);
    mark_decided(o);
  }
  // The output of all tokens, and beside it the output of the last token.
  [[nodiscard]] rung_outputs with_last(const std::string& name, rung_output&& output_of_tokens) const {
    finish(output_of_tokens);
    rung_outputs out;
    out.emplace(name + "_n", last_token(output_of_tokens, shape));
    out.emplace(name, std::move(output_of_tokens));
    return out;
  }
};

rung_outputs forward(const core::request& call, doubles doubles_per_number, const kind_of_decay& decay) {
  bounded_call in(call, decay);
  if (!is_worth_while(in.shape, doubles_per_number)) return {};
  in.look_at_point();
  rung_output s = in.whole();
  in.kernels_in(doubles_per_number)
      .scan({in.shape, in.numbers(decay.name), in.numbers("h"), in.numbers("s0"), in.format(), field_of(s)});
  return in.with_last("s", std::move(s));
}

rung_outputs vjp(const core::request& call, doubles doubles_per_number, const kind_of_decay& decay) {
  bounded_call in(call, decay);
  if (!is_worth_while(in.shape, doubles_per_number)) return {};
  in.look_at_point();
  in.look_at_derivatives({"grad_s", "grad_s_n"});
  rung_output grad_decay = in.whole(), grad_h = in.whole(), grad_s0 = empty_output(call.type, in.input("s0").shape());
  in.kernels_in(doubles_per_number)
      .adjoint({in.shape, in.numbers(decay.name), in.numbers("h"), in.numbers("s0"), in.numbers("grad_s"),
                in.numbers("grad_s_n"), in.format(), field_of(grad_decay), field_of(grad_h), field_of(grad_s0)});
  for (rung_output* o : {&grad_decay, &grad_h, &grad_s0}) in.finish(*o);
  rung_outputs out;
  out.emplace(in.name_of_output("grad_"), std::move(grad_decay));
  out.emplace("grad_h", std::move(grad_h));
  out.emplace("grad_s0", std::move(grad_s0));
  return out;
}

rung_outputs jvp(const core::request& call, doubles doubles_per_number, const kind_of_decay& decay) {
  bounded_call in(call, decay);
  if (!is_worth_while(in.shape, doubles_per_number)) return {};
  const std::string along_decay = in.name_of_output("tangent_");
  in.look_at_point();
  in.look_at_derivatives({along_decay, "tangent_h", "tangent_s0"});
  rung_output tangent_s = in.whole();
  in.kernels_in(doubles_per_number)
      .tangent({in.shape, in.numbers(decay.name), in.numbers("h"), in.numbers("s0"), in.numbers(along_decay),
                in.numbers("tangent_h"), in.numbers("tangent_s0"), in.format(), field_of(tangent_s)});
  return in.with_last("tangent_s", std::move(tangent_s));
}

}  // namespace

rung_outputs bound_scan(const core::request& call, doubles doubles_per_number) {
  return forward(call, doubles_per_number, log_p);
}
rung_outputs bound_scan_vjp(const core::request& call, doubles doubles_per_number) {
  return vjp(call, doubles_per_number, log_p);
}
rung_outputs bound_scan_jvp(const core::request& call, doubles doubles_per_number) {
  return jvp(call, doubles_per_number, log_p);
}

rung_outputs bound_gated_scan(const core::request& call, doubles doubles_per_number) {
  return forward(call, doubles_per_number, gate_logits);
}
rung_outputs bound_gated_scan_vjp(const core::request& call, doubles doubles_per_number) {
  return vjp(call, doubles_per_number, gate_logits);
}
rung_outputs bound_gated_scan_jvp(const core::request& call, doubles doubles_per_number) {
  return jvp(call, doubles_per_number, gate_logits);
}

}  // namespace assay::reference::running
