// An implementation in a shared library, loaded into this process: see tools/adapters/c/assay_candidate.h.
#pragma once

#include <cfenv>
#include <filesystem>
#include <map>
#include <string>

#include "properties/harness/implementation.hpp"
#include "tools/adapters/c/assay_candidate.h"

namespace assay::transports {

/// Loads a library and calls it. Whatever the library does happens to this process: crashes are for another one
/// to notice. The library is never unloaded (threads of it may still run).
class library_candidate {
 public:
  /// An error where the file is no library that can be loaded, exports no assay_candidate_v1, has another ABI
  /// version, or describes itself wrongly.
  static core::result<library_candidate> open(const std::filesystem::path& path);

  /// Its hello, a line of JSON. The names of operations and dtypes are as the library gives them.
  [[nodiscard]] const std::string& hello() const { return hello_; }

  /// Precondition: check_inputs accepts the inputs. Noticed as an error: a write outside an output (within 64
  /// bytes of it), to an input, or an exception.
  [[nodiscard]] properties::call_result evaluate(const properties::request& call) const;

 private:
  std::string hello_;
  std::map<std::string, int (*)(assay_call*)> operations_;
  /// Of the library alone: one built with -ffast-math makes whoever loads it flush subnormals, and what Assay
  /// itself computes must not be.
  std::fenv_t environment_{};
};

}  // namespace assay::transports
