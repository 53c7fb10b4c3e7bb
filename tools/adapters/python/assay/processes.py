"""Whether a process has ended."""
import os


def has_ended(process, options=os.WNOHANG):
    """Of a subprocess.Popen, whose returncode is set; with options=0 once it has. Not by Popen's poll and wait: an
    exception of a signal within these may leave their lock taken, and then they wait for ever."""
    if process.returncode is None:
        try:
            pid, status = os.waitpid(process.pid, options)
        except ChildProcessError:  # an exception came before its status was kept
            pid, status = process.pid, 0
        if pid == process.pid:
            process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode is not None
