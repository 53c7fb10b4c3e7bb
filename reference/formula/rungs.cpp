#include "reference/formula/rungs.hpp"

#include "reference/formula/tensors_of.hpp"
#include "reference/readings/round_ball.hpp"
#include "reference/readings/round_enclosure.hpp"

namespace assay::reference::formula {
namespace {

rounding rounding_of(boost::tribool x) {
  if (!boost::indeterminate(x)) return {x ? 1.0 : 0.0, 0.0, 0.0, true, true};
  return {0.0, 0.0, 1.0, false, false};
}
rounding unknown_rounding() {
  return {std::numeric_limits<double>::quiet_NaN(), 0.0, std::numeric_limits<double>::infinity(), false, false};
}

// An output of a program with these elements; `round` takes a real.
template <class R, class Round>
rung_output rounded_output(const array_type& type, core::dtype storage, const array<R>& made, Round round) {
  const core::dtype own = type_of_output(type.kind, storage);
  return std::visit(
      [&]<class T>(const std::vector<T>& values) {
        xt::xarray<rounding> all = xt::xarray<rounding>::from_shape(type.shape);
        for (std::size_t i = 0; i < values.size(); ++i) {
          if constexpr (std::is_same_v<T, std::int64_t>)
            all.storage()[i] = {number_of(values[i]), 0.0, 0.0, true, true};
          else if constexpr (std::is_same_v<T, boost::tribool>)
            all.storage()[i] = rounding_of(values[i]);
          else
            all.storage()[i] = round(own, values[i]);
        }
        return rung_output::from_field(own, all, [](const rounding& r) { return r; });
      },
      made);
}

// Outputs where nothing is decided.
rung_outputs nothing_known(const program& p, const storage_of& storage) {
  rung_outputs out;
  for (const program::output& o : p.outputs()) {
    const array_type& type = p.type_of(o.node);
    xt::xarray<int> none = xt::xarray<int>::from_shape(type.shape);
    out.emplace(o.name, rung_output::from_field(type_of_output(type.kind, storage(o.name)), none,
                                                [](int) { return unknown_rounding(); }));
  }
  return out;
}

template <class R, class Round>
rung_outputs decided(const program& p, const core::tensors& inputs, const storage_of& storage, Round round) {
  const auto lifts = lifted<R>(p, inputs);
  rung_outputs out;
  const auto made = interpreter<R>(p, lifts).run();
  for (const program::output& o : p.outputs())
    out.emplace(o.name, rounded_output<R>(p.type_of(o.node), storage(o.name), made.at(o.name), round));
  return out;
}

// Where a formula branched on an unknown number, its values and its errors of integers prove nothing.
template <class R, class Round>
rung_outputs enclosed(const program& p, const core::tensors& inputs, const storage_of& storage, Round round) {
  undecided_branches::take();
  try {
    rung_outputs out = decided<R>(p, inputs, storage, round);
    return undecided_branches::take() ? nothing_known(p, storage) : out;
  } catch (const undecided_integer&) {
    undecided_branches::take();
    return nothing_known(p, storage);
  } catch (const evaluation_error&) {
    if (!undecided_branches::take()) throw;
    return nothing_known(p, storage);
  }
}

}  // namespace

rung_outputs enclose(const program& p, const core::tensors& inputs, const storage_of& storage,
                     doubles doubles_per_number) {
  if (doubles_per_number == doubles::one) return enclosed<double_ball>(p, inputs, storage, round_ball<double>);
  return enclosed<two_double_ball>(p, inputs, storage, round_ball<two_double>);
}

rung_outputs enclose(const program& p, const core::tensors& inputs, const storage_of& storage, unsigned digits) {
  const computing_with_digits precision(digits);
  return enclosed<enclosure>(p, inputs, storage, round_enclosure);
}

}  // namespace assay::reference::formula
