"""A person at the API, and jobs whose end the test decides."""

import json
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException
from typing import Any

from portal.bench.portal import Client
from portal.demo import PASSWORD, PEOPLE
from tests.faults.whole import Whole, eventually

# Prints a line five times a second until a file appears, whose content is its exit status.
TICKS = 'i=0; until [ -e {sign} ]; do i=$((i+1)); echo "tick $i"; sleep 0.2; done; exit $(cat {sign})'
OVER = ("finished", "failed", "cancelled")


class Person:
    """One of the demo's people; every call is a connection of its own, so that no outage is inherited."""

    def __init__(self, whole: Whole, role: str = "engineer") -> None:
        self.whole = whole
        signed_in = Client(whole.port, PEOPLE[role][0], PASSWORD)
        signed_in.link.close()
        self.headers = signed_in.headers

    def call(self, method: str, path: str, body: object = None) -> Any:
        status, answer = self._send(method, path, body)
        assert status < 300, f"{method} {path} was answered with {status}: {answer}"
        return answer

    def look(self, path: str) -> Any:
        """None while the portal cannot answer."""
        try:
            status, answer = self._send("GET", path, None)
        except (OSError, HTTPException):
            return None
        assert status < 300 or status >= 500, f"GET {path} was answered with {status}: {answer}"
        return answer if status < 300 else None

    def _send(self, method: str, path: str, body: object) -> tuple[int, Any]:
        link = HTTPConnection("127.0.0.1", self.whole.port, timeout=20)
        try:
            words = {"Content-Type": "application/json"} | self.headers
            link.request(method, f"/api/v1{path}", json.dumps(body), words)
            response = link.getresponse()
            said = response.read()
        finally:
            link.close()
        return response.status, json.loads(said) if response.status < 500 else said.decode(errors="replace")

    def submit(self, command: str, **more: object) -> "Job":
        ask = {"name": "fault", "team": "vision", "command": command, **more}
        return Job(self, self.call("POST", "/jobs", ask)["id"])

    def train(self, name: str, **more: object) -> "Training":
        """A job that prints and does not end before it is let go; running when this returns."""
        sign = self.whole.place / "signs" / name
        job = Training(self, self.submit(TICKS.format(sign=sign), name=name, **more).number, name)
        job.reaches("running")
        eventually(job.ticks)
        return job


@dataclass
class Job:
    person: Person
    number: int

    def seen(self) -> dict[str, Any]:
        """Nothing while the portal cannot answer."""
        return self.person.look(f"/jobs/{self.number}") or {}

    @property
    def phase(self) -> str:
        return str(self.seen().get("phase", ""))

    def reaches(self, phase: str, limit_s: float = 30) -> dict[str, Any]:
        """Wait for a phase; a job that is over in another way will not get there."""
        eventually(lambda: self.phase in (phase, *OVER), limit_s)
        seen = self.seen()
        assert seen["phase"] == phase, self.story()
        return seen

    def story(self) -> str:
        """What the journal and the seats tell, for a test that fails."""
        asked = (
            ("SELECT at, verb, sentence FROM journal_entry WHERE kind = 'job' AND subject = %s ORDER BY id", self.number),
            ("SELECT s.error, s.phase FROM jobs_seat s JOIN jobs_run r ON r.id = s.run_id WHERE r.job_id = %s", self.number),
        )  # fmt: skip
        lines = [str(row) for query, number in asked for row in self.person.whole.rows(query, number)]
        return "\n".join(lines)

    def printed(self, rank: int = 0) -> str:
        """All that the rank printed, as far as it has arrived."""
        text, after = "", 0
        while found := self.person.look(f"/jobs/{self.number}/logs?rank={rank}&after={after}"):
            text += "".join(piece["text"] for piece in found["pieces"])
            if not found["pieces"]:
                break
            after = found["next"]
        return text


@dataclass
class Training(Job):
    sign: str

    def ticks(self) -> int:
        """How many lines have arrived; a gap between them fails."""
        lines = [line for line in self.printed().split("\n")[:-1] if line]
        assert lines == [f"tick {number}" for number in range(1, len(lines) + 1)], "the log has a gap"
        return len(lines)

    def goes_on(self, limit_s: float = 20) -> None:
        """On its first run still, and printing."""
        before = self.ticks()
        eventually(lambda: self.ticks() > before, limit_s)
        assert [run["epoch"] for run in self.seen()["runs"]] == [1], self.story()

    def let_go(self, status: int = 0) -> None:
        sign = self.person.whole.place / "signs" / self.sign
        draft = sign.with_suffix(".draft")
        draft.write_text(str(status))
        draft.rename(sign)
