// What the algorithms of scans.cpp and wrong_scans.cpp have in common.
#pragma once

#include <algorithm>
#include <memory>
#include <span>
#include <vector>

#include "reference/algorithms/scans.hpp"
#include "reference/readings/rounded.hpp"
#include "tools/explore/scans.hpp"

namespace assay::explore {

using R = reference::rounded;
using element = reference::affine_step<R>;

// An algorithm that needs nothing but the last state: State::step(a, h) gives the next one.
template <class State>
class stepping : public streaming_scan {
 public:
  explicit stepping(const storage_format& stored) : state_(stored) {}
  void run(std::span<const double> a, std::span<const double> h, std::span<double> s) override {
    for (std::size_t i = 0; i < s.size(); ++i) s[i] = state_.step(R(a[i]), R(h[i])).number;
  }

 private:
  State state_;
};

// Prefixes within a chunk, the last state of which is carried on.
template <std::size_t Chunk, std::vector<element> (*Prefixes)(std::vector<element>)>
class chunked : public streaming_scan {
 public:
  explicit chunked(const storage_format&) {}
  void run(std::span<const double> a, std::span<const double> h, std::span<double> s) override {
    for (std::size_t first = 0; first < s.size(); first += Chunk) {
      const std::size_t last = std::min(first + Chunk, s.size());
      std::vector<element> elements{{R(0.0), state_}};
      for (std::size_t i = first; i < last; ++i) elements.push_back({R(a[i]), R(h[i])});
      const std::vector<element> prefixes = Prefixes(std::move(elements));
      for (std::size_t i = first; i < last; ++i) s[i] = prefixes[i - first + 1].input.number;
      state_ = prefixes.back().input;
    }
  }

 private:
  R state_{0.0};
};
template <class Scan>
std::unique_ptr<streaming_scan> start(const storage_format& stored) {
  return std::make_unique<Scan>(stored);
}

/// For scan_algorithms().
std::vector<scan_algorithm> wrong_scans();

}  // namespace assay::explore
