#include "properties/diagnosis/symptoms.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "properties/diagnosis/sentences.hpp"
#include "reference/core/special_values.hpp"

namespace assay::properties {
namespace {

using core::infinity;
constexpr double nearly = 1.0 / 16;  // as a share of the scale: an error that arithmetic with few digits makes
constexpr std::size_t informative_elements = 8;

struct wrong_element {
  double truth, x, allowed, scale;
  core::dtype storage;
};

template <class Visit>
void each_wrong(const std::vector<const probe*>& probes, Visit visit) {
  for (const probe* p : probes)
    for (const auto& [name, elements] : p->wrong) {
      const core::tensor& t = p->actual.at(name);
      const std::vector<double> scales = scales_of(*p->truth, name);
      for (const std::size_t i : elements)
        visit({p->truth_of(name, i), t.values.storage()[i], p->allowed.at(name)[i], scales[i], t.type});
    }
}

symptom symptom_of(const wrong_element& e) {
  if (std::isnan(e.truth)) return symptom::lost_nan;
  if (std::isnan(e.x)) return symptom::not_a_number;
  if (e.truth == -infinity && std::isfinite(e.x)) return symptom::finite_mask;
  if (!std::isfinite(e.truth)) return symptom::wrong;
  if (std::isinf(e.x)) return symptom::infinite;
  const bool is_near = core::is_floating(e.storage) && std::fabs(e.x - e.truth) <= nearly * e.scale;
  return is_near ? symptom::few_digits : symptom::wrong;
}

std::string mask_words(const std::vector<const probe*>& probes) {
  std::optional<double> value;
  bool several = false;
  each_wrong(probes, [&](const wrong_element& e) {
    several = several || (value && *value != e.x);
    if (!value) value = e.x;
  });
  return words::finite_mask(*value, several);
}

// Whether at least half of the informative elements err as rounding in the format would make them err. A cause that
// leaves most elements right is not the arithmetic.
bool errs_throughout(core::dtype format, const std::vector<const probe*>& probes) {
  const double least = core::unit_roundoff(format) / 64;
  std::size_t felt = 0, all = 0;
  for (const probe* p : probes)
    for (const auto& [name, elements] : p->wrong) {
      const auto& x = p->actual.at(name).values.storage();
      for (std::size_t i = 0; i < x.size(); ++i) {
        const double truth = p->truth_of(name, i);
        if (!std::isfinite(truth) || !p->informative_at(name, i)) continue;
        ++all;
        felt += std::fabs(x[i] - truth) >= least * std::fabs(truth);
      }
    }
  return 2 * felt >= all;
}

// The format of the tensors, if arithmetic in it would be no bug although a wider format is declared, and if the errors
// are not small for it. Formats other than the candidate's own are not named: wide laws explain much.
std::optional<core::dtype> own_format(const std::vector<const probe*>& probes, double most_over_allowed) {
  const core::dtype own = probes.front()->c.call.type, compute = probes.front()->truth->compute.unit();
  const double wider = core::unit_roundoff(own) / core::unit_roundoff(compute);
  if (wider <= 1 || most_over_allowed > wider || 64 * most_over_allowed < wider) return std::nullopt;
  const bool explains = std::all_of(probes.begin(), probes.end(),
                                    [&](const probe* p) { return judge(p->c.call, own, p->actual).passed; });
  return explains && errs_throughout(own, probes) ? std::optional(own) : std::nullopt;
}

// Whether all inputs are numbers of the format: then copies of them are too, and sums in exact steps.
bool holds_inputs(core::dtype held, const std::vector<const probe*>& probes) {
  for (const probe* p : probes)
    for (const auto& [name, input] : p->c.call.inputs) {
      if (!core::is_floating(input.type)) continue;
      for (const double x : input.values.storage())
        if (!core::same_value(core::round_to(held, x), x)) return false;
    }
  return true;
}

// The narrower format to which all wrong elements belong, although the inputs do not.
std::optional<core::dtype> format_held(const std::vector<const probe*>& probes) {
  for (const core::dtype held : {core::dtype::bf16, core::dtype::f16, core::dtype::f32}) {
    std::size_t count = 0;
    bool all = true;
    each_wrong(probes, [&](const wrong_element& e) {
      ++count;
      all = all && core::unit_roundoff(held) > core::unit_roundoff(e.storage) && core::round_to(held, e.x) == e.x;
    });
    if (all && count >= informative_elements && !holds_inputs(held, probes)) return held;
  }
  return std::nullopt;
}

std::string digits_words(const std::vector<const probe*>& probes) {
  double most = 0, ulps = 0, explained = 0;
  each_wrong(probes, [&](const wrong_element& e) {
    const double error = std::fabs(e.x - e.truth), ulp = 2.0 * core::half_ulp(e.storage, e.scale);
    most = std::max(most, error / e.allowed);
    if (error / ulp <= ulps) return;
    ulps = error / ulp;
    explained = e.allowed / ulp;
  });
  return words::off_by(ulps, explained, own_format(probes, most), format_held(probes));
}

// Whether all wrong elements are small, err by little compared with 1, and are multiples of the spacing of numbers just
// below 1: numbers of their size usually have a finer spacing.
bool are_left_of_one(const std::vector<const probe*>& probes) {
  constexpr double small = 0.25, most_steps = 256;
  std::size_t count = 0;
  bool all = true;
  each_wrong(probes, [&](const wrong_element& e) {
    const double step = core::is_floating(e.storage) ? core::unit_roundoff(e.storage) : 0.0;
    count += e.x != 0.0;
    all = all && std::fabs(e.truth) < small && std::fabs(e.x - e.truth) <= most_steps * step &&
          std::remainder(e.x, step) == 0.0;
  });
  return all && count >= informative_elements;
}

}  // namespace

symptom common_symptom(const std::vector<const probe*>& wrong) {
  std::optional<symptom> common;
  bool zero = true;
  each_wrong(wrong, [&](const wrong_element& e) {
    const symptom s = symptom_of(e);
    common = common && *common != s ? symptom::wrong : s;
    zero = zero && e.x == 0 && std::isfinite(e.truth);
  });
  if (zero) return symptom::zero;
  if (are_left_of_one(wrong)) return symptom::left_of_one;
  return common.value_or(symptom::wrong);
}

bool is_in_some(symptom s, const std::vector<const probe*>& wrong) {
  bool seen = false;
  each_wrong(wrong, [&](const wrong_element& e) { seen = seen || symptom_of(e) == s; });
  return seen;
}
bool is_in_each(symptom s, const std::vector<const probe*>& wrong) {
  return std::all_of(wrong.begin(), wrong.end(), [s](const probe* p) { return is_in_some(s, {p}); });
}

std::string words_of(symptom s, const std::vector<const probe*>& wrong) {
  switch (s) {
    case symptom::not_a_number:
      return words::not_a_number;
    case symptom::infinite:
      return words::infinite;
    case symptom::finite_mask:
      return mask_words(wrong);
    case symptom::lost_nan:
      return words::lost_nan;
    case symptom::zero:
      return words::zero;
    case symptom::few_digits:
      return digits_words(wrong);
    case symptom::left_of_one:
      return words::left_of_one(core::format_of(wrong.front()->c.call.type).precision);
    case symptom::wrong:
      break;
  }
  return words::simply_wrong;
}

}  // namespace assay::properties
