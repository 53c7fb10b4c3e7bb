// Outputs that a reader can compute by hand: replace the calls and the numbers.
#include <catch2/catch.hpp>
#include <cmath>

@includes of test@

using namespace assay;

TEST_CASE("skeleton/formula/by_hand", "[property]") {
@test@
}
