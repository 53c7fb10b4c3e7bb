// A user's tensors against a golden set, by the assertion that is printed for users without Assay.
#pragma once

#include "golden/golden_set.hpp"

namespace assay::golden {

/// How far a user's number lies from a proved one.
struct distance {
  double ulp = 0;      ///< |x - truth| in ulp of y; 0 where x or y is not finite
  double ratio = 0;    ///< |x - y| / allowance
  bool right = false;  ///< within the allowance; special values by position and sign
};

/// Where the allowance is infinite any number of finite magnitude is right for a finite y; and of two numbers of the
/// same sign beyond half the largest, either may be infinite.
distance measure(core::dtype type, double x, double y, double low, double allow);

/// One output of one file.
struct comparison {
  std::string file, output;
  bool missing = false;  ///< the user has no such file
  double largest_ulp = 0, largest_ratio = 0;
  std::size_t elements = 0, wrong = 0;
  std::size_t first_wrong = 0;
  core::shape shape;

  [[nodiscard]] bool passed() const { return !missing && wrong == 0; }
};

/// An output against the golden tensor of the same name by one of the allowances beside it. Precondition: it has its
/// shape; `arithmetic` is one of arithmetics_of its dtype.
comparison compare_output(const golden_file& golden, const std::string& name, const core::tensor& came, question asked,
                          core::dtype arithmetic);

/// Whether all outputs lie within the allowance.
bool agrees(const golden_file& golden, const core::tensors& outputs, question asked, core::dtype arithmetic);

/// The outputs in a file of a user, under their names; inputs and what else the golden file holds may be there, too.
core::result<core::tensors> outputs_of(const set_file& f, const std::filesystem::path& path);

}  // namespace assay::golden
