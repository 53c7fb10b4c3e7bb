// What tests of tables share, whose rows belong to a position, or to another number, each: families of positions and of
// other numbers, sizes, and a table by hand.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "properties/harness/catalogue.hpp"

namespace assay::properties {

/// What the numbers of an input are drawn for, and from.
struct drawing {
  core::dtype type;
  const core::attributes& settings;
  double furthest;  ///< position: it is finite in f16, as are sums over positions where there is a gradient
  core::counter_random& random;
};
/// Fills as many numbers as are there; they are rounded to their dtype afterwards.
using number_filler = std::function<void(std::vector<double>& x, const drawing& from)>;

/// Numbers one by one.
number_filler each(double (*number)(const drawing& from));
/// One of these positions for each row, none beyond the furthest.
number_filler one_of(std::vector<double> positions);
/// One in four of these numbers is a NaN.
number_filler with_nan(number_filler usual);

/// Positions one after another, from 0 or a little later; or from one of these on.
void in_a_row(std::vector<double>& positions, const drawing& from);
number_filler in_a_row_from(std::vector<double> first);
/// Positions that some format cannot tell from their neighbours, and the ends of ranges of integers.
extern const std::vector<double> hard_positions;

/// A family of the operations whose inputs are among these. Rows are as many as hold some hundred elements; other axes
/// have up to four.
family table_family(std::string name, std::string summary, std::map<std::string, number_filler> inputs);
/// The same without operations whose positions are integers.
family of_real_numbers(family f);

/// Many rows, wide ones, whole blocks and nearly whole ones, of an operation with rows along "n" and this axis of
/// columns, of which `each` of it has so many.
std::vector<usual_size> table_sizes(const std::string& operation, const std::string& columns, std::size_t each = 1);

/// The elements of the only output, proved and rounded once, of a call in f64.
std::vector<double> table_by_hand(const char* operation, const std::map<std::string, std::vector<double>>& inputs,
                                  core::attributes settings = {});

}  // namespace assay::properties
