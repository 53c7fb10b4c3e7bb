#include "reference/formula/evaluate.hpp"
#include "reference/formula/tensors_of.hpp"

namespace assay::reference::formula {
namespace {

constexpr double no_number = std::numeric_limits<double>::quiet_NaN();

xt::xarray<double> allowances_of(const core::shape& shape, const array<tracked>& made) {
  return std::visit(
      [&]<class T>(const std::vector<T>& values) {
        std::vector<double> k;
        for (const T& x : values) {
          if constexpr (std::is_same_v<T, tracked>)
            k.push_back(x.allowance());
          else if constexpr (std::is_same_v<T, boost::tribool>)
            k.push_back(boost::indeterminate(x) ? no_number : 0.0);
          else
            k.push_back(0.0);
        }
        return shaped(shape, k);
      },
      made);
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

core::result<std::map<std::string, xt::xarray<double>>> allow(const program& p, const core::tensors& inputs,
                                                              const core::precisions& compute,
                                                              const std::vector<std::string>& stages) {
  if (auto ok = check_inputs(p, inputs); !ok) return tl::make_unexpected(ok.error());
  const computing_in format(compute);
  const auto lifts = lifted<tracked>(p, inputs);
  std::map<std::string, xt::xarray<double>> out;
  try {
    const auto made = interpreter<tracked>(p, lifts, stages).run();
    for (const program::output& o : p.outputs()) out[o.name] = allowances_of(p.type_of(o.of).shape, made.at(o.name));
  } catch (const undecided_integer&) {
    for (const program::output& o : p.outputs()) {
      const core::shape& shape = p.type_of(o.of).shape;
      out[o.name] = shaped(shape, std::vector<double>(elements_of(shape), no_number));
    }
  } catch (const evaluation_error& e) {
    return core::failure(e.what());
  }
  return out;
}

core::result<core::tensors> evaluate_in(const program& p, const core::tensors& inputs, core::dtype storage,
                                        const core::precisions& formats, const std::vector<std::string>& stages) {
  ASSAY_EXPECTS(core::is_floating(storage));
  if (auto ok = check_inputs(p, inputs); !ok) return tl::make_unexpected(ok.error());
  // The inputs are numbers of their dtype: no stage that is narrower rounds those that it does not take.
  const auto lifts = [&] {
    const computing_in exact(core::dtype::f64);
    return lifted<rounded>(p, inputs);
  }();
  const computing_in scope(formats);
  core::tensors out;
  try {
    const auto made = interpreter<rounded>(p, lifts, stages).run();
    for (const program::output& o : p.outputs())
      out.emplace(o.name, rounded_tensor(p.type_of(o.of), storage, made.at(o.name)));
  } catch (const evaluation_error& e) {
    return core::failure(e.what());
  }
  return out;
}

}  // namespace assay::reference::formula
