// The targets under libFuzzer: `assay_fuzz --target=NAME [options of libFuzzer] CORPUS`.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "tools/fuzz/targets.hpp"

namespace {
const assay::fuzz::target* chosen = nullptr;
}

extern "C" int LLVMFuzzerInitialize(int* count, char*** values) {
  constexpr std::string_view option = "--target=";  // libFuzzer ignores options that begin with two dashes
  for (int i = 1; i < *count; ++i)
    if (const std::string_view word = (*values)[i]; word.starts_with(option))
      chosen = assay::fuzz::find_target(word.substr(option.size()));
  if (chosen != nullptr) return 0;
  std::fprintf(stderr, "assay_fuzz: --target=NAME is one of");
  for (const auto& t : assay::fuzz::targets()) std::fprintf(stderr, " %s", std::string(t.name).c_str());
  std::fprintf(stderr, "\n");
  std::exit(2);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  chosen->run({reinterpret_cast<const char*>(data), size});
  return 0;
}
