// Faults that begin at the sizes at which kernels are run: the planned sizes must reach them.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <optional>

#include "properties/builtin.hpp"
#include "properties/harness/tests/size_demands.hpp"
#include "properties/tests/gating.hpp"
#include "reference/oracle.hpp"

using namespace assay;
using namespace assay::properties;
using namespace assay::properties::testing;
using usual = run_options::usual;

namespace {

// The optimized kernels, wrong from a position of an axis on: in every output that has the axis; if no output has it,
// everywhere, as soon as an input reaches so far.
class wrong_from final : public implementation {
 public:
  wrong_from(std::string axis, std::size_t first)
      : right_(make_builtin("optimized").value()), axis_(std::move(axis)), first_(first) {}
  [[nodiscard]] const description& describe() const override { return right_->describe(); }
  call_result evaluate(const request& call) override {
    call_result outputs = right_->evaluate(call);
    if (!outputs) return outputs;
    bool found = false;
    for (const core::tensor_declaration& d : call.operation->outputs) {
      const auto axis_index = core::axis_of(d, axis_);
      if (!axis_index || d.axes[*axis_index] != axis_) continue;
      found = true;
      core::tensor& t = outputs->at(d.name);
      spoil(t, *axis_index);
    }
    if (!found && core::check_request(call).value().at(axis_) >= first_)
      for (auto& [name, t] : *outputs) spoil(t, std::nullopt);
    return outputs;
  }

 private:
  void spoil(core::tensor& t, std::optional<std::size_t> axis) const {
    const core::shape s = t.shape();
    for (std::size_t i = 0; i < t.size(); ++i) {
      if (axis && i / core::stride_of(s, *axis) % s[*axis] + 1 < first_) continue;
      double& x = t.values.storage()[i];
      x = core::round_to(t.type, core::is_floating(t.type) ? 1.5 * x + 0.25 : x + 1.0);
    }
  }

  std::unique_ptr<implementation> right_;
  std::string axis_;
  std::size_t first_;
};

struct placed_fault {
  const char* operation;
  const char* axis;
  std::size_t first;  ///< counted from 1
};

bool is_caught(const placed_fault& f, usual sizes) {
  const core::operation& op = *reference::find_operation(f.operation);
  wrong_from candidate(f.axis, f.first);
  run_options options;
  options.cases = 1;
  options.shrink_calls = 0;
  options.sizes = sizes;
  options.families = {"mild"};
  const char* name = op.is_forward() ? "value" : op.is_vjp() ? "vjp" : "jvp";
  // Along a direction the cumsum form may err by 8 after 4097 tokens in f32: sums of d log p do not contract.
  const core::dtype type = op.kind() == core::derivative::jvp ? core::dtype::f64 : core::dtype::f32;
  const check_result r = run_property(*find_property(name), candidate, op, type, options);
  return r.verdict() == status::failed;
}

std::string missed(const std::vector<placed_fault>& faults, usual sizes) {
  std::string all;
  for (const placed_fault& f : faults)
    if (!is_caught(f, sizes)) all += fmt::format("{} from {} = {}; ", f.operation, f.axis, f.first);
  return all;
}

}  // namespace

// A kernel that is right for long sequences and for wide rows may be wrong if both meet, in one of its layouts, or if
// such a row holds an infinity.
TEST_CASE("properties/sizes/a_quick_run_has_large_axes_together", "[property]") {
  for (const std::uint64_t seed : {1, 2, 3}) {
    std::string missing;
    for (const core::operation& op : reference::operations()) missing += not_reached(op, truth_property(op).name, seed);
    INFO("seed " << seed);
    CHECK(missing == "");
  }
}

// A size may name a base that a candidate does not have: then it is tried with another base.
TEST_CASE("properties/sizes/settings_of_a_size_do_not_take_it_from_a_candidate", "[property]") {
  const core::operation& op = *reference::find_operation("rope/rotate");
  run_options options;
  options.sizes = usual::some;
  for (const double base : {10000.0, 1e6}) {
    description about;
    about.settings["rope/rotate"]["base"] = {base};
    bool wide = false;
    for (const case_key& key : plan_of(*find_property("value"), about, op, core::dtype::f32, options)) {
      wide = wide || key.size.axis("d", 0) == 128;
      CHECK(core::setting<double>(make_case(key).call.attributes, "base") == base);
    }
    CHECK(wide);
  }
}

TEST_CASE("properties/sizes/a_quick_run_reaches_faults_at_usual_sizes", "[property]") {
  // A fault from row 65 on, and one from row 4 on, both show at 66 rows: the farthest fault of each axis covers the
  // others.
  std::vector<placed_fault> faults;
  for (const char* op :
       {"heinsen/scan", "heinsen/scan:vjp", "heinsen/scan:jvp", "heinsen/gated_scan", "heinsen/gated_scan:vjp"})
    faults.insert(faults.end(), {{op, "B", 129}, {op, "d", 1025}, {op, "n", 4097}});
  for (const char* op : {"rope/rotate", "rope/rotate:vjp", "rope/rotate_by"})
    faults.insert(faults.end(), {{op, "B", 65}, {op, "n", 4097}, {op, "d", 513}, {op, "h", 65}});
  for (const char* op : {"attention/output", "attention/output:vjp"})
    faults.insert(faults.end(), {{op, "B", 65}, {op, "m", 1025}, {op, "d", 80}, {op, "h", 33}});
  for (const char* op : {"fox/decay", "fox/gated_decay"})
    faults.insert(faults.end(), {{op, "B", 65}, {op, "n", 255}, {op, "h", 9}});
  faults.insert(faults.end(), {{"fox/attention", "B", 65}, {"fox/attention", "n", 129}, {"fox/attention", "h", 9}});
  for (const char* op : {"alibi/bias", "t5_bias/bias"}) faults.insert(faults.end(), {{op, "h", 65}, {op, "m", 257}});
  faults.insert(faults.end(), {{"sinusoidal/table", "n", 1025}, {"sinusoidal/table", "d", 513}});
  CHECK(missed(faults, usual::some) == "");
  // Without these sizes most faults are out of reach.
  CHECK(missed({{"heinsen/scan", "B", 65}, {"heinsen/scan", "n", 4097}, {"rope/rotate", "d", 64}}, usual::none) ==
        "heinsen/scan from B = 65; heinsen/scan from n = 4097; rope/rotate from d = 64; ");
}

TEST_CASE("properties/sizes/a_full_run_reaches_further", "[property]") {
  CHECK(missed({{"heinsen/scan", "B", 65537},
                {"heinsen/scan", "n", 65537},
                {"heinsen/scan", "d", 1025},
                {"heinsen/scan", "d", 4097},
                {"rope/rotate", "B", 65537},
                {"rope/rotate", "d", 4096},
                {"rope/rotate", "h", 65},
                {"attention/output", "m", 4097},
                {"fox/decay", "n", 513},
                {"alibi/bias", "m", 65537},
                {"sinusoidal/table", "d", 4096}},
               usual::all) == "");
}
