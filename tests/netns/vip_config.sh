#!/bin/bash
# time-limit: 180
# Virtual IPs by other people's words: kube-vip's own file on three hosts, health gates that move the address, notify
# commands, and what `fairlead agent --check` says of files that are right and wrong.
here=$(cd "$(dirname "$0")" && pwd)
[ "$(id -u)" -eq 0 ] || { echo "needs root for network namespaces"; exit 77; }
# shellcheck disable=SC1091  # not beside this script
. "$here/../lib.sh"
# shellcheck disable=SC1091
. "$here/../vip_lab.sh"
VIPS=$VIP
lab_up
check_in() { in_ns "$1" "$FAIRLEAD" agent --check --config "$2"; }
status_of_check() { check_in "$1" "$2" >/dev/null 2>&1; echo $?; }

# --- the file of the documentation, and the one that the program prints
# shellcheck disable=SC2218  # each form of the file is a function of that name
config a >"$WORK/own.yaml"
check "our form" check_in a "$WORK/own.yaml"
expect "it is on the interface's network" "^ok +virtual IP $VIP on eth0" check_in a "$WORK/own.yaml"
expect "what is weak is told" '^note +peers are not authenticated' check_in a "$WORK/own.yaml"
"$FAIRLEAD" vip sample >"$WORK/sample.yaml"
check "the sample" check_in a "$WORK/sample.yaml"
sed 's/eth0/eth9/' "$WORK/own.yaml" >"$WORK/late.yaml"
expect "an interface that is not there yet" "^note +virtual IP $VIP on eth9: there is no such interface" check_in a "$WORK/late.yaml"
equal "may come later" "$(status_of_check a "$WORK/late.yaml")" 0

wrong() {  # WHAT PATTERN; the file on standard input
  cat >"$WORK/wrong.yaml"
  refuse "$1" "^$WORK/wrong.yaml:$2" check_in a "$WORK/wrong.yaml"
  equal "status of: $1" "$(status_of_check a "$WORK/wrong.yaml")" 2
}
wrong "both forms" '4:1: vip: Forbidden: is of kube-vip.s form' < <(sed 4q "$WORK/own.yaml" | sed '4s/.*/vip: 10.0.0.9/')
wrong "an unstable lease" '6:3: election.lease: must be at least 4 times renew' < <(sed 's/lease: .*/lease: 10ms/' "$WORK/own.yaml")
wrong "a virtual IP that is a member's" "[0-9]+:4: virtualIPs.0..address: is a member's own address" \
  < <(sed "s/$VIP/10.0.0.2/" "$WORK/own.yaml")
wrong "no YAML" '3:1: ' <<<$'election: [\n'

# --- kube-vip's file: no secret, no names of ours, a preference
config() {
  local other
  echo "remotePeers:"
  for other in "${HOSTS[@]}"; do
    [ "$other" = "$1" ] || printf -- '- id: server-%s\n  address: 10.0.0.%s\n  port: 10000\n' "$other" "$(number_of "$other")"
  done
  printf 'localPeer:\n  id: server-%s\n  address: 10.0.0.%s\n  port: 10000\n' "$1" "$(number_of "$1")"
  printf 'vip: %s\ngratuitousARP: true\nsingleNode: false\nstartAsLeader: %s\ninterface: eth0\n' "$VIP" \
    "$([ "$1" = b ] && echo true || echo false)"
  printf 'loadBalancers:\n- name: Kubernetes Control Plane\n  type: tcp\n  port: 6443\n  bindToVip: true\n'
  printf '  backends:\n  - port: 6444\n    address: 10.0.0.1\n'
}
# shellcheck disable=SC2218  # each form of the file is a function of that name
config a >"$WORK/kube-vip.yaml"
expect "kube-vip's file" '^note +startAsLeader: no preference' check_in a "$WORK/kube-vip.yaml"
expect "its load balancers" '^note +loadBalancers: 1 checked, and NOT served' check_in a "$WORK/kube-vip.yaml"
refuse "its variables" '^fairlead agent: vip_address nowhere: must be an address' \
  env vip_address=nowhere "$FAIRLEAD" agent --check --config "$WORK/kube-vip.yaml"
for host in "${HOSTS[@]}"; do start_agent "$host"; done
wait_until 30 "a holder" one_holder
wait_until 30 "the preferred one" held_by b "$VIP"
expect "the name in the election" '"name":"server-b"' sh -c "'$FAIRLEAD' status --json --admin-socket '$WORK/a.sock' | tr -d ' \n'"
expect "not authenticated" 'peers are not authenticated' "$FAIRLEAD" status --json --admin-socket "$WORK/a.sock"
check "a client reaches it" in_ns client ping -c 1 -W 2 "$VIP"
for host in "${HOSTS[@]}"; do kill -TERM "${AGENT[$host]}"; done
for host in "${HOSTS[@]}"; do wait "${AGENT[$host]}" || die "the agent of $host did not end well"; done

# --- gates and notify commands: the address goes where the service is
rm -rf "$WORK"/state-*
config() {
  local other
  # A lease that a busy machine does not lose by the way.
  printf 'node: %s\nmetricsListen: none\nelection:\n  lease: 2s\n  listen: 10.0.0.%s:10000\n  peers:\n' "$1" "$(number_of "$1")"
  for other in "${HOSTS[@]}"; do printf -- "  - {name: %s, address: '10.0.0.%s:10000'}\n" "$other" "$(number_of "$other")"; done
  printf 'virtualIPs:\n- address: %s\n  interface: eth0\n  preferredNode: a\n  preemptDelay: 0s\n' "$VIP"
  printf '  health: [{command: [/usr/bin/test, -e, %s/well-%s], interval: 100ms, rise: 1, fall: 2}]\n' "$WORK" "$1"
  # shellcheck disable=SC2016  # for the notify command's shell
  printf '  notify: [/bin/sh, -c, %s]\n' "'echo \$FAIRLEAD_VIP \$FAIRLEAD_STATE \$FAIRLEAD_NODE \$FAIRLEAD_INTERFACE >>$WORK/notified-$1'"
}
touch "$WORK/well-a" "$WORK/well-b" "$WORK/well-c"
for host in "${HOSTS[@]}"; do start_agent "$host"; done
wait_until 30 "the preferred node" held_by a "$VIP"
wait_until 10 "it was told" grep -qx "$VIP held a eth0" "$WORK/notified-a"
rm "$WORK/well-a"
away() { [ -n "$(holder)" ] && [ "$(holder)" != a ]; }
wait_until 20 "a sick node gives it up" away
wait_until 10 "that was told, too" grep -qx "$VIP released a eth0" "$WORK/notified-a"
expect "why not here" "command /usr/bin/test -e $WORK/well-a: exit status 1" "$FAIRLEAD" why vip "$VIP" --admin-socket "$WORK/a.sock"
rm "$WORK/well-b" "$WORK/well-c"
sleep 2
check "if all are sick, one keeps it" one_holder
touch "$WORK/well-a"
wait_until 20 "the only well node has it" held_by a "$VIP"
told_again() { [ "$(grep -c held "$WORK/notified-a")" -ge 2 ] && [ "$(tail -n 1 "$WORK/notified-a")" = "$VIP held a eth0" ]; }
wait_until 10 "the return was told" told_again
# Never twice the same; more than two are an address that was lost and held again.
equal "each change was told once" "$(uniq -d "$WORK/notified-a")" ''

# --- the assigner knows why not the others; the others know whom to ask
find_leader
sick=$([ "$LEADER" = b ] && echo c || echo b)
expect "why not the others" "node $sick offers it and is not healthy" "$FAIRLEAD" why vip "$VIP" --admin-socket "$WORK/$LEADER.sock"
expect "who knows" "ask the same on node $LEADER" "$FAIRLEAD" why vip "$VIP" --admin-socket "$WORK/$sick.sock"

# --- an agent that is stopped tells that it has given the address up
kill -TERM "${AGENT[a]}"
wait "${AGENT[a]}" || die "the agent of a did not end well"
equal "told at the end" "$(tail -n 1 "$WORK/notified-a")" "$VIP released a eth0"
