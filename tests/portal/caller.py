"""A caller of the API: Django's test client with a token or a session, and JSON in both directions."""

import json
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from django.http import HttpResponse
from django.test import Client

from portal.accounts.actions import make_token
from portal.accounts.models import User

ALL_SCOPES = ["read", "write", "administer"]


@dataclass
class Caller:
    """Every answer is kept as it came; `json()` of a problem is checked to be one."""

    headers: dict[str, str] = field(default_factory=dict)
    client: Client = field(default_factory=lambda: Client(raise_request_exception=True))

    def get(self, path: str, **query: Any) -> HttpResponse:
        return self.client.get(f"/api/v1{path}", query, headers=self.headers)

    def post(self, path: str, body: Any = None, *, raw: bytes | None = None, **headers: str) -> HttpResponse:
        sent = raw if raw is not None else json.dumps(body if body is not None else {})
        return self.client.post(
            f"/api/v1{path}", sent, content_type="application/json", headers=self.headers | headers
        )

    def delete(self, path: str) -> HttpResponse:
        return self.client.delete(f"/api/v1{path}", headers=self.headers)


def with_token(user: User, now: datetime, scopes: list[str] | None = None, days: float = 1) -> Caller:
    _, secret = make_token(
        user=user, name="test", scopes=scopes or ALL_SCOPES, lives=timedelta(days=days), now=now
    )
    return Caller({"Authorization": f"Bearer {secret}"})


def problem(answer: HttpResponse) -> dict[str, Any]:
    """The problem+json of a refusal."""
    assert answer.headers["Content-Type"] == "application/problem+json", answer.content[:300]
    body = json.loads(answer.content)
    assert body["status"] == answer.status_code
    assert body["detail"][-1:] in ".!" or body["code"] == "invalid", body["detail"]
    return body
