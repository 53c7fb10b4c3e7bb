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

// The number of estimated deviations that one of `count` numbers exceeds with that chance.
double most_deviations(std::size_t count, std::size_t runs) {
  const boost::math::students_t t(static_cast<double>(runs));
  return boost::math::quantile(
      boost::math::complement(t, chance / (2.0 * static_cast<double>(std::max(count, std::size_t{1})))));
}

// The mean and mean square of the errors of one output, each error divided by its deviation.
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

// One output, and what its errors are compared with: the truth, the deviations and the bounds of random roundings, and
// the allowance of each element.
class judged_output {
 public:
  judged_output(const expectation& e, std::string name, reference::scatter s, std::vector<double> allowed)
      : name_(std::move(name)),
        truth_(e.truth.at(name_)),
        storage_(truth_.rounded.type),
        compute_(e.compute.unit()),
        scatter_(std::move(s)),
        bounds_(statistical_bounds(scatter_, truth_, compute_)),
        deviations_(scatter_.deviations()),
        allowed_(std::move(allowed)) {
    // If the formula rounds nothing there, other right code may still round the result.
    for (std::size_t i = 0; i < deviations_.size(); ++i) {
      deviations_[i] = std::max(deviations_[i], roundoff_at(i));
      if (!std::isfinite(bounds_[i]) || deviations_[i] == 0.0) deviations_[i] = std::numeric_limits<double>::infinity();
    }
  }

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] std::optional<suspicion> suspicion_of(const core::tensor& outputs) const {
    std::vector<double> errors(outputs.size());
    suspicion one{suspicion::sign::element, name_};
    double most = 0;
    for (std::size_t i = 0; i < errors.size(); ++i) {
      const double off = truth_.error_of(outputs.values.storage()[i], i);
      // The last rounding is not among the roundings that scatter.
      errors[i] = std::copysign(std::max(std::fabs(off) - core::half_ulp(storage_, truth_.truth(i)), 0.0), off);
      if (std::isnan(off)) errors[i] = off;
      if (!std::isfinite(deviations_[i]) || !std::isfinite(off)) continue;
      one.times = std::max(one.times, std::fabs(errors[i]) / bounds_[i]);
      if (const double share = std::fabs(errors[i]) / deviations_[i]; share > most) {
        most = share;
        one.place = name_ + core::index_text(outputs.shape(), i);
        one.error = std::fabs(off), one.deviation = deviations_[i], one.allowed = allowed_[i];
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
    // Another order of the same steps, such as parts merged one after the other, errs by up to twice as much.
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
    // If the formula is exact, right code may round every result once, and all in the same direction.
    std::vector<double> once(errors.size());
    for (std::size_t i = 0; i < once.size(); ++i) once[i] = roundoff_at(i);
    const double by_last_step = summary_of(once, deviations_).mean;
    s.times = std::fabs(summary_of(errors, deviations_).mean) / std::max({by_chance, by_plain, by_last_step});
    return s;
  }

  std::string name_;
  const reference::certified& truth_;
  core::dtype storage_, compute_;
  reference::scatter scatter_;
  std::vector<double> bounds_, deviations_, allowed_;
};

}  // namespace

std::vector<double> statistical_bounds(const reference::scatter& s, const reference::certified& truth,
                                       core::dtype compute) {
  std::vector<double> bounds = s.deviations();
  const double deviations = most_deviations(bounds.size(), s.at_random.size());
  for (std::size_t i = 0; i < bounds.size(); ++i) {
    const double x = truth.truth(i), plain = s.to_nearest[i];
    // If no run errs, as where equal terms cancel, the runs tell nothing about another order of the same steps.
    const bool has_scatter = bounds[i] > 0.0 || plain != 0.0;
    bounds[i] = has_scatter && std::isfinite(bounds[i]) && std::isfinite(x) && std::isfinite(plain)
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
          "{} errs by {:.3g}, {:.3g} times the standard deviation of random roundings there ({:.2g}): roundings "
          "would reach it only if all had the same sign; a bug begins at {:.3g}",
          s.place, s.error, s.error / s.deviation, s.deviation, s.allowed);
    case suspicion::sign::size:
      return fmt::format(
          "the mean error of {} is {:.3g} times that of random roundings, though no error exceeds its "
          "allowance, such as {:.3g} of {:.3g} at {}",
          s.output, s.times * times_plain, s.error, s.allowed, s.place);
    default:
      return fmt::format(
          "the errors of {} have mostly one sign: their mean is {:.3g} times the largest mean of random roundings, "
          "though none exceeds its allowance, such as {:.3g} of {:.3g} at {}",
          s.output, s.times, s.error, s.allowed, s.place);
  }
}

namespace {

using allowed_errors = std::map<std::string, std::vector<double>>;

// The outputs for which the allowance is much wider than the error that this algorithm's roundings make.
std::vector<judged_output> outputs_worth_judging(const expectation& e, const allowed_errors& allowed,
                                                 reference::accuracy_class algorithm) {
  std::set<std::string> worth;
  for (const auto& [name, s] : reference::scatter_of(e.call, e.compute, algorithm, e.truth, 0)) {
    if (!core::is_floating(e.truth.at(name).rounded.type)) continue;
    double plain = 0, most = 0;
    for (std::size_t i = 0; i < s.to_nearest.size(); ++i) {
      if (std::isfinite(s.to_nearest[i])) plain = std::max(plain, std::fabs(s.to_nearest[i]));
      if (std::isfinite(allowed.at(name)[i])) most = std::max(most, allowed.at(name)[i]);
    }
    if (most > least_allowance_ratio * plain) worth.insert(name);
  }
  std::vector<judged_output> all;
  if (worth.empty()) return all;
  auto scattered = reference::scatter_of(e.call, e.compute, algorithm, e.truth, scatter_runs);
  for (const std::string& name : worth) all.emplace_back(e, name, std::move(scattered.at(name)), allowed.at(name));
  return all;
}

allowed_errors allowed_errors_of(const expectation& e) {
  const auto laws = all_laws(e);
  allowed_errors allowed;
  for (const auto& [name, t] : e.truth) {
    const auto& k = laws->at(name).k.back().storage();
    for (std::size_t i = 0; i < k.size(); ++i)
      allowed[name].push_back(allowed_error(t.rounded.type, e.compute, k[i], t.truth(i)));
  }
  return allowed;
}

bool is_scan(const core::operation& op) {
  const auto& own = reference::algorithms_of(op);
  return std::ranges::find(own, reference::accuracy_class::tree) != own.end();
}

// Whether an operation is a table: a function of positions and parameters, which sums few terms. Its law is wide
// because it has several algorithms, such as slopes by recursion, and not because roundings add up. A user formula does
// not say what its inputs are.
bool is_table(const core::operation& op) {
  const bool is_own = op.name.starts_with("formula/");
  return !is_own && op.is_forward() && std::ranges::none_of(op.inputs, [](const core::tensor_declaration& d) {
    return d.role == core::input_role::value || d.role == core::input_role::logit;
  });
}

}  // namespace

struct usual_errors::parts {
  std::optional<core::part_of_call> part{};
  std::shared_ptr<const expectation> expected{};
  std::vector<std::vector<judged_output>> by_algorithm{};
};

usual_errors::usual_errors(const request& call, const core::precisions& compute) {
  auto made = std::make_shared<parts>();
  if (!is_scan(*call.operation) && !is_table(*call.operation)) {
    if (const std::vector<core::kept_positions> all = parts_of_large(call); !all.empty())
      made->part = core::part_of(call, all[all.size() / 2]);
    made->expected = made->part ? std::make_shared<const expectation>(make_expectation(made->part->call, compute))
                                : expect(call, compute);
    const allowed_errors allowed = allowed_errors_of(*made->expected);
    for (const reference::accuracy_class algorithm : reference::algorithms_of(*call.operation))
      made->by_algorithm.push_back(outputs_worth_judging(*made->expected, allowed, algorithm));
  }
  parts_ = std::move(made);
}

std::optional<suspicion> usual_errors::suspicion_of(const core::tensors& outputs) const {
  const core::tensors own = parts_->part ? core::outputs_of_part(*parts_->part, outputs) : outputs;
  // An error that one of the algorithms may have is not suspicious.
  std::optional<std::map<std::string, suspicion>> by_all;
  for (const std::vector<judged_output>& outputs_judged : parts_->by_algorithm) {
    std::map<std::string, suspicion> both;
    for (const judged_output& one : outputs_judged)
      if (auto found = one.suspicion_of(own.at(one.name()))) {
        if (!by_all)
          both.emplace(one.name(), *found);
        else if (const auto other = by_all->find(one.name()); other != by_all->end())
          both.emplace(one.name(), other->second.times <= found->times ? other->second : *found);
      }
    by_all = std::move(both);
  }
  if (!by_all) return std::nullopt;
  const auto worst = std::ranges::max_element(*by_all, {}, [](const auto& one) { return one.second.times; });
  return worst == by_all->end() ? std::nullopt : std::optional(worst->second);
}

std::optional<suspicion> suspicion_of(implementation& passed, const test_case& c) {
  const call_result outputs = passed.evaluate(c.call);
  if (!outputs) return std::nullopt;
  const core::precisions compute = passed.describe().precisions_of(c.call);
  return judge(c.call, compute, *outputs).passed ? usual_errors(c.call, compute).suspicion_of(*outputs) : std::nullopt;
}

}  // namespace assay::properties
