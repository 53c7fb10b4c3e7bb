// A temporary folder is removed at the end of its life, unless it got a lasting name.
#include "golden/formats/temporary_folder.hpp"

#include <catch2/catch.hpp>

#include "golden/formats/tests/small_files.hpp"

using namespace assay;
using namespace assay::formats::testing;
using Catch::Matchers::Contains;
using formats::temporary_folder;

TEST_CASE("golden/temporary_folder/is_removed_with_all_it_holds") {
  fs::path path;
  {
    const auto first = temporary_folder::make().value(), second = temporary_folder::make().value();
    path = first.path();
    CHECK(path != second.path());
    CHECK(path.is_absolute());
    CHECK(fs::status(path).permissions() == fs::perms::owner_all);
    spill(path / "file", "bytes");
  }
  CHECK_FALSE(fs::exists(path));
}

TEST_CASE("golden/temporary_folder/stays_under_its_lasting_name") {
  const auto outer = temporary_folder::make().value();
  const fs::path wanted = outer.path() / "wanted";
  {
    auto folder = temporary_folder::beside(wanted).value();
    CHECK(folder.path().parent_path() == outer.path());
    spill(folder.path() / "file", "bytes");
    CHECK_FALSE(folder.keep_as(outer.path() / "no" / "folder").has_value());
    CHECK(slurp(folder.path() / "file") == "bytes");
    REQUIRE(folder.keep_as(wanted).has_value());
  }
  CHECK(slurp(wanted / "file") == "bytes");
  CHECK(entries_of(outer.path()) == 1);
  {
    auto folder = temporary_folder::beside(wanted).value();
    CHECK_THAT(folder.keep_as(wanted).error().message, Contains(wanted.string() + ": cannot be written"));
  }
  CHECK(entries_of(outer.path()) == 1);
  CHECK_THAT(temporary_folder::beside(outer.path() / "no" / "folder").error().message, Contains("cannot be created"));
}

TEST_CASE("golden/temporary_folder/texts_hold_no_name_that_changes") {
  const auto folder = temporary_folder::make().value();
  const std::string name = folder.path().string(), start = name.substr(0, name.size() - 6);  // 6 are drawn
  CHECK(formats::without_temporary_folders(name + "/1.out: is cut off; " + name) == "1.out: is cut off; ");
  for (const char* other : {"longer-name", "short", "", "a b c d/"})
    CHECK(formats::without_temporary_folders(start + other) == start + other);
}
