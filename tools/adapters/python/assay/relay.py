"""The candidate that assay.check starts: hands the protocol's lines to the process that called it, which has the
function. Argument: the path of a Unix socket."""
import socket
import sys

if __name__ == "__main__":
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(sys.argv[1])
        with connection.makefile("rwb") as other:
            for request in iter(sys.stdin.buffer.readline, b""):
                other.write(request)
                other.flush()
                answer = other.readline()
                if not answer:
                    sys.exit("the process that called assay.check closed the connection")
                sys.stdout.buffer.write(answer)
                sys.stdout.buffer.flush()
