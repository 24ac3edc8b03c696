#!/bin/bash
# time-limit: 300
# Virtual IPs with `announce: route`: routing daemons of the operator's own announce what is on lo, by OSPF, with the recipes of
# docs/virtual-ips.md as they stand there: BIRD on host a, FRR on hosts b and c.
here=$(cd "$(dirname "$0")" && pwd)
[ "$(id -u)" -eq 0 ] || { echo "needs root for network namespaces"; exit 77; }
# shellcheck disable=SC1091  # not beside this script
. "$here/../lib.sh"
# shellcheck disable=SC1091
. "$here/../vip_lab.sh"
# shellcheck disable=SC1091
. "$here/../vip_routers.sh"
ROUTER=OSPF
VIPS="$VIP $VIP6"

# recipe NAME HOST: the block of the documentation after its mark, for this host.
recipe() {
  awk -v mark="<!-- recipe: $1 -->" '$0 == mark {found = 1; next} found && /^```/ {if (inside) exit; inside = 1; next} inside' \
    "$here/../../docs/virtual-ips.md" | sed "s/10\.0\.0\.1/10.0.0.$(number_of "$2")/"
}

config() {
  local other
  printf 'node: %s\nmetricsListen: none\nelection:\n  listen: 10.0.0.%s:10000\n  peers:\n' "$1" "$(number_of "$1")"
  for other in "${HOSTS[@]}"; do echo "  - {name: $other, address: '10.0.0.$(number_of "$other"):10000'}"; done
  cat <<Y
virtualIPs:
- {address: $VIP, announce: route, group: one}
- {address: '$VIP6', announce: route, group: one}
- {address: $ANYCAST, announce: route, anycast: true, health: [{command: [/usr/bin/test, -e, $WORK/well-$1], interval: 100ms, fall: 2, rise: 1}]}
- {address: 192.0.2.99, announce: external, health: [{tcp: "$VIP:7007", interval: 200ms}]}
Y
}

routed_lab_up
for host in "${HOSTS[@]}"; do touch "$WORK/well-$host"; done
start_router_bird <<'C'
protocol ospf v2 { merge external yes; ipv4 { import all; export none; }; area 0 { interface "eth0" { hello 1; dead 4; }; }; }
protocol ospf v3 { merge external yes; ipv6 { import all; export none; }; area 0 { interface "eth0" { hello 1; dead 4; }; }; }
C
recipe bird a >"$WORK/bird-a.conf"
grep -q "router id 10.0.0.1;" "$WORK/bird-a.conf" || die "no recipe for BIRD in the documentation"
in_ns a /usr/sbin/bird -f -c "$WORK/bird-a.conf" -s "$WORK/bird-a.sock" 2>"$WORK/router-a.err" &
STARTED+=($!)
for host in b c; do
  recipe frr "$host" >"$WORK/recipe-$host"
  grep -q "ospf router-id 10.0.0.$(number_of "$host")" "$WORK/recipe-$host" || die "no recipe for FRR in the documentation"
  # As frr.conf: vtysh gives each daemon its part.
  start_frr "$host" ospfd ospf6d
  vtysh --vty_socket "$WORK/frr-$host" -f "$WORK/recipe-$host" >"$WORK/router-$host.err" 2>&1 || die "FRR refuses the recipe: $(cat "$WORK/router-$host.err")"
done

start_names
for host in "${HOSTS[@]}"; do start_agent "$host"; done
settled() { leads_to_holder "$VIP" && leads_to_holder "$VIP6" && leads_to "$ANYCAST" "a b c"; }
wait_until 60 "routes by OSPF" settled
wait_until 30 "a spread over three nodes" answers "$ANYCAST" "a b c" 60

for host in "${HOSTS[@]}"; do
  move_to "$host"
  wait_until 20 "route to $host" leads_to "$VIP" "$host"
  wait_until 20 "answer of $host" answers "$VIP" "$host"
  wait_until 20 "answer of $host" answers "$VIP6" "$host"
done
# Nothing but what the recipe allows.
equal "routes to hosts that the router learnt" "$(in_ns r ip route show proto bird | grep -cE '^192\.0\.2\.')" 2
equal "routes to anything else" "$(in_ns r ip route show proto bird | grep -cvE '^192\.0\.2\.|^10\.0\.0\.0/24|nexthop')" 0

# The kernel's part takes at most 3 s; OSPF collects changes before it tells of them.
first=$(holder "$VIP")
kill -KILL "$(engine_of "$first")"
withdrawn_within 3000 "killed engine" "$first" "$VIP"
wait_until 60 "routes afterwards" settled
first=$(holder "$VIP")
engine=$(engine_of "$first")
kill -STOP "$engine"
withdrawn_within 5000 "stopped engine" "$first" "$VIP"
kill -CONT "$engine"
wait_until 60 "routes afterwards" settled
kill -KILL "${AGENT[b]}"
withdrawn_within 5000 "killed agent" b "$VIP" "$ANYCAST"
start_agent b
wait_until 60 "routes afterwards" settled
rm "$WORK/well-c"
wait_until 20 "withdrawal of a sick node" leads_to "$ANYCAST" "a b"
touch "$WORK/well-c"

# --- external: what was checked, and what was not
external() { status a | jq -e '.virtualIPs[] | select(.address == "192.0.2.99") | .announce == "external" and .healthy and (.here | not) and (.checked | test("was not checked"))'; }
wait_until 20 "status of the external address" external
expect "why says what was checked" 'was not checked' "$FAIRLEAD" why vip 192.0.2.99 --admin-socket "$WORK/a.sock"
