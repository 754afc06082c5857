"""What every figure of the policy means, in the words that the pages repeat, and how its value is written."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from portal import words
from portal.jobs.forms import spelled
from scheduler.core.policy import TIERS, Policy

Plain = Mapping[str, Any]  # a policy as JSON values
DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
NO_LIMIT = "no limit"


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure: its name in files and the API, what people call it, and what it does."""

    name: str
    label: str
    meaning: str
    kind: str  # length, count, number, pools or peaks; lengths and counts: one for each tier
    optional: bool = False  # of lengths and counts: each of them may be left empty

    @property
    def by_tier(self) -> bool:
        return self.kind in ("lengths", "counts")

    @property
    def help(self) -> str:
        """What it does, and what it is where nobody changed it."""
        return f"{self.meaning} Default: {said(self, DEFAULTS[self.name])}."


@dataclass(frozen=True, slots=True)
class Group:
    """Figures that answer one question."""

    key: str
    title: str
    figures: tuple[Figure, ...]


GROUPS = (
    Group("order", "Who goes first", (
        Figure("half_life_s", "Half-life of use",
               "GPU time that a team or a person used counts half as much after this; least used goes first.", "length"),
        Figure("entry_penalty_s", "Charge for a start",
               "A start counts at once as if it had run this long, so that nobody floods between two rounds.", "length"),
    )),
    Group("time", "Reservations and age", (
        Figure("reservation_depth", "Planned starts",
               "So many jobs at the head of the queue get a place and a time that nobody behind them may delay.", "count"),
        Figure("backfill_depth", "Looked at behind them",
               "So many jobs behind the head are tried for places that are free meanwhile.", "count"),
        Figure("protect_after_s", "Age that protects",
               "A job that waited this long gets a protected reservation: younger work of its tier makes way for it.", "length"),
        Figure("protect_again_s", "Wait that protects again",
               "A job that was stopped for others gets one again after this long, counted from the stop.", "length"),
        Figure("guard_share", "Guarded from this share of that age",
               "From this part of that age on nothing long starts in its way; 0.75 is three quarters.", "number"),
        Figure("cycle_s", "Longest pause between rounds",
               "The planner thinks at every change, and after this at the latest.", "length"),
    )),
    Group("stops", "Stopping work for others", (
        Figure("min_runtime_s", "Minimum runtime", "No run is stopped for others before it ran this long.", "lengths"),
        Figure("grace_s", "Grace", "A run that is asked to make way has this long to save its work.", "length"),
        Figure("max_preemptions_per_day", "Stops of a job in a day",
               "No job is stopped for others more often than this within 24 h.", "count"),
        Figure("max_user_stops_per_day", "Stops of a person in a day",
               "No person's jobs together are stopped for others more often than this within 24 h, unless a team's promise would break.", "count"),
        Figure("max_stops_per_cycle", "Stops in a round",
               "No round of the planner asks more runs to make way, unless one place alone needs more.", "count"),
        Figure("max_recalls", "Stops until immune",
               "A job that was stopped for others so often is not called back for an older one any more.", "count"),
        Figure("recall_after_s", "Called back after",
               "Work without a time limit may be called back for an older job of its tier once it ran this long.", "length"),
        Figure("recall_worth", "Worth of calling back",
               "Only when those who wait for such a place have waited so many times longer than what it throws the others back.", "number"),
        Figure("return_promise_s", "Lent GPUs come back within",
               "GPUs are lent only when their owner can have them back within this time.", "length"),
    )),
    Group("places", "Places", (
        Figure("relax_after_s", "Preferred topology waits",
               "A job that prefers one node, rack or block waits this long for it before it takes less; production does not wait.", "length"),
        Figure("spare_nodes", "Spare nodes",
               "So many whole nodes of each GPU type are kept free for gangs that lose one; production may still use them.", "count"),
        Figure("production_pools", "Pools for production only", "Nothing but production starts there.", "pools"),
        Figure("sharing_pools", "Pools with shared GPUs",
               "Slices and shares of GPUs are handed out there and nowhere else, never to production.", "pools"),
    )),
    Group("limits", "Limits", (
        Figure("max_duration_s", "Longest time limit",
               "Jobs of the tier may ask for no more, and who asks for none gets this one at its start; empty is no limit.", "lengths", optional=True),
        Figure("max_jobs_per_user", "Jobs of a person at once",
               "More jobs of a person and tier wait until one of them ends; empty is no limit.", "counts", optional=True),
        Figure("peaks", "Peak hours", "Jobs of a size and above wait until these hours are over.", "peaks"),
    )),
    Group("moves", "Moving work together", (
        Figure("moves_per_hour", "Moves in an hour", "So many runs at most are moved within an hour to make larger places.", "count"),
        Figure("move_safety", "Worth of a move",
               "Only when the place it makes is worth so many times what the moves cost.", "number"),
    )),
    Group("effort", "Effort", (
        Figure("search_steps", "Steps of a round",
               "After so many places looked at, nobody else is asked to make way in a round; the jobs concerned say so.", "count"),
    )),
)  # fmt: skip
FIGURES = {figure.name: figure for group in GROUPS for figure in group.figures}
DEFAULTS: Plain = Policy().plain()


def said(figure: Figure, value: Any) -> str:
    """The value as people read it: 7 d; production no limit, standard 2 d; training and shared."""
    if figure.by_tier:
        return _by_tier(figure, value)
    match figure.kind:
        case "length":
            return length(value)
        case "pools":
            return words.listed(value, most=len(value)) or "none"
        case "peaks":
            return "; ".join(map(peak, value)) or "none"
        case "count":
            return words.count(value)
        case _:
            return f"{value:g}"


def _by_tier(figure: Figure, value: Mapping[str, Any]) -> str:
    one = length if figure.kind == "lengths" else _cap
    if len({*value.values()}) == 1:
        return one(value[TIERS[0]])
    return ", ".join(f"{tier} {one(value[tier])}" for tier in TIERS)


def _cap(number: float | None) -> str:
    return NO_LIMIT if number is None else words.count(number)


def length(seconds: float | None) -> str:
    """2 d 12 h, exactly; nothing is no limit."""
    if seconds is None:
        return NO_LIMIT
    whole = spelled(int(seconds)) if seconds == int(seconds) and seconds else f"{seconds:g} s"
    return whole.replace(" ", words.NBSP)


def peak(value: Mapping[str, Any]) -> str:
    """64 GPUs and more, Mon to Fri 9 to 18 h UTC, standard and opportunistic."""
    size = f"{words.many(value['gpus'], 'GPU')} and more"
    hours = f"{value['from_hour']} to {value['until_hour']}{words.NBSP}h UTC"
    return f"{size}, {_days(value['weekdays'])} {hours}, {words.listed(value['tiers'])}"


def _days(numbers: Iterable[int]) -> str:
    days = sorted(set(numbers))
    if len(days) > 2 and days == list(range(days[0], days[-1] + 1)):
        return "every day" if len(days) == len(DAYS) else f"{DAYS[days[0]]} to {DAYS[days[-1]]}"
    return words.listed([DAYS[day] for day in days], most=len(DAYS))


@dataclass(frozen=True, slots=True)
class Change:
    """A figure that differs between two versions."""

    label: str
    was: str
    now: str

    def __str__(self) -> str:
        return f"{self.label}: {self.was} → {self.now}"


def changes(before: Plain, after: Plain) -> list[Change]:
    """What somebody changed, figure by figure, in the order of the page."""
    return [
        Change(figure.label, said(figure, before[name]), said(figure, after[name]))
        for name, figure in FIGURES.items()
        if before[name] != after[name]
    ]


@dataclass(frozen=True, slots=True)
class Shown:
    """A figure on the page: what it is now, and what it is where nobody changed it."""

    figure: Figure
    now: str
    default: str

    @property
    def differs(self) -> bool:
        return self.now != self.default

    @property
    def lines(self) -> list[str]:
        """The value, one line for each tier or peak."""
        parts = {"lengths": ", ", "counts": ", ", "peaks": "; "}
        return self.now.split(parts[self.figure.kind]) if self.figure.kind in parts else [self.now]


def shown(policy: Plain) -> Sequence[tuple[Group, list[Shown]]]:
    """Every figure of a policy in its group."""
    return [
        (group, [Shown(one, said(one, policy[one.name]), said(one, DEFAULTS[one.name])) for one in group.figures])
        for group in GROUPS
    ]  # fmt: skip
