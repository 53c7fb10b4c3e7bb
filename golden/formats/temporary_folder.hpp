// A folder that lives as long as an object, unless it gets a lasting name.
#pragma once

#include <filesystem>
#include <string>

#include "reference/core/result.hpp"

namespace assay::formats {

/// Owns a folder. At the end of the object's life the folder is removed with everything in it.
class temporary_folder {
 public:
  /// A new folder under $TMPDIR (else /tmp), mode 0700.
  static core::result<temporary_folder> make();
  /// A new folder beside `path`, which must have a name at its end ("set/" has none) and need not exist.
  static core::result<temporary_folder> beside(const std::filesystem::path& path);
  temporary_folder(temporary_folder&& other) noexcept;
  temporary_folder& operator=(temporary_folder&&) = delete;
  ~temporary_folder();

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  /// Renames the folder to `lasting`, where it stays. After an error it is still temporary.
  core::result<void> keep_as(const std::filesystem::path& lasting);

 private:
  explicit temporary_folder(std::filesystem::path path);
  std::filesystem::path path_;  ///< empty where nothing is left to remove
};

/// The text without the paths of folders that `make` now gives, and without the '/' after each: these names differ in
/// every run.
std::string without_temporary_folders(std::string text);

}  // namespace assay::formats
