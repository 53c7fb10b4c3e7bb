// Relations between axes that a candidate declares: cases are drawn and shrunk inside them, and laws ask for no other
// cases. Also settings that came later: only candidates that name them are asked.
#include <catch2/catch.hpp>
#include <set>

#include "properties/tests/gating.hpp"

using namespace assay;
using namespace assay::properties;
using namespace assay::properties::testing;

namespace {

// Right code with declared relations. A call with other sizes is an error, except for empty ones. All outputs are
// shifted by `off`.
class declares_relations final : public implementation {
 public:
  declares_relations(const core::operation& op, const std::vector<std::string>& relations, double off = 0.0)
      : right_(make_builtin("sequential").value()), about_(right_->describe()), off_(off) {
    for (const std::string& text : relations) about_.relations[op.name].push_back(parse_relation(text).value());
  }
  [[nodiscard]] const description& describe() const override { return about_; }
  call_result evaluate(const request& call) override {
    const core::axis_sizes sizes = core::check_request(call).value();
    const bool empty = std::any_of(sizes.begin(), sizes.end(), [](const auto& axis) { return axis.second == 0; });
    if (const auto declared = about_.relations.find(call.operation->name); declared != about_.relations.end())
      for (const axis_relation& r : declared->second)
        if (!r.holds(sizes) && !empty) return tl::make_unexpected(call_failure{fault::error_reply, "not " + r.text()});
    call_result outputs = right_->evaluate(call);
    if (outputs && off_ != 0.0)
      for (auto& [name, t] : *outputs)
        for (double& x : t.values.storage()) x = core::round_to(t.type, x + off_);
    return outputs;
  }

 private:
  std::unique_ptr<implementation> right_;
  description about_;
  double off_;
};

}  // namespace

TEST_CASE("properties/declared_relations/every_law_stays_inside_them", "[property][gate]") {
  const auto runs_inside = [](const char* name, const std::vector<std::string>& relations) {
    const core::operation& op = *reference::find_operation(name);
    declares_relations under_test(op, relations);
    std::size_t compared = 0, outside = 0, all = 0;
    for (const check_result& r : run_properties(under_test, op, core::dtype::f32, options(2))) {
      INFO(reproduction("sequential", r));
      CHECK(r.verdict() != status::failed);
      if (!r.checked->decides_class) continue;
      compared += r.count(status::passed);
      outside += r.count(status::outside_domain);
      all += r.run();
    }
    INFO(name << ": " << compared << " of " << all << " passed, " << outside << " lie outside");
    CHECK(compared > 0);
    CHECK(20 * outside < all);  // cases are drawn inside, not left out
  };
  runs_inside("attention/output", {"n <= m", "e = d"});
  runs_inside("attention/output:vjp", {"n = m"});
  runs_inside("rope/rotate_by", {"2 r = d"});
  runs_inside("alibi/bias", {"m >= 2 n"});
}

TEST_CASE("properties/declared_relations/shrinking_keeps_to_them", "[property][gate]") {
  for (const auto& [name, relation] : {std::pair{"attention/output", "n = m"}, {"rope/rotate_by", "2 r = d"}}) {
    const core::operation& op = *reference::find_operation(name);
    declares_relations under_test(op, {relation}, 1.0);
    const check_result r = run_property(*find_property("value"), under_test, op, core::dtype::f32, options(4));
    REQUIRE(r.verdict() == status::failed);
    const core::axis_sizes least = sizes_of(r.found->minimal);
    INFO(summary(r.found->minimal));
    CHECK(under_test.describe().relations.at(op.name).front().holds(least));
    for (const auto& [axis, size] : least) CHECK(size <= (axis == "d" ? 2u : 1u));
  }
}

TEST_CASE("properties/later_settings/change_no_other_draw", "[unit][gate]") {
  std::size_t conventions = 0;
  for (const core::operation& op : reference::operations()) {
    setting_values unnamed;
    for (const core::attribute_declaration& a : op.attributes)
      if (a.is_later()) unnamed[a.name] = {a.standard};
    // Settings that do not go together are drawn again.
    if (unnamed.empty() || op.forward_name() == "rope_axes/rotate") continue;
    std::set<core::attributes> named;
    for (std::uint64_t drawn = 0; drawn < 20; ++drawn) {
      case_key key{&op, core::dtype::f64, mild_family_of(op).name, drawn};
      core::attributes all = make_case(key).call.attributes;
      key.settings = unnamed;
      const test_case before = make_case(key);
      core::attributes others = before.call.attributes, requested_settings;
      for (const auto& [name, values] : unnamed) {
        CHECK(others.extract(name).mapped() == values.front());
        requested_settings[name] = all.extract(name).mapped();
      }
      CHECK(all == others);
      named.insert(requested_settings);
    }
    INFO(op.name);
    CHECK(named.size() > 1);
    conventions += unnamed.size();
  }
  CHECK(conventions > 3);
}
