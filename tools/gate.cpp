#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <set>

#include "reference/oracle.hpp"
#include "tools/commands.hpp"
#include "tools/report/report.hpp"

namespace assay::tools {
namespace {

using properties::check_result;
using properties::status;

// Effort is a number of cases, not of seconds.
struct effort {
  std::string name;
  std::size_t cases_per_family;
  std::size_t horizon_tokens;
};
constexpr std::size_t shrink_calls = 300;
const effort efforts[] = {{"quick", 8, 4096}, {"full", 64, 32768}};

struct selection {
  std::vector<const core::operation*> operations;
  std::vector<core::dtype> dtypes;
  std::set<reference::accuracy_class> good_enough;
  const effort* level = nullptr;
  bool dtypes_named = false;
};

bool belongs(const core::operation& op, const gate_options& o) {
  const auto is_named = [&](const std::string& name) { return op.name == name || op.forward_name() == name; };
  const auto is_of = [&](const std::string& encoding) { return op.name.starts_with(encoding + "/"); };
  return (o.operations.empty() || std::any_of(o.operations.begin(), o.operations.end(), is_named)) &&
         (o.encodings.empty() || std::any_of(o.encodings.begin(), o.encodings.end(), is_of));
}

core::result<selection> select(const gate_options& o) {
  selection s;
  for (const std::string& name : o.operations)
    if (reference::find_operation(name) == nullptr)
      return core::failure("unknown operation '" + name + "' (see: assay list operations)");
  const auto& encodings = reference::encodings();
  for (const std::string& name : o.encodings)
    if (std::find(encodings.begin(), encodings.end(), name) == encodings.end())
      return core::failure("unknown encoding '" + name + "' (see: assay list encodings)");
  for (const core::operation& op : reference::operations())
    if (belongs(op, o)) s.operations.push_back(&op);
  for (const std::string& name : o.dtypes) {
    const auto t = core::dtype_named(name);
    if (!t || !core::is_floating(*t))
      return core::failure("unknown dtype '" + name + "' (there are: f64, f32, f16, bf16)");
    s.dtypes.push_back(*t);
  }
  s.dtypes_named = !s.dtypes.empty();
  if (!s.dtypes_named) s.dtypes.assign(std::begin(core::floating_dtypes), std::end(core::floating_dtypes));
  for (const std::string& name : o.require_class) {
    const auto c = reference::accuracy_class_named(name);
    if (!c)
      return core::failure("unknown accuracy class '" + name +
                           "' (there are: uniform, sequential, tree, linear, cumsum)");
    s.good_enough.insert(*c);
  }
  const auto level =
      std::find_if(std::begin(efforts), std::end(efforts), [&](const effort& e) { return e.name == o.effort; });
  if (level == std::end(efforts)) return core::failure("unknown effort '" + o.effort + "' (there are: quick, full)");
  s.level = level;
  return s;
}

// One line a check on stderr; on a terminal the line is rewritten.
void progress(const check_result& c) {
  static const bool terminal = isatty(STDERR_FILENO) != 0;
  fmt::print(stderr, "{}{:10} {:28} {:5} {:14} {:6} cases{}", terminal ? "\r\033[K" : "", c.checked->name,
             c.operation->name, core::name_of(c.type), name_of(c.verdict()), c.run(), terminal ? "" : "\n");
  std::fflush(stderr);
}

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

bool is_process_fault(const check_result& c) {
  if (!c.found || !c.found->shown.failure) return false;
  const properties::fault kind = c.found->shown.failure->kind;
  return kind != properties::fault::error_reply && kind != properties::fault::bad_output;
}

// What was asked for by name and is not offered, an operation without any dtype or a dtype without any
// operation.
void complain_about_missing(const gate_options& options, const selection& s, gate_report& report) {
  const auto offers_any = [&](const auto& wanted) {
    for (const core::operation* op : s.operations)
      for (const core::dtype type : s.dtypes)
        if (wanted(*op, type) && report.candidate.offers(op->name, type)) return true;
    return false;
  };
  for (const std::string& name : options.operations)
    if (!offers_any([&](const core::operation& op, core::dtype) { return op.name == name; }))
      report.complaints.push_back(name + " was requested and is not offered");
  if (s.dtypes_named)
    for (const core::dtype wanted : s.dtypes)
      if (!offers_any([&](const core::operation&, core::dtype type) { return type == wanted; }))
        report.complaints.push_back(fmt::format("{} was requested and is not offered", core::name_of(wanted)));
}

// An operation that is offered and executed no core check makes the run red.
void complain_about_gaps(const selection& s, gate_report& report) {
  if (report.checks.empty())
    report.complaints.push_back("no check was executed: the candidate offers none of the selected operations");
  for (const core::operation* op : s.operations)
    for (const core::dtype type : s.dtypes) {
      const bool offered = report.candidate.offers(op->name, type);
      if (!offered) continue;
      const bool checked = std::any_of(report.checks.begin(), report.checks.end(), [&](const check_result& c) {
        return c.operation == op && c.type == type && c.checked->decides_class &&
               c.count(status::passed) + c.count(status::failed) > 0;
      });
      if (!checked)
        report.complaints.push_back(fmt::format("{} in {} executed no core check", op->name, core::name_of(type)));
    }
  for (const check_result& c : report.checks) {
    const auto reached = c.accuracy_class();
    const bool judged = c.checked->decides_class && c.verdict() == status::passed;
    if (!s.good_enough.empty() && judged && !(reached && s.good_enough.contains(*reached)))
      report.complaints.push_back(fmt::format("{} in {} is of class {}, which is not among those required",
                                              c.operation->name, core::name_of(c.type),
                                              reached ? name_of(*reached) : "none"));
  }
}

gate_verdict verdict_of(const gate_report& report) {
  std::size_t failed = 0, broken = 0;
  for (const check_result& c : report.checks) {
    failed += c.verdict() == status::failed;
    broken += is_process_fault(c);
  }
  if (broken > 0 && broken == report.checks.size()) return gate_verdict::broken;
  return failed > 0 || !report.complaints.empty() ? gate_verdict::failed : gate_verdict::passed;
}

}  // namespace

core::result<void> check_selection(const gate_options& options) {
  if (const auto selected = select(options); !selected) return tl::make_unexpected(selected.error());
  return {};
}

core::result<void> put_to_checks(properties::implementation& answers, const gate_options& options) {
  const auto selected = select(options);
  if (!selected) return tl::make_unexpected(selected.error());
  gate_report report{options.candidate, {}, options.seed, options.effort, {}, {}, {}, gate_verdict::broken};
  run_checks(answers, *selected, report);
  if (verdict_of(report) != gate_verdict::passed) return core::failure(answers.describe().name + " failed the checks");
  return {};
}

int gate(const gate_options& options) {
  const auto selected = select(options);
  if (!selected) {
    complain(selected.error().message);
    return wrong_input;
  }
  gate_report report{options.candidate, {}, options.seed, options.effort, {}, {}, {}, gate_verdict::broken};
  report.folder = options.report;
  report.run = run_started_now();
  const auto started = std::chrono::steady_clock::now();
  auto candidate = open_candidate(options.candidate, options.limits);
  if (!candidate && !candidate.error().candidate_is_at_fault) {
    complain(candidate.error().message);
    return wrong_input;
  }
  if (const auto writable = prepare_report(options.report); !writable) {
    complain(writable.error().message);
    return wrong_input;
  }
  if (candidate) {
    report.candidate = (*candidate)->describe();
    run_checks(**candidate, *selected, report);
    complain_about_missing(options, *selected, report);
    complain_about_gaps(*selected, report);
    report.verdict = verdict_of(report);
  } else {
    report.candidate.name = options.candidate;
    report.complaints.push_back("the candidate did not start: " + candidate.error().message);
  }
  report.run.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
  if (const auto written = write_report(report, options.report); !written) {
    complain(written.error().message);
    return own_fault;
  }
  fmt::print("{}\nReport: {}\n", to_markdown(report), (options.report / "report.json").string());
  switch (report.verdict) {
    case gate_verdict::passed:
      return all_passed;
    case gate_verdict::failed:
      return check_failed;
    case gate_verdict::broken:
      return candidate_broke;
  }
  return own_fault;
}

}  // namespace assay::tools
