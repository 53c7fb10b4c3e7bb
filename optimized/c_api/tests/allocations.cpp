// A call on one thread allocates nothing if its workspace has the size that the library asks for.
#include <cstdlib>
#include <new>

#include "optimized/c_api/tests/tangent_call.hpp"

namespace {

thread_local int allocations = 0;

void* allocate(std::size_t size) {
  ++allocations;
  if (void* memory = std::malloc(size == 0 ? 1 : size)) return memory;
  throw std::bad_alloc();
}

}  // namespace

// These operators replace the library's operators too.
void* operator new(std::size_t size) { return allocate(size); }
void* operator new[](std::size_t size) { return allocate(size); }
void* operator new(std::size_t size, const std::nothrow_t&) noexcept { return std::malloc(size == 0 ? 1 : size); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }

namespace assay::optimized::tests {

TEMPLATE_TEST_CASE("heinsen/scan/c_api_allocations", "[optimized][heinsen][c_api]", float, double) {
  for (const scan_sizes shape :
       {scan_sizes{1, 1, 1}, {2, 15, 1}, {2, 15, 32}, {1, 300, 33}, {3, 17, 65}, {2, 3, 5000}}) {
    tangent_problem<TestType> p(shape, false);
    c_tangent_call<TestType> call(p);
    const auto calls = [&] {
      for (int k = 0; (call.on.target = assay_scan_target(k)) != nullptr; ++k)
        for (const bool gated : {false, true}) {
          call.gated = gated;
          const bool done =
              call.forward() == ASSAY_SCAN_OK && call.backward() == ASSAY_SCAN_OK && call.push() == ASSAY_SCAN_OK;
          if (!done) return -1;
        }
      return allocations;
    };
    CHECK(calls() > 0);  // the library's own allocations are counted
    std::vector<char> workspace(assay_scan_workspace_size(c_api::dtype_code<TestType>,
                                                          static_cast<std::int64_t>(shape.batch),
                                                          static_cast<std::int64_t>(shape.features)));
    call.on.workspace = workspace.data();
    call.on.workspace_size = workspace.size();
    allocations = 0;
    CHECK(calls() == 0);
  }
}

TEST_CASE("heinsen/scan/c_api_workspace_sizes", "[optimized][heinsen][c_api]") {
  CHECK(assay_scan_workspace_size(0, 1, 1) == 0);
  CHECK(assay_scan_workspace_size(ASSAY_SCAN_F32, -1, 1) == 0);
  CHECK(assay_scan_workspace_size(ASSAY_SCAN_F64, std::int64_t{1} << 40, std::int64_t{1} << 40) == 0);
  CHECK(assay_scan_workspace_size(ASSAY_SCAN_F64, 0, 0) > 0);
}

}  // namespace assay::optimized::tests
