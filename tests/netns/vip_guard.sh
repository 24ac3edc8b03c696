#!/bin/bash
# time-limit: 120
# The processes of virtual IPs look after each other: an engine ends with its guard, also where the program has file
# capabilities; an agent that is the first process of a container leaves no zombies; a stopped engine is not called a
# holder; `fairlead vip tune` measures while a VIP is held.
here=$(cd "$(dirname "$0")" && pwd)
[ "$(id -u)" -eq 0 ] || { echo "needs root for network namespaces"; exit 77; }
# shellcheck disable=SC1091  # not beside this script
. "$here/../lib.sh"
# shellcheck disable=SC1091
. "$here/../vip_lab.sh"
VIPS=$VIP
LEASE=2s
SECRET=$WORK/secret
head -c 24 /dev/urandom | base64 >"$SECRET"
lab_up
gone() { ! kill -0 "$1" 2>/dev/null; }
another_engine() { [ -n "$(engine_of "$1")" ] && [ "$(engine_of "$1")" != "$2" ]; }

# --- times are measured while the VIP is held, and nothing moves
for host in "${HOSTS[@]}"; do start_agent "$host"; done
wait_until 30 "a holder" one_holder
all_well
holder=$(holder)
epoch=$(status a | jq .virtualIPs[0].epoch)
"$FAIRLEAD" vip tune --duration 6s --json --admin-socket "$WORK/$holder.sock" >"$WORK/tune.json"
check "two peers were measured" jq -e '[.measured.peers[] | select(.answered > 20 and .longestNanoseconds > 0)] | length == 2' "$WORK/tune.json"
check "the disk was measured" jq -e '.measured.longestWriteNanoseconds > 0' "$WORK/tune.json"
check "times are proposed" jq -e '.proposed.leaseMilliseconds >= 50 and .proposed.renewMilliseconds >= 5' "$WORK/tune.json"
expect "for people" '^  lease: [0-9]+ms' "$FAIRLEAD" vip tune --duration 2s --admin-socket "$WORK/a.sock"
refuse "a duration that is none" 'duration' "$FAIRLEAD" vip tune --duration soon --admin-socket "$WORK/a.sock"
equal "the holder" "$(holder)" "$holder"
equal "the epoch" "$(status a | jq .virtualIPs[0].epoch)" "$epoch"
[ ! -e "$WORK/state-$holder/tune.probe" ] || die "the probe's file is left"

# --- an engine that is stopped: its host does not call itself the holder for long
kill -STOP "$(engine_of "$holder")"
not_here() { [ "$(status "$holder" | jq '[.virtualIPs[] | select(.here)] | length')" = 0 ]; }
wait_until 8 "$holder does not say that it holds it" not_here
kill -CONT "$(engine_of "$holder")"
wait_until 30 "a holder" one_holder

# --- a guard that is killed takes its engine along, also if the program has capabilities of its own
kill -TERM "${AGENT[c]}"
wait "${AGENT[c]}" || true
cp "$FAIRLEAD" "$WORK/fairlead-with-capabilities"
setcap cap_net_admin,cap_net_raw,cap_sys_admin+ep "$WORK/fairlead-with-capabilities"
real=$FAIRLEAD
FAIRLEAD=$WORK/fairlead-with-capabilities start_agent c
FAIRLEAD=$real
wait_until 30 "health of c" well c
engine=$(engine_of c)
kill -KILL "$(guard_of c)"
wait_until 20 "the engine ends with its guard" gone "$engine"
wait_until 30 "another engine" another_engine c "$engine"
wait_until 30 "health of c" well c

# --- the agent as the first process of a container
kill -TERM "${AGENT[c]}"
wait "${AGENT[c]}" || true
config c >"$WORK/c.yaml"
ip netns exec "$ns-c" unshare --pid --fork --mount-proc "$FAIRLEAD" agent --config "$WORK/c.yaml" --state "$WORK/state-c" \
  --admin-socket "$WORK/c.sock" --lock-file "$WORK/c.lock" >>"$WORK/agent-c.out" 2>>"$WORK/agent-c.err" &
STARTED+=($!)
container=$!
wait_until 30 "health of c" well c
first=$(pgrep -P "$container")
zombies() { ps --no-headers -o stat= --ppid "$first" | awk '/^Z/' | wc -l; }
for _ in 1 2 3; do
  engine=$(engine_of c)
  kill -KILL "$(guard_of c)"
  wait_until 20 "the engine ends with its guard" gone "$engine"
  wait_until 30 "another engine" another_engine c "$engine"
done
equal "zombies" "$(zombies)" 0
kill -TERM "$first"
wait_until 20 "the container ends" gone "$container"
wait_until 30 "a holder" one_holder
