#!/bin/bash
# Stopping and replacing servers: watches end cleanly and at once, a new server waits for the folder of the old one, and
# with two servers behind a load balancer that asks /readyz no request fails while both are replaced.
# time-limit: 180
. "$(dirname "$0")/../lib.sh"
HERE=$(cd "$(dirname "$0")" && pwd)
MAPS=/api/v1/namespaces/default/configmaps
PATIENT=(--drain-seconds 3600)  # whoever waited for it would never end

# A server of that name ran before: what it said is not what the new one says.
restart_server() { rm -f "$WORK/$1.out"; start_server "$@"; }
ended() { ! kill -0 "$1" 2>/dev/null; }
watch_maps() { # NAME curl arguments…
  local name=$1
  shift
  { status=0
    curl -sS -N --cacert "$SERVER_DATA/pki/ca.crt" -H "Authorization: Bearer $TOKEN" "$@" "$SERVER_URL$MAPS?watch=1" \
      >"$WORK/$name.watch" 2>"$WORK/$name.curl" || status=$?
    echo "$status" >"$WORK/$name.status"; } &
  STARTED+=($!)
  wait_until 20 "watch $name" grep -q ADDED "$WORK/$name.watch"
}
clean_end() { # NAME: curl saw the end of the body, and the connection as it should be
  wait_until 20 "the end of the watch $1" test -s "$WORK/$1.status"
  equal "the watch $1 ended cleanly ($(cat "$WORK/$1.curl"))" "$(cat "$WORK/$1.status")" 0
}

# --- SIGTERM with open watches
start_server one "${PATIENT[@]}"
api POST $MAPS -H 'Content-Type: application/json' -d '{"metadata":{"name":"here"}}' >/dev/null
watch_maps http1 --http1.1
watch_maps http2 --http2
kill -TERM "$SERVER_PID"
wait_until 30 "end of the server" ended "$SERVER_PID"
clean_end http1
clean_end http2

# --- during the delay everything is served, and /readyz says no
restart_server one "${PATIENT[@]}" --shutdown-delay-seconds 3600
watch_maps staying --http1.1
kill -TERM "$SERVER_PID"
refuses() { api GET "/readyz?verbose" >/dev/null; [ "$(code)" = 500 ]; }
wait_until 20 "/readyz to say no" refuses
expect "it says why" '\[-\]shutdown failed: the server is stopping' api GET "/readyz?verbose"
api GET /livez >/dev/null
equal "it lives" "$(code)" 200
api POST $MAPS -H 'Content-Type: application/json' -d '{"metadata":{"name":"later"}}' >/dev/null
equal "it serves" "$(code)" 201
wait_until 20 "its watches go on" grep -q later "$WORK/staying.watch"
expect "answers ask for another connection" '^[Cc]onnection: close' \
  curl -sS --http1.1 -D - -o /dev/null --cacert "$SERVER_DATA/pki/ca.crt" "$SERVER_URL/version"
kill -TERM "$SERVER_PID"
wait_until 30 "end at the second signal" ended "$SERVER_PID"
clean_end staying

# --- a folder that is in use is waited for
restart_server one
first=$SERVER_PID
"$FAIRLEAD" server --data "$SERVER_DATA" --listen "127.0.0.1:$(free_port)" >"$WORK/second.out" 2>"$WORK/second.err" &
second=$!
STARTED+=("$second")
wait_until 20 "the second to say that it waits" grep -q "waiting for the data folder.*in use by another fairlead server (pid $first)" "$WORK/second.err"
refuse "one that shall not wait" "in use by another fairlead server \(pid $first\)" \
  "$FAIRLEAD" server --data "$SERVER_DATA" --listen 127.0.0.1:0 --lock-wait-seconds 0
"$FAIRLEAD" server --data "$SERVER_DATA" --listen 127.0.0.1:0 >"$WORK/third.out" 2>"$WORK/third.err" &
third=$!
STARTED+=("$third")
wait_until 20 "the third to wait" grep -q "waiting for the data folder" "$WORK/third.err"
kill -TERM "$third"
wait "$third" || die "a server that waits was stopped and failed: $(cat "$WORK/third.err")"
CHECKS=$((CHECKS + 1))
kill -TERM "$first"
wait_until 30 "the second to take over" grep -q ready "$WORK/second.out"
kill -TERM "$second"
wait_until 30 "end of the second" ended "$second"

# --- every line of --log-format json is JSON
all_json() { jq -es 'length > 0' "$@"; }
start_server json --log-format json
"$FAIRLEAD" server --data "$SERVER_DATA" --listen 127.0.0.1:0 --log-format json --lock-wait-seconds 0 \
  >"$WORK/refused.out" 2>"$WORK/refused.err" && die "two servers on one folder"
"$FAIRLEAD" agent --log-format json --host-ip 10.0.0.1 --node n1 --kubeconfig "$WORK/none" >"$WORK/agent.out" 2>"$WORK/agent.err" && die "an agent without credentials"
"$FAIRLEAD" agent --log-format json --host-ip 10.0.0.1 --node n1 --kubeconfig "$KUBECONFIG" --fabric log --metrics-listen none \
  --admin-socket none --lock-file "$WORK/agent.lock" >"$WORK/agent2.out" 2>"$WORK/agent2.err" &
agent=$!
STARTED+=("$agent")
wait_until 30 "agent ready" grep -q ready "$WORK/agent2.out"
kill -TERM "$agent" "$SERVER_PID"
wait_until 30 "their end" ended "$SERVER_PID"
wait_until 30 "their end" ended "$agent"
for said in json.out json.err refused.err agent.err agent2.out agent2.err; do
  check "$said is JSON, all of it: $(head -c 300 "$WORK/$said")" all_json "$WORK/$said"
done
equal "what went wrong is in it" "$(jq -r .error "$WORK/refused.err" | grep -c 'in use by another')" 1
equal "the address is in it" "$(jq -r .url "$WORK/json.out")" "$SERVER_URL"

# --- two servers on one etcd, both replaced under load
if ! command -v etcd >/dev/null; then
  echo "etcd is not installed: the rolling restart was not tried"
  exit 77
fi
client=$(free_port) peer=$(free_port)
etcd --data-dir "$WORK/etcd" --listen-client-urls "http://127.0.0.1:$client" --advertise-client-urls "http://127.0.0.1:$client" \
  --listen-peer-urls "http://127.0.0.1:$peer" --initial-advertise-peer-urls "http://127.0.0.1:$peer" \
  --initial-cluster "default=http://127.0.0.1:$peer" >"$WORK/etcd.out" 2>&1 &
STARTED+=($!)
HA=(--store "etcd:http://127.0.0.1:$client" --shutdown-delay-seconds 2)
declare -A PORT_OF PID_OF
PORT_OF[a]=$(free_port) PORT_OF[b]=$(free_port)
PORT=${PORT_OF[a]} start_server a "${HA[@]}"
PID_OF[a]=$SERVER_PID
CA=$SERVER_DATA/pki/ca.crt
mkdir -p "$WORK/b/pki"
cp "$SERVER_DATA"/pki/{ca.crt,ca.key,token.key} "$WORK/b/pki/"
cp "$SERVER_DATA/admin.token" "$WORK/b/"
PORT=${PORT_OF[b]} start_server b "${HA[@]}"
PID_OF[b]=$SERVER_PID
python3 "$HERE/rolling_load.py" "$CA" "$TOKEN" "$WORK/stop-load" "https://127.0.0.1:${PORT_OF[a]}" "https://127.0.0.1:${PORT_OF[b]}" \
  >"$WORK/load.out" 2>"$WORK/load.err" &
load=$!
STARTED+=("$load")
objects() { kubectl get configmaps --chunk-size=0 -o name | wc -l; }
grows() { [ "$(objects)" -gt "$1" ]; }
for name in a b a b; do
  wait_until 30 "load" grows "$(objects)"
  kill -TERM "${PID_OF[$name]}"
  wait_until 60 "end of server $name" ended "${PID_OF[$name]}"
  PORT=${PORT_OF[$name]} restart_server "$name" "${HA[@]}"
  PID_OF[$name]=$SERVER_PID
done
wait_until 30 "load" grows "$(objects)"
touch "$WORK/stop-load"
wait "$load" || die "requests failed while servers were replaced: $(cat "$WORK/load.err")"
CHECKS=$((CHECKS + 1))
for name in a b; do
  served=$(awk -v url="https://127.0.0.1:${PORT_OF[$name]}" '$2 == url {print $1}' "$WORK/load.out")
  [ "$served" -gt 0 ] || die "server $name served nothing"
done
