// The harness alone, without any encoding of assay::properties: a catalogue with one property and one family.
#include <catch2/catch.hpp>

#include "properties/harness/catalogue.hpp"
#include "properties/harness/certified_implementation.hpp"
#include "properties/harness/runner.hpp"
#include "reference/oracle.hpp"

using namespace assay;
using namespace assay::properties;

namespace {

constexpr const char* operation = "t5_bias/bucket";

// No distance is negative here.
property buckets_are_not_negative() {
  property p{"not_negative", "no bucket is negative"};
  p.applies = [](const core::operation& op) { return op.name == operation; };
  p.check = [](implementation& under_test, const test_case& c) -> outcome {
    const auto out = under_test.evaluate(c.call);
    if (!out) return {status::failed, out.error().message};
    for (const double x : out->at("bucket").values.storage())
      if (x < 0) return {status::failed, "a negative bucket"};
    return {};
  };
  return p;
}

catalogue archetype() {
  family mild{"mild", "distances 1 to 9"};
  mild.generate = [](const core::operation&, core::dtype, const core::attributes&, core::counter_random& random,
                     extent) {
    std::vector<double> distances(1 + random.below(9));
    for (double& d : distances) d = static_cast<double>(1 + random.below(9));
    return core::tensors{{"distance", core::make_tensor(core::dtype::i64, {distances.size()}, distances)}};
  };
  encoding_tests tests;
  tests.name = "t5_bias";
  tests.families = {mild};
  return {{buckets_are_not_negative()}, {tests}};
}

// Negative buckets where there are more than two distances.
class sometimes_negative final : public implementation {
 public:
  [[nodiscard]] const description& describe() const override { return right_.describe(); }
  call_result evaluate(const request& call) override {
    call_result out = right_.evaluate(call);
    core::tensor& bucket = out->at("bucket");
    if (bucket.size() > 2) bucket.values.storage()[0] = -1;
    return out;
  }

 private:
  certified_implementation right_;
};

}  // namespace

TEST_CASE("harness/an_archetype_is_enough", "[unit][gate]") {
  install_catalogue(archetype);
  CHECK_THROWS_AS(install_catalogue(archetype), core::contract_violation);
  const core::operation& op = *reference::find_operation(operation);
  const property& p = *find_property("not_negative");
  certified_implementation right;
  CHECK(run_property(p, right, op, core::dtype::f64, {}).verdict() == status::passed);
  sometimes_negative wrong;
  const check_result r = run_property(p, wrong, op, core::dtype::f64, {});
  REQUIRE(r.found);
  CHECK(r.found->minimal.call.inputs.at("distance").size() == 3);
}
