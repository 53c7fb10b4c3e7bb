"""The scan in PyTorch, timed for `assay bench`: stands by for the words of the functions and answers with seconds.

Arguments: a file with log p and then h in f32, B, n, d, threads. "ready" is said once. After each function's word comes
a line "SECONDS SUM", the sum being that of all states in f64.
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
    clock = time.process_time if threads == "1" else time.perf_counter  # as ours
    with open(name, "rb") as file:
        numbers = torch.frombuffer(bytearray(file.read()), dtype=torch.float32)
    log_p, h = numbers.view(2, *shape)
    print("ready", flush=True)
    for word in sys.stdin:
        function = {"cumsum": cumsum_form, "loop": step_loop}[word.strip()]
        begin = clock()
        with torch.no_grad():
            s = function(log_p, h)
        seconds = clock() - begin
        print(seconds, float(s.double().sum()), flush=True)


if __name__ == "__main__":
    main()
