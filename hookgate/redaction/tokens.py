"""Tokens whose makers gave them a beginning of their own. Knows the forms, and nothing of what stands round them.

Every pattern is linear: what precedes it is no part of a token, and what follows the beginning is taken once.
"""

from __future__ import annotations

TOKENS: tuple[tuple[tuple[str, ...], str], ...] = (
    (("akia", "asia"), r"(?<![A-Za-z0-9])(?:AKIA|ASIA)[A-Z0-9]{16}(?![A-Za-z0-9])"),
    (("ghp_", "gho_", "ghu_", "ghs_", "ghr_"), r"(?<![A-Za-z0-9])gh[pousr]_[A-Za-z0-9]{20,}+"),
    (("github_pat_",), r"(?<![A-Za-z0-9])github_pat_[A-Za-z0-9_]{20,}+"),
    (("xox", "xapp-"), r"(?<![A-Za-z0-9])(?:xox[abeprs]|xapp-[0-9])-[A-Za-z0-9-]{8,}+"),
    (("aiza",), r"(?<![\w-])AIza[\w-]{35,}+"),
    (("eyj",), r"(?<![\w-])eyJ[\w-]++\.[\w-]++\.[\w-]*+"),
    (("sk-ant-",), r"(?<![A-Za-z0-9])sk-ant-[a-z]{3,5}[0-9]{2}-[\w-]{8,}+"),
    # GitLab's: personal, deploy, runner, trigger.
    (("glpat-", "gldt-", "glrt-", "glptt-"), r"(?<![A-Za-z0-9])gl(?:pat|dt|rt|ptt)-[\w.-]{16,}+"),
    # Stripe's; a publishable key is no secret.
    (("k_live_", "k_test_", "whsec_"), r"(?<![A-Za-z0-9])(?:[sr]k_(?:live|test)_|whsec_)[A-Za-z0-9+/=]{16,}+"),
    # npm, Hugging Face, Groq, Linear.
    (("npm_", "hf_", "gsk_", "lin_api_"), r"(?<![A-Za-z0-9])(?:npm|hf|gsk|lin_api)_[A-Za-z0-9]{30,}+"),
    (("pypi-age",), r"(?<![A-Za-z0-9])pypi-AgE[\w-]{16,}+"),
    # Google's OAuth: client secret, access token.
    (("gocspx-", "ya29."), r"(?<![A-Za-z0-9])(?:GOCSPX-|ya29\.)[\w-]{20,}+"),
    (("sg.",), r"(?<![A-Za-z0-9])SG\.[\w-]{16,}+\.[\w-]{16,}+"),
    # Vault, Databricks, DigitalOcean, Shopify, Atlassian.
    (("hvs.", "hvb."), r"(?<![A-Za-z0-9])hv[sb]\.[\w-]{20,}+"),
    (("dapi",), r"(?<![A-Za-z0-9])dapi[0-9a-f]{32}(?![A-Za-z0-9])"),
    (("_v1_", "shpat_", "shpss_"), r"(?<![A-Za-z0-9])(?:do[opr]_v1|shp(?:at|ss))_[0-9a-f]{32,}+"),
    (("atatt3",), r"(?<![A-Za-z0-9])ATATT3[\w=-]{20,}+"),
    # A Telegram bot's: its number, a colon, and then always the same two letters.
    ((":aa",), r"(?<![\w:-])[0-9]{8,10}:AA[\w-]{32,}+"),
    # Our own.
    (("hg_",), r"(?<![A-Za-z0-9])hg_[\w-]{40,}+"),
    (("age-secret-key-1",), r"(?<![A-Za-z0-9])AGE-SECRET-KEY-1[A-Z0-9]{20,}+"),
    # Whoever has such an address may post.
    (("/services/t",), r"(?<=hooks\.slack\.com/services/)T[A-Z0-9]++/B[A-Z0-9]++/[A-Za-z0-9]{16,}+"),
)
"""What is in lower case in every text that holds one, and the pattern, in which case counts."""

_ID = r"[MNO][DTjz][AEIMQUYcgk][w-z0-5]"
"""Three digits in base64."""
DISCORD = (
    rf"[MNO](?<![\w.-][MNO]){_ID[5:]}(?:{_ID}){{4,5}}+(?:[MNO][\w]{{1,2}})?+\.[\w-]{{6}}\.[\w-]{{27,}}+",
    f"(?:{_ID.lower()}){{4}}",
)
"""A Discord bot's: its number in base64, a time, a signature. And what is in lower case in every text that holds one:
no word is."""

DRAWN: tuple[tuple[tuple[str, ...], str], ...] = (
    (("sk-",), r"(?<![A-Za-z0-9])sk-[\w-]{17,}+"),
    # Tailscale, xAI.
    (("tskey-", "xai-"), r"(?<![A-Za-z0-9])(?:tskey|xai)-[A-Za-z0-9-]{20,}+"),
)
"""The same for beginnings that words have too, `sk-learn` say: a token only where it looks drawn by lot."""
