// Runs the targets without libFuzzer, in any build:
//
//   fuzz_replay SOURCE                    for each target: every finding in tools/fuzz/findings/TARGET, every seed, and
//                                         3000 inputs that are made from seeds by mutation, always the same
//   fuzz_replay SOURCE --mutate N TARGET  N such inputs of one target
//   fuzz_replay SOURCE --seeds FOLDER     writes FOLDER/TARGET/* and FOLDER/words.dict for libFuzzer
//   fuzz_replay --input TARGET FILE       one input
//
// An input that breaks a rule ends the program. The last line of the output names the file that holds this input.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "reference/core/counter_random.hpp"
#include "tools/fuzz/targets.hpp"

namespace {

namespace fs = std::filesystem;
using namespace assay;

std::string slurp(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void spill(const fs::path& path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc)
      .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

// The current input, for the signal handler.
std::string current;
fs::path crash_file;

void run(const fuzz::target& t, std::string bytes) {
  current = std::move(bytes);
  crash_file = fs::temp_directory_path() / ("fuzz-crash-" + std::string(t.name));
  t.run(current);
}

// Saves the input before the process ends; std::terminate raises SIGABRT, too. The process is lost anyway, so this
// handler may call functions that are unsafe in handlers.
extern "C" void keep_input(int number) {
  std::signal(number, SIG_DFL);
  spill(crash_file, current);
  std::fprintf(stderr, "fuzz_replay: signal %d; the input is %s\n", number, crash_file.c_str());
  std::raise(number);
}

// One to four changes: bits, bytes, digits and words changed; ranges cut, doubled or taken from another seed.
std::string mutated(const std::vector<std::string>& seeds, core::counter_random& random) {
  std::string out = seeds[random.below(seeds.size())];
  for (std::size_t changes = 1 + random.below(4); changes > 0; --changes) {
    const std::size_t position = random.below(out.size() + 1), length = 1 + random.below(random.one_in(4) ? 64 : 8);
    switch (random.below(8)) {
      case 0:
        if (position < out.size()) out[position] = static_cast<char>(out[position] ^ (1 << random.below(8)));
        break;
      case 1:
        if (position < out.size()) out[position] = static_cast<char>(random.bits());
        break;
      case 2:
        out.erase(position, length);
        break;
      case 3:
        out.insert(position, out.substr(random.below(out.size() + 1), length));
        break;
      case 4:
        out.insert(position, fuzz::words()[random.below(fuzz::words().size())]);
        break;
      case 5: {
        const std::string& other = seeds[random.below(seeds.size())];
        out.replace(position, length, other.substr(random.below(other.size() + 1), length));
        break;
      }
      case 6: {
        const std::size_t digit = out.find_first_of("0123456789", position);
        if (digit != std::string::npos) out[digit] = static_cast<char>('0' + random.below(10));
        break;
      }
      default:
        out.resize(position);
    }
  }
  return out;
}

void mutate(const fuzz::target& t, const std::vector<std::string>& seeds, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    core::counter_random random(i);
    run(t, mutated(seeds, random));
  }
}

int replay_all(const std::string& source) {
  constexpr std::size_t mutations = 3000;
  for (const fuzz::target& t : fuzz::targets()) {
    std::size_t findings = 0;
    std::error_code none;
    for (const auto& entry : fs::directory_iterator(fs::path(source) / "tools/fuzz/findings" / t.name, none)) {
      run(t, slurp(entry.path()));
      ++findings;
    }
    const auto seeds = fuzz::seeds_of(t.name, source);
    if (seeds.empty()) {
      std::fprintf(stderr, "fuzz_replay: %s has no seeds\n", std::string(t.name).c_str());
      return 1;
    }
    for (const std::string& seed : seeds) run(t, seed);
    mutate(t, seeds, mutations);
    std::printf("%s: %zu findings, %zu seeds, %zu mutations\n", std::string(t.name).c_str(), findings, seeds.size(),
                mutations);
  }
  return 0;
}

int write_seeds(const std::string& source, const fs::path& folder) {
  for (const fuzz::target& t : fuzz::targets()) {
    fs::create_directories(folder / t.name);
    std::size_t number = 0;
    for (const std::string& seed : fuzz::seeds_of(t.name, source))
      spill(folder / t.name / ("seed-" + std::to_string(number++)), seed);
  }
  std::ofstream dictionary(folder / "words.dict");
  for (const std::string& word : fuzz::words()) {
    dictionary << '"';
    for (const char c : word) dictionary << (c == '"' || c == '\\' ? "\\" : "") << c;
    dictionary << "\"\n";
  }
  return 0;
}

}  // namespace

int main(int count, char** values) {
  for (const int number : {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL}) std::signal(number, keep_input);
  const std::vector<std::string> words(values + 1, values + count);
  if (words.size() == 1) return replay_all(words[0]);
  if (words.size() == 3 && words[0] == "--input") {
    if (const fuzz::target* t = fuzz::find_target(words[1])) return run(*t, slurp(words[2])), 0;
  } else if (words.size() == 3 && words[1] == "--seeds") {
    return write_seeds(words[0], words[2]);
  } else if (words.size() == 4 && words[1] == "--mutate") {
    if (const fuzz::target* t = fuzz::find_target(words[3]))
      return mutate(*t, fuzz::seeds_of(t->name, words[0]), std::strtoull(words[2].c_str(), nullptr, 10)), 0;
  }
  std::fprintf(stderr, "usage: fuzz_replay SOURCE [--mutate N TARGET | --seeds FOLDER], or --input TARGET FILE\n");
  return 2;
}
