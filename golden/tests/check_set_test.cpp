// Every way to spoil a set is reported; if the result is no set any more, the report says so.
#include <catch2/catch.hpp>
#include <cmath>

#include "golden/compare_set.hpp"
#include "golden/formats/sha256.hpp"
#include "golden/formats/temporary_folder.hpp"
#include "golden/formats/tests/small_files.hpp"

namespace {

using namespace assay;
using namespace assay::formats::testing;
using Catch::Matchers::Contains;
using nlohmann::json;

// A small set of two files in a folder of its own.
struct small_set {
  small_set() {
    spill(scratch.path() / "recipe.json", R"({"schema": "assay-golden-recipe/1", "encoding": "heinsen",
      "default": {"normal": {"scale": 1, "shift": 0}},
      "entries": [{"id": "a", "reason": "because", "operation": "heinsen/scan", "dtypes": ["f32", "f16"],
                   "axes": {"B": 1, "n": 2, "d": 1}, "seed": 3,
                   "inputs": {"log_p": {"uniform": [-1, 0]}, "s0": {"constant": "-inf"},
                              "h": {"values": ["-inf", 1.5]}}}]})");
    REQUIRE(golden::make_set(golden::read_recipe(scratch.path() / "recipe.json").value(), folder).has_value());
  }

  // All problems in one text; each must name its place.
  [[nodiscard]] std::string problems() const {
    std::string all;
    for (const golden::problem& p : golden::check_set(folder).problems) {
      CHECK_THAT(p.text, Contains(folder.string()));
      all += (p.malformed ? "malformed: " : "wrong: ") + p.text + "\n";
    }
    return all;
  }

  [[nodiscard]] json manifest() const { return json::parse(slurp(folder / "manifest.json")); }

  // Replaces a file and its hash in the manifest, as a skilled forger would.
  void replace(const std::string& bytes) const {
    spill(file, bytes);
    golden::manifest m = golden::read_manifest(folder).value();
    m.files.at(0).sha256 = formats::sha256(bytes);
    spill(folder / "manifest.json", golden::manifest_text(m));
  }

  formats::temporary_folder scratch = formats::temporary_folder::make().value();
  fs::path folder = scratch.path() / "set", file = folder / "a.f32.safetensors";
};

// The place where the tensors begin, after the length and the header.
std::size_t data_begin(const std::string& bytes) {
  return 8 + static_cast<unsigned char>(bytes[0]) + 256 * static_cast<unsigned char>(bytes[1]);
}

}  // namespace

TEST_CASE("golden/check/a_sound_set_has_no_problem") {
  const small_set set;
  const golden::set_check found = golden::check_set(set.folder);
  CHECK(found.problems.empty());
  CHECK(found.files == 2);
  // y, y:low, y:bug and y:class; f16 also has the allowances for f32.
  CHECK(found.elements == (4 + 6) * 3);
}

TEST_CASE("golden/check/every_flipped_bit_is_found") {
  const small_set set;
  const std::string bytes = slurp(set.file);
  // 3 and 8 have no common factor, so bits at all places are flipped.
  for (std::size_t index = 0; index < bytes.size(); index += 3) {
    std::string flipped = bytes;
    flipped[index] = static_cast<char>(flipped[index] ^ (1 << index % 8));
    spill(set.file, flipped);
    INFO("byte " << index);
    CHECK_THAT(set.problems(), Contains("a.f32.safetensors") && Contains("SHA-256"));
  }
}

TEST_CASE("golden/check/the_hash_is_not_trusted") {
  const small_set set;
  const std::string bytes = slurp(set.file);
  // Flips every bit of every value: outputs, remainders and allowances; and inputs, whose truth then changes.
  std::size_t unnoticed = 0;
  for (std::size_t bit = 8 * data_begin(bytes); bit < 8 * bytes.size(); ++bit) {
    std::string flipped = bytes;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << bit % 8));
    set.replace(flipped);
    unnoticed += set.problems().empty();
  }
  // Both tokens start from a state of -inf. Nothing depends on their decays, except that these must not be growth, and
  // that the sum of decays, by which prefix sums have errors, must not be 10^38.
  CHECK(unnoticed == 2 * 30);
}

TEST_CASE("golden/check/other_bytes_for_the_same_tensors") {
  const small_set set;
  const std::string bytes = slurp(set.file), header = bytes.substr(8, data_begin(bytes) - 8);
  // The members of the header in alphabetical order.
  set.replace(with_length(json::parse(header).dump(), bytes.substr(data_begin(bytes))));
  CHECK_THAT(set.problems(), Contains("wrong: ") && Contains("not written as Assay writes it"));
  const formats::metadata about = formats::read_described_safetensors(set.file).value().about;
  core::tensors all = formats::read_safetensors(set.file).value();
  core::tensors more = all, less = all, wide = all, longer = all, outside = all;
  more["x"] = all["h"];
  less.erase("s:low");
  wide["s_n"] = core::cast(core::dtype::f64, all["s_n"]);
  longer["s:bug"] = core::zeros(core::dtype::f64, {1, 3, 1});
  outside["log_p"].values.data()[0] = 1.0;
  const auto after = [&](const core::tensors& t) {
    set.replace(formats::safetensors_bytes(t, about).value());
    return set.problems();
  };
  CHECK_THAT(after(more), Contains("malformed: ") && Contains("unknown tensor 'x'"));
  CHECK_THAT(after(less), Contains("tensor 's:low' is missing"));
  CHECK_THAT(after(wide), Contains("tensor 's_n' must be f32 but is f64"));
  CHECK_THAT(after(longer), Contains("tensor 's:bug' must have shape [1, 2, 1] but has [1, 3, 1]"));
  CHECK_THAT(after(outside), Contains("'log_p' at index [0, 0, 0] is 1"));
  more = all;
  for (const char* name : {"log_p", "h", "s", "s:low", "s:bug", "s:class"})
    more[name] = core::zeros(all[name].type, {1, 0, 1});
  CHECK_THAT(after(more), Contains("other axes"));
}

TEST_CASE("golden/check/edited_metadata") {
  const small_set set;
  const auto read = formats::read_described_safetensors(set.file).value();
  const auto after = [&](const auto& change) {
    formats::metadata about = read.about;
    change(about);
    set.replace(formats::safetensors_bytes(read.tensors, about).value());
    return set.problems();
  };
  for (const auto& [key, text] : read.about) {
    INFO(key);
    if (key == "reveals") continue;  // checked by the program, which knows the mutants
    CHECK_THAT(after([&](auto& about) { about.erase(key); }), Contains("'" + key + "' is missing"));
    CHECK_THAT(after([&](auto& about) { about[key] += "x"; }), Contains("metadata"));
  }
  CHECK_THAT(after([](auto& about) { about["more"] = ""; }), Contains("malformed: ") && Contains("'more' is unknown"));
  CHECK_THAT(after([](auto& about) { about["flags"] = "nan"; }),
             Contains("metadata 'flags' is 'nan' but by its numbers it must be 'dead_state has_minus_inf'"));
  CHECK_THAT(after([](auto& about) { about["reason"] = "another"; }),
             Contains("metadata 'reason' is 'another' but the manifest says 'because'"));
  CHECK_THAT(after([](auto& about) { about["seed"] = "4"; }), Contains("'seed' is '4' but the manifest says '3'"));
  CHECK_THAT(after([](auto& about) { about["seed"] = "3,\"m\":1"; }), Contains("'seed' must be an integer"));
  CHECK_THAT(after([](auto& about) { about["axes"] = R"({"B":1,"d":1,"n":3})"; }), Contains("other axes"));
  CHECK_THAT(after([](auto& about) { about["operation"] = "heinsen/none"; }), Contains("unknown operation"));
  CHECK_THAT(after([](auto& about) { about["licence"] = "none"; }), Contains("'licence' must be 'CC0-1.0'"));
}

TEST_CASE("golden/check/a_file_alone_and_swapped_tensors") {
  const small_set set;
  const golden::set_check alone = golden::check_file(set.file);
  CHECK(alone.problems.empty());
  CHECK(alone.elements == 4 * 3);
  auto read = formats::read_described_safetensors(set.file).value();
  const auto after = [&] {
    set.replace(formats::safetensors_bytes(read.tensors, read.about).value());
    std::string all;
    for (const golden::problem& p : golden::check_file(set.file).problems) all += p.text + "\n";
    return all;
  };
  std::swap(read.tensors["s:low"], read.tensors["s:bug"]);
  CHECK_THAT(after(), Contains("a.f32.safetensors: s:low[0, 1, 0] is"));
  std::swap(read.tensors["s:low"], read.tensors["s:bug"]);
  std::swap(read.tensors["s:bug"], read.tensors["s:class"]);
  CHECK_THAT(after(), Contains("s:bug[0, 1, 0] is") && Contains("s:class[0, 1, 0] is"));
  fs::rename(set.file, set.folder / "b.f32.safetensors");
  CHECK_THAT(golden::check_file(set.folder / "b.f32.safetensors").problems.at(0).text, Contains("must be named a.f32"));
}

TEST_CASE("golden/check/inputs_that_are_not_the_recipes") {
  const small_set set;
  const golden::recipe right = golden::read_recipe(set.scratch.path() / "recipe.json").value();
  CHECK(golden::check_set(set.folder, {}, &right).problems.empty());
  const auto problems = [&](const golden::recipe& r) {
    std::string all;
    for (const golden::problem& p : golden::check_set(set.folder, {}, &r).problems) all += p.text + "\n";
    return all;
  };
  golden::recipe other = right;
  other.entries[0].seed = 4;
  CHECK_THAT(problems(other), Contains("'seed' is '3' but the recipe says '4'") && Contains("log_p[0, 0, 0] is") &&
                                  Contains("is drawn by the recipe"));
  other = right;
  other.entries[0].dtypes.pop_back();
  CHECK_THAT(problems(other), Contains("file 1 is a.f16.safetensors where the recipe has none"));
  other = right;
  other.sha256[0] = other.sha256[0] == '0' ? '1' : '0';
  CHECK_THAT(problems(other), Contains("the recipe has SHA-256"));
}

TEST_CASE("golden/check/files_more_or_less") {
  const small_set set;
  spill(set.folder / "extra\x1b[2J", "");
  fs::create_directory(set.folder / "nested");
  CHECK_THAT(set.problems(), Contains("extra?[2J: is not in the manifest") && Contains("nested"));
  fs::remove(set.folder / "extra\x1b[2J");
  fs::remove(set.folder / "nested");
  const std::string bytes = slurp(set.file);
  for (const std::size_t length : {std::size_t{0}, std::size_t{7}, bytes.size() / 2, bytes.size() - 1}) {
    spill(set.file, bytes.substr(0, length));
    CHECK_THAT(set.problems(), Contains("malformed: ") && Contains("SHA-256"));
  }
  fs::rename(set.file, set.scratch.path() / "elsewhere");
  CHECK_THAT(set.problems(), Contains("malformed: ") && Contains("a.f32.safetensors") && Contains("No such file"));
  spill(set.scratch.path() / "elsewhere", bytes);
  fs::create_symlink(set.scratch.path() / "elsewhere", set.file);
  CHECK_THAT(set.problems(), Contains("malformed: ") && Contains("not a symbolic link"));
  fs::remove(set.folder / "manifest.json");
  CHECK_THAT(set.problems(), Contains("manifest.json") && Contains("No such file"));
  CHECK_FALSE(golden::check_set(set.scratch.path() / "none").problems.empty());
}

TEST_CASE("golden/check/manifests_are_strict") {
  const small_set set;
  const json whole = set.manifest();
  const auto after = [&](const char* pointer, const json& value) {
    json j = whole;
    j[json::json_pointer(pointer)] = value;
    spill(set.folder / "manifest.json", j.dump());
    return set.problems();
  };
  const auto without = [&](const char* parent, const char* key) {
    json j = whole;
    j[json::json_pointer(parent)].erase(key);
    spill(set.folder / "manifest.json", j.dump());
    return set.problems();
  };
  CHECK_THAT(after("/schema", "assay-golden/9"), Contains("malformed: ") && Contains("assay-golden/9"));
  CHECK_THAT(after("/licence", "none"), Contains("licence must be"));
  CHECK_THAT(after("/generator/revision", 999), Contains("generator must be"));
  CHECK_THAT(after("/recipe/sha256", "00"), Contains("recipe: sha256 must be 64"));
  CHECK_THAT(after("/recipe/name", 1), Contains("recipe: member 'name'"));
  CHECK_THAT(after("/more", 1), Contains("unknown member 'more'"));
  CHECK_THAT(after("/files", 1), Contains("files must be a list"));
  CHECK_THAT(after("/files", json::array()), Contains("not empty"));
  CHECK_THAT(after("/files/0", 1), Contains("file 0: must be an object"));
  CHECK_THAT(after("/files/1", whole["files"][0]), Contains("is there twice"));
  CHECK_THAT(after("/files/0/file", "../../etc/passwd"), Contains("file must be"));
  CHECK_THAT(after("/files/0/id", "../a"), Contains("id must be"));
  CHECK_THAT(after("/files/0/operation", "heinsen/none"), Contains("a.f32.safetensors: unknown operation"));
  CHECK_THAT(after("/files/0/operation", "heinsen/gated_scan"), Contains("shapes must be"));
  CHECK_THAT(after("/files/0/attributes", {{"block", 32}}), Contains("has no attribute 'block'"));
  CHECK_THAT(after("/files/0/dtype", "i64"), Contains("unknown dtype 'i64'"));
  CHECK_THAT(after("/files/0/axes/n", 1u << 31), Contains("too large"));
  CHECK_THAT(after("/files/0/axes/q", 1), Contains("axes: heinsen/scan has no axis 'q'"));
  CHECK_THAT(after("/files/0/axes/n", 1), Contains("shapes must be"));
  CHECK_THAT(after("/files/0/shapes/s", {1, 2, 2}), Contains("shapes must be"));
  CHECK_THAT(after("/files/0/sha256", std::string(64, 'G')), Contains("sha256 must be 64"));
  CHECK_THAT(after("/files/0/proof/s/method", "hope"), Contains("proof must be"));
  CHECK_THAT(without("/files/0/proof", "s_n"), Contains("proof must be"));
  CHECK_THAT(without("/files/0", "seed"), Contains("'seed' is missing"));
  CHECK_THAT(without("", "recipe"), Contains("'recipe' is missing"));
  CHECK_THAT(after("/files/0/reason", "another"), Contains("edited by hand"));
  spill(set.folder / "manifest.json", whole.dump());  // the same content in another layout
  CHECK_THAT(set.problems(), Contains("edited by hand"));
  const std::string text = whole.dump();
  for (std::size_t length = 0; length < text.size(); length += 13) {
    spill(set.folder / "manifest.json", text.substr(0, length));
    CHECK_THAT(set.problems(), Contains("malformed: ") && Contains("manifest.json: byte "));
  }
}

TEST_CASE("golden/check/a_file_that_is_listed_no_more_is_found") {
  const small_set set;
  golden::manifest m = golden::read_manifest(set.folder).value();
  m.files.pop_back();
  spill(set.folder / "manifest.json", golden::manifest_text(m));
  CHECK_THAT(set.problems(), Contains("a.f16.safetensors: is not in the manifest"));
}

TEST_CASE("golden/compare/numbers_and_special_values") {
  using core::dtype;
  CHECK(golden::measure(dtype::f32, 1.5, 1.0, 0, 0.5).right);
  CHECK_FALSE(golden::measure(dtype::f32, 1.75, 1.0, 0, 0.5).right);
  CHECK(golden::measure(dtype::f32, 1.0 + 0x1p-23, 1.0, 0x1p-25, 0x1p-22).ulp == 0.75);
  CHECK(golden::measure(dtype::f32, 1.0 + 0x1p-23, 1.0, 0, 0x1p-22).ratio == 0.5);
  CHECK(golden::measure(dtype::f32, -0.0, 0.0, 0, 0).right);
  CHECK(golden::measure(dtype::f32, -inf, -inf, 0, 0).right);
  CHECK_FALSE(golden::measure(dtype::f32, inf, -inf, 0, 0).right);
  CHECK_FALSE(golden::measure(dtype::f32, -inf, -1e38, 0, 1e30).right);
  CHECK_FALSE(golden::measure(dtype::f32, NAN, 1, 0, inf).right);
  CHECK_FALSE(golden::measure(dtype::f32, 1, NAN, 0, 0).right);
  CHECK(golden::measure(dtype::f32, NAN, NAN, 0, 0).right);
  CHECK(golden::measure(dtype::f32, 1e20, 1, 0, inf).right);
  CHECK_FALSE(golden::measure(dtype::f32, inf, 1, 0, inf).right);
  CHECK(golden::measure(dtype::f16, 65504, inf, 65519, inf).right);
  CHECK(golden::measure(dtype::f16, inf, 65504, 3, inf).right);
  CHECK_FALSE(golden::measure(dtype::f16, -inf, 65504, 3, inf).right);
  CHECK_FALSE(golden::measure(dtype::f16, 3, inf, 70000, inf).right);
}

TEST_CASE("golden/compare/outputs_of_a_file") {
  const small_set set;
  const golden::golden_file file = golden::read_golden_file(set.file).value();
  core::tensors outputs{{"s", file.tensors.at("s")}, {"s_n", file.tensors.at("s_n")}};
  const auto agrees = [&](golden::question kind) { return golden::agrees(file, outputs, kind, file.about.type); };
  CHECK(agrees(golden::question::bug));
  CHECK(agrees(golden::question::accuracy_class));
  double& x = outputs.at("s").values.data()[1];
  const double y = x, bug = file.tensors.at("s:bug").values.data()[1],
               good = file.tensors.at("s:class").values.data()[1];
  REQUIRE(good < bug);
  x = y + bug;
  CHECK(agrees(golden::question::bug));
  CHECK_FALSE(agrees(golden::question::accuracy_class));
  x = y + 1.01 * bug;
  CHECK_FALSE(agrees(golden::question::bug));
  const auto compared = golden::compare_output(file, "s", outputs.at("s"), golden::question::bug, core::dtype::f32);
  CHECK(compared.wrong == 1);
  CHECK(compared.first_wrong == 1);
  CHECK(compared.largest_ratio == Approx(1.01));
  x = y;
  const fs::path user = set.scratch.path() / "user.safetensors";
  REQUIRE(formats::write_safetensors(user, {{"s", outputs["s"]}, {"s_n", outputs["s_n"]}, {"h", outputs["s"]}})
              .has_value());
  CHECK(core::identical(golden::outputs_of(file.about, user).value().at("s"), outputs["s"]));
  REQUIRE(formats::write_safetensors(user, {{"s", outputs["s"]}}).has_value());
  CHECK_THAT(golden::outputs_of(file.about, user).error().message, Contains("user.safetensors") && Contains("s_n"));
}
