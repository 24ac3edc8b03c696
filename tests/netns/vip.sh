#!/bin/bash
# time-limit: 600
# Virtual IPs with real agents: never two hosts that answer, one holder afterwards, whatever happens to the holder. A
# capture at the switch's ports, under traffic, is judged by tests/netns/vip_judge.py.
#
#   RUNS    of each fault (3)
#   FAULTS  those below, or some, or also smother: starve, and the engine last in the queue, which slows the whole machine down.
here=$(cd "$(dirname "$0")" && pwd)
[ "$(id -u)" -eq 0 ] || { echo "needs root for network namespaces"; exit 77; }
# shellcheck disable=SC1091  # not beside this script
. "$here/../lib.sh"
# shellcheck disable=SC1091
. "$here/../vip_lab.sh"
RUNS=${RUNS:-3}
FAULTS=${FAULTS:-kill_engine kill_agent stop_engine cut_peers cut_all starve flap upgrade kill_everything planned}
SECRET=$WORK/secret
head -c 24 /dev/urandom | base64 >"$SECRET"

lab_up
for host in "${HOSTS[@]}"; do start_agent "$host"; done
for vip in $VIP $VIP6; do wait_until 30 "a holder of $vip" one_holder "$vip"; done
start_servers

# --- what can happen to the holder; each is over when the function returns -----------------------------------------
kill_engine() { kill -KILL "$(engine_of "$1")"; sleep 2; }
kill_agent() {
  kill -KILL "${AGENT[$1]}"
  sleep 2
  start_agent "$1"
}
kill_everything() {  # guard, engine and agent at once, as a container that is killed
  kill -KILL "$(guard_of "$1")" "$(engine_of "$1")" "${AGENT[$1]}"
  sleep 2
  start_agent "$1"
}
stop_engine() {
  local engine
  engine=$(engine_of "$1")
  kill -STOP "$engine"
  sleep 2
  kill -CONT "$engine"
  sleep 1
}
cut_peers() {  # the clients still reach it
  in_ns "$1" nft -f - <<N
table inet cut {
  chain out { type filter hook output priority 0; udp dport 10000 drop; }
  chain in { type filter hook input priority 0; udp dport 10000 drop; }
}
N
  sleep 2
  in_ns "$1" nft delete table inet cut
  sleep 1
}
cut_all() { in_ns sw ip link set "p-$1" nomaster; sleep 2; in_ns sw ip link set "p-$1" master br0; sleep 1; }
starve() { without_priority "$1" 0 4; }
smother() { without_priority "$1" 19 $((4 * $(nproc))); }
# without_priority HOST NICE LOOPS: the engine without its real-time priority, beside so many loops that never wait
without_priority() {
  local thread loops busy=() real_time=()
  for thread in "/proc/$(engine_of "$1")/task/"*; do
    thread=${thread##*/}
    [ "$(policy_of "$thread")" != SCHED_FIFO ] || real_time+=("$thread")
    chrt --other --pid 0 "$thread"
    renice -n "$2" -p "$thread" >/dev/null
    equal "policy of thread $thread of the engine" "$(policy_of "$thread")" SCHED_OTHER
  done
  [ ${#real_time[@]} -gt 0 ] || die "the engine of $1 had no real-time priority to lose"
  for ((loops = $3; loops > 0; loops--)); do
    timeout 3 sh -c 'while :; do :; done' &
    busy+=($!)
  done
  sleep 3
  wait "${busy[@]}" || true
  for thread in "${real_time[@]}"; do  # unless that engine has ended
    chrt --fifo --pid 1 "$thread" 2>/dev/null || true
  done
}
policy_of() { chrt --pid "$1" | sed -n 's/.*policy: //p'; }
flap() { in_ns "$1" ip link set eth0 down; sleep 1; in_ns "$1" ip link set eth0 up; in_ns "$1" ip addr add "fd00::$(number_of "$1")/64" dev eth0 nodad 2>/dev/null; sleep 1; }
upgrade() {
  kill -TERM "${AGENT[$1]}"
  wait "${AGENT[$1]}" || true
  start_agent "$1"
  sleep 2
}

planned() {  # there and, after a while, nowhere else: no packet may be lost
  sleep 0.5
  move_to "$(other_than "$1")"
  sleep 1
}

run=0 changes=0 led=0
for fault in $FAULTS; do
  for ((n = 1; n <= RUNS; n++)); do
    run=$((run + 1))
    dir=$WORK/run-$run
    for vip in $VIP $VIP6; do wait_until 30 "a holder of $vip" one_holder "$vip"; done
    all_well
    # Half of the runs with a holder that leads the election.
    find_leader
    if ((run % 2)); then holder=$LEADER; else holder=$(other_than "$LEADER"); fi
    move_to "$holder"
    [ "$holder" != "$(leader)" ] || led=$((led + 1))
    capture "$dir"
    traffic "$dir"
    sleep 0.3
    [ -z "${TRACE:-}" ] || echo "$(date -u +%H:%M:%S.%3N) $fault of $holder, leader $(leader)"
    "$fault" "$holder"
    for vip in $VIP $VIP6; do wait_until 20 "a holder of $vip after $fault" one_holder "$vip"; done
    sleep 0.3
    end_traffic
    end_capture
    verdict=$(judge "$dir" "$VIP,$VIP6") || die "two hosts answered, or one that did not announce: $fault of $holder, run $n: $verdict"
    changes=$((changes + $(jq '[.[].changes] | add' <<<"$verdict")))
    CHECKS=$((CHECKS + 1))
    lost=$(jq -cs '[.[] | [.lost[] | .[1] - .[0] + 1] | add // 0]' "$dir/ask-$VIP" "$dir/ask-$VIP6")
    # What a server has taken and not answered when its host gives the VIP up is lost with it.
    [ "$fault" != planned ] || jq -e 'max <= 5' <<<"$lost" >/dev/null || { [ -z "${TRACE:-}" ] || cp -r "$dir" /tmp/vip-trace; die "a planned move lost $lost packets: $(cat "$dir/ask-$VIP" "$dir/ask-$VIP6")"; }
    echo "$fault of $holder: lost $lost, gap $(longest_gap "$dir" $VIP) ms, $(longest_gap "$dir" $VIP6) ms on IPv6," \
      "$(jq -c '[.[].runs]' <<<"$verdict")"
    [ -z "${TRACE:-}" ] || { grep -h "virtual IP" "$WORK"/agent-*.err | sort | tail -n 8; jq -c .gaps "$dir/ask-$VIP"; }
    rm -r "$dir"
  done
done
[ "$changes" -ge "$run" ] || die "the VIPs changed hands only $changes times in $run runs"
echo "$run runs, $changes changes of hands, $led with a holder that led"
