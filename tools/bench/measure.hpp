// Scans and their adjoints beside the memory floor and beside peers, and embed_position beside its products of
// matrices, under Google Benchmark.
#pragma once

#include <string>
#include <vector>

#include "tools/bench/torch_peer.hpp"

namespace assay::bench {

/// Of embed_position: its states, and e of its tokens [B, n, e].
struct embedding_shape {
  scan_shape states;
  std::size_t embedding;
};

struct options {
  std::vector<scan_shape> shapes;
  std::vector<embedding_shape> embeddings;
  int rounds = 9, threads = 1;
  std::string python;  ///< of PyTorch; empty: none
};

struct spread {
  double median, least, most;
};

struct peer_result {
  std::string name;
  double ns;         ///< of an element, median
  spread times;      ///< its time over ours, round by round
  double sum, ours;  ///< of all that both computed
  bool agrees;
};

struct measurement {
  std::string operation;
  scan_shape shape;
  std::size_t embedding;  ///< 0 for scans
  bool long_memory;
  double ns, floor_ns;
  spread share;  ///< of the floor, round by round
  std::vector<peer_result> peers;
};

/// `rounds` repetitions of all members in random order, for each operation and shape.
std::vector<measurement> measure(const options& how);

}  // namespace assay::bench
