#include "optimized/c_api/checked_arguments.hpp"

#include <algorithm>

namespace assay::optimized::c_api {
namespace {

// A multiple of a stride: stride * x, where low <= x <= high.
struct term {
  std::int64_t stride, low, high;
};

// Terms with different strides, the largest stride first. `least` and `most` bound the sum of the terms from each place
// to the end.
struct equation {
  std::array<term, 6> terms{};
  std::array<std::int64_t, 7> least{}, most{};
  std::size_t count = 0;

  void add(std::int64_t stride, std::int64_t low, std::int64_t high) {
    std::size_t k = 0;
    while (k < count && terms[k].stride > stride) ++k;
    if (k < count && terms[k].stride == stride) {
      terms[k].low += low, terms[k].high += high;
      return;
    }
    for (std::size_t m = count++; m > k; --m) terms[m] = terms[m - 1];
    terms[k] = {stride, low, high};
  }
  void find_reach() {
    for (std::size_t k = count; k-- > 0;) {
      least[k] = least[k + 1] + terms[k].stride * terms[k].low;
      most[k] = most[k + 1] + terms[k].stride * terms[k].high;
    }
  }
};

std::int64_t floor_quotient(std::int64_t a, std::int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }

// Whether the terms from k on can add up to `rest`. Tries each multiple of term k that leaves a rest in the reach of
// the later terms.
bool can_add_up(const equation& e, std::size_t k, std::int64_t rest, int& steps) {
  if (k == e.count) return rest == 0;
  const term& t = e.terms[k];
  const std::int64_t from = std::max(t.low, -floor_quotient(e.most[k + 1] - rest, t.stride));
  const std::int64_t to = std::min(t.high, floor_quotient(rest - e.least[k + 1], t.stride));
  for (std::int64_t x = from; x <= to; ++x)
    if (--steps < 0 || can_add_up(e, k + 1, rest - t.stride * x, steps)) return true;
  return false;
}

std::string text_of(const std::int64_t* size, int rank) {
  std::string text = "[";
  for (int k = 0; k < rank; ++k) text += (k == 0 ? "" : ", ") + std::to_string(size[k]);
  return text + "]";
}

[[noreturn]] void refuse(int code, const char* name, const std::string& what) {
  throw refusal{code, std::string(name) + ": " + what};
}

// The number of units from the first to the last, both included. Refuses an array that is larger than memory.
std::int64_t span_of(const char* name, const footprint& a, std::size_t unit) {
  std::int64_t span = 1, bytes = 0;
  for (int k = 0; k < a.rank; ++k) {
    std::int64_t reach = 0;
    if (__builtin_mul_overflow(a.size[k] - 1, a.stride[k], &reach) || __builtin_add_overflow(span, reach, &span))
      refuse(ASSAY_SCAN_SHAPE, name, "its sizes and strides reach further than memory does");
  }
  std::uintptr_t end = 0;
  if (__builtin_mul_overflow(span, static_cast<std::int64_t>(unit), &bytes) ||
      __builtin_add_overflow(a.first * unit, static_cast<std::uintptr_t>(bytes), &end))
    refuse(ASSAY_SCAN_SHAPE, name, "its sizes and strides reach further than memory does");
  return span;
}

}  // namespace

bool share_elements(const footprint& a, const footprint& b) {
  if (a.last < b.first || b.last < a.first) return false;
  equation e;
  for (int k = 0; k < a.rank; ++k)
    if (a.stride[k] > 0) e.add(a.stride[k], 0, a.size[k] - 1);
  for (int k = 0; k < b.rank; ++k)
    if (b.stride[k] > 0) e.add(b.stride[k], 1 - b.size[k], 0);
  e.find_reach();
  int steps = 10000;
  return can_add_up(e, 0, static_cast<std::int64_t>(b.first - a.first), steps);
}

bool has_distinct_elements(const footprint& a) {
  std::int64_t spanned = 0;
  for (int k = a.rank; k-- > 0;) {
    if (a.stride[k] <= spanned) return false;
    spanned += (a.size[k] - 1) * a.stride[k];
  }
  return true;
}

void footprint::add_axis(std::int64_t its_size, std::int64_t its_stride) {
  int k = rank++;
  for (; k > 0 && stride[k - 1] < its_stride; --k) size[k] = size[k - 1], stride[k] = stride[k - 1];
  size[k] = its_size, stride[k] = its_stride;
}

void checked_arguments::add(const char* name, const void* data, int dtype, int rank, const std::int64_t* size,
                            const std::int64_t* stride, bool written, const wanted& what) {
  if (rank != what.rank)
    refuse(ASSAY_SCAN_SHAPE, name,
           "expected " + std::to_string(what.rank) + " axes but it has " + std::to_string(rank));
  if (dtype != what.dtype)
    refuse(ASSAY_SCAN_DTYPE, name,
           "expected the dtype " + std::to_string(what.dtype) + (what.element_size == unit_ ? " of h" : "") +
               " but it is " + std::to_string(dtype));
  if (!std::equal(size, size + rank, what.shape))
    refuse(ASSAY_SCAN_SHAPE, name, "expected " + text_of(what.shape, rank) + " but it is " + text_of(size, rank));
  if (std::find(size, size + rank, 0) != size + rank) return;
  if (data == nullptr) refuse(ASSAY_SCAN_NULL, name, "its data is a null pointer");
  const auto address = reinterpret_cast<std::uintptr_t>(data);
  if (address % what.element_size != 0)
    refuse(ASSAY_SCAN_ALIGNMENT, name, "its data is no multiple of " + std::to_string(what.element_size) + " bytes");
  footprint a{name, written, address / unit_};
  const auto units = static_cast<std::int64_t>(what.element_size / unit_);
  for (int k = 0; k < rank; ++k) {
    if (size[k] == 1) continue;
    if (stride[k] < 0)
      refuse(ASSAY_SCAN_STRIDE, name, "its strides are " + text_of(stride, rank) + ", one is negative");
    std::int64_t step = 0;
    if (__builtin_mul_overflow(stride[k], units, &step))
      refuse(ASSAY_SCAN_SHAPE, name, "its sizes and strides reach further than memory does");
    a.add_axis(size[k], step);
  }
  if (units > 1) a.add_axis(units, 1);
  a.last = a.first + static_cast<std::uintptr_t>(span_of(name, a, unit_)) - 1;
  arrays_[count_++] = a;
}

void checked_arguments::check_overlaps() const {
  for (std::size_t i = 0; i < count_; ++i) {
    if (!arrays_[i].written) continue;
    if (!has_distinct_elements(arrays_[i]))
      refuse(ASSAY_SCAN_STRIDE, arrays_[i].name, "its elements share memory with one another");
    for (std::size_t j = 0; j < count_; ++j)
      if ((j < i || !arrays_[j].written) && share_elements(arrays_[i], arrays_[j]))
        refuse(ASSAY_SCAN_OVERLAP, arrays_[i].name, std::string("it shares memory with ") + arrays_[j].name);
  }
}

}  // namespace assay::optimized::c_api
