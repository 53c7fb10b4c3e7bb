// A user's tensors against a golden set.
#pragma once

#include "golden/golden_set.hpp"

namespace assay::golden {

/// How far a user's number lies from a proved one.
struct distance {
  double ulp = 0;      ///< |x - truth| in ulp of y; 0 where x or y is not finite
  double ratio = 0;    ///< |x - y| / y:allow
  bool right = false;  ///< within y:allow; special values by position and sign
};

/// Where y:allow is infinite any number of finite magnitude is right for a finite y; and of two numbers of the
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

struct set_comparison {
  std::vector<comparison> rows;
  std::vector<std::string> errors;  ///< files that cannot be compared, and why
};

/// Compares files of the same names in `user` that hold the outputs under their names (whatever else the set's
/// file holds may be there too). Precondition: check_set finds no problem in `folder`.
core::result<set_comparison> compare_set(const std::filesystem::path& folder, const std::filesystem::path& user);

}  // namespace assay::golden
