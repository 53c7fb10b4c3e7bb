#include "reference/formula/rungs.hpp"
#include "reference/formula/tensors_of.hpp"

namespace assay::reference::formula {
namespace {

constexpr double nothing_judged = std::numeric_limits<double>::quiet_NaN();

law_output law_output_of(const core::shape& shape, const array<tracked>& made, no_number without) {
  law_output out{xt::zeros<double>(shape), xt::zeros<double>(shape)};
  const auto each = [&](const auto& values, auto allowance) {
    for (std::size_t i = 0; i < values.size(); ++i) out.k.storage()[i] = allowance(values[i]);
  };
  if (const auto* reals_made = std::get_if<reals<tracked>>(&made)) {
    const bool as_written = without == no_number::has_no_allowance;
    each(*reals_made, [&](const tracked& x) { return as_written || std::isfinite(x.number) ? x.allowance() : 0.0; });
    std::ranges::transform(*reals_made, out.magnitude.storage().begin(),
                           [](const tracked& x) { return finite_magnitude(x.number); });
  } else if (const auto* truths_made = std::get_if<truths>(&made)) {
    each(*truths_made, [](boost::tribool x) { return boost::indeterminate(x) ? nothing_judged : 0.0; });
  }
  return out;
}

core::tensor rounded_tensor(const array_type& type, core::dtype storage, const array<rounded>& made) {
  std::vector<double> all;
  std::visit(
      [&]<class T>(const std::vector<T>& values) {
        for (const T& x : values) {
          if constexpr (std::is_same_v<T, rounded>)
            all.push_back(core::round_to(storage, x.number));
          else if constexpr (std::is_same_v<T, boost::tribool>)
            all.push_back(x ? 1.0 : 0.0);
          else
            all.push_back(number_of(x));
        }
      },
      made);
  return {type_of_output(type.kind, storage), shaped(type.shape, all)};
}

}  // namespace

law_outputs law_of(const program& p, const core::tensors& inputs, const core::precisions& compute,
                   const std::vector<std::string>& stages, no_number without) {
  const computing_in format(compute);
  const auto lifts = lifted<tracked>(p, inputs);
  law_outputs out;
  try {
    const auto made = interpreter<tracked>(p, lifts, stages).run();
    for (const program::output& o : p.outputs())
      out.emplace(o.name, law_output_of(p.type_of(o.node).shape, made.at(o.name), without));
  } catch (const undecided_integer&) {
    for (const program::output& o : p.outputs()) {
      const core::shape& shape = p.type_of(o.node).shape;
      const auto all = [&](double x) { return shaped(shape, std::vector<double>(elements_of(shape), x)); };
      out.emplace(o.name, law_output{all(nothing_judged), all(0.0)});
    }
  }
  return out;
}

core::tensors plain_arithmetic(const program& p, const core::tensors& inputs, const storage_of& storage,
                               const core::precisions& formats, const std::vector<std::string>& stages) {
  // The inputs are numbers of their dtype. A stage with a narrower format does not round inputs that it does not take.
  const auto lifts = [&] {
    const computing_in exact(core::dtype::f64);
    return lifted<rounded>(p, inputs);
  }();
  const computing_in scope(formats);
  core::tensors out;
  const auto made = interpreter<rounded>(p, lifts, stages).run();
  for (const program::output& o : p.outputs())
    out.emplace(o.name, rounded_tensor(p.type_of(o.node), storage(o.name), made.at(o.name)));
  return out;
}

}  // namespace assay::reference::formula
