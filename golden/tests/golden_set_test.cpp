// Making sets: the bytes are the same again, unproved values are refused, and the tensors beside the values are right.
#include "golden/golden_set.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "golden/formats/file.hpp"
#include "golden/formats/partial_folder.hpp"
#include "golden/formats/temporary_folder.hpp"
#include "golden/formats/tests/small_files.hpp"
#include "reference/encodings/heinsen.hpp"
#include "reference/error_bound.hpp"
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

TEST_CASE("golden/set/what_is_undecided_is_refused") {
  const auto folder = formats::temporary_folder::make().value();
  golden::recipe r = recipe_of("heinsen");
  std::erase_if(r.entries, [](const auto& e) { return e.id != "scan-mild" && e.id != "scan-above-a-tie-f64"; });
  REQUIRE(r.entries.size() == 2);
  // The remainder of a value that a strict side decides needs more digits than the first precision has.
  const auto made = golden::make_set(r, folder.path() / "set", {.rungs = 1});
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

TEST_CASE("golden/set/an_interrupted_run_is_taken_up") {
  const auto folder = formats::temporary_folder::make().value();
  golden::recipe r = recipe_of("alibi");
  r.entries.resize(12);
  const fs::path once = folder.path() / "once", twice = folder.path() / "twice",
                 partial = folder.path() / "twice.partial";
  const auto made = golden::make_set(r, once);
  REQUIRE(made.has_value());
  REQUIRE(made->kept == 0);
  // The remains of a killed run: whole files, a file that was being written, no manifest; and a file of another entry.
  fs::create_directory(partial);
  const auto name = [&](std::size_t i) { return r.entries[i].id + ".f32.safetensors"; };
  fs::copy_file(once / name(0), partial / name(0));
  fs::copy_file(once / name(1), partial / name(1));
  spill(partial / (name(2) + ".tmp-1-2"), slurp(once / name(2)).substr(0, 100));
  spill(partial / name(3), slurp(once / name(3)).substr(0, 900));
  spill(partial / name(4), slurp(once / name(5)));
  const auto again = golden::make_set(r, twice);
  REQUIRE(again.has_value());
  CHECK(again->kept == 2);
  CHECK_FALSE(fs::exists(partial));
  CHECK(std::distance(fs::directory_iterator(once), {}) == std::distance(fs::directory_iterator(twice), {}));
  for (const auto& entry : fs::directory_iterator(once))
    CHECK(slurp(entry.path()) == slurp(twice / entry.path().filename()));
}

TEST_CASE("golden/set/of_two_runs_at_once_one_is_refused") {
  const auto outer = formats::temporary_folder::make().value();
  golden::recipe r = recipe_of("alibi");
  r.entries.resize(1);
  const fs::path folder = outer.path() / "set";
  {
    const auto other = formats::partial_folder::acquire(folder).value();
    spill(other.path() / "its-file", "bytes");
    CHECK_THAT(golden::make_set(r, folder).error().message, Contains("set.partial: another run is filling it"));
    CHECK(slurp(other.path() / "its-file") == "bytes");
    // A process that has ended leaves a lock on a folder that nobody sees.
    fs::rename(other.path(), outer.path() / "elsewhere");
    CHECK(golden::make_set(r, folder).has_value());
  }
  CHECK(fs::exists(folder / golden::manifest_name));
}

TEST_CASE("golden/proof/low_is_the_rounded_remainder", "[property]") {
  // Compared with the value reading at 100 digits, which knows nothing about intervals.
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
          const double allow = proved.at(name + ":class").values.storage()[i];
          CHECK(allow <= proved.at(name + ":bug").values.storage()[i]);
          INFO(entry.id << " " << core::name_of(type) << " " << name << core::index_text(t.shape(), i) << ": " << x
                        << " for " << y << ", allowed " << allow);
          CHECK((core::same_value(x, y) || std::fabs(x - y) <= allow));
          // Errors add up along a sequence; other tests check how fast.
          if (entry.axes.at("n") > 65) continue;
          ++elements;
          tight += std::isfinite(allow) && allow <= 0x1p6 * core::unit_roundoff(type) * std::max(1.0, std::fabs(y));
        }
    }
  CHECK(static_cast<double>(tight) > 0.75 * static_cast<double>(elements));
}

TEST_CASE("golden/proof/allowances_of_arithmetic_in_f32", "[property]") {
  // Numbers that are computed in f32 and stored in 16 bits lie inside the allowance for f32, and this allowance lies
  // inside the one for the dtype itself.
  std::size_t narrower = 0, elements = 0;
  for (const auto& entry : recipe_of("heinsen").entries) {
    if (!entry.id.starts_with("scan-mild") && !entry.id.starts_with("scan-vjp-mild")) continue;
    for (const core::dtype type : {core::dtype::f16, core::dtype::bf16}) {
      const core::tensors inputs = golden::draw_inputs(entry, type).value();
      const core::tensors proved = golden::prove({entry.operation, type, inputs, entry.attributes}).value().tensors;
      core::tensors wide = inputs;
      for (auto& [name, t] : wide) t = core::cast(core::dtype::f32, t);
      for (const auto& [name, t] :
           reference::evaluate({entry.operation, core::dtype::f32, wide}, reference::accuracy_class::sequential))
        for (std::size_t i = 0; i < t.size(); ++i) {
          const auto proved_number = [&](const char* beside) { return proved.at(name + beside).values.storage()[i]; };
          const double x = core::round_to(type, t.values.storage()[i]);
          INFO(entry.id << " " << core::name_of(type) << " " << name << " " << i);
          CHECK(std::fabs(x - proved_number("")) <= proved_number(":class.f32"));
          CHECK(proved_number(":class.f32") <= proved_number(":bug.f32"));
          CHECK(proved_number(":bug.f32") <= proved_number(":bug"));
          narrower += proved_number(":bug.f32") < 0.5 * proved_number(":bug");
          ++elements;
        }
    }
  }
  CHECK(2 * narrower > elements);
}

TEST_CASE("golden/proof/an_allowance_is_the_verdicts_bound_and_no_more") {
  using core::dtype;
  using golden::allowed_distance;
  const double u = core::unit_roundoff(dtype::f32), bound = reference::bug_bound(dtype::f32, dtype::f32, 1, 1);
  CHECK(bound == 3 * u);
  // b + |low| = 3.75 u, rounded up, to 8 bits.
  const double allow = allowed_distance(dtype::f32, 1, -0.75 * u, bound);
  CHECK(allow > 3.75 * u);
  CHECK(allow <= 3.75 * u * (1 + 0x1p-6));
  CHECK(std::ldexp(allow, 24 + 6) == std::nearbyint(std::ldexp(allow, 24 + 6)));
  CHECK(allowed_distance(dtype::f64, 0, 0, reference::bug_bound(dtype::f64, dtype::f64, 0, 0)) >=
        std::numeric_limits<double>::denorm_min());
  CHECK(reference::class_bound(reference::accuracy_class::sequential, dtype::bf16, dtype::f32, 1, 1) ==
        1.25 * u + 0x1p-8);
  CHECK(reference::class_bound(reference::accuracy_class::uniform, dtype::f32, dtype::f32, 4, 1) == 4 * u);
}

TEST_CASE("golden/proof/allowances_of_special_values") {
  using core::dtype;
  using golden::allowed_distance;
  CHECK(allowed_distance(dtype::f32, -inf, 0, 0) == 0);
  CHECK(allowed_distance(dtype::f32, std::nan(""), 0, 3) == 0);
  CHECK(allowed_distance(dtype::f32, 1, 0, inf) == inf);
  CHECK(allowed_distance(dtype::f16, 65504, 3, 40) == inf);
  CHECK(allowed_distance(dtype::f16, 60000, 3, 40) < inf);
  // Beyond the largest number only the infinity is right, unless the bound reaches back.
  CHECK(allowed_distance(dtype::f16, inf, 70000, 40) == 0);
  CHECK(allowed_distance(dtype::f16, inf, 65530, 40) == inf);
}
