// Operations that other code holds, as one range of references: a look-up and a loop see the same objects.
#pragma once

#include <cstddef>
#include <iterator>
#include <utility>
#include <vector>

#include "reference/core/operation.hpp"

namespace assay::reference {

class operation_list {
 public:
  class iterator {
   public:
    using iterator_category = std::forward_iterator_tag;
    using value_type = core::operation;
    using difference_type = std::ptrdiff_t;
    using pointer = const core::operation*;
    using reference = const core::operation&;

    iterator() = default;
    explicit iterator(const core::operation* const* element) : element_(element) {}
    reference operator*() const { return **element_; }
    pointer operator->() const { return *element_; }
    iterator& operator++() {
      ++element_;
      return *this;
    }
    iterator operator++(int) { return iterator(element_++); }
    friend bool operator==(const iterator&, const iterator&) = default;

   private:
    const core::operation* const* element_ = nullptr;
  };

  operation_list() = default;
  /// Precondition: no pointer is null, and all operations outlive the list.
  explicit operation_list(std::vector<const core::operation*> all) : all_(std::move(all)) {}

  [[nodiscard]] iterator begin() const { return iterator(all_.data()); }
  [[nodiscard]] iterator end() const { return iterator(all_.data() + all_.size()); }
  [[nodiscard]] std::size_t size() const { return all_.size(); }
  [[nodiscard]] bool empty() const { return all_.empty(); }
  /// Precondition: not empty.
  [[nodiscard]] const core::operation& front() const { return *all_.front(); }

 private:
  std::vector<const core::operation*> all_;
};

}  // namespace assay::reference
