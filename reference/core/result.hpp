// Expected failures (files, arguments, unknown names) are values; contract violations throw.
#pragma once

#include <stdexcept>
#include <string>
#include <tl/expected.hpp>

namespace assay::core {

/// Names the thing that went wrong, what was expected and what came.
struct error {
  std::string message;
};

template <class T>
using result = tl::expected<T, error>;

///     core::result<int> threads_of(const std::string& text) {
///       if (text.empty()) return core::failure("threads: a number is expected, and nothing came");
///       return std::stoi(text);
///     }
inline tl::unexpected<error> failure(std::string message) { return tl::make_unexpected(error{std::move(message)}); }

/// A broken precondition of a public function: a fault of the caller, never of the data.
struct contract_violation : std::logic_error {
  using std::logic_error::logic_error;
};

}  // namespace assay::core

#define ASSAY_STRINGIZE_(x) #x
#define ASSAY_STRINGIZE(x) ASSAY_STRINGIZE_(x)
/// Checks a precondition in every build.
#define ASSAY_EXPECTS(condition)                                                                                \
  do {                                                                                                          \
    if (!(condition))                                                                                           \
      throw ::assay::core::contract_violation(__FILE__ ":" ASSAY_STRINGIZE(__LINE__) ": requires " #condition); \
  } while (false)
