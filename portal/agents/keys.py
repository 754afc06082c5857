"""Every secret of a node, derived from the portal's wire key: nothing to store, nothing to leak."""

import hashlib
import hmac
from urllib.parse import quote, urlsplit, urlunsplit

from django.conf import settings

from portal.cluster.models import Node


def _derive(purpose: str, name: str, version: int) -> bytes:
    words = f"{purpose}\0{name}\0{version}".encode()
    return hmac.new(settings.WIRE_KEY.encode(), words, hashlib.sha256).digest()


def wire_key(node: Node) -> bytes:
    """Signs beats and orders."""
    return _derive("wire", node.name, node.key_version)


def redis_password(node: Node) -> str:
    """Opens the node's own Redis user."""
    return _derive("redis", node.name, node.key_version).hex()


def http_token(node: Node) -> str:
    """Opens the agent's part of the API; the name in front finds the node without a search."""
    return f"node_{node.name}_{_derive('http', node.name, node.key_version).hex()}"


def redis_user(node: Node) -> str:
    """The name of the node's Redis user."""
    return f"node-{node.name}"


def redis_url(node: Node) -> str:
    """Where and as whom the agent reaches Redis."""
    parts = urlsplit(settings.AGENT_REDIS_URL)
    host = parts.hostname or "127.0.0.1"
    place = f"[{host}]" if ":" in host else host
    credentials = f"{quote(redis_user(node))}:{redis_password(node)}"
    return urlunsplit(
        (parts.scheme, f"{credentials}@{place}:{parts.port or 6379}", parts.path or "/0", "", "")
    )
