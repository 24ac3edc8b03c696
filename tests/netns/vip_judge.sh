#!/bin/bash
# time-limit: 240
# A test of the test: the judge of tests/netns/vip.sh convicts keepalived whose master is killed, and Fairlead itself
# without its fence.
here=$(cd "$(dirname "$0")" && pwd)
[ "$(id -u)" -eq 0 ] || { echo "needs root for network namespaces"; exit 77; }
command -v keepalived >/dev/null || { echo "no keepalived here"; exit 77; }
# shellcheck disable=SC1091  # not beside this script
. "$here/../lib.sh"
# shellcheck disable=SC1091
. "$here/../vip_lab.sh"
check "the judge finds what is planted" "$here/vip_judge.py"
lab_up
start_servers

# convicted WHAT DIR: two hosts answered, and the judge saw it.
convicted() {
  local verdict status=0
  verdict=$(judge "$2" "$VIP,$VIP6") || status=$?
  [ "$status" -eq 1 ] || die "$1 was not convicted (status $status): $verdict"
  CHECKS=$((CHECKS + 1))
  echo "$1: $(jq -c '[.[] | {vip, two, hosts}]' <<<"$verdict")"
}

# --- keepalived, its master killed: the address stays, and the next one takes it too ---------------------------------
for host in "${HOSTS[@]}"; do start_keepalived "$host" "advert_int 1"; done
wait_until 20 "master" keepalived_master a
sleep 1
capture "$WORK/keepalived"
traffic "$WORK/keepalived"
sleep 0.5
kill_keepalived a
wait_until 20 "next master" keepalived_master b
sleep 1
end_traffic
end_capture
convicted "keepalived" "$WORK/keepalived"
for host in b c; do kill_keepalived "$host"; done
for host in "${HOSTS[@]}"; do
  in_ns "$host" ip addr del "$VIP/24" dev eth0 2>/dev/null || true
  in_ns "$host" ip addr del "$VIP6/64" dev eth0 2>/dev/null || true
done

# --- Fairlead without the fence, all its processes killed --------------------------------------------------------------
FENCE=none
for host in "${HOSTS[@]}"; do start_agent "$host"; done
for vip in $VIP $VIP6; do wait_until 30 "a holder of $vip" one_holder "$vip"; done
move_to a
capture "$WORK/fairlead"
traffic "$WORK/fairlead"
sleep 0.5
kill -KILL "$(guard_of a)" "$(engine_of a)" "${AGENT[a]}"
taken() { [ -n "$(holder "$1")" ] && [ "$(holder "$1")" != a ]; }
for vip in $VIP $VIP6; do wait_until 20 "the next holder" taken "$vip"; done
sleep 1
end_traffic
end_capture
convicted "Fairlead without its fence" "$WORK/fairlead"
