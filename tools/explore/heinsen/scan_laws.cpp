#include "tools/explore/heinsen/scan_laws.hpp"

#include "tools/explore/formats.hpp"

namespace assay::explore {
namespace {

// In units of u; for cumsum in units of u |A_n|.
struct constants {
  double decay;
  std::uint64_t shortest;  // several times the mean age of the remembered tokens
  double cumsum, wide_cumsum, sequential, tree, linear;
};
constexpr constants gate_constants[] = {{0, 16, 0.58, 0.50, 0.9, 1.2, 1.2}, {4, 256, 1.9, 0.43, 11.75, 4.3, 4.4}};

double error_of_random_gates(const cell& c, const scan_facts& facts, const constants& k) {
  const bool is_wide = c.arithmetic != c.storage;
  if (c.implementation == "cumsum") return (is_wide ? k.wide_cumsum : k.cumsum) * facts.log_decay;
  if (is_wide) return std::nan("");
  if (c.implementation == "sequential") return k.sequential;
  if (c.implementation == "balanced_tree") return k.tree;
  if (c.implementation == "linear") return k.linear;
  return std::nan("");
}

}  // namespace

double predicted_rms(const cell& c, const scan_facts& facts) {
  const double u = find_format(c.storage)->unit_roundoff();
  if (c.scale != 1.0) return std::nan("");
  double rms = std::nan("");
  if (c.family == "gates")
    for (const constants& k : gate_constants)
      if (k.decay == c.decay && c.size >= k.shortest) rms = u * error_of_random_gates(c, facts, k);
  if (c.family == "constant" && c.implementation == "sequential" && c.arithmetic == c.storage && c.decay >= 0.9 &&
      static_cast<double>(c.size) * (1.0 - c.decay) > 1.0 && c.decay < 1.0)
    rms = 0.15 * u * facts.state / (1.0 - c.decay);
  return rms < 1.0 ? rms : std::nan("");
}

}  // namespace assay::explore
