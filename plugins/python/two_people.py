"""An approval policy: two people have to agree to a call, and whoever asked for it is neither of them.

APPROVERS (`role:ops`) says who may, as in an approval rule; APPROVE_WITHIN_S how long they have. Which calls it is
about, and where, is its `match`.
"""

from __future__ import annotations

import os

from hookgate_plugin import Call, Plugin

APPROVERS = [name.strip() for name in os.environ.get("APPROVERS", "role:ops").split(",")]
WITHIN_S = float(os.environ.get("APPROVE_WITHIN_S", "600"))

plugin = Plugin("two_people")


@plugin.approve_tool
def judge(call: Call) -> object:
    title = f"Run {call.tool}? Two of you have to agree."
    return plugin.ask(title, approvers=APPROVERS, ttl_s=WITHIN_S, required=2, self_approval=False)


if __name__ == "__main__":
    plugin.run()
