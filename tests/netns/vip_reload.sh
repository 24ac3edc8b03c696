#!/bin/bash
# The agent's file is read again, at SIGHUP and when it has changed; a wrong one is refused whole. What is not changed stays
# where it is.
here=$(cd "$(dirname "$0")" && pwd)
[ "$(id -u)" -eq 0 ] || { echo "needs root for network namespaces"; exit 77; }
# shellcheck disable=SC1091  # not beside this script
. "$here/../lib.sh"
# shellcheck disable=SC1091
. "$here/../vip_lab.sh"
lab_up
VIPS=$VIP
for host in "${HOSTS[@]}"; do start_agent "$host"; done
wait_until 30 "a holder" one_holder
first=$(holder)
epoch() { status "$first" | jq -r --arg vip "$VIP" '.virtualIPs[] | select(.address == $vip) | .epoch'; }
before=$(epoch)

# One more VIP, without a word to the agents.
for host in "${HOSTS[@]}"; do VIPS="$VIP $VIP6" config "$host" >"$WORK/$host.yaml"; done
wait_until 20 "a holder of the new VIP" one_holder "$VIP6"
equal "the other one's holder and epoch" "$(holder) $(epoch)" "$first $before"

# A wrong file: told with its place, and everything stays.
echo "virtualIPs: [{address: nowhere}]" >>"$WORK/$first.yaml"
kill -HUP "${AGENT[$first]}"
wait_until 20 "refusal" grep -q "configuration refused.*$first.yaml:[0-9]*:[0-9]*: " "$WORK/agent-$first.err"
equal "holder and epoch after a wrong file" "$(holder) $(epoch)" "$first $before"

# Without the second VIP, by SIGHUP.
for host in "${HOSTS[@]}"; do
  config "$host" >"$WORK/$host.yaml"
  kill -HUP "${AGENT[$host]}"
done
gone() { [ -z "$(holder "$VIP6")" ] && ! ip netns exec "$ns-$1" ip -o addr show dev eth0 | grep -q "$VIP6/"; }
for host in "${HOSTS[@]}"; do wait_until 20 "end of the second VIP on $host" gone "$host"; done
equal "holder and epoch in the end" "$(holder) $(epoch)" "$first $before"
expect "the log says so" 'configuration read again' cat "$WORK/agent-$first.err"
