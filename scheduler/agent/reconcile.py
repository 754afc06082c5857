"""What to do about the difference between what is wanted and what is there: one pure function."""

from collections.abc import Mapping
from dataclasses import dataclass

from scheduler.wire import DEFAULT_GRACE_S

Key = tuple[int, int]  # run, epoch


@dataclass(frozen=True, slots=True)
class Want:
    stop: bool = False
    grace_s: float = DEFAULT_GRACE_S
    gpus: frozenset[str] | None = None  # None: its spec has not arrived yet


@dataclass(frozen=True, slots=True)
class Have:
    live: bool  # some process of it may still run
    gpus: frozenset[str] = frozenset()
    told: bool = False  # the portal knows that it ended
    gone: bool = False  # forgotten before: it must never start again


@dataclass(frozen=True, slots=True)
class Moves:
    fetch: tuple[Key, ...] = ()
    launch: tuple[Key, ...] = ()
    stop: tuple[tuple[Key, float], ...] = ()
    forget: tuple[Key, ...] = ()


def reconcile(wanted: Mapping[Key, Want], present: Mapping[Key, Have]) -> Moves:
    """The same two sets always give the same moves, however often and in whatever order messages came."""
    due = sorted(key for key, want in wanted.items() if not want.stop and key not in present)
    return Moves(
        fetch=tuple(key for key in due if wanted[key].gpus is None),
        launch=_launches(due, wanted, present),
        stop=tuple(
            (key, wanted[key].grace_s if key in wanted else DEFAULT_GRACE_S)
            for key, have in sorted(present.items())
            if have.live and (key not in wanted or wanted[key].stop)
        ),
        forget=tuple(
            key
            for key, have in sorted(present.items())
            if not have.live and have.told and not have.gone and key not in wanted
        ),
    )


def _launches(due: list[Key], wanted: Mapping[Key, Want], present: Mapping[Key, Have]) -> tuple[Key, ...]:
    """A GPU is handed on only when every process of the run before is gone."""
    busy = {gpu for have in present.values() if have.live for gpu in have.gpus}
    chosen: list[Key] = []
    for key in due:
        gpus = wanted[key].gpus
        if gpus is not None and busy.isdisjoint(gpus):
            chosen.append(key)
            busy |= gpus
    return tuple(chosen)
