#include <algorithm>
#include <cmath>
#include <optional>

#include "reference/oracle.hpp"
#include "reference/registry.hpp"

namespace assay::reference {

namespace {

using positions = std::vector<std::size_t>;

/// A call of some positions of its independent axes, and where its outputs stand in those of the whole call.
struct part_of_call {
  core::request call;
  std::map<std::string, positions> kept;  ///< by axis symbol, where not all are
};

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
      if (along != 1 || !axis) return std::nullopt;  // it needs the whole axis, or has it as a multiple or twice
      open[i / core::stride_of(s, *axis) % s[*axis]] = true;
    }
  }
  positions kept;
  for (std::size_t p = 0; p < size; ++p)
    if (open[p]) kept.push_back(p);
  return kept.size() == size ? std::nullopt : std::optional(kept);
}

// The positions of the independent axes beside which nothing is open are left out: no element reaches another there.
part_of_call open_part(const core::request& call, const certified_outputs& outputs) {
  const core::operation& op = *call.operation;
  part_of_call part{call, {}};
  for (const std::string& symbol : op.independent) {
    std::optional<std::size_t> size;  // fixed by an input: that of a setting cannot be restricted
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

// Where element k of an output of the part stands in the whole output.
std::size_t place_of(const core::tensor_declaration& declared, const part_of_call& part, const core::shape& of_part,
                     const core::shape& whole, std::size_t k) {
  std::size_t place = 0, stride = 1;
  for (std::size_t axis = whole.size(); axis-- > 0;) {
    const std::size_t index = k % of_part[axis];
    k /= of_part[axis];
    const auto kept = part.kept.find(declared.axes[axis]);
    place += stride * (kept == part.kept.end() ? index : kept->second[index]);
    stride *= whole[axis];
  }
  return place;
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

certified_outputs certify(const core::request& call, std::size_t rungs, proof wanted) {
  const encoding_routines& routines = routines_for(*call.operation);
  certified_outputs out;
  part_of_call part{call, {}};
  std::size_t open = 1;
  for (std::size_t rung = 0; rung < std::min(rungs, precision_digits.size()) && open > 0; ++rung) {
    open = 0;
    if (rung > 0) part = open_part(call, out);
    for (auto& [name, proved] : routines.enclose(part.call, precision_digits[rung])) {
      const std::size_t size = proved.rounded.size();
      certified& c = out[name];
      if (rung == 0) c = {proved.rounded, proved.low, proved.radius, std::vector<std::uint8_t>(size, undecided)};
      const core::tensor_declaration& declared = *call.operation->output(name);
      const core::shape of_part = proved.rounded.shape(), whole = c.rounded.shape();
      for (std::size_t k = 0; k < size; ++k) {
        const std::size_t i = part.kept.empty() ? k : place_of(declared, part, of_part, whole, k);
        if (c.rung[i] != undecided) continue;
        c.rounded.values.storage()[i] = proved.rounded.values.storage()[k];
        c.low.storage()[i] = proved.low.storage()[k];
        c.radius.storage()[i] = proved.radius.storage()[k];
        if (wanted == proof::value ? proved.decided[k] : proved.low_decided[k])
          c.rung[i] = static_cast<std::uint8_t>(rung);
        else
          ++open;
      }
    }
  }
  return out;
}

std::size_t count_undecided(const certified_outputs& outputs) {
  std::size_t count = 0;
  for (const auto& [name, c] : outputs) count += std::count(c.rung.begin(), c.rung.end(), undecided);
  return count;
}

}  // namespace assay::reference
