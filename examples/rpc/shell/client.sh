#!/usr/bin/env bash
# Send one prompt to `zot rpc` and print what comes: the reply as it is written, each tool call, what it cost.
#
#     ./client.sh "how full is the disk?"
#
# `zot` is looked up on PATH and runs in this environment and folder; jq reads and writes the JSON. Its stdin ends right
# behind the prompt: zot finishes its work and leaves. Exit status 1 where something failed.
set -uo pipefail

message="${*:-Say hello in one sentence.}"

commands() {
  if [ -n "${ZOTCORE_RPC_TOKEN:-}" ]; then
    jq -cn '{id: "0", type: "hello", token: env.ZOTCORE_RPC_TOKEN}'
  fi
  jq -cn --arg message "$message" '{id: "1", type: "prompt", message: $message}'
}

# The state is what is known so far; what each event shows comes out behind it. Stopping at `done` keeps the exit status.
read -r -d '' show <<'JQ'
foreach inputs as $event ({cost: 0};
  if $event.type == "usage" then .cost = $event.cumulative.cost_usd
  elif $event.type == "error" then .failed = $event.message
  else . end;
  if $event.type == "text_delta" then $event.delta
  elif $event.type == "tool_call" then "\n[\($event.name) \($event.args | tojson)]\n"
  elif $event.type == "response" and ($event.success | not) then "\n\($event.command): \($event.error)\n" | halt_error(1)
  elif $event.type == "done" and .failed then "\nerror: \(.failed)\n" | halt_error(1)
  elif $event.type == "done" then "\ncost: $\(.cost)\n", ("" | halt_error(0))
  else empty end),
("\nzot ended before it was done\n" | halt_error(1))
JQ

commands | zot rpc | jq -jn --unbuffered "$show"
status=("${PIPESTATUS[@]}")
# zot may find its reader gone when the last lines come; the events have said how it went.
exit "${status[2]}"
