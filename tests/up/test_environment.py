"""manage.py makes its own environment from the lock: once, whole, and again when the lock changes."""

import ast
import base64
import hashlib
import os
import shutil
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pytest

from tests.up.harness import ROOT, eventually

pytestmark = pytest.mark.limit(120)


class Checkout:
    """A clone with a lock of one tiny package, and a shelf instead of a package index."""

    def __init__(self, place: Path) -> None:
        self.place = place / "clone"
        self.shelf = place / "shelf"
        self.shelf.mkdir()
        (self.place / "portal").mkdir(parents=True)
        shutil.copy(ROOT / "manage.py", self.place)
        shutil.copy(ROOT / "portal" / "__init__.py", self.place / "portal")
        shutil.copytree(ROOT / "portal" / "up", self.place / "portal" / "up")

    def lock(self, *versions: str) -> None:
        """Pin berthprobe: a wheel made here, since a test must not need the network."""
        pins = (f"berthprobe=={version} --hash=sha256:{self._wheel(version)}\n" for version in versions)
        (self.place / "requirements.lock").write_text("".join(pins))

    def _wheel(self, version: str) -> str:
        wheel = self.shelf / f"berthprobe-{version}-py3-none-any.whl"
        about = f"berthprobe-{version}.dist-info"
        files = {
            "berthprobe.py": f"version = {version!r}\n",
            f"{about}/METADATA": f"Metadata-Version: 2.1\nName: berthprobe\nVersion: {version}\n",
            f"{about}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        }
        lines = [f"{name},sha256={_digest(text)},{len(text)}" for name, text in files.items()]
        files[f"{about}/RECORD"] = "\n".join([*lines, f"{about}/RECORD,,\n"])
        with zipfile.ZipFile(wheel, "w") as archive:
            for name, text in files.items():
                archive.writestr(name, text)
        return hashlib.sha256(wheel.read_bytes()).hexdigest()

    def manage(self, **extra: str) -> "subprocess.Popen[str]":
        offline = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(self.shelf), "PATH": "/usr/bin:/bin"}
        return subprocess.Popen(
            [sys.executable, str(self.place / "manage.py")],
            env={**offline, "HOME": str(self.shelf), **extra},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def manages(self, **extra: str) -> str:
        said, _ = self.manage(**extra).communicate(timeout=100)
        return said

    def installed(self) -> str:
        return self.asked("import berthprobe; print(berthprobe.version)")

    def asked(self, program: str) -> str:
        python = self.place / ".venv" / "bin" / "python"
        return subprocess.run([python, "-c", program], capture_output=True, text=True).stdout.strip()


def _digest(text: str) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()


@pytest.fixture
def clone(tmp_path: Path) -> Checkout:
    checkout = Checkout(tmp_path)
    checkout.lock("1.0")
    return checkout


def test_a_fresh_clone_installs_its_lock_and_goes_on(clone: Checkout) -> None:
    said = clone.manages()
    assert "1 packages, by pip" in said, "uv cannot be had from the shelf: pip steps in"
    assert "Words of our own" in said
    assert clone.installed() == "1.0"


def test_the_second_time_nothing_is_installed_until_the_lock_changes(clone: Checkout) -> None:
    clone.manages()
    assert "packages" not in clone.manages()
    clone.lock("2.0")
    assert "packages" in clone.manages()
    assert clone.installed() == "2.0"


def test_two_at_once_make_it_once(clone: Checkout) -> None:
    both = [clone.manage(), clone.manage()]
    said = sorted((one.communicate(timeout=100)[0] for one in both), key=len)
    assert ["Words of our own" in text for text in said] == [True, True]
    assert ["by pip" in text for text in said] == [False, True]
    assert "waiting for another ./manage.py" in said[0]


def test_an_interrupted_install_is_done_again_from_scratch(clone: Checkout) -> None:
    first = clone.manage()
    eventually((clone.place / ".venv" / "pyvenv.cfg").exists, limit_s=60)
    first.kill()
    first.communicate()
    (clone.place / ".venv" / "half").write_text("made")
    assert "Words of our own" in clone.manages()
    assert clone.installed() == "1.0"
    assert not (clone.place / ".venv" / "half").exists()


def test_ctrl_c_during_the_install_is_one_line_and_no_traceback(clone: Checkout) -> None:
    first = clone.manage()
    eventually((clone.place / ".venv" / "pyvenv.cfg").exists, limit_s=60)
    first.send_signal(signal.SIGINT)
    said, _ = first.communicate(timeout=100)
    assert first.returncode == 130
    assert said.endswith("berth: stopped.\n")
    assert "Traceback" not in said


def test_an_environment_whose_python_went_away_is_made_again(clone: Checkout) -> None:
    clone.manages()
    (clone.place / ".venv" / "bin" / "python").unlink()
    (clone.place / ".venv" / "bin" / "python").symlink_to("/nonexistent/python3")
    assert "Words of our own" in clone.manages()
    assert clone.installed() == "1.0"


def test_a_package_that_is_not_what_the_lock_says_is_refused(clone: Checkout) -> None:
    lock = clone.place / "requirements.lock"
    lock.write_text(lock.read_text()[:-5] + "0000\n")
    said = clone.manages()
    assert "berth: the packages of requirements.lock could not be installed" in said
    assert "Words of our own" not in said
    assert "Traceback" not in said


def test_a_clone_that_cannot_be_written_says_what_to_do(clone: Checkout, tmp_path: Path) -> None:
    said = clone.manages(BERTH_VENV="/proc/venv")
    assert "cannot be written (No such file or directory); use a clone of your own" in said
    assert "Words of our own" in clone.manages(BERTH_VENV=str(tmp_path / "elsewhere"))
    assert not (clone.place / ".venv").exists()


def test_an_old_python_can_read_manage_py_and_says_no() -> None:
    text = (ROOT / "manage.py").read_text()
    ast.parse(text, feature_version=(3, 6))
    pretend = "import runpy, sys; sys.version_info = (3, 9); runpy.run_path('manage.py', run_name='__main__')"
    tried = subprocess.run([sys.executable, "-c", pretend], cwd=ROOT, capture_output=True, text=True)
    assert tried.returncode == 1
    assert "berth: Python 3.11 or newer is needed" in tried.stderr


def test_once_made_it_costs_next_to_nothing(clone: Checkout) -> None:
    clone.manages()
    began = time.monotonic()
    clone.manages()
    assert time.monotonic() - began < 2
    assert os.access(clone.place / "manage.py", os.X_OK)
