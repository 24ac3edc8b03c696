#!/bin/bash
# time-limit: 240
# Virtual IPs as objects of the API: a server and three agents that follow VirtualIPs beside their files. What is created is
# held, its status names the holder and follows a fail-over, the election goes on without the server, an agent starts without
# it, and what is deleted is released.
here=$(cd "$(dirname "$0")" && pwd)
[ "$(id -u)" -eq 0 ] || { echo "needs root for network namespaces"; exit 77; }
# shellcheck disable=SC1091  # not beside this script
. "$here/../lib.sh"
# shellcheck disable=SC1091
. "$here/../vip_lab.sh"
VIPS=$VIP
FRONT=10.0.0.80
API=10.0.0.200:6443
eval "lab_$(declare -f config)" # the lab's own form
config() {
  lab_config "$1"
  echo "joinDir: $WORK/join-$1"
  printf 'virtualIPsFromAPI: {addresses: [10.0.0.64/26], allowedPrograms: [/usr/bin/test]}\n'
}
lab_up
in_ns sw ip addr add 10.0.0.200/24 dev br0

serve() {
  ip netns exec "$ns-sw" "$FAIRLEAD" server --data "$WORK/server" --listen "$API" >"$WORK/server.out" 2>"$WORK/server.err" &
  SERVER_PID=$!
  STARTED+=("$SERVER_PID")
  wait_until 30 "server" grep -q ready "$WORK/server.out"
}
k() { in_ns sw kubectl --kubeconfig "$WORK/server/admin.kubeconfig" "$@"; }
serve
for host in "${HOSTS[@]}"; do
  token=$(in_ns sw "$FAIRLEAD" server token create --data "$WORK/server")
  in_ns "$host" "$FAIRLEAD" join --server "$API" --token "$token" --node "$host" --data "$WORK/join-$host" >/dev/null
  start_agent "$host"
done
all_well

# --- created, held, told
virtual_ip() {  # NAME ADDRESS [further fields of the spec, as flow YAML]
  printf 'apiVersion: fairlead.dev/v1alpha1\nkind: VirtualIP\nmetadata: {name: %s}\nspec: {address: %s, interface: eth0%s}\n' \
    "$1" "$2" "${3:+, $3}"
}
status_of() { k get virtualip "$1" -o "jsonpath={.status.$2}"; }
condition() { k get virtualip "$1" -o "jsonpath={.status.conditions[?(@.type==\"$2\")].$3}"; }
tells_holder() { [ -n "$(holder "$FRONT")" ] && [ "$(status_of front holder)" = "$(holder "$FRONT")" ]; }
virtual_ip front "$FRONT" | k create -f - >/dev/null
wait_until 30 "a holder" one_holder "$FRONT"
wait_until 30 "its name in the status" tells_holder
check "a client reaches it" in_ns client ping -c 1 -W 2 "$FRONT"
check "it is ready" k wait --for=condition=Ready --timeout=30s virtualip/front
expect "the fence" '^True$' condition front Fenced status
first=$(holder "$FRONT")
expect "columns" "^front +$FRONT +$first +True" k get virtualips
expect "explained" 'holder.*<string>' k explain virtualip.status
all_told() { [ "$(k get virtualip front -o json | jq -r '.status.nodes | map(.state) | sort | join(" ")')" = "Holding Standby Standby" ]; }
wait_until 30 "the word of each node" all_told
equal "the generation that counts" "$(status_of front observedGeneration)" 1
expect "an Event of it" "Normal +Held +virtualip/front +$first answers for $FRONT" k get events
expect "the agent knows where it is from" '^front$' sh -c \
  "'$FAIRLEAD' status --json --admin-socket '$WORK/a.sock' | jq -r '.virtualIPs[] | select(.address == \"$FRONT\").object'"

# --- refused
refuse "the same address" 'is the address of virtual IP front, too' k create -f - < <(virtual_ip again "$FRONT")
refuse "no address" 'spec.address: Invalid value' k create -f - < <(virtual_ip wrong nowhere)
refuse "another address" 'field is immutable' k patch virtualip front --type=merge -p '{"spec": {"address": "10.0.0.81"}}'
is_refused() { condition "$1" Accepted message | grep -q "$2"; }
virtual_ip of-file "$VIP" | k create -f - >/dev/null
wait_until 20 "the file counts" is_refused of-file "a: this node's file has the address, and counts"
virtual_ip outside 10.0.0.9 | k create -f - >/dev/null
wait_until 20 "an address outside" is_refused outside 'is in none of virtualIPsFromAPI.addresses'
virtual_ip runs 10.0.0.82 'notify: [/usr/bin/touch, /tmp/never]' | k create -f - >/dev/null
wait_until 20 "a program" is_refused runs '/usr/bin/touch is not among virtualIPsFromAPI.allowedPrograms'
expect "an Event of that" 'Warning +Refused +virtualip/runs' k get events
equal "nobody holds what was refused" "$(holder 10.0.0.82)$(holder 10.0.0.9)" ''
check "the file's address is held" one_holder "$VIP"

# --- changed: a gate that the file allows, and that is sick where the address is
touch "$WORK/well"
k patch virtualip front --type=merge \
  -p "{\"spec\": {\"health\": [{\"command\": [\"/usr/bin/test\", \"-e\", \"$WORK/well\"], \"interval\": \"100ms\", \"rise\": 1}]}}" >/dev/null
followed() { [ "$(status_of front observedGeneration)" = 2 ]; }
wait_until 20 "the new generation" followed
rm "$WORK/well"
unhealthy() { [ "$(condition front Ready reason)" = Unhealthy ]; }
wait_until 20 "an unhealthy holder is told" unhealthy
touch "$WORK/well"
wait_until 20 "and a healthy one" k wait --for=condition=Ready --timeout=1s virtualip/front

# --- a quiet site writes nothing
version() { k get virtualip front -o 'jsonpath={.metadata.resourceVersion}'; }
settled() { local before; before=$(version); sleep 2; [ "$before" = "$(version)" ]; }
wait_until 30 "rest" settled

# --- the holder dies
die_whole() { kill -KILL "${AGENT[$1]}" "$(guard_of "$1")" "$(engine_of "$1")"; wait "${AGENT[$1]}" 2>/dev/null || true; }
first=$(holder "$FRONT")
die_whole "$first"
moved_on() { one_holder "$FRONT" && [ "$(holder "$FRONT")" != "$first" ]; }
wait_until 20 "a successor" moved_on
wait_until 20 "its name in the status" tells_holder
wait_until 10 "an Event of it" sh -c "ip netns exec '$ns-sw' kubectl --kubeconfig '$WORK/server/admin.kubeconfig' get events |
  grep -E 'Moved +virtualip/front +$FRONT moved from $first to $(holder "$FRONT")'"
start_agent "$first"
wait_until 30 "the first one again" well "$first"

# --- without the server
kill -TERM "$SERVER_PID"
wait "$SERVER_PID" || true
refuse "there is no server" 'refused' k get virtualips
check "it stays" one_holder "$FRONT"
second=$(holder "$FRONT")
first=$second
die_whole "$second"
wait_until 20 "a successor without a server" moved_on
check "a client reaches it" in_ns client ping -c 1 -W 2 "$FRONT"
start_agent "$second"
knows() { status "$1" | jq -e --arg vip "$FRONT" '.virtualIPs[] | select(.address == $vip and .object == "front" and .interface == "eth0")'; }
wait_until 30 "an agent that starts without a server knows it" knows "$second"

# --- with it again
serve
wait_until 60 "the status follows" tells_holder

# --- deleted
k delete virtualip front >/dev/null
nobody() { [ -z "$(holder "$FRONT")" ]; }
wait_until 30 "deleting releases it" nobody
for host in "${HOSTS[@]}"; do
  gone() { ! in_ns "$host" ip -o addr | grep -q "$FRONT/"; }
  wait_until 10 "no address on $host" gone
done
check "the file's address stays" one_holder "$VIP"
virtual_ip front "$FRONT" 'nodes: [b]' | k create -f - >/dev/null
wait_until 30 "made anew for one node" held_by b "$FRONT"
