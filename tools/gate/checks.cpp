#include "tools/gate/checks.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "tools/gate/dtype_orders.hpp"
#include "tools/gate/smoke.hpp"
#include "tools/gate/stopwatch.hpp"

namespace assay::tools {
namespace {

using properties::check_result;
using properties::status;

constexpr std::size_t shrink_calls = 300;
constexpr std::chrono::seconds shrink_time{30};

// The progress of a run: "3/40, about 120 s to go", assuming that all parts take equally long.
struct share_of_run {
  std::size_t part, parts;  ///< the running part, from 1 on
  double seconds;           ///< time of the parts before it

  [[nodiscard]] std::string text() const {
    const double done = static_cast<double>(part - 1), left = static_cast<double>(parts) - done;
    const double rest = part > 1 ? seconds / done * left : 0.0;
    return fmt::format("{}/{}", part, parts) + (rest >= 1.0 ? fmt::format(", about {:.0f} s to go", rest) : "");
  }
};

// One line for each check on stderr; on a terminal the line is rewritten.
void progress(const check_result& c, const share_of_run& share) {
  static const bool terminal = isatty(STDERR_FILENO) != 0;
  const std::string line = fmt::format("{}{:10} {:28} {:5} {:14} {:6} cases  [{}]{}", terminal ? "\r\033[K" : "",
                                       c.checked->name, c.operation->name, core::name_of(c.type), name_of(c.verdict()),
                                       c.run(), share.text(), terminal ? "" : "\n");
  std::fputs(line.c_str(), stderr);  // unlike fmt::print it does not throw if nobody reads
  std::fflush(stderr);
}

std::string words_for_part(const core::operation& op, core::dtype type) {
  return fmt::format("{} in {}", op.name, core::name_of(type));
}

// One part of the run.
class part {
 public:
  part(guarded_candidate& candidate, const selection& s, std::uint64_t seed, const properties::fresh_start& fresh,
       const share_of_run& share, part_record& record)
      : candidate_(candidate), selected_(s), seed_(seed), fresh_(fresh), share_(share), record_(record) {}

  void run() {
    candidate_.begin_part();
    const stopwatch call_stopwatch;
    const first_calls first = smoke(candidate_, op(), record_.type, seed_);
    if (first.lost && !first.answered) {
      record_.adapter = fault_of_part(first, op(), record_.type);
      record_.checks.push_back(check_of_part(first, op(), record_.type));
      record_.seconds[record_.checks.back().checked->name] = call_stopwatch.seconds();
      return;
    }
    auto options = run_options();
    if (options.sizes == properties::run_options::usual::none)
      options.first = informative_calls(candidate_.describe(), op(), record_.type, seed_);
    if (first.lost) options.first.push_back(first.lost->original.key);
    for (const properties::property* p : selected_.properties) {
      if (!is_checked(*p, op(), candidate_.describe()) || p->name == dtype_order) continue;
      if (candidate_.part_is_over()) break;
      const stopwatch check_stopwatch;
      record_.checks.push_back(run_property(*p, candidate_, op(), record_.type, options));
      record_.seconds[p->name] = check_stopwatch.seconds();
      progress(record_.checks.back(), share_);
      if (record_.checks.back().verdict() == status::failed) failed_.push_back(record_.checks.size() - 1);
    }
    if (first.lost) note_first(first);
    if (failed_.empty() && selected_.level->horizon_tokens > 0 && op().recurrent && op().grows_with &&
        selected_.holds_mild_values(op()))
      add_horizon();
    record_.not_tried = candidate_.too_slow(op(), record_.type);
    if (candidate_.part_is_over() && !candidate_.run_is_over())
      record_.complaints.push_back(
          fmt::format("{}: the checks were stopped: the candidate kept breaking", words_for_part(op(), record_.type)));
    if (!failed_.empty() && !selected_.goes_on) diagnose();
  }

 private:
  [[nodiscard]] const core::operation& op() const { return *record_.operation; }

  properties::run_options run_options() const {
    properties::run_options options{seed_,
                                    selected_.level->cases_per_family,
                                    shrink_calls,
                                    selected_.level->sizes != properties::run_options::usual::none,
                                    {selected_.families.begin(), selected_.families.end()}};
    options.stopped = [this] { return candidate_.part_is_over(); };
    options.sizes = selected_.level->sizes;
    options.most_elements = selected_.most_elements;
    options.shapes = selected_.shapes;
    options.prepares = true;
    options.goes_on = selected_.goes_on;
    options.leaves_out = [this](const properties::test_case& c) { return candidate_.would_outlast(c.call); };
    options.shrink_time = shrink_time;
    return options;
  }

  // No check met the fault again: it may have depended on the state at that moment.
  void note_first(const first_calls& first) {
    adapter_fault f = fault_of_part(first, op(), record_.type);
    f.others_answered = true;
    if (std::none_of(record_.checks.begin(), record_.checks.end(), [&](const check_result& c) {
          return c.checked->decides_class && c.found && failure_kind(c) == f.kind;
        }))
      record_.adapter = std::move(f);
  }

  void add_horizon() {
    const properties::test_case c =
        properties::horizon_case(candidate_.describe(), op(), record_.type, selected_.level->horizon_tokens, seed_);
    if (candidate_.would_outlast(c.call)) return;
    auto h = properties::measure_horizon(candidate_, c);
    const std::string length = fmt::format("{} tokens", selected_.level->horizon_tokens);
    const std::string where = words_for_part(op(), record_.type) + ", " + length + ": ";
    if (h) {
      // The class and the digits must also hold on these sequences.
      for (properties::check_result& check : record_.checks)
        if (check.checked->decides_class && check.run() > 0) record_horizon(check, c, *h);
      if (!h->judged.passed) {
        record_.complaints.push_back(where + h->judged.message);
        record_.complaints.back().kind = wrong_result;
      }
      record_.horizon = measured_horizon{&op(), record_.type, std::move(*h)};
    } else if (h.error().kind != properties::fault::unsupported) {
      record_.on_long_sequences = fault_of(h.error(), &op(), record_.type, length);
      const adapter_fault& f = *record_.on_long_sequences;
      record_.complaints.emplace_back(where + f.name + ": " + f.message, f);
    }
  }

  // Asks the candidate again, with the counterexamples of failed checks, except those that end the program.
  void diagnose() {
    candidate_.begin_part();
    if (candidate_.run_is_over()) return;
    properties::diagnosis_options options{{}, seed_, fresh_};
    for (const std::size_t k : failed_) {
      const check_result& c = record_.checks[k];
      if (c.found && !(c.found->shown.failure && ends_the_program(c.found->shown.failure->kind)))
        options.failed.push_back({c.checked, c.found->minimal});
    }
    record_.found = properties::diagnose(candidate_, op(), record_.type, options);
    const auto is_among = [](const std::vector<std::string>& names, const check_result& c) {
      return std::find(names.begin(), names.end(), c.checked->name) != names.end();
    };
    for (const std::size_t k : failed_) {
      check_result& c = record_.checks[k];
      const bool vanished = is_among(record_.found.vanished, c);
      if (c.found && vanished) c.found->shown.message += " (run again, this case passed)";
      c.is_consequence = !vanished && is_among(record_.found.consequences, c);
    }
  }

  guarded_candidate& candidate_;
  const selection& selected_;
  std::uint64_t seed_;
  const properties::fresh_start& fresh_;
  share_of_run share_;
  part_record& record_;
  std::vector<std::size_t> failed_{};  // indices of checks
};

// Calls with only integers have no dtype: they are made in the widest one, which limits integers least.
std::vector<core::dtype> dtypes_to_check(const properties::description& about, const core::operation& op,
                                         const selection& s) {
  std::vector<core::dtype> all;
  for (const core::dtype type : s.dtypes)
    if (about.offers(op.name, type)) all.push_back(type);
  if (s.asks_one_dtype() && !is_exact(op) && !all.empty())
    all = {std::ranges::find(all, core::dtype::f32) == all.end() ? all.front() : core::dtype::f32};
  if (all.empty() || !is_exact(op)) return all;
  return {*std::max_element(all.begin(), all.end(), [](core::dtype a, core::dtype b) {
    return core::largest_finite(a) < core::largest_finite(b);
  })};
}

}  // namespace

std::vector<planned_part> plan_parts(const properties::description& about, const selection& s, const shard& which) {
  std::vector<planned_part> parts;
  std::size_t k = 0;
  for (const core::operation* op : s.operations)
    for (const core::dtype type : dtypes_to_check(about, *op, s))
      if (k++ % which.count == which.index - 1) parts.push_back({op, type});
  return parts;
}

void run_parts(guarded_candidate& candidate, const std::vector<planned_part>& parts, const selection& s,
               std::uint64_t seed, const properties::fresh_start& fresh, std::vector<part_record>& records) {
  const stopwatch run_stopwatch;
  for (const planned_part& planned : parts) {
    records.push_back({planned.operation, planned.type});
    if (candidate.run_is_over()) {
      records.back().complaints.push_back(words_for_part(*planned.operation, planned.type) +
                                          " was not tried any more: " + candidate.why_over());
      continue;
    }
    part(candidate, s, seed, fresh, {records.size(), parts.size(), run_stopwatch.seconds()}, records.back()).run();
  }
  if (!candidate.run_is_over()) check_dtype_orders(candidate.describe(), s, seed, fresh, records);
  if (isatty(STDERR_FILENO) != 0) fmt::print(stderr, "\n");
}

}  // namespace assay::tools
