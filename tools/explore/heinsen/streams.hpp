// Inputs of the recurrence s_i = LSE(a_i + s_{i-1}, h_i) (Heinsen 2024, eq. (3)), token by token: one lane of any
// length, in memory that does not depend on it. All numbers are of the storage format, so they are exact for every
// reader. s_0 = 0.
//
// | family   | a_i = log p_i                       | h_i                  |
// | gates    | log sigmoid(g_i), g ~ N(decay, 1)   | scale N(0, 1)        |
// | constant | log(decay), decay = p in (0, 1]     | scale N(0, 1)        |
// | still    | log(decay)                          | 0                    |
// | drift    | log sigmoid(g_i), g ~ N(decay, 1)   | 0.05 i + scale N(0, 1) |
// | spikes   | as gates                            | as gates; +30 scale at every 64th token |
// | resets   | as gates; -inf at every 1000th token | as gates            |
// | silence  | as gates                            | -inf for all but every 16th token |
// | faint    | as gates                            | N(-16 scale, 1)      |
// | file:PATH | recorded (recorded_inputs.hpp)      | recorded, times scale |
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "reference/core/counter_random.hpp"
#include "tools/explore/cell.hpp"
#include "tools/explore/formats.hpp"
#include "tools/explore/heinsen/recorded_inputs.hpp"

namespace assay::explore {

struct stream_family {
  std::string_view name, summary;
  std::string_view decay_means;
};
const std::vector<stream_family>& stream_families();

/// Lane `lane` of a cell: only its family, decay, scale, storage and seed matter.
class token_stream {
 public:
  /// Precondition: the cell's family and storage exist. No more tokens are requested than a file of inputs holds.
  token_stream(const cell& c, std::size_t lane);
  /// Fills the spans with the next tokens.
  void next(std::span<double> a, std::span<double> h);

 private:
  void token(double& a, double& h);
  cell cell_;
  const storage_format* format_;
  core::counter_random random_;
  std::uint64_t index_ = 0;  ///< index of the last token, from 1
  double constant_ = 0;
  std::shared_ptr<const recorded_inputs> recorded_;
  std::size_t recorded_at_ = 0;
};

}  // namespace assay::explore
