"""What is wrong in a configuration: refused, where it stands, and what was probably meant."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookgate.assembly.delegating import selection_of
from hookgate.assembly.preflight.check import odd, unset
from hookgate.assembly.preflight.naming import strange_names
from hookgate.cli.config.check import check_config
from hookgate.cli.migrate.toml import key, value
from hookgate.config import ConfigError, load, parse
from hookgate.places import Places
from hookgate.protocol.hook.match import Globs
from hookgate.protocol.values import ToolSpec
from hookgate.tools.select import Selection

FILE = Path("hookgate.toml")
HOOK = '[hooks.processes.g]\ncommand = ["a"]\nintercept = ["before_tool"]\n'


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            '[hooks.g]\ncommand = ["a"]\n',
            "hooks.g: unknown key (did you mean [hooks.processes.g]?) (at line 1, column 8)",
        ),
        (
            "# c\n[mcp]\ndocs = { command = [] }\n",
            "mcp.docs: unknown key (did you mean [mcp.servers.docs]?) (at line 3, column 1)",
        ),
        (
            HOOK + 'on_failure = "refuse"\n',
            "hooks.processes.g.on_failure: must be 'continue', 'deny' or 'abort' (did you mean 'deny'?) "
            "(at line 4, column 14)",
        ),
        (
            HOOK + 'on_failure = { before_tool = "refuse" }\n',
            "hooks.processes.g.on_failure.before_tool: must be 'continue', 'deny' or 'abort' (did you mean 'deny'?) "
            "(at line 4, column 30)",
        ),
        (
            '[people.ann]\nids = ["7"]\n',
            "people.ann.ids.0: write it CHANNEL:ID, for example telegram:7 (at line 2, column 8)",
        ),
        (
            '[people.ann]\nids = ["telegram:7"]\nroles = ["role:ops"]\n',
            "people.ann.roles: 'role:ops': a role stands here by its name alone, 'ops' (at line 3, column 9)",
        ),
        (
            "[guards.plan_first]\nplan_tools = []\n",
            "guards.plan_first.plan_tools: must not be empty (at line 2, column 14)",
        ),
        (
            '[[approvals]]\ntools = ["bash"]\napprovers = [""]\n',
            "approvals.0.approvers.0: must not be empty (at line 3, column 14)",
        ),
        (
            '[telemetry]\ntraces = "localhost:4318"\n',
            "telemetry.traces: must be http:// or https:// and a host, for example http://127.0.0.1:4318 "
            "(at line 2, column 10)",
        ),
        (
            '[channels.w]\nkind = "webhook"\nsecret_env = "S"\ntext_from = "data.message"\n',
            "channels.w.text_from: must be a JSON pointer, for example /data/message (at line 4, column 13)",
        ),
        (
            '[channels.d]\nkind = "discord"\ntoken_env = "T"\nallow = ["1"]\nshards = 0\n',
            "channels.d.shards: must be greater than or equal to 1 (at line 5, column 10)",
        ),
        (
            '[hooks.processes.g]\ncommand = ["a"]\nintercept = []\n',
            "hooks.processes.g: it neither intercepts nor observes anything: "
            'one that brings tools is asked for them with intercept = ["before_tool"] (at line 1, column 18)',
        ),
        (
            '[guards]\nshell = "strict"\n',
            "guards.shell.profile: must be 'relaxed', 'standard' or 'read_only' (did you mean 'read_only'?) "
            "(at line 2, column 1)",
        ),
        (
            '[agent]\nmodel = "opnai/x"\n[providers.openai]\nkind = "openai"\n',
            "agent.model names the provider 'opnai', but there is no [providers.opnai] (did you mean 'openai'?) "
            "(at line 2, column 9)",
        ),
        (
            HOOK + 'match = { chat_types = ["grop"] }\n',
            "hooks.processes.g.match.chat_types: 'grop' is no type of a chat (did you mean 'group'?) "
            "(at line 4, column 24)",
        ),
        (
            '[[approvals]]\ntools = ["bash"]\nchat_types = ["!private"]\n',
            "approvals.0.chat_types: '!private' is no type of a chat; there are direct, group, channel "
            "(at line 3, column 14)",
        ),
        ('[agent]\nmax_steps = "5"\n', "agent.max_steps: must be a whole number (at line 2, column 13)"),
        ("[agent]\nmax_steps = 5.0\n", "agent.max_steps: must be a whole number (at line 2, column 13)"),
        ("[agent]\nretries = true\n", "agent.retries: must be a whole number (at line 2, column 11)"),
        ("[agent]\nshow_denials = 1\n", "agent.show_denials: must be true or false (at line 2, column 16)"),
        (
            '[channels.tg]\nkind = "telegram"\ntoken_env = "T"\nbase_url = "http://localhost:8081/bot"\n',
            "channels.tg.base_url: must be http:// or https:// and a host, without a path, such as "
            "http://127.0.0.1:8081 (at line 4, column 12)",
        ),
        ("agent.temperature = 12\n", "agent.temperature: must be less than or equal to 2 (at line 1, column 21)"),
        (
            '[channels.w]\nkind = "web"\nrate = "20/m"\n',
            "channels.w.rate: write how many in how long: 20/min, or one of s, min, h behind the / "
            "(at line 3, column 8)",
        ),
        (
            '[channels.w]\nkind = "web"\nallow = ["requester"]\n',
            "channels.w.allow: 'requester' is whoever writes, so it would let everybody in: name people, ids or "
            "roles (at line 3, column 9)",
        ),
        (
            '[channels.w]\nkind = "web"\npairing = true\n',
            "channels.w: a page has logins of its own, so nobody is paired there: add them to users "
            "(at line 1, column 11)",
        ),
        ("agent.temperature = nan\n", "agent.temperature: must be "),
        ('[agent]\ntemperature = "1"\n', "agent.temperature: must be a number (at line 2, column 15)"),
        (
            '[[approvals]]\ntools = ["bash"]\n[[approvals]]\ntools = ["ls"]\nchannels = ["cli", "telegrm"]\n',
            "approvals.1.channels: 'telegrm' covers no channel that is known (did you mean 'telegram'?) "
            "(at line 5, column 12)",
        ),
        ('[[approvals]]\ntools = ["bash"]\nttl_s = inf\n', "approvals.0.ttl_s: must be "),
        ('[[approvals]]\ntools = [""]\n', "approvals.0.tools.0: "),
        (
            HOOK + "timeout_ms = { before_tol = 5 }\n",
            "hooks.processes.g.timeout_ms.before_tol: must be 'on_message', 'before_llm', 'after_llm', "
            "'before_tool', 'approve_tool', 'after_tool' or 'before_send' "
            "(did you mean 'before_tool'?) (at line 4, column 16)",
        ),
        (
            '[tools.aliases.x]\na = 1\n[log]\nlevel = "warn"\n',
            "tools.aliases.x.a: must be a string (at line 2, column 5)",
        ),
    ],
)
def test_a_mistake_is_refused_with_its_place_and_what_was_meant(text: str, said: str) -> None:
    with pytest.raises(ConfigError) as error:
        parse(text, FILE)
    assert error.value.first.startswith(f"{FILE}: {said}")


@pytest.mark.parametrize(
    "text",
    [
        "[agent]\ntemperature = 1\nmax_steps = 5\n",
        '[guards]\nshell = "read_only"\nloop = false\n',
        '[[approvals]]\ntools = ["bash"]\nchannels = ["my-room", "!telegram", "tele*"]\nttl_s = 5\n',
        HOOK + 'on_failure = { before_tool = "deny" }\ntimeout_ms = { before_tool = 5 }\n',
    ],
)
def test_what_is_right_passes(text: str) -> None:
    parse(text, FILE)


NAMES = st.sampled_from(["a", "b", "long name", "c.d", "\u00e9", '"', "'", "#", ""])
LEAVES = st.sampled_from(["x", "", "a\n]b", '"""', "#", "]", "}", 1, True])
VALUES: Any = st.recursive(LEAVES, lambda it: st.lists(it, max_size=3) | st.dictionaries(NAMES, it, max_size=3))


def paths(item: Any, path: tuple[str | int, ...] = ()) -> list[tuple[tuple[str | int, ...], Any]]:
    match item:
        case dict():
            below = [found for name, it in item.items() for found in paths(it, (*path, name))]
        case list():
            below = [found for number, it in enumerate(item) for found in paths(it, (*path, number))]
        case _:
            below = []
    return [(path, item), *below]


@given(st.dictionaries(NAMES, VALUES, max_size=4), st.lists(VALUES, max_size=3))
def test_every_value_of_a_file_is_found_where_it_stands(table: dict[str, Any], several: list[Any]) -> None:
    lines = [f"{key(name)} = {value(it)} # c" for name, it in table.items()]
    lines += [f"[[of.many]]\n  it = [\n {value(it)},\n ]" for it in several]
    text = "\n".join([*lines, "[last.'x.y']", "a.b = '''\n'''", "z = 1"])
    places, rows = Places(text), text.split("\n")
    for path, item in paths(tomllib.loads(text)):
        found = places.of(path, key=False)
        if path not in ((), ("of", "many")) and not isinstance(item, dict) and item != "":
            assert found is not None
            rest = "\n".join([rows[found[0] - 1][found[1] - 1 :], *rows[found[0] :]])
            assert rest.startswith(value(item) if not isinstance(item, list) else "["), path


def test_a_file_that_begins_with_a_byte_order_mark_is_read(tmp_path: Path) -> None:
    (tmp_path / "hookgate.toml").write_text('[agent]\nname = "b"\n', encoding="utf-8-sig")
    assert load(tmp_path / "hookgate.toml")[0].agent.name == "b"


def test_a_match_that_covers_no_agent_or_model_is_named_and_no_other() -> None:
    known = '[agents.ops]\nsystem = "s"\n[providers.p]\nkind = "openai"\n[providers.of]\nkind = "openai"\n'
    match = 'agents = ["ops", "!main", "opps"]\nmodels = ["p/m", "p/*", "*mini", "[pq]/m", "o*", "m", "!gpt-*"]\n'
    config = parse(f'{known}[[approvals]]\ntools = ["bash"]\n{match}{HOOK}match = {{ threads = [""] }}\n', FILE)
    assert list(strange_names(config)) == [
        "approvals.0.agents: 'opps' covers no agent (did you mean 'ops'?)",
        "approvals.0.models: 'm' covers no model of a provider that is configured; they are PROVIDER/MODEL",
        "approvals.0.models: '!gpt-*' covers no model of a provider that is configured; they are PROVIDER/MODEL",
    ]


def test_a_role_that_looks_like_one_that_somebody_has_is_named_and_no_other() -> None:
    people = '[people.ann]\nids = ["telegram:7"]\nroles = ["ops"]\n'
    config = parse(
        f'{people}{HOOK}match = {{ roles = ["ops", "opss", "!oops", "guest", "approver", "op*"] }}\n', FILE
    )
    assert [line for line in strange_names(config) if ".roles" in line] == [
        "hooks.processes.g.match.roles: 'opss' covers no role of anybody in [people] (did you mean 'ops'?)",
        "hooks.processes.g.match.roles: '!oops' covers no role of anybody in [people] (did you mean 'ops'?)",
    ]


def test_somebody_who_is_nearly_one_of_people_is_named_and_ids_logins_and_strangers_are_not() -> None:
    known = '[people.anna]\nids = ["telegram:7"]\nroles = ["deployer"]\n[people.bo]\nids = ["telegram:8"]\n'
    approvers = (
        'approvers = ["ana", "anna", "7", "slack:ana", "role:deployers", "role:deployer", "role:x", "requester"]\n'
    )
    page = '[channels.web]\nkind = "web"\nallow = ["ann", "annna"]\nusers = { ann = "$argon2id$v=19$x" }\n'
    config = parse(f'{known}{page}[[approvals]]\ntools = ["bash"]\n{approvers}', FILE)
    assert list(strange_names(config)) == [
        "approvals.0.approvers: 'ana' is nobody of [people] (did you mean 'anna'?)",
        "approvals.0.approvers: 'role:deployers' is nobody of [people] (did you mean 'deployer'?)",
        "channels.web.allow: 'annna' is nobody of [people] (did you mean 'anna'?)",
    ]


def test_a_channel_of_ones_own_is_known_wherever_it_is_named() -> None:
    config = parse(
        '[channels.telegram2]\nkind = "telegram"\ntoken_env = "T"\n'
        '[[approvals]]\ntools = ["bash"]\nchannels = ["telegram2"]\n'
        '[[routes]]\nchannels = ["telegram2"]\nagent = "main"\n'
        f'{HOOK}match = {{ channels = ["!telegram2"] }}\n',
        FILE,
    )
    assert [it for it in strange_names(config) if "channel" in it] == []


def test_an_empty_list_of_what_there_shall_be_is_none_of_it_and_one_that_is_left_out_is_all() -> None:
    text = '[tools]\n{}[mcp.servers.docs]\ncommand = ["true"]\n{}[agents.a]\n{}[channels.api]\nkind = "openai"\n{}'
    empty = parse(text.format("enabled = []\n", *["tools = []\n"] * 2, "agents = []\n"), FILE)
    for config, covers in ((empty, False), (parse(text.format(*[""] * 4), FILE), True)):
        agent, api = config.agents["a"], config.channels["api"]
        lists = (config.tools.enabled, config.mcp.servers["docs"].tools, agent.tools, api.agents)
        assert [Globs(it).covers("main") for it in lists] == [covers] * 4
        assert list(strange_names(config)) == []


def test_an_agent_without_tools_that_may_hand_on_tasks_has_the_one_for_that() -> None:
    config = parse('[agents.a]\ntools = []\ndelegates_to = ["main"]\n', FILE)
    section = config.agents["a"].above(config.agent, "a")
    chosen = selection_of(config, section, config.agents["a"].tools, Selection())
    specs = [ToolSpec(name, "", {}) for name in ("bash", "delegate", "deploy")]
    assert [spec.name for spec in specs if chosen.fits("web")(spec)] == ["delegate"]


OWN = '[channels.support]\nkind = "telegram"\ntoken_env = "T"\n'


def test_a_channel_that_is_nearly_one_is_named_in_routes_preferences_and_ids() -> None:
    config = parse(
        f'{OWN}[[routes]]\nchannels = ["suport", "support"]\nagent = "main"\n'
        '[[tools.preferences]]\ntools = ["bash"]\nchannels = ["suport"]\nenabled = false\n'
        '[people.ann]\nids = ["suport:7", "support:7", "matrx:@a:b", "own:7"]\n'
        '[[approvals]]\ntools = ["bash"]\napprovers = ["suport:7", "role:suport"]\nask_in = ["suport:9"]\n',
        FILE,
    )
    no, of_none = "covers no channel that is known", "is of no channel that is known"
    assert list(strange_names(config)) == [
        f"tools.preferences.0.channels: 'suport' {no} (did you mean 'support'?)",
        f"routes.0.channels: 'suport' {no} (did you mean 'support'?)",
        f"people.ann.ids: 'suport:7' {of_none} (did you mean 'support'?)",
        f"people.ann.ids: 'matrx:@a:b' {of_none} (did you mean 'matrix'?)",
        f"approvals.0.approvers: 'suport:7' {of_none} (did you mean 'support'?)",
        f"approvals.0.ask_in: 'suport:9' {of_none} (did you mean 'support'?)",
    ]


def test_a_sender_called_by_a_name_is_named_unless_that_is_an_id_too() -> None:
    people = '[people.ann]\nids = ["telegram:7", "slack:U1"]\n[people.bob]\nids = ["web:bob"]\n'
    config = parse(f'{people}[[approvals]]\ntools = ["bash"]\nsenders = ["!ann", "bob", "carl", "7"]\n', FILE)
    (line,) = strange_names(config)
    assert line == "approvals.0.senders: '!ann' is a name of [people], and senders are ids: '7' or 'U1'"


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        (
            '[guards]\nfan_out = { limits = { Bash = 1, "notes__*" = 1, ls = 1, notes__add = 1, "name:ls" = 1 } }\n'
            '[mcp.servers.notes]\ncommand = ["true"]\n[tools]\nenabled = ["*", "!name:bash", "!provider:builtin"]\n',
            [
                "tools.enabled: '!name:bash' covers no tool: write 'bash'",
                "tools.enabled: '!provider:builtin' covers no tool: here they go by their names alone, those of the "
                "MCP server NAME by 'NAME__*'",
                "guards.fan_out.limits: 'Bash' limits no tool: covers no built-in tool (did you mean 'bash'?)",
                "guards.fan_out.limits: 'notes__*' limits no tool: names are taken as written",
                "guards.fan_out.limits: 'name:ls' limits no tool: covers no tool: write 'ls'",
            ],
        ),
        (
            '[mcp.servers.notes]\ncommand = ["true"]\n'
            'tools = ["*", "!notes__del*", "!del*", "!name:add"]\nread_only = ["notes__a"]\n',
            [
                "mcp.servers.notes.tools: '!notes__del*' is not as the server calls it: write '!del*'",
                "mcp.servers.notes.tools: '!name:add' is not as the server calls it: write '!add'",
                "mcp.servers.notes.read_only: 'notes__a' is not as the server calls it: write 'a'",
            ],
        ),
        (
            '[guards.redaction]\nsecret_env = ["NO_SUCH_KEY", "SHORT_KEY", "LONG_KEY", "$LONG_KEY"]\n',
            [
                "guards.redaction.secret_env: 'NO_SUCH_KEY' is not set here: nothing is replaced for it",
                "guards.redaction.secret_env: 'SHORT_KEY' has less than 8 characters: nothing is replaced for it",
                "guards.redaction.secret_env: '$LONG_KEY' is not set here: nothing is replaced for it",
            ],
        ),
        ('[guards.redaction]\nmode = "off"\nsecret_env = ["NO_SUCH_KEY"]\n', []),
        (
            "[tools]\nkept = ['*.{pem,key}', '{one}', '*.pem']\n",
            ["tools.kept: '*.{pem,key}' keeps what is called so, braces too: write a pattern for each"],
        ),
    ],
)
def test_what_limits_or_hides_nothing_is_a_note(text: str, lines: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHORT_KEY", "1234567")
    monkeypatch.setenv("LONG_KEY", "12345678")
    assert list(odd(parse(text, FILE))) == lines


@pytest.mark.parametrize("channel", ["cli", "rpc", "acp", "embedded"])
def test_a_channel_that_hookgate_gives_its_name_is_known(channel: str) -> None:
    config = parse(f'{HOOK}match = {{ channels = ["{channel}"] }}\n', FILE)
    assert [it for it in strange_names(config) if "channel" in it] == []


@pytest.mark.parametrize(
    ("place", "section"),
    [
        ("hooks.processes.g", HOOK),
        ("mcp.servers.docs", '[mcp.servers.docs]\ncommand = ["true"]\n'),
        ("zot.extensions.e", "[zot.extensions.e]\n"),
    ],
)
def test_a_name_of_no_variable_passes_nothing(place: str, section: str) -> None:
    names = 'env_pass = ["MY*", "MY_KEY=k", "MY_KEY", "npm_config_//registry:_authToken"]'
    passes = "passes nothing: names are taken as written"
    found = odd(parse(f"{section}{names}\n", FILE))
    assert [line for line in found if passes in line] == [
        f"{place}.env_pass: 'MY*' {passes}, '*' too",
        f"{place}.env_pass: 'MY_KEY=k' {passes}, '=' too",
    ]


def test_a_name_that_passes_nothing_is_a_note(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "hookgate.toml"
    file.write_text(f'{HOOK}on_failure = "deny"\nenv_pass = ["MY*"]\n')
    assert check_config(file) == 0
    assert "note: hooks.processes.g.env_pass: 'MY*' passes nothing: " in capsys.readouterr().out


def test_a_channel_whose_variables_are_not_set_is_noted_before_serve_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    config = parse('[channels.s]\nkind = "slack"\ntoken_env = "BOT"\napp_token_env = "APP"\n', FILE)
    monkeypatch.setenv("BOT", "xoxb-1")
    monkeypatch.delenv("APP", raising=False)
    assert list(unset(config)) == ["channels.s.app_token_env: APP is not set: serve will not start"]


@pytest.mark.parametrize(
    ("keys", "says"),
    [('agents = ["nope"]', "agents names the agent 'nope'"), ('token_env = "T"', "token_env is no key of a channel")],
)
def test_what_an_openai_channel_does_not_know_is_a_mistake(keys: str, says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        parse(f'[channels.api]\nkind = "openai"\n{keys}\n', FILE)


def test_a_check_of_what_serve_will_not_start_with_is_not_fine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("BOT", raising=False)
    (tmp_path / "hookgate.toml").write_text('[channels.t]\nkind = "telegram"\ntoken_env = "BOT"\n')
    with pytest.raises(ConfigError, match="serve will not start"):
        check_config(tmp_path / "hookgate.toml")
    assert "fine" not in capsys.readouterr().out
