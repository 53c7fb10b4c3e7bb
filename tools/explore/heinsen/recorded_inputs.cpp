#include "tools/explore/heinsen/recorded_inputs.hpp"

#include <cmath>
#include <map>
#include <mutex>

#include "golden/formats/safetensors.hpp"
#include "reference/core/fnv1a.hpp"

namespace assay::explore {
namespace {

constexpr const char* prefix = "file:";

using read_file = core::result<std::shared_ptr<const recorded_inputs>>;

read_file read(const std::string& path) {
  const auto wrong = [&](const std::string& what) { return core::failure(path + ": " + what); };
  const auto tensors = formats::read_safetensors(path);
  if (!tensors) return core::failure(tensors.error().message);
  const bool is_gated = tensors->contains("g");
  const auto gates = tensors->find(is_gated ? "g" : "log_p"), h = tensors->find("h");
  if (gates == tensors->end() || h == tensors->end()) return wrong("it must hold log_p or g, and h");
  if (gates->second.shape().size() != 3 || gates->second.shape() != h->second.shape())
    return wrong("the gates and h must have one shape [B, n, d]");
  const auto& shape = h->second.shape();
  const std::size_t batch = shape[0], n = shape[1], d = shape[2];
  auto all = std::make_shared<recorded_inputs>();
  all->lanes = batch * d;
  all->tokens = n;
  for (std::size_t lane = 0; lane < all->lanes; ++lane)
    for (std::size_t i = 0; i < n; ++i) {
      const std::size_t element = ((lane / d) * n + i) * d + lane % d;
      const double gate = gates->second.values.storage()[element], input = h->second.values.storage()[element];
      const double log_p = is_gated ? std::fmin(gate, 0.0) - std::log1p(std::exp(-std::fabs(gate))) : gate;
      if (!(log_p <= 0.0)) return wrong("log p must be at most 0");
      if (!(input < HUGE_VAL)) return wrong("h must be finite or -inf");
      all->log_p.push_back(log_p);
      all->h.push_back(input);
    }
  if (all->log_p.empty()) return wrong("it holds no token");
  return all;
}

}  // namespace

bool is_recorded(const std::string& family) { return family.rfind(prefix, 0) == 0; }

read_file recorded_inputs_of(const std::string& family) {
  static std::mutex mutex;
  static std::map<std::string, read_file> known;
  const std::lock_guard lock(mutex);
  const auto it = known.find(family);
  if (it != known.end()) return it->second;
  return known.emplace(family, read(family.substr(std::char_traits<char>::length(prefix)))).first->second;
}

std::uint64_t hash_of_recorded(const std::string& family, std::uint64_t hash) {
  if (const auto inputs = recorded_inputs_of(family))
    for (const auto* numbers : {&(*inputs)->log_p, &(*inputs)->h})
      hash = core::fnv1a({reinterpret_cast<const char*>(numbers->data()), numbers->size() * sizeof(double)}, hash);
  return hash;
}

}  // namespace assay::explore
