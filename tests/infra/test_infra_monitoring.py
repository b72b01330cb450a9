"""Alerts and dashboards ask for series that exist, by labels that they have."""

import json
import re
import shutil
import subprocess

import promql_parser
import pytest
import yaml

from tests.infra.exported_metrics import OF_PROMETHEUS, OF_RAY, is_of_ray, ours
from tests.infra.infra_files import INFRA, ROOT, documents, found

MONITORING = INFRA / "monitoring"
RULES = [rule for group in documents(MONITORING / "rules.yml")[0]["groups"] for rule in group["rules"]]
DASHBOARD = json.loads((MONITORING / "grafana" / "babelray.json").read_text(encoding="utf-8"))
PANELS = [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]
SELECTOR = re.compile(r"([A-Za-z_:][\w:]*)\s*\{([^}]*)\}")
"""The parser prints every selector with its braces, the empty ones included."""


def expressions() -> list[tuple[str, str]]:
    """Every query by what asks it; variables of Grafana stand as what it would put there."""
    asked = [(rule["alert"], rule["expr"]) for rule in RULES]
    asked += [(panel["title"], target["expr"]) for panel in PANELS for target in panel["targets"]]
    for variable in DASHBOARD["templating"]["list"]:
        asked.append((variable["name"], re.fullmatch(r"label_values\((\w+), \w+\)", variable["definition"]).group(1)))
    filled = {"$__rate_interval": "5m", "$route": ".*"}
    return [(name, re.sub(r"\$\w+", lambda match: filled[match.group()], text)) for name, text in asked]


ASKED = expressions()


def selectors(expression: str) -> list[tuple[str, set[str]]]:
    """Series and the labels they are chosen by."""
    printed = str(promql_parser.parse(expression))
    return [(name, set(re.findall(r"(\w+)\s*(?:=~|!~|!=|=)", labels))) for name, labels in SELECTOR.findall(printed)]


def grouped_by(expression: str) -> set[str]:
    printed = str(promql_parser.parse(expression))
    return {label.strip() for labels in re.findall(r"\bby ?\(([^)]*)\)", printed) for label in labels.split(",")}


@pytest.mark.parametrize(("name", "expression"), ASKED, ids=[f"{n} {i}" for i, (n, _) in enumerate(ASKED)])
def test_every_query_is_promql_over_series_that_are_exported(name, expression):
    if not (ROOT / "serve" / "metrics.py").exists():
        pytest.skip("the endpoint, which exports these series, is not in this tree yet")
    chosen = selectors(expression)
    assert chosen
    for series, labels in chosen:
        if series == "up":
            continue
        assert series in ours() or is_of_ray(series), f"nothing exports {series}"
        known = OF_PROMETHEUS | ours().get(series, OF_RAY)
        assert labels | grouped_by(expression) <= known, series


@pytest.mark.parametrize(("name", "expression"), ASKED, ids=[f"{n} {i}" for i, (n, _) in enumerate(ASKED)])
def test_counters_are_asked_for_as_rates(name, expression):
    for series in re.findall(r"(\w+_total)\b", expression):
        plain = re.search(rf"(?<!rate\()(?<!increase\(){series}", expression)
        assert not plain or "unauthorized" in series or name == "route", f"{name}: a raw counter only ever grows"


def test_series_of_ray_are_told_from_inventions():
    assert is_of_ray("ray_serve_deployment_replica_healthy")
    assert not is_of_ray("ray_serve_deployment_replica_happy")


def test_one_unauthorized_row_alerts_at_once():
    (rule,) = [rule for rule in RULES if rule["alert"] == "BabelrayUnauthorizedRows"]
    assert rule["expr"].endswith(">= 1")
    assert "for" not in rule
    assert rule["labels"]["severity"] == "page"


def test_every_rule_says_what_happens_and_what_to_do():
    assert len({rule["alert"] for rule in RULES}) == len(RULES) >= 8
    for rule in RULES:
        assert rule["labels"]["severity"] in ("page", "ticket")
        assert {"summary", "description"} <= rule["annotations"].keys()


def test_every_rule_has_a_test_of_its_own():
    cases = documents(MONITORING / "rules.test.yml")[0]["tests"]
    fired = {one["alertname"] for case in cases for one in case["alert_rule_test"] if one["exp_alerts"]}
    assert {rule["alert"] for rule in RULES} == fired


def test_promtool_agrees():
    promtool = shutil.which("promtool")
    if promtool is None:
        pytest.skip("no promtool (Debian's package prometheus is 100 MB, so the CI script does not install it)")
    for words in (["check", "rules", "rules.yml"], ["test", "rules", "rules.test.yml"]):
        done = subprocess.run([promtool, *words], cwd=MONITORING, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr


def test_the_dashboard_finds_its_data_source_and_is_found():
    (source,) = documents(MONITORING / "grafana" / "datasources.yml")[0]["datasources"]
    assert {one["uid"] for one in found(DASHBOARD, "datasource")} == {source["uid"]}
    (provider,) = documents(MONITORING / "grafana" / "dashboards.yml")[0]["providers"]
    stack = yaml.safe_load((INFRA / "docker" / "compose.yaml").read_text(encoding="utf-8"))
    mounted = dict(volume.split(":")[:2] for volume in stack["services"]["grafana"]["volumes"])
    assert mounted["../monitoring/grafana/babelray.json"].startswith(provider["options"]["path"] + "/")
    assert source["url"].removeprefix("http://").split(":")[0] in stack["services"]


def test_panels_lie_beside_each_other():
    taken: set[tuple[int, int]] = set()
    for panel in DASHBOARD["panels"]:
        place = panel["gridPos"]
        cells = {(place["x"] + x, place["y"] + y) for x in range(place["w"]) for y in range(place["h"])}
        assert place["x"] + place["w"] <= 24
        assert not cells & taken, panel["title"]
        taken |= cells
    assert len({panel["id"] for panel in DASHBOARD["panels"]}) == len(DASHBOARD["panels"])


def test_prometheus_scrapes_the_port_that_ray_exports_at():
    (job,) = documents(MONITORING / "prometheus.yml")[0]["scrape_configs"]
    host, port = job["static_configs"][0]["targets"][0].split(":")
    stack = yaml.safe_load((INFRA / "docker" / "compose.yaml").read_text(encoding="utf-8"))
    assert f"--metrics-export-port={port}" in " ".join(stack["services"][host]["command"])
    (alert,) = [rule for rule in RULES if rule["alert"] == "BabelrayNotScraped"]
    for path in ("prometheus.yml", "prometheus-kubernetes.yml"):
        (one,) = documents(MONITORING / path)[0]["scrape_configs"]
        assert f'job="{one["job_name"]}"' in alert["expr"]
