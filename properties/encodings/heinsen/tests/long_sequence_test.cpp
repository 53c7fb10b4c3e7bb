// The error of the optimized scan in f32 after many tokens, which arrive call by call with both words of the state.
// `properties_test "heinsen/scan/error_after*" -s` shows the errors after 10^5 tokens. With ASSAY_TEST_SCALE=1000 it
// shows those after 10^8, in some 40 minutes. ASSAY_TARGET names the instruction set.
//
// The truth is proved: running bounds in doubles enclose the states of a call, given the state before it. The state
// passed to the next call is one double, off by at most low + radius from the truth. As |ds_n / ds_0| <= 1, it moves no
// later state by more. These distances add up to `handed_on`, and every error counts with its own radius and that sum.
#include <fmt/format.h>

#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "optimized/encodings/heinsen.hpp"
#include "properties/tests/effort.hpp"
#include "reference/core/counter_random.hpp"
#include "reference/core/dtype.hpp"
#include "reference/registry.hpp"
#include "reference/running_bounds/scan.hpp"

using namespace assay;

namespace {

struct drawn_token {
  float log_p, h;
};
struct token_family {
  const char* name;
  drawn_token (*draw)(core::counter_random&, std::size_t lane);
};

float between(core::counter_random& r, double low, double high) { return static_cast<float>(r.uniform(low, high)); }

constexpr token_family token_families[] = {
    {"short memory",
     [](core::counter_random& r, std::size_t) -> drawn_token {
       return {between(r, -4, 0), between(r, -3, 3)};
     }},
    {"long memory",
     [](core::counter_random& r, std::size_t) -> drawn_token {
       return {between(r, -1e-5, 0), between(r, -16, -12)};
     }},
    // At a fixed point roundings have the same sign step after step.
    {"constant",
     [](core::counter_random&, std::size_t lane) -> drawn_token {
       core::counter_random random(lane);
       return {-std::ldexp(between(random, 0.5, 1), -static_cast<int>(random.below(20))), between(random, -16, 2)};
     }},
    // p = 1: no step forgets anything.
    {"growing, constant",
     [](core::counter_random&, std::size_t lane) -> drawn_token {
       core::counter_random random(lane);
       return {0, between(random, -8, 2)};
     }},
    {"growing, drawn",
     [](core::counter_random& r, std::size_t) -> drawn_token {
       return {0, between(r, -8, 2)};
     }},
    {"large states",
     [](core::counter_random& r, std::size_t) -> drawn_token {
       return {between(r, -1e-3, 0), between(r, 9000, 9020)};
     }},
    // Large states fall in one step, and their errors are not forgotten by it.
    {"sinking",
     [](core::counter_random& r, std::size_t) -> drawn_token {
       if (r.one_in(8)) return {between(r, -504, -498), between(r, -8, 0)};
       return {between(r, -4, 0), between(r, 497, 503)};
     }},
    {"mixed", [](core::counter_random& r, std::size_t) -> drawn_token {
       const float h = between(r, -8, 8) * (r.one_in(1000) ? 16.0f : 1.0f);
       return {-std::ldexp(between(r, 0.5, 1), static_cast<int>(r.below(34)) - 30), h};
     }}};

struct found_error {
  double ulp = 0;  ///< in ulp of max(1, |s|)
  std::size_t token = 0, lane = 0;
  double state = 0;
};

class long_sequences {
 public:
  long_sequences(const token_family& family, std::size_t batch, std::size_t tokens, std::size_t features)
      : draw_(family.draw),
        whole_{batch, tokens, features},
        state_shape_{batch, features},
        random_(61),
        log_p_(batch * tokens * features),
        h_(log_p_.size()),
        s_(log_p_.size()),
        high_(batch * features),
        low_(high_.size()),
        truth_{reference::find_operation("heinsen/scan"),
               core::dtype::f64,
               {{"log_p", core::zeros(core::dtype::f64, whole_)},
                {"h", core::zeros(core::dtype::f64, whole_)},
                {"s0", core::zeros(core::dtype::f64, state_shape_)}},
               {}} {}

  // Makes one more call; true if every state was enclosed.
  bool advance() {
    draw_tokens();
    scan();
    const auto bounds = reference::running::bound_scan(truth_, reference::doubles::one);
    if (bounds.empty() || !compare(bounds.at("s"))) return false;
    const reference::rung_output& last = bounds.at("s_n");
    double most = 0;
    for (std::size_t k = 0; k < last.low.size(); ++k)
      most = std::max(most, std::fabs(last.low.storage()[k]) + last.radius.storage()[k]);
    handed_on_ += most;
    truth_.inputs.at("s0").values = last.rounded.values;
    tokens_ += whole_[1];
    return true;
  }
  [[nodiscard]] const found_error& largest() const { return largest_; }
  [[nodiscard]] std::size_t tokens() const { return tokens_; }

 private:
  void draw_tokens() {
    auto& log_p = truth_.inputs.at("log_p").values.storage();
    auto& h = truth_.inputs.at("h").values.storage();
    for (std::size_t i = 0; i < h_.size(); ++i) {
      const drawn_token t = draw_(random_, lane_of(i));
      log_p[i] = log_p_[i] = t.log_p, h[i] = h_[i] = t.h;
    }
  }
  void scan() {
    const std::array<std::size_t, 3> whole{whole_[0], whole_[1], whole_[2]};
    const std::array<std::size_t, 2> states{whole[0], whole[2]};
    const std::vector<float> high = high_, low = low_;
    optimized::heinsen::scan<float>(
        optimized::process_execution(),
        {optimized::dense<const float, 3>(log_p_.data(), whole), optimized::dense<const float, 3>(h_.data(), whole),
         optimized::dense<const float, 2>(high.data(), states), optimized::dense<const float, 2>(low.data(), states)},
        {optimized::dense<float, 3>(s_.data(), whole), optimized::dense<float, 2>(high_.data(), states),
         optimized::dense<float, 2>(low_.data(), states)});
  }
  bool compare(const reference::rung_output& truth) {
    const auto &high = truth.rounded.values.storage(), &low = truth.low.storage(), &radius = truth.radius.storage();
    for (std::size_t i = 0; i < s_.size(); ++i) {
      const double error = std::fabs((s_[i] - high[i]) - low[i]) + radius[i] + handed_on_;
      const double size = std::max(1.0, std::fabs(high[i]));
      // An ulp is more than 2^-24 of its number: most elements need no further check.
      if (error <= largest_.ulp * 0x1p-24 * size) continue;
      if (!(error < std::numeric_limits<double>::infinity())) return false;
      const double ulp = error / (2.0 * core::half_ulp(core::dtype::f32, size));
      if (ulp > largest_.ulp) largest_ = {ulp, tokens_ + i / whole_[2] % whole_[1] + 1, lane_of(i), high[i]};
    }
    return true;
  }
  [[nodiscard]] std::size_t lane_of(std::size_t i) const {
    return i / (whole_[1] * whole_[2]) * whole_[2] + i % whole_[2];
  }

  drawn_token (*draw_)(core::counter_random&, std::size_t);
  core::shape whole_, state_shape_;
  core::counter_random random_;
  std::vector<float> log_p_, h_, s_, high_, low_;
  core::request truth_;
  double handed_on_ = 0;
  std::size_t tokens_ = 0;
  found_error largest_;
};

// Eight sequences of one feature, one of eight (computed in chunks of time), and one of forty (computed in rows).
void check_long_sequences(std::size_t batch, std::size_t features) {
  const std::size_t tokens_of_call = 800'000 / (batch * features), tokens = properties::scaled(100'000);
  for (const token_family& family : token_families) {
    long_sequences all(family, batch, tokens_of_call, features);
    std::string errors;
    for (std::size_t shown = 100'000; all.tokens() < tokens;) {
      INFO(family.name << ", after token " << all.tokens());
      if (!all.advance()) FAIL("a state is not enclosed");
      if (all.tokens() == shown) errors += fmt::format(" {:.3f}", all.largest().ulp), shown *= 10;
    }
    const found_error& e = all.largest();
    INFO(
        fmt::format("{}, features {}: largest error in ulp of max(1, |s|) after 10^5, 10^6, ... tokens:{}, at token "
                    "{} of lane {}, s = {:.9g}",
                    family.name, features, errors, e.token, e.lane, e.state));
    CHECK(e.ulp < 2.0);
  }
}

}  // namespace

TEST_CASE("heinsen/scan/error_after_many_tokens_of_1_feature", "[property][heinsen]") { check_long_sequences(8, 1); }
TEST_CASE("heinsen/scan/error_after_many_tokens_of_8_features", "[property][heinsen]") { check_long_sequences(1, 8); }
TEST_CASE("heinsen/scan/error_after_many_tokens_of_40_features", "[property][heinsen]") { check_long_sequences(1, 40); }
