#!/usr/bin/env python3
"""The packages that tools/debian/pack and tools/pack_golden make: the same bytes twice, what a Debian package must hold,
and a manual page that keeps up with the program.

Run by CTest with BUILD set to the build folder. Ends with status 77 (skipped, in CTest's words) without dpkg's tools.
"""
import filecmp
import glob
import gzip
import io
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest

TOOLS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
GOLDEN = os.path.join(TOOLS, "..", "golden")
ASSAY = os.path.join(os.environ["BUILD"], "assay")
WHO = {"DEBFULLNAME": "A Packager", "DEBEMAIL": "packager@example.org", "SOURCE_DATE_EPOCH": "1700000000",
       "COMPRESSION": "fast"}


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, stdin=subprocess.DEVNULL).stdout


def read(path):
    with open(path, "rb") as file:
        return file.read()


def pack(folder, **options):
    for command in ([os.path.join(TOOLS, "debian", "pack"), os.environ["BUILD"]], [os.path.join(TOOLS, "pack_golden")]):
        subprocess.run([*command, folder], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                       **options)


class Packages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        first = os.path.join(cls.folder.name, "first")
        pack(first, env={**os.environ, **WHO})
        (cls.deb,), (cls.archive,), (cls.golden_deb,), (cls.golden_archive,) = (
            glob.glob(os.path.join(first, name))
            for name in ("assay_*.deb", "assay-*.tar.gz", "assay-golden_*_all.deb", "assay-golden-*.tar.zst"))
        cls.members = tarfile.open(fileobj=io.BytesIO(output("dpkg-deb", "--fsys-tarfile", cls.deb)))

    def document(self, name):
        return gzip.decompress(self.members.extractfile("./usr/share/" + name).read()).decode()

    def field(self, name):
        return output("dpkg-deb", "--field", self.deb, name).decode().strip()

    def test_the_same_bytes_in_another_folder_zone_and_mask_and_older_packages_go(self):
        second = os.path.join(self.folder.name, "second")
        os.mkdir(second)
        old = [os.path.join(second, name) for name in ("assay_0.0.1_amd64.deb", "assay-0.0.1-linux-amd64.tar.gz",
                                                       "assay-golden_0.0.1_all.deb", "assay-golden-0.0.1.tar.zst")]
        others = os.path.join(second, "notes.deb")
        for path in [*old, others]:
            open(path, "w").close()
        pack(second, cwd=second, umask=0o077, env={**os.environ, **WHO, "TZ": "Asia/Tokyo", "LC_ALL": "C.UTF-8"})
        packages = (self.deb, self.archive, self.golden_deb, self.golden_archive)
        for path in packages:
            self.assertEqual(read(path), read(os.path.join(second, os.path.basename(path))), path)
        self.assertEqual(len(os.listdir(second)), len(packages) + 1)
        self.assertTrue(os.path.exists(others))

    def test_permissions_owners_and_times(self):
        for member in [*self.members, *tarfile.open(self.archive), *self.golden_members()]:
            mode = 0o755 if member.isdir() or member.name.endswith("bin/assay") else 0o777 if member.issym() else 0o644
            self.assertEqual((member.uid, member.gid, member.uname, member.gname, member.mode, member.mtime),
                             (0, 0, "root", "root", mode, 1700000000), member.name)

    def test_what_every_debian_package_holds(self):
        version = output(ASSAY, "--version").decode().strip()
        self.assertEqual(self.field("Version"), version)
        self.assertEqual(self.field("Maintainer"), "A Packager <packager@example.org>")
        self.assertIn("libmpfr6", self.field("Depends"))
        self.assertIn("python3-numpy", self.field("Recommends"))
        changes = self.document("doc/assay/changelog.gz")
        self.assertTrue(changes.startswith(f"assay ({version}) "), changes)
        self.assertIn(" -- A Packager <packager@example.org>  Tue, 14 Nov 2023 22:13:20 +0000", changes)
        notices = self.members.extractfile("./usr/share/doc/assay/copyright").read().decode()
        for holder in ("The Assay authors", "University of Cincinnati", "Lohmann", "Mabille"):
            self.assertRegex(notices, f"Copyright.*{holder}")

    def test_lintian_has_no_complaint(self):
        if not shutil.which("lintian"):
            self.skipTest("no lintian")
        as_root = ["--allow-root"] if os.geteuid() == 0 else []
        done = subprocess.run(["lintian", *as_root, "--fail-on", "error,warning", self.deb, self.golden_deb],
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_the_archive_holds_the_same_program(self):
        with tarfile.open(self.archive) as archive:
            (program,) = (name for name in archive.getnames() if name.endswith("/bin/assay"))
            self.assertEqual(program.split("/")[0] + ".tar.gz", os.path.basename(self.archive))
            self.assertEqual(archive.extractfile(program).read(), self.members.extractfile("./usr/bin/assay").read())

    def golden_members(self):
        return tarfile.open(fileobj=io.BytesIO(output("dpkg-deb", "--fsys-tarfile", self.golden_deb)))

    def test_the_golden_packages_hold_every_set_and_reader(self):
        root = os.path.join(self.folder.name, "root")
        output("dpkg-deb", "--extract", self.golden_deb, root)
        output("tar", "--zstd", "-xf", self.golden_archive, "-C", root)
        installed = os.path.join(root, "usr", "share", "assay-golden")
        unpacked = os.path.join(root, os.path.basename(self.golden_archive)[:-len(".tar.zst")])
        parts = ("sets/*", "sets/*/*", "recipes/*", "recipes/full/*", "schema/*", "readers/*.[hjpr]*")
        names = ["README.md", *(path for part in parts for path in glob.glob(part, root_dir=GOLDEN) if "." in path)]
        self.assertGreater(len(names), 1000)
        self.assertIn(os.path.join("readers", "golden_reader.hpp"), names)
        for folder in (installed, unpacked):
            self.assertEqual(filecmp.cmpfiles(folder, GOLDEN, names, shallow=False)[1:], ([], []), folder)

    def test_the_manual_page_has_every_command_and_exit_code(self):
        page = self.document("man/man1/assay.1.gz")
        entries = {re.sub(r"(?<=\w)\\-", "-", name): text for name, text in re.findall(
            r'^\.TP\n\.B (.+)\n((?:.+\n)*?)(?=\.TP|\.SH)', page, re.MULTILINE)}
        wanted = commands_of()
        self.assertGreaterEqual(len(wanted), 7)
        self.assertLessEqual(set(wanted), set(entries))
        codes = dict(re.findall(r"^  (\d+)  (.+)$", output(ASSAY, "--help").decode(), re.MULTILINE))
        self.assertEqual(len(codes), 5)
        self.assertEqual({code: text.strip() for code, text in entries.items() if code.isdigit()}, codes)
        known = set(wanted) | set(codes) | {"ASSAY_PYTHON", "ASSAY_TARGET"}
        others = {name for name in entries if not name.startswith(r"\-\-")}
        self.assertLessEqual(others, known, "the page has a command that the program lacks")

    def test_the_manual_page_has_every_option(self):
        page = self.document("man/man1/assay.1.gz").replace("\\-", "-")
        documented = set(re.findall(r"^\.(?:B|BI|BR -h \", \") (--[a-z-]+)", page, re.MULTILINE))
        self.assertEqual(documented, set().union(*(options_of(*command.split()) for command in ["", *commands_of()])))

    def test_the_manual_page_is_sound(self):
        if not shutil.which("man"):
            self.skipTest("no man")
        done = subprocess.run(["man", "--warnings", "--local-file", os.path.join(TOOLS, "assay.1")], capture_output=True,
                              text=True, env={**os.environ, "MANWIDTH": "80", "LC_ALL": "C.UTF-8"})
        self.assertEqual((done.returncode, done.stderr), (0, ""))


def options_of(*command):
    """The options that `assay COMMAND --help` lists."""
    listed = output(ASSAY, *command, "--help").decode().split("\nSubcommands:")[0]
    return set(re.findall(r"^  (?:-\w,)?(--[a-z-]+)", listed, re.MULTILINE))


def commands_of(*above):
    """The commands that `assay --help` lists; a command of a group is `group command`."""
    _, _, listed = output(ASSAY, *above, "--help").decode().partition("\nSubcommands:\n")
    names = re.findall(r"^  ([\w-]+) ", listed.split("\n\n")[0], re.MULTILINE)
    commands = []
    for name in names:
        below = commands_of(*above, name)
        if not below or options_of(*above, name) != {"--help"}:  # a group may be a command, too
            commands.append(" ".join([*above, name]))
        commands += below
    return commands


if __name__ == "__main__":
    if not all(map(shutil.which, ("dpkg-gencontrol", "dpkg-shlibdeps", "dpkg-deb", "zstd"))):
        print("skipped: no dpkg-gencontrol or no zstd (tools/install_dependencies package)")
        sys.exit(77)
    unittest.main()
