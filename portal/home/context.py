"""What the frame around every page needs; nothing is read until a template asks for it."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django.http import HttpRequest

from portal import words
from portal.accounts.models import User
from portal.accounts.queries import Standing, standing
from portal.cluster.queries import pending_count
from portal.home import queries

THEMES = ("light", "dark")
POLICY_PAGES = frozenset({"policy", "policy-change", "policy-version", "policy-restore"})
CLUSTER_PAGES = frozenset({"cluster", "node", "node-drain", "node-resume", "node-approve"})
PEOPLE_PAGES = frozenset(
    {"people", "person", "person-new", "person-page", "person-password", "person-team"}
    | {"team", "team-new", "team-parent", "team-quotas", "team-surplus", "team-members"}
)


@dataclass(frozen=True, slots=True)
class Link:
    """A line of the side bar; pages are the names of addresses on which it is the current one."""

    page: str
    word: str
    icon: str
    pages: frozenset[str]
    count: str = ""
    counted: str = ""  # what the number counts, for those who cannot see where it stands


@dataclass(frozen=True, slots=True)
class Section:
    """A group of links under its heading."""

    word: str
    links: tuple[Link, ...]


class Frame:
    """Navigation by role, its counts, the theme and the place; a fragment for htmx costs no query here."""

    def __init__(self, request: HttpRequest) -> None:
        self._request = request
        chosen = request.COOKIES.get("berth_theme", "")
        self.theme = chosen if chosen in THEMES else ""

    @property
    def here(self) -> str:
        found = self._request.resolver_match
        name = (found.url_name or "") if found else ""
        # The side bar asks for itself on behalf of the page it stands on.
        return self._request.GET.get("here", "")[:40] if name == "sections" else name

    @cached_property
    def standing(self) -> Standing | None:
        known: Standing | None = getattr(self._request, "standing", None)
        user = getattr(self._request, "user", None)
        return known or (standing(user) if isinstance(user, User) else None)

    @property
    def may_submit(self) -> bool:
        return self.standing is not None and bool(self.standing.member_of | self.standing.lead_of)

    @cached_property
    def sections(self) -> list[Section]:
        if self.standing is None:
            return []
        found = [Section("Work", self._work(self.standing.user))]
        if self.standing.user.is_administrator:
            people = Link("people", "People and teams", "people", PEOPLE_PAGES)
            found.append(Section("Operate", (people,)))
        return found

    def _work(self, user: User) -> tuple[Link, ...]:
        counts = queries.counts(user)
        new_nodes = pending_count() if user.is_administrator else 0
        return (
            Link("home", "Home", "home", frozenset({"home"})),
            Link("jobs", "Jobs", "list", frozenset({"jobs", "job", "job-cancel", "submit"}),
                 _number(counts.mine), "of yours not over"),
            Link("queue", "Queue", "queue", frozenset({"queue"}), _number(counts.waiting), "waiting"),
            Link("cluster", "Cluster", "grid", CLUSTER_PAGES,
                 _number(new_nodes), "new nodes to approve"),
            Link("policy", "Policy", "tune", POLICY_PAGES),
        )  # fmt: skip

    @cached_property
    def place(self) -> str:
        names = queries.cluster_names() if self.standing else []
        if not names:
            return ""
        return f"Cluster {names[0]}" if len(names) == 1 else f"Clusters {words.listed(names)}"


def _number(number: int) -> str:
    return words.count(number) if number else ""


def frame(request: HttpRequest) -> dict[str, Any]:
    """The context processor."""
    return {"frame": Frame(request), "csp_nonce": getattr(request, "csp_nonce", None)}
