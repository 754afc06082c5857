"""The real PostgreSQL and Valkey of `up`: any user can start them, anywhere, several at once."""

import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
import redis

from portal.up import preflight, unprivileged
from portal.up.postgres import Postgres
from portal.up.sockets import free_port, is_free
from portal.up.trouble import Trouble
from portal.up.unprivileged import Guise
from portal.up.valkey import Valkey
from tests.up.harness import clean_environment, commands_with, eventually

AN_ACCOUNT = next(account.pw_uid for account in pwd.getpwall() if account.pw_uid)
NO_ACCOUNT = next(uid for uid in range(1234, 9999) if uid not in {a.pw_uid for a in pwd.getpwall()})

PROGRAM = """
import os, sys
from pathlib import Path
import psycopg
from portal.up.postgres import Postgres
from portal.up.valkey import Valkey
servers = Postgres(Path(sys.argv[1]) / "pg", fast=True), Valkey(Path(sys.argv[1]) / "valkey")
for server in servers:
    server.start()
with psycopg.connect(servers[0].url) as link:
    print(os.geteuid(), link.execute("select current_setting('max_connections')").fetchone()[0])
if "die" in sys.argv:
    os.kill(os.getpid(), 9)
for server in servers:
    server.stop()
"""


@pytest.fixture
def postgres(tmp_path: Path) -> Iterator[Postgres]:
    server = Postgres(tmp_path / "pg", fast=True)
    server.start()
    yield server
    server.stop()


@pytest.fixture
def valkey(tmp_path: Path) -> Iterator[Valkey]:
    server = Valkey(tmp_path / "valkey")
    server.start()
    yield server
    server.stop()


def run_as(prefix: tuple[str, ...], place: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [*prefix, sys.executable, "-c", PROGRAM, str(place), *words]
    return subprocess.run(command, env=clean_environment(), capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize(
    "uid", [AN_ACCOUNT, NO_ACCOUNT, 0], ids=["an ordinary user", "a user without an account", "root"]
)
def test_both_servers_run_for(uid: int, tmp_path: Path) -> None:
    done = run_as(("unshare", "--user", f"--map-user={uid}", f"--map-group={uid}"), tmp_path)
    assert done.stdout.split() == [str(uid), "200"], done.stderr


def test_they_die_with_the_process_that_started_them(tmp_path: Path) -> None:
    assert run_as((), tmp_path, "die").returncode == -signal.SIGKILL
    eventually(lambda: not commands_with(str(tmp_path)))


def test_the_database_has_what_the_holds_need(postgres: Postgres) -> None:
    with psycopg.connect(postgres.url) as link:
        link.execute("create extension btree_gist")
        link.execute(
            "create table hold (gpu int, during tstzrange, exclude using gist (gpu with =, during with &&))"
        )


def test_only_its_own_user_can_reach_the_database(postgres: Postgres) -> None:
    with psycopg.connect(postgres.url) as link:
        assert link.execute("show listen_addresses").fetchone() == ("",)
        (sockets,) = link.execute("show unix_socket_directories").fetchone() or ("",)
    assert Path(sockets).stat().st_mode & 0o077 == 0


def test_what_was_committed_survives_kill_9_of_the_server(tmp_path: Path) -> None:
    server = Postgres(tmp_path / "pg")
    server.start()
    with psycopg.connect(server.url) as link:
        link.execute("create table t (x int)")
    assert server.process is not None
    server.process.kill()
    server.process.wait()
    server.spawn()
    server.wait_ready()
    with psycopg.connect(server.url) as link:
        assert link.execute("select count(*) from t").fetchone() == (0,)
    server.stop()


def test_a_pid_file_that_names_somebody_else_does_not_stop_it(postgres: Postgres) -> None:
    postgres.stop()
    (postgres.data / "postmaster.pid").write_text(f"{os.getpid()}\n{postgres.data}\n")
    postgres.start()
    assert postgres.answers()


def test_a_path_too_long_for_a_socket(tmp_path: Path) -> None:
    server = Postgres(tmp_path / ("long" * 30) / "pg", fast=True)
    server.start()
    with psycopg.connect(server.url) as link:
        (place,) = link.execute("show unix_socket_directories").fetchone() or ("",)
    assert len(place) < 90
    server.stop()
    assert not Path(place).exists()


def test_a_path_with_spaces_and_quotes(tmp_path: Path) -> None:
    odd = tmp_path / 'it\'s a "state" ü'
    for server in (Postgres(odd / "pg", fast=True), Valkey(odd / "valkey", fast=True)):
        server.start()
        assert server.answers()
        server.stop()


def test_an_interrupted_first_start_is_begun_again(tmp_path: Path) -> None:
    (tmp_path / "pg" / "data.draft").mkdir(parents=True)
    (tmp_path / "pg" / "data.draft" / "PG_VERSION").write_text("18\n")
    server = Postgres(tmp_path / "pg", fast=True)
    server.start()
    server.stop()
    assert not (tmp_path / "pg" / "data.draft").exists()


def test_a_server_that_cannot_start_gives_its_last_words(tmp_path: Path) -> None:
    server = Postgres(tmp_path / "pg", fast=True)
    server.start()
    server.stop()
    (server.data / "postgresql.conf").write_text("no such = setting\n")
    with pytest.raises(Trouble, match=r"PostgreSQL did not start: .*syntax error.*postgres\.log"):
        server.start()


@pytest.mark.parametrize("variable", ["PG_BIN", "VALKEY_BIN"])
def test_a_wrong_name_of_the_programs_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    monkeypatch.setenv(variable, str(tmp_path))
    server = Postgres(tmp_path / "pg") if variable == "PG_BIN" else Valkey(tmp_path / "valkey")
    with pytest.raises(Trouble, match=f"{variable} is .*; correct or unset {variable}"):
        server.start()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can run a server as another user")
def test_root_without_namespaces_runs_it_as_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unprivileged, "_namespaces_allowed", lambda: False)
    place = Path(tempfile.mkdtemp(dir="/tmp", prefix="berth-"))
    place.chmod(0o711)
    server = Postgres(place / "pg", fast=True)
    assert server._who == Guise(user="nobody")
    server.start()
    assert server.process is not None
    assert Path(f"/proc/{server.process.pid}").stat().st_uid != 0
    server.stop()
    monkeypatch.undo()  # and back: what nobody made, root can go on with
    again = Postgres(place / "pg", fast=True)
    again.start()
    again.stop()
    shutil.rmtree(place)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can run a server as another user")
def test_root_whose_state_nobody_can_enter_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unprivileged, "_namespaces_allowed", lambda: False)
    tmp_path.chmod(0o700)
    with pytest.raises(Trouble, match=r"the user nobody cannot enter .*--state /var/lib/berth"):
        Postgres(tmp_path / "pg").start()


def test_valkey_lets_in_nobody_but_the_portal(valkey: Valkey) -> None:
    with redis.Redis.from_url(valkey.url) as portal:
        assert portal.acl_whoami() == "portal"
        assert portal.config_get("maxmemory-policy") == {"maxmemory-policy": "noeviction"}
        assert portal.config_get("bind") == {"bind": "127.0.0.1"}
    with (
        redis.Redis.from_url(valkey.address, protocol=2) as stranger,
        pytest.raises(redis.AuthenticationError),
    ):
        stranger.ping()


def test_the_portals_password_is_in_no_command_line_and_no_open_file(valkey: Valkey) -> None:
    password = (valkey.directory / "password").read_text()
    assert not commands_with(password)
    assert password not in (valkey.directory / "valkey.conf").read_text()
    assert (valkey.directory / "password").stat().st_mode & 0o077 == 0


def test_what_was_queued_survives_kill_9_of_valkey(valkey: Valkey) -> None:
    with redis.Redis.from_url(valkey.url) as portal:
        portal.config_set("appendfsync", "always")
        portal.lpush("cycle", "tick")
    assert valkey.process is not None
    valkey.process.kill()
    valkey.process.wait()
    valkey.start()
    with redis.Redis.from_url(valkey.url) as portal:
        assert portal.llen("cycle") == 1


def test_valkey_takes_another_port_when_its_own_was_taken_meanwhile(valkey: Valkey, tmp_path: Path) -> None:
    port = valkey.port
    valkey.stop()
    with socket.create_server(("127.0.0.1", port)):
        again = Valkey(tmp_path / "valkey")
        again.start()
        assert again.port != port
        assert again.answers()
        again.stop()


def test_a_redis_user_that_may_make_no_users_is_refused(
    valkey: Valkey, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DATABASE_URL", raising=False)
    monkeypatch.setenv("REDIS_URL", valkey.url)
    preflight.check_servers()
    with redis.Redis.from_url(valkey.url) as link:
        link.execute_command("ACL", "SETUSER", "weak", "on", ">hunter2", "~*", "&*", "+@all", "-acl")
        assert link.acl_users() == ["default", "portal", "weak"], "the trial left nothing"
    monkeypatch.setenv("REDIS_URL", f"redis://weak:hunter2@127.0.0.1:{valkey.port}/0")
    with pytest.raises(Trouble, match=r"cannot be used: User weak has no permissions .* Redis 7 or Valkey 8"):
        preflight.check_servers()


def test_a_database_that_is_too_old_is_refused(postgres: Postgres, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("REDIS_URL", raising=False)
    monkeypatch.setenv("DATABASE_URL", postgres.url)
    preflight.check_servers()
    monkeypatch.setattr(preflight, "_OLDEST_POSTGRES", 99)
    with pytest.raises(Trouble, match=r"names is PostgreSQL \d+, and 99 or newer is needed"):
        preflight.check_servers()


def test_a_database_named_as_only_libpq_understands_it_is_refused(
    postgres: Postgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATABASE_URL", f"host={postgres.directory / 'socket'} user=postgres dbname=berth")
    with pytest.raises(Trouble, match="DATABASE_URL must start with postgresql://"):
        preflight.check_servers()


def test_two_of_each_live_side_by_side(postgres: Postgres, valkey: Valkey, tmp_path: Path) -> None:
    others = Postgres(tmp_path / "pg2", fast=True), Valkey(tmp_path / "valkey2", fast=True)
    for server in others:
        server.start()
        server.stop()
    assert postgres.answers()
    assert valkey.answers()


def test_a_free_port_is_none_that_a_connection_could_take_before_the_server_listens() -> None:
    ports = {free_port() for _ in range(20)}
    assert all(map(is_free, ports))
    assert max(ports) < 32_768  # from there on Linux takes those of connections, as it comes


def test_somebody_elses_port_is_not_free() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", free_port()))
        taken.listen()
        assert not is_free(taken.getsockname()[1])
