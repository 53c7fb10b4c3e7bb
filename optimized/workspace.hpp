// Memory that a call needs for itself.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

namespace assay::optimized {

/// An array of `count` elements in the workspace of the caller. If the workspace is too small, the array is allocated.
/// The elements are not initialized. They begin at a multiple of 64 bytes.
template <class T>
class scoped_array {
 public:
  scoped_array(std::span<std::byte> workspace, std::size_t count) {
    void* place = workspace.data();
    std::size_t room = workspace.size();
    const std::size_t bytes = count * sizeof(T);
    if (place == nullptr || std::align(alignment, bytes, place, room) == nullptr) {
      room = bytes + alignment;
      allocated_.reset(new std::byte[room]);
      place = allocated_.get();
      place = std::align(alignment, bytes, place, room);
    }
    data_ = static_cast<T*>(place);
  }
  [[nodiscard]] T* data() const { return data_; }

 private:
  static constexpr std::size_t alignment = 64;
  std::unique_ptr<std::byte[]> allocated_;
  T* data_;
};

/// Several such arrays, which live as long as this object. Arrays for which the workspace has no room are allocated.
class scoped_arrays {
 public:
  explicit scoped_arrays(std::span<std::byte> workspace) : left_(workspace) {}

  template <class T>
  T* take(std::size_t count) {
    void* place = left_.data();
    std::size_t room = left_.size();
    if (place == nullptr || std::align(64, count * sizeof(T), place, room) == nullptr)
      return static_cast<T*>(
          static_cast<void*>(allocated_.emplace_back(std::span<std::byte>{}, count * sizeof(T)).data()));
    left_ = left_.last(room - count * sizeof(T));
    return static_cast<T*>(place);
  }

 private:
  std::span<std::byte> left_;
  std::vector<scoped_array<std::byte>> allocated_;
};

}  // namespace assay::optimized
