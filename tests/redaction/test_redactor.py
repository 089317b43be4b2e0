"""What is replaced, what stays, and that nothing else changes."""

from __future__ import annotations

import json
from base64 import b64encode, urlsafe_b64encode
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given

from hookgate.redaction import Redactor, holds_marker
from hookgate.redaction.marks import MARKER
from tests.cost import linear
from tests.redaction.corpus import PLAIN, SECRETS, texts, values

REDACTOR = Redactor(SECRETS, keys=("pin-code",), salt=b"salt")


def redacted(text: str) -> str:
    """With `<*>` for every replacement."""
    return MARKER.sub("<*>", REDACTOR.text(text))


# --- known values ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("secret", SECRETS)
@pytest.mark.parametrize(
    "written",
    [
        lambda s: s,
        lambda s: quote(s),
        lambda s: quote(s, safe=""),
        lambda s: quote_plus(s),
        lambda s: quote(s, safe="").lower() if s.islower() else quote(s, safe=""),
        lambda s: b64encode(s.encode()).decode(),
        lambda s: urlsafe_b64encode(s.encode()).decode(),
        lambda s: s.encode().hex(),
        lambda s: s.encode().hex().upper(),
        lambda s: json.dumps(s)[1:-1],
        lambda s: json.dumps(s, ensure_ascii=False)[1:-1],
    ],
)
def test_a_known_value_is_replaced_in_every_spelling(secret: str, written: object) -> None:
    spelled = written(secret)  # type: ignore[operator]
    assert redacted(f"before {spelled} after") == "before <*> after"


@pytest.mark.parametrize("before", ["", "u", "us", "user:", "user1:"])
def test_a_known_value_is_found_inside_longer_base64(before: str) -> None:
    header = b64encode(f"{before}{SECRETS[0]}{before}".encode()).decode()
    found = redacted(f"x {header} y")
    assert "<*>" in found
    assert len(found) < len(before) * 4 + 24


def test_a_value_of_fewer_than_eight_characters_is_left_alone() -> None:
    assert Redactor(["1234567", "       1234567 "]).text("a 1234567 b") == "a 1234567 b"
    assert Redactor(["12345678\n"]).text("a 12345678 b") != "a 12345678 b"


def test_equal_secrets_are_visible_as_equal_and_others_as_others() -> None:
    one, same, other = REDACTOR.text("password=abcdefgh1 password=abcdefgh1 password=abcdefgh2").split()
    assert one == same != other
    assert Redactor((), salt=b"another").text("password=abcdefgh1") != one


@given(texts)
def test_no_known_value_survives_in_any_text(text: str) -> None:
    after = REDACTOR.text(text)
    assert not any(secret in after for secret in SECRETS)


@given(texts)
def test_redacting_twice_changes_nothing_more(text: str) -> None:
    once = REDACTOR.text(text)
    assert REDACTOR.text(once) == once


@given(values)
def test_a_value_stays_json_and_redacting_it_twice_changes_nothing_more(value: object) -> None:
    once = REDACTOR.value(value)  # type: ignore[arg-type]
    assert json.loads(json.dumps(once)) == once
    assert REDACTOR.value(once) == once


# --- by shape -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Authorization: Bearer abc", "Authorization: <*>"),
        ("authorization: Basic YTpi \nnext", "authorization: <*> \nnext"),
        ("> Proxy-Authorization: Digest a=b, c=d\r\n>", "> Proxy-Authorization: <*>\r\n>"),
        ("Cookie: a=b; c=d", "Cookie: <*>"),
        ("Set-Cookie: sid=1; Path=/", "Set-Cookie: <*>"),
        ("curl -H 'Authorization: Bearer a b' http://h", "curl -H 'Authorization: <*>' http://h"),
        ('curl -H "Cookie: a=b" http://h', 'curl -H "Cookie: <*>" http://h'),
        ("a Bearer abcdefghijk1 b", "a Bearer <*> b"),
        ("a bearer aBcDefghIjkl b", "a bearer <*> b"),
        ("a Bearer abcdefghij1 b", "a Bearer abcdefghij1 b"),
        ("password=abcdefgh", "password=<*>"),
        ("password=abcdefg", "password=abcdefg"),
        ("DB_PASSWORD: abcdefgh # x", "DB_PASSWORD: <*> # x"),
        ("pass-word = 'a bc def gh'", "pass-word = '<*>'"),
        ("passwd => abcdefgh", "passwd => <*>"),
        ("apiKey:=abcdefgh", "apiKey:=<*>"),
        ("x-api-key: abcdefgh", "x-api-key: <*>"),
        ("AWS_SECRET_ACCESS_KEY=abcd/efgh+ij", "AWS_SECRET_ACCESS_KEY=<*>"),
        ("access_token=abcdefgh&next=1", "access_token=<*>&next=1"),
        ("token: Bearer abcdefgh", "token: <*>"),
        ("f(token=abcdefgh)", "f(token=<*>)"),
        ('headers["token"] = "abcdefgh"', 'headers["token"] = "<*>"'),
        ('log: {"token": "abcdefgh", "n": 1} end', 'log: {"token": "<*>", "n": 1} end'),
        ('log: {"token": "abc\\"defgh"} end', 'log: {"token": "<*>"} end'),
        ('cut: {"token": "abcdefgh', 'cut: {"token": "<*>'),
        (r'twice: "{\"token\": \"abcdefgh\"}" end', r'twice: "{\"token\": \"<*>\"}" end'),
        ("'secret': 'abcdefgh'", "'secret': '<*>'"),
        ("pin_code: abcdefgh", "pin_code: <*>"),
        ("mysql --password hunter -u x", "mysql --password <*> -u x"),
        ("mysql --password=x -u x", "mysql --password=<*> -u x"),
        ("tool --db-password 'a b'", "tool --db-password '<*>'"),
        ("curl -u ann:horse http://h", "curl -u ann:<*> http://h"),
        ("curl -sSu 'ann:a horse' http://h", "curl -sSu 'ann:<*>' http://h"),
        ('curl --user="ann:a \\"horse" x', 'curl --user="ann:<*>" x'),
        ("wget --proxy-user ann:horse", "wget --proxy-user ann:<*>"),
        ("/usr/bin/curl -kuann:horse -U bob:horses x", "/usr/bin/curl -kuann:<*> -U bob:<*> x"),
        ("curl http://h \\\n  -s \\\r\n -u ann:horse", "curl http://h \\\n  -s \\\r\n -u ann:<*>"),
        ("http -a ann:horse h/x", "http -a ann:<*> h/x"),
        ("mysql -u root -phunter db; mysqldump -p x", "mysql -u root -p<*> db; mysqldump -p x"),
        ("DB_PASS=abcdefgh smtp_pass: abcdefgh", "DB_PASS=<*> smtp_pass: <*>"),
        ("Uid=sa;Pwd=abcdefgh;", "Uid=sa;Pwd=<*>;"),
        ("AccountName=x;AccountKey=abcdefgh==;End=y", "AccountName=x;AccountKey=<*>;End=y"),
        ("?sv=1&sig=abcdEFGH1234%2B%3D&se=2", "?sv=1&sig=<*>&se=2"),
        ("passphrase: abcdefgh", "passphrase: <*>"),
        ("postgres://user:pw@host/db", "postgres://<*>@host/db"),
        ("https://abcdefgh@host", "https://<*>@host"),
        ("id AKIAABCDEFGHIJKLMNOP.", "id <*>."),
        ("ASIAABCDEFGHIJKLMNOP", "<*>"),
        ("ghp_" + "a" * 36, "<*>"),
        ("gho_" + "a" * 36, "<*>"),
        ("github_pat_" + "a1_" * 10, "<*>"),
        ("sk-" + "a" * 20, "<*>"),
        ("sk-proj-aB1-cD2_eF3-gH4-iJ5", "<*>"),
        ("sk-ant-api03-" + "a-_" * 10, "<*>"),
        ("xoxb-1234567890-abc", "<*>"),
        ("MTk4NjIyNDgzNDcxOTI1MjQ4.Cl2FMQ.ZnCjm1XVW7vRze4b7Cq4se7kKWs", "<*>"),
        ("bot: OTk4NjIyNDgzNDcxOTI1MjQ4MA.G-2FM_." + "aB-_1" * 7 + "!", "bot: <*>!"),
        ("xapp-1-A012-345-abc", "<*>"),
        ("glpat-" + "a1-_" * 5, "<*>"),
        ("hg_" + "a1-_" * 10 + "b2c", "<*>"),
        ("glrt-t1_" + "a" * 20, "<*>"),
        ("sk_live_" + "a" * 24, "<*>"),
        ("rk_test_" + "a" * 24, "<*>"),
        ("whsec_" + "a" * 32, "<*>"),
        ("npm_" + "a" * 36, "<*>"),
        ("hf_" + "a" * 34, "<*>"),
        ("gsk_" + "a" * 52, "<*>"),
        ("lin_api_" + "a" * 40, "<*>"),
        ("pypi-AgEIcHlwaS5vcmc" + "a" * 20, "<*>"),
        ("GOCSPX-" + "a-_1" * 7, "<*>"),
        ("ya29.a0" + "b-_1" * 7, "<*>"),
        ("SG." + "a" * 22 + "." + "b" * 43, "<*>"),
        ("hvs." + "a" * 24, "<*>"),
        ("dapi" + "0a" * 16, "<*>"),
        ("dop_v1_" + "0a" * 32, "<*>"),
        ("shpat_" + "0a" * 16, "<*>"),
        ("tskey-auth-" + "a" * 20, "<*>"),
        ("xai-" + "a" * 40, "<*>"),
        ("ATATT3" + "a-_=" * 8, "<*>"),
        ("bot 123456789:AA" + "b-_1" * 8 + "c /start", "bot <*> /start"),
        ("AGE-SECRET-KEY-1" + "A0" * 29, "<*>"),
        ("https://hooks.slack.com/services/T01/B02/" + "a" * 24, "https://hooks.slack.com/services/<*>"),
        ("AIza" + "a" * 35, "<*>"),
        ("eyJhbGci.eyJzdWIi.c2ln x", "<*> x"),
        ("a\n-----BEGIN RSA PRIVATE KEY-----\nMII\n-----END RSA PRIVATE KEY-----\nb", "a\n<*>\nb"),
        ("a -----BEGIN PRIVATE KEY-----\nMII-cut", "a <*>"),
        ("-----BEGIN OPENSSH PRIVATE KEY-----\na--b\n-----END OPENSSH PRIVATE KEY-----", "<*>"),
    ],
)
def test_a_secret_is_known_by_its_shape(text: str, expected: str) -> None:
    assert redacted(text) == expected


@pytest.mark.parametrize("text", PLAIN)
def test_a_text_without_secrets_stays_as_it_is(text: str) -> None:
    assert REDACTOR.text(text) is text


# --- by key ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "key",
    [
        *("password", "PASSWORD", "pass_word", "user-passwd", "mySecret", "api_key", "X-API-KEY", "apiKeyId"),
        *("aws_access_key", "private-key", "Authorization", "cookies", "credentials", "token", "refreshToken"),
        *("pinCode", "PIN-CODE"),
    ],
)
def test_the_string_under_a_telling_key_is_replaced_however_short(key: str) -> None:
    after = REDACTOR.value({key: "x", "n": [{key: ["y", {"z": "w"}]}]})
    hidden = REDACTOR.value({"password": "x"})["password"]  # type: ignore[index,call-overload]
    assert after[key] == hidden  # type: ignore[index,call-overload]
    assert '"y"' not in json.dumps(after)
    assert '"w"' not in json.dumps(after)


@pytest.mark.parametrize(
    "value",
    [
        {"max_tokens": "1", "token_count": "2", "next_page_token": "abcdefgh", "nextPageToken": "x", "tokens": "y"},
        {"password": 7, "secret": True, "token": None, "cookie": "", "credential": [], "api_key": 1.5},
        {"api_key_env": "OPENAI_API_KEY", "nested": {"token_env": "BOT_TOKEN"}},
        ["a", 1, {"b": ("c", None)}],
        "plain",
        [[[[["deep"]]]]],
    ],
)
def test_other_keys_numbers_booleans_and_nothing_stay_and_the_object_is_the_same(value: object) -> None:
    assert REDACTOR.value(value) is value  # type: ignore[arg-type]


def test_json_inside_a_string_is_read_by_key_and_keeps_its_layout() -> None:
    spread = json.dumps({"a": {"token": "x"}, "n": 1.5}, indent=2)
    after = REDACTOR.value({"out": f"\n{spread}\n"})
    hidden = REDACTOR.value({"token": "x"})["token"]  # type: ignore[index,call-overload]
    assert after == {"out": "\n" + json.dumps({"a": {"token": hidden}, "n": 1.5}, indent=2) + "\n"}
    assert REDACTOR.text('{"token":"x","b":[1,2]}') == f'{{"token":"{hidden}","b":[1,2]}}'
    assert REDACTOR.text('{"a": "{\\"token\\": \\"x\\"}"}') == json.dumps({"a": json.dumps({"token": hidden})})


def test_a_key_that_is_a_secret_is_replaced_too() -> None:
    assert REDACTOR.value({SECRETS[0]: 1}) == {REDACTOR.text(SECRETS[0]): 1}


def test_what_is_nested_too_deep_is_replaced_whole_and_never_raises() -> None:
    value: object = SECRETS[0]
    for _ in range(5000):
        value = [value]
    after = REDACTOR.value(value)  # type: ignore[arg-type]
    depth = 0
    while isinstance(after, list):
        after, depth = after[0], depth + 1
    assert isinstance(after, str)
    assert holds_marker(after)
    assert 100 < depth < 1000


def test_a_key_block_in_a_value_does_not_break_the_document() -> None:
    text = json.dumps({"key": "-----BEGIN PRIVATE KEY-----\nMII", "h": "Authorization: x", "n": 1})
    after = json.loads(REDACTOR.text(text))
    assert after["n"] == 1
    assert holds_marker(after["key"])
    assert holds_marker(after["h"])


# --- markers --------------------------------------------------------------------------------------------------


@given(texts)
def test_the_marker_of_a_replacement_is_found_again(text: str) -> None:
    after = REDACTOR.text(text)
    assert after == text or REDACTOR.marker(after)


@pytest.mark.parametrize(
    "text", ["", "[REDACTED]", "[REDACTED:", "[REDACTED:xyz1]", "[REDACTED:abc]", "REDACTED:ab12"]
)
def test_what_only_looks_like_a_marker_is_none(text: str) -> None:
    assert not REDACTOR.marker(text)


# --- time -----------------------------------------------------------------------------------------------------

UNITS = (
    *(
        "{",
        "[",
        '"',
        "\\",
        "token",
        "token=",
        "token: ",
        "token:\\",
        "tokentoken-",
        "token='",
        "eyJ",
        "eyJ.",
        "eyJa.",
    ),
    *(
        "sk-",
        "://",
        "://a@",
        "://a:",
        "bearer ",
        "AKIA",
        "ghp_",
        "xoxb-",
        "-----BEGIN PRIVATE KEY-----",
        "-----BEGIN ",
    ),
    *("-", "--password ", "authorization:", "'cookie:", '"cookie:\\', "[REDACTED:ab12]", "[REDACTED:", "1,", "{},"),
    *(
        '"a",',
        '"abcdefgh",',
        'token: \\\\\\\\"',
        "é",
        "\n",
        "a=a ",
        "password=abcdefgh ",
        "pass-",
        "\\u0041",
        "hunter2-",
    ),
    *(
        "curl ",
        "curl -u a:bcde ",
        "curl -u 'a:",
        "curl \\\n",
        "mysql -pab ",
        "bearer .-",
        "sig=a1B",
        "-u ",
        "-u a:",
        "-u a:b",
        "--user=a",
        "-u 'a:",
        "SG.",
        "SG.-",
        "12345678:",
        "12345678:AA",
        "ya29.",
        "glpat-",
    ),
)


@pytest.mark.parametrize("before", ["token ", '["token",'])
@pytest.mark.parametrize("unit", UNITS)
def test_a_hostile_text_takes_no_longer_than_its_length_explains(unit: str, before: str) -> None:
    """Measured at under 0.05 s each; what grows with the square takes minutes."""
    text = before + unit * ((1 << 17) // len(unit.encode())) + ("1]" if before.startswith("[") else "")
    with linear():
        REDACTOR.text(text)


def test_more_keys_than_are_remembered_are_judged_all_the_same() -> None:
    for number in range(3000):
        assert REDACTOR.value({f"k{number}": "x"}) == {f"k{number}": "x"}
    assert holds_marker(str(REDACTOR.value({"password": "x"})))
