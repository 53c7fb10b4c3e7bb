// Candidates that are Python functions: the shipped host around them.
#pragma once

#include <memory>
#include <string>

#include "tools/transports/process.hpp"

namespace assay::transports {

/// The folder of the package `assay` of Python: <prefix>/share/assay/python/assay, where this program is
/// <prefix>/bin/assay, or <prefix> itself, as in a wheel. The build tree is a prefix, with a link to the sources.
/// Throws std::runtime_error, which names the folder, where the host is not there: an incomplete installation is a
/// fault of Assay's own, not of a candidate.
std::filesystem::path python_package();

/// $ASSAY_PYTHON, which the command of a wheel sets to that of its environment, else python3 on PATH.
std::string python_interpreter();

/// A function or assay.Candidate of a module.
struct python_function {
  std::string module;     ///< importable, with the current folder first on the path; or a path that ends in .py
  std::string function;   ///< a name in it, such as "scan" or "model.scan"
  std::string operation;  ///< what the function computes; empty: the names of its parameters say it
};

/// "MODULE:FUNCTION" or "MODULE:FUNCTION@OPERATION". A path may hold colons and "@": the function stands behind the
/// last colon, or behind the last one before the operation. An unknown operation is an error that names those near it.
core::result<python_function> parse_python_function(const std::string& text);

process_candidate::started start_python(const python_function& wanted, const process_limits& limits = {});

}  // namespace assay::transports
