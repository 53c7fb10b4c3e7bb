// The words of a diagnosis, each with an example, as they stand in a report.
#include "properties/diagnosis/sentences.hpp"

#include <catch2/catch.hpp>

namespace assay::properties::words {

TEST_CASE("properties/diagnosis/sentences/what_is_wrong", "[unit][diagnosis]") {
  CHECK(outputs_are({"s", "s_n"}, false, simply_wrong) == "s, s_n are wrong");
  CHECK(outputs_are({"grad_h"}, true, not_a_number) == "grad_h alone is NaN");
  CHECK(outputs_are({"y"}, false, infinite) == "y is infinite where it should be finite");
  CHECK(outputs_are({"s"}, false, lost_nan) == "s is a number where it should be NaN");
  CHECK(outputs_are({"o"}, false, zero) + on_derived ==
        "o is 0 where it should not be on inputs that a check derives from others");
  CHECK(outputs_are({"bias"}, false, finite_mask(-1e9, false)) == "bias is -1e+09 where it should be -inf");
  CHECK(outputs_are({"bias"}, false, finite_mask(-1e4, true)) ==
        "bias is a finite number, such as -10000, where it should be -inf");
  CHECK(outputs_are({"r"}, true, left_of_one(24)) == "r alone is in steps of 2^-24 (as 1 less a sum is)");
  CHECK(off_by(40, 3, {}, {}) == "off by up to 40 ulp, where rounding explains 3");
  CHECK(off_by(40, 3, core::dtype::bf16, core::dtype::bf16) ==
        "off by up to 40 ulp, where rounding explains 3, as much as arithmetic in bf16 explains (all are numbers of "
        "bf16)");
  CHECK(family_gives("far_keys", gives(given::numbers_wrong)) == "inputs of the family far_keys give wrong values");
  CHECK(gives(given::nan_among_them) == "wrong values, NaN among them");
  CHECK(gives(given::infinities_among_them) == "wrong values, infinities among them");
  CHECK(gives(given::all_infinite) == "infinities");
  CHECK(special_gives(true, gives(given::all_nan), true) ==
        "a NaN among the inputs gives NaN where there should be none");
  CHECK(special_gives(false, gives(given::numbers_wrong), false) == "an infinity among the inputs gives wrong values");
  CHECK(special_is_lost(true) == "a NaN among the inputs does not come out as NaN where it should");
}

TEST_CASE("properties/diagnosis/sentences/where", "[unit][diagnosis]") {
  CHECK(std::string(on_mild) + every_size == " on mild inputs of every size tried");
  CHECK(in_some(5, 12) == " in 5 of 12 cases tried");
  CHECK(at_lengths({3}, {1, 2, 4}) == " at the length 3 among those tried, not at 1, 2, 4");
  CHECK(at_lengths({1, 2, 3, 4, 5, 6, 7}, {8}) == " at the lengths 1, 2, 3, 4, 5, 6, ... among those tried, not at 8");
  CHECK(also_in({}).empty());
  CHECK(also_in({"far_keys"}) == " (the family far_keys is wrong too)");
  CHECK(also_in({"gap", "wide"}) == " (the families gap, wide are wrong too)");
  CHECK(mild_is_right(true) == "; mild inputs of all lengths tried are right");
  CHECK(mild_is_right(false) == "; all mild inputs tried are right");
  CHECK(in_counterexample(0) == " in the counterexample");
  CHECK(in_counterexample(12) == " in the counterexample; 12 fresh cases are right");
  CHECK(from_on("position 268", "position 255") == " from position 268 on, and right up to position 255");
  CHECK(up_to("distance 9", "distance 12") == " up to distance 9, and right from distance 12 on");
  CHECK(between("n = 3", "n = 9", "n = 2", "n = 10") ==
        " from n = 3 to n = 9, and right up to n = 2 and from n = 10 on");
  CHECK(between("n = 3", "n = 3", "n = 2", "n = 4") == " at n = 3, and right up to n = 2 and from n = 4 on");
}

TEST_CASE("properties/diagnosis/sentences/whole", "[unit][diagnosis]") {
  CHECK(explained_in({"accumulation (the sums)"}, false, core::dtype::bf16, " (compute = ...)") ==
        "explained if accumulation (the sums) is computed in bf16: declare it (compute = ...), or mend it");
  CHECK(explained_in({"x and y"}, true, core::dtype::bf16, std::nullopt) ==
        "explained if x and y are computed in bf16: mend it");
  CHECK(same_call_gives(unequal_because::state_is_kept, unequal_by::outputs, after_others) ==
        "state is kept between calls: the same call gives other outputs after other calls");
  CHECK(same_call_gives(unequal_because::calls_race, unequal_by::bits, repeated_at_once) ==
        "it is not deterministic: calls race or depend on chance, and two fresh processes differ, too: the same call "
        "gives other bits, not more "
        "than rounding explains, when it is repeated at once");
  CHECK(same_call_gives(unequal_because::either, unequal_by::an_error, started_anew) ==
        "state is kept between calls, or they race: the same call gives outputs once and an error another time, where "
        "the candidate is started anew");
}

}  // namespace assay::properties::words
