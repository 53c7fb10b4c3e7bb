// Divides the tokens of a call into blocks.
#pragma once

#include <algorithm>
#include <cstddef>

namespace assay::optimized::heinsen {

/// Some tokens of one sequence, or all tokens of some sequences.
struct block {
  std::size_t group, place;  ///< the number of the group of sequences, and the number of the block in its group
  std::size_t first_sequence, sequences, first_token, tokens;
  std::size_t first_row;  ///< the row number of the first token, counted over all sequences
  [[nodiscard]] std::size_t rows() const { return sequences * tokens; }
};

/// The blocks of a call, each of at most `most` tokens. A sequence has the fewest blocks that this allows, and all its
/// blocks except the last have the same size. Groups of short sequences are made in the same way.
class blocks {
 public:
  blocks(std::size_t batch, std::size_t tokens, std::size_t most) : batch_(batch), all_tokens_(tokens) {
    blocks_of_group_ = std::max<std::size_t>(1, parts(tokens, most));
    tokens_ = parts(tokens, blocks_of_group_);
    const std::size_t together =
        blocks_of_group_ > 1 ? 1 : std::max<std::size_t>(1, most / std::max<std::size_t>(1, tokens_));
    groups_ = parts(batch, together);
    sequences_ = groups_ == 0 ? 0 : parts(batch, groups_);
  }

  [[nodiscard]] std::size_t count() const { return groups_ * blocks_of_group_; }
  [[nodiscard]] std::size_t groups() const { return groups_; }
  [[nodiscard]] std::size_t blocks_of_group() const { return blocks_of_group_; }
  [[nodiscard]] std::size_t most_sequences() const { return sequences_; }
  [[nodiscard]] std::size_t most_rows() const { return sequences_ * tokens_; }

  [[nodiscard]] block at(std::size_t group, std::size_t place) const {
    const std::size_t sequence = group * sequences_, token = place * tokens_;
    return {group,
            place,
            sequence,
            std::min(sequences_, batch_ - sequence),
            token,
            std::min(tokens_, all_tokens_ - token),
            sequence * all_tokens_ + token};
  }

  static std::size_t parts(std::size_t count, std::size_t most) { return (count + most - 1) / most; }

 private:
  std::size_t batch_, all_tokens_;
  std::size_t blocks_of_group_, tokens_, groups_, sequences_;
};

}  // namespace assay::optimized::heinsen
