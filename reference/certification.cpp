#include <tbb/parallel_for.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <optional>
#include <thread>

#include "reference/core/parts.hpp"
#include "reference/oracle.hpp"
#include "reference/readings/ball.hpp"
#include "reference/registry.hpp"
#include "reference/rung_proof.hpp"

namespace assay::reference {

namespace {

using positions = std::vector<std::size_t>;

// The positions of an axis that hold an undecided element of some output; nothing where all are needed.
std::optional<positions> open_positions(const core::operation& op, const certified_outputs& outputs,
                                        const std::string& symbol, std::size_t size) {
  std::vector<bool> open(size, false);
  for (const auto& [name, c] : outputs) {
    const core::tensor_declaration& declared = *op.output(name);
    const auto along = std::count(declared.axes.begin(), declared.axes.end(), symbol);
    const auto axis = core::axis_of(declared, symbol);
    const core::shape s = c.rounded.shape();
    for (std::size_t i = 0; i < c.rung.size(); ++i) {
      if (c.rung[i] != undecided) continue;
      if (along != 1 || !axis)
        return std::nullopt;  // the output needs the whole axis, or has it as a multiple or
                              // twice
      open[i / core::stride_of(s, *axis) % s[*axis]] = true;
    }
  }
  positions kept;
  for (std::size_t p = 0; p < size; ++p)
    if (open[p]) kept.push_back(p);
  return kept.size() == size ? std::nullopt : std::optional(kept);
}

// Leaves out the positions of the independent axes where no element is undecided: no element depends on another
// position there.
core::part_of_call open_part(const core::request& call, const certified_outputs& outputs) {
  const core::operation& op = *call.operation;
  core::part_of_call part{call, {}};
  for (const std::string& symbol : op.independent) {
    std::optional<std::size_t> size;  // fixed by an input: a size that a setting fixes cannot be restricted
    for (const core::tensor_declaration& in : op.inputs)
      if (const auto axis = core::axis_of(in, symbol); axis && in.axes[*axis] == symbol)
        size = call.inputs.at(in.name).shape()[*axis];
    if (!size) continue;
    if (auto kept = open_positions(op, outputs, symbol, *size)) {
      part.call.inputs = core::restrict_axis(op, part.call.inputs, symbol, *kept);
      part.kept.emplace(symbol, std::move(*kept));
    }
  }
  return part;
}

}  // namespace

double certified::truth(std::size_t i) const {
  const double value = rounded.values.storage()[i], rest = low.storage()[i];
  return std::isinf(value) && rest != 0.0 ? rest : value + rest;
}

double certified::error_of(double x, std::size_t i) const {
  const double value = rounded.values.storage()[i];
  if (std::isnan(value) && std::isnan(x)) return 0.0;
  if (std::isinf(value)) return x == value ? 0.0 : x - truth(i);
  return (x - value) - low.storage()[i];
}

bool is_proved(const rung_output& o, std::size_t k, proof wanted) {
  if (wanted == proof::value_and_low) return o.low_decided[k];
  if (wanted == proof::value) return o.decided[k];
  // A radius so far below the smallest normal double does not matter to any allowance.
  constexpr double negligible = 0x1p-1050;
  const double value = o.rounded.values.storage()[k];
  if (!std::isfinite(value) || !core::is_floating(o.rounded.type))
    return o.decided[k] && std::isfinite(o.radius.storage()[k]);
  // Where a tie is left undecided, both neighbours are equally far from the truth.
  const double part = o.decided[k] ? 0x1p-10 : 0x1p-20;
  return o.radius.storage()[k] <= std::max(part * core::half_ulp(o.rounded.type, value), negligible);
}

namespace {

// The outputs of one rung; nothing where the operation has no such rung.
rung_outputs enclose_on(std::size_t rung, const core::request& call) {
  const formula_owner& owner = owner_of(*call.operation);
  if (rung >= first_interval_rung) return owner.enclose(call, precision_digits[rung - first_interval_rung]);
  const doubles doubles_per_number = rung % 2 == 0 ? doubles::one : doubles::two;
  if (rung < first_ball_rung) {
    const running_bound& bound = declaration_of(*call.operation).bound;
    return bound == nullptr ? rung_outputs{} : bound(call, doubles_per_number);
  }
  return doubles_per_number == doubles::one ? owner.enclose_in_doubles(call) : owner.enclose_in_two_doubles(call);
}

// One double decides no rounding to f64 unless everything is exact.
bool is_worth_trying(std::size_t rung, const core::request& call, proof wanted) {
  if (rung >= first_interval_rung) return true;
  if (wanted == proof::value_and_low) return false;
  const auto& outputs = call.operation->outputs;
  return rung % 2 != 0 || !std::all_of(outputs.begin(), outputs.end(),
                                       [&](const auto& d) { return d.type_in(call.type) == core::dtype::f64; });
}

// Takes what a rung has proved about the undecided elements. Returns the number of elements that are still undecided.
std::size_t take(certified_outputs& out, rung_outputs&& found, const core::part_of_call& part, std::size_t rung,
                 proof wanted) {
  std::size_t open = 0;
  for (auto& [name, proved] : found) {
    const std::size_t size = proved.rounded.size();
    certified& c = out[name];
    const auto settle = [&](std::size_t k, std::size_t i) {
      if (is_proved(proved, k, wanted))
        c.rung[i] = static_cast<std::uint8_t>(rung);
      else
        ++open;
    };
    if (c.rung.empty()) {
      c.rung.assign(size, undecided);
      for (std::size_t k = 0; k < size; ++k) settle(k, k);
      c.rounded = std::move(proved.rounded);
      c.low = std::move(proved.low);
      c.radius = std::move(proved.radius);
      continue;
    }
    const auto places = core::places_in_whole(*part.call.operation->output(name), part.kept, c.rounded.shape());
    for (std::size_t k = 0; k < size; ++k) {
      const std::size_t i = places[k];
      if (c.rung[i] != undecided) continue;
      c.rounded.values.storage()[i] = proved.rounded.values.storage()[k];
      c.low.storage()[i] = proved.low.storage()[k];
      c.radius.storage()[i] = proved.radius.storage()[k];
      settle(k, i);
    }
  }
  return open;
}

// Whether every undecided element is known to a small part of its value (of the largest value where it is near 0), or
// may be NaN: such a branch is decided by no precision. The width of intervals may grow with every step of a loop.
bool is_measured(const certified& c) {
  constexpr double part = 0x1p-10, near_0 = 0x1p-30;
  double largest = 0.0;
  for (const double x : c.rounded.values)
    if (std::isfinite(x)) largest = std::max(largest, std::fabs(x));
  for (std::size_t i = 0; i < c.rung.size(); ++i) {
    const double x = c.rounded.values.storage()[i], radius = c.radius.storage()[i];
    if (c.rung[i] != undecided || std::isnan(x)) continue;
    if (!std::isfinite(radius) || radius > part * std::max(std::fabs(x), near_0 * largest)) return false;
  }
  return true;
}
bool are_measured(const certified_outputs& all) {
  return std::ranges::all_of(all, [](const auto& one) { return is_measured(one.second); });
}

// Goes beyond `precisions` where intervals are too wide to measure anything with them.
certified_outputs certify_part(const core::request& call, std::size_t precisions, proof wanted) {
  const std::size_t last = first_interval_rung + std::min(precisions, precision_digits.size());
  certified_outputs out;
  for (std::size_t rung = 0; rung < last || (rung < all_rungs && wanted == proof::distance && !are_measured(out));
       ++rung) {
    if (!is_worth_trying(rung, call, wanted)) continue;
    const core::part_of_call part = out.empty() ? core::part_of_call{call, {}} : open_part(call, out);
    rung_outputs found = enclose_on(rung, part.call);
    if (!found.empty() && take(out, std::move(found), part, rung, wanted) == 0) break;
  }
  return out;
}

// Seconds for one product and one sum of balls; the fastest of three runs.
double seconds_of_balls() {
  constexpr int count = 1 << 14;
  double fastest = std::numeric_limits<double>::infinity();
  for (int run = 0; run < 3; ++run) {
    const auto started = std::chrono::steady_clock::now();
    ball<double> x(0.5);
    for (int k = 0; k < count; ++k) x = x * ball<double>(0.5) + ball<double>(0.25);
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - started;
    if (!x.is_unknown()) fastest = std::min(fastest, taken.count() / count);
  }
  return fastest;
}

}  // namespace

certified_outputs certify(const core::request& call, std::size_t precisions, proof wanted) {
  const std::vector<core::kept_positions> parts =
      core::split_call(call, core::usual_part_of(forward_of(*call.operation)));
  if (parts.size() == 1) return certify_part(call, precisions, wanted);
  std::vector<certified_outputs> found(parts.size());
  tbb::parallel_for(std::size_t{0}, parts.size(), [&](std::size_t i) {
    found[i] = certify_part(core::part_of(call, parts[i]).call, precisions, wanted);
  });
  const core::axis_sizes sizes = core::sizes_of(call);
  certified_outputs out;
  for (const core::tensor_declaration& d : call.operation->outputs) {
    const core::shape shape = core::shape_of(d, sizes);
    const auto numbers = [&] { return xt::xarray<double>::from_shape(shape); };
    certified& c = out[d.name] = {{d.type_in(call.type), numbers()}, numbers(), numbers(), {}};
    c.rung.resize(c.rounded.size());
    for (std::size_t p = 0; p < parts.size(); ++p) {
      const certified& certified_part = found[p].at(d.name);
      const auto places = core::places_in_whole(d, parts[p], shape);
      for (std::size_t k = 0; k < certified_part.rung.size(); ++k) {
        const std::size_t i = places[k];
        c.rounded.values.storage()[i] = certified_part.rounded.values.storage()[k];
        c.low.storage()[i] = certified_part.low.storage()[k];
        c.radius.storage()[i] = certified_part.radius.storage()[k];
        c.rung[i] = certified_part.rung[k];
      }
    }
  }
  return out;
}

double seconds_of_truth(const core::request& call) {
  // The time that balls take here for one addition; `besides` is the factor for everything around them: shapes, stages
  // and the doubtful elements.
  static const double seconds_of_addition = seconds_of_balls();
  constexpr double besides = 5.0;
  const double cores = std::max(1u, std::thread::hardware_concurrency());
  return besides * seconds_of_addition * owner_of(*call.operation).work_of(call) / cores;
}

std::size_t count_undecided(const certified_outputs& outputs) {
  std::size_t count = 0;
  for (const auto& [name, c] : outputs) count += std::count(c.rung.begin(), c.rung.end(), undecided);
  return count;
}

}  // namespace assay::reference
