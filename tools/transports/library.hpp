// An implementation in a shared library, loaded into this process: see tools/adapters/c/assay_candidate.h.
#pragma once

#include <cfenv>
#include <filesystem>
#include <map>
#include <string>

#include "properties/harness/implementation.hpp"
#include "tools/adapters/c/assay_candidate.h"

namespace assay::transports {

/// Loads a library and calls it. Everything the library does happens in this process: another process must notice
/// crashes. The library is never unloaded (its threads may still run).
class library_candidate {
 public:
  /// An error if the file is no loadable library, exports no assay_candidate_v1, has another ABI version, or describes
  /// itself wrongly.
  static core::result<library_candidate> open(const std::filesystem::path& path);

  /// Its hello, as a line of JSON. The names of operations and dtypes are those that the library gives.
  [[nodiscard]] const std::string& hello() const { return hello_; }

  /// Precondition: check_inputs accepts the inputs. Errors that it detects: a write outside an output (within 64 bytes
  /// of it), a write to an input, and an exception.
  [[nodiscard]] properties::call_result evaluate(const properties::request& call) const;

 private:
  std::string hello_;
  std::map<std::string, int (*)(assay_call*)> operations_;
  /// The environment of the library alone: a library built with -ffast-math makes the process that loads it flush
  /// subnormals, but Assay's own computations must not flush them.
  std::fenv_t environment_{};
};

}  // namespace assay::transports
