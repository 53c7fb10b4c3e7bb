// The hash FNV-1a of 64 bits (Fowler, Noll, Vo): small, and the same on any machine.
#pragma once

#include <cstdint>
#include <string_view>

namespace assay::core {

/// `seed` is added to the offset basis by exclusive or.
constexpr std::uint64_t fnv1a(std::string_view text, std::uint64_t seed = 0) {
  std::uint64_t hash = 0xcbf29ce484222325u ^ seed;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash;
}

}  // namespace assay::core
