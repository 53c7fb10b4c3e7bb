// Prints what golden_reader.hpp reads from each file, in the format of all listings: see test_readers.py.
#include <cstdio>

#include "golden/readers/golden_reader.hpp"

namespace {

void list(const std::string& path) {
  const golden::file file = golden::read(path);
  std::printf("file %s\n", path.c_str());
  for (const auto& [key, text] : file.metadata) std::printf("metadata %s %s\n", key.c_str(), text.c_str());
  for (const auto& [name, t] : file.tensors) {
    std::string shape;
    for (const auto size : t.shape) shape += (shape.empty() ? "" : ", ") + std::to_string(size);
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < t.values.size(); ++i) {
      std::uint64_t bits = 0x7ff8000000000000;
      if (!std::isnan(t.values[i])) std::memcpy(&bits, &t.values[i], sizeof bits);
      sum += bits * (2 * i + 1);
    }
    std::printf("tensor %s %s [%s] %zu %016llx\n", name.c_str(), t.dtype.c_str(), shape.c_str(), t.values.size(),
                static_cast<unsigned long long>(sum));
  }
}

}  // namespace

int main(int count, char** paths) {
  for (int i = 1; i < count; ++i) try {
      list(paths[i]);
    } catch (const std::runtime_error& e) {
      std::printf("error %s\n", e.what());
    }
}
