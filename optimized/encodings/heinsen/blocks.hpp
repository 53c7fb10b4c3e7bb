// How a call divides its tokens into blocks.
#pragma once

#include <algorithm>
#include <cstddef>

namespace assay::optimized::heinsen {

/// Some tokens of one sequence, or all tokens of some sequences.
struct block {
  std::size_t group, place;  ///< the group of sequences, and the place among the blocks of these
  std::size_t first_sequence, sequences, first_token, tokens;
  std::size_t first_row;  ///< among all tokens of all sequences
  [[nodiscard]] std::size_t rows() const { return sequences * tokens; }
};

/// The blocks of a call, of up to `most` tokens. Blocks of a sequence are as many as that takes, and of the same size
/// but for the last; so are groups of short sequences.
class blocks {
 public:
  blocks(std::size_t batch, std::size_t tokens, std::size_t most) : batch_(batch), all_tokens_(tokens) {
    of_group_ = std::max<std::size_t>(1, parts(tokens, most));
    tokens_ = parts(tokens, of_group_);
    const std::size_t together = of_group_ > 1 ? 1 : std::max<std::size_t>(1, most / std::max<std::size_t>(1, tokens_));
    groups_ = parts(batch, together);
    sequences_ = groups_ == 0 ? 0 : parts(batch, groups_);
  }

  [[nodiscard]] std::size_t count() const { return groups_ * of_group_; }
  [[nodiscard]] std::size_t groups() const { return groups_; }
  [[nodiscard]] std::size_t of_group() const { return of_group_; }
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
  std::size_t of_group_, tokens_, groups_, sequences_;
};

}  // namespace assay::optimized::heinsen
