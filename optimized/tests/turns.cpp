// Tests work in turns on several threads: the order, and the effect of an exception.
#include "optimized/turns.hpp"

#include <catch2/catch.hpp>
#include <stdexcept>
#include <string>
#include <vector>

namespace assay::optimized {
namespace {

constexpr std::size_t turn_count = 200, turn_rows = 3;

// The place of a failure, if any: at part `place`, when a task is made, before the turns, or in the turn of a row.
struct trouble {
  enum { nowhere, in_make, before_turn, in_turn } where = nowhere;
  std::size_t place = 0;
};

// For each row, the parts that had their turn, in order.
std::vector<std::vector<std::size_t>> taken_turns(int threads, trouble t) {
  std::vector<std::vector<std::size_t>> taken(turn_rows);
  turns order(turn_rows);
  order.share(threads, turn_count, [&](std::size_t worker) {
    if (t.where == trouble::in_make && worker == t.place) throw std::runtime_error("no memory");
    return [&](std::size_t part) {
      if (t.where == trouble::before_turn && part == t.place) throw std::runtime_error("no memory");
      for (std::size_t row = 0; row < turn_rows; ++row)
        order.take(row, part, [&] {
          if (t.where == trouble::in_turn && part == t.place && row == 1) throw std::runtime_error("no memory");
          taken[row].push_back(part);
        });
    };
  });
  return taken;
}

TEST_CASE("optimized/turns/each_row_is_taken_in_order") {
  std::vector<std::size_t> all(turn_count);
  for (std::size_t i = 0; i < turn_count; ++i) all[i] = i;
  for (const int threads : {1, 2, 5}) {
    CAPTURE(threads);
    CHECK(taken_turns(threads, {}) == std::vector<std::vector<std::size_t>>(turn_rows, all));
  }
}

TEST_CASE("optimized/turns/an_exception_releases_who_waits_and_reaches_the_caller") {
  for (const int threads : {1, 2, 5})
    for (const trouble t :
         {trouble{trouble::in_make, 0}, trouble{trouble::before_turn, 0}, trouble{trouble::before_turn, 3},
          trouble{trouble::in_turn, 0}, trouble{trouble::in_turn, 150}, trouble{trouble::in_turn, turn_count - 1}}) {
      CAPTURE(threads, t.where, t.place);
      std::string message = "none";
      try {
        taken_turns(threads, t);
      } catch (const std::runtime_error& error) {
        message = error.what();
      }
      CHECK(message == "no memory");
    }
}

TEST_CASE("optimized/turns/nothing_to_do_is_done") {
  turns order;
  order.share(3, 0, [](std::size_t) { return [](std::size_t) { FAIL(); }; });
}

}  // namespace
}  // namespace assay::optimized
