// The results of a function of calls; the least recently used ones are dropped. One case is often put to many
// implementations, and its truth costs far more than its answer.
#pragma once

#include <cstring>
#include <list>
#include <memory>
#include <unordered_map>

#include "properties/harness/implementation.hpp"

namespace assay::properties {

/// This class is not thread-safe.
template <class Result>
class call_memory {
 public:
  [[nodiscard]] bool knows(const request& call, const core::precisions& compute) const {
    const auto known = by_hash_.find(hash_of(call, compute));
    return known != by_hash_.end() && known->second->is_for(call, compute);
  }

  /// The remembered result for an equal call, or else the result of make().
  template <class Make>
  std::shared_ptr<const Result> recall(const request& call, const core::precisions& compute, Make make) {
    const std::uint64_t hash = hash_of(call, compute);
    if (const auto known = by_hash_.find(hash); known != by_hash_.end() && known->second->is_for(call, compute)) {
      entries_.splice(entries_.begin(), entries_, known->second);
      return known->second->result;
    }
    std::size_t elements = 1;
    for (const auto& [name, t] : call.inputs) elements += t.size();
    entries_.push_front({call, compute, std::make_shared<const Result>(make()), hash, elements});
    by_hash_[hash] = entries_.begin();
    held_ += elements;
    while (held_ > most_elements && entries_.size() > 1) drop_oldest();
    return entries_.front().result;
  }

 private:
  static constexpr std::size_t most_elements = std::size_t{1} << 21;

  struct entry {
    request call;
    core::precisions compute;
    std::shared_ptr<const Result> result;
    std::uint64_t hash;
    std::size_t elements;

    [[nodiscard]] bool is_for(const request& other, const core::precisions& precision) const {
      const auto same_tensor = [](const auto& x, const auto& y) {
        return x.first == y.first && core::identical(x.second, y.second);
      };
      return compute == precision && call.operation == other.operation && call.type == other.type &&
             call.attributes == other.attributes && call.inputs.size() == other.inputs.size() &&
             std::equal(call.inputs.begin(), call.inputs.end(), other.inputs.begin(), same_tensor);
    }
  };

  static std::uint64_t hash_of(const request& call, const core::precisions& compute) {
    std::uint64_t hash = 0xcbf29ce484222325u;  // FNV-1a over words
    const auto add = [&](std::uint64_t x) { hash = (hash ^ x) * 0x100000001b3u, hash ^= hash >> 32; };
    add(reinterpret_cast<std::uintptr_t>(call.operation));
    add(static_cast<std::uint64_t>(call.type) * 16 + static_cast<std::uint64_t>(compute.unit()));
    if (compute.differ())
      for (std::size_t k = 0; k < call.operation->stages.size(); ++k)
        add(static_cast<std::uint64_t>(compute.format(k)));
    for (const auto& [name, value] : call.attributes) add(std::hash<core::attribute>{}(value));
    for (const auto& [name, t] : call.inputs)
      for (const double x : t.values.storage()) {
        std::uint64_t bits = 0;
        std::memcpy(&bits, &x, sizeof bits);
        add(bits);
      }
    return hash;
  }

  void drop_oldest() {
    const entry& oldest = entries_.back();
    held_ -= oldest.elements;
    const auto known = by_hash_.find(oldest.hash);
    if (known != by_hash_.end() && &*known->second == &oldest) by_hash_.erase(known);
    entries_.pop_back();
  }

  std::list<entry> entries_;
  std::unordered_map<std::uint64_t, typename std::list<entry>::iterator> by_hash_;
  std::size_t held_ = 0;
};

}  // namespace assay::properties
