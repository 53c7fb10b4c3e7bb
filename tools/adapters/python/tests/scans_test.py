"""assay.scan and assay.gated_scan against the step loop of PyTorch, and what they refuse."""
import concurrent.futures
import os
import subprocess
import sys

import numpy as np
import pytest

import assay
import assay.scans.library

torch = pytest.importorskip("torch")
INF = float("inf")


def random_inputs(B, n, d, dtype=torch.float64, gated=False, seed=1):
    generator = torch.Generator().manual_seed(seed)
    def normal(*shape):
        return torch.randn(*shape, generator=generator, dtype=torch.float64)
    decay = 2 * normal(B, n, d)
    return [x.to(dtype) for x in (decay if gated else -decay.abs(), 3 * normal(B, n, d), normal(B, d))]


def step_loop(decay, h, s0, gated=False):
    log_p = torch.nn.functional.logsigmoid(decay) if gated else decay
    s, states = s0, []
    for log_p_i, h_i in zip(log_p.unbind(1), h.unbind(1)):
        s = torch.logaddexp(log_p_i + s, h_i)
        states.append(s)
    return torch.stack(states, 1), s


def function_of(gated):
    return assay.gated_scan if gated else assay.scan


@pytest.mark.parametrize("gated", [False, True])
@pytest.mark.parametrize("dtype, error", [(torch.float32, 2**-22), (torch.float64, 2**-44)])
def test_values_and_gradients_are_those_of_the_step_loop(gated, dtype, error):
    inputs = random_inputs(3, 50, 7, dtype, gated)
    cotangents = [random_inputs(3, 50, 7, seed=2)[1].to(dtype), random_inputs(3, 50, 7, seed=3)[2].to(dtype)]
    ours = [x.clone().requires_grad_() for x in inputs]
    truth = [x.double().requires_grad_() for x in inputs]
    outputs, expected = function_of(gated)(*ours), step_loop(*truth, gated)
    gradients = torch.autograd.grad(outputs, ours, cotangents)
    expected_gradients = torch.autograd.grad(expected, truth, [c.double() for c in cotangents])
    # A weight e^z has the relative error of z in ulp, and |z| is up to some dozens here.
    for values, truths, bound in [(outputs, expected, error), (gradients, expected_gradients, 64 * error)]:
        for value, exact in zip(values, truths):
            assert value.dtype == dtype and value.is_contiguous()
            assert ((value.double() - exact).abs() <= bound * exact.abs().clamp(min=1)).all()


@pytest.mark.parametrize("gated", [False, True])
@pytest.mark.parametrize("dtype, ulp", [(torch.float16, 2**-10), (torch.bfloat16, 2**-7)])
def test_arrays_in_16_bits_are_rounded_once_and_states_are_float32(gated, dtype, ulp):
    decay, h, s0 = random_inputs(3, 700, 41, gated=gated)
    inputs = [decay.to(dtype), h.to(dtype), s0.float()]
    cotangents = [random_inputs(3, 700, 41, seed=2)[1].to(dtype), random_inputs(3, 700, 41, seed=3)[2].float()]
    ours = [x.clone().requires_grad_() for x in inputs]
    truth = [x.double().requires_grad_() for x in inputs]
    outputs, expected = function_of(gated)(*ours), step_loop(*truth, gated)
    gradients = torch.autograd.grad(outputs, ours, cotangents)
    expected_gradients = torch.autograd.grad(expected, truth, [c.double() for c in cotangents])
    for value, exact in zip([*outputs, *gradients], [*expected, *expected_gradients]):
        # Half an ulp of the storage, and what floats lose: a weight e^z has the relative error of z in ulp.
        half = 0 if value.dtype == torch.float32 else ulp / 2
        assert ((value.double() - exact).abs() <= half * exact.abs() + 2**-16 * exact.abs().clamp(min=1)).all()
    assert [x.dtype for x in (*outputs, *gradients)] == [dtype, torch.float32, dtype, dtype, torch.float32]


def test_numpy_and_torch_agree_in_float16():
    decay, h, s0 = random_inputs(2, 40, 5)
    tensors = [decay.half(), h.half(), s0.float()]
    s, s_n, low = assay.scan(*tensors, low=True)
    arrays = assay.scan(*(x.numpy() for x in tensors), low=True)
    for value, array in zip((s, s_n, low), arrays):
        assert np.array_equal(value.numpy(), array) and value.numpy().dtype == array.dtype
    more = assay.scan(tensors[0][:, 20:], tensors[1][:, 20:], *assay.scan(*(x[:, :20] for x in tensors[:2]), s0.float(),
                                                                       low=True)[1:])
    assert torch.allclose(more[1], s_n, rtol=0, atol=2**-20)


@pytest.mark.parametrize("gated", [False, True])
@pytest.mark.parametrize("with_s0", [False, True])
def test_gradcheck(gated, with_s0):
    inputs = [x.requires_grad_() for x in random_inputs(2, 6, 3, gated=gated)]
    assert torch.autograd.gradcheck(function_of(gated), inputs[:3 if with_s0 else 2])
    # The gradient of one output alone.
    for output in (0, 1):
        assert torch.autograd.gradcheck(lambda *x: function_of(gated)(*x)[output], inputs)


def random_directions(B, n, d, dtype, seed=4):
    return [random_inputs(B, n, d, seed=seed + k)[1 if k < 2 else 2].to(dtype) for k in range(3)]


@pytest.mark.parametrize("gated", [False, True])
@pytest.mark.parametrize("dtype, error", [(torch.float32, 2**-22), (torch.float64, 2**-44)])
def test_tangents_are_those_of_the_step_loop(gated, dtype, error):
    inputs, directions = random_inputs(3, 50, 7, dtype, gated), random_directions(3, 50, 7, dtype)
    _, expected = torch.autograd.functional.jvp(lambda *x: step_loop(*x, gated), tuple(x.double() for x in inputs),
                                                tuple(x.double() for x in directions))
    function = assay.gated_scan_jvp if gated else assay.scan_jvp
    tangents = function(*inputs, *directions)
    for value, exact in zip(tangents, expected):
        assert value.dtype == dtype
        assert ((value.double() - exact).abs() <= 64 * error * exact.abs().clamp(min=1)).all()
    arrays = function(*(x.numpy() for x in (*inputs, *directions)))
    backwards = [x.numpy()[:, ::-1].copy()[:, ::-1] if x.ndim == 3 else x.numpy() for x in (*inputs, *directions)]
    for given in (arrays, function(*backwards)):
        assert all(np.array_equal(array, value.numpy()) for array, value in zip(given, tangents))
    zeros = torch.zeros_like(inputs[2])
    for absent, given in zip(function(*inputs[:2], None, *directions[:2], None),
                             function(*inputs[:2], zeros, *directions[:2], zeros)):
        assert torch.equal(absent, given)


@pytest.mark.parametrize("gated", [False, True])
def test_dual_tensors_carry_the_tangents(gated):
    inputs, directions = random_inputs(2, 9, 5, gated=gated), random_directions(2, 9, 5, torch.float64)
    expected = (assay.gated_scan_jvp if gated else assay.scan_jvp)(*inputs, *directions)
    with torch.autograd.forward_ad.dual_level():
        duals = [torch.autograd.forward_ad.make_dual(*pair) for pair in zip(inputs, directions)]
        outputs = function_of(gated)(*duals)
        for output, value, tangent in zip(outputs, function_of(gated)(*inputs), expected):
            primal, along = torch.autograd.forward_ad.unpack_dual(output)
            assert torch.equal(primal, value) and torch.equal(along, tangent)
    leaves = [x.requires_grad_() for x in random_inputs(2, 6, 3, gated=gated)]
    assert torch.autograd.gradcheck(function_of(gated), leaves, check_forward_ad=True)
    assert torch.autograd.gradcheck(function_of(gated), leaves[:2], check_forward_ad=True)


def test_tangents_name_what_is_wrong():
    inputs, directions = random_inputs(2, 4, 3), random_directions(2, 4, 3, torch.float64)
    with pytest.raises(ValueError, match=r"^tangent_h: expected \[2, 4, 3\] but it is \[2, 3, 3\]"):
        assay.scan_jvp(*inputs, directions[0], directions[1][:, :3], directions[2])
    with pytest.raises(TypeError, match="^tangent_log_p: expected a torch.Tensor"):
        assay.scan_jvp(*inputs, None, *directions[1:])
    with pytest.raises(ValueError, match=r"^tangent_s0: expected \[B, d\]"):
        assay.scan_jvp(*inputs, *directions[:2], directions[1])
    halves = [x.half() for x in (*inputs[:2], *directions[:2])]
    with pytest.raises(ValueError, match="^h: "):
        assay.scan_jvp(*halves[:2], None, *halves[2:], None)


def test_any_strides_give_the_same_bits():
    dense = random_inputs(2, 9, 5, torch.float32)
    expected = assay.scan(*dense)
    cotangents = [torch.ones(2, 9, 5), torch.ones(2, 5)]
    def gradients(inputs):
        leaves = [x.detach().requires_grad_() for x in inputs]
        return torch.autograd.grad(assay.scan(*leaves), leaves, cotangents)
    for order in [(0, 1, 2), (0, 2, 1), (2, 1, 0), (1, 0, 2)]:
        back = [order.index(k) for k in range(3)]
        strided = [x.permute(order).contiguous().permute(back) for x in dense[:2]] + [dense[2].t().contiguous().t()]
        for value, same in zip([*assay.scan(*strided), *gradients(strided)], [*expected, *gradients(dense)]):
            assert torch.equal(value, same)
    wide = torch.zeros(2, 18, 10)
    wide[:, ::2, 1::2] = dense[0]
    assert torch.equal(assay.scan(wide[:, ::2, 1::2], *dense[1:])[0], expected[0])


def test_repeated_and_negated_views():
    log_p, h, s0 = random_inputs(2, 5, 3, torch.float32)
    one = log_p[:1, :1].expand(2, 5, 3)
    assert torch.equal(assay.scan(one, h, s0)[0], assay.scan(one.contiguous(), h, s0)[0])
    negated = torch.imag(torch.complex(torch.zeros_like(log_p), -log_p).conj())
    assert negated.is_neg() and torch.equal(negated, log_p)
    assert torch.equal(assay.scan(negated, h, s0)[0], assay.scan(log_p, h, s0)[0])
    leaf = h.clone().requires_grad_()
    assay.scan(log_p, leaf, s0)[0].sum().backward()  # a cotangent with strides of 0
    assert leaf.grad.shape == h.shape


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_chunks_give_the_bits_of_one_call(dtype):
    log_p, h, s0 = random_inputs(2, 40, 6, dtype)
    s, s_n, low = assay.scan(log_p, h, s0, low=True)
    first, state, state_low = assay.scan(log_p[:, :17], h[:, :17], s0, low=True)
    second, *last = assay.scan(log_p[:, 17:], h[:, 17:], state, state_low, low=True)
    assert torch.equal(torch.cat([first, second], 1), s)
    assert torch.equal(last[0], s_n) and torch.equal(last[1], low)
    assert low.abs().max() > 0


def test_gradients_go_through_chunks():
    whole = [x.requires_grad_() for x in random_inputs(1, 8, 2)]
    assay.scan(*whole)[1].sum().backward()
    chunks = [x.detach().clone().requires_grad_() for x in whole]
    _, state, low = assay.scan(chunks[0][:, :3], chunks[1][:, :3], chunks[2], low=True)
    assert not low.requires_grad
    assay.scan(chunks[0][:, 3:], chunks[1][:, 3:], state, low)[1].sum().backward()
    for a, b in zip(whole, chunks):
        assert torch.allclose(a.grad, b.grad, rtol=1e-12)


def test_empty_axes():
    for B, n, d in [(2, 0, 3), (0, 4, 3), (2, 4, 0)]:
        inputs = [torch.zeros(B, n, d, requires_grad=True), torch.zeros(B, n, d), torch.ones(B, d, requires_grad=True)]
        s, s_n = assay.scan(*inputs)
        assert s.shape == (B, n, d) and s_n.shape == (B, d)
        if n == 0:
            assert torch.equal(s_n, inputs[2])
        s_n.sum().backward()
        assert torch.equal(inputs[2].grad, torch.ones(B, d))  # only n = 0 has states here
        assert inputs[0].grad.shape == (B, n, d)


def test_minus_infinity_and_nan():
    log_p = torch.tensor([[[-1.0, -1.0], [-INF, -1.0], [-1.0, -1.0]]], requires_grad=True)
    h = torch.tensor([[[2.0, 0.0], [0.5, float("nan")], [-INF, 0.0]]], requires_grad=True)
    s0 = torch.tensor([[-INF, 0.0]], requires_grad=True)
    s, s_n = assay.scan(log_p, h, s0)
    assert s[0, :, 0].tolist() == [2.0, 0.5, -0.5]
    assert s[0, :, 1].isnan().tolist() == [False, True, True]
    s_n[0, 0].backward()
    assert log_p.grad[0, :, 0].tolist() == [0.0, 0.0, 1.0]
    assert h.grad[0, :, 0].tolist() == [0.0, 1.0, 0.0]
    assert s0.grad[0, 0] == 0


def test_numpy_arrays():
    tensors = random_inputs(2, 9, 5, torch.float32)
    arrays = [x.numpy() for x in tensors]
    expected = assay.scan(*tensors, low=True)
    for given in (arrays, [np.asfortranarray(x) for x in arrays], [x[..., ::-1].copy()[..., ::-1] for x in arrays]):
        values = assay.scan(*given, low=True)
        assert all(type(v) is np.ndarray and np.array_equal(v, e.numpy()) for v, e in zip(values, expected))
    record = np.zeros(arrays[1].shape, dtype=[("odd", "u1"), ("h", "f4")])
    record["h"] = arrays[1]
    assert np.array_equal(assay.scan(arrays[0], record["h"], arrays[2])[0], expected[0].numpy())
    assert np.array_equal(assay.gated_scan(*arrays[:2])[0], assay.gated_scan(*tensors[:2])[0].numpy())


def test_threads_and_targets():
    inputs = random_inputs(1, 40, 1500, torch.float32)
    expected = assay.scan(*inputs, threads=1)
    for threads in (2, 3):
        assert torch.equal(assay.scan(*inputs, threads=threads)[0], expected[0])
    assert "baseline" in assay.scans.library.targets()
    for target in assay.scans.library.targets():
        assert torch.allclose(assay.scan(*inputs, target=target)[0], expected[0], atol=1e-5)


def test_calls_from_several_threads():
    inputs = [random_inputs(2, 30, 40, torch.float32, seed=seed) for seed in range(8)]
    def results(given):
        leaves = [x.clone().requires_grad_() for x in given]
        s, s_n = assay.scan(*leaves)
        (s.sum() + s_n.sum()).backward()
        return [s, s_n, *(x.grad for x in leaves)]
    alone = [results(given) for given in inputs]
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for _ in range(5):
            for together, expected in zip(pool.map(results, inputs), alone):
                assert all(torch.equal(a, b) for a, b in zip(together, expected))


def wrong_arguments():
    log_p, h, s0 = random_inputs(2, 4, 3, torch.float32)
    half, double = h.half(), h.double()
    yield "h: its dtype int32 is not offered; expected float32 or", TypeError, (log_p, h.int(), s0), {}
    yield "log_p: expected the dtype float16 of h, but it is float32", TypeError, (log_p, half, s0), {}
    yield "s0: expected the dtype float32 of a state, but it is float16", TypeError, (log_p.half(), half, s0.half()), {}
    yield "s0: expected the dtype float32 of a state, but it is float64", TypeError, (log_p.half(), half, s0.double()), {}
    yield "log_p: expected the dtype float32 of h, but it is float64", TypeError, (log_p.double(), h, s0), {}
    yield "s0: expected the dtype float64 of h", TypeError, (log_p.double(), double, s0), {}
    yield r"log_p: expected \[2, 4, 3\] but it is \[2, 3, 3\]", ValueError, (log_p[:, :3], h, s0), {}
    yield r"s0: expected \[2, 3\] but it is \[1, 3\]", ValueError, (log_p, h, s0[:1]), {}
    yield r"s0_low: expected \[2, 3\] but it is", ValueError, (log_p, h, s0, s0[:, :1]), {}
    yield r"h: expected \[B, n, d\]", ValueError, (log_p, h[0], s0), {}
    yield r"s0: expected \[B, d\]", ValueError, (log_p, h, s0[0]), {}
    yield "log_p: expected a torch.Tensor, but it is a numpy.ndarray", TypeError, (log_p.numpy(), h, s0), {}
    yield "h: expected a numpy.ndarray, but it is a builtins.list", TypeError, (log_p.numpy(), h.tolist(), s0), {}
    yield "log_p: expected a torch.Tensor, but it is a builtins.NoneType", TypeError, (None, h, s0), {}
    yield "h: .*>f4", TypeError, (log_p.numpy(), h.numpy().astype(">f4")), {}
    yield "h: expected a tensor on the CPU, but it is on meta", ValueError, (log_p, h.to("meta"), s0), {}
    yield "log_p: expected a strided tensor", ValueError, (log_p.to_sparse(), h, s0), {}
    yield "target: this processor has no instruction set 'mmx'", ValueError, (log_p, h, s0), {"target": "mmx"}
    yield "target: expected the name", TypeError, (log_p, h, s0), {"target": None}
    yield "threads: expected None or a number", ValueError, (log_p, h, s0), {"threads": 0}


@pytest.mark.parametrize("message, error, arguments, options", wrong_arguments())
def test_errors_name_the_argument(message, error, arguments, options):
    with pytest.raises(error, match="^" + message):
        assay.scan(*arguments, **options)


def test_the_second_derivative_is_refused():
    inputs = [x.requires_grad_() for x in random_inputs(1, 3, 2)]
    (gradient,) = torch.autograd.grad(assay.scan(*inputs)[1].sum(), inputs[1], create_graph=True)
    with pytest.raises(RuntimeError, match="have no second derivative"):
        gradient.sum().backward()


def test_an_input_that_is_changed_before_the_derivative_is_noticed():
    log_p, h, s0 = random_inputs(1, 3, 2)
    h.requires_grad_()
    s, _ = assay.scan(log_p, h, s0)
    log_p.zero_()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        s.sum().backward()


def run_python(program, **environment):
    return subprocess.run([sys.executable, "-B", "-c", program], capture_output=True, text=True,
                          env={**os.environ, **environment})


def test_arrays_need_no_torch():
    done = run_python("import sys, numpy, assay\n"
                      "s, s_n = assay.scan(numpy.zeros((1, 2, 1)), numpy.zeros((1, 2, 1)))\n"
                      "assert abs(s_n[0, 0] - numpy.log(3)) < 1e-15 and 'torch' not in sys.modules")
    assert done.returncode == 0, done.stderr


def test_a_missing_library_is_named():
    done = run_python("import numpy, assay\nassay.check\nassay.scan(numpy.zeros((1, 2, 1)), numpy.zeros((1, 2, 1)))",
                      ASSAY_SCAN_LIBRARY="/nowhere/libassay_scan.so")
    assert "ImportError: /nowhere/libassay_scan.so cannot be loaded" in done.stderr
