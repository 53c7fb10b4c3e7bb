// Files of the operating system for the readers and writers of this folder.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "reference/core/result.hpp"

namespace assay::formats {

/// The faults of a file that a program needs to tell apart.
enum class file_fault { other, missing, truncated, oversized };
struct file_error : core::error {
  file_fault kind = file_fault::other;
};

/// A regular file opened for reading. Opening follows no symbolic link in the last component and never blocks on a pipe
/// or device; the size is the size at the time of opening.
class regular_file {
 public:
  static core::result<regular_file> open(const std::filesystem::path& path);
  regular_file(regular_file&& other) noexcept;
  regular_file& operator=(regular_file&&) = delete;
  ~regular_file();

  [[nodiscard]] std::uint64_t size() const { return size_; }
  /// All of [offset, offset + count), or an error where the file became shorter.
  core::result<void> read(std::uint64_t offset, char* to, std::size_t count) const;

 private:
  regular_file(int descriptor, std::uint64_t size, std::filesystem::path path);
  int descriptor_;
  std::uint64_t size_;
  std::filesystem::path path_;
};

/// All bytes of a regular file of at most `most` bytes.
core::result<std::string> read_file(const std::filesystem::path& path, std::uint64_t most);

/// All bytes of a file that the user names on the command line; an error if it has more than `most` bytes. Links are
/// followed. The file may be a pipe, even one without an end.
core::result<std::string> read_any_file(const std::filesystem::path& path, std::uint64_t most);

/// A name beside `path` that no other thread or process uses.
std::filesystem::path temporary_beside(const std::filesystem::path& path);

/// Writes `bytes` under a temporary name in the folder of `path` and renames it. After an error the folder is as it was
/// before.
core::result<void> replace_file(const std::filesystem::path& path, std::string_view bytes);

}  // namespace assay::formats
