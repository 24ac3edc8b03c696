#!/bin/bash
# time-limit: 420
# Virtual IPs with real agents that elect in a shared store: etcd, then our own server's Leases. Never two hosts that
# answer, one holder afterwards, whatever happens to the holder or the store. A capture at the switch's ports, under traffic,
# is judged by tests/netns/vip_judge.py.
#
#   RUNS      of each fault (1)
#   BACKENDS  "etcd kubernetes"
#   FAULTS    all of them, or some
here=$(cd "$(dirname "$0")" && pwd)
[ "$(id -u)" -eq 0 ] || { echo "needs root for network namespaces"; exit 77; }
command -v etcd >/dev/null || { echo "etcd is not installed"; exit 77; }
# shellcheck disable=SC1091  # not beside this script
. "$here/../lib.sh"
# shellcheck disable=SC1091
. "$here/../vip_lab.sh"
RUNS=${RUNS:-1}
FAULTS=${FAULTS:-kill_engine stop_engine cut_store kill_everything upgrade store_stops}
STORE=10.0.0.200

# config HOST: the agent's file.
config() {
  local vip
  echo "node: $1"
  echo "metricsListen: none"
  echo "election:"
  echo "  backend: $BACKEND"
  echo "  lease: $LEASE"
  case $BACKEND in
    etcd) echo "  etcd: {endpoints: ['http://$STORE:2379']}" ;;
    kubernetes) echo "  kubernetes: {kubeconfig: $WORK/server/admin.kubeconfig, namespace: default}" ;;
  esac
  echo "virtualIPs:"
  for vip in $VIP $VIP6; do echo "- {address: '$vip', interface: eth0}"; done
}

start_store() {
  case $BACKEND in
    etcd)
      ip netns exec "$ns-store" etcd --name m --data-dir "$WORK/etcd" --log-level error \
        --listen-client-urls "http://$STORE:2379" --advertise-client-urls "http://$STORE:2379" \
        --listen-peer-urls "http://$STORE:2380" --initial-advertise-peer-urls "http://$STORE:2380" \
        --initial-cluster "m=http://$STORE:2380" >>"$WORK/store.out" 2>&1 &
      ;;
    kubernetes)
      ip netns exec "$ns-store" "$FAIRLEAD" server --data "$WORK/server" --listen "$STORE:6443" \
        >>"$WORK/server.out" 2>>"$WORK/server.err" &
      ;;
  esac
  STORE_PID=$!
  STARTED+=("$STORE_PID")
  [ "$BACKEND" = etcd ] || wait_until 30 "server" grep -q ready "$WORK/server.out"
}

# --- what can happen to the holder; each is over when the function returns -----------------------------------------
kill_engine() { kill -KILL "$(engine_of "$1")"; sleep 1; }
kill_everything() {  # guard, engine and agent at once, as a container that is killed
  kill -KILL "$(guard_of "$1")" "$(engine_of "$1")" "${AGENT[$1]}"
  sleep "$LONG"
  start_agent "$1"
}
stop_engine() {
  local engine
  engine=$(engine_of "$1")
  kill -STOP "$engine"
  sleep "$LONG"
  kill -CONT "$engine"
  sleep 1
}
cut_store() {  # the clients still reach it
  in_ns "$1" ip route add blackhole "$STORE/32"
  sleep "$LONG"
  in_ns "$1" ip route del blackhole "$STORE/32"
  sleep 1
}
upgrade() {
  kill -TERM "${AGENT[$1]}"
  wait "${AGENT[$1]}" || true
  start_agent "$1"
  sleep 1
}
store_stops() {
  kill -STOP "$STORE_PID"
  wait_until 20 "silence without a store" nobody
  kill -CONT "$STORE_PID"
}
nobody() { [ -z "$(holder)" ] && [ -z "$(holder "$VIP6")" ]; }

lab_up
add_host store 200
start_servers
for BACKEND in ${BACKENDS:-etcd kubernetes}; do
  case $BACKEND in
    etcd) LEASE=1s LONG=3 ;;
    kubernetes) LEASE=2s LONG=5 ;;
  esac
  start_store
  for host in "${HOSTS[@]}"; do start_agent "$host"; done
  for vip in $VIP $VIP6; do wait_until 40 "a holder of $vip" one_holder "$vip"; done
  expect "the status names the back end" "\"backend\": ?\"$BACKEND\"" status a
  run=0 changes=0
  for fault in $FAULTS; do
    for ((n = 1; n <= RUNS; n++)); do
      run=$((run + 1))
      dir=$WORK/$BACKEND-$run
      for vip in $VIP $VIP6; do wait_until 40 "a holder of $vip" one_holder "$vip"; done
      all_well
      # In turn with a holder that assigns, and with one that does not.
      find_leader
      if ((run % 2)); then holder=$LEADER; else holder=$(other_than "$LEADER"); fi
      move_to "$holder"
      capture "$dir"
      traffic "$dir"
      sleep 0.3
      [ -z "${TRACE:-}" ] || echo "$(date -u +%H:%M:%S.%3N) $fault of $holder, assigner $LEADER"
      "$fault" "$holder"
      for vip in $VIP $VIP6; do wait_until 40 "a holder of $vip after $fault" one_holder "$vip"; done
      sleep 0.3
      end_traffic
      end_capture
      verdict=$(judge "$dir" "$VIP,$VIP6") || die "$BACKEND: two hosts answered, or one that did not announce: $fault of $holder: $verdict"
      changes=$((changes + $(jq '[.[].changes] | add' <<<"$verdict")))
      CHECKS=$((CHECKS + 1))
      [ -z "${TRACE:-}" ] || { grep -h "irtual IP\|barred" "$WORK"/agent-*.err | sort | tail -n 40; jq -c .gaps "$dir/ask-$VIP"; }
      echo "$BACKEND: $fault of $holder: gap $(longest_gap "$dir" $VIP) ms, $(longest_gap "$dir" $VIP6) ms on IPv6"
      rm -r "$dir"
    done
  done
  [ "$changes" -ge "$run" ] || die "the VIPs changed hands only $changes times in $run runs"
  for host in "${HOSTS[@]}"; do kill -TERM "${AGENT[$host]}"; done
  for host in "${HOSTS[@]}"; do wait "${AGENT[$host]}" || true; done
  kill -KILL "$STORE_PID"
  rm -rf "$WORK"/state-*
done
