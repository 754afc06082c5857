"""What a person asks for, checked at the door: form and API make an Ask, one function judges it."""

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field

from portal.accounts.models import Team
from portal.errors import Refusal
from portal.jobs.models import Job
from scheduler.wire import digest

NAME = re.compile(r"\w[\w .:/+=@,()-]{0,99}")
ENV_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")
OURS = re.compile(
    r"BERTH_.*|RANK|LOCAL_RANK|WORLD_SIZE|LOCAL_WORLD_SIZE|NODE_RANK|MASTER_ADDR|MASTER_PORT|CUDA_VISIBLE_DEVICES"
)
SURROGATE = re.compile("[\ud800-\udfff]")
COMMAND_BYTES = 64 * 1024
ENV_BYTES = 32 * 1024
ENV_NAMES = 200
NODES_AT_MOST = 10_000
GPUS_PER_NODE_AT_MOST = 256
LIMIT_S = (60, 31 * 86400)


@dataclass(frozen=True, slots=True)
class Ask:
    """A request for a job, before it is one."""

    name: str
    team: Team
    tier: str
    command: str
    nodes: int
    gpus_per_node: int
    gpu_type: str = ""
    limit_s: int | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    cloned_from: int | None = None

    @property
    def digest(self) -> str:
        """Tells whether two requests under one idempotency key are the same request."""
        parts = asdict(self) | {"team": self.team.pk, "env": dict(self.env)}
        return digest(parts)


def check(ask: Ask, *, gpu_types: list[str]) -> None:
    """Refuse what cannot be right, naming the field and the way out."""
    _check_words(ask)
    _check_size(ask)
    _check_env(ask.env)
    if ask.gpu_type and ask.gpu_type not in gpu_types:
        known = ", ".join(gpu_types) or "none yet"
        raise Refusal(
            f"There is no GPU type {ask.gpu_type[:40]!r} here; the types are: {known}.", field="gpu_type"
        )


def _check_words(ask: Ask) -> None:
    # Only characters of the basic plane: a name must print everywhere it is shown.
    if not NAME.fullmatch(ask.name) or max(map(ord, ask.name)) > 0xFFFF:
        raise Refusal(
            "A job's name has 1 to 100 letters, digits, spaces or . : / + = @ , ( ) - _ "
            "and starts with a letter or digit.",
            field="name",
        )
    if ask.tier not in Job.Tier.values:
        raise Refusal(f"The tier is one of: {', '.join(Job.Tier.values)}.", field="tier")
    if not ask.command.strip():
        raise Refusal("The command is empty; write what each rank should run.", field="command")
    if wrong := _unfit(ask.command):
        raise Refusal(f"The command holds {wrong}, which no shell can take; remove it.", field="command")
    if (size := len(ask.command.encode())) > COMMAND_BYTES:
        raise Refusal(
            f"The command has {size:,} bytes; the most is {COMMAND_BYTES:,}. Put it into a script and call that.",
            field="command",
        )


def _check_size(ask: Ask) -> None:
    if not 1 <= ask.nodes <= NODES_AT_MOST:
        raise Refusal(f"A job takes 1 to {NODES_AT_MOST:,} nodes, not {ask.nodes:,}.", field="nodes")
    if not 1 <= ask.gpus_per_node <= GPUS_PER_NODE_AT_MOST:
        raise Refusal(
            f"A job takes 1 to {GPUS_PER_NODE_AT_MOST} GPUs on each node, not {ask.gpus_per_node:,}.",
            field="gpus_per_node",
        )
    least, most = LIMIT_S
    if ask.limit_s is not None and not least <= ask.limit_s <= most:
        raise Refusal(
            "A time limit lies between 1 min and 31 days; leave it empty for none.", field="limit_s"
        )


def _check_env(env: Mapping[str, str]) -> None:
    if len(env) > ENV_NAMES:
        raise Refusal(f"{len(env)} environment variables are too many; the most is {ENV_NAMES}.", field="env")
    if sum(len(k) + len(v) for k, v in env.items()) > ENV_BYTES:
        raise Refusal(f"The environment is larger than {ENV_BYTES:,} characters.", field="env")
    for name, value in env.items():
        if not ENV_NAME.fullmatch(name):
            raise Refusal(
                f"{name[:40]!r} is no name for an environment variable: letters, digits and _ only.",
                field="env",
            )
        if OURS.fullmatch(name):
            raise Refusal(f"{name} is set by Berth for every rank; choose another name.", field="env")
        if wrong := _unfit(value):
            raise Refusal(f"The value of {name} holds {wrong}; remove it.", field="env")


def _unfit(text: str) -> str:
    """What neither a process nor the database can be given, if the text has it."""
    if "\0" in text:
        return "a NUL character"
    return "half of a character (a lone surrogate)" if SURROGATE.search(text) else ""
