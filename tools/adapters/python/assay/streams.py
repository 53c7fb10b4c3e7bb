"""The streams of the protocol, without the packages that a candidate needs: one that lacks them says so."""
import json
import os


def protocol_streams():
    """Standard input and output as files of their own. From then on reads of the functions find nothing, and their
    prints go to standard error: neither disturbs the protocol."""
    streams = os.fdopen(os.dup(0), "r", encoding="utf-8"), os.fdopen(os.dup(1), "w", encoding="utf-8")
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    os.dup2(2, 1)
    return streams


def send(message, answers):
    answers.write(json.dumps(message, allow_nan=False) + "\n")
    answers.flush()
