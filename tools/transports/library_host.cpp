#include "tools/transports/library_host.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "golden/formats/safetensors.hpp"
#include "tools/transports/call_message.hpp"
#include "tools/transports/library.hpp"

namespace assay::transports {
namespace {

using properties::call_failure;
using properties::fault;

constexpr int cannot_host = 2;

int refuse(const std::string& reason) {
  std::fprintf(stderr, "assay: %s\n", reason.c_str());
  return cannot_host;
}

// Moves the streams of the protocol to their own descriptors. From then on standard input is empty, and output to
// standard output goes to standard error.
struct protocol_streams {
  std::FILE* requests = nullptr;
  descriptor answers;

  protocol_streams()
      : requests(::fdopen(::fcntl(0, F_DUPFD_CLOEXEC, 3), "r")), answers(::fcntl(1, F_DUPFD_CLOEXEC, 3)) {
    const descriptor null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    ::dup2(null.get(), 0);
    ::dup2(2, 1);
  }
  protocol_streams(const protocol_streams&) = delete;
  protocol_streams& operator=(const protocol_streams&) = delete;
  ~protocol_streams() {
    if (requests != nullptr) std::fclose(requests);
  }

  bool read(std::string& line) const {
    line.clear();
    for (int c = 0; (c = std::fgetc(requests)) != EOF && c != '\n';) line += static_cast<char>(c);
    return !line.empty() || std::feof(requests) == 0;
  }

  [[nodiscard]] bool write(std::string_view text) const {
    while (!text.empty()) {
      const ssize_t written = ::write(answers.get(), text.data(), text.size());
      if (written <= 0) return false;
      text.remove_prefix(static_cast<std::size_t>(written));
    }
    return true;
  }
};

tl::expected<void, call_failure> answer(const library_candidate& library, const call_message& call) {
  const auto failed = [](const std::string& message) {
    return tl::make_unexpected(call_failure{fault::error_reply, message});
  };
  auto inputs = formats::read_safetensors(call.inputs);
  if (!inputs) return failed(inputs.error().message);
  const properties::request request{call.operation, call.type, std::move(*inputs), call.attributes};
  if (const auto ok = core::check_request(request); !ok) return failed(ok.error().message);
  const auto outputs = library.evaluate(request);
  if (!outputs) return tl::make_unexpected(outputs.error());
  if (const auto written = formats::write_safetensors(call.outputs, *outputs); !written)
    return failed(written.error().message);
  return {};
}

}  // namespace

int host_library(const std::filesystem::path& path) {
  const char* protocol = std::getenv("ASSAY_PROTOCOL");
  if (protocol == nullptr || std::string_view(protocol) != "1")
    return refuse("libraries are hosted by: assay gate --candidate library:" + path.string());
  // Created before the library is loaded: its constructors may print.
  const protocol_streams streams;
  const auto library = library_candidate::open(path);
  if (!library) return refuse(library.error().message);
  std::string line;
  if (!streams.read(line) || !streams.write(library->hello())) return cannot_host;
  while (streams.read(line)) {
    const auto call = parse_call(line);
    if (!call) return refuse("a request that is none: " + call.error().message);
    if (!streams.write(call_reply(call->id, answer(*library, *call)))) return cannot_host;
  }
  // This is not exit(): destructors and threads of the library must not affect how the process ends.
  std::fflush(nullptr);
  ::_exit(0);
}

process_candidate::started start_library(const std::filesystem::path& path, const process_limits& limits) {
  // The path is absolute: a bare name would be searched for in the system's folders.
  return process_candidate::start({"/proc/self/exe", host_library_command, std::filesystem::absolute(path)},
                                  "library:" + path.string(), limits);
}

}  // namespace assay::transports
