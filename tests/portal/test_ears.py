"""The ears: after every error of their own they listen afresh, so that no node pays for it."""

import threading
from types import SimpleNamespace

import pytest
from django.db import OperationalError
from redis.exceptions import ConnectionError as RedisIsAway

from portal.agents import ears
from portal.agents.hearing import still_listening
from portal.cluster.models import Node
from tests.portal.stage import Stage


class Impatient(threading.Event):
    """Waits for nobody."""

    def wait(self, timeout: float | None = None) -> bool:
        return self.is_set()


def test_the_first_listening_and_every_one_after_an_error_is_afresh(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = SimpleNamespace(
        app=SimpleNamespace(amqp=SimpleNamespace(queues=SimpleNamespace(consume_from=())))
    )
    pair, heard = ears.Ears(asked), list[bool]()
    pair.over = Impatient()

    def listen(_client: object, *, afresh: bool) -> int:
        heard.append(afresh)
        match len(heard):
            case 2:
                raise RedisIsAway
            case 4:
                raise OperationalError
            case 6:
                pair.over.set()
        return 0

    monkeypatch.setattr(ears, "listen_once", listen)
    pair._listen("redis://127.0.0.1:1/0")
    assert heard == [True, False, True, False, True, False]


def test_after_an_outage_however_short_every_node_gets_its_whole_time_out(stage: Stage) -> None:
    stage.add_nodes("n1")
    stage.pass_time(55, silent=["n1"])
    still_listening(now=stage.now, afresh=True)
    stage.pass_time(55, silent=["n1"])
    stage.turn()
    assert Node.objects.get().lost_at is None
    stage.pass_time(5, silent=["n1"])
    stage.turn()
    assert Node.objects.get().lost_at == stage.now
