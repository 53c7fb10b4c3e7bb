// Memory that a call needs for itself.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

namespace assay::optimized {

/// `count` elements in the workspace that the caller gave or, where that is too small, allocated; not initialized.
/// They begin at a multiple of 64 bytes.
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

}  // namespace assay::optimized
