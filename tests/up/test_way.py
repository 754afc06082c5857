"""As root, a state that jobs' own users cannot reach is refused, before anything is made of it."""

import os
from pathlib import Path

import pytest

from portal.up.preflight import check_way
from portal.up.trouble import Trouble


def test_a_closed_directory_above_the_state_is_named(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    if os.geteuid() != 0:
        check_way(closed / "state")  # jobs run as ourselves: nothing to reach for others
        return
    with pytest.raises(Trouble, match="cannot pass through"):
        check_way(closed / "state")


def test_the_place_of_services_is_open() -> None:
    check_way(Path("/var/lib/berth"))
