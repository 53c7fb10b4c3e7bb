#include "tools/explore/ranks.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <mutex>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <thread>
#include <utility>

namespace assay::explore {
namespace {

using nlohmann::json;

// MessagePack keeps every bit of a double, except those of a NaN.
std::string packed(const json& message) {
  std::string bytes;
  json::to_msgpack(message, bytes);
  return bytes;
}

// Read from the environment variables of Open MPI, of Hydra (MPICH, Intel MPI) and of Slurm.
int ranks_that_a_launcher_started() {
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"})
    if (const char* text = std::getenv(name)) return std::atoi(text);
  return 1;
}

json measured(const json& given, const caller& call) {
  using clock = std::chrono::steady_clock;
  std::vector<cell> cells;
  for (const std::string text : given.at("cells")) {
    auto c = read_cell(text);
    if (!c) throw std::runtime_error(c.error().message);
    cells.push_back(std::move(*c));
  }
  const auto start = clock::now();
  const auto found = find_measure(cells.front().measure)->run(cells, call);
  json done = {{"index", given.at("index")}, {"seconds", std::chrono::duration<double>(clock::now() - start).count()}};
  if (found)
    done["found"] = *found;
  else
    done["error"] = found.error().message;
  return done;
}

}  // namespace

core::result<std::unique_ptr<rank_channel>> ranks_of_launch() {
  const int started = ranks_that_a_launcher_started();
  if (started <= 1) return nullptr;
  const auto wrong = [&](const std::string& why) {
    return core::failure(
        fmt::format("this is one of {} ranks: {}; with --shard each is a run of its own", started, why));
  };
  const auto program = std::filesystem::read_symlink("/proc/self/exe");
  const auto library = program.parent_path().parent_path() / "lib" / "assay" / "ranks.so";
  if (!std::filesystem::exists(library))
    return wrong(
        fmt::format("there is no {}: this Assay was built without MPI (Debian: libopenmpi-dev)", library.string()));
  // RTLD_GLOBAL: Open MPI loads libraries of its own, which need its symbols.
  void* opened = ::dlopen(library.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (opened == nullptr) return wrong(::dlerror());
  auto* make = reinterpret_cast<make_rank_channel*>(::dlsym(opened, "assay_rank_channel"));
  if (make == nullptr) return wrong(::dlerror());
  std::unique_ptr<rank_channel> channel(make());
  if (channel->size() != started)
    return wrong(fmt::format("{} knows of {}: another MPI has started them", library.string(), channel->size()));
  return channel;
}

asking_ranks::asking_ranks(rank_channel& channel, const std::string& version) : channel_(channel) {
  for (int k = 1; k < channel.size(); ++k) {
    const auto [from, message] = channel.receive();
    const json hello = json::from_msgpack(message);
    const std::string other = hello.at("version");
    if (other != version) difference_ = fmt::format("rank {} is Assay {}, the first is {}", from, other, version);
    threads_ += hello.at("threads").get<std::size_t>();
  }
  // No rank may ask for work before this message: its question would be taken for another rank's hello.
  for (int k = 1; k < channel.size(); ++k) channel.send(k, packed(json::object()));
}

asking_ranks::~asking_ranks() {
  if (waiting_rank_) end();
  while (threads_ > 0) {
    waiting_rank_ = channel_.receive().first;
    end();
  }
}

std::optional<result_of_ranks> asking_ranks::next() {
  const auto [from, message] = channel_.receive();
  waiting_rank_ = from;
  const json question = json::from_msgpack(message);
  if (question.contains("broken"))
    throw std::runtime_error(fmt::format("rank {}: {}", from, question.at("broken").get<std::string>()));
  if (!question.contains("index")) return std::nullopt;
  result_of_ranks done{question.at("index"), {}, question.at("seconds")};
  if (question.contains("error"))
    done.found = core::failure(fmt::format("rank {}: {}", from, question.at("error").get<std::string>()));
  else
    done.found = question.at("found").get<std::vector<results>>();
  return done;
}

void asking_ranks::give(const work_for_ranks& batch) {
  json cells;
  for (const cell& c : batch.cells) cells.push_back(text_of(c));
  channel_.send(*std::exchange(waiting_rank_, {}), packed({{"index", batch.index}, {"cells", std::move(cells)}}));
}

void asking_ranks::end() {
  --threads_;
  channel_.send(*std::exchange(waiting_rank_, {}), packed(json::object()));
}

void measure_for_first_rank(rank_channel& channel, const std::string& version, std::size_t threads,
                            const std::function<caller()>& make_caller) {
  channel.send(0, packed({{"version", version}, {"threads", threads}}));
  channel.receive();
  std::mutex asking;
  const auto answer_to = [&](const json& question) {
    const std::lock_guard lock(asking);
    channel.send(0, packed(question));
    return json::from_msgpack(channel.receive().second);
  };
  std::vector<std::thread> all;
  for (std::size_t k = 0; k < threads; ++k)
    all.emplace_back([&] {
      try {
        const caller call = make_caller();
        json question = json::object();
        for (json given = answer_to(question); !given.empty(); given = answer_to(question))
          question = measured(given, call);
      } catch (const std::exception& e) {
        answer_to({{"broken", e.what()}});
      }
    });
  for (std::thread& t : all) t.join();
}

}  // namespace assay::explore
