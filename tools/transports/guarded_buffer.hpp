// Bytes lent to code that may write outside them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <new>
#include <string>
#include <string_view>
#include <utility>

namespace assay::transports {

/// Bytes aligned to 64, between two margins of 64 bytes whose content is known.
class guarded_buffer {
 public:
  explicit guarded_buffer(std::string_view content)
      : original_(content), memory_(allocate(content.size() + 2 * margin)) {
    std::memset(memory_, pattern, content.size() + 2 * margin);
    if (!content.empty()) std::memcpy(data(), content.data(), content.size());
  }
  guarded_buffer(guarded_buffer&& other) noexcept
      : original_(std::move(other.original_)), memory_(std::exchange(other.memory_, nullptr)) {}
  guarded_buffer& operator=(guarded_buffer&&) = delete;
  ~guarded_buffer() { ::operator delete (memory_, std::align_val_t{margin}); }

  [[nodiscard]] void* data() const { return memory_ + margin; }
  [[nodiscard]] std::string_view bytes() const { return {memory_ + margin, original_.size()}; }
  [[nodiscard]] bool margins_untouched() const {
    const auto intact = [](char c) { return c == pattern; };
    const char* end = memory_ + margin + original_.size();
    return std::all_of(memory_, memory_ + margin, intact) && std::all_of(end, end + margin, intact);
  }
  [[nodiscard]] bool untouched() const { return margins_untouched() && bytes() == original_; }

 private:
  static constexpr std::size_t margin = 64;
  static constexpr char pattern = '\x5a';
  static char* allocate(std::size_t bytes) {
    return static_cast<char*>(::operator new (bytes, std::align_val_t{margin}));
  }

  std::string original_;
  char* memory_;
};

}  // namespace assay::transports
