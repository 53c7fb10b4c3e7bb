// Compares a user's tensors with a golden set, by the rule that golden/README.md gives to users without Assay.
#pragma once

#include "golden/golden_set.hpp"

namespace assay::golden {

/// The distance of a user's number from a proved one.
struct distance {
  double ulp = 0;      ///< |x - truth| in ulp of y; 0 where x or y is not finite
  double ratio = 0;    ///< |x - y| / allowance; 0 where the allowance is 0, or where x or y is not finite
  bool right = false;  ///< x lies within the allowance, or is the same special value as y
};

/// The distance of the user's number x from the proved y, where the truth is y + low and `allow` is the allowance.
/// Where the allowance is infinite, any finite number is right for a finite y; and two numbers of the same sign beyond
/// half the largest number agree even where one of them is infinite.
distance measure(core::dtype type, double x, double y, double low, double allow);

/// The comparison of one output of one file.
struct comparison {
  std::string file, output;
  bool missing = false;  ///< the user has no such file
  double largest_ulp = 0, largest_ratio = 0;
  std::size_t elements = 0, wrong = 0;
  std::size_t first_wrong = 0;
  core::shape shape;

  [[nodiscard]] bool passed() const { return !missing && wrong == 0; }
};

/// Compares an output with the golden tensor of the same name, by one of its allowances. Precondition: `given` has the
/// shape of the golden tensor, and `arithmetic` is one of arithmetics_of its dtype.
comparison compare_output(const golden_file& golden, const std::string& name, const core::tensor& given, question kind,
                          core::dtype arithmetic);

/// Whether all elements of all outputs lie within the allowance.
bool agrees(const golden_file& golden, const core::tensors& outputs, question kind, core::dtype arithmetic);

/// The outputs in a file of a user, by their names; the file may also have inputs and other tensors of the golden file.
core::result<core::tensors> outputs_of(const set_file& f, const std::filesystem::path& path);

}  // namespace assay::golden
