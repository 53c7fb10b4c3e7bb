// The header of a safetensors file: names, dtypes, shapes and the places of the bytes.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "golden/formats/file.hpp"
#include "golden/formats/strict_json.hpp"
#include "reference/core/tensor.hpp"

namespace assay::formats {

/// The header may have this many bytes, padding included.
inline constexpr std::uint64_t max_header_bytes = 1u << 20;

struct tensor_entry {
  std::string name;
  core::dtype type = core::dtype::f64;
  core::shape shape;
  std::uint64_t begin = 0, end = 0;  ///< within the data after the header
};

/// The texts of "__metadata__", by name.
using metadata = std::map<std::string, std::string>;

struct header {
  std::vector<tensor_entry> entries;  ///< in the order of their bytes
  metadata about;
};

/// The name of a dtype in safetensors: "F64", ..., "BOOL".
std::string_view safetensors_name(core::dtype type);

/// The broken rule, and whether the data ends before the tensors do or continues after them.
struct header_error : json_error {
  file_fault kind = file_fault::other;
};

/// The entries are known to cover [0, data_bytes) exactly, without gap or overlap, and each to have as many bytes as
/// its shape and dtype ask for.
tl::expected<header, header_error> parse_header(std::string_view text, std::uint64_t data_bytes);

/// The header of these entries, padded with spaces to a multiple of 8 bytes; "__metadata__" comes first, and only where
/// it is not empty. Throws nlohmann::json::exception where a text is not UTF-8.
std::string format_header(const std::vector<tensor_entry>& entries, const metadata& about = {});

}  // namespace assay::formats
