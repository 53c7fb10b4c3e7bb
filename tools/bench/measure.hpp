// Operations compared with the memory floor, scans with peers, and embed_position and attention with their matrix
// products, under Google Benchmark.
#pragma once

#include <string>
#include <vector>

#include "tools/bench/torch_peer.hpp"

namespace assay::bench {

/// The shape for embed_position: its states, and e of its tokens [B, n, e].
struct embedding_shape {
  scan_shape states;
  std::size_t embedding;
};

/// The shape for the other encodings: x [B, n, heads, d], biases [heads, n, n].
struct heads_shape {
  std::size_t batch, tokens, heads, features;
};

struct options {
  std::vector<scan_shape> shapes;
  std::vector<embedding_shape> embeddings;
  std::vector<heads_shape> heads;
  int rounds = 9, threads = 1;
  std::string python;  ///< a Python with PyTorch; empty: none
};

struct spread {
  double median, least, most;
};

struct peer_result {
  std::string name;
  double ns;         ///< per element, median
  spread times;      ///< its time divided by ours, round by round
  double sum, ours;  ///< sums of the elements that both computed
  bool agrees;
};

struct measurement {
  std::string operation;
  std::vector<std::size_t> shape;  ///< (B, n, d) for scans, else the shape by which the operation is counted
  std::size_t embedding = 0;       ///< for embed_position, else 0
  bool long_memory = false;
  double ns = 0, floor_ns = 0;
  spread share{};  ///< share of the floor, round by round
  std::vector<peer_result> peers{};
  std::string dtype = "f32";  ///< dtype of arrays
};

/// Runs `rounds` repetitions of all members in random order, for each operation and shape.
std::vector<measurement> measure(const options& settings);

}  // namespace assay::bench
