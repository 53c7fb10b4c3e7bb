#include "golden/formats/sha256.hpp"

#include <catch2/catch.hpp>

using namespace assay;

TEST_CASE("golden/sha256/known_digests") {
  // FIPS 180-4, examples of NIST's Cryptographic Standards and Guidelines.
  CHECK(formats::sha256("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(formats::sha256("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}
