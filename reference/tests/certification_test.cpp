// Higher precisions are used only for elements that are still undecided, and change nothing else.
#include <algorithm>
#include <catch2/catch.hpp>
#include <limits>
#include <vector>

#include "reference/core/parts.hpp"
#include "reference/oracle.hpp"
#include "reference/registry.hpp"

using namespace assay;
using namespace assay::reference;
using core::dtype;

namespace {

constexpr std::size_t rows = 3, tokens = 2, features = 2;

// 1 + e^-100 and similar numbers need a second precision for their remainders; the first precision decides all other
// lanes.
core::request scan_with_one_hard_lane(std::size_t row, std::size_t feature) {
  core::tensor log_p = core::zeros(dtype::f64, {rows, tokens, features}), h = log_p;
  for (std::size_t i = 0; i < h.size(); ++i) {
    const bool hard = i / (tokens * features) == row && i % features == feature;
    h.values.storage()[i] = hard ? -100.0 - static_cast<double>(i) : 0.25 * static_cast<double>(i);
    log_p.values.storage()[i] = hard ? 0.0 : -0.5 - 0.125 * static_cast<double>(i);
  }
  const core::tensor s0 = core::make_tensor(dtype::f64, {rows, features}, std::vector<double>(rows * features, 1.0));
  return {find_operation("heinsen/scan"), dtype::f64, {{"log_p", log_p}, {"h", h}, {"s0", s0}}};
}

}  // namespace

TEST_CASE("reference/certify/open_lanes_alone_give_what_each_lane_gives", "[unit]") {
  for (std::size_t row = 0; row < rows; ++row)
    for (std::size_t feature = 0; feature < features; ++feature) {
      const core::request call = scan_with_one_hard_lane(row, feature);
      const certified_outputs whole = certify(call, precision_digits.size(), proof::value_and_low);
      CHECK(count_undecided(whole) == 0);
      const auto& rungs = whole.at("s").rung;
      CHECK(std::count_if(rungs.begin(), rungs.end(), [](auto r) { return r > first_interval_rung; }) == tokens);
      for (std::size_t b = 0; b < rows; ++b)
        for (std::size_t j = 0; j < features; ++j) {
          core::request lane = call;
          lane.inputs = core::restrict_axis(*call.operation, lane.inputs, "B", {b});
          lane.inputs = core::restrict_axis(*call.operation, lane.inputs, "d", {j});
          const certified alone = certify(lane, precision_digits.size(), proof::value_and_low).at("s");
          const certified& all = whole.at("s");
          for (std::size_t t = 0; t < tokens; ++t) {
            const std::size_t i = (b * tokens + t) * features + j;
            INFO("hard lane " << row << " " << feature << ", element " << i);
            CHECK(alone.rounded.values.storage()[t] == all.rounded.values.storage()[i]);
            CHECK(alone.low.storage()[t] == all.low.storage()[i]);
            CHECK(alone.radius.storage()[t] == all.radius.storage()[i]);
            CHECK(alone.rung[t] == all.rung[i]);
          }
        }
    }
}

TEST_CASE("reference/certify/a_branch_on_an_unknown_number_proves_nothing", "[unit]") {
  // The first state is unknown in balls: its terms cancel beyond their radii, or overflow. The second token resets it
  // and has no input, so that no gradient reaches log p there. A ball that knows nothing about the state cannot prove
  // this.
  constexpr double none = -std::numeric_limits<double>::infinity();
  struct chain {
    const char* operation;
    dtype type;
    std::vector<double> decay, h;
    double s0;
  };
  const chain chains[] = {{"heinsen/gated_scan", dtype::f32, {-0x1p104, none}, {0x1p51, none}, 0.5},
                          {"heinsen/scan", dtype::f32, {-0x1p104, none}, {0x1p51, none}, 0.5},
                          {"heinsen/scan", dtype::f64, {0x1.8p1023, none}, {1, none}, 0x1.8p1023},
                          {"heinsen/scan", dtype::f64, {-0x1.8p1023, 0, none}, {none, 0, none}, -0x1.8p1023}};
  for (const chain& c : chains) {
    const std::size_t n = c.h.size();
    const std::string decay = std::string(c.operation) == "heinsen/scan" ? "log_p" : "g";
    const auto tensor = [&](core::shape s, const std::vector<double>& x) { return core::make_tensor(c.type, s, x); };
    const core::request call{find_operation(c.operation + std::string(":vjp")),
                             c.type,
                             {{decay, tensor({1, n, 1}, c.decay)},
                              {"h", tensor({1, n, 1}, c.h)},
                              {"s0", tensor({1, 1}, {c.s0})},
                              {"grad_s", tensor({1, n, 1}, std::vector<double>(n, 1.0))},
                              {"grad_s_n", tensor({1, 1}, {1.0})}}};
    const auto truth = owner_of(*call.operation).enclose(call, 80).at("grad_" + decay);
    REQUIRE(truth.decided.back());
    CHECK(truth.rounded.values.storage()[n - 1] == 0.0);
    for (const auto& balls :
         {owner_of(*call.operation).enclose_in_doubles(call), owner_of(*call.operation).enclose_in_two_doubles(call)}) {
      INFO(c.operation << " " << core::name_of(c.type) << " " << n);
      const auto& proved_by_balls = balls.at("grad_" + decay);
      for (std::size_t i = 0; i < n; ++i)
        CHECK((!proved_by_balls.decided[i] ||
               proved_by_balls.rounded.values.storage()[i] == truth.rounded.values.storage()[i]));
    }
    const certified grad = certify(call, precision_digits.size(), proof::value).at("grad_" + decay);
    CHECK(grad.rounded.values.storage()[n - 1] == 0.0);
  }
}

TEST_CASE("reference/certify/sums_over_an_axis_keep_all_of_it", "[unit]") {
  // grad_slopes adds up over queries and keys, which are independent axes of the bias: 2^-130 is lost in 35 digits.
  const core::request call{find_operation("alibi/bias:vjp"),
                           dtype::f64,
                           {{"slopes", core::make_tensor(dtype::f64, {2}, {0.5, 0.25})},
                            {"query_position", core::make_tensor(dtype::i64, {2}, {1, 2})},
                            {"key_position", core::make_tensor(dtype::i64, {1}, {0})},
                            {"grad_bias", core::make_tensor(dtype::f64, {2, 2, 1}, {1.0, 0x1p-130, 1.0, 1.0})}}};
  const certified grad = certify(call, precision_digits.size(), proof::value_and_low).at("grad_slopes");
  CHECK(grad.rounded.values.storage()[0] == -1.0);
  CHECK(grad.low.storage()[0] == -0x1p-129);
  CHECK(grad.rounded.values.storage()[1] == -3.0);
  CHECK(grad.low.storage()[1] == 0.0);
}

TEST_CASE("reference/certify/parts_cover_a_call_and_hold_many_lanes_of_a_recurrence", "[unit]") {
  struct shape_of_call {
    std::size_t batch, tokens, features, parts, lanes_of_part;
  };
  // Many lanes; fewer lanes than fill a register; long lanes, of which even a few are a large part; no tokens.
  for (const shape_of_call& s :
       {shape_of_call{2, 2048, 96, 6, 32}, {1, 4097, 20, 1, 20}, {1, 65536, 9, 3, 3}, {1, 0, 3, 1, 3}})
    for (const char* name : {"heinsen/scan", "heinsen/gated_scan:vjp", "heinsen/scan:jvp"}) {
      const core::operation& op = *find_operation(name);
      core::request call{&op, dtype::f32, {}};
      for (const core::tensor_declaration& d : op.inputs)
        call.inputs.emplace(
            d.name, core::zeros(dtype::f32, core::shape_of(d, {{"B", s.batch}, {"n", s.tokens}, {"d", s.features}})));
      const auto parts = core::split_call(call, core::usual_part_of(forward_of(op)));
      INFO(name << " " << s.tokens);
      CHECK(parts.size() == s.parts);
      std::vector<int> covered(s.batch * s.tokens * s.features);
      for (const core::kept_positions& kept : parts) {
        const core::shape shape_of_state = core::part_of(call, kept).call.inputs.at("s0").shape();
        CHECK(shape_of_state[0] * shape_of_state[1] == s.lanes_of_part);
        for (const std::size_t place : core::places_in_whole(*op.input("h"), kept, {s.batch, s.tokens, s.features}))
          ++covered[place];
      }
      CHECK(std::all_of(covered.begin(), covered.end(), [](int times) { return times == 1; }));
    }
}

TEST_CASE("reference/allow/later_classes_are_not_computed_where_nobody_asks", "[unit]") {
  const core::request call = scan_with_one_hard_lane(0, 0);
  const allowances all = allow(call, dtype::f64), first = allow(call, dtype::f64, accuracy_class::sequential),
                   up_to_linear = allow(call, dtype::f64, accuracy_class::linear);
  for (const auto& [name, a] : all) {
    CHECK(first.at(name).k[1] == a.k[1]);
    CHECK(first.at(name).k[4] == a.k[1]);
    for (std::size_t c = 0; c <= 3; ++c) CHECK(up_to_linear.at(name).k[c] == a.k[c]);
    CHECK(up_to_linear.at(name).k[4] == a.k[3]);
  }
}
