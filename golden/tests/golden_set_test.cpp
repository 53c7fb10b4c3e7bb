// Making sets: the same bytes again, refusal of what is not proved, and what stands beside the values.
#include "golden/golden_set.hpp"

#include <catch2/catch.hpp>
#include <cmath>

#include "golden/formats/file.hpp"
#include "golden/formats/temporary_folder.hpp"
#include "golden/formats/tests/small_files.hpp"
#include "reference/encodings/heinsen.hpp"
#include "reference/readings/value.hpp"

namespace {

using namespace assay;
using namespace assay::formats::testing;
using Catch::Matchers::Contains;

const fs::path committed = fs::path(ASSAY_SOURCE_DIR) / "golden";

golden::recipe recipe_of(const std::string& encoding) {
  const auto r = golden::read_recipe(committed / "recipes" / (encoding + ".json"));
  INFO((r ? "" : r.error().message));
  REQUIRE(r.has_value());
  return *r;
}

}  // namespace

TEST_CASE("golden/set/the_committed_sets_are_made_again_byte_by_byte", "[golden]") {
  const auto folder = formats::temporary_folder::make().value();
  for (const std::string& encoding : reference::encoding_names()) {
    const fs::path set = committed / "sets" / encoding, again = folder.path() / encoding;
    const auto made = golden::make_set(recipe_of(encoding), again);
    INFO((made ? "" : made.error().message));
    REQUIRE(made.has_value());
    std::size_t files = 0;
    for (const auto& entry : fs::directory_iterator(again)) {
      INFO(entry.path().filename());
      CHECK(slurp(entry.path()) == slurp(set / entry.path().filename()));
      ++files;
    }
    CHECK(files == made->files + 1);
    CHECK(static_cast<std::ptrdiff_t>(files) == std::distance(fs::directory_iterator(set), fs::directory_iterator()));
    CHECK(made->bytes < 2'000'000);
  }
}

TEST_CASE("golden/set/the_committed_sets_are_proved_again", "[golden]") {
  for (const std::string& encoding : reference::encoding_names()) {
    const auto found = golden::check_set(committed / "sets" / encoding);
    for (const auto& p : found.problems) FAIL_CHECK(p.text);
    CHECK(found.files == golden::read_manifest(committed / "sets" / encoding).value().files.size());
    CHECK(found.elements > 0);
  }
}

TEST_CASE("golden/set/recipes_cover_every_operation_and_dtype") {
  for (const std::string& encoding : reference::encoding_names()) {
    std::set<std::pair<std::string, core::dtype>> covered;
    for (const auto& entry : recipe_of(encoding).entries)
      for (const core::dtype type : entry.dtypes) covered.emplace(entry.operation->name, type);
    for (const core::operation& op : reference::operations())
      if (op.name.starts_with(encoding + "/"))
        for (const core::dtype type : core::floating_dtypes) {
          INFO(op.name << " in " << core::name_of(type));
          CHECK(covered.contains({op.name, type}));
        }
  }
}

TEST_CASE("golden/set/what_is_undecided_is_refused") {
  const auto folder = formats::temporary_folder::make().value();
  golden::recipe r = recipe_of("heinsen");
  std::erase_if(r.entries, [](const auto& e) { return e.id != "scan-mild" && e.id != "scan-above-a-tie-f64"; });
  REQUIRE(r.entries.size() == 2);
  // The remainder beside a value that is decided by a strict side takes more digits than the first precision has.
  const auto made = golden::make_set(r, folder.path() / "set", {}, 1);
  REQUIRE_FALSE(made.has_value());
  CHECK_THAT(made.error().message, Contains("entry 'scan-") && Contains("output s[") && Contains("35 digits"));
  CHECK(entries_of(folder.path()) == 0);
}

TEST_CASE("golden/set/an_error_leaves_nothing") {
  const auto folder = formats::temporary_folder::make().value();
  golden::recipe r = recipe_of("heinsen");
  r.entries.resize(1);
  CHECK_THAT(golden::make_set(r, folder.path() / "no" / "set").error().message, Contains("cannot be created"));
  REQUIRE(golden::make_set(r, folder.path() / "set/").has_value());
  CHECK_THAT(golden::make_set(r, folder.path() / "set").error().message, Contains("exists already"));
  fs::create_symlink(folder.path() / "nowhere", folder.path() / "link");
  CHECK_THAT(golden::make_set(r, folder.path() / "link").error().message, Contains("exists already"));
  r.entries[0].inputs.at("log_p").draw = [](core::counter_random&, core::dtype, std::size_t) { return 0.5; };
  CHECK_THAT(golden::make_set(r, folder.path() / "other").error().message,
             Contains("entry 'scan-mild' in f64") && Contains("'log_p' at index [0, 0, 0]"));
  CHECK(entries_of(folder.path()) == 2);
}

TEST_CASE("golden/proof/low_is_the_rounded_remainder", "[property]") {
  // Against the value reading at 100 digits, which knows nothing of intervals.
  using reference::value;
  for (const auto& entry : recipe_of("heinsen").entries) {
    if (entry.id != "scan-mild" && entry.id != "scan-states-near-zero" && entry.id != "scan-vjp-mild") continue;
    for (const core::dtype type : entry.dtypes) {
      const core::tensors inputs = golden::draw_inputs(entry, type).value();
      const core::tensors proved = golden::prove({entry.operation, type, inputs, entry.attributes}).value().tensors;
      const auto truth = reference::evaluate<reference::encodings::heinsen, value>(
          {entry.operation->name, reference::lift<value>(inputs)}, {});
      for (const auto& [name, t] : truth)
        for (std::size_t i = 0; i < t.size(); ++i) {
          INFO(entry.id << " " << core::name_of(type) << " " << name << " " << i);
          const double y = proved.at(name).values.storage()[i];
          CHECK((t.storage()[i] - value(y)).to_double() == proved.at(name + ":low").values.storage()[i]);
        }
    }
  }
}

TEST_CASE("golden/proof/allow_admits_correct_arithmetic_and_no_more", "[property]") {
  std::size_t elements = 0, tight = 0;
  for (const auto& entry : recipe_of("heinsen").entries)
    for (const core::dtype type : entry.dtypes) {
      const core::tensors inputs = golden::draw_inputs(entry, type).value();
      const core::tensors proved = golden::prove({entry.operation, type, inputs, entry.attributes}).value().tensors;
      const auto plain = reference::evaluate({entry.operation, type, inputs}, reference::accuracy_class::sequential);
      for (const auto& [name, t] : plain)
        for (std::size_t i = 0; i < t.size(); ++i) {
          const double x = t.values.storage()[i], y = proved.at(name).values.storage()[i];
          const double allow = proved.at(name + ":allow").values.storage()[i];
          INFO(entry.id << " " << core::name_of(type) << " " << name << core::index_text(t.shape(), i) << ": " << x
                        << " for " << y << ", allowed " << allow);
          CHECK((core::same_value(x, y) || std::fabs(x - y) <= allow));
          ++elements;
          tight += std::isfinite(allow) && allow <= 0x1p6 * core::unit_roundoff(type) * std::max(1.0, std::fabs(y));
        }
    }
  CHECK(static_cast<double>(tight) > 0.75 * static_cast<double>(elements));
}

TEST_CASE("golden/proof/allow_of_special_values") {
  using core::dtype;
  CHECK(golden::allowed_distance(dtype::f32, -inf, 0, 0) == 0);
  CHECK(golden::allowed_distance(dtype::f32, std::nan(""), 0, 3) == 0);
  CHECK(golden::allowed_distance(dtype::f32, 1, 0, inf) == inf);
  CHECK(golden::allowed_distance(dtype::f16, inf, 70000, 1) == inf);
  CHECK(golden::allowed_distance(dtype::f16, 65504, 3, 1) == inf);
  CHECK(golden::allowed_distance(dtype::f16, 60000, 3, 1) < inf);
  // 2 u k + half an ulp + |low| = 3.75 u, rounded upwards, and to 8 bits.
  const double u = core::unit_roundoff(dtype::f32), allow = golden::allowed_distance(dtype::f32, 1, -0.75 * u, 1);
  CHECK(allow > 3.75 * u);
  CHECK(allow <= 3.75 * u * (1 + 0x1p-6));
  CHECK(std::ldexp(allow, 24 + 6) == std::nearbyint(std::ldexp(allow, 24 + 6)));
  CHECK(golden::allowed_distance(dtype::f64, 0, 0, 0) >= std::numeric_limits<double>::denorm_min());
  CHECK(golden::allowed_distance(dtype::f64, 0, 0, 0x1p-1074) >= 2 * std::numeric_limits<double>::denorm_min());
}
