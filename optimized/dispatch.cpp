#include "optimized/dispatch.hpp"

#include <tbb/global_control.h>
#include <tbb/info.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <optional>
#include <string>

namespace assay::optimized {

#define ASSAY_ISA(name, supported) \
  namespace name {                 \
  extern const kernel_table table; \
  }
#include "assay_isa.inc"
#undef ASSAY_ISA

namespace {

struct target {
  const char* name;
  bool supported;
  const kernel_table* kernels;
};

const std::vector<target>& targets() {
  static const std::vector<target> all = {
#define ASSAY_ISA(name, supported) {#name, supported, &name::table},
#include "assay_isa.inc"
#undef ASSAY_ISA
  };
  return all;
}

const target* find_supported(std::string_view name) {
  const auto it =
      std::find_if(targets().begin(), targets().end(), [&](const target& t) { return t.supported && t.name == name; });
  return it == targets().end() ? nullptr : &*it;
}

std::vector<std::string_view> names(bool supported_only) {
  std::vector<std::string_view> list;
  for (const target& t : targets())
    if (t.supported || !supported_only) list.emplace_back(t.name);
  return list;
}

std::atomic<const target*> forced = nullptr;
std::atomic<int> thread_count = 0;

// The choice without force_target: the target of the environment variable, or else the fastest.
core::result<const target*> default_target() {
  const char* wanted = std::getenv("ASSAY_TARGET");
  const std::vector<std::string_view> supported = supported_targets();
  if (wanted == nullptr || *wanted == '\0') return find_supported(supported.back());
  if (const target* found = find_supported(wanted)) return found;
  std::string message = "ASSAY_TARGET: expected an instruction set of this processor (";
  for (const std::string_view name : supported)
    message += std::string(name == supported.front() ? "" : ", ") + std::string(name);
  return core::failure(message + ") but it is '" + wanted + "'");
}

core::result<const target*> chosen_target() {
  if (const target* t = forced.load()) return t;
  static const core::result<const target*> by_default = default_target();
  return by_default;
}

}  // namespace

std::vector<std::string_view> declared_targets() { return names(false); }
std::vector<std::string_view> supported_targets() { return names(true); }

const char* supported_target(std::size_t index) {
  for (const target& t : targets())
    if (t.supported && index-- == 0) return t.name;
  return nullptr;
}

const kernel_table* find_kernels(std::string_view name) {
  const kernel_table* best = nullptr;
  for (const target& t : targets())
    if (t.supported && (name == "best" || name == t.name)) best = t.kernels;
  return best;
}

core::result<std::string_view> active_target() {
  return chosen_target().map([](const target* t) { return t->name; });
}

bool force_target(std::string_view name) {
  const target* found = find_supported(name);
  if (found == nullptr && !name.empty()) return false;
  forced = found;
  return true;
}

const kernel_table& active_kernels() {
  const auto chosen = chosen_target();
  ASSAY_EXPECTS(chosen.has_value());
  return *(*chosen)->kernels;
}

void set_threads(int count) {
  ASSAY_EXPECTS(count >= 0);
  thread_count = count;
}

int threads() {
  const int count = thread_count;
  return count > 0 ? count : tbb::info::default_concurrency();
}

execution process_execution() { return {&active_kernels(), threads()}; }

void for_each_task(int wanted, std::size_t count, const std::function<void(std::size_t)>& task) {
  if (wanted == 1 || count <= 1) {
    for (std::size_t i = 0; i < count; ++i) task(i);
    return;
  }
  // The limit of the process is raised where needed, so that an arena may have more threads than there are processors.
  // It is never lowered, because other arenas, also those of the caller, may need more threads than this one.
  constexpr auto parallelism = tbb::global_control::max_allowed_parallelism;
  std::optional<tbb::global_control> limit;
  if (static_cast<std::size_t>(wanted) > tbb::global_control::active_value(parallelism))
    limit.emplace(parallelism, static_cast<std::size_t>(wanted));
  tbb::task_arena(wanted).execute([&] { tbb::parallel_for(std::size_t{0}, count, task); });
}

}  // namespace assay::optimized
