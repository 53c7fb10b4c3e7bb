// Candidates that are Python functions, run by the shipped host.
#pragma once

#include <memory>
#include <string>

#include "tools/transports/process.hpp"

namespace assay::transports {

/// The folder of the Python package `assay`: <prefix>/share/assay/python/assay, if this program is <prefix>/bin/assay,
/// or <prefix> itself, as in a wheel. The build tree is a prefix, with a link to the sources. Throws
/// std::runtime_error, which names the folder, if the host is missing: an incomplete installation is Assay's own fault,
/// not a candidate's.
std::filesystem::path python_package();

/// $ASSAY_PYTHON, which the command of a wheel sets to the Python of its environment; else python3 on PATH.
std::string python_interpreter();

/// A function or an assay.Candidate in a module.
struct python_function {
  std::string module;     ///< importable, with the current folder first on the path; or a path that ends in .py
  std::string function;   ///< a name in it, such as "scan" or "model.scan"
  std::string operation;  ///< the operation that the function computes; empty: the names of its parameters decide
};

/// "MODULE:FUNCTION" or "MODULE:FUNCTION@OPERATION". A path may contain colons and "@": the function follows the last
/// colon, or the last one before the operation. An unknown operation is an error that lists near names.
core::result<python_function> parse_python_function(const std::string& text);

process_candidate::started start_python(const python_function& wanted, const process_limits& limits = {});

}  // namespace assay::transports
