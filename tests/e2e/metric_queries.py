#!/usr/bin/env python3
"""Are the queries of dashboards and alert rules about metrics that exist?

metric_queries.py list FILE…                 every query, one a line
metric_queries.py check PROMETHEUS-URL FILE… against a Prometheus that has scraped real servers and agents:
  every query is answered without error; every selector in it has series: by metric name and each "=" matcher (what
  "=~", "!=" and "!~" pick may be absent on a healthy system, but the label must be there); every label that a query
  groups or matches by exists on one of its metrics; and the rules that Prometheus loaded evaluate without error.
"""
import json
import re
import sys
import time
import urllib.parse
import urllib.request

import yaml

TOKEN = re.compile(r"""\s+|"(?:[^"\\]|\\.)*"|[a-zA-Z_:][a-zA-Z0-9_:]*|[0-9][0-9a-zA-Z.]*|=~|!~|!=|==|>=|<=|.""")
# Aggregations and matching are followed by a list of labels.
LABEL_LISTS = {"by", "without", "on", "ignoring", "group_left", "group_right"}
WORDS = {"and", "or", "unless", "bool", "offset", "inf", "nan"}
VARIABLES = {"$__rate_interval": "30s", "$instance": ".*"}


def queries(path):
    """Every query of a dashboard (JSON) or a file of rules (YAML)."""
    with open(path, encoding="utf-8") as file:
        if path.endswith(".json"):
            for panel in json.load(file)["panels"]:
                for target in panel.get("targets", []):
                    expression = target["expr"]
                    for name, value in VARIABLES.items():
                        expression = expression.replace(name, value)
                    yield f"{path}: {panel['title']}", expression
        else:
            for group in yaml.safe_load(file)["groups"]:
                for rule in group["rules"]:
                    yield f"{path}: {rule.get('alert') or rule['record']}", rule["expr"]


def parse(expression):
    """The selectors of a query, as (metric, [(label, operator, value)]), and the labels it groups or matches by."""
    tokens = [token for token in TOKEN.findall(expression) if token.strip()]
    selectors, grouping, at = [], set(), 0
    while at < len(tokens):
        token = tokens[at]
        at += 1
        if token == "[":  # a range
            at = tokens.index("]", at) + 1
        elif token in LABEL_LISTS and at < len(tokens) and tokens[at] == "(":
            end = tokens.index(")", at)
            grouping.update(label for label in tokens[at + 1 : end] if label != ",")
            at = end + 1
        elif re.match(r"[a-zA-Z_:]", token) and token.lower() not in WORDS | LABEL_LISTS:
            following = tokens[at] if at < len(tokens) else ""
            if following == "(" or following in LABEL_LISTS:
                continue  # a function or an aggregation
            matchers = []
            if following == "{":
                end = tokens.index("}", at)
                inside = [t for t in tokens[at + 1 : end] if t != ","]
                assert len(inside) % 3 == 0, f"cannot read the matchers of {token} in {expression}"
                matchers = [(inside[i], inside[i + 1], json.loads(inside[i + 2])) for i in range(0, len(inside), 3)]
                at = end + 1
            selectors.append((token, matchers))
    return selectors, grouping


class Prometheus:
    def __init__(self, url):
        self.url = url

    def get(self, path, **parameters):
        request = f"{self.url}/api/v1/{path}?{urllib.parse.urlencode(parameters)}"
        try:
            with urllib.request.urlopen(request, timeout=20) as answer:
                return json.load(answer)["data"]
        except urllib.error.HTTPError as error:
            raise ValueError(json.load(error).get("error", str(error))) from None

    def series(self, metric, matchers):
        text = ",".join(f"{label}{operator}{json.dumps(value)}" for label, operator, value in matchers)
        return self.get("series", **{"match[]": f"{metric}{{{text}}}"})


def complaints(prometheus, expression):
    """What is wrong with one query."""
    try:
        prometheus.get("query", query=expression)
    except ValueError as error:
        return [f"refused: {error}"]
    selectors, grouping = parse(expression)
    found, labels = [], set()
    if not selectors:
        found.append("no metric found in it")
    for metric, matchers in selectors:
        exact = [matcher for matcher in matchers if matcher[1] == "="]
        series = prometheus.series(metric, exact)
        if not series:
            found.append(f"no series for {metric} {exact}")
        for one in series:
            labels.update(one)
        for label, _, _ in matchers:
            if series and not any(label in one for one in series):
                found.append(f"{metric} has no label {label}")
    # Discovery adds them in a cluster; grouping "without" may name them.
    found += [f"no metric of it has the label {label}" for label in sorted(grouping - labels - {"pod"})]
    return found


def check_rules(prometheus):
    """Waits until every loaded rule was evaluated; returns (how many, complaints)."""
    deadline = time.monotonic() + 60
    while True:
        rules = [rule for group in prometheus.get("rules")["groups"] for rule in group["rules"]]
        if rules and all(rule["health"] != "unknown" for rule in rules):
            return len(rules), [f"{r['name']}: {r.get('lastError')}" for r in rules if r["health"] != "ok"]
        if time.monotonic() > deadline:
            return len(rules), ["the rules were not evaluated"]
        time.sleep(0.2)


def main():
    command, *arguments = sys.argv[1:]
    if command == "list":
        for path in arguments:
            for _, expression in queries(path):
                print(" ".join(expression.split()))
        return 0
    prometheus, count, wrong = Prometheus(arguments[0]), 0, []
    for path in arguments[1:]:
        for where, expression in queries(path):
            count += 1
            wrong += [f"{where}: {complaint}\n    {expression}" for complaint in complaints(prometheus, expression)]
    rules, bad = check_rules(prometheus)
    wrong += bad
    print("\n".join(wrong + [f"{count} queries, {rules} rules, {len(wrong)} complaints"]))
    return 1 if wrong or count == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
