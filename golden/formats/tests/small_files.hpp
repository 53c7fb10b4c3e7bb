// Whole files as text, and the bytes of small safetensors files made by hand.
#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <string>

#include "reference/core/tensor.hpp"

namespace assay::formats::testing {

namespace fs = std::filesystem;
inline constexpr double inf = std::numeric_limits<double>::infinity();

inline std::ptrdiff_t entries_of(const fs::path& folder) {
  return std::distance(fs::directory_iterator(folder), fs::directory_iterator());
}

inline std::string slurp(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

inline void spill(const fs::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

inline std::string with_length(const std::string& header, const std::string& data = "") {
  std::string bytes;
  for (int i = 0; i < 8; ++i) bytes += static_cast<char>(header.size() >> (8 * i) & 0xff);
  return bytes + header + data;
}

// A header with the single tensor "x" and these members.
inline std::string x_entry(const std::string& dtype, const std::string& shape, const std::string& offsets) {
  return R"({"x":{"dtype":")" + dtype + R"(","shape":)" + shape + R"(,"data_offsets":)" + offsets + "}}";
}

inline core::tensors small_tensors() {
  return {{"a", core::make_tensor(core::dtype::f32, {2}, {1.5, -inf})},
          {"b", core::make_tensor(core::dtype::boolean, {1, 3}, {1, 0, 1})}};
}

}  // namespace assay::formats::testing
