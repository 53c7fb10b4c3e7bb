"""What the scripts of findings share: a package is fetched, one of its modules is imported as it is, and Assay is asked."""
import atexit
import contextlib
import importlib
import importlib.abc
import importlib.machinery
import importlib.metadata
import io
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
import types
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
try:
    import assay
except ImportError:  # from a clone, with $ASSAY or `assay` on PATH
    sys.path.insert(0, str(HERE.parent / "adapters" / "python"))
    import assay

PIP = [sys.executable, "-m", "pip"]
NOT_FETCHED = 3  # the exit status of a script whose package does not come


def version(standard):
    """That of the package: the first argument of the script, else the one that the finding is about."""
    return sys.argv[1] if len(sys.argv) > 1 else standard


def fetched(package, version_text, extra=()):
    """The folder of `package` in version `version_text`, unpacked. It is a wheel from PyPI, or with `extra`, the packages
    that its setup.py imports, the archive of its source. $ASSAY_FINDINGS_CACHE keeps what was fetched; without it nothing
    stays."""
    folder = _kept() / f"{package}-{version_text}"
    if not folder.is_dir():
        with tempfile.TemporaryDirectory() as loaded:
            _unpack(_loaded(package, version_text, extra, pathlib.Path(loaded)), folder)
    print(f"package: {package} {version_text}")
    inner = [each for each in folder.iterdir() if each.is_dir()]
    return inner[0] if extra and len(inner) == 1 else folder


def installed(package, version_text):
    """As `fetched`, for a package that is in this environment already."""
    print(f"package: {package} {importlib.metadata.version(package)}")
    if not importlib.metadata.version(package).startswith(version_text):
        print(f"note: the finding is about {version_text}")


def needed(*requirements):
    """Packages that the module imports, in a folder of their own behind all others."""
    folder = _kept() / f"with-{requirements[0]}"
    if not folder.is_dir():
        _run([*PIP, "install", "-q", "--no-deps", "--target", str(folder), *requirements], dict(os.environ))
    sys.path.append(str(folder))


def imported(folder, module, without=None):
    """`module` of `folder`, unchanged. The packages that it lies in run no __init__. What is imported of `without` is empty
    but for the attributes that stand there."""
    sys.meta_path.insert(0, _Empty(without or {}))
    names = module.split(".")
    for k in range(1, len(names)):
        package = types.ModuleType(".".join(names[:k]))
        package.__path__ = [str(folder.joinpath(*names[:k]))]
        sys.modules.setdefault(package.__name__, package)
    sys.path.insert(0, str(folder))
    with contextlib.redirect_stdout(io.StringIO()):
        return importlib.import_module(module)


def ask(word, operation, outputs, **values):
    """Prints what Assay says of these outputs. `word`: what is asked, such as "control"."""
    try:
        said = assay.judge(operation, outputs, **values)
    except AssertionError as wrong:
        said = str(wrong)
    for line in said.splitlines():
        if line.strip():
            print(f"{word}: {line.strip()}")


def proof(line):
    print(f"proof: {line}")


def _kept():
    kept = os.environ.get("ASSAY_FINDINGS_CACHE")
    if not kept:
        kept = tempfile.mkdtemp(prefix="assay-findings-")
        atexit.register(shutil.rmtree, kept, ignore_errors=True)
        os.environ["ASSAY_FINDINGS_CACHE"] = kept
    return pathlib.Path(kept)


def _loaded(package, version_text, extra, into):
    wanted, environment = [f"{package}=={version_text}"], dict(os.environ)
    if extra:
        tools = into / "tools"
        _run([*PIP, "install", "-q", "--target", str(tools), *extra], environment)
        environment |= {"PYTHONPATH": str(tools), f"{package.upper()}_VERSION_OVERRIDE": version_text,
                        f"{package.upper()}_TARGET_DEVICE": "empty"}
        wanted = ["--no-binary", ":all:", "--no-build-isolation", *wanted]
    _run([*PIP, "download", "-q", "--no-deps", "-d", str(into / "files"), *wanted], environment)
    return next((into / "files").iterdir())


def _run(command, environment):
    ended = subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if ended.returncode != 0:
        print((ended.stderr.strip() or "pip failed").splitlines()[-1], file=sys.stderr)
        sys.exit(NOT_FETCHED)


def _unpack(file, folder):
    partial = folder.with_name(folder.name + ".partial")
    shutil.rmtree(partial, ignore_errors=True)
    if file.suffix == ".whl":
        with zipfile.ZipFile(file) as archive:
            archive.extractall(partial)
    else:
        with tarfile.open(file) as archive:
            archive.extractall(partial, [member for member in archive if _is_plain(member)])
    partial.rename(folder)


def _is_plain(member):
    return member.isfile() and not member.name.startswith("/") and ".." not in member.name.split("/")


class _EmptyModule(types.ModuleType):
    __path__ = []

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {})


class _Empty(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds empty modules in place of those of `names` and of all below them."""

    def __init__(self, names):
        self.names = names

    def find_spec(self, name, path=None, target=None):
        parts = name.split(".")
        if any(".".join(parts[:k]) in self.names for k in range(1, len(parts) + 1)):
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec):
        module = _EmptyModule(spec.name)
        module.__dict__.update(self.names.get(spec.name) or {})
        return module

    def exec_module(self, module):
        pass
