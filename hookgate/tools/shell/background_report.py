"""What a call tells of a process in the background: as text, as JSON, as an effect. Reads no output itself."""

from __future__ import annotations

from hookgate.protocol.codec import encode
from hookgate.protocol.values import Json, JsonObject
from hookgate.protocol.values.effects import ProcessEffect
from hookgate.tools.schema.objects import gives
from hookgate.tools.shell.background import Job
from hookgate.tools.shell.background_output import News
from hookgate.tools.text import MAX_BYTES, cut

# Of a command line that the model has written itself and only has to recognise.
_LINE_BYTES, _LINE_LINES = 400, 4

MEMBERS: JsonObject = gives(
    id={"type": "string"},
    command={"type": "string"},
    state={"enum": ["running", "exited", "killed", "timed out"]},
    exit_code={"type": ["integer", "null"]},
    seconds={"type": "number"},
    output={"type": "string"},
    truncated={"type": "boolean"},
    timed_out={"type": "boolean"},
)
"""The schema of the object that tells of a process."""


def report(job: Job) -> tuple[str, dict[str, Json]]:
    """What is new of it, which is then read: the text, and the object that says the same."""
    finished = job.finished.is_set()
    news = job.output.read(last=finished)
    return _text(job, news), _members(job, news, finished)


def as_json(members: dict[str, Json]) -> str:
    """The object within the size limit: where it must be shorter, older output goes first."""
    text = encode(members).decode()
    while len(text.encode()) > MAX_BYTES:
        output = str(members["output"])
        members = {**members, "output": output[len(output) // 4 + 1 :], "truncated": True}
        text = encode(members).decode()
    return text


def effect(job: Job) -> ProcessEffect:
    return ProcessEffect(
        job.line,
        exit_code=job.exit_code,
        background=True,
        process_id=job.id,
        pid=job.reins.pid,
        timed_out=job.state == "timed out",
    )


def status(job: Job) -> str:
    """`running for 2.0 s`, `exited with 0 after 2.0 s`, `killed after 2.0 s`, `timed out after 2.0 s`."""
    match job.state:
        case "running":
            return f"running for {job.seconds:.1f} s"
        case "exited" if job.exit_code is not None and job.exit_code >= 0:
            return f"exited with {job.exit_code} after {job.seconds:.1f} s"
        case "exited":
            return f"ended by a signal after {job.seconds:.1f} s"
        case state:
            return f"{state} after {job.seconds:.1f} s"


def _text(job: Job, news: News) -> str:
    line = cut(job.line, _LINE_BYTES, _LINE_LINES)
    return f"$ {line}\n\n{_shown(job, news)}\n\n[{job.id} {status(job)}]"


def _shown(job: Job, news: News) -> str:
    text = news.text.rstrip("\n")
    if news.left_out:
        return f"... [{news.left_out} bytes before this left out]{job.output.log.where}\n{text}"
    return text or "(no new output)"


def _members(job: Job, news: News, finished: bool) -> dict[str, Json]:
    return {
        "id": job.id,
        "command": job.line,
        "state": job.state if finished else "running",
        "exit_code": job.exit_code if finished else None,
        "seconds": round(job.seconds, 3),
        "output": news.text,
        "truncated": bool(news.left_out),
        "timed_out": job.state == "timed out",
    }
