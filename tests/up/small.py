"""A small `up`, run as a program by the tests: real keeper and front, children of a few lines each."""

import os
import sys
import textwrap

from portal.up.front import run
from portal.up.lineup import Child, Chore, Lineup, Stage, Wave
from portal.up.options import Options, options
from portal.up.state import State

# Notes its end in a file, so that a test can read the order; may be told to ignore SIGTERM.
OBEDIENT = """
    import os, signal, sys, time
    name, journal = sys.argv[1], os.environ["JOURNAL"]
    def note(word):
        with open(journal, "a") as lines:
            lines.write(f"{word} {name} {time.monotonic()}\\n")
    def leave(*_):
        note("stop")
        sys.exit(0)
    signal.signal(signal.SIGTERM, signal.SIG_IGN if name in os.environ.get("STUBBORN", "") else leave)
    note("start")
    print(f"{name} ready.", flush=True)
"""
WAITS = (
    OBEDIENT
    + """
    while True:
        time.sleep(60)
"""
)
# Starts a shim in a session of its own, and below it a rank with a session and an environment of its own.
AGENT = (
    OBEDIENT
    + """
    if os.fork() == 0:
        os.setsid()
        deaf = "trap '' TERM; " if "rank" in os.environ.get("STUBBORN", "") else ""
        os.execvp("sh", ["sh", "-c", f"{deaf} env -i setsid sleep {os.environ['RANK_SLEEPS']} & wait"])
    while True:
        time.sleep(60)
"""
)
WEB = (
    OBEDIENT
    + """
    import http.server
    class Answer(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.end_headers()
    http.server.HTTPServer(("127.0.0.1", int(sys.argv[2])), Answer).serve_forever()
"""
)
CRASHES = 'print("the reason is known"); raise SystemExit(3)'


def program(text: str, *words: str) -> tuple[str, ...]:
    return (sys.executable, "-c", textwrap.dedent(text), *words)


def table(asked: Options, state: State) -> Lineup:
    servers = os.environ.get("SERVERS") == "1"
    url = f"http://127.0.0.1:{asked.port}/"
    web = Child("web", Stage.WEB, program(WEB, "web", str(asked.port)), ready_url=url)
    work = Child("work", Stage.WORKERS, program(WAITS, "work"), ready_words=" ready.")
    beat = Child("beat", Stage.BEAT, program(WAITS, "beat"))
    agents = tuple(_agent(f"n{number}") for number in range(1, asked.agents + 1))
    if os.environ.get("BROKEN"):
        work = Child("work", Stage.WORKERS, program(CRASHES), ready_words=" ready.")
    chore = Chore(
        "log-ins", "demo", program(os.environ.get("CHORE", 'print("ada@example.org engineer")')), shown=True
    )
    waves = (Wave("web, workers and beat", (web, work, beat)), Wave("agents", agents))
    return Lineup((chore,), waves, postgres=servers, valkey=servers)


def _agent(name: str) -> Child:
    return Child(name, Stage.AGENTS, program(AGENT, name), ready_words=" ready.")


if __name__ == "__main__":
    sys.exit(run(options(sys.argv[1:]), table))
