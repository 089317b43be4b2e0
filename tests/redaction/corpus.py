"""Texts and secrets that the tests of redaction are made from."""

from __future__ import annotations

from hypothesis import strategies as st

SECRETS = ("hunter2-hunter2", "pa ss wörd/+&x", "line one\nline two", 'quo"te\\d-value')

PLAIN = (
    "def read(path: str) -> str:\n    return Path(path).read_text()\n",
    "token = get_token(request)\npassword = os.environ['X']\nsecret = self.config.secret_name\n",
    "if token == expected_token_value:\n    raise Denied\n",
    "password=${DB_PASSWORD} api_key=$API_KEY\n",
    "const token: string | null = null;\n",
    "max_tokens: 123456789, token_count=987654321, next_page_token: CAUQAA_abcdef\n",
    "ssh://git@github.com/owner/name.git and git@github.com:owner/name.git\n",
    "https://example.com/path?page=2&q=a:b@c\n",
    "a task-something-very-long-name-here-and-there, ask-me-anything-at-any-time-you-like\n",
    "commit 3f786850e387550fdab836ed7e6dc881de23001b\nAuthor: Ann <ann@example.com>\n",
    "The cookies are in the jar; the secret of a good author is patience.\n",
    '{"name": "x", "max_tokens": 4096, "numbers": [1, 2.50, 3e8], "usage": {"total_tokens": 12}}',
    "--user ann --force --password --verbose\n",
    "docker run -u 1000:1000 --user node:node x; curl -u $USER:$PASS http://h; date -u +%H:%M:%S; sort -u a:b\n",
    "npm_config_cache=x hf_hub_download(y) sk_test_helper() msg.text ratio 12345678:AAA dapi_client _v1_\n",
    "std::token::identifier_of(x)\nTokenKind::Identifier\n",
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk\n",
    "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n",
    "chown -u app:group f; docker run -u appuser:appgroup --user 1000:users x; git push -u origin:main123; sort -u\n",
    "rsync -u host:path/file .; uvicorn -u app:main12; curl x\nfind . -user bob:staff; curly -u a:bcdef\n",
    "sk-toggleable__content sk-learn-contrib-project sk-estimator-doc-link-2 xai-grok-code-fast-1-latest\n",
    "docker run -v /etc/passwd:/etc/passwd:ro x --password-file /etc/secret-file --password-stdin registry.io\n",
    "POSTGRES_PASSWORD_FILE: /run/secrets/pg authorization_endpoint: https://h/auth passwordless: truetruetrue\n",
    "bearer authentication, bearer token-authentication; PWD=/home/ann/work pwd=$HOME/x sig=signature_value\n",
    "xapp-installer bypass: all12345 compass=northwest pass: 12345678\n",
    "MTk4NjIyNDgzNDcxOTI1MjQ4 MTk4NjIyNDgzNDcxOTI1MjQ4.Cl2FMQ.short module.Client.method_with_a_name_of_a_length\n",
    'api_key_env = "OPENAI_API_KEY"\n"token_env": "TELEGRAM_BOT_TOKEN", MY_SECRET_ENV=PROD_DB_SECRET\n',
    "日本語のテキスト、トークンの数は三つ。\n",
)

PIECES = (
    *SECRETS,
    *(
        "password",
        "api_key",
        "token",
        "secret",
        "max_tokens",
        "Authorization:",
        "Cookie:",
        "Bearer ",
        "--password ",
        "-u ",
        "--user=",
        "curl ",
        "mysql -p",
        "\\\n",
        "pwd=",
    ),
    *("=", ":", ": ", " = ", "=>", "==", '"', "'", "`", "\\", '\\"', "\n", "\r", " ", "  ", "\t", ",", ";", "&", "@"),
    *("://", "https://u:p@h/", "AKIA", "ABCDEFGHIJKLMNOP", "ghp_", "sk-", "xoxb-", "AIza", "eyJ", ".", "a" * 8),
    *("b" * 20, "c" * 35, "-----BEGIN RSA PRIVATE KEY-----", "-----END RSA PRIVATE KEY-----", "-----BEGIN", "-"),
    *(
        "[REDACTED:ab12]",
        "[REDACTED:",
        "]",
        "[",
        "{",
        "}",
        "(",
        ")",
        "<",
        "$",
        "$X",
        "1234567890",
        "é",
        "İ",
        "\u017f",
    ),
    *('{"token": "', '"}', "null", "x", "-", "_", "--", "Basic ", "os.environ"),
)

texts = st.lists(st.sampled_from(PIECES) | st.text(max_size=4), max_size=12).map("".join)
leaves = texts | st.integers() | st.booleans() | st.none() | st.floats(allow_nan=False, allow_infinity=False)
keys = st.sampled_from(["password", "X-Api-Key", "token", "next_page_token", "a", "cookies", "b c"]) | st.text(
    max_size=3
)
values = st.recursive(leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3))
