"""Whether a process has ended."""
import os


def has_ended(process, options=os.WNOHANG):
    """Whether a subprocess.Popen has ended; then its returncode is set. With options=0 it waits until it has. Popen's poll
    and wait are not used: an exception that a signal raises within them may leave their lock taken, and then they wait
    for ever."""
    if process.returncode is None:
        try:
            pid, status = os.waitpid(process.pid, options)
        except ChildProcessError:  # an exception came before its status was kept
            pid, status = process.pid, 0
        if pid == process.pid:
            process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode is not None
