// The recurrence as an owner of formulas. Its templates are compiled here alone, once for each reading: the templates
// of multiprecision are slow to compile.
#include "reference/encodings/heinsen.hpp"

#include <cmath>
#include <map>
#include <memory>
#include <vector>

#include "reference/encoding_owner.hpp"
#include "reference/readings/all.hpp"
#include "reference/readings/round_ball.hpp"
#include "reference/readings/round_enclosure.hpp"
#include "reference/run_scheme.hpp"

namespace assay::reference {
namespace {

using encodings::heinsen;

template <class R, class Number>
xt::xarray<double> numbers_of(const field<R>& f, Number number) {
  xt::xarray<double> out = xt::xarray<double>::from_shape(f.shape());
  for (std::size_t i = 0; i < f.size(); ++i) out.storage()[i] = number(f.storage()[i]);
  return out;
}

/// The outputs of a rung, each element as round(storage, x) proves it.
template <class R, class Round>
rung_outputs rounded_fields(const core::request& call, const fields<R>& all, Round round) {
  rung_outputs out;
  for (const auto& [name, f] : all) {
    const core::dtype storage = call.operation->output(name)->type_in(call.type);
    out.emplace(name, rung_output::from_field(storage, f, [&](const R& x) { return round(storage, x); }));
  }
  return out;
}

template <class Number>
rung_outputs enclose_in_balls(const core::request& call) {
  using R = ball<Number>;
  undecided_branches::take();
  const auto all = evaluate<heinsen, R>(lift<R>(call), {});
  const bool unknown = undecided_branches::take();
  return rounded_fields(call, all, [unknown](core::dtype storage, const R& x) {
    return round_ball(storage, unknown ? R::unknown() : x);
  });
}

core::tensors run_on(const core::request& call, const arguments<rounded>& lifted,
                     const heinsen::scheme<rounded>& steps) {
  core::tensors out;
  for (const auto& [name, f] : evaluate<heinsen, rounded>(lifted, steps)) {
    core::tensor t{call.operation->output(name)->type_in(call.type),
                   numbers_of(f, [](const rounded& x) { return x.number; })};
    for (double& x : t.values.storage()) x = core::round_to(t.type, x);
    out.emplace(name, std::move(t));
  }
  return out;
}

class heinsen_owner final : public formula_owner {
 public:
  [[nodiscard]] std::string_view name() const override { return heinsen::name; }
  [[nodiscard]] const core::encoding_summary& summary() const override { return summary_; }
  [[nodiscard]] const std::vector<declared_operation>& operations() const override { return operations_; }

  [[nodiscard]] rung_outputs enclose_in_doubles(const core::request& call) const override {
    return enclose_in_balls<double>(call);
  }
  [[nodiscard]] rung_outputs enclose_in_two_doubles(const core::request& call) const override {
    return enclose_in_balls<two_double>(call);
  }
  [[nodiscard]] rung_outputs enclose(const core::request& call, unsigned digits) const override {
    const computing_with_digits precision(digits);
    return rounded_fields(call, evaluate<heinsen, enclosure>(lift<enclosure>(call), {}), round_enclosure);
  }
  [[nodiscard]] std::vector<law_outputs> laws(const core::request& call, const std::vector<accuracy_class>& classes,
                                              const core::precisions& compute) const override;
  [[nodiscard]] std::map<std::string, xt::xarray<double>> tangent(const core::request& call,
                                                                  const core::tensors& direction) const override;
  /// The inputs are numbers of the storage dtype. A stage with a narrower format does not round inputs that it does not
  /// take.
  [[nodiscard]] core::tensors evaluate_in(const core::request& call, const core::precisions& formats,
                                          accuracy_class c) const override {
    const auto inputs = [&] {
      const computing_in storage(call.type);
      return lift<rounded>(call);
    }();
    const computing_in scope(formats);
    return run_on(call, inputs, heinsen::algorithm<rounded>(c));
  }

 private:
  core::encoding_summary summary_ = heinsen::summary();
  std::vector<declared_operation> operations_ = declared_operations<heinsen, tracked>();
};

std::vector<law_outputs> heinsen_owner::laws(const core::request& call, const std::vector<accuracy_class>& classes,
                                             const core::precisions& compute) const {
  using R = tracked;
  const computing_in format(compute);
  const arguments<R> in = lift<R>(call);
  heinsen::laws series;
  std::vector<law_outputs> all;
  for (const accuracy_class c : classes) {
    law_outputs& out = all.emplace_back();
    // Where the formula as written gives no number, there is no allowance. Where another algorithm gives none, it is
    // wrong there, and adds nothing to the allowance.
    const bool as_written = all.size() == 1;
    const auto allowed = [&](const R& x) { return as_written || std::isfinite(x.number) ? x.allowance() : 0.0; };
    for (const auto& [name, f] : evaluate<heinsen, R>(in, series.next(c)))
      out.emplace(name, law_output{numbers_of(f, allowed),
                                   numbers_of(f, [](const R& x) { return finite_magnitude(x.number); })});
  }
  return all;
}

std::map<std::string, xt::xarray<double>> heinsen_owner::tangent(const core::request& call,
                                                                 const core::tensors& direction) const {
  using R = reference::tangent;
  arguments<R> in = lift<R>(call);
  for (const auto& [name, t] : direction)
    for (std::size_t i = 0; i < t.size(); ++i)
      in.inputs.at(name).storage()[i].derivative = value(t.values.storage()[i]);
  std::map<std::string, xt::xarray<double>> out;
  for (const auto& [name, f] : evaluate<heinsen, R>(in, {}))
    out.emplace(name, numbers_of(f, [](const R& x) { return x.derivative.to_double(); }));
  return out;
}

}  // namespace

template <>
std::unique_ptr<const formula_owner> make_encoding_owner<heinsen>() {
  return std::make_unique<heinsen_owner>();
}

template <>
core::tensors run_scheme<heinsen>(const core::request& call, const plain_scheme<heinsen>& steps,
                                  const core::precisions& formats) {
  const computing_in scope(formats);
  return run_on(call, lift<rounded>(call), steps);
}

}  // namespace assay::reference
