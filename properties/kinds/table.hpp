// Code that tests of tables share. A table has a row for each position, or for each other number. The code makes
// families of positions and of other numbers, sizes, and a table by hand.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "properties/harness/catalogue.hpp"

namespace assay::properties {

/// The context in which the numbers of an input are drawn.
struct drawing {
  core::dtype type;
  const core::attributes& settings;
  double furthest;  ///< the largest position: finite in f16, as are sums over positions if there is a gradient
  core::counter_random& random;
};
/// Fills the vector, which has its size; the numbers are rounded to their dtype afterwards.
using number_filler = std::function<void(std::vector<double>& x, const drawing& from)>;

/// Draws numbers one by one.
number_filler each(double (*number)(const drawing& from));
/// One of these positions for each row, none beyond `furthest`.
number_filler one_of(std::vector<double> positions);
/// Makes one in four of these numbers a NaN.
number_filler with_nan(number_filler usual);

/// Consecutive positions, from 0 or a little later; or from one of these on.
void in_a_row(std::vector<double>& positions, const drawing& from);
number_filler in_a_row_from(std::vector<double> first);
/// Positions that some format cannot distinguish from their neighbours, and the ends of ranges of integers.
extern const std::vector<double> hard_positions;

/// A family for the operations whose inputs are among these. There are as many rows as hold some hundred elements;
/// other axes have up to four positions.
family table_family(std::string name, std::string summary, std::map<std::string, number_filler> inputs);
/// The same family without operations whose positions are integers.
family of_real_numbers(family f);

/// Many rows, wide rows, whole blocks and nearly whole ones, for an operation with rows along "n" and columns along
/// this axis. Each position of the axis has `each` columns.
std::vector<usual_size> table_sizes(const std::string& operation, const std::string& columns, std::size_t each = 1);

/// The elements of the only output of a call in f64, proved and rounded once.
std::vector<double> table_by_hand(const char* operation, const std::map<std::string, std::vector<double>>& inputs,
                                  core::attributes settings = {});

}  // namespace assay::properties
