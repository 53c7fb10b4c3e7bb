// Adjoints that compute the states again equal those with saved states.
#include "optimized/encodings/heinsen/recompute.hpp"
#include "optimized/tests/support.hpp"

namespace assay::optimized::tests {
namespace {

template <class Real>
void backward_without_states(scan_problem<Real>& p, std::span<std::byte> workspace = {}) {
  const execution on{&active_kernels(), threads(), workspace};
  const heinsen::scan_cotangents<Real> cotangents{{}, p.elements(p.grad_s), p.states(p.grad_s_n)};
  const heinsen::scan_gradients<Real> out{p.elements(p.grad_decay), p.elements(p.grad_h), p.states(p.grad_s0)};
  p.gated ? heinsen::gated_scan_vjp<Real>(on, p.inputs(), cotangents, out)
          : heinsen::scan_vjp<Real>(on, p.inputs(), cotangents, out);
}

}  // namespace

// With rows, every chunk begins with both words of the state and of the adjoint, so no bit changes. With few features,
// time is cut into lanes at other places, and weights are as uncertain as states.
TEMPLATE_TEST_CASE("heinsen/scan:vjp/optimized_without_saved_states", "[optimized][heinsen]", float, double) {
  on_every_target([] {
    for (const bool gated : {false, true})
      for (const scan_sizes sizes : {scan_sizes{2, 9000, 40}, scan_sizes{1, 4097, 33}, scan_sizes{1, 4096, 64},
                                     scan_sizes{3, 17, 5}, scan_sizes{1, 20000, 1}, scan_sizes{1, 9001, 7}}) {
        scan_problem<TestType> saved(sizes, gated, 3);
        for (TestType& x : saved.decay) x = gated ? x + TestType(3) : x / 64;  // long memory
        scan_problem<TestType> again = saved;
        saved.run();
        backward_without_states(again);
        CAPTURE(gated, sizes.batch, sizes.tokens, sizes.features);
        if (sizes.features >= 33 || sizes.tokens < 4096) {
          CHECK(same_bits(again.grad_decay, saved.grad_decay));
          CHECK(same_bits(again.grad_h, saved.grad_h));
          CHECK(same_bits(again.grad_s0, saved.grad_s0));
        } else {
          again.s = saved.s;
          CHECK(worst_gradient_error(again) < 16);
        }
      }
  });
}

TEST_CASE("heinsen/scan:vjp/optimized_without_saved_states_in_a_workspace", "[optimized][heinsen]") {
  CHECK(heinsen::tokens_between_checkpoints(100'000'000) == 14144);
  scan_problem<double> allocated({2, 5000, 18}, false, 4), given = allocated;
  std::vector<std::byte> workspace(std::size_t{1} << 21);
  backward_without_states(allocated);
  backward_without_states<double>(given, workspace);
  CHECK(same_bits(given.grad_decay, allocated.grad_decay));
  scan_problem<double> none({2, 0, 3}, false);
  backward_without_states(none);
  CHECK(none.grad_s0 == none.grad_s_n);
}

}  // namespace assay::optimized::tests
