"""For all tests here: what a failing check leaves (its report) goes with the test's own folder."""
import tempfile

import pytest


@pytest.fixture(autouse=True)
def temporary_files_of_the_test(tmp_path_factory, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path_factory.mktemp("temporary")))
    monkeypatch.setattr(tempfile, "tempdir", None)
