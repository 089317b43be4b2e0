"""Reads figures from stdin as Prometheus does, with its own parser for the content type that is named: a JSON object
of its samples, by family. Runs where that parser is installed."""

import json
import sys

from prometheus_client import openmetrics, parser
from prometheus_client.openmetrics import parser as strict

assert openmetrics
read = strict if sys.argv[1].startswith("application/openmetrics-text") else parser
families = read.text_string_to_metric_families(sys.stdin.read())
found = {it.name: [it.type, [[s.name, s.labels, s.value] for s in it.samples]] for it in families}
json.dump(found, sys.stdout)
