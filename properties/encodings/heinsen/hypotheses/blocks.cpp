// Wrong models of the computation where blocks, tiles and chunks of tokens meet.
#include <fmt/format.h>

#include <cmath>

#include "properties/encodings/heinsen/hypotheses/hypotheses.hpp"
#include "properties/encodings/heinsen/hypotheses/scan_problem.hpp"
#include "reference/core/special_values.hpp"

namespace assay::properties::encodings::heinsen {
namespace {

using core::infinity;
constexpr std::size_t blocks[] = {4, 8, 16, 32, 64, 128, 256};

// The state after token i of a lane, with blocks of `block` tokens.
using block_step = double (*)(const scan_lane& lane, std::size_t block, std::size_t i, double state);

double right_step(const scan_lane& l, std::size_t i, double state) { return log_add_exp(l.a[i] + state, l.h[i]); }
bool begins(std::size_t block, std::size_t i) { return i > 0 && i % block == 0; }

struct block_model {
  const char* sentence;  ///< with {} for the number of tokens
  block_step next;
};
const block_model models[] = {
    {"the state starts from s0 again at each block of {} tokens",
     [](const scan_lane& l, std::size_t block, std::size_t i, double state) {
       return right_step(l, i, begins(block, i) ? l.s0 : state);
     }},
    {"the state is lost at each block of {} tokens",
     [](const scan_lane& l, std::size_t block, std::size_t i, double state) {
       return right_step(l, i, begins(block, i) ? -infinity : state);
     }},
    {"the state becomes 0 at each block of {} tokens",
     [](const scan_lane& l, std::size_t block, std::size_t i, double state) {
       return right_step(l, i, begins(block, i) ? 0.0 : state);
     }},
    {"the second block of {} tokens starts from the initial state",
     [](const scan_lane& l, std::size_t block, std::size_t i, double state) {
       return right_step(l, i, i == block ? l.s0 : state);
     }},
    {"the second half of each block of {} tokens starts without the first",
     [](const scan_lane& l, std::size_t block, std::size_t i, double state) {
       return right_step(l, i, i % block == block / 2 ? -infinity : state);
     }},
    {"the first token of each block of {} tokens but the first decays its input instead of the state",
     [](const scan_lane& l, std::size_t block, std::size_t i, double state) {
       return begins(block, i) ? log_add_exp(state, l.a[i] + l.h[i]) : right_step(l, i, state);
     }},
    {"the first token of each block of {} tokens but the first does not decay the state",
     [](const scan_lane& l, std::size_t block, std::size_t i, double state) {
       return log_add_exp((begins(block, i) ? 0.0 : l.a[i]) + state, l.h[i]);
     }},
    {"the last token of each block of {} tokens is decayed by the next token's p",
     [](const scan_lane& l, std::size_t block, std::size_t i, double state) {
       const bool edge = i % block == block - 1 && i + 1 < l.a.size();
       return log_add_exp(l.a[edge ? i + 1 : i] + state, l.h[i]);
     }},
};

// Prefix sums of log p that restart while the sum of inputs continues.
void restarting_decay_sum(scan_lane& l, std::size_t block) {
  double sum = 0.0, relative = l.s0;
  l.s_n = l.s0;
  for (std::size_t i = 0; i < l.s.size(); ++i) {
    sum = i % block == 0 ? l.a[i] : sum + l.a[i];
    relative = log_add_exp(relative, l.h[i] - sum);
    l.s[i] = l.s_n = relative + sum;
  }
}

// Tokens (0, 0) that fill the last block change the returned state.
void padded_state(scan_lane& l, std::size_t block) {
  right_scan(l);
  const std::size_t padding = (block - l.s.size() % block) % block;
  if (padding > 0) l.s_n = log_add_exp(l.s_n, std::log(static_cast<double>(padding)));
}

hypothesis lane_hypothesis(const char* sentence, std::size_t block, const std::function<void(scan_lane&)>& model) {
  return {fmt::format(fmt::runtime(sentence), block), [](const core::operation& op) { return op.is_forward(); },
          [model](const request& call) {
            return forward_outputs(call, [&](scan_problem& p) {
              for (scan_lane& lane : p.lanes) model(lane);
            });
          }};
}

}  // namespace

std::vector<hypothesis> block_hypotheses() {
  std::vector<hypothesis> all;
  for (const std::size_t block : blocks) {
    for (const block_model& m : models)
      all.push_back(lane_hypothesis(m.sentence, block, [block, next = m.next](scan_lane& l) {
        l.s_n = l.s0;
        for (std::size_t i = 0; i < l.s.size(); ++i) l.s[i] = l.s_n = next(l, block, i, l.s_n);
      }));
    all.push_back(lane_hypothesis("the sum of log p starts again at each block of {} tokens", block,
                                  [block](scan_lane& l) { restarting_decay_sum(l, block); }));
    all.push_back(lane_hypothesis("padding to blocks of {} tokens reaches the returned state", block,
                                  [block](scan_lane& l) { padded_state(l, block); }));
  }
  return all;
}

}  // namespace assay::properties::encodings::heinsen
