// A folder that is filled under another name, so that nobody sees it half-full under its own name. The half-full folder
// stays if the process is killed.
#pragma once

#include <filesystem>
#include <set>
#include <string>

#include "reference/core/result.hpp"

namespace assay::formats {

/// Owns the folder "<folder>.partial". If finish() was not called, the folder is removed at the end of the object's
/// life. A killed process leaves the folder, and the next process that acquires it finds its files.
class partial_folder {
 public:
  /// Creates the partial folder, or takes over the one that an ended process left. Fails if another process uses it.
  static core::result<partial_folder> acquire(const std::filesystem::path& folder);
  partial_folder(partial_folder&& other) noexcept;
  partial_folder& operator=(partial_folder&&) = delete;
  ~partial_folder();

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  /// Removes all files except those with these names, and renames the partial folder to `folder`.
  core::result<void> finish(const std::set<std::string>& names);

 private:
  partial_folder(std::filesystem::path folder, std::filesystem::path path, int lock);
  std::filesystem::path folder_, path_;  ///< an empty path: there is nothing to remove
  int lock_;
};

}  // namespace assay::formats
