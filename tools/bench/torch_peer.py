"""The scan in PyTorch, timed for `assay bench`: reads names of functions from stdin, runs them, and prints their times.

Arguments: a file with log p, h and cotangents of the states in f32, B, n, d, threads. It prints "ready" once. For each
name it prints a line "SECONDS SUM". SUM adds up all states in f64, or, with the adjoint, the gradient of h.
"""

import sys
import time

import torch


def cumsum_form(log_p, h):
    """Heinsen 2024, eq. (4), from the state 0."""
    a = torch.cumsum(log_p, dim=1)
    start = torch.zeros_like(h[:, :1])
    return a + torch.logcumsumexp(torch.cat([start, h - a], dim=1), dim=1)[:, 1:]


def step_loop(log_p, h):
    state = torch.zeros_like(h[:, 0])
    states = []
    for decay, x in zip(log_p.unbind(1), h.unbind(1)):
        state = torch.logaddexp(decay + state, x)
        states.append(state)
    return torch.stack(states, dim=1)


def main():
    name, *sizes, threads = sys.argv[1:]
    shape = [int(size) for size in sizes]
    torch.set_num_threads(int(threads))
    clock = time.process_time if threads == "1" else time.perf_counter  # as in side_by_side.cpp
    with open(name, "rb") as file:
        numbers = torch.frombuffer(bytearray(file.read()), dtype=torch.float32)
    log_p, h, grad_s = numbers.view(3, *shape)
    print("ready", flush=True)
    for line in sys.stdin:
        word = line.strip()
        function = {"cumsum": cumsum_form, "cumsum_vjp": cumsum_form, "loop": step_loop}[word]
        with_adjoint = word == "cumsum_vjp"
        inputs = [x.detach().requires_grad_(with_adjoint) for x in (log_p, h)]
        begin = clock()
        result = function(*inputs)
        if with_adjoint:
            result = torch.autograd.grad(result, inputs, grad_s)[1]
        seconds = clock() - begin
        print(seconds, float(result.double().sum()), flush=True)


if __name__ == "__main__":
    main()
