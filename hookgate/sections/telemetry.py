"""`[telemetry]`: where traces of turns go."""

from typing import Annotated

from pydantic import Field

from hookgate.sections.section import Section, Variable


class TelemetrySection(Section):
    """`traces`: an OpenTelemetry collector that takes OTLP over HTTP, without `/v1/traces`; empty: nothing is traced.
    `headers_env` names the variable with what it knows us by, as `name=value,name=value`. `service`: what it calls
    us. `content`: what people, models and tools said goes along, without secrets."""

    traces: Annotated[str, Field(pattern=r"^(https?://[^\s]+[^\s/])?$")] = ""
    headers_env: Variable = ""
    service: Annotated[str, Field(min_length=1)] = "hookgate"
    content: bool = False
