#!/usr/bin/python3
"""A candidate that speaks the protocol correctly but for one thing, named by its argument.

"heinsen/scan" is answered by zeros of the right shapes. Standard library only.
"""
import json
import math
import os
import struct
import subprocess
import sys
import time

behaviour = sys.argv[1]


def say(message):
    sys.stdout.write((message if isinstance(message, str) else json.dumps(message)) + "\n")
    sys.stdout.flush()


def hello(**changes):
    answer = {"protocol": 1, "name": "hostile", "operations": {"heinsen/scan": ["f32", "f64"]}}
    answer.update(changes)
    say({"hello": answer})


def shapes_of(path):
    with open(path, "rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        return {name: entry["shape"] for name, entry in json.loads(file.read(length)).items()}


def safetensors(tensors, width=4, dtype="F32", padding=0, fill=b"\0\0\0\0"):
    header, offset = {}, 0
    for name, shape in tensors.items():
        size = width * math.prod(shape)
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [offset, offset + size]}
        offset += size
    text = json.dumps(header) + " " * padding
    return struct.pack("<Q", len(text)) + text.encode() + fill * (offset // 4)


def write(path, content):
    with open(path, "wb") as file:
        file.write(content)


def outputs(request):
    shapes = shapes_of(request["inputs"])
    return {"s": shapes["h"], "s_n": shapes["s0"]}


def answer_with(content):
    """An answer whose file holds content(outputs)."""
    def behave(request):
        write(request["outputs"], content(outputs(request)))
        say({"id": request["id"], "ok": True})
    return behave


correct = answer_with(safetensors)


def crash(_):
    os.kill(os.getpid(), 11)


def crash_once(request):
    marker = os.path.join(os.path.dirname(request["inputs"]), "crashed")
    if not os.path.exists(marker):
        write(marker, b"")
        os._exit(3)
    correct(request)


def hang(_):
    while True:
        time.sleep(60)


def busy(_):
    while True:
        pass


def early_exit(_):
    sys.exit(0)


def close_stdout(_):
    os.close(1)
    hang(_)


def symlink_output(request):
    real = request["outputs"] + ".real"
    write(real, safetensors(outputs(request)))
    os.symlink(real, request["outputs"])
    say({"id": request["id"], "ok": True})


def fifo_output(request):
    os.mkfifo(request["outputs"])
    say({"id": request["id"], "ok": True})


def crash_on_long(request):
    crash(request) if outputs(request)["s"][1] > 16 else correct(request)


def last_words(request):
    """Fails long cases as a program does whose library writes what it likes."""
    if outputs(request)["s"][1] > 16:
        os.write(2, b"\x1b[31mloading\n" * 1000)
        os.write(2, f"</pre><script> `k` ``` | in {request['outputs']}\nout of shared memory\n".encode())
        os._exit(9)
    correct(request)


def banners(request):
    say("Using backend: none")
    sys.stdout.write("[warning] " + "x" * 3_000_000 + "\n")
    correct(request)


def stderr_flood(request):
    for _ in range(160):
        os.write(2, b"y" * 65536)
    os.write(2, b"the end\n")
    correct(request)


def memory_hog(_):
    kept = []
    while True:
        kept.append(b"z" * (16 << 20))
        time.sleep(0.01)


def grandchild_hog(_):
    subprocess.Popen([sys.executable, __file__, "hog now"])
    hang(_)


def grandchild(request):
    subprocess.Popen(["/bin/sleep", "600"])
    correct(request)


def orphan_holds_stdout(_):
    subprocess.Popen(["/bin/sleep", "600"])
    os._exit(7)


def ignores_the_end(request):
    correct(request)
    hang(request)


def answers(**members):
    return lambda request: say({"id": request["id"], **members})


def echo_request(request):
    say({"id": request["id"], "ok": False, "error": json.dumps(request)})


on_call = {
    "correct": correct,
    "crash": crash,
    "crash once": crash_once,
    "hang": hang,
    "busy": busy,
    "busy grandchild": lambda _: (subprocess.Popen([sys.executable, __file__, "busy now"]), hang(_)),
    "busy every other time": lambda request: (correct if request["id"] % 2 else busy)(request),
    "sleeps a while": lambda request: (time.sleep(1.5), correct(request)),
    "early exit": early_exit,
    "close stdout": close_stdout,
    "malformed reply": lambda request: say("{\"id\":" + str(request["id"]) + ",\"ok\":tru}"),
    "duplicate keys": lambda request: say("{\"id\":1,\"id\":1,\"ok\":true}"),
    "reply without ok": answers(),
    "wrong id": lambda request: say({"id": request["id"] + 1, "ok": True}),
    "wrong shape": answer_with(lambda out: safetensors({**out, "s": out["s"] + [1]})),
    "exchanged axes": answer_with(lambda out: safetensors({**out, "s": [out["s"][k] for k in (0, 2, 1)]})),
    "wrong size": answer_with(lambda out: safetensors({**out, "s_n": [size + 1 for size in out["s_n"]]})),
    "wrong dtype": answer_with(lambda out: safetensors(out, 8, "F64")),
    "missing output": answer_with(lambda out: safetensors({"s": out["s"]})),
    "extra output": answer_with(lambda out: safetensors({**out, "t": [1]})),
    "no file": answers(ok=True),
    "truncated file": answer_with(lambda out: safetensors(out)[:-1]),
    "oversized header": answer_with(lambda out: safetensors(out, padding=1 << 20)),
    "oversized file": answer_with(lambda out: safetensors(out) + b"more"),
    "symlink output": symlink_output,
    "fifo output": fifo_output,
    "directory output": lambda request: (os.mkdir(request["outputs"]), say({"id": request["id"], "ok": True})),
    "nan flood": answer_with(lambda out: safetensors(out, fill=struct.pack("<f", math.nan))),
    "crash on long": crash_on_long,
    "error reply": answers(ok=False, error="the kernel needs d = 64"),
    "unsupported": answers(ok=False, unsupported=True, reason="no f32 here"),
    "last words": last_words,
    "banners": banners,
    "endless line": lambda request: say("{" + " " * (1 << 21)),
    "stderr flood": stderr_flood,
    "memory hog": memory_hog,
    "grandchild hog": grandchild_hog,
    "grandchild": grandchild,
    "orphan holds stdout": orphan_holds_stdout,
    "ignores the end": ignores_the_end,
    "echo request": echo_request,
}

def hello_and_goodbye():
    hello()
    sys.exit(0)


on_hello = {
    "goodbye": hello_and_goodbye,
    "silent hello": lambda: hang(None),
    "no json hello": lambda: say("{hello}"),
    "wrong protocol": lambda: hello(protocol=2),
    "nameless": lambda: hello(name=""),
    "unknown dtype": lambda: hello(operations={"heinsen/scan": ["float32"]}),
    "unknown operation": lambda: hello(operations={"heinsen/scan": ["f32", "i32"], "heinsen/scam": ["f32"]}),
    "domain of nothing": lambda: hello(domain={"heinsen/scam": {"log_p": "finite"}}),
    "unknown input": lambda: hello(domain={"heinsen/scan": {"logp": "finite"}}),
    "no candidate": lambda: say({"error": "it needs the package 'kernel'"}),
    "crash at hello": lambda: sys.exit("cannot import name 'kernel'"),
    "everything": lambda: hello(version="1.2", compute={"f32": "f64"}, flush_subnormals=True, colour="blue",
                                domain={"heinsen/scan": {"log_p": "finite", "state": [-50, 1.5]}},
                                variants={"block": [32, 64]}, properties={"deterministic": True, "fast": 1}),
}

if behaviour == "hog now":
    memory_hog(None)
if behaviour == "busy now":
    busy(None)
for line in sys.stdin:
    message = json.loads(line)
    if "hello" in message:
        on_hello.get(behaviour, hello)()
    else:
        on_call.get(behaviour, correct)(message)
