#!/bin/bash
# time-limit: 600
# Virtual IPs by BGP, with real agents that run BIRD, and BIRD and FRR as the router: the route is there, clients behind the
# router reach the address, and it is withdrawn when the holder's engine or agent is killed or stopped, when its host is dead and
# when its service is sick. Anycast is spread over all that are well.
#
#   ROUTERS  those to try (bird frr)
here=$(cd "$(dirname "$0")" && pwd)
[ "$(id -u)" -eq 0 ] || { echo "needs root for network namespaces"; exit 77; }
# shellcheck disable=SC1091  # not beside this script
. "$here/../lib.sh"
# shellcheck disable=SC1091
. "$here/../vip_lab.sh"
# shellcheck disable=SC1091
. "$here/../vip_routers.sh"
ROUTERS=${ROUTERS:-bird frr}
PASSWORD=$WORK/password
echo "a-secret;of-some_length" >"$PASSWORD"
BIRD=/usr/sbin/bird

router_bird() {
  start_router_bird <<C
protocol bfd { interface "*" { interval 100 ms; multiplier 3; }; }
protocol bgp v4 { local as 65000; neighbor range 10.0.0.0/24 as 65010; dynamic name "v4_"; direct; bfd on; error wait time 1, 5; password "$(cat "$PASSWORD")"; ipv4 { import all; export none; }; }
protocol bgp v6 { local as 65000; neighbor range fd00::/64 as 65010; dynamic name "v6_"; direct; bfd on; error wait time 1, 5; ipv6 { import all; export none; }; }
C
}
router_frr() {
  cat >"$WORK/r-bfdd.conf" <<'C'
bfd
 profile fast
  receive-interval 100
  transmit-interval 100
 exit
exit
C
  cat >"$WORK/r-bgpd.conf" <<C
router bgp 65000
 bgp router-id 10.0.0.254
 no bgp ebgp-requires-policy
 no bgp network import-check
 neighbor v4 peer-group
 neighbor v4 remote-as 65010
 neighbor v4 password $(cat "$PASSWORD")
 neighbor v4 bfd profile fast
 neighbor v6 peer-group
 neighbor v6 remote-as 65010
 neighbor v6 bfd profile fast
 bgp listen range 10.0.0.0/24 peer-group v4
 bgp listen range fd00::/64 peer-group v6
 address-family ipv4 unicast
  neighbor v4 activate
  no neighbor v6 activate
  maximum-paths 8
 exit-address-family
 address-family ipv6 unicast
  neighbor v6 activate
  maximum-paths 8
 exit-address-family
C
  start_frr r bfdd bgpd
}
stop_router() {
  local pid
  for pid in $(ip netns pids "$ns-r"); do kill -KILL "$pid"; done
  sleep 0.3
  in_ns r ip -4 route flush proto bird  # which it leaves behind
  in_ns r ip -6 route flush proto bird
}

# The agent's file: MORE has further virtual IPs.
config() {
  local other
  cat <<Y
node: $1
metricsListen: none
election:
  listen: 10.0.0.$(number_of "$1"):10000
  peers:
Y
  for other in "${HOSTS[@]}"; do echo "  - {name: $other, address: '10.0.0.$(number_of "$other"):10000'}"; done
  cat <<Y
bgp:
  as: 65010
  bird: $BIRD
  neighbors:
  - {address: 10.0.0.254, as: 65000, passwordFile: $PASSWORD}
  - {address: 'fd00::fe', as: 65000, sourceAddress: 'fd00::$(number_of "$1")'}
virtualIPs:
- {address: $VIP, announce: bgp, group: one, preempt: false, health: [{command: [/usr/bin/test, -e, $WORK/well-$1], interval: 100ms, fall: 2, rise: 1}]}
- {address: '$VIP6', announce: bgp, group: one, preempt: false}
- {address: $ANYCAST, announce: bgp, anycast: true, health: [{command: [/usr/bin/test, -e, $WORK/well-$1], interval: 100ms, fall: 2, rise: 1}]}
- {address: '$ANYCAST6', announce: bgp, anycast: true}
${MORE:-}
Y
}
both_lead_to_holder() { leads_to_holder "$VIP" && leads_to_holder "$VIP6" && leads_to "$ANYCAST" "a b c" && leads_to "$ANYCAST6" "a b c"; }
settle() { wait_until 40 "routes to the holder and to all ($(next_hops "$VIP"), $(next_hops "$ANYCAST"))" both_lead_to_holder; }
bird_of() { pgrep -f "$BIRD -f -c $WORK/state-$1/bird.conf" | head -n 1; }
# A node without a session gives its address up, so who holds it may change until all have theirs.
answers_at_holder() { leads_to_holder "$1" && answers "$1" "$(holder "$1")"; }
answers_elsewhere() { local name; name=$(ask "$1") && [ -n "$name" ] && [ "$name" != "$2" ]; }  # ADDRESS HOST
no_bird_of() { [ -z "$(bird_of "$1")" ]; }
session_up() { status "$1" | jq -e '.bgp.running and ([.bgp.sessions[] | select(.established and .bfd)] | length == 2)'; }

routed_lab_up
for host in "${HOSTS[@]}"; do touch "$WORK/well-$host"; done

# --- before anything runs: what --check says -------------------------------------------------------------------------
config a >"$WORK/check.yaml"
expect "the file is good" '^ok +program /usr/sbin/bird' in_ns a "$FAIRLEAD" agent --check --config "$WORK/check.yaml"
sed 's|bird: /usr/sbin/bird|bird: /nowhere/bird|' "$WORK/check.yaml" >"$WORK/lacks.yaml"
refuse "a machine without BIRD" "/nowhere/bird.*package bird2" in_ns a "$FAIRLEAD" agent --check --config "$WORK/lacks.yaml"
sed 's|as: 65010|as: none|' "$WORK/check.yaml" >"$WORK/wrong.yaml"
refuse "a wrong AS" 'wrong.yaml:[0-9]+:[0-9]+: bgp.as: ' in_ns a "$FAIRLEAD" agent --check --config "$WORK/wrong.yaml"

start_names
for host in "${HOSTS[@]}"; do start_agent "$host"; done
for ROUTER in $ROUTERS; do
  "router_$ROUTER"
  for host in "${HOSTS[@]}"; do wait_until 30 "sessions of $host with BFD" session_up "$host"; done
  settle
  equal "who may read BIRD's configuration" "$(stat -c %a "$WORK/state-a" "$WORK/state-a/bird.conf" | paste -sd ' ')" "700 600"
  wait_until 20 "answer of $VIP at its holder" answers_at_holder "$VIP"
  wait_until 20 "answer of $VIP6 at its holder" answers_at_holder "$VIP6"
  # Nothing but host routes to virtual IPs: the hosts' own addresses stay at home.
  equal "routes that the router learnt" "$(in_ns r ip route show proto "$([ "$ROUTER" = frr ] && echo bgp || echo bird)" | grep -cE '^[0-9]')" 2

  # --- anycast: spread over all
  wait_until 20 "a spread over three nodes" answers "$ANYCAST" "a b c" 60
  wait_until 20 "a spread over three nodes" answers "$ANYCAST6" "a b c" 60

  # --- the engine is killed, then stopped. What is withdrawn at once does not wait for the end of the kernel's loan, two seconds.
  first=$(holder "$VIP")
  kill -KILL "$(engine_of "$first")"
  withdrawn_within 1500 "killed engine" "$first" "$VIP" "$VIP6"
  settle
  first=$(holder "$VIP")
  engine=$(engine_of "$first")
  kill -STOP "$engine"
  withdrawn_within 3000 "stopped engine" "$first" "$VIP" "$VIP6"
  equal "anycast does not need the engine" "$(next_hops "$ANYCAST")" "a b c"
  wait_until 20 "answer of another holder" answers_elsewhere "$VIP" "$first"
  kill -CONT "$engine"
  settle

  # --- the agent is killed, then one is stopped
  first=$(holder "$VIP")
  kill -KILL "${AGENT[$first]}"
  withdrawn_within 1500 "killed agent" "$first" "$VIP" "$VIP6" "$ANYCAST" "$ANYCAST6"
  wait_until 10 "end of its BIRD" no_bird_of "$first"
  start_agent "$first"
  settle
  kill -STOP "${AGENT[b]}"
  withdrawn_within 3000 "stopped agent" b "$ANYCAST" "$ANYCAST6"
  kill -CONT "${AGENT[b]}"
  settle

  # --- the host is dead: BFD sees it long before the hold time of 9 s
  first=$(holder "$VIP")
  in_ns sw ip link set "p-$first" nomaster
  withdrawn_within 3000 "dead host" "$first" "$VIP" "$VIP6" "$ANYCAST" "$ANYCAST6"
  in_ns sw ip link set "p-$first" master br0
  settle

  # --- the service is sick
  first=$(holder "$VIP")
  rm "$WORK/well-$first"
  wait_until 20 "withdrawal of a sick node" leads_elsewhere "$VIP" "$first"
  wait_until 20 "withdrawal of a sick node" leads_elsewhere "$ANYCAST" "$first"
  expect "why says so" 'not announced by this node' "$FAIRLEAD" why vip "$ANYCAST" --admin-socket "$WORK/$first.sock"
  touch "$WORK/well-$first"
  settle

  # --- BIRD itself is killed: it comes back, and with it the routes
  first=$(holder "$VIP")
  bird=$(bird_of "$first")
  kill -KILL "$bird"
  withdrawn_within 3000 "killed BIRD" "$first" "$VIP" "$ANYCAST"
  settle

  # --- the file changes: one more address; then a wrong file
  for host in "${HOSTS[@]}"; do MORE="- {address: 192.0.2.90, announce: bgp}" config "$host" >"$WORK/$host.yaml"; done
  wait_until 30 "a route to the new address" leads_to_holder 192.0.2.90
  equal "the others stay" "$(next_hops "$ANYCAST")" "a b c"
  first=$(holder "$VIP")
  bird=$(bird_of "$first")
  sed 's/as: 65010/as: 0/' "$WORK/$first.yaml" >"$WORK/wrong.yaml"
  cp "$WORK/wrong.yaml" "$WORK/$first.yaml"
  kill -HUP "${AGENT[$first]}"
  wait_until 20 "refusal" grep -q "configuration refused.*$first.yaml:[0-9]*:[0-9]*: bgp.as: " "$WORK/agent-$first.err"
  printf '\0\1 {{{ garbage' >"$WORK/$first.yaml"
  kill -HUP "${AGENT[$first]}"
  sleep 1
  equal "the holder after wrong files" "$(next_hops "$VIP")" "$first"
  equal "its BIRD is the same" "$(bird_of "$first")" "$bird"
  for host in "${HOSTS[@]}"; do config "$host" >"$WORK/$host.yaml"; done
  wait_until 30 "end of the route" leads_to 192.0.2.90 ""
  settle
  stop_router
done

# --- no BIRD: a clear word, and no crash
BIRD=/nowhere/bird config a >"$WORK/a.yaml"
kill -HUP "${AGENT[a]}"
no_bird() { status a | jq -e '.bgp.problem | test("/nowhere/bird.*package bird2")'; }
wait_until 20 "a word about BIRD" no_bird
