#include "reference/formula/evaluate.hpp"

#include "reference/formula/tensors_of.hpp"
#include "reference/readings/round_ball.hpp"
#include "reference/readings/round_enclosure.hpp"
#include "reference/rung_proof.hpp"

namespace assay::reference::formula {
namespace {

rounding rounding_of(boost::tribool x) {
  if (!boost::indeterminate(x)) return {x ? 1.0 : 0.0, 0.0, 0.0, true, true};
  return {0.0, 0.0, 1.0, false, false};
}
rounding unknown_rounding() {
  return {std::numeric_limits<double>::quiet_NaN(), 0.0, std::numeric_limits<double>::infinity(), false, false};
}

// Of an output of a program with these elements; `round` takes a real.
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
        return rung_output::of(own, all, [](const rounding& r) { return r; });
      },
      made);
}

// Nothing is decided.
rung_outputs nothing_known(const program& p, core::dtype storage) {
  rung_outputs out;
  for (const program::output& o : p.outputs()) {
    const array_type& type = p.type_of(o.of);
    xt::xarray<int> none = xt::xarray<int>::from_shape(type.shape);
    out.emplace(o.name,
                rung_output::of(type_of_output(type.kind, storage), none, [](int) { return unknown_rounding(); }));
  }
  return out;
}

template <class R, class Round>
rung_outputs enclosed(const program& p, const core::tensors& inputs, core::dtype storage, Round round) {
  const auto lifts = lifted<R>(p, inputs);
  rung_outputs out;
  const auto made = interpreter<R>(p, lifts).run();
  for (const program::output& o : p.outputs())
    out.emplace(o.name, rounded_output<R>(p.type_of(o.of), storage, made.at(o.name), round));
  return out;
}

// Where a formula branched on an unknown number, neither values nor an error of integers say anything.
template <class Number>
rung_outputs enclosed_in_balls(const program& p, const core::tensors& inputs, core::dtype storage) {
  undecided_branches::take();
  rung_outputs out;
  try {
    out = enclosed<ball<Number>>(p, inputs, storage,
                                 [](core::dtype t, const ball<Number>& x) { return round_ball(t, x); });
  } catch (const evaluation_error&) {
    if (!undecided_branches::take()) throw;
    throw undecided_integer();
  }
  if (undecided_branches::take()) throw undecided_integer();
  return out;
}

rung_outputs enclose_on(std::size_t rung, const program& p, const core::tensors& inputs, core::dtype storage) {
  try {
    if (rung == first_ball_rung) return enclosed_in_balls<double>(p, inputs, storage);
    if (rung < first_interval_rung) return enclosed_in_balls<two_double>(p, inputs, storage);
    const computing_with_digits precision(precision_digits[rung - first_interval_rung]);
    return enclosed<enclosure>(p, inputs, storage,
                               [](core::dtype t, const enclosure& x) { return round_enclosure(t, x); });
  } catch (const undecided_integer&) {
    return nothing_known(p, storage);
  }
}

// Takes what a rung has proved of what is open; how much then still is.
std::size_t take(certified_outputs& out, rung_outputs&& found, std::size_t rung, proof wanted) {
  std::size_t open = 0;
  for (auto& [name, proved] : found) {
    certified& c = out[name];
    const std::size_t size = proved.rounded.size();
    if (c.rung.empty()) c = {proved.rounded, proved.low, proved.radius, std::vector<std::uint8_t>(size, undecided)};
    for (std::size_t i = 0; i < size; ++i) {
      if (c.rung[i] != undecided) continue;
      c.rounded.values.storage()[i] = proved.rounded.values.storage()[i];
      c.low.storage()[i] = proved.low.storage()[i];
      c.radius.storage()[i] = proved.radius.storage()[i];
      if (is_proved(proved, i, wanted))
        c.rung[i] = static_cast<std::uint8_t>(rung);
      else
        ++open;
    }
  }
  return open;
}

}  // namespace

core::result<certified_outputs> certify(const program& p, const core::tensors& inputs, core::dtype storage,
                                        std::size_t precisions, proof wanted) {
  ASSAY_EXPECTS(core::is_floating(storage));
  if (auto ok = check_inputs(p, inputs); !ok) return tl::make_unexpected(ok.error());
  const std::size_t last = first_interval_rung + std::min(precisions, precision_digits.size());
  certified_outputs out;
  try {
    for (std::size_t rung = first_ball_rung; rung < last; ++rung) {
      // Balls prove no remainder, and one double decides no rounding to f64 but of what is exact.
      if (rung < first_interval_rung && wanted == proof::value_and_low) continue;
      if (rung == first_ball_rung && storage == core::dtype::f64) continue;
      if (take(out, enclose_on(rung, p, inputs, storage), rung, wanted) == 0) break;
    }
  } catch (const evaluation_error& e) {
    return core::failure(e.what());
  }
  return out;
}

}  // namespace assay::reference::formula
