// An operation whose formula is a program, beside the same one compiled: equal in every reading.
#include "reference/formula/owner.hpp"

#include <catch2/catch.hpp>

#include "reference/core/counter_random.hpp"
#include "reference/formula/recording.hpp"
#include "reference/oracle.hpp"
#include "reference/registry.hpp"

namespace assay::reference::formula::owned {

// kerple/log: -r1 log(1 + r2 |i - j|), keys after the query masked.
program recorded_kernel(const program_sizes& s) {
  recording of({"distance", "function", "product"});
  const std::size_t h = s.of("h"), n = s.of("n"), m = s.of("m");
  const traced_integer query = reshaped(of.integers("query_position", {n}), {1, n, 1}),
                       key = reshaped(of.integers("key_position", {m}), {1, 1, m});
  const traced t = in_stage<traced>(0, [&] { return to_real(magnitude_of(query - key)); });
  const traced x = in_stage<traced>(0, [&] { return of.input("r2", {h, 1, 1}) * t; });
  const traced logarithm = in_stage<traced>(1, [&] { return log1p(x); });
  const traced bias = in_stage<traced>(2, [&] { return -(of.input("r1", {h, 1, 1}) * logarithm); });
  of.output("bias", either(less(query, key), traced(-std::numeric_limits<double>::infinity()), bias));
  return of.finish();
}

core::operation declared_as(const char* name) {
  core::operation op = *find_operation("kerple/log");
  op.name = name;
  op.grows_with.reset();
  return op;
}

core::request drawn(const core::operation& op, core::dtype type, std::uint64_t seed) {
  core::counter_random random(seed);
  const std::size_t h = 1 + random.below(3), n = 1 + random.below(4), m = 1 + random.below(5);
  const auto numbers = [&](const core::shape& s, auto draw) {
    core::tensor t = core::zeros(type, s);
    for (double& x : t.values.storage()) x = core::round_to(type, draw());
    return t;
  };
  const auto positions = [&](std::size_t count) {
    core::tensor t = core::zeros(core::dtype::i64, {count});
    for (double& x : t.values.storage()) x = static_cast<double>(random.below(5000));
    return t;
  };
  core::request call{&op, type, {}};
  call.inputs.emplace("r1", numbers({h}, [&] { return std::fabs(random.normal()); }));
  call.inputs.emplace("r2", numbers({h}, [&] { return std::exp(3 * random.normal()); }));
  call.inputs.emplace("query_position", positions(n));
  call.inputs.emplace("key_position", positions(m));
  if (!op.is_forward()) call.inputs.emplace("grad_bias", numbers({h, n, m}, [&] { return random.normal(); }));
  return call;
}

}  // namespace assay::reference::formula::owned

TEST_CASE("formula/owner/a_program_is_the_compiled_formula", "[property]") {
  using namespace assay;
  using namespace assay::reference;
  using namespace assay::reference::formula;
  using namespace assay::reference::formula::owned;
  const program_owner owner("mine", {}, {{declared_as("mine/log"), recorded_kernel}});
  REQUIRE(owner.operations().size() == 2);
  for (std::uint64_t seed = 0; seed < 60; ++seed)
    for (const char* derivative : {"", ":vjp"}) {
      const core::dtype type = core::floating_dtypes[seed % core::floating_dtypes.size()];
      const core::operation& compiled_op = *find_operation(std::string("kerple/log") + derivative);
      const core::operation& own_op = owner.operations()[*derivative == 0 ? 0 : 1].declaration;
      const core::request compiled_call = drawn(compiled_op, type, seed), own_call = drawn(own_op, type, seed);
      REQUIRE(core::check_request(own_call).has_value());
      INFO(own_op.name << " in " << core::name_of(type) << ", seed " << seed);
      const formula_owner& compiled = owner_of(compiled_op);
      const auto same = [](const rung_outputs& a, const rung_outputs& b) {
        REQUIRE(a.size() == b.size());
        for (const auto& [name, x] : a) {
          const rung_output& y = b.at(name);
          INFO(name);
          CHECK(x.rounded.shape() == y.rounded.shape());
          CHECK(x.decided == y.decided);
          for (std::size_t i = 0; i < x.decided.size(); ++i)
            if (x.decided[i] != 0)
              CHECK(core::same_value(x.rounded.values.storage()[i], y.rounded.values.storage()[i]));
        }
      };
      same(owner.enclose_in_doubles(own_call), compiled.enclose_in_doubles(compiled_call));
      same(owner.enclose_in_two_doubles(own_call), compiled.enclose_in_two_doubles(compiled_call));
      same(owner.enclose(own_call, 35), compiled.enclose(compiled_call, 35));
      const core::precisions formats = own_op.usual_precisions(type);
      const auto own_laws = owner.laws(own_call, {accuracy_class::sequential}, formats).front();
      for (const auto& [name, law] : compiled.laws(compiled_call, {accuracy_class::sequential}, formats).front())
        for (std::size_t i = 0; i < law.k.size(); ++i) {
          INFO(name << " " << i);
          CHECK(own_laws.at(name).k.storage()[i] == Approx(law.k.storage()[i]).epsilon(0.01));
        }
      const auto plain = owner.evaluate_in(own_call, formats);
      for (const auto& [name, t] : compiled.evaluate_in(compiled_call, formats))
        for (std::size_t i = 0; i < t.size(); ++i)
          CHECK(core::same_value(plain.at(name).values.storage()[i], t.values.storage()[i]));
    }
}

TEST_CASE("formula/owner/a_program_of_another_declaration_is_refused", "[unit]") {
  using namespace assay;
  using namespace assay::reference::formula;
  using namespace assay::reference::formula::owned;
  const program_owner owner("mine", {}, {{declared_as("mine/log"), [](const program_sizes& s) {
                                            recording of;
                                            of.output("bias", of.input("r1", {s.of("h")}));
                                            return of.finish();
                                          }}});
  const core::request call = drawn(owner.operations().front().declaration, core::dtype::f32, 3);
  CHECK_THROWS_WITH(owner.enclose(call, 35), Catch::Contains("'bias' has") && Catch::Contains("in the program"));
}
