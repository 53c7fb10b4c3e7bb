#include "golden/formats/temporary_folder.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <system_error>
#include <utility>

#include "golden/formats/file.hpp"

namespace assay::formats {

namespace fs = std::filesystem;

core::result<temporary_folder> temporary_folder::make() {
  std::error_code failed;
  const fs::path base = fs::temp_directory_path(failed);
  if (failed) return core::failure("temporary folder: " + failed.message());
  std::string name = (fs::absolute(base) / "assay-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) return core::failure(name + ": " + std::strerror(errno));
  return temporary_folder(name);
}

core::result<temporary_folder> temporary_folder::beside(const fs::path& path) {
  const fs::path name = temporary_beside(path);
  std::error_code failed;
  if (!fs::create_directory(name, failed) && !failed) failed = std::make_error_code(std::errc::file_exists);
  if (failed) return core::failure(path.string() + ": cannot be created: " + failed.message());
  return temporary_folder(name);
}

temporary_folder::temporary_folder(fs::path path) : path_(std::move(path)) {}

temporary_folder::temporary_folder(temporary_folder&& other) noexcept : path_(std::exchange(other.path_, {})) {}

temporary_folder::~temporary_folder() {
  std::error_code ignored;
  if (!path_.empty()) fs::remove_all(path_, ignored);
}

core::result<void> temporary_folder::keep_as(const fs::path& lasting) {
  std::error_code failed;
  fs::rename(path_, lasting, failed);
  if (failed) return core::failure(lasting.string() + ": cannot be written: " + failed.message());
  path_.clear();
  return {};
}

}  // namespace assay::formats
