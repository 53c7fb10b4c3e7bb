// The allowances of directional derivatives also hold for ways of computing them after which no class is named.
#include <catch2/catch.hpp>

#include "reference/encodings/heinsen.hpp"
#include "reference/oracle.hpp"
#include "reference/readings/rounded.hpp"
#include "reference/tests/jvp_inputs.hpp"

using namespace assay;
using namespace assay::reference;
using namespace assay::reference::testing;
using core::dtype;

namespace {

// Dual numbers in the linear domain, with a running shift: ds = dX / X.
void linear_domain_tangent(const_lane<rounded> a, const_lane<rounded> h, const rounded& s0, const_lane<rounded>,
                           scan_direction<rounded> d, lane<rounded> ds) {
  using R = rounded;
  R shift = s0, x(is_minus_infinity(s0) ? 0.0 : 1.0), dx = x * d.s0;
  for (std::size_t i = 0; i < ds.size(); ++i) {
    const R t = a[i] + shift;
    shift = larger(t, h[i]);
    if (is_minus_infinity(shift)) {
      x = dx = ds[i] = R(0.0);
      continue;
    }
    const R kept = exp(t - shift), entered = exp(h[i] - shift);
    if (is_minus_infinity(t))
      dx = entered * d.h[i];
    else
      dx = (dx + x * d.a[i]) * kept + entered * d.h[i];
    x = x * kept + entered;
    ds[i] = R(dx.number / x.number);
  }
}

struct other_tangent {
  const char* name;
  accuracy_class c;
  decltype(encodings::heinsen::scheme<rounded>::scan) scan;
  decltype(encodings::heinsen::scheme<rounded>::tangent) tangent;
};

std::vector<other_tangent> other_tangents() {
  using R = rounded;
  using c = accuracy_class;
  const auto doubling = [](const_lane<R> a, const_lane<R> h, const R& s0, const_lane<R>, scan_direction<R> d,
                           lane<R> ds) {
    const auto prefixes = doubling_prefixes(dual_elements<sigmoid_form>(a, h, s0, d));
    for (std::size_t i = 0; i < ds.size(); ++i) ds[i] = prefixes[i + 1].d_input;
  };
  return {{"tree states, step after step", c::tree, doubling_tree_scan<R>, scan_tangent<sigmoid_form, R>},
          {"doubling tree of duals", c::tree, sequential_scan<R>, doubling},
          {"tree over the recurrence", c::tree, sequential_scan<R>, balanced_linear_tangent<sigmoid_form, R>},
          {"tree of duals, exp form", c::linear, sequential_scan<R>, balanced_tree_tangent<exp_form, R>},
          {"tree over the recurrence, exp form", c::linear, linear_scan<R>, balanced_linear_tangent<exp_form, R>},
          {"linear states, sigmoid form", c::linear, linear_scan<R>, scan_tangent<sigmoid_form, R>},
          {"linear domain", c::linear, linear_scan<R>, linear_domain_tangent}};
}

// Checks every way on every filling. Finds the largest error / (u k) of every way on the finite fillings, since with
// -inf only a sum is left that all ways share.
void measure_others(dtype type, std::vector<double>& largest) {
  const computing_in format(type);
  const core::operation& op = *find_operation("heinsen/scan:jvp");
  const auto ways = other_tangents();
  largest.resize(ways.size(), 0.0);
  for (const filling f : fillings)
    for (std::uint64_t seed = 0; seed < scaled(12); ++seed) {
      const std::size_t n = seed < 8 ? 1 + 3 * seed : 120 + seed;
      const value_lane x = make_lane(f, n, seed);
      core::counter_random random(seed + 1000);
      const auto doubles = [&](const std::vector<value>& v) {
        std::vector<double> all;
        for (const value& y : v) all.push_back(core::round_to(type, y.to_double()));
        return all;
      };
      const auto da = doubles(random_values(n, random)), dh = doubles(random_values(n, random));
      const double ds0 = core::round_to(type, random.normal());
      const core::tensors in = jvp_inputs(type, doubles(x.a), doubles(x.h), doubles({x.s0})[0], da, dh, ds0);
      const auto truth = truth_of({&op, type, in});
      const auto allowed = allow({&op, type, in}, type);
      for (std::size_t w = 0; w < ways.size(); ++w) {
        encodings::heinsen::scheme<rounded> steps;
        steps.scan = ways[w].scan;
        steps.tangent = ways[w].tangent;
        const auto out = evaluate<encodings::heinsen, rounded>({op.name, lift<rounded>(in)}, steps).at("tangent_s");
        const auto& k = allowed.at("tangent_s").k[static_cast<std::size_t>(ways[w].c)].storage();
        const certified& t = truth.at("tangent_s");
        for (std::size_t i = 0; i < n; ++i) {
          const double error = std::fabs(t.error_of(out.storage()[i].number, i)) - t.radius.storage()[i];
          const double ratio = error <= 0 ? 0.0 : error / (core::unit_roundoff(type) * k[i]);  // a NaN fails, too
          INFO(ways[w].name << " " << core::name_of(type) << " " << x.name << " token " << i);
          CHECK(ratio <= 1.0);
          if (is_finite(f)) largest[w] = std::max(largest[w], ratio);
        }
      }
    }
}

}  // namespace

TEST_CASE("heinsen/jvp/allowances_cover_other_algorithms", "[property][heinsen]") {
  std::vector<double> largest;
  measure_others(dtype::f64, largest);
  measure_others(dtype::f32, largest);
  measure_others(dtype::f16, largest);
  measure_others(dtype::bf16, largest);
  const auto ways = other_tangents();
  std::string table;
  for (std::size_t w = 0; w < ways.size(); ++w)
    table += std::string(ways[w].name) + ": largest error/(u k) " + std::to_string(largest[w]) + "\n";
  WARN(table);
}
