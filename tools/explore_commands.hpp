// assay explore: where, how and why an implementation loses its digits.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "tools/candidate.hpp"
#include "tools/commands.hpp"
#include "tools/explore/sweep.hpp"

namespace CLI {
class App;
}
namespace assay::explore {
class asking_ranks;
}

namespace assay::tools {

class explore_commands {
 public:
  explicit explore_commands(CLI::App& app);
  explicit operator bool() const;
  /// 0 threads: all cores, or this rank's share of them.
  [[nodiscard]] int run(int threads) const;
  /// Of which operation the sweep is, too.
  [[nodiscard]] const asked_formula& formula() const { return formula_; }

 private:
  [[nodiscard]] core::result<explore::sweep> asked_sweep() const;
  [[nodiscard]] int launch(int threads) const;
  [[nodiscard]] int sweep(std::size_t threads, explore::asking_ranks* ranks) const;
  [[nodiscard]] int merge() const;
  [[nodiscard]] int cell() const;
  [[nodiscard]] int page() const;

  asked_formula formula_;
  std::string sweep_, candidate_, shard_, cell_;
  std::filesystem::path out_, merged_, drawn_, beside_;
  std::vector<std::filesystem::path> shards_;
  bool resume_ = false, figures_ = false;
  candidate_limits limits_;
  CLI::App *group_, *list_, *merge_, *measure_, *page_, *findings_;
};

}  // namespace assay::tools
