"""Joins the node to the portal: asks for ever, and says once what it is waiting for."""

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from scheduler.agent.door import Away, Door, Refusal

log = logging.getLogger("berth.agent")


@dataclass(frozen=True, slots=True)
class Membership:
    """What an approved node was given; it lives in memory only."""

    token: str
    wire_key: bytes
    redis_url: str
    queue: str


def join(door: Door, asking: dict[str, Any], pause: Callable[[float], bool]) -> Membership | None:
    """`pause` sleeps and says whether to go on; None when it said no."""
    said = ""
    for wait_s in _growing():
        match ask(door, asking):
            case Membership() as membership:
                log.info("joined the portal as %s", asking["name"])
                return membership
            case sentence:
                if sentence != said:  # one line per change of cause, not one per attempt
                    log.warning("not joined yet: %s", sentence)
                    said = sentence
        if not pause(wait_s):
            return None
    return None


def ask(door: Door, asking: dict[str, Any]) -> Membership | str:
    """The membership, or the sentence that says why there is none yet."""
    try:
        status, answer = door.post_json("join", asking)
        if status == 202:
            return str(answer.get("sentence") or "waiting for an administrator's approval")
        return Membership(
            token=answer["token"],
            wire_key=bytes.fromhex(answer["wire_key"]),
            redis_url=answer["redis_url"],
            queue=answer["queue"],
        )
    except Away as why:
        return str(why)
    except Refusal as why:
        return f"the portal refuses: {why.sentence}"
    except (KeyError, ValueError, TypeError, AttributeError):
        return "the portal's answer is not what this agent understands; is it of another version?"


def _growing() -> Iterator[float]:
    wait_s = 0.25
    while True:
        yield wait_s
        wait_s = min(wait_s * 1.5, 5.0)
