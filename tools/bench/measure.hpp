// Times of operations under Google Benchmark. Floors are the memory floor, or the matrix products of embed_position and
// of attention. Scans also have peers: other code for the same states.
#pragma once

#include <string>
#include <vector>

#include "tools/bench/torch_peer.hpp"

namespace assay::bench {

/// The shape for embed_position: the shape of its states, and the e of its tokens [B, n, e].
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
  spread times;      ///< time of the peer divided by the time of Assay's code, round by round
  double sum, ours;  ///< sums of the elements that both computed: by the peer, by Assay's code
  bool agrees;
};

struct measurement {
  std::string operation;
  std::vector<std::size_t> shape;  ///< (B, n, d) for scans and embed_position, else the shape of the counted tensor
  std::size_t embedding = 0;       ///< for embed_position, else 0
  bool long_memory = false;
  double ns = 0, floor_ns = 0;  ///< per element, medians
  spread share{};               ///< time of the floor divided by that of Assay's code, round by round
  std::vector<peer_result> peers{};
  std::string dtype = "f32";  ///< dtype of arrays
};

/// Runs `rounds` repetitions of all members in random order, for each operation and shape.
std::vector<measurement> measure(const options& settings);

}  // namespace assay::bench
