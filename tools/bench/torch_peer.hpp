// PyTorch as a peer: a Python process that waits for calls.
#pragma once

#include <array>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <span>
#include <string>

namespace assay::bench {

extern const char* const torch_peer_script;

struct scan_shape {
  std::size_t batch, tokens, features;
  [[nodiscard]] std::size_t size() const { return batch * tokens * features; }
};

/// The result of one run of a peer.
struct peer_run {
  double seconds, sum;
};

/// Runs the functions of torch_peer.py on log p, h and cotangents of the states, [B, n, d] each.
class torch_peer {
 public:
  /// Returns null if this Python has no torch.
  static std::unique_ptr<torch_peer> start(const std::string& python, const scan_shape& shape,
                                           const std::array<std::span<const float>, 3>& arrays, int threads);
  torch_peer(const torch_peer&) = delete;
  ~torch_peer();

  /// Runs "cumsum", "loop", or "cumsum_vjp": cumsum with its adjoint. Throws if Python failed.
  peer_run run(const char* function);

 private:
  torch_peer() = default;
  std::filesystem::path inputs_;
  int process_ = -1;
  std::FILE *to_ = nullptr, *from_ = nullptr;
};

}  // namespace assay::bench
