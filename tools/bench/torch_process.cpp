#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstring>
#include <fstream>
#include <stdexcept>

#include "tools/bench/torch_peer.hpp"

namespace assay::bench {
namespace {

std::filesystem::path write_inputs(const std::array<std::span<const float>, 3>& arrays) {
  std::string name = (std::filesystem::temp_directory_path() / "assay-bench-XXXXXX").string();
  const int file = mkstemp(name.data());
  if (file < 0) throw std::runtime_error("cannot write to " + name);
  close(file);
  std::ofstream out(name, std::ios::binary);
  for (const auto& array : arrays)
    out.write(reinterpret_cast<const char*>(array.data()), static_cast<std::streamsize>(array.size_bytes()));
  if (!out) throw std::runtime_error("cannot write to " + name);
  return name;
}

}  // namespace

std::unique_ptr<torch_peer> torch_peer::start(const std::string& python, const scan_shape& shape,
                                              const std::array<std::span<const float>, 3>& arrays, int threads) {
  std::unique_ptr<torch_peer> peer(new torch_peer);
  peer->inputs_ = write_inputs(arrays);
  int to[2], from[2];
  if (pipe2(to, O_CLOEXEC) != 0 || pipe2(from, O_CLOEXEC) != 0)
    throw std::runtime_error("cannot make a pipe to PyTorch");
  const std::string numbers[] = {std::to_string(shape.batch), std::to_string(shape.tokens),
                                 std::to_string(shape.features), std::to_string(threads)};
  const char* words[] = {python.c_str(),
                         "-c",
                         torch_peer_script,
                         peer->inputs_.c_str(),
                         numbers[0].c_str(),
                         numbers[1].c_str(),
                         numbers[2].c_str(),
                         numbers[3].c_str(),
                         nullptr};
  peer->process_ = fork();
  if (peer->process_ == 0) {
    const int silence = open("/dev/null", O_WRONLY | O_CLOEXEC);
    dup2(to[0], STDIN_FILENO), dup2(from[1], STDOUT_FILENO), dup2(silence, STDERR_FILENO);
    execvp(words[0], const_cast<char* const*>(words));
    _exit(127);
  }
  close(to[0]), close(from[1]);
  peer->to_ = fdopen(to[1], "w"), peer->from_ = fdopen(from[0], "r");
  std::array<char, 64> line{};
  const bool ready = std::fgets(line.data(), line.size(), peer->from_) != nullptr;
  if (!ready || std::strcmp(line.data(), "ready\n") != 0) return nullptr;
  return peer;
}

torch_peer::~torch_peer() {
  if (to_ != nullptr) std::fclose(to_);
  if (from_ != nullptr) std::fclose(from_);
  if (process_ > 0) {
    kill(process_, SIGKILL);
    waitpid(process_, nullptr, 0);
  }
  std::error_code ignored;
  std::filesystem::remove(inputs_, ignored);
}

peer_run torch_peer::run(const char* function) {
  std::fprintf(to_, "%s\n", function);
  std::fflush(to_);
  peer_run result{};
  if (std::fscanf(from_, "%lf %lf", &result.seconds, &result.sum) != 2)
    throw std::runtime_error("PyTorch gave no result for " + std::string(function));
  return result;
}

}  // namespace assay::bench
