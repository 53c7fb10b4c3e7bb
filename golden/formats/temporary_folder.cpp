#include "golden/formats/temporary_folder.hpp"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <system_error>
#include <utility>

#include "golden/formats/file.hpp"

namespace assay::formats {

namespace fs = std::filesystem;

namespace {

constexpr std::ptrdiff_t drawn = 6;  // letters and digits that mkdtemp draws

// The beginning of the path of every temporary folder.
core::result<std::string> beginning() {
  std::error_code failed;
  const fs::path base = fs::temp_directory_path(failed);
  if (failed) return core::failure("temporary folder: " + failed.message());
  return (fs::absolute(base) / "assay-").string();
}

}  // namespace

core::result<temporary_folder> temporary_folder::make() {
  const auto start = beginning();
  if (!start) return tl::make_unexpected(start.error());
  std::string name = *start + std::string(drawn, 'X');
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

std::string without_temporary_folders(std::string text) {
  const auto start = beginning();
  if (!start) return text;
  const auto is_part_of_name = [](unsigned char c) { return std::isalnum(c) != 0 || c == '-' || c == '_'; };
  for (std::size_t position = 0; (position = text.find(*start, position)) != std::string::npos;) {
    const auto name = text.begin() + static_cast<std::ptrdiff_t>(position + start->size());
    const auto end = std::find_if_not(name, text.end(), is_part_of_name);
    if (end - name == drawn)
      text.erase(position, start->size() + drawn + (end != text.end() && *end == '/'));
    else
      position += start->size();
  }
  return text;
}

}  // namespace assay::formats
