#!/bin/bash
# Connection agents as real processes on the log fabric: attachments are carried, hooks run within
# their limits, nothing is lost by killing agents or the server, and a node has one agent.
# time-limit: 240
. "$(dirname "$0")/../lib.sh"
start_server one
ADDRESS=${SERVER_URL#https://} PORT=${ADDRESS##*:}
token=$("$FAIRLEAD" server token create --data "$SERVER_DATA")

cat >"$WORK/hook" <<'HOOK'
#!/bin/sh
case $1 in
say) shift; echo "$*"; echo oops >&2; exit 7 ;;
hang) echo hanging; setsid sleep 1000 & echo $!; wait ;;
flood) yes flood | head -c 3000000; exit 0 ;;
mark) echo "$3" >>"$2" ;;
esac
HOOK
chmod +x "$WORK/hook"

# start_agent NODE IP [flags…]: sets AGENT_PID; its output is appended to $WORK/NODE.log.
start_agent() {
  local node=$1 ip=$2
  shift 2
  : >"$WORK/$node.out"
  "$FAIRLEAD" agent --join-dir "$WORK/$node" --host-ip "$ip" --fabric log --metrics-listen 127.0.0.1:0 \
    --allowed-program "$WORK/hook" --hook-timeout 2s --hook-output 1000 --audit-interval 1s "$@" \
    >"$WORK/$node.out" 2>>"$WORK/$node.err" &
  AGENT_PID=$!
  STARTED+=("$AGENT_PID")
}
agent_ready() { wait_until 30 "agent $1 ready" grep -q '^fairlead agent ready, fabric log' "$WORK/$1.out"; }
page() { curl -sS --max-time 10 "$(sed -n "s/.*metrics \(http.*\)metrics$/\1/p" "$WORK/$1.out")$2"; }

# attach NAME NODE N [spec members…]: with address 10.0.0.N of network 5.
kubectl create -f - >/dev/null <<'OBJECT'
{"apiVersion": "fairlead.dev/v1alpha1", "kind": "Subnet", "metadata": {"name": "s"},
 "spec": {"vni": 5, "ipv4": "10.0.0.0/24"}}
OBJECT
attach() {
  local name=$1 node=$2 number=$3 more=${4:-}
  kubectl create -f - >/dev/null <<OBJECT
{"apiVersion": "fairlead.dev/v1alpha1", "kind": "NetworkAttachment", "metadata": {"name": "$name"},
 "spec": {"node": "$node", "subnet": "s", "fixedIPv4": "10.0.0.$number"$more}}
OBJECT
}
field() { kubectl get na "$1" -o "jsonpath={$2}"; }
is() { [ "$(field "$1" "$2")" = "$3" ]; }
filled() { [ -n "$(field "$1" "$2")" ]; }
carries() { grep -q "would carry.*addresses=\"\?10.0.0.$2\"\? .*$3" "$WORK/$1.err"; }
removes() { grep -q "would remove.*addresses=\"\?10.0.0.$2\"\? " "$WORK/$1.err"; }
applied() { kubectl get nodereport "$1" -o "jsonpath={.applied.$2}"; }
applied_beyond() { [ "$(applied "$1" "$2")" -ge "$3" ]; }

for node in a1 a2; do
  check "join $node" "$FAIRLEAD" join --server "$ADDRESS" --token "$token" --node $node --data "$WORK/$node"
done

# --- flags
refuse "no address" '--host-ip: must be given' "$FAIRLEAD" agent --join-dir "$WORK/a1"
for bad in 224.0.0.1 255.255.255.255 0.0.0.0 ff02::1; do
  refuse "$bad" "--host-ip $bad: must be a unicast address" "$FAIRLEAD" agent --join-dir "$WORK/a1" --host-ip "$bad"
done
refuse "loopback" '--host-ip 127.0.0.1: must not be a loopback address' \
  "$FAIRLEAD" agent --join-dir "$WORK/a1" --host-ip 127.0.0.1
refuse "no credentials" '--kubeconfig or --join-dir: exactly one' "$FAIRLEAD" agent --host-ip 192.0.2.1
# shellcheck disable=SC2016  # the backquotes are in the message
refuse "not joined" 'run `fairlead join` first' "$FAIRLEAD" agent --host-ip 192.0.2.1 --join-dir "$WORK/nobody"
refuse "another's folder" 'is that of node a1' "$FAIRLEAD" agent --host-ip 192.0.2.1 --join-dir "$WORK/a1" --node a2
refuse "a relative program" '--allowed-program sh: must be an absolute path' \
  "$FAIRLEAD" agent --host-ip 192.0.2.1 --join-dir "$WORK/a1" --allowed-program sh
refuse "an unknown fabric" 'fabric' "$FAIRLEAD" agent --host-ip 192.0.2.1 --join-dir "$WORK/a1" --fabric string
expect "help has examples" 'Examples' "$FAIRLEAD" agent --help

# --- two nodes, and an attachment that was there before them
attach early a1 10
wait_until 20 "word on the node" is early '.status.errors.host[0]' \
  'Node a1 is not known: no agent has reported from there'
start_agent a1 192.0.2.1
first=$AGENT_PID
start_agent a2 192.0.2.2
second=$AGENT_PID
agent_ready a1
agent_ready a2
wait_until 20 "early ready" filled early .status.ifcName
equal "the node is known" "$(field early .status.errors.host)" ""
kubectl delete na early >/dev/null
refuse "a second agent on the node" 'agent.lock is held by another agent of this node \(pid '"$first"'\)' \
  "$FAIRLEAD" agent --join-dir "$WORK/a1" --host-ip 192.0.2.1 --metrics-listen none
attach x a1 11
attach y a2 12
wait_until 20 "x ready" filled x .status.ifcName
wait_until 20 "y ready" filled y .status.ifcName
equal "where x is" "$(field x .status.hostIP)" 192.0.2.1
expect "the columns" 'x +a1 +s +10.0.0.11 +Ready' kubectl get na
wait_until 20 "y on a1" carries a1 12 192.0.2.2
wait_until 20 "x on a2" carries a2 11 192.0.2.1
told() { kubectl describe na "$1" | grep -qE "$2"; }
wait_until 20 "what the agent did, told" told x 'Normal +Implemented .*fairlead-agent.* Implemented as interface '"$(field x .status.ifcName)"' of node a1'
expect "metrics" '^fairlead_agent_local_attachments 1$' page a1 metrics
expect "metrics of others" '^fairlead_agent_remote_attachments 1$' page a1 metrics
expect "a watch for the node and one for its network" '^fairlead_agent_watches 2$' page a1 metrics
connections() { ss -Htnp state established dst "$ADDRESS" | grep -c "pid=$1,"; }
equal "on one connection" "$(connections "$first")" 1
expect "ready" '^ok$' page a1 readyz
expect "healthy" '^ok$' page a1 healthz

# --- a node that says it is at an address of the other family: out of reach, and nothing else is held up
attach far a9 19
wait_until 20 "address of far" filled far .status.ipv4
patch_status networkattachments far '{"status": {"hostIP": "2001:db8::9"}}'
named() { page a1 unreachable | grep -qx 'default/far on node a9: its host 2001:db8::9 is of another address family than this one, 192.0.2.1'; }
wait_until 20 "named as out of reach" named
expect "counted" '^fairlead_agent_unreachable_attachments 1$' page a1 metrics
expect "still ready" '^ok$' page a1 readyz
version=$(kubectl get na far -o 'jsonpath={.metadata.resourceVersion}')
kubectl delete na far >/dev/null
wait_until 20 "nobody waits for it" applied_beyond a1 5 "$version"
nowhere() { [ -z "$(page a1 unreachable)" ]; }
wait_until 20 "nothing out of reach" nowhere

# --- hooks
# shellcheck disable=SC2016  # for the agent to expand
attach say a1 13 ', "postCreateExec": ["'"$WORK/hook"'", "say", "${ifname} ${ipv4} ${mac}"]'
attach hang a1 14 ', "postCreateExec": ["'"$WORK/hook"'", "hang"]'
attach flood a1 15 ', "postCreateExec": ["'"$WORK/hook"'", "flood"]'
attach bad a1 16 ', "postCreateExec": ["/bin/sh", "-c", "id"]'
attach end a1 17 ', "postDeleteExec": ["'"$WORK/hook"'", "mark", "'"$WORK/marks"'", "old"]'
wait_until 20 "report of say" is say .status.postCreateExecReport.exitStatus 7
equal "its arguments" "$(field say .status.postCreateExecReport.stdOut)" \
  "$(field say .status.ifcName) 10.0.0.13 02:00:0a:00:00:0d"
equal "its errors" "$(field say .status.postCreateExecReport.stdErr)" oops
wait_until 20 "the failure told" told say "Warning +HookFailed .*hook ended with status 7: oops"
wait_until 20 "end of hang" is hang .status.postCreateExecReport.exitStatus -3
expect "why" 'hanging' field hang .status.postCreateExecReport.stdOut
expect "told" 'fairlead: killed after 2 s' field hang .status.postCreateExecReport.stdErr
out=$(field hang .status.postCreateExecReport.stdOut)
refuse "what it started in a session of its own is gone" 'No such file' ls "/proc/${out##*[!0-9]}"
wait_until 20 "end of flood" is flood .status.postCreateExecReport.exitStatus 0
out=$(field flood .status.postCreateExecReport.stdOut)
[ ${#out} -le 1000 ] || die "a report of ${#out} bytes"
expect "told" 'output beyond 1000 bytes dropped' field flood .status.postCreateExecReport.stdErr
wait_until 20 "refusal" is bad '.status.errors.host[0]' \
  'postCreateExec: /bin/sh is not an allowed program on this node'
equal "it has its interface" "$(field bad .status.hostIP)" 192.0.2.1
attach bad-end a1 18 ', "postDeleteExec": ["/bin/sh", "-c", "id"]'
wait_until 20 "refusal of the other hook" is bad-end '.status.errors.host[0]' \
  'postDeleteExec: /bin/sh is not an allowed program on this node'
kubectl delete na bad-end >/dev/null
wait_until 20 "end ready" filled end .status.ifcName
kubectl patch na end --type=merge -p '{"spec": {"postDeleteExec": ["'"$WORK/hook"'", "mark", "'"$WORK/marks"'", "new"]}}' >/dev/null
kubectl delete na end >/dev/null
wait_until 20 "the hook of a deletion" grep -qx new "$WORK/marks"

# --- a deletion is acknowledged by both nodes
kubectl delete na y say >/dev/null
attach z a2 12
wait_until 20 "z ready" filled z .status.ifcName
removed=$(kubectl get na z -o 'jsonpath={.metadata.resourceVersion}')
kubectl delete na z >/dev/null
wait_until 20 "a1 dropped z" applied_beyond a1 5 "$removed"
wait_until 20 "a2 dropped all" applied_beyond a2 5 "$removed"
wait_until 5 "y gone" removes a1 12

# --- the agent is killed: what happened meanwhile is caught up with
kill -KILL "$first"
wait "$first" 2>/dev/null || true
kubectl delete na hang >/dev/null
attach w a1 14
start_agent a1 192.0.2.1
first=$AGENT_PID
agent_ready a1
wait_until 20 "w ready" filled w .status.ifcName

# --- the server is killed: the agents go on, and catch up
kill -KILL "$SERVER_PID"
wait "$SERVER_PID" 2>/dev/null || true
kill -TERM "$second"
wait "$second" || die "the agent did not end well"
start_agent a2 192.0.2.2
second=$AGENT_PID
expect "not ready without an API" '^$' cat "$WORK/a2.out"
PORT=$PORT start_server one
agent_ready a2
attach v a2 12
wait_until 60 "v ready" filled v .status.ifcName
wait_until 60 "v on a1" carries a1 12 192.0.2.2
kill -0 "$first" || die "the agent died with the server"

# --- a clean end leaves everything as it is
lines=$(grep -c 'would remove' "$WORK/a1.err")
kill -TERM "$first"
wait "$first" || die "the agent did not end well"
equal "nothing was removed" "$(grep -c 'would remove' "$WORK/a1.err")" "$lines"
equal "the status stays" "$(field x .status.hostIP)" 192.0.2.1
