// A folder that is filled under another name, so that it is never seen half-full under its own, and that outlives the
// death of the process.
#pragma once

#include <filesystem>
#include <set>
#include <string>

#include "reference/core/result.hpp"

namespace assay::formats {

/// Owns "<folder>.partial". Unless it is finished it is removed at the end of the object's life. A killed process
/// leaves it, and whoever asks for it next finds what is in it.
class partial_folder {
 public:
  /// Creates it, or takes that of a process that has ended. An error where another process is at it.
  static core::result<partial_folder> of(const std::filesystem::path& folder);
  partial_folder(partial_folder&& other) noexcept;
  partial_folder& operator=(partial_folder&&) = delete;
  ~partial_folder();

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  /// Removes all but the files of these names and renames it to the folder.
  core::result<void> finish(const std::set<std::string>& names);

 private:
  partial_folder(std::filesystem::path folder, std::filesystem::path path, int lock);
  std::filesystem::path folder_, path_;  ///< no path: nothing to remove
  int lock_;
};

}  // namespace assay::formats
