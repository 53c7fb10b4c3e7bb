// Tensors in safetensors files: written atomically and reproducibly, read as if hostile.
//
// Format (huggingface/safetensors, README): the length of the header as an unsigned 64-bit integer, the header as JSON,
// then the bytes of the tensors, all little-endian and without gaps.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "golden/formats/file.hpp"
#include "golden/formats/safetensors_header.hpp"
#include "reference/core/result.hpp"
#include "reference/core/tensor.hpp"

namespace assay::formats {

struct read_limits {
  std::uint64_t file_bytes = std::uint64_t{1} << 30;  ///< bytes of the whole file
  std::uint64_t elements = std::uint64_t{1} << 28;    ///< elements of all tensors together; each takes 8 bytes
};

/// The bytes of a file of these tensors. The tensors with the widest elements come first (so that each is aligned), and
/// otherwise they are sorted by name: the same tensors give the same bytes. An error where a value is no value of its
/// dtype or a name is not UTF-8.
core::result<std::string> safetensors_bytes(const core::tensors& tensors, const metadata& about = {});

/// The elements of a tensor as in a file, row-major and little-endian; and back, from as many bytes as the shape needs.
/// An error where an element is no value of the dtype.
core::result<std::string> tensor_bytes(const core::tensor& t);
core::result<core::tensor> tensor_from_bytes(core::dtype type, const core::shape& shape, std::string_view bytes);

/// Writes the tensors to a file of a temporary name in the same folder, and renames it (without fsync: atomic for other
/// processes, not across a loss of power). After an error no temporary file is left.
core::result<void> write_safetensors(const std::filesystem::path& path, const core::tensors& tensors);

/// Reads all tensors. Whatever the file holds, the result is the tensors or an error that names the file, the byte
/// (where one is to blame) and the broken rule. It refuses everything that parse_header refuses, and also: anything but
/// a regular file (symbolic links too), sizes above the limits, booleans other than 0 and 1, integers beyond 2^53 in
/// magnitude. NaNs may lose their payload. A file above a limit is `oversized`.
tl::expected<core::tensors, file_error> read_safetensors(const std::filesystem::path& path,
                                                         const read_limits& limits = {});

/// Tensors together with the texts of "__metadata__".
struct described_tensors {
  core::tensors tensors;
  metadata about;
};
tl::expected<described_tensors, file_error> read_described_safetensors(const std::filesystem::path& path,
                                                                       const read_limits& limits = {});
/// The same from the bytes of a file; error messages call the file `name`.
tl::expected<described_tensors, file_error> described_safetensors_from(std::string_view bytes, const std::string& name,
                                                                       const read_limits& limits = {});

}  // namespace assay::formats
