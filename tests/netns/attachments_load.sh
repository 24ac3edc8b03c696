#!/bin/bash
# time-limit: 240
# `fairlead bench attachments`: with agents of its own, in processes of the load, on the log fabric; and with
# pings between guests on two hosts with real interfaces (FABRIC=vxlan, or ovs on its userspace datapath).
here=$(cd "$(dirname "$0")" && pwd)
[ "$(id -u)" -eq 0 ] || { echo "needs root for network namespaces"; exit 77; }
# shellcheck disable=SC1091  # not beside this script
. "$here/../lib.sh"
FABRIC=${FABRIC:-vxlan}
ns=fla$$

teardown() {
  local status=$? name pid
  set +e  # to the end, whatever fails
  for name in $(ip netns list | awk -v p="^$ns-" '$1 ~ p {print $1}'); do
    for pid in $(ip netns pids "$name"); do kill -KILL "$pid" 2>/dev/null || true; done
    ip netns del "$name"
  done
  for name in $(ip netns list | awk '$1 ~ /^fl[0-9a-f]{13}$/ {print $1}'); do
    grep -qx "$name" "$WORK/guests.before" || ip netns del "$name"
  done
  [ "$status" -eq 0 ] || tail -n 20 "$WORK"/*.out "$WORK"/*.err >&2 2>/dev/null
  (exit "$status")
  cleanup
}
guests() { ip netns list | awk '$1 ~ /^fl[0-9a-f]{13}$/ {print $1}'; }
guests >"$WORK/guests.before"
trap teardown EXIT

# load NAME COMMAND…: its figures in $WORK/NAME.json.
load() { "${@:2}" --json >"$WORK/$1.json" 2>"$WORK/$1.err"; }
figure() { jq -r "$2" "$WORK/$1.json"; }
nodes() { kubectl get nodes -o name | wc -l; }

# --- agents of the load's own
start_server one --joins-per-second 1000
check "load with agents" load fleet "$FAIRLEAD" bench attachments --agents 12 --agent-processes 2 --networks 4 --top-size 10 --exponent 0 --attachments 60 \
  --rate 200 --fill-rate 0 --subnet-size-factor 4 --server-pid "$SERVER_PID" --csv "$WORK/lives.csv" \
  --prometheus "$WORK/metrics" --wait-after-create 300ms
equal "every one got ready" "$(figure fleet '[.created, .addressed, .ready, .deleted] | unique | tostring')" '[60]'
equal "no errors" "$(figure fleet '.errors | tostring')" '[]'
equal "the phases" "$(figure fleet '[.phases[].name] | join(" ")')" 'warm-up cruise pause cool-down'
equal "what was made in each" "$(figure fleet '[.phases[].created] | tostring')" '[40,20,0,0]'
equal "agents were in step" "$(figure fleet '[.phases[] | .stations == .stationsExpected] | all')" true
equal "and carried something" "$(figure fleet '.phases[0].stations > 40 and .phases[3].stations == 0')" true
equal "remote agents saw both parts" \
  "$(figure fleet '[.milliseconds[].createToSeen.p99 > 0] | tostring')" '[true,true]'
equal "the server was looked at" "$(figure fleet '.phases[1].serverResidentBytes > 1000000')" true
equal "a line for each" "$(wc -l <"$WORK/lives.csv")" 61
expect "metrics" 'fairlead_driver_seconds_count.part="cruise",stage="createToReady". 20' cat "$WORK/metrics"
equal "Nodes were removed" "$(nodes)" 0
equal "and the join tokens" "$(kubectl get secrets -n kube-system -o name | wc -l)" 0
refuse "agents and nodes" '--node: not with --agents' "$FAIRLEAD" bench attachments --agents 2 --node x
kill "$SERVER_PID"
wait "$SERVER_PID" || true
refuse "agents without a server" 'agents: unavailable' "$FAIRLEAD" bench attachments --agents 1

# --- pings between guests on two hosts
add_ns() { ip netns add "$ns-$1"; ip -n "$ns-$1" link set lo up; }
in_ns() { ip netns exec "$ns-$1" "${@:2}"; }
add_ns sw
for bridge in underlay control; do in_ns sw ip link add "$bridge" type bridge; done
in_ns sw ip addr add 198.51.100.254/24 dev control
for bridge in underlay control; do in_ns sw ip link set "$bridge" up; done
ip netns exec "$ns-sw" "$FAIRLEAD" server --data "$WORK/two" --listen 198.51.100.254:6443 \
  >"$WORK/two.out" 2>"$WORK/two.err" &
STARTED+=($!)
wait_until 30 "server two ready" grep -q ready "$WORK/two.out"
export KUBECONFIG=$WORK/two/admin.kubeconfig
token=$(in_ns sw "$FAIRLEAD" server token create --data "$WORK/two")
for h in 1 2; do
  add_ns "h$h"
  in_ns sw ip link add "p$h" type veth peer name eth0 netns "$ns-h$h"
  in_ns sw ip link set "p$h" master underlay up
  in_ns sw ip link add "c$h" type veth peer name ctl0 netns "$ns-h$h"
  in_ns sw ip link set "c$h" master control up
  in_ns "h$h" ip link set eth0 up
  in_ns "h$h" ip addr add "198.51.100.$h/24" dev ctl0
  in_ns "h$h" ip link set ctl0 up
  flags=() uplink=eth0
  if [ "$FABRIC" = ovs ]; then
    dir=$WORK/ovs$h
    mkdir "$dir"
    ovsdb-tool create "$dir/conf.db" /usr/share/openvswitch/vswitch.ovsschema
    OVS_RUNDIR=$dir ip netns exec "$ns-h$h" ovsdb-server "$dir/conf.db" --remote="punix:$dir/db.sock" \
      --unixctl="$dir/ovsdb.ctl" --log-file="$dir/ovsdb.log" -vconsole:off >/dev/null 2>&1 &
    STARTED+=($!)
    wait_until 20 "database of host $h" ovs-vsctl --timeout=2 --db="unix:$dir/db.sock" --no-wait init
    OVS_RUNDIR=$dir ip netns exec "$ns-h$h" ovs-vswitchd "unix:$dir/db.sock" --unixctl="$dir/vswitchd.ctl" \
      --log-file="$dir/vswitchd.log" -vconsole:off >/dev/null 2>&1 &
    STARTED+=($!)
    # In userspace the switch itself sends what it tunnels: the uplink belongs to it.
    ovs-vsctl --timeout=10 --db="unix:$dir/db.sock" add-br br-phy -- set bridge br-phy datapath_type=netdev \
      -- add-port br-phy eth0
    flags=(--ovs-run-dir "$dir" --ovs-datapath netdev) uplink=br-phy
  fi
  in_ns "h$h" ip addr add "192.0.2.$h/24" dev "$uplink"
  in_ns "h$h" ip link set "$uplink" up
  check "join host-$h" in_ns "h$h" "$FAIRLEAD" join --server 198.51.100.254:6443 --token "$token" \
    --node "host-$h" --data "$WORK/host-$h"
  ip netns exec "$ns-h$h" "$FAIRLEAD" agent --join-dir "$WORK/host-$h" --host-ip "192.0.2.$h" \
    --fabric "$FABRIC" "${flags[@]}" --metrics-listen none \
    --allowed-program "$(realpath "$here/../../bench/ping-test")" >"$WORK/host-$h.out" 2>"$WORK/host-$h.err" &
  STARTED+=($!)
  wait_until 30 "agent of host-$h" grep -q '^fairlead agent ready' "$WORK/host-$h.out"
done
check "load with pings" load ping ip netns exec "$ns-sw" "$FAIRLEAD" bench attachments \
  --networks 2 --top-size 5 --exponent 0 --attachments 16 --rate 10 --round-robin --subnet-size-factor 4 \
  --settle 60s --ping --ping-program "$(realpath "$here/../../bench/ping-test")" --csv "$WORK/pings.csv"
equal "no errors" "$(figure ping '.errors | tostring')" '[]'
equal "every one was tested, and none failed" "$(awk -F, 'NR > 1 && $8 != "" && $9 == 0' "$WORK/pings.csv" | wc -l)" 16
equal "most pinged somebody" "$(figure ping '.tests.full >= 10')" true
equal "on both hosts" "$(awk -F, 'NR > 1 {print $3}' "$WORK/pings.csv" | sort -u | wc -l)" 2
no_guests() { [ "$(guests | grep -vcxFf "$WORK/guests.before")" = 0 ]; }
echo none >>"$WORK/guests.before"  # grep -f wants a line
wait_until 30 "end of all guests" no_guests
