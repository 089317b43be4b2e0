"""Signatures, without HTTP: what is believed, what is not, and that others sign and verify the same."""

from __future__ import annotations

from base64 import b64encode
from time import time

import pytest

from hookgate.channels.webhook.signing import BadId, BadSecret, NotSigned, is_signed, read_head, read_secret, signed
from tests.channels.webhook.asking_others import needs_others, others

SECRET, OLD = (f"whsec_{b64encode(bytes([n]) * 32).decode()}" for n in (1, 2))
KEY, OLD_KEY = read_secret(SECRET), read_secret(OLD)
NOW = 1_764_000_000
BODY = '{"text": "Grüße"}'.encode()


def headers(**others: str) -> dict[str, str]:
    return {**signed([KEY], "msg_1", NOW, BODY), **{f"webhook-{name}": it for name, it in others.items()}}


def verified(given: dict[str, str], *keys: bytes, body: bytes = BODY, now: float = NOW) -> bool:
    return is_signed(keys or (KEY,), read_head(given, now), body)


def test_what_is_signed_with_one_of_the_secrets_is_believed() -> None:
    assert verified(headers())
    assert verified(headers(), OLD_KEY, KEY), "one secret takes the place of another"
    assert verified(signed([OLD_KEY, KEY], "msg_1", NOW, BODY)), "and the other side may sign with both meanwhile"
    assert verified(headers(signature=f"v1a,other v2,x {headers()['webhook-signature']}"))
    assert verified(headers(), now=NOW + 300)
    assert verified(headers(), now=NOW - 300)


@pytest.mark.parametrize(
    "given",
    [
        headers(id="msg_2"),
        headers(timestamp=str(NOW + 1)),
        headers(signature="v1,"),
        headers(signature="no comma"),
        headers(signature=headers()["webhook-signature"].removeprefix("v1,")),
        headers(signature=headers()["webhook-signature"].replace("v1", "v2")),
        headers(signature=headers()["webhook-signature"].upper()),
        headers(signature="v1,é"),
        headers(signature=f"{'v1,x ' * 10}{headers()['webhook-signature']}"),
        signed([OLD_KEY], "msg_1", NOW, BODY),
        signed([KEY], "msg_1", NOW, BODY + b" "),
    ],
)
def test_what_is_signed_otherwise_is_not(given: dict[str, str]) -> None:
    assert not verified(given)


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({}, NotSigned),
        *(({name: it for name, it in headers().items() if name != missing}, NotSigned) for missing in headers()),
        (headers(timestamp="soon"), NotSigned),
        (headers(timestamp="1e9"), NotSigned),
        (headers(timestamp="-1"), NotSigned),
        (headers(timestamp="١٢٣"), NotSigned),
        (headers(timestamp="9" * 5000), NotSigned),
        (headers(timestamp=str(NOW - 301)), NotSigned),
        (headers(timestamp=str(NOW + 301)), NotSigned),
        (headers(id="x" * 10_000), BadId),
        (headers(id="a.b"), BadId),
        (headers(id="a b"), BadId),
        (headers(id="é"), BadId),
    ],
)
def test_headers_that_are_missing_broken_or_too_old_are_refused_before_the_body_is_read(
    given: dict[str, str], error: type[Exception]
) -> None:
    with pytest.raises(error):
        read_head(given, NOW)


@pytest.mark.parametrize("text", ["", "whsec_", "secret", SECRET.removeprefix("whsec_"), "whsec_AAAA", "whsec_!" * 9])
def test_what_is_no_secret_is_refused_without_being_said(text: str) -> None:
    with pytest.raises(BadSecret, match=r"^a secret is whsec_ and base64 of at least 24 bytes$"):
        read_secret(text)


def test_a_secret_may_come_without_padding() -> None:
    assert read_secret(SECRET.rstrip("=")) == KEY


@pytest.fixture
def _others() -> None:
    needs_others()


@pytest.mark.usefixtures("_others")
def test_others_sign_and_verify_as_we_do() -> None:
    now, text = int(time()), BODY.decode()
    with others() as ask:
        given = ask("sign", secret=SECRET, id="msg_1", at=now, body=text)
        assert given == signed([KEY], "msg_1", now, BODY)["webhook-signature"]
        both = signed([OLD_KEY, KEY], "msg_1", now, BODY)
        assert [ask("verify", secret=it, body=text, headers=both) for it in (SECRET, OLD)] == [{"text": "Grüße"}] * 2
        for wrong in ({**both, "webhook-id": "msg_2"}, signed([KEY], "msg_1", now - 310, BODY)):
            assert ask("verify", secret=SECRET, body=text, headers=wrong).startswith("WebhookVerificationError")
            assert wrong["webhook-id"] == "msg_2" or not abs(time() - int(wrong["webhook-timestamp"])) <= 300
