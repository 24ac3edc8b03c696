#!/bin/bash
# Virtual IPs that are elected in a real etcd and in our own server's Leases: three engines, whose fences say what they
# would do, are killed, stopped, continued and ended in order, and the store is frozen and killed. A program judges the
# fences: no two nodes ever answer at once, and afterwards one does.
# time-limit: 240
. "$(dirname "$0")/../lib.sh"
here=$(cd "$(dirname "$0")" && pwd)
DRIVER=${VIP_LEASE_DRIVER:-$here/../../build/dev/tests/netns/vip_lease_driver}
[ -x "$DRIVER" ] || die "no $DRIVER: scripts/build dev vip_lease_driver"
VIPS=10.0.0.75,fd00::75

check "the judge finds what is planted" python3 "$here/vip_leases_judge.py"

declare -A ENGINE
# start_engine BACKEND NODE: with STORE as the words that name the store, LEASE in milliseconds.
start_engine() {
  "$DRIVER" "$2" "$WORK/$1-$2" "$LEASE" "$VIPS" "${STORE[@]}" >>"$WORK/$1/$2.fence" 2>>"$WORK/$1-$2.err" &
  ENGINE[$2]=$!
  STARTED+=("${ENGINE[$2]}")
}
end_engine() { kill -"$1" "${ENGINE[$2]}"; wait "${ENGINE[$2]}" 2>/dev/null || true; }

# holder BACKEND [VIP]: the node whose fence is open now.
holder() {
  python3 - "$WORK/$1" "${2:-10.0.0.75}" "$here" <<'PY'
import pathlib, sys, time
sys.dont_write_bytecode = True
sys.path.insert(0, sys.argv[3])
from vip_leases_judge import intervals
now = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
for file in sorted(pathlib.Path(sys.argv[1]).glob("*.fence")):
    if any(begin <= now < end for begin, end in intervals(file.read_text().splitlines()).get(sys.argv[2], [])):
        print(file.name.removesuffix(".fence"))
PY
}
held() { [ "$(holder "$1" 10.0.0.75 | wc -l)" = 1 ] && [ "$(holder "$1" fd00::75 | wc -l)" = 1 ]; }
held_by_another() { local now; now=$(holder "$1") && [ -n "$now" ] && [ "$now" != "$2" ]; }
nobody() { [ -z "$(holder "$1")" ] && [ -z "$(holder "$1" fd00::75)" ]; }

# survive BACKEND FREEZE-STORE THAW-STORE
survive() {
  local kind=$1 freeze=$2 thaw=$3 first node
  mkdir "$WORK/$kind"
  for node in a b c; do start_engine "$kind" "$node"; done
  wait_until 30 "holder of every VIP" held "$kind"

  first=$(holder "$kind")  # killed, and nobody closes its fence
  end_engine KILL "$first"
  wait_until 30 "holder after $first was killed" held_by_another "$kind" "$first"
  start_engine "$kind" "$first"

  wait_until 30 "holder of every VIP" held "$kind"
  first=$(holder "$kind")  # stopped, and continued when another one holds it
  kill -STOP "${ENGINE[$first]}"
  wait_until 30 "holder after $first was stopped" held_by_another "$kind" "$first"
  kill -CONT "${ENGINE[$first]}"
  wait_until 30 "holder of every VIP" held "$kind"

  first=$(holder "$kind")  # ended in order
  end_engine TERM "$first"
  wait_until 30 "holder after $first has retired" held_by_another "$kind" "$first"
  start_engine "$kind" "$first"
  wait_until 30 "holder of every VIP" held "$kind"

  $freeze  # no store: everybody falls silent
  wait_until 30 "silence without a store" nobody "$kind"
  $thaw
  wait_until 60 "holder when the store is back" held "$kind"

  for node in a b c; do end_engine TERM "$node"; done
  expect "$kind: never two" "^changes: 10.0.0.75=([3-9]|[1-9][0-9]+)\\b" python3 "$here/vip_leases_judge.py" "$WORK/$kind"/*.fence
  check "$kind: never two" python3 "$here/vip_leases_judge.py" "$WORK/$kind"/*.fence
}

# Kubernetes: our own server.
start_server kubernetes
freeze_server() { kill -STOP "$SERVER_PID"; }
thaw_server() { kill -CONT "$SERVER_PID"; }
LEASE=2000 STORE=(kubernetes "$KUBECONFIG" default)
survive kube freeze_server thaw_server
expect "the Leases are there for people" "fairlead-vip-node-a +a" kubectl -n default get leases
expect "the table says who assigns" '"assigner":"[abc]"' kubectl -n default get lease fairlead-vip-table -o yaml

refuse "a lease that is too short" "lease 500ms: must be at least 2000ms" "$DRIVER" a "$WORK/x" 500 "$VIPS" "${STORE[@]}"
refuse "a server behind the VIP" "127.0.0.1 is one of the virtual IPs" "$DRIVER" a "$WORK/x" 2000 127.0.0.1 "${STORE[@]}"
refuse "a name that is none" 'node "A_1"' "$DRIVER" A_1 "$WORK/x" 2000 "$VIPS" "${STORE[@]}"
refuse "no kubeconfig" "kubeconfig $WORK/none" "$DRIVER" a "$WORK/x" 2000 "$VIPS" kubernetes "$WORK/none" default
refuse "no URL" "etcd endpoints" "$DRIVER" a "$WORK/x" 2000 "$VIPS" etcd 127.0.0.1:1

command -v etcd >/dev/null || { echo "etcd is not installed"; exit 77; }
port=$(free_port) peer=$(free_port)
start_etcd() {
  etcd --name m --data-dir "$WORK/etcd" --listen-client-urls "http://127.0.0.1:$port" --log-level error \
    --advertise-client-urls "http://127.0.0.1:$port" --listen-peer-urls "http://127.0.0.1:$peer" \
    --initial-advertise-peer-urls "http://127.0.0.1:$peer" --initial-cluster "m=http://127.0.0.1:$peer" \
    >"$WORK/etcd.out" 2>&1 &
  ETCD_PID=$!
  STARTED+=("$ETCD_PID")
}
start_etcd
kill_etcd() { kill -KILL "$ETCD_PID"; wait "$ETCD_PID" 2>/dev/null || true; }
LEASE=1000 STORE=(etcd "http://127.0.0.1:$port")
survive etcd kill_etcd start_etcd
