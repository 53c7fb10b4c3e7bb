#include "tools/gate/checks.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

namespace assay::tools {
namespace {

using properties::check_result;
using properties::status;

constexpr std::size_t shrink_calls = 300;

// One line a check on stderr; on a terminal the line is rewritten.
void progress(const check_result& c) {
  static const bool terminal = isatty(STDERR_FILENO) != 0;
  fmt::print(stderr, "{}{:10} {:28} {:5} {:14} {:6} cases{}", terminal ? "\r\033[K" : "", c.checked->name,
             c.operation->name, core::name_of(c.type), name_of(c.verdict()), c.run(), terminal ? "" : "\n");
  std::fflush(stderr);
}

}  // namespace

void run_checks(properties::implementation& candidate, const selection& s, gate_report& report) {
  const properties::run_options options{report.seed, s.level->cases_per_family, shrink_calls, true, {}};
  for (const core::operation* op : s.operations)
    for (const core::dtype type : s.dtypes) {
      if (!candidate.describe().offers(op->name, type)) continue;
      for (const properties::property& p : properties::properties()) {
        if (!p.applies(*op)) continue;
        report.checks.push_back(run_property(p, candidate, *op, type, options));
        progress(report.checks.back());
      }
      const bool wrong = std::any_of(report.checks.begin(), report.checks.end(), [&](const check_result& c) {
        return c.operation == op && c.type == type && c.verdict() == status::failed;
      });
      if (wrong || !op->recurrent) continue;
      auto h = properties::measure_horizon(candidate, *op, type, s.level->horizon_tokens, report.seed);
      const auto long_sequence_fails = [&](const std::string& why) {
        report.complaints.push_back(
            fmt::format("{} in {}, {} tokens: {}", op->name, core::name_of(type), s.level->horizon_tokens, why));
      };
      if (h) {
        if (!h->judged.passed) long_sequence_fails(h->judged.message);
        report.horizons.push_back({op, type, std::move(*h)});
      } else if (h.error().kind != properties::fault::unsupported) {
        long_sequence_fails(fmt::format("{}: {}", name_of(h.error().kind), h.error().message));
      }
    }
  if (isatty(STDERR_FILENO) != 0) fmt::print(stderr, "\n");
}

}  // namespace assay::tools
