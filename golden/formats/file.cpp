#include "golden/formats/file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <string>
#include <utility>

namespace assay::formats {
namespace {

tl::unexpected<core::error> system_failure(const std::filesystem::path& path, const std::string& what, int code) {
  return core::failure(path.string() + ": " + what + ": " + std::strerror(code));
}

bool write_all(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t done = ::write(descriptor, bytes.data(), bytes.size());
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(done));
  }
  return true;
}

}  // namespace

regular_file::regular_file(int descriptor, std::uint64_t size, std::filesystem::path path)
    : descriptor_(descriptor), size_(size), path_(std::move(path)) {}

regular_file::regular_file(regular_file&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), size_(other.size_), path_(std::move(other.path_)) {}

regular_file::~regular_file() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

core::result<regular_file> regular_file::open(const std::filesystem::path& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
  if (descriptor < 0) {
    if (errno == ELOOP) return core::failure(path.string() + ": must be a regular file, not a symbolic link");
    return system_failure(path, "cannot be opened", errno);
  }
  struct stat status {};
  regular_file file(descriptor, 0, path);
  if (::fstat(descriptor, &status) != 0) return system_failure(path, "cannot be examined", errno);
  if (!S_ISREG(status.st_mode)) return core::failure(path.string() + ": must be a regular file");
  file.size_ = static_cast<std::uint64_t>(status.st_size);
  return file;
}

core::result<void> regular_file::read(std::uint64_t offset, char* to, std::size_t count) const {
  while (count > 0) {
    const ssize_t done = ::pread(descriptor_, to, count, static_cast<off_t>(offset));
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) return system_failure(path_, "byte " + std::to_string(offset) + " cannot be read", errno);
    if (done == 0)
      return core::failure(path_.string() + ": byte " + std::to_string(offset) +
                           ": the file must not become shorter while it is read");
    to += done;
    offset += static_cast<std::uint64_t>(done);
    count -= static_cast<std::size_t>(done);
  }
  return {};
}

core::result<std::string> read_file(const std::filesystem::path& path, std::uint64_t most) {
  const auto file = regular_file::open(path);
  if (!file) return tl::make_unexpected(file.error());
  if (file->size() > most)
    return core::failure(path.string() + ": a file must have at most " + std::to_string(most) +
                         " bytes, but this one has " + std::to_string(file->size()));
  std::string bytes(file->size(), '\0');
  if (auto ok = file->read(0, bytes.data(), bytes.size()); !ok) return tl::make_unexpected(ok.error());
  return bytes;
}

core::result<std::string> read_any_file(const std::filesystem::path& path, std::uint64_t most) {
  std::error_code unknown;
  std::ifstream in(path, std::ios::binary);
  if (!in || std::filesystem::is_directory(path, unknown)) return core::failure(path.string() + ": cannot be read");
  std::string bytes(std::size_t{1} << 16, '\0'), all;
  while (in.read(bytes.data(), static_cast<std::streamsize>(bytes.size())) || in.gcount() > 0) {
    all.append(bytes, 0, static_cast<std::size_t>(in.gcount()));
    if (all.size() > most)
      return core::failure(path.string() + ": a file must have at most " + std::to_string(most) +
                           " bytes, but this one has more");
  }
  return all;
}

std::filesystem::path temporary_beside(const std::filesystem::path& path) {
  static std::atomic<unsigned> counter{0};
  std::filesystem::path name = path;
  name += ".tmp-" + std::to_string(::getpid()) + "-" + std::to_string(counter++);
  return name;
}

core::result<void> replace_file(const std::filesystem::path& path, std::string_view bytes) {
  const std::filesystem::path temporary = temporary_beside(path);
  const int descriptor = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
  if (descriptor < 0) return system_failure(path, "cannot be created", errno);
  bool ok = write_all(descriptor, bytes);
  int code = errno;
  // Some file systems report a full disk only here.
  if (::close(descriptor) != 0 && ok) {
    ok = false;
    code = errno;
  }
  if (ok && ::rename(temporary.c_str(), path.c_str()) == 0) return {};
  if (ok) code = errno;
  ::unlink(temporary.c_str());
  return system_failure(path, "cannot be written", code);
}

}  // namespace assay::formats
