// JSON from sources that are not trusted, read strictly.
//
// nlohmann::json's own parser takes the last of two equal keys, and it takes a NUL byte for the end of the text. Here
// both are errors. Its get<std::uint64_t>() gives a number even for `1e3`, `-1` and 2^64. Here these are errors if
// json_rules::counts_only is set.
#pragma once

#include <cstddef>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

namespace assay::formats {

struct json_rules {
  bool counts_only = false;    ///< every number is an integer from 0 to 2^64 - 1, without fraction or exponent
  std::size_t max_depth = 16;  ///< depth of arrays and objects within one another
};

struct json_error {
  std::size_t offset = 0;  ///< the byte of the text that breaks the rule
  std::string rule;
};

struct json_document {
  nlohmann::json value;
  /// The offset of each key of the outermost object, for errors that are found later.
  std::map<std::string, std::size_t> key_offsets;
};

/// Reads the whole text as one JSON object. It refuses malformed JSON (RFC 8259) and invalid UTF-8, and also: a first
/// byte other than '{' (byte order marks too), duplicate keys, NUL bytes, trailing bytes, numbers that overflow a
/// double, and what `rules` forbids.
tl::expected<json_document, json_error> parse_strict_json(std::string_view text, json_rules rules = {});

}  // namespace assay::formats
