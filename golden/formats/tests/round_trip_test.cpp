// Files that the writer writes are read back bit for bit; a write that fails leaves nothing.
#include <algorithm>
#include <bit>
#include <catch2/catch.hpp>
#include <cmath>

#include "golden/formats/safetensors.hpp"
#include "golden/formats/temporary_folder.hpp"
#include "golden/formats/tests/small_files.hpp"

namespace {

using namespace assay;
using namespace assay::formats::testing;
using Catch::Matchers::Contains;

constexpr double quiet_nan = std::numeric_limits<double>::quiet_NaN();

bool same_bits(const core::tensor& a, const core::tensor& b) {
  return a.type == b.type && a.shape() == b.shape() &&
         std::equal(
             a.values.storage().begin(), a.values.storage().end(), b.values.storage().begin(),
             [](double x, double y) { return std::bit_cast<std::uint64_t>(x) == std::bit_cast<std::uint64_t>(y); });
}

}  // namespace

TEST_CASE("golden/safetensors/round_trip_keeps_every_bit") {
  const auto folder = formats::temporary_folder::make().value();
  core::tensors out;
  for (const core::dtype type : core::floating_dtypes) {
    const double tiny = core::smallest_subnormal(type), big = core::largest_finite(type);
    const double ulp_above_one = core::next_above(type, 1.0);
    out[std::string(core::name_of(type))] =
        core::make_tensor(type, {3, 4},
                          {0.0, -0.0, inf, -inf, quiet_nan, tiny, -3 * tiny, core::smallest_normal(type), big, -big,
                           ulp_above_one, -2.5});
  }
  out["i64"] = core::make_tensor(core::dtype::i64, {3}, {0x1p53, -0x1p53, -1});
  out["i32"] = core::make_tensor(core::dtype::i32, {2}, {-2147483648.0, 2147483647.0});
  out["bool"] = core::make_tensor(core::dtype::boolean, {2}, {0, 1});
  out["scalar"] = core::make_tensor(core::dtype::f64, {}, {0x1.fffffffffffffp-1023});
  out["empty"] = core::zeros(core::dtype::f16, {2, 0, 5});
  out["a quote \" and a slash \\ and \xc3\xa9"] = core::zeros(core::dtype::bf16, {0});

  const fs::path path = folder.path() / "all.safetensors";
  REQUIRE(formats::write_safetensors(path, out).has_value());
  const auto in = formats::read_safetensors(path);
  REQUIRE(in.has_value());
  REQUIRE(in->size() == out.size());
  for (const auto& [name, t] : out) {
    INFO(name);
    CHECK(same_bits(t, in->at(name)));
  }
  REQUIRE(formats::write_safetensors(folder.path() / "again.safetensors", *in).has_value());
  CHECK(slurp(path) == slurp(folder.path() / "again.safetensors"));
}

TEST_CASE("golden/safetensors/every_pattern_of_the_narrow_formats_comes_back") {
  const auto folder = formats::temporary_folder::make().value();
  for (const core::dtype type : {core::dtype::f16, core::dtype::bf16}) {
    std::string data;
    for (unsigned bits = 0; bits < 65536; ++bits)
      (data += static_cast<char>(bits & 0xff)) += static_cast<char>(bits >> 8);
    const std::string name = type == core::dtype::f16 ? "F16" : "BF16";
    spill(folder.path() / "in", with_length(x_entry(name, "[65536]", "[0,131072]"), data));
    const auto in = formats::read_safetensors(folder.path() / "in");
    REQUIRE(in.has_value());
    REQUIRE(formats::write_safetensors(folder.path() / "out", *in).has_value());
    const std::string again = slurp(folder.path() / "out").substr(slurp(folder.path() / "out").size() - data.size());
    std::size_t changed = 0;
    for (unsigned bits = 0; bits < 65536; ++bits)
      if (!std::isnan(in->at("x").values.data()[bits])) changed += again.compare(2 * bits, 2, data, 2 * bits, 2) != 0;
    CHECK(changed == 0);
  }
}

TEST_CASE("golden/safetensors/layout_is_fixed") {
  const auto folder = formats::temporary_folder::make().value();
  const fs::path path = folder.path() / "small";
  REQUIRE(formats::write_safetensors(path, small_tensors()).has_value());
  std::string header = R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
                       R"("b":{"dtype":"BOOL","shape":[1,3],"data_offsets":[8,11]}})";
  header.resize((header.size() + 7) / 8 * 8, ' ');
  using namespace std::string_literals;
  CHECK(slurp(path) == with_length(header, "\x00\x00\xc0\x3f\x00\x00\x80\xff\x01\x00\x01"s));
  REQUIRE(formats::write_safetensors(path, {}).has_value());
  CHECK(formats::read_safetensors(path).value().empty());
}

TEST_CASE("golden/safetensors/a_failed_write_leaves_nothing") {
  const auto folder = formats::temporary_folder::make().value();
  const fs::path path = folder.path() / "out";
  core::tensors bad = small_tensors();
  bad["a"].values.data()[0] = 0.1;  // no value of f32
  CHECK_THAT(formats::write_safetensors(path, bad).error().message, Contains("element 0 is no value of f32"));
  CHECK_FALSE(formats::write_safetensors(path, {{"\xff", bad["b"]}}).has_value());
  CHECK_FALSE(formats::write_safetensors(path, {{"__metadata__", bad["b"]}}).has_value());
  CHECK_FALSE(formats::write_safetensors(folder.path() / "no" / "folder", small_tensors()).has_value());
  CHECK(entries_of(folder.path()) == 0);
  fs::create_directory(path);  // the rename must fail
  CHECK_FALSE(formats::write_safetensors(path, small_tensors()).has_value());
  CHECK(entries_of(folder.path()) == 1);
  fs::remove(path);
  REQUIRE(formats::write_safetensors(path, small_tensors()).has_value());
  const std::string before = slurp(path);
  CHECK_FALSE(formats::write_safetensors(path, bad).has_value());
  CHECK(slurp(path) == before);
}
