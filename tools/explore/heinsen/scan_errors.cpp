// The error of the recurrence against its length: all algorithms and lengths that share inputs run in one pass, whose
// memory does not depend on the length.
//
// The truth is the same formula evaluated with balls (reference/readings/ball.hpp): a number and a proved radius, in
// double arithmetic, and in two-double arithmetic for f64 storage. The largest radius is stored with every cell.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "reference/oracle.hpp"
#include "reference/readings/rounded.hpp"
#include "tools/explore/heinsen/parts.hpp"
#include "tools/explore/heinsen/scan_laws.hpp"
#include "tools/explore/heinsen/scan_tally.hpp"
#include "tools/explore/heinsen/scans.hpp"
#include "tools/explore/heinsen/streams.hpp"

namespace assay::explore {
namespace {

// Short sequences have more lanes, at most 64: lengths from 1024 to 65536 have about 65536 tokens in all.
std::size_t lanes_of(const cell& c) {
  if (c.family == "still") return 1;
  const std::size_t most = is_recorded(c.family) ? recorded_inputs_of(c.family).value()->lanes : 64;
  return std::clamp<std::size_t>((std::size_t{1} << 16) / c.size, 1, std::min<std::size_t>(most, 64));
}
// The number of last tokens over which the root mean square is taken.
std::size_t window_of(std::uint64_t n) { return std::clamp<std::uint64_t>(n / 4, 1, 1024); }

// An implementation in an arithmetic, with the lengths for which it is measured.
struct subject {
  std::string implementation;
  core::dtype arithmetic;
  std::vector<tally*> lengths;  // ascending
  std::unique_ptr<streaming_scan> scan{};
  std::vector<double> outputs{};  // for a candidate: all outputs of one lane
  progress lane{};
};

// The inputs and truths of a block of one lane.
struct block {
  std::size_t first = 0;  // the number of tokens before it
  std::vector<double> a, h;
  std::vector<double> log_decay;  // the sum of all a up to each token
  std::vector<truth::number> states;
};

void record(subject& s, const block& b, std::span<const double> computed, double u) {
  std::vector<double> errors(computed.size());
  auto next = s.lengths.begin();
  while (next != s.lengths.end() && (*next)->measured->size <= b.first) ++next;
  for (std::size_t i = 0; i < computed.size(); ++i) {
    errors[i] = b.states[i].distance(computed[i]);
    s.lane.see(static_cast<double>(b.first + i + 1), errors[i], b.states[i].high);
    for (; next != s.lengths.end() && (*next)->measured->size == b.first + i + 1; ++next) {
      tally& t = **next;
      t.worst = std::max(t.worst, s.lane.worst);
      t.radius = std::max(t.radius, b.states[i].radius);
      t.log_decay += std::fabs(b.log_decay[i]) / static_cast<double>(t.lanes);
      if (!std::isnan(s.lane.nonfinite_at)) keep_first(t.nonfinite_at, s.lane.nonfinite_at);
      if (!std::isnan(s.lane.lost_at)) keep_first(t.lost_at, s.lane.lost_at);
      for (std::size_t k = 1; k <= counted_digits; ++k)
        if (!std::isnan(s.lane.left_at[k])) keep_first(t.left_at[k], s.lane.left_at[k]);
    }
  }
  for (tally* t : s.lengths) {
    const std::size_t n = t->measured->size, begin = std::max(n - t->window, b.first);
    for (std::size_t i = begin; i < std::min(n, b.first + computed.size()); ++i) {
      const std::size_t index = i - b.first;
      const double e = errors[index], sum = std::fabs(b.log_decay[index]);
      t->squares += e * e;
      if (sum > 0.0) t->relative_squares += (e / (u * sum)) * (e / (u * sum));
      if (std::isfinite(b.states[index].high)) t->state_squares += b.states[index].high * b.states[index].high;
      t->largest = std::max(t->largest, e);
      t->samples += 1;
    }
  }
}

core::result<std::vector<double>> outputs_of(const cell& c, std::size_t lane, const caller& call) {
  std::vector<double> a(c.size), h(c.size);
  token_stream(c, lane).next(a, h);
  const core::dtype type = *find_format(c.storage)->type;
  const core::shape full{1, c.size, 1};
  auto out = call(c.implementation, {reference::find_operation("heinsen/scan"),
                                     type,
                                     {{"log_p", core::make_tensor(type, full, a)},
                                      {"h", core::make_tensor(type, full, h)},
                                      {"s0", core::make_tensor(type, {1, 1}, {0.0})}}});
  if (!out) return core::failure(c.implementation + ": " + out.error().message);
  const auto& s = out->at("s").values.storage();
  return std::vector<double>(s.begin(), s.end());
}

// Runs one lane for all subjects that have it.
core::result<void> run_lane(const cell& inputs, std::size_t lane, std::vector<subject>& all, const caller& call) {
  const storage_format& stored = *find_format(inputs.storage);
  std::uint64_t longest = 0;
  std::vector<subject> running;
  for (subject& s : all) {
    subject now{s.implementation, s.arithmetic, {}};
    for (tally* t : s.lengths)
      if (t->lanes > lane) now.lengths.push_back(t);
    if (now.lengths.empty()) continue;
    longest = std::max(longest, now.lengths.back()->measured->size);
    if (is_candidate(s.implementation)) {
      auto out = outputs_of(*now.lengths.back()->measured, lane, call);
      if (!out) return tl::make_unexpected(out.error());
      now.outputs = std::move(*out);
    } else {
      const reference::computing_in format(s.arithmetic);
      now.scan = find_scan(s.implementation)->start(stored);
    }
    running.push_back(std::move(now));
  }
  token_stream stream(inputs, lane);
  truth exact(inputs.storage == "f64");
  double log_decay = 0;
  block b;
  std::vector<double> computed;
  for (; b.first < longest; b.first += block_tokens) {
    const std::size_t count = std::min<std::size_t>(block_tokens, longest - b.first);
    for (auto* x : {&b.a, &b.h, &b.log_decay}) x->resize(count);
    b.states.resize(count);
    stream.next(b.a, b.h);
    for (std::size_t i = 0; i < count; ++i) {
      b.states[i] = exact.next(b.a[i], b.h[i]);
      b.log_decay[i] = log_decay += b.a[i];
    }
    for (subject& s : running) {
      const std::size_t last = s.lengths.back()->measured->size;
      if (last <= b.first) continue;
      computed.resize(std::min(count, last - b.first));
      const std::span<const double> a(b.a.data(), computed.size()), h(b.h.data(), computed.size());
      if (s.scan) {
        const reference::computing_in format(s.arithmetic);
        s.scan->run(a, h, computed);
        for (double& x : computed) x = stored.round(x);
      } else {
        std::copy_n(s.outputs.begin() + static_cast<std::ptrdiff_t>(b.first), computed.size(), computed.begin());
      }
      record(s, b, computed, stored.unit_roundoff());
    }
  }
  return {};
}

results results_of(const tally& t) {
  const storage_format& stored = *find_format(t.measured->storage);
  const double rms = std::sqrt(t.squares / t.samples), most_digits = stored.precision * std::log10(2.0);
  results all{{"rms", rms},
              {"largest", t.largest},
              {"worst", t.worst},
              {"digits", std::clamp(-std::log10(t.worst), 0.0, most_digits)},
              {"log_decay", t.log_decay},
              {"state", std::sqrt(t.state_squares / t.samples)},
              {"truth_radius", t.radius},
              {"rms_u", rms / stored.unit_roundoff()},
              {"constant", std::sqrt(t.relative_squares / t.samples)},
              {"nonfinite_at", t.nonfinite_at},
              {"lost_at", t.lost_at}};
  for (std::size_t k = 1; k <= counted_digits; ++k)
    if (static_cast<double>(k) <= most_digits)
      all[fmt::format("tokens_{}", k)] = std::isnan(t.left_at[k]) ? std::nan("") : t.left_at[k] - 1.0;
  const scan_facts facts{t.log_decay, all.at("state")};
  all["law"] = predicted_rms(*t.measured, facts);
  return all;
}

core::result<std::vector<results>> run(std::span<const cell> batch, const caller& call) {
  std::vector<tally> tallies(batch.size());
  std::vector<subject> subjects;
  std::size_t lanes = 0;
  for (std::size_t k = 0; k < batch.size(); ++k) {
    const cell& c = batch[k];
    tally& t = tallies[k];
    t.measured = &c;
    t.lanes = lanes_of(c);
    t.window = window_of(c.size);
    t.left_at.fill(std::nan(""));
    lanes = std::max(lanes, t.lanes);
    const core::dtype type = *core::dtype_named(c.arithmetic);
    auto same = std::find_if(subjects.begin(), subjects.end(), [&](const subject& s) {
      return s.implementation == c.implementation && s.arithmetic == type;
    });
    if (same == subjects.end()) same = subjects.insert(subjects.end(), subject{c.implementation, type, {}});
    same->lengths.push_back(&t);
  }
  for (subject& s : subjects)
    std::sort(s.lengths.begin(), s.lengths.end(),
              [](const tally* x, const tally* y) { return x->measured->size < y->measured->size; });
  for (std::size_t lane = 0; lane < lanes; ++lane)
    if (const auto done = run_lane(batch.front(), lane, subjects, call); !done)
      return tl::make_unexpected(done.error());
  std::vector<results> all;
  for (const tally& t : tallies) all.push_back(results_of(t));
  return all;
}

// A lane runs once for all lengths of a subject. Inputs and truth cost about as much as one subject; with f64 storage,
// ten times as much.
double steps(std::span<const cell> batch) {
  std::map<std::string, std::map<std::size_t, double>> longest;  // by subject and lane
  for (const cell& c : batch)
    for (std::size_t lane = 0; lane < lanes_of(c); ++lane) {
      const auto n = static_cast<double>(c.size);
      double& most = longest[c.implementation + " " + c.arithmetic][lane];
      most = std::max(most, n);
      double& shared = longest[""][lane];
      shared = std::max(shared, c.storage == "f64" ? 10 * n : n);
    }
  double sum = 0;
  for (const auto& [subject, lanes] : longest)
    for (const auto& [lane, n] : lanes) sum += n;
  return sum;
}

core::result<void> check(const cell& c) {
  const auto wrong = [&](const std::string& what) { return core::failure("'" + text_of(c) + "': " + what); };
  const bool is_p = c.family == "constant" || c.family == "still";
  if (is_recorded(c.family)) {
    const auto inputs = recorded_inputs_of(c.family);
    if (!inputs) return wrong(inputs.error().message);
    if (c.size > (*inputs)->tokens) return wrong(fmt::format("the file holds {} tokens", (*inputs)->tokens));
  }
  if ((c.family == "resets" || c.family == "silence") && !std::isinf(find_format(c.storage)->round(-HUGE_VAL)))
    return wrong(c.storage + " has no -inf, of which this family is made");
  if (is_p && !(c.decay > 0.0 && c.decay <= 1.0)) return wrong("decay is p here: above 0, at most 1");
  if (is_candidate(c.implementation) && c.arithmetic != c.storage)
    return wrong("the arithmetic of a candidate is its own: arithmetic and storage must be the same here");
  if (is_candidate(c.implementation) && reference::find_operation("heinsen/scan") == nullptr)
    return wrong("this program was built without heinsen/scan, so a candidate cannot be asked for it");
  if (is_candidate(c.implementation) && !find_format(c.storage)->type)
    return wrong("candidates have no tensors in " + c.storage);
  return {};
}

}  // namespace

measure scan_errors() {
  measure m{.name = "scan",
            .summary = "error of the recurrence against its length",
            .size_means = "tokens n",
            .decay_means = "mean of the gate logits, or p",
            .scale_means = "factor of h",
            .takes_candidates = true,
            .takes_file = is_recorded,
            .hash_of_file = hash_of_recorded,
            .operation_of = [](const std::string&) { return std::string("heinsen/scan"); },
            .takes_storage = true,
            .check = check,
            .steps = steps,
            .batch =
                [](const cell& c) {
                  // A candidate may compute a short sequence in another way than the beginning of a long one.
                  const bool alone = is_candidate(c.implementation);
                  return fmt::format("{} {} {} {} {} {}", c.family, c.decay, c.scale, c.storage, c.seed,
                                     alone ? text_of(c) : std::string());
                },
            .run = run};
  for (const scan_algorithm& a : scan_algorithms()) m.implementations.emplace_back(a.name);
  for (const stream_family& f : stream_families()) m.families.emplace_back(f.name);
  return m;
}

}  // namespace assay::explore
