// Breaks every rule of the hostile reader once.
#include "golden/formats/safetensors.hpp"

#include <sys/stat.h>

#include <catch2/catch.hpp>

#include "golden/formats/temporary_folder.hpp"
#include "golden/formats/tests/small_files.hpp"

namespace {

using namespace assay;
using namespace assay::formats::testing;
using Catch::Matchers::Contains;

// The error of reading a file with this header and data.
std::string refusal(const std::string& header, const std::string& data = "") {
  const auto folder = formats::temporary_folder::make().value();
  const fs::path path = folder.path() / "hostile.safetensors";
  spill(path, with_length(header, data));
  const auto read = formats::read_safetensors(path);
  INFO("header: " << header.substr(0, 200));
  REQUIRE_FALSE(read.has_value());
  REQUIRE_THAT(read.error().message, Contains(path.string()) && Contains(": byte "));
  return read.error().message;
}

}  // namespace

TEST_CASE("golden/safetensors/json_is_strict") {
  const std::string data(8, '\0');
  CHECK_THAT(
      refusal(
          R"({"x":{"dtype":"F64","shape":[1],"data_offsets":[0,8]},"x":{"dtype":"F64","shape":[1],"data_offsets":[0,8]}})",
          data),
      Contains("byte 62: header: keys must not repeat"));
  CHECK_THAT(refusal(R"({"x":{"dtype":"F64","dtype":"F64","shape":[1],"data_offsets":[0,8]}})", data),
             Contains("repeat"));
  CHECK_THAT(refusal(x_entry("F64", "[1e0]", "[0,8]"), data), Contains("without fraction or exponent"));
  CHECK_THAT(refusal(x_entry("F64", "[1.0]", "[0,8]"), data), Contains("without fraction or exponent"));
  CHECK_THAT(refusal(x_entry("F64", "[18446744073709551616]", "[0,8]"), data), Contains("below 2^64"));
  CHECK_THAT(refusal(x_entry("F64", "[-1]", "[0,8]"), data), Contains("must not be negative"));
  CHECK_THAT(refusal(x_entry("F64", "[-0]", "[0,8]"), data), Contains("must not be negative"));
  CHECK_THAT(refusal(x_entry("F64", "[NaN]", "[0,8]"), data), Contains("must be valid JSON"));
  CHECK_THAT(refusal(x_entry("F64", "[01]", "[0,8]"), data), Contains("must be valid JSON"));
  CHECK_THAT(refusal("{\"\xff\":1}"), Contains("must be valid JSON") && Contains("UTF-8"));
  CHECK_THAT(refusal(x_entry("F64", "[1]", "[0,8]") + "}", data), Contains("must be valid JSON"));
  CHECK_THAT(refusal(x_entry("F64", "[1]", "[0,8]") + std::string(1, '\0'), data), Contains("NUL"));
  CHECK_THAT(refusal("\xef\xbb\xbf{}"), Contains("must begin with '{'"));
  CHECK_THAT(refusal(" {}"), Contains("must begin with '{'"));
  CHECK_THAT(refusal(""), Contains("must begin with '{'"));
  CHECK_THAT(refusal(R"({"x":[[[[1]]]]})"), Contains("nested"));
  CHECK_THAT(refusal("{" + std::string(1 << 19, '[')), Contains("must be valid JSON"));
  CHECK(refusal("{\"" + std::string(1 << 19, 'k') + "\"}").size() < 600);
}

TEST_CASE("golden/safetensors/entries_are_strict") {
  const std::string data(8, '\0');
  CHECK_THAT(refusal(R"({"x":3})"), Contains("byte 9: header: 'x': must be an object"));
  CHECK_THAT(refusal(R"({"a\"\\":3})"), Contains("byte 9: "));
  CHECK_THAT(refusal(R"({"x":{"dtype":"F64","shape":[1]}})"), Contains("must have the members"));
  CHECK_THAT(refusal(R"({"x":{"dtype":"F64","shape":[1],"data_offsets":[0,8],"more":1}})", data),
             Contains("no member but"));
  CHECK_THAT(refusal(R"({"x":{"dtype":3,"shape":[1],"data_offsets":[0,8]}})", data),
             Contains("dtype must be a string"));
  CHECK_THAT(refusal(x_entry("U8", "[8]", "[0,8]"), data), Contains("dtype must be one of"));
  CHECK_THAT(refusal(x_entry("f64", "[1]", "[0,8]"), data), Contains("dtype must be one of"));
  CHECK_THAT(refusal(x_entry("F64", "1", "[0,8]"), data), Contains("shape must be an array"));
  CHECK_THAT(refusal(x_entry("F64", "[\"1\"]", "[0,8]"), data), Contains("shape must be an array"));
  CHECK_THAT(refusal(x_entry("F64", "[1" + std::string(64, ' ') + "]", "[0,9]"), data + "x"), Contains("must span"));
  CHECK_THAT(refusal(x_entry("F64", "[4611686018427387904,4]", "[0,0]")), Contains("must not overflow"));
  CHECK_THAT(refusal(x_entry("F64", "[4611686018427387904,4611686018427387904,0]", "[0,0]")),
             Contains("must not overflow"));
  CHECK_THAT(refusal(x_entry("BOOL", "[9223372036854775807,0]", "[0,0]")), Contains("must not overflow"));
  std::string axes = "1";
  for (int i = 0; i < 40; ++i) axes += ",1";
  CHECK_THAT(refusal(x_entry("F64", "[" + axes + "]", "[0,8]"), data), Contains("at most 32 axes"));
  CHECK_THAT(refusal(x_entry("F64", "[1]", "[0,8,8]"), data), Contains("two non-negative integers"));
  CHECK_THAT(refusal(x_entry("F64", "[1]", "[8,0]"), data), Contains("must not decrease"));
  CHECK_THAT(refusal(x_entry("F64", "[2]", "[0,16]"), data), Contains("must lie within the file"));
  CHECK_THAT(refusal(x_entry("F64", "[1]", "[1,9]"), data + "x"), Contains("no gap"));
  CHECK_THAT(refusal(x_entry("F64", "[1]", "[0,8]"), data + "x"), Contains("must belong to a tensor"));
  CHECK_THAT(
      refusal(
          R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"b":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})",
          data),
      Contains("must not overlap"));
  CHECK_THAT(refusal(R"({"__metadata__":{"a":1}})"), Contains("object of strings"));
  CHECK_THAT(refusal(R"({"__metadata__":"a"})"), Contains("object of strings"));
}

TEST_CASE("golden/safetensors/values_are_strict") {
  using namespace std::string_literals;
  CHECK_THAT(refusal(x_entry("BOOL", "[2]", "[0,2]"), "\x01\x02"s), Contains("a BOOL must be 0 or 1"));
  CHECK_THAT(refusal(x_entry("I64", "[1]", "[0,8]"), "\x01\0\0\0\0\0\x20\0"s), Contains("must not exceed 2^53"));
  CHECK_THAT(refusal(x_entry("I64", "[1]", "[0,8]"), "\0\0\0\0\0\0\0\x80"s), Contains("must not exceed 2^53"));
}

TEST_CASE("golden/safetensors/metadata_and_orders_are_free") {
  const auto folder = formats::temporary_folder::make().value();
  const fs::path path = folder.path() / "free";
  spill(path, with_length(R"({"__metadata__":{"by":"hand"},"a":{"shape":[1],"data_offsets":[4,8],"dtype":"F32"},)"
                          R"("z":{"dtype":"F32","shape":[],"data_offsets":[0,4]}}   )",
                          std::string(8, '\0')));
  const auto in = formats::read_safetensors(path);
  REQUIRE(in.has_value());
  CHECK(in->at("z").shape().empty());
  CHECK(in->at("a").shape() == core::shape{1});
}

TEST_CASE("golden/safetensors/sizes_are_checked_first") {
  const auto folder = formats::temporary_folder::make().value();
  const fs::path path = folder.path() / "x";
  std::string length = with_length("{}");
  length[3] = '\x7f';
  spill(path, length);
  CHECK_THAT(formats::read_safetensors(path).error().message, Contains("byte 0: the header must have at most 1048576"));
  spill(path, with_length("{}").substr(0, 9));
  CHECK_THAT(formats::read_safetensors(path).error().message, Contains("byte 0: the header must lie within the file"));
  REQUIRE(formats::write_safetensors(path, small_tensors()).has_value());
  CHECK_THAT(formats::read_safetensors(path, {.file_bytes = 20}).error().message, Contains("at most 20 bytes"));
  CHECK_THAT(formats::read_safetensors(path, {.elements = 4}).error().message, Contains("at most 4 elements"));
  for (const formats::read_limits small : {formats::read_limits{.file_bytes = 20}, formats::read_limits{.elements = 4}})
    CHECK(formats::read_safetensors(path, small).error().kind == formats::file_fault::oversized);
  CHECK(formats::read_safetensors(path, {.elements = 5}).has_value());
}

TEST_CASE("golden/safetensors/only_regular_files_are_read") {
  const auto folder = formats::temporary_folder::make().value();
  REQUIRE(formats::write_safetensors(folder.path() / "real", small_tensors()).has_value());
  fs::create_symlink(folder.path() / "real", folder.path() / "link");
  REQUIRE(::mkfifo((folder.path() / "fifo").c_str(), 0600) == 0);
  CHECK_THAT(formats::read_safetensors(folder.path() / "link").error().message, Contains("not a symbolic link"));
  CHECK_THAT(formats::read_safetensors(folder.path() / "fifo").error().message, Contains("must be a regular file"));
  CHECK_THAT(formats::read_safetensors(folder.path()).error().message, Contains("must be a regular file"));
  CHECK_THAT(formats::read_safetensors("/dev/zero").error().message, Contains("must be a regular file"));
  CHECK_THAT(formats::read_safetensors(folder.path() / "none").error().message, Contains("No such file"));
  CHECK(formats::read_safetensors(folder.path() / "none").error().kind == formats::file_fault::missing);
  CHECK(formats::read_safetensors(folder.path() / "link").error().kind == formats::file_fault::other);
}

TEST_CASE("golden/safetensors/every_truncation_is_an_error") {
  const auto folder = formats::temporary_folder::make().value();
  const fs::path path = folder.path() / "short";
  REQUIRE(formats::write_safetensors(path, small_tensors()).has_value());
  const std::string bytes = slurp(path);
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    spill(path, bytes.substr(0, length));
    INFO("length " << length);
    CHECK_FALSE(formats::read_safetensors(path).has_value());
  }
}

TEST_CASE("golden/safetensors/every_mutation_of_a_byte_ends_cleanly") {
  const auto folder = formats::temporary_folder::make().value();
  const fs::path path = folder.path() / "mutated";
  REQUIRE(formats::write_safetensors(path, small_tensors()).has_value());
  const std::string bytes = slurp(path);
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  const auto put = [&](std::size_t offset, char value) {
    file.seekp(static_cast<std::streamoff>(offset)).put(value).flush();
    REQUIRE(file.good());
  };
  std::size_t refused = 0, read = 0;
  for (std::size_t index = 0; index < bytes.size(); ++index) {
    for (int value = 0; value < 256; ++value) {
      put(index, static_cast<char>(value));
      const auto result = formats::read_safetensors(path);
      ++(result ? read : refused);
      if (!result && result.error().message.empty()) FAIL("an error without words at byte " << index);
    }
    put(index, bytes[index]);
  }
  CHECK(refused > read);
  CHECK(read > 0);
}
