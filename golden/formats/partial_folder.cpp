#include "golden/formats/partial_folder.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

namespace assay::formats {

namespace fs = std::filesystem;

namespace {

// Whether `path` still names the folder that is open as `descriptor`. Between our opening and our lock, another process
// may have finished the folder (renamed it) or removed it.
bool is_still_there(const fs::path& path, int descriptor) {
  struct stat locked = {}, named = {};
  return ::fstat(descriptor, &locked) == 0 && ::lstat(path.c_str(), &named) == 0 && locked.st_ino == named.st_ino &&
         locked.st_dev == named.st_dev;
}

}  // namespace

core::result<partial_folder> partial_folder::acquire(const fs::path& folder) {
  fs::path path = folder;
  path += ".partial";
  std::error_code failed;
  fs::create_directory(path, failed);
  if (failed) return core::failure(folder.string() + ": cannot be created: " + failed.message());
  // The lock ends with the process, whatever way the process ends.
  const int lock = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (lock < 0) return core::failure(path.string() + ": cannot be opened: " + std::strerror(errno));
  if (::flock(lock, LOCK_EX | LOCK_NB) != 0 || !is_still_there(path, lock)) {
    ::close(lock);
    return core::failure(path.string() +
                         ": another run is filling it: wait until it has ended, or name another folder");
  }
  return partial_folder(folder, std::move(path), lock);
}

partial_folder::partial_folder(fs::path folder, fs::path path, int lock)
    : folder_(std::move(folder)), path_(std::move(path)), lock_(lock) {}

partial_folder::partial_folder(partial_folder&& other) noexcept
    : folder_(std::move(other.folder_)), path_(std::exchange(other.path_, {})), lock_(std::exchange(other.lock_, -1)) {}

partial_folder::~partial_folder() {
  std::error_code ignored;
  if (!path_.empty()) fs::remove_all(path_, ignored);
  if (lock_ >= 0) ::close(lock_);
}

core::result<void> partial_folder::finish(const std::set<std::string>& names) {
  std::error_code failed;
  std::set<fs::path> others;
  for (const auto& entry : fs::directory_iterator(path_, failed))
    if (!names.contains(entry.path().filename().string())) others.insert(entry.path());
  for (const fs::path& other : others)
    if (!failed) fs::remove_all(other, failed);
  if (!failed) fs::rename(path_, folder_, failed);
  if (failed) return core::failure(folder_.string() + ": cannot be written: " + failed.message());
  path_.clear();
  return {};
}

}  // namespace assay::formats
