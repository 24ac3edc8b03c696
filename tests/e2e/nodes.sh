#!/bin/bash
# Nodes as kubectl shows them: ready while their agent is heard; when it is not, they and their attachments say so; a
# Node that is deleted is told of by its attachments and by its agent.
# time-limit: 240
. "$(dirname "$0")/../lib.sh"
SERVER_FLAGS="--node-grace-seconds 15"
# shellcheck disable=SC2086  # several flags
start_server one $SERVER_FLAGS
ADDRESS=${SERVER_URL#https://}
token=$("$FAIRLEAD" server token create --data "$SERVER_DATA")

start_agent() {
  : >"$WORK/$1.out"
  "$FAIRLEAD" agent --join-dir "$WORK/$1" --host-ip "$2" --fabric log --metrics-listen 127.0.0.1:0 \
    --hook-timeout 1s --allowed-program "$WORK/hook" >"$WORK/$1.out" 2>>"$WORK/$1.err" &
  AGENT_PID=$!
  STARTED+=("$AGENT_PID")
  wait_until 60 "agent $1 ready" grep -q '^fairlead agent ready' "$WORK/$1.out"
}
page() { curl -sS --max-time 10 "$(sed -n "s/.*metrics \(http.*\)metrics$/\1/p" "$WORK/$1.out")$2"; }
attach() {
  kubectl create -f - >/dev/null <<OBJECT
{"apiVersion": "fairlead.dev/v1alpha1", "kind": "NetworkAttachment", "metadata": {"name": "$1"},
 "spec": {"node": "$2", "subnet": "${4:-s}"${3:-}}}
OBJECT
}
ready() { kubectl get "$1" -o 'jsonpath={range .status.conditions[?(@.type=="Ready")]}{.status} {.reason} {.message}{end}'; }
says() { ready "$1" | grep -qE "$2"; }
shows() { kubectl get nodes -o wide | grep -qE "$1"; }
told() { kubectl describe "$1" "$2" | grep -qE "$3"; }

printf '#!/bin/sh\nsleep 100\n' >"$WORK/hook"
chmod +x "$WORK/hook"
for node in host-1 host-2; do
  check "join $node" "$FAIRLEAD" join --server "$ADDRESS" --token "$token" --node $node --data "$WORK/$node"
done
start_agent host-1 192.0.2.1
first=$AGENT_PID
start_agent host-2 192.0.2.2
second=$AGENT_PID

# --- a healthy node
wait_until 20 "host-1 ready" shows '^host-1 +Ready .*fairlead-.* 192\.0\.2\.1 '
expect "its lease" '^host-1 +host-1 ' kubectl get leases -n kube-node-lease
expect "described" 'Ready +True .*AgentAlive' kubectl describe node host-1
expect "with its address" 'InternalIP: +192\.0\.2\.1' kubectl describe node host-1
expect "with its lease" 'HolderIdentity: +host-1' kubectl describe node host-1

# --- attachments have a condition that can be waited for
kubectl create -f - >/dev/null <<'OBJECT'
{"apiVersion": "v1", "kind": "List", "items": [
{"apiVersion": "fairlead.dev/v1alpha1", "kind": "Subnet", "metadata": {"name": "s"}, "spec": {"vni": 5, "ipv4": "10.0.0.0/24"}},
{"apiVersion": "fairlead.dev/v1alpha1", "kind": "Subnet", "metadata": {"name": "six"}, "spec": {"vni": 6, "ipv6": "fd00::/64"}}]}
OBJECT
for i in 1 2 3 4 5 6; do attach "a$i" host-1; done
expect "waited for" 'condition met' kubectl wait --for=condition=Ready na/a1 na/a6 --timeout=60s
for i in 1 2 3 4 5 6; do
  wait_until 20 "a$i told" told na "a$i" 'Normal +Implemented .*fairlead-agent.* Implemented as interface'
done
attach six host-1 '' six
expect "IPv6 alone" 'condition met' kubectl wait --for=condition=Ready na/six --timeout=60s
expect "is shown" '^six +host-1 +six +fd00::[0-9a-f:]+ +Ready' kubectl get na
attach slow host-1 ', "postCreateExec": ["'"$WORK/hook"'"]'
wait_until 30 "a hook that takes too long" says na/slow '^False HookTimedOut .*killed after 1 s'
expect "is shown" '^slow .* Error .*killed after 1 s' kubectl get na -o wide
attach bad host-1 ', "postCreateExec": ["/bin/sh"]'
wait_until 20 "a hook that is not allowed, told" told na bad 'Warning +HookNotAllowed .*/bin/sh is not an allowed program'
attach lost nowhere
wait_until 20 "an unknown node, told" told na lost 'Warning +NodeUnknown .*node nowhere is not known'

# --- an agent is killed
kill -KILL "$first"
wait "$first" 2>/dev/null || true
wait_until 60 "host-1 not ready" shows '^host-1 +NotReady '
check "host-2 is" shows '^host-2 +Ready '
wait_until 20 "its attachments say so" says na/a1 '^Unknown AgentSilent agent of host-1 silent since 20'
expect "shown" '^a1 .* Silent .*agent of host-1 silent since' kubectl get na -o wide
attach late host-1
wait_until 20 "so do new ones" says na/late '^False AgentSilent agent of host-1 silent since 20'
expect "the node says so" 'agent of host-1 silent since 20' kubectl describe node host-1
wait_until 20 "and was told of" told node host-1 'Warning +NodeNotReady .*agent of host-1 silent since'
expect "counted" '^fairlead_nodes_silent 1$' kubectl get --raw /metrics
start_agent host-1 192.0.2.1
wait_until 30 "host-1 ready again" shows '^host-1 +Ready '
expect "and all its attachments" 'condition met' kubectl wait --for=condition=Ready na/a1 na/late na/six --timeout=60s

# --- a Node is deleted
attach other host-2
expect "ready" 'condition met' kubectl wait --for=condition=Ready na/other --timeout=60s
expect "its agent is ready" '^ok$' page host-2 readyz
kubectl delete node host-2 >/dev/null
wait_until 30 "its attachments say so" says na/other '^False NodeUnknown node host-2 is not known any more: it was deleted'
unready() { page host-2 readyz | grep -q 'the API does not know this node'; }
wait_until 60 "its agent says so" unready
failing() { page host-2 metrics | grep -qE '^fairlead_agent_watches_failing [1-9]'; }
wait_until 20 "and counts its watches as failing" failing
kill -0 "$second" || die "the agent ended"
