// Faults that begin at the sizes that kernels are run at: the planned sizes must reach them.
#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "properties/builtin.hpp"
#include "properties/harness/runner.hpp"
#include "reference/oracle.hpp"

using namespace assay;
using namespace assay::properties;
using usual = run_options::usual;

namespace {

// The optimized kernels, wrong from a position of an axis on: in every output that has the axis, and where none has,
// as soon as an input reaches so far.
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
      const auto at = core::axis_of(d, axis_);
      if (!at || d.axes[*at] != axis_) continue;
      found = true;
      core::tensor& t = outputs->at(d.name);
      spoil(t, *at);
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

struct fault_at {
  const char* operation;
  const char* axis;
  std::size_t first;  ///< counted from 1
};

bool is_caught(const fault_at& f, usual sizes) {
  const core::operation& op = *reference::find_operation(f.operation);
  wrong_from candidate(f.axis, f.first);
  run_options options;
  options.cases = 1;
  options.shrink_calls = 0;
  options.sizes = sizes;
  options.families = {"mild"};
  const char* name = op.is_forward() ? "value" : op.is_vjp() ? "vjp" : "jvp";
  // Along a direction the cumsum form may be off by 8 after 4097 tokens in f32: sums of d log p do not contract.
  const core::dtype type = op.kind() == core::derivative::jvp ? core::dtype::f64 : core::dtype::f32;
  const check_result r = run_property(*find_property(name), candidate, op, type, options);
  return r.verdict() == status::failed;
}

std::string missed(const std::vector<fault_at>& faults, usual sizes) {
  std::string all;
  for (const fault_at& f : faults)
    if (!is_caught(f, sizes)) all += fmt::format("{} from {} = {}; ", f.operation, f.axis, f.first);
  return all;
}

}  // namespace

TEST_CASE("properties/sizes/a_quick_run_reaches_faults_at_usual_sizes", "[property]") {
  std::vector<fault_at> faults;
  for (const char* op :
       {"heinsen/scan", "heinsen/scan:vjp", "heinsen/scan:jvp", "heinsen/gated_scan", "heinsen/gated_scan:vjp"}) {
    for (const std::size_t first : {4, 65}) faults.push_back({op, "B", first});
    for (const std::size_t first : {65, 129}) faults.push_back({op, "d", first});
    for (const std::size_t first : {257, 1025, 4097}) faults.push_back({op, "n", first});
  }
  for (const char* op : {"rope/rotate", "rope/rotate:vjp", "rope/rotate_by"}) {
    for (const std::size_t first : {4, 65}) faults.push_back({op, "B", first});
    for (const std::size_t first : {65, 257, 1025}) faults.push_back({op, "n", first});
    for (const std::size_t first : {64, 129}) faults.push_back({op, "d", first});
    faults.push_back({op, "h", 9});
  }
  for (const char* op : {"attention/output", "attention/output:vjp"}) {
    for (const std::size_t first : {4, 65}) faults.push_back({op, "B", first});
    for (const std::size_t first : {65, 257}) faults.push_back({op, "m", first});
    faults.push_back({op, "d", 64});
    faults.push_back({op, "h", 9});
  }
  for (const char* op : {"fox/decay", "fox/gated_decay", "fox/attention"}) {
    for (const std::size_t first : {4, 65}) faults.push_back({op, "B", first});
    faults.push_back({op, "n", 65});
    faults.push_back({op, "h", 9});
  }
  for (const char* op : {"alibi/bias", "t5_bias/bias"}) {
    for (const std::size_t first : {9, 65}) faults.push_back({op, "h", first});
    for (const std::size_t first : {65, 257}) faults.push_back({op, "m", first});
  }
  for (const std::size_t first : {65, 1025}) faults.push_back({"sinusoidal/table", "n", first});
  for (const std::size_t first : {64, 129}) faults.push_back({"sinusoidal/table", "d", first});
  CHECK(missed(faults, usual::some) == "");
  // Without these sizes most are out of reach.
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
