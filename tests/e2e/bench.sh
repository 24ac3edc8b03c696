#!/bin/bash
# `fairlead bench` and the helpers of bench/: figures count only if what was timed was right. A run in which anything
# failed ends with status 1 and says what.
# time-limit: 240
. "$(dirname "$0")/../lib.sh"
ROOT=$(cd "$(dirname "$0")/../.." && pwd)
cd "$ROOT"
status_of() { "$@" >"$WORK/out" 2>"$WORK/err" && echo 0 || echo $?; }
bench() { "$FAIRLEAD" bench "$@"; }

# --- nothing is needed to plan a run
expect "an estimate" '^2 networks with 4 subnets and 20 places, largest 10, smallest 10; 9.0 peers' \
  bench attachments --estimate --networks 2 --top-size 10 --exponent 0 --subnets-per-network 2 --sizes-csv "$WORK/sizes.csv"
equal "sizes" "$(cut -d, -f1,3,4 "$WORK/sizes.csv" | tail -n 2 | xargs)" '0,10,10.0.0.0/29 10.0.0.8/29 1,10,10.0.0.0/29 10.0.0.8/29'

# --- good runs
start_server one --joins-per-second 1000
equal "creates" "$(status_of bench api --verb create --count 200 --connections 4 --json)" 0
equal "every answer was 201" "$(jq -c .answers "$WORK/out")" '{"201":200}'
equal "lists show everything" "$(status_of bench api --verb list --count 20 --connections 2 --objects 50)" 0
equal "mixed requests" "$(status_of bench api --verb mixed --count 300 --connections 4)" 0
equal "events" "$(status_of bench watch --watchers 20 --matching 3 --events 200 --json)" 0
equal "each arrived once" "$(jq -c '[.written, .delivered]' "$WORK/out")" '[200,200]'
equal "attachments" "$(status_of bench attachments --agents 3 --networks 2 --top-size 5 --exponent 0 --attachments 30 --rate 100 \
  --subnets-per-network 2 --base-address 172.24.0.0 --subnet-size-factor 4 --report "$WORK/run.html" \
  --prometheus "$WORK/metrics" --csv "$WORK/lives.csv" --json)" 0
equal "no errors" "$(jq -c '[.errors, .created, .deletesSeen, .duplicateAddresses]' "$WORK/out")" '[[],30,30,0]'
equal "addresses of both subnets" "$(cut -d, -f10 "$WORK/lives.csv" | grep -c '^172\.24\.0\.')" 30
python3 - "$WORK/run.html" <<'PYTHON' || die "the report is not well-formed"
import sys, xml.etree.ElementTree
page = xml.etree.ElementTree.parse(sys.argv[1]).getroot()
titles = [title.text for title in page.iter("title")]
for wanted in ("Rate", "Attachments", "Create to address", "Create to interface in status", "Delete"):
    assert wanted in titles, (wanted, titles)
lines = [path for path in page.iter("path") if path.get("class") == "line" and "L" in path.get("d")]
assert len(lines) >= 10, len(lines)
PYTHON
expect "metrics" 'fairlead_driver_requests_total.operation="create",code="201". 30' cat "$WORK/metrics"

# --- figures while it runs
"$FAIRLEAD" bench attachments --agents 1 --networks 1 --top-size 40 --attachments 40 --rate 10 --metrics-listen 127.0.0.1:0 \
  >"$WORK/live.out" 2>"$WORK/live.err" &
driver=$!
STARTED+=("$driver")
wait_until 60 "address of the metrics" grep -q '^metrics: http' "$WORK/live.err"
scrape() { curl -sf "$(sed -n 's/^metrics: //p' "$WORK/live.err")"; }
moving() { scrape | grep -qE '^fairlead_driver_requests_total.operation="create",code="201". [1-9]'; }
wait_until 60 "creates in /metrics" moving
kill -TERM "$driver"
wait "$driver" && die "an interrupted run is no good run"
expect "why it ended" 'interrupted after [0-9]+ of 40 attachments' cat "$WORK/live.err"

# --- runs that failed: status 1, the reason, and the figures nevertheless
equal "nobody makes interfaces" "$(status_of bench attachments --node nowhere --networks 1 --top-size 3 --attachments 3 --rate 0 --settle 1s)" 1
expect "the reason" '3 never got ready' cat "$WORK/err"
expect "the figures" '3 created, 3 addressed, 0 ready' cat "$WORK/out"
equal "no such nodes" "$(status_of bench attachments --node-selector role=none)" 1
expect "the reason" 'no Node has these labels' cat "$WORK/err"
"$FAIRLEAD" bench watch --watchers 5 --events 100000 --rate 50 >"$WORK/cut.out" 2>"$WORK/cut.err" &
watching=$!
STARTED+=("$watching")
wait_until 60 "events" grep -q 'delivered [1-9]' "$WORK/cut.err"
kill -KILL "$SERVER_PID"
wait "$watching" && die "events were lost, and the run was good"
expect "the reason" 'watches failed, the first: ' cat "$WORK/cut.err"

start_server two --max-writes 1
equal "refusals" "$(status_of bench api --verb create --count 2000 --connections 32)" 1
expect "the reason" '[0-9]+ of 2000 requests: 429' cat "$WORK/err"
expect "the figures" '^create configmaps: 2000 requests' cat "$WORK/out"

# --- what bench/run and bench/attachments measure with
helper() { # HELPER ARGUMENTS…: in a script of its own, as bench/run does
  TOKEN=$TOKEN KUBECONFIG=$KUBECONFIG FAIRLEAD=$FAIRLEAD bash -c 'set -euo pipefail; . bench/lib.sh; "$@"; cat "$WORK/line" "$WORK/result" 2>/dev/null || true; echo "went on"' bench "$@"
}
if command -v wrk >/dev/null; then
  expect "wrk on something" '^[0-9.]+/s, p50 .*, p99' helper wrk_load 2 1 "$SERVER_URL/version"
  refuse "wrk on nothing" 'not every request was answered well' helper wrk_load 2 1 "$SERVER_URL/api/v1/namespaces/default/configmaps/none"
  TOKEN=wrong refuse "wrk without rights" 'not every request was answered well' helper wrk_load 2 1 "$SERVER_URL/api/v1/namespaces"
  refuse "wrk on nobody" 'wrk' helper wrk_load 2 1 https://127.0.0.1:1/
fi
expect "a good load" 'went on' helper bench api --verb get --count 20 --connections 1 --objects 2
refuse "a load with refusals" 'fairlead bench api .* failed' helper bench api --verb create --count 2000 --connections 32
refuse "a row without a figure" 'nothing was measured: creates' helper row creates '' command
# shellcheck disable=SC2016  # for the helper's shell
refuse "in a substitution" 'nothing was measured: creates' helper eval 'x=$(row creates "" y); echo went on'
