// One lane of a scan and of its derivatives in balls of Arb, by separate formulas.
#pragma once

#include <arb.h>

#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <vector>

#include "reference/oracle.hpp"
#include "reference/registry.hpp"

namespace assay::reference::benchmarks {

struct number {
  arb_t x;
  number() { arb_init(x); }
  explicit number(double value) : number() { arb_set_d(x, value); }
  number(const number& other) : number() { arb_set(x, other.x); }
  number& operator=(const number& other) {
    arb_set(x, other.x);
    return *this;
  }
  ~number() { arb_clear(x); }
};

// A state is a number, or -inf.
struct state {
  number value;
  bool is_minus_infinity = false;
};

/// One feature of a call [1, tokens, features], in balls of `bits` bits.
class lane_of_balls {
 public:
  lane_of_balls(const core::request& call, std::size_t feature, slong bits)
      : call_(call),
        feature_(feature),
        bits_(bits),
        tokens_(call.inputs.at("h").shape()[1]),
        features_(call.inputs.at("h").shape()[2]) {}

  std::vector<state> s{};  ///< after 0, 1, ... tokens
  std::vector<number> grad_decay{}, grad_h{}, tangent_s{};
  number grad_s0{};

  void run() {
    is_gated_ = call_.inputs.count("g") != 0;
    const bool is_jvp = call_.inputs.count("tangent_h") != 0;
    state now{number(0.0), std::isinf(input("s0", 0))};
    if (!now.is_minus_infinity) now.value = number(input("s0", 0));
    s.assign(1, now);
    number along(is_jvp ? input("tangent_s0", 0) : 0.0);
    for (std::size_t i = 0; i < tokens_; ++i) {
      const step_of_balls x(*this, i, now);
      if (is_jvp) tangent_s.push_back(along = x.tangent(*this, i, along));
      now = x.after(*this);
      s.push_back(now);
    }
    if (call_.operation->is_vjp()) run_back();
  }

 private:
  // log p of a token, and sigmoid(-g). Where `is_minus_infinity` is set, log p is -inf and `log_p` is not used.
  struct decay {
    number log_p{0.0}, slope{1.0};
    bool is_minus_infinity = false;
  };
  [[nodiscard]] decay decay_of(std::size_t token) const {
    const double x = input(is_gated_ ? "g" : "log_p", token);
    decay out;
    out.is_minus_infinity = x == -std::numeric_limits<double>::infinity();
    if (out.is_minus_infinity) return out;
    if (!is_gated_) {
      out.log_p = number(x);
    } else if (std::isinf(x)) {
      out.slope = number(0.0);
    } else {
      // -log(1 + e^-g), 1 / (1 + e^g)
      arb_exp(out.log_p.x, number(-x).x, bits_);
      arb_log1p(out.log_p.x, out.log_p.x, bits_);
      arb_neg(out.log_p.x, out.log_p.x);
      out.slope = weight(number(x));
    }
    return out;
  }
  // 1 / (1 + e^z)
  [[nodiscard]] number weight(const number& z) const {
    number w;
    arb_exp(w.x, z.x, bits_);
    arb_add_ui(w.x, w.x, 1, bits_);
    arb_inv(w.x, w.x, bits_);
    return w;
  }
  [[nodiscard]] number product(const number& x, const number& y) const {
    number p;
    arb_mul(p.x, x.x, y.x, bits_);
    return p;
  }

  // t = log p + s', and whether t or h is -inf.
  struct step_of_balls {
    decay token_decay;
    bool past, in;
    number t, h, z;  // z = t - h
    step_of_balls(const lane_of_balls& lane, std::size_t token, const state& before)
        : token_decay(lane.decay_of(token)),
          past(!before.is_minus_infinity && !token_decay.is_minus_infinity),
          in(!std::isinf(lane.input("h", token))),
          h(in ? lane.input("h", token) : 0.0) {
      if (past) arb_add(t.x, token_decay.log_p.x, before.value.x, lane.bits_);
      arb_sub(z.x, t.x, h.x, lane.bits_);
    }
    [[nodiscard]] state after(const lane_of_balls& lane) const {
      if (!past || !in) return {past ? t : h, !past && !in};
      const bool past_is_larger = arf_sgn(arb_midref(z.x)) >= 0;
      number sum(z);
      if (past_is_larger) arb_neg(sum.x, sum.x);
      arb_exp(sum.x, sum.x, lane.bits_);
      arb_log1p(sum.x, sum.x, lane.bits_);
      arb_add(sum.x, past_is_larger ? t.x : h.x, sum.x, lane.bits_);
      return {sum, false};
    }
    [[nodiscard]] number slope_of_past(const lane_of_balls& lane) const {
      if (!past || !in) return number(past ? 1.0 : 0.0);
      number minus_z;
      arb_neg(minus_z.x, z.x);
      return lane.weight(minus_z);
    }
    [[nodiscard]] number slope_of_input(const lane_of_balls& lane) const {
      return past && in ? lane.weight(z) : number(in ? 1.0 : 0.0);
    }
    // w (da + ds') + v dh
    [[nodiscard]] number tangent(const lane_of_balls& lane, std::size_t token, const number& before) const {
      number dt =
          lane.product(token_decay.slope, number(lane.input(lane.is_gated_ ? "tangent_g" : "tangent_log_p", token)));
      arb_add(dt.x, dt.x, before.x, lane.bits_);
      number sum = lane.product(slope_of_past(lane), dt);
      arb_addmul(sum.x, slope_of_input(lane).x, number(lane.input("tangent_h", token)).x, lane.bits_);
      return sum;
    }
  };

  [[nodiscard]] double input(const char* name, std::size_t token) const {
    return call_.inputs.at(name).values.storage()[token * features_ + feature_];
  }
  void run_back() {
    grad_decay.assign(tokens_, number());
    grad_h.assign(tokens_, number());
    number carry(input("grad_s_n", 0));
    for (std::size_t i = tokens_; i-- > 0;) {
      const step_of_balls x(*this, i, s[i]);
      arb_add(carry.x, carry.x, number(input("grad_s", i)).x, bits_);
      grad_h[i] = product(carry, x.slope_of_input(*this));
      carry = product(carry, x.slope_of_past(*this));
      grad_decay[i] = product(carry, x.token_decay.slope);
    }
    grad_s0 = carry;
  }

  const core::request& call_;
  std::size_t feature_;
  slong bits_;
  std::size_t tokens_, features_;
  bool is_gated_ = false;
};

}  // namespace assay::reference::benchmarks
