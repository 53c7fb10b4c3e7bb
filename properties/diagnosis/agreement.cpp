// Whether a model, or the answer to another call, explains a probe (probes.hpp).
#include <algorithm>
#include <cmath>

#include "properties/diagnosis/probes.hpp"
#include "properties/harness/verdict.hpp"

namespace assay::properties {
namespace {

// The prediction for an output: its numbers, the error of each number that rounding explains, and the largest error
// that still agrees.
struct prediction {
  std::vector<double> x, explained, largest;
};

prediction by_model(const probe& p, const std::string& name, const core::tensor& model) {
  const auto& m = model.values.storage();
  const std::vector<double>&allowed = p.allowed.at(name), scales = scales_of(*p.truth, name);
  const auto is_bounded = [&](std::size_t i) {
    return std::isfinite(p.truth_of(name, i)) && std::isfinite(allowed[i]);
  };
  // Where the truth is not a number, no law says what rounding does: the widest allowance of the other elements holds.
  double widest_there_is = 0;
  for (std::size_t i = 0; i < allowed.size(); ++i)
    if (is_bounded(i)) widest_there_is = std::max(widest_there_is, allowed[i]);
  prediction all{{m.begin(), m.end()}, allowed, {}};
  const double u = core::unit_roundoff(p.truth->compute.unit());
  for (std::size_t i = 0; i < m.size(); ++i) {
    const double own = core::half_ulp(model.type, m[i]) + 8.0 * u * std::max(std::fabs(m[i]), scales[i]);
    all.largest.push_back(own + 2.0 * (is_bounded(i) ? allowed[i] : widest_there_is));
  }
  return all;
}

prediction by_truth(const expectation& e, const std::string& name) {
  const reference::certified& truth = e.truth.at(name);
  const auto laws = all_laws(e);
  const auto& k = laws->at(name).k.back().storage();
  prediction all;
  for (std::size_t i = 0; i < truth.rounded.size(); ++i) {
    all.x.push_back(truth.truth(i));
    all.explained.push_back(allowed_error(truth.rounded.type, e.compute, k[i], all.x[i]));
    all.largest.push_back(2.0 * all.explained[i]);
  }
  return all;
}

// The numbers with which an output of a probe is compared.
class compared_output {
 public:
  compared_output(const probe& p, const std::string& name, prediction with)
      : p_(p), name_(name), actual_(p.actual.at(name)), with_(std::move(with)) {}

  [[nodiscard]] bool agrees() const {
    for (std::size_t i = 0; i < actual_.size(); ++i)
      if (!agrees_at(i)) return false;
    const auto wrong = p_.wrong.find(name_);
    return wrong == p_.wrong.end() || explains(wrong->second);
  }

 private:
  [[nodiscard]] double x(std::size_t i) const { return actual_.values.storage()[i]; }
  [[nodiscard]] double m(std::size_t i) const { return with_.x[i]; }

  [[nodiscard]] bool agrees_at(std::size_t i) const {
    if (core::same_value(core::round_to(actual_.type, m(i)), x(i))) return true;
    if (!std::isfinite(m(i)) || !std::isfinite(x(i)) || !core::is_floating(actual_.type)) return false;
    return std::fabs(x(i) - m(i)) <= with_.largest[i];
  }

  // Each wrong element must be clearly nearer to the prediction than to the truth, or equal the prediction but for
  // rounding; at least half of them must be clearly nearer. An output that errs by rounding alone explains nothing.
  [[nodiscard]] bool explains(const std::vector<std::size_t>& wrong) const {
    std::size_t clearly = 0;
    for (const std::size_t i : wrong) {
      const double off = core::same_value(m(i), x(i)) ? 0.0 : std::fabs(x(i) - m(i)), truth = p_.truth_of(name_, i);
      const bool clear = off == 0 || !std::isfinite(truth) || 4.0 * off <= std::fabs(x(i) - truth);
      if (!clear && !(off <= with_.explained[i])) return false;
      clearly += clear;
    }
    return 2 * clearly >= wrong.size();
  }

  const probe& p_;
  const std::string& name_;
  const core::tensor& actual_;
  prediction with_;
};

}  // namespace

bool agrees(const probe& p, const core::tensors& predicted) {
  return std::all_of(p.actual.begin(), p.actual.end(), [&](const auto& output) {
    const auto model = predicted.find(output.first);
    return model != predicted.end() && model->second.shape() == output.second.shape() &&
           compared_output(p, output.first, by_model(p, output.first, model->second)).agrees();
  });
}

bool agrees(const probe& p, const request& answered) {
  const auto expected = expect(answered, p.truth->compute);
  return std::all_of(p.actual.begin(), p.actual.end(), [&](const auto& output) {
    return compared_output(p, output.first, by_truth(*expected, output.first)).agrees();
  });
}

}  // namespace assay::properties
