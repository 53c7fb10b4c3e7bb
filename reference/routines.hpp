// What each encoding compiles to. The templates are defined and instantiated in one translation unit per encoding and
// kind of reading (see instantiate/): multiprecision templates are slow to compile, so each is compiled once.
#pragma once

#include "reference/formula_owner.hpp"
#include "reference/operation_record.hpp"
#include "reference/oracle.hpp"
#include "reference/readings/reading.hpp"
#include "reference/readings/two_double.hpp"
#include "reference/rung_output.hpp"

namespace assay::reference {

/// Its operations and their derivatives.
template <class Encoding>
std::vector<declared_operation> declare();

template <class Encoding>
core::encoding_summary summary_of();

/// In balls of one double or of two (readings/ball.hpp).
template <class Encoding, class Number>
rung_outputs enclose_in_balls(const core::request& call);

/// In intervals of so many decimal digits.
template <class Encoding>
rung_outputs enclose(const core::request& call, unsigned digits);

/// Of arithmetic in the formats `compute`, for each of the classes, which ascend.
template <class Encoding>
std::vector<law_outputs> laws(const core::request& call, const std::vector<accuracy_class>& classes,
                              const core::precisions& compute);

template <class Encoding>
std::map<std::string, xt::xarray<double>> differentiate(const core::request& call, const core::tensors& direction);

/// A reading's numbers as plain doubles.
template <class R, class Number>
xt::xarray<double> numbers_of(const field<R>& f, Number number) {
  xt::xarray<double> out = xt::xarray<double>::from_shape(f.shape());
  for (std::size_t i = 0; i < f.size(); ++i) out.storage()[i] = number(f.storage()[i]);
  return out;
}

}  // namespace assay::reference
