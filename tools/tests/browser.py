"""A headless Chromium, driven over its DevTools protocol through two pipes: no package beyond the browser."""
import base64
import fcntl
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

SECONDS = 60


def find():
    return os.environ.get("ASSAY_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")


class Browser:
    def __init__(self):
        self.home = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        theirs_in, self.to = os.pipe()
        self.from_, theirs_out = os.pipe()
        # The browser reads from descriptor 3 and writes to 4: ours are moved out of the way of both.
        high = [fcntl.fcntl(fd, fcntl.F_DUPFD, 50) for fd in (theirs_in, theirs_out)]
        command = ["bash", "-c", 'exec 3<&"$0" 4>&"$1"; exec "${@:2}"', *map(str, high), find(), "--headless",
                   "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-dev-shm-usage", "--hide-scrollbars",
                   "--remote-debugging-pipe", "--user-data-dir=" + self.home.name, "about:blank"]
        self.process = subprocess.Popen(command, pass_fds=high, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL)
        for fd in (theirs_in, theirs_out, *high):
            os.close(fd)
        self.rest, self.number, self.attached, self.events = b"", 0, None, []
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        self.attached = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.send(domain + ".enable")

    def close(self):
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.to)
        os.close(self.from_)
        self.home.cleanup()

    def read(self, deadline):
        while b"\0" not in self.rest:
            if not select.select([self.from_], [], [], max(0.0, deadline - time.monotonic()))[0]:
                raise TimeoutError("Chromium does not answer")
            part = os.read(self.from_, 1 << 20)
            if not part:
                raise EOFError("Chromium ended")
            self.rest += part
        message, self.rest = self.rest.split(b"\0", 1)
        return json.loads(message)

    def send(self, method, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.attached:
            message["sessionId"] = self.attached
        os.write(self.to, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + SECONDS
        while True:
            answer = self.read(deadline)
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(method + ": " + str(answer["error"]))
                return answer["result"]
            self.events.append(answer)

    def open(self, path, width=1100, dark=False):
        """Loads a file; `events` then holds what happened since."""
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=width < 600)
        self.send("Emulation.setEmulatedMedia",
                  features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        self.events = []
        self.send("Page.navigate", url="file://" + path)
        deadline = time.monotonic() + SECONDS
        while not any(e.get("method") == "Page.loadEventFired" for e in self.events):
            self.events.append(self.read(deadline))

    def evaluate(self, expression):
        done = self.send("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in done:
            raise RuntimeError(str(done["exceptionDetails"]))
        return done["result"].get("value")

    def happened(self, method):
        return [e["params"] for e in self.events if e.get("method") == method]

    def screenshot(self, path):
        size = self.send("Page.getLayoutMetrics")["cssContentSize"]
        shot = self.send("Page.captureScreenshot", captureBeyondViewport=True,
                         clip={"x": 0, "y": 0, "width": size["width"], "height": min(size["height"], 12000), "scale": 1})
        with open(path, "wb") as file:
            file.write(base64.b64decode(shot["data"]))
