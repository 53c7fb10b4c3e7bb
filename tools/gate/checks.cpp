#include "tools/gate/checks.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>

#include "tools/gate/smoke.hpp"

namespace assay::tools {
namespace {

using properties::check_result;
using properties::status;

constexpr std::size_t shrink_calls = 300;
constexpr std::chrono::seconds shrink_time{30};

// One line a check on stderr; on a terminal the line is rewritten.
void progress(const check_result& c) {
  static const bool terminal = isatty(STDERR_FILENO) != 0;
  fmt::print(stderr, "{}{:10} {:28} {:5} {:14} {:6} cases{}", terminal ? "\r\033[K" : "", c.checked->name,
             c.operation->name, core::name_of(c.type), name_of(c.verdict()), c.run(), terminal ? "" : "\n");
  std::fflush(stderr);
}

std::string part_name(const core::operation& op, core::dtype type) {
  return fmt::format("{} in {}", op.name, core::name_of(type));
}

// One part of the run: an operation in a dtype.
class part {
 public:
  part(guarded_candidate& candidate, const core::operation& op, core::dtype type, const selection& s,
       gate_report& report)
      : candidate_(candidate), op_(op), type_(type), selected_(s), report_(report) {}

  void run() {
    candidate_.begin_part();
    if (auto fault = smoke(candidate_, op_, type_, report_.seed)) {
      report_.adapter_faults.push_back(std::move(*fault));
      return;
    }
    bool wrong = false;
    const auto options = run_options();
    for (const properties::property* p : selected_.properties) {
      if (!is_asked(*p, op_, candidate_.describe())) continue;
      if (candidate_.part_is_over()) break;
      if (p->decides_class) foresee(*p, candidate_.describe(), op_, type_, options);
      report_.checks.push_back(run_property(*p, candidate_, op_, type_, options));
      progress(report_.checks.back());
      wrong = wrong || report_.checks.back().verdict() == status::failed;
    }
    if (!wrong && op_.recurrent && selected_.whole()) add_horizon();
    if (candidate_.part_is_over() && !candidate_.run_is_over())
      report_.complaints.push_back(
          fmt::format("{}: the checks were stopped: the candidate kept breaking", part_name(op_, type_)));
  }

 private:
  properties::run_options run_options() const {
    properties::run_options options{report_.seed,
                                    selected_.level->cases_per_family,
                                    shrink_calls,
                                    true,
                                    {selected_.families.begin(), selected_.families.end()}};
    options.stopped = [this] { return candidate_.part_is_over(); };
    options.shrink_time = shrink_time;
    return options;
  }

  void add_horizon() {
    auto h = properties::measure_horizon(candidate_, op_, type_, selected_.level->horizon_tokens, report_.seed);
    const std::string length = fmt::format("{} tokens", selected_.level->horizon_tokens);
    const std::string where = part_name(op_, type_) + ", " + length + ": ";
    if (h) {
      if (!h->judged.passed) {
        report_.complaints.push_back(where + h->judged.message);
        report_.complaints.back().kind = wrong_result;
      }
      report_.horizons.push_back({&op_, type_, std::move(*h)});
    } else if (h.error().kind != properties::fault::unsupported) {
      const adapter_fault f = fault_of(h.error(), &op_, type_, length);
      report_.complaints.emplace_back(where + f.name + ": " + f.message, f);
      report_.horizon_faults.push_back(f);
    }
  }

  guarded_candidate& candidate_;
  const core::operation& op_;
  core::dtype type_;
  const selection& selected_;
  gate_report& report_;
};

}  // namespace

void run_checks(guarded_candidate& candidate, const selection& s, gate_report& report) {
  for (const core::operation* op : s.operations)
    for (const core::dtype type : s.dtypes) {
      if (!candidate.describe().offers(op->name, type)) continue;
      if (candidate.run_is_over()) {
        report.complaints.push_back(part_name(*op, type) + " was not tried any more: " + candidate.why_over());
        continue;
      }
      part(candidate, *op, type, s, report).run();
    }
  if (isatty(STDERR_FILENO) != 0) fmt::print(stderr, "\n");
}

}  // namespace assay::tools
