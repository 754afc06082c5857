"""The promises to a stranger: the two commands, the licence, and a lock without addresses."""

from pathlib import Path

import pytest

from portal.checks import lock
from tests.checks.planting import plant
from tests.house.promises import broken

LOCK = "django==5.2.19 \\\n    --hash=sha256:00ff\nnumpy==2.4.6 ; python_full_version < '3.12' \\\n    --hash=sha256:11aa\n"
PROJECT = """
[project]
dependencies = ["django>=5.2,<5.3"]
[project.optional-dependencies]
test = ["numpy>=2.4"]
"""


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    """A checkout that keeps every promise."""
    plant(tmp_path, "README.md", "./manage.py up\n./manage.py test\n")
    plant(tmp_path, "manage.py", 'WORDS = {"up": (), "test": ()}\n')
    plant(tmp_path, ".ci/run", "#!/bin/sh\n")
    plant(tmp_path, "LICENSE", "Apache License\n")
    plant(tmp_path, "requirements.lock", LOCK)
    plant(tmp_path, "pyproject.toml", PROJECT)
    for program in ("manage.py", ".ci/run"):
        (tmp_path / program).chmod(0o755)
    return tmp_path


def test_kept_promises_give_no_complaint(kept: Path) -> None:
    assert broken(kept) == []


@pytest.mark.parametrize("word", ["up", "test"])
def test_a_command_that_the_readme_forgets_is_found(kept: Path, word: str) -> None:
    (kept / "README.md").write_text("./manage.py up\n./manage.py test\n".replace(f"./manage.py {word}", ""))
    assert broken(kept) == [f"README.md: does not say ./manage.py {word}"]


def test_a_word_that_manage_does_not_know_is_found(kept: Path) -> None:
    (kept / "manage.py").write_text('WORDS = {"up": ()}\n')
    assert broken(kept) == ["manage.py: does not know the word test"]


@pytest.mark.parametrize("program", ["manage.py", ".ci/run"])
def test_a_program_that_cannot_be_run_is_found(kept: Path, program: str) -> None:
    (kept / program).chmod(0o644)
    assert [wrong.split(":")[0] for wrong in broken(kept)] == [program]


def test_another_licence_is_found(kept: Path) -> None:
    (kept / "LICENSE").write_text("All rights reserved.\n")
    assert broken(kept) == ["LICENSE: not the Apache License"]


ADDRESSES = {
    "an index": "--index" + "-url https://mirror/simple\n",
    "a short index": "-i mirror\n",
    "a further index": "--extra-index" + "-url=https://mirror/simple\n",
    "a folder of wheels": "--find-links /wheels\n",
    "a direct reference": "berth @ file:///wheels/berth.whl\n",
}


@pytest.mark.parametrize("line", ADDRESSES.values(), ids=ADDRESSES)
def test_a_lock_with_an_address_is_refused_and_the_old_one_stays(line: str, kept: Path) -> None:
    (complaint,) = lock.trouble(line + LOCK)
    assert complaint.startswith("line 1 holds an address")
    assert lock.keep(line + LOCK, kept / "requirements.lock") == 1
    assert (kept / "requirements.lock").read_text() == LOCK


def test_a_lock_that_is_older_than_what_the_project_asks_for_is_found(kept: Path) -> None:
    (kept / "pyproject.toml").write_text(PROJECT.replace("numpy>=2.4", "numpy>=2.5"))
    assert broken(kept) == ["requirements.lock: does not pin numpy>=2.5; run ./manage.py lock"]
    (kept / "pyproject.toml").write_text(PROJECT.replace("numpy>=2.4", "redis>=8"))
    assert broken(kept) == ["requirements.lock: does not pin redis>=8; run ./manage.py lock"]


def test_a_pin_without_a_hash_is_refused() -> None:
    assert lock.trouble(LOCK + "redis==8.1.0\n") == ["line 5 has no hash: redis==8.1.0"]


def test_a_lock_that_pins_nothing_is_refused() -> None:
    assert lock.trouble("") == ["it pins nothing"]


def test_a_good_lock_is_kept(kept: Path) -> None:
    newer = LOCK.replace("5.2.19", "5.2.20")
    assert lock.keep(newer, kept / "requirements.lock") == 0
    assert (kept / "requirements.lock").read_text() == newer
