"""Gates for a CI server; an action of GitHub and a template of GitLab (tools/action) call it:

    python -m assay.ci --candidates "python:model:rotate" --dtypes f32,bf16

One candidate after another is gated. The report lies in the folder --report, or that of each of several in a folder there.
What they say is appended to --summary. The exit code is the largest of the gates'. An option whose value is empty is as one
that is left out: then the table [tool.assay] of ./pyproject.toml says what it is,

    [tool.assay]
    candidates = ["python:model:rotate"]
    dtypes = ["f32", "bf16"]
    known-failures = "known.txt"
    require-digits = ["6@131072"]
"""
import argparse
import os
import re
import shlex
import subprocess
import sys

from assay.installed import environment, program

_WRONG_INPUT = 2  # such a gate writes no report


def _parser():
    parser = argparse.ArgumentParser(prog="python -m assay.ci", description=__doc__.partition("\n")[0])
    parser.add_argument("--candidates", default="", help="as for assay gate, one a line; lines with # are comments")
    for name in ("operations", "dtypes"):
        parser.add_argument(f"--{name}", default="", help="only these: lines, or a list with commas")
    for name in ("effort", "seed", "baseline", "known-failures", "require-digits"):
        parser.add_argument(f"--{name}", default="", help="that of assay gate")
    parser.add_argument("--options", default="", help="further ones of assay gate, such as '--require-class uniform'")
    parser.add_argument("--report", default="assay-report", help="folder of the reports")
    parser.add_argument("--summary", default=os.environ.get("GITHUB_STEP_SUMMARY"), help="file in Markdown")
    return parser


def _take_from_project(options, parser):
    """Takes the options that the command leaves open from pyproject.toml."""
    try:
        with open("pyproject.toml", "rb") as file:
            text = file.read()
    except FileNotFoundError:
        return
    except OSError as error:
        parser.error(str(error))
    try:
        import tomllib
    except ModuleNotFoundError:
        if b"tool.assay" in text:
            parser.error("pyproject.toml: [tool.assay] needs Python 3.11")
        return
    try:
        tools = tomllib.loads(text.decode()).get("tool", {})
    except ValueError as error:
        parser.error(f"pyproject.toml: {error}")
    table = tools.get("assay", {}) if isinstance(tools, dict) else {}
    if not isinstance(table, dict):
        parser.error("pyproject.toml: tool.assay is no table")
    known = {name.replace("_", "-") for name in vars(options)} - {"report", "summary"}  # of a machine, not of a project
    for name, value in table.items():
        if name not in known:
            parser.error(f"pyproject.toml: [tool.assay] has no {name}; it has {', '.join(sorted(known))}")
        words = value if isinstance(value, list) else [value]
        if not all(isinstance(word, str) or type(word) is int for word in words):
            parser.error(f"pyproject.toml: [tool.assay] {name} is a text, a number or a list of them")
        words = [str(word) for word in words]
        if name == "options":
            text = shlex.join(words) if isinstance(value, list) else words[0]
        else:
            text = ("\n" if name in ("candidates", "operations", "dtypes") else ",").join(words)
        if not getattr(options, name.replace("-", "_")):
            setattr(options, name.replace("-", "_"), text)


def _arguments_of(options):
    """The arguments of assay gate that all candidates share."""
    lists = [f"--{option}={word.strip()}" for option, text in (("operation", options.operations), ("dtype", options.dtypes))
             for word in re.split(r"[,\n]", text) if word.strip()]
    single = [f"--{name.replace('_', '-')}={getattr(options, name)}" for name in ("effort", "seed", "baseline", "known_failures", "require_digits")
              if getattr(options, name)]
    annotated = ["--output-format=github"] if os.environ.get("GITHUB_ACTIONS") == "true" else []
    return lists + single + annotated + shlex.split(options.options)


def _gate(candidate, folder, arguments):
    """The exit code, and what the report says."""
    print(f"\n== {candidate}", flush=True)
    code = subprocess.run([program(), "gate", f"--candidate={candidate}", f"--report={folder}", *arguments],
                          env=environment()).returncode
    summary = os.path.join(folder, "summary.md")
    if code != _WRONG_INPUT and os.path.exists(summary):
        with open(summary, encoding="utf-8") as file:
            return code, file.read()
    return code, f"# Assay: no report of `{candidate}`\n\n`assay gate` ended with exit code {code}: see the log.\n"


def main():
    parser = _parser()
    options = parser.parse_args()
    _take_from_project(options, parser)
    candidates = [line for line in map(str.strip, options.candidates.splitlines()) if line and not line.startswith("#")]
    if not candidates:
        parser.error("--candidates names none")
    if len(candidates) > 1 and (options.baseline or options.known_failures):
        parser.error("a baseline and a list of known failures are of one candidate: give each a job of its own")
    folders = [options.report] if len(candidates) == 1 else [
        os.path.join(options.report, f"{number}-" + re.sub(r"[^\w.]+", "-", candidate)[:60].strip("-"))
        for number, candidate in enumerate(candidates, 1)]
    try:
        program()
    except FileNotFoundError as missing:
        parser.error(str(missing))
    codes = []

    def append(text):
        if options.summary:
            with open(options.summary, "a", encoding="utf-8") as file:
                file.write(text + "\n")
    for candidate, folder in zip(candidates, folders):
        code, said = _gate(candidate, folder, _arguments_of(options))
        codes.append(code if code >= 0 else 128 - code)  # a signal, as shells have it
        append(said)
    written = [folder for folder, code in zip(folders, codes) if code != _WRONG_INPUT]
    if len(written) > 1:
        table = subprocess.run([program(), "compare", *written], stdout=subprocess.PIPE, text=True).stdout
        append(re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", table))  # the pages that it links to lie on the runner
    sys.exit(max(codes))


if __name__ == "__main__":
    main()
