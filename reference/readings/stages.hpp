// The stages of a formula. A formula marks the parts that an implementation may compute in a format of their own:
//
//   const R angle = in_stage<R>(rotary_stage::angle, [](const R& m, const R& t) { return m * t; }, position, theta);
//
// Readings without a format ignore stages; a reading that records (formula/recording.hpp) notes the stage. In `rounded`
// the results of a stage are rounded to its format. In `tracked` its roundings have its u: inside a stage errors are
// counted in units of its own u, outside in units of the least precise one. Numbers that enter or leave are converted,
// exactly, since the ratios are powers of two. So a reading needs to know nothing about stages, and where all stages
// have one format, nothing changes.
//
// A stage takes its operands as they are. Where its format is the format of a matrix product, operands are rounded to
// it, too, and the formula says so by taken_by().
#pragma once

#include <cstddef>
#include <functional>
#include <type_traits>
#include <vector>

#include "reference/readings/reading.hpp"
#include "reference/readings/working_format.hpp"

namespace assay::reference {

/// A reading that rounds, or that counts roundings. in_units(x, f) is x with its error in units that are 1 / f as
/// large.
template <class R>
concept computes_in_formats = requires(const R& x) {
  x.in_units(1.0);
  x.rounded_once();
};

/// A step of a scheme. Algorithms, laws and mutants replace steps; all of them are evaluated in readings that compute
/// in formats. A proof evaluates the formula as it stands, so a pointer to the step is enough, and compiles faster.
template <class R, class Signature>
using scheme_step = std::conditional_t<computes_in_formats<R>, std::function<Signature>, Signature*>;

template <computes_in_formats R>
R in_units(const R& x, double factor) {
  return x.in_units(factor);
}
template <computes_in_formats R>
accumulator<R> in_units(const accumulator<R>& x, double factor) {
  return x.in_units(factor);
}
template <class T>
std::vector<T> in_units(std::vector<T> all, double factor) {
  for (T& x : all) x = in_units(x, factor);
  return all;
}
template <computes_in_formats R>
field<R> in_units(field<R> all, double factor) {
  for (R& x : all.storage()) x = in_units(x, factor);
  return all;
}

/// f(operands...), computed in the format of a stage. The stage is an index, or an enumerator of the stages in the
/// order in which the operation declares them. Operands and results of other types need an overload of in_units.
template <class R, class Stage, class F, class... Operands>
auto in_stage(Stage stage, F&& f, const Operands&... operands) {
  if constexpr (requires { typename R::stage_scope; }) {
    const typename R::stage_scope scope(static_cast<std::size_t>(stage));
    return f(operands...);
  }
  if constexpr (computes_in_formats<R>) {
    if (stages_differ()) {
      const working_format& inside = format_of_stage(static_cast<std::size_t>(stage));
      const double ratio = arithmetic().u / inside.u;
      const switched_to scope(inside);
      return in_units(f(in_units(operands, ratio)...), 1.0 / ratio);
    }
  }
  return f(operands...);
}

/// The total of a sum that belongs to a stage.
template <class R, class Stage>
R total_in(Stage stage, const accumulator<R>& sum) {
  return in_stage<R>(
      stage, [](const accumulator<R>& s) { return s.total(); }, sum);
}

/// x of one stage, as the matrix products of another stage take it: rounded where their format is less precise.
template <class R, class Stage>
R taken_by(Stage into, Stage from, const R& x) {
  if constexpr (computes_in_formats<R>)
    if (stages_differ() &&
        format_of_stage(static_cast<std::size_t>(into)).u > format_of_stage(static_cast<std::size_t>(from)).u)
      return in_stage<R>(
          into, [](const R& y) { return y.rounded_once(); }, x);
  return x;
}
template <class R, class Stage>
field<R> taken_by(Stage into, Stage from, field<R> all) {
  if constexpr (computes_in_formats<R>)
    if (stages_differ())
      for (R& x : all.storage()) x = taken_by(into, from, x);
  return all;
}

}  // namespace assay::reference
