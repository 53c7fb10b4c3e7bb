#include "properties/harness/suspicion.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <set>

#include "properties/harness/expectation.hpp"
#include "reference/core/parts.hpp"

namespace assay::properties {
namespace {

constexpr double chance = 0x1p-40;
constexpr double times_plain = 4, fewest_roundoffs = 8;

// How many estimated deviations one of `count` numbers exceeds with that chance.
double most_deviations(std::size_t count, std::size_t runs) {
  const boost::math::students_t t(static_cast<double>(runs));
  return boost::math::quantile(
      boost::math::complement(t, chance / (2.0 * static_cast<double>(std::max(count, std::size_t{1})))));
}

// Of the errors of one output, each over its deviation.
struct summary_of_errors {
  double mean = 0, mean_square = 0;
};
summary_of_errors summary_of(const std::vector<double>& errors, const std::vector<double>& deviations) {
  summary_of_errors s;
  double count = 0;
  for (std::size_t i = 0; i < errors.size(); ++i) {
    if (!std::isfinite(deviations[i]) || !std::isfinite(errors[i])) continue;
    const double x = errors[i] / deviations[i];
    s.mean += x;
    s.mean_square += x * x;
    ++count;
  }
  if (count > 0) s.mean /= count, s.mean_square /= count;
  return s;
}

// What suspicion_of asks of one output.
class asked_output {
 public:
  asked_output(const expectation& e, const std::string& name, const reference::scatter& s)
      : name_(name),
        truth_(e.truth.at(name)),
        storage_(truth_.rounded.type),
        compute_(e.compute.unit()),
        scatter_(s),
        bounds_(statistical_bounds(s, truth_, compute_)),
        deviations_(s.deviations()) {
    // Where nothing is rounded by the formula, other right code may round the result.
    for (std::size_t i = 0; i < deviations_.size(); ++i) {
      deviations_[i] = std::max(deviations_[i], roundoff_at(i));
      if (!std::isfinite(bounds_[i]) || deviations_[i] == 0.0) deviations_[i] = std::numeric_limits<double>::infinity();
    }
  }

  [[nodiscard]] std::optional<suspicion> of(const core::tensor& outputs, const std::vector<double>& allowed) const {
    std::vector<double> errors(outputs.size());
    suspicion one{suspicion::sign::element, name_};
    double most = 0;
    for (std::size_t i = 0; i < errors.size(); ++i) {
      const double off = truth_.error_of(outputs.values.storage()[i], i);
      // The last rounding is none of those that scatter.
      errors[i] = std::copysign(std::max(std::fabs(off) - core::half_ulp(storage_, truth_.truth(i)), 0.0), off);
      if (std::isnan(off)) errors[i] = off;
      if (!std::isfinite(deviations_[i]) || !std::isfinite(off)) continue;
      one.times = std::max(one.times, std::fabs(errors[i]) / bounds_[i]);
      if (const double share = std::fabs(errors[i]) / deviations_[i]; share > most) {
        most = share;
        one.place = name_ + core::index_text(outputs.shape(), i);
        one.error = std::fabs(off), one.deviation = deviations_[i], one.allowed = allowed[i];
      }
    }
    const suspicion all = larger(by_size(errors, one), by_direction(errors, one));
    const suspicion found = one.times > 1.0 ? one : all;
    return found.times > 1.0 ? std::optional(found) : std::nullopt;
  }

 private:
  [[nodiscard]] double roundoff_at(std::size_t i) const {
    const double x = std::fabs(truth_.truth(i));
    return std::isfinite(x) ? core::unit_roundoff(compute_) * x + core::smallest_normal(compute_) : 0.0;
  }
  static suspicion larger(const suspicion& x, const suspicion& y) { return x.times >= y.times ? x : y; }

  [[nodiscard]] suspicion by_size(const std::vector<double>& errors, suspicion s) const {
    s.seen = suspicion::sign::size;
    double most = 1.0;
    for (const auto& run : scatter_.at_random) most = std::max(most, summary_of(run, deviations_).mean_square);
    most = std::max(most, summary_of(scatter_.to_nearest, deviations_).mean_square);
    // Another order of the same steps, such as parts that are merged one after the other, errs by twice as much.
    s.times = std::sqrt(summary_of(errors, deviations_).mean_square / most) / times_plain;
    return s;
  }
  [[nodiscard]] suspicion by_direction(const std::vector<double>& errors, suspicion s) const {
    s.seen = suspicion::sign::direction;
    double square = 0;
    for (const auto& run : scatter_.at_random) square += std::pow(summary_of(run, deviations_).mean, 2.0);
    const std::size_t runs = scatter_.at_random.size();
    const double by_chance = most_deviations(1, runs) * std::sqrt(square / static_cast<double>(runs));
    const double by_plain = times_plain * std::fabs(summary_of(scatter_.to_nearest, deviations_).mean);
    // Where the formula is exact, right code may round every result once, and all alike.
    std::vector<double> once(errors.size());
    for (std::size_t i = 0; i < once.size(); ++i) once[i] = roundoff_at(i);
    const double by_last_step = summary_of(once, deviations_).mean;
    s.times = std::fabs(summary_of(errors, deviations_).mean) / std::max({by_chance, by_plain, by_last_step});
    return s;
  }

  const std::string& name_;
  const reference::certified& truth_;
  core::dtype storage_, compute_;
  const reference::scatter& scatter_;
  std::vector<double> bounds_, deviations_;
};

}  // namespace

std::vector<double> statistical_bounds(const reference::scatter& s, const reference::certified& truth,
                                       core::dtype compute) {
  std::vector<double> bounds = s.deviations();
  const double deviations = most_deviations(bounds.size(), s.at_random.size());
  for (std::size_t i = 0; i < bounds.size(); ++i) {
    const double x = truth.truth(i), plain = s.to_nearest[i];
    // Where no run errs, as where equal terms cancel, the runs tell nothing of another order of the same steps.
    const bool is_told = bounds[i] > 0.0 || plain != 0.0;
    bounds[i] = is_told && std::isfinite(bounds[i]) && std::isfinite(x) && std::isfinite(plain)
                    ? std::max({deviations * bounds[i], times_plain * std::fabs(plain),
                                fewest_roundoffs *
                                    (core::unit_roundoff(compute) * std::fabs(x) + core::smallest_normal(compute))})
                    : std::numeric_limits<double>::infinity();
  }
  return bounds;
}

std::string in_words(const suspicion& s) {
  switch (s.seen) {
    case suspicion::sign::element:
      return fmt::format(
          "{} errs by {:.3g}, {:.3g} times the deviation of random roundings there ({:.2g}): for such an error they "
          "would all have to fall the same way; a bug begins at {:.3g}",
          s.place, s.error, s.error / s.deviation, s.deviation, s.allowed);
    case suspicion::sign::size:
      return fmt::format(
          "the errors of {} are in the mean {:.3g} times what random roundings make, though none exceeds its "
          "allowance, such as {:.3g} of {:.3g} at {}",
          s.output, s.times * times_plain, s.error, s.allowed, s.place);
    default:
      return fmt::format(
          "the errors of {} lie on one side: their mean is {:.3g} times what random roundings leave of it at most, "
          "though none exceeds its allowance, such as {:.3g} of {:.3g} at {}",
          s.output, s.times, s.error, s.allowed, s.place);
  }
}

namespace {

// Of what an algorithm rounds: by output.
std::map<std::string, suspicion> suspicions_by(const expectation& e, const core::tensors& outputs,
                                               const std::map<std::string, std::vector<double>>& allowed,
                                               reference::accuracy_class algorithm) {
  std::set<std::string> asked;
  for (const auto& [name, s] : reference::scatter_of(e.call, e.compute, algorithm, e.truth, 0)) {
    if (!core::is_floating(e.truth.at(name).rounded.type)) continue;
    double plain = 0, most = 0;
    for (std::size_t i = 0; i < s.to_nearest.size(); ++i) {
      if (std::isfinite(s.to_nearest[i])) plain = std::max(plain, std::fabs(s.to_nearest[i]));
      if (std::isfinite(allowed.at(name)[i])) most = std::max(most, allowed.at(name)[i]);
    }
    if (most > worth_asking * plain) asked.insert(name);
  }
  if (asked.empty()) return {};
  std::map<std::string, suspicion> all;
  const auto scattered = reference::scatter_of(e.call, e.compute, algorithm, e.truth, scatter_runs);
  for (const std::string& name : asked)
    if (const auto found = asked_output(e, name, scattered.at(name)).of(outputs.at(name), allowed.at(name)))
      all.emplace(name, *found);
  return all;
}

std::optional<suspicion> suspicion_of_whole(const expectation& e, const core::tensors& outputs) {
  const auto laws = all_laws(e);
  std::map<std::string, std::vector<double>> allowed;
  for (const auto& [name, t] : e.truth) {
    const auto& k = laws->at(name).k.back().storage();
    for (std::size_t i = 0; i < k.size(); ++i)
      allowed[name].push_back(allowed_error(t.rounded.type, e.compute, k[i], t.truth(i)));
  }
  // What one of the algorithms may err by is not suspicious.
  std::optional<std::map<std::string, suspicion>> by_all;
  for (const reference::accuracy_class algorithm : reference::algorithms_of(*e.call.operation)) {
    const auto found = suspicions_by(e, outputs, allowed, algorithm);
    if (!by_all) by_all = found;
    std::map<std::string, suspicion> both;
    for (const auto& [name, s] : *by_all)
      if (const auto other = found.find(name); other != found.end())
        both.emplace(name, s.times <= other->second.times ? s : other->second);
    by_all = std::move(both);
  }
  const std::map<std::string, suspicion>& all = *by_all;
  const auto worst = std::ranges::max_element(all, {}, [](const auto& one) { return one.second.times; });
  return worst == all.end() ? std::nullopt : std::optional(worst->second);
}

bool is_scan(const core::operation& op) {
  const auto& own = reference::algorithms_of(op);
  return std::ranges::find(own, reference::accuracy_class::tree) != own.end();
}

// A function of positions and parameters adds little up: its law is wide where it has several algorithms, such as slopes
// by recursion, and not because roundings meet.
bool is_table(const core::operation& op) {
  return op.is_forward() && std::ranges::none_of(op.inputs, [](const core::tensor_declaration& d) {
           return d.role == core::input_role::value || d.role == core::input_role::logit;
         });
}

}  // namespace

std::optional<suspicion> suspicion_of(const request& call, const core::precisions& compute,
                                      const core::tensors& outputs) {
  if (is_scan(*call.operation) || is_table(*call.operation)) return std::nullopt;
  const std::vector<core::kept_positions> parts = parts_of_large(call);
  if (parts.empty()) return suspicion_of_whole(*expect(call, compute), outputs);
  const core::part_of_call part = core::part_of(call, parts[parts.size() / 2]);
  return suspicion_of_whole(make_expectation(part.call, compute), core::outputs_of_part(part, outputs));
}

std::optional<suspicion> suspicion_of(implementation& passed, const test_case& c) {
  const call_result outputs = passed.evaluate(c.call);
  if (!outputs) return std::nullopt;
  const core::precisions compute = passed.describe().precisions_of(c.call);
  return judge(c.call, compute, *outputs).passed ? suspicion_of(c.call, compute, *outputs) : std::nullopt;
}

}  // namespace assay::properties
