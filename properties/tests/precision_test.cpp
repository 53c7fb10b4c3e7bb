// Precision by stage: code that computes as declared passes, and other code is explained by its stage.
#include "properties/diagnosis/precision.hpp"

#include <catch2/catch.hpp>
#include <functional>

#include "properties/diagnosis/diagnose.hpp"
#include "properties/harness/verdict.hpp"
#include "properties/tests/gating.hpp"
#include "reference/evaluate_in.hpp"

using namespace assay;
using namespace assay::properties;
using Catch::Matchers::Contains;
using Catch::Matchers::EndsWith;
using core::dtype;
using testing::seed;

namespace {

core::precisions formats_of(const core::operation& op, dtype storage, const std::map<std::string, dtype>& stages) {
  description about;
  about.compute[storage].stages = stages;
  return about.precisions_of(op, storage);
}

/// Offers one operation in a dtype, mostly bf16. It computes the operation in some formats, may declare others, and may
/// change the call before.
class by_stage final : public implementation {
 public:
  using edit = std::function<void(request&)>;
  by_stage(const std::string& operation, const std::map<std::string, dtype>& computed_in, declared_precision declared,
           edit change = {}, dtype storage = dtype::bf16)
      : formats_(formats_of(*reference::find_operation(operation), storage, computed_in)), change_(change) {
    about_.name = "by stage";
    about_.operations[operation] = {storage};
    about_.compute[storage] = std::move(declared);
    about_.deterministic = true;
  }
  [[nodiscard]] const description& describe() const override { return about_; }
  call_result evaluate(const request& call) override {
    request edited = call;
    if (change_) change_(edited);
    return reference::evaluate_in(edited, formats_);
  }

 private:
  description about_;
  core::precisions formats_;
  edit change_;
};

struct verdict_and_words {
  status verdict;
  std::string explained;
};

// Works like a gate: it checks against the truth, and makes a diagnosis if the check fails.
verdict_and_words gated(by_stage under_test) {
  const auto& [name, types] = *under_test.describe().operations.begin();
  const core::operation& op = *reference::find_operation(name);
  const check_result r = run_property(testing::truth_property(op), under_test, op, types.front(), testing::options(4));
  if (!r.found) return {r.verdict(), ""};
  const diagnosis d = diagnose(under_test, op, types.front(), {{{r.checked, r.found->minimal}}, seed});
  return {r.verdict(), d.explained.value_or("") + (d.explained ? "" : " facts: " + d.facts.value_or(""))};
}

constexpr const char* by_precision = "explained if ";
const std::map<std::string, dtype> undeclared{};

}  // namespace

TEST_CASE("properties/precision/one_format_is_that_of_every_stage", "[unit]") {
  const core::operation& rotate = *reference::find_operation("rope/rotate");
  description about;
  about.compute[dtype::bf16] = dtype::f32;
  CHECK(about.precisions_of(rotate, dtype::bf16) == core::precisions(dtype::f32));
  CHECK(about.precisions_of(rotate, dtype::f32) == core::precisions(dtype::f32));
  CHECK(to_string(about.precisions_of(rotate, dtype::f16), rotate.stages) == "angle f32, table f16, product f16");
  about.compute[dtype::bf16].all.reset();
  about.compute[dtype::bf16].stages = {{"table", dtype::f32}, {"product", dtype::f32}, {"softmax", dtype::bf16}};
  CHECK(about.precisions_of(rotate, dtype::bf16) == core::precisions(dtype::f32));
  const core::operation& frequencies = *reference::find_operation("rope/frequencies");
  CHECK(about.precisions_of(frequencies, dtype::bf16) == core::precisions(dtype::f32));
  const core::operation& attend = *reference::find_operation("attention/output:vjp");
  const core::precisions p = about.precisions_of(attend, dtype::bf16);
  CHECK(to_string(p, attend.stages) == "scores bf16, softmax bf16, output bf16, accumulation f32");
  CHECK(p.unit() == dtype::bf16);
  CHECK(p.sums() == dtype::f32);
}

// Each stage is in f32 or in the dtype of the tensors: the allowance covers every rounding.
TEST_CASE("properties/precision/plain_arithmetic_passes_in_its_formats", "[property][gate]") {
  for (const core::operation& op : reference::operations()) {
    if (op.stages.empty()) continue;
    const auto assignments = std::size_t{1} << op.stages.size();
    std::size_t informative = 0;
    for (std::size_t k = 0; k < scaled(32); ++k) {
      const dtype storage = k % 2 == 0 ? dtype::bf16 : dtype::f16;
      std::map<std::string, dtype> formats;
      for (std::size_t s = 0; s < op.stages.size(); ++s)
        formats[op.stages[s].name] = (k / 2 % assignments >> s & 1u) != 0 ? storage : dtype::f32;
      const core::precisions declared = formats_of(op, storage, formats);
      for (const family& f : families_of(op)) {
        if (f.holds_nan) continue;
        const test_case c = make_case({&op, storage, f.name, seed + k, {lengths::short_ones}}, f);
        const value_report r = judge(*expect(c.call, declared), reference::evaluate_in(c.call, declared));
        INFO(op.name << " " << core::name_of(storage) << ", " << to_string(declared, op.stages) << ": " << summary(c));
        INFO(r.message);
        CHECK(r.passed);
        informative += r.informative;
      }
    }
    CHECK(informative > 0);
  }
}

TEST_CASE("rope/precision/angles_in_f32_pass_and_angles_in_bf16_are_named", "[property][gate]") {
  CHECK(gated({"rope/rotate", undeclared, {}}).verdict == status::passed);
  const verdict_and_words bug = gated({"rope/rotate", {{"angle", dtype::bf16}}, {}});
  INFO(bug.explained);
  CHECK(bug.verdict == status::failed);
  CHECK_THAT(bug.explained, Contains("explained if angle (frequencies, positions and m theta) is computed in bf16: "
                                     "declare it (compute = {\"bf16\": \"bf16\"}), or mend it"));
  // Positions alone are rounded.
  const auto round_positions = [](request& call) {
    for (double& m : call.inputs.at("position").values.storage()) m = core::round_to(dtype::bf16, m);
  };
  const verdict_and_words positions = gated({"rope/rotate", undeclared, {}, round_positions});
  INFO(positions.explained);
  CHECK(positions.verdict == status::failed);
  CHECK_THAT(positions.explained, Contains("explained if angle "));
  // Products in bf16 where f32 is declared for all.
  const verdict_and_words products = gated({"rope/rotate", undeclared, dtype::f32});
  INFO(products.explained);
  CHECK(products.verdict == status::failed);
  CHECK_THAT(products.explained, Contains("explained if table ") || Contains("explained if product "));
}

TEST_CASE("attention/precision/the_softmax_in_f32_passes_and_one_in_bf16_is_named", "[property][gate]") {
  CHECK(gated({"attention/output", undeclared, {}}).verdict == status::passed);
  CHECK(gated({"attention/output:vjp", undeclared, {}}).verdict == status::passed);
  // Next to scores and weights rounded to bf16, a softmax in bf16 adds little error; next to f32 ones it shows.
  const std::map<std::string, dtype> narrow_softmax{
      {"scores", dtype::f32}, {"softmax", dtype::bf16}, {"output", dtype::f32}};
  const verdict_and_words bug = gated({"attention/output", narrow_softmax, dtype::f32});
  INFO(bug.explained);
  CHECK(bug.verdict == status::failed);
  CHECK_THAT(bug.explained, Contains(by_precision));
  CHECK_THAT(bug.explained, Contains("softmax"));
}

// Weights in bf16 with tensors in f32, tables in f32 with tensors in f64: errors correlate with those of such rounding.
TEST_CASE("properties/precision/a_stage_that_is_narrower_than_the_tensors_is_named", "[property][gate]") {
  const auto said = [](const char* operation, const char* stage, dtype narrow, dtype storage) {
    const verdict_and_words bug = gated({operation, {{stage, narrow}}, storage, {}, storage});
    CHECK(bug.verdict == status::failed);
    return bug.explained;
  };
  CHECK_THAT(said("attention/output", "output", dtype::bf16, dtype::f32),
             EndsWith("explained if output (the weights as they multiply v, and o) is computed in bf16: mend it"));
  CHECK_THAT(said("attention/output", "accumulation", dtype::bf16, dtype::f32),
             Contains("explained if accumulation ") && Contains(" is computed in bf16"));
  CHECK_THAT(said("rope/rotate", "table", dtype::f32, dtype::f64),
             Contains("explained if table (cosines and sines of the angles) is computed in f32"));
  CHECK_THAT(said("rope/rotate", "angle", dtype::bf16, dtype::f32), Contains("explained if angle "));
  // The errors are as large as those of a narrow stage, but they are no rounding errors. The law of the stage allows
  // them, which explains nothing.
  const auto enlarge = [](request& call) {
    for (double& x : call.inputs.at("q").values.storage()) x *= 1.01;
  };
  const verdict_and_words larger = gated({"attention/output", undeclared, dtype::f32, enlarge, dtype::f32});
  CHECK(larger.verdict == status::failed);
  CHECK_THAT(larger.explained, !Contains(by_precision) && !Contains("arithmetic in"));
}

TEST_CASE("properties/precision/other_faults_are_not_explained_by_a_stage", "[property][gate]") {
  const auto positions = [](std::function<double(double)> f) {
    return [f](request& call) {
      for (double& m : call.inputs.at("position").values.storage()) m = f(m);
    };
  };
  const std::map<const char*, by_stage::edit> faults{
      {"clamped at 1023", positions([](double m) { return std::min(m, 1023.0); })},
      {"from 1", positions([](double m) { return m + 1; })},
      {"modulo 4096", positions([](double m) { return std::fmod(m, 4096.0); })},
      {"layout", [](request& call) {
         std::string& layout = std::get<std::string>(
             call.attributes["layout"] = core::completed(*call.operation, call.attributes).at("layout"));
         layout = layout == "interleaved" ? "half_split" : "interleaved";
       }}};
  for (const auto& [name, fault] : faults) {
    const verdict_and_words r = gated({"rope/rotate", undeclared, {}, fault});
    INFO(name << ": " << r.explained);
    CHECK(r.verdict == status::failed);
    CHECK_THAT(r.explained, !Contains(by_precision));
  }
}

// At far positions an angle in bf16 gives any row of the same norm: every error there correlates with its error.
TEST_CASE("properties/precision/errors_as_large_as_the_values_are_no_evidence_of_a_format", "[property][gate]") {
  const core::operation& op = *reference::find_operation("rope/rotate");
  const auto said = [&](double (*position)(double), double factor, const std::map<std::string, dtype>& stages) {
    std::vector<probe> probes;
    for (std::uint64_t k = 0; k < 6; ++k) {
      test_case c = make_case({&op, dtype::f32, "mild", seed + k, extent({{"B", 2}, {"n", 33}, {"h", 2}, {"d", 8}})});
      core::counter_random random(seed + k);
      for (double& m : c.call.inputs.at("position").values.storage()) m = std::floor(random.uniform(8192, 32767));
      request edited = c.call;
      for (double& m : edited.inputs.at("position").values.storage()) m = position(m);
      core::tensors y = reference::evaluate_in(edited, formats_of(op, dtype::f32, stages));
      for (double& x : y.at("y").values.storage()) x = core::round_to(dtype::f32, x * factor);
      probes.push_back(probe_of(c, probe_kind::family, std::move(y), dtype::f32));
    }
    return precision_explanation_of(probes).value_or("");
  };
  const auto as_it_is = [](double m) { return m; };
  CHECK_THAT(said(as_it_is, 1.0, {{"angle", dtype::bf16}}), Contains("explained if angle "));
  CHECK(said(as_it_is, 0.5, undeclared).empty());
  CHECK(said(as_it_is, 1 / 1.3466, undeclared).empty());
  CHECK(said([](double m) { return std::fmod(m, 8192.0); }, 1.0, undeclared).empty());
  CHECK(said([](double) { return 8191.0; }, 1.0, undeclared).empty());
}

// A sigmoid's gradient as y (1 - y) is 0 if the sigmoid is 1, although no stage has another format.
TEST_CASE("properties/precision/what_is_lost_in_one_place_is_not_another_format", "[property][gate]") {
  class losing final : public implementation {
   public:
    [[nodiscard]] const description& describe() const override { return right_->describe(); }
    call_result evaluate(const request& call) override {
      call_result outputs = right_->evaluate(call);
      if (!outputs) return outputs;
      if (const auto grad = outputs->find("grad_sink"); grad != outputs->end())
        for (double& x : grad->second.values.storage())
          if (std::fabs(x) < 1e-9) x = 0;
      return outputs;
    }

   private:
    std::unique_ptr<implementation> right_ = make_builtin("sequential").value();
  } under_test;
  const core::operation& op = *reference::find_operation("attention/sinks:vjp");
  const check_result r = run_property(testing::truth_property(op), under_test, op, dtype::f32, testing::options(8));
  REQUIRE(r.found);
  const diagnosis d = diagnose(under_test, op, dtype::f32, {{{r.checked, r.found->minimal}}, seed});
  CHECK(d.explained.value_or("").find("explained if") == std::string::npos);
}

// At far positions the allowance of a narrow angle covers any error. But such an angle turns pairs and keeps their
// lengths.
TEST_CASE("rope/precision/lost_lengths_are_no_matter_of_angles", "[property][gate]") {
  class fading final : public implementation {
   public:
    [[nodiscard]] const description& describe() const override { return right_->describe(); }
    call_result evaluate(const request& call) override {
      call_result outputs = right_->evaluate(call);
      if (!outputs || call.operation->name != "rope/rotate") return outputs;
      core::tensor& y = outputs->at("y");
      const auto& m = call.inputs.at("position").values.storage();
      for (std::size_t i = 0; i < y.size(); ++i)
        if (m[i / y.shape()[3] / y.shape()[2]] >= 4096) y.values.storage()[i] /= 2;
      return outputs;
    }

   private:
    std::unique_ptr<implementation> right_ = make_builtin("sequential").value();
  } under_test;
  const core::operation& op = *reference::find_operation("rope/rotate");
  diagnosis_options options{{}, seed};
  for (const char* name : {"value", "rotation_norms"}) {
    const check_result r = run_property(*find_property(name), under_test, op, dtype::f32, testing::options(8));
    REQUIRE(r.found);
    options.failed.push_back({r.checked, r.found->minimal});
  }
  CHECK(diagnose(under_test, op, dtype::f32, options).explained.value_or("").find("angle") == std::string::npos);
}
