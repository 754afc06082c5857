"""What a thinker decides: the acts that the clock carries out, in order, or refuses."""

from dataclasses import dataclass
from typing import TypeAlias

from scheduler.core.model import Seat

# Why a thinker may ask a run to stop; "limit" and "node_lost" happen without anybody's decision.
ASKED = ("preempted", "reclaimed", "recalled", "moved")


@dataclass(frozen=True, slots=True)
class Start:
    """Start this waiting job now on these seats; a seat's node is a row of the site."""

    job: int
    seats: tuple[Seat, ...]
    limit_s: float | None = None  # from now on the limit of a job that asked for none


@dataclass(frozen=True, slots=True)
class AskStop:
    """Ask the run of this job to save its work and go, for the sake of another job."""

    job: int
    why: str  # one of ASKED
    sake: int  # the job it makes room for


@dataclass(frozen=True, slots=True)
class Swap:
    """Replace the seat that this job's run lost on a node; the others stay where they are."""

    job: int
    out: int  # the row that was lost
    into: Seat


@dataclass(frozen=True, slots=True)
class Planned:
    """A waiting job is meant to start then, on these seats."""

    job: int
    at: float
    seats: tuple[Seat, ...]


Act: TypeAlias = Start | AskStop | Swap


@dataclass(frozen=True, slots=True)
class Decisions:
    """What to do now, and what to know until the next thought."""

    acts: tuple[Act, ...] = ()
    head: int | None = None  # the waiting job that comes first; None = the oldest
    wake_s: float | None = None  # think again then at the latest, even when nothing happens
    planned: tuple[Planned, ...] = ()  # starts that lie ahead


class Illegal(Exception):
    """A thinker decided what cannot be; nothing of it is carried out, and the replay ends."""
