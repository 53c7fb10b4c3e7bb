"""The pytest plugin of Assay's wheel; elsewhere: pytest -p assay.pytest_plugin.

    def test_rotate(assay):
        assay.check(rotate, "rope/rotate", domain={"layout": ["half_split"]})

Each check leaves its report in the folder of its test, below that of --assay-report.
"""
import os
import re
import warnings

import pytest

import assay as package


def pytest_addoption(parser):
    group = parser.getgroup("assay", "numerical checks by Assay")
    group.addoption("--assay-effort", default="quick", choices=("smoke", "quick", "full"), help="that of assay gate")
    group.addoption("--assay-seed", default=1, type=int, metavar="SEED", help="what is drawn depends on it")
    # Absolute at once: the processes of pytest-xdist may run elsewhere.
    group.addoption("--assay-report", type=os.path.abspath, metavar="FOLDER",
                    help="of the reports, a folder for each test (assay-report in the root folder)")


class Assay:
    """The package `assay` in a test, whose check() follows the options of the command line.

        >>> def test_slopes(assay):
        ...     assay.judge("alibi/slopes", 0.25 ** numpy.arange(1, 5), dtype="f64", heads=4)
    """

    def __init__(self, config, test):
        self._options, self._checks = config.option, 0
        under = config.option.assay_report or os.path.join(config.rootpath, "assay-report")
        self._folder = os.path.join(under, *(re.sub(r"[^\w.=,+-]|^\.+$", "_", part) for part in re.split(r"::|/", test)))

    def __getattr__(self, name):
        return getattr(package, name)

    def check(self, function, operation=None, dtypes=None, **more):
        """As assay.check. Of several checks in a test each has a folder of its own: the second one ends in -2.

            >>> def test_rotate(assay):
            ...     for dtype in ("f32", "bf16"):
            ...         assay.check(rotate, "rope/rotate", [dtype], domain={"layout": ["half_split"]})
        """
        __tracebackhide__ = True
        self._checks += 1
        folder = self._folder + f"-{self._checks}" * (self._checks > 1)
        package.check(function, operation, dtypes, **{"effort": self._options.assay_effort,
                                                      "seed": self._options.assay_seed, "report": folder, **more})


@pytest.hookimpl(tryfirst=True)
def pytest_fixture_setup(fixturedef):
    """Another plugin may have a fixture of this name. One of a conftest or of a test's own file is meant."""
    module = fixturedef.func.__module__
    if fixturedef.argname == "assay" and not fixturedef.baseid and module.rpartition(".")[2] not in (
            "conftest", __name__.rpartition(".")[2]):
        warnings.warn(pytest.PytestWarning(
            f"the fixture 'assay' of this test is that of the plugin {module}, not Assay's: leave that "
            f"plugin out (-p no:NAME), or write `import assay` in the test's file, which needs no fixture"))


@pytest.fixture
def assay(request):
    """Assay for this test: assay.check(function, operation, ...) fails with what is wrong, on the smallest case.

        >>> def test_rotate(assay):
        ...     assay.check(rotate, "rope/rotate", domain={"layout": ["half_split"]})
    """
    return Assay(request.config, request.node.nodeid)
