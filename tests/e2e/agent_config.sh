#!/bin/bash
# The agent's file, `fairlead agent --check`, the admin socket and `fairlead why`, and what the service manager is told.
# time-limit: 180
. "$(dirname "$0")/../lib.sh"
ROOT=$(cd "$(dirname "$0")/../.." && pwd)
unset NOTIFY_SOCKET

# --- the documents are what the program says
"$FAIRLEAD" agent --config-reference >"$WORK/reference.md"
expect "docs/reference/agent.md is current (fairlead agent --config-reference)" '^same$' \
  sh -c "diff '$ROOT/docs/reference/agent.md' '$WORK/reference.md' && echo same"
check "the schema is JSON" sh -c "'$FAIRLEAD' agent --config-schema | python3 -c 'import json,sys; s=json.load(sys.stdin); assert s[\"properties\"][\"networks\"][\"additionalProperties\"] is False'"

# --- a server, and a node that has joined it
start_manager() {  # FILE: a service manager that writes what it is told
  python3 - "$1" <<'PYTHON' &
import socket, sys
manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
manager.bind(sys.argv[1] + ".sock")
with open(sys.argv[1], "a", buffering=1) as told:
    while True:
        told.write(manager.recv(4096).decode())
PYTHON
  STARTED+=($!)
  wait_until 10 "manager" test -S "$1.sock"
}
start_manager "$WORK/server.told"
NOTIFY_SOCKET=$WORK/server.told.sock start_server one
wait_until 10 "the server's word" grep -qx 'READY=1' "$WORK/server.told"
expect "its status" '^STATUS=ready.*https://127.0.0.1' cat "$WORK/server.told"
ADDRESS=${SERVER_URL#https://}
token=$("$FAIRLEAD" server token create --data "$SERVER_DATA")
check "join" "$FAIRLEAD" join --server "$ADDRESS" --token "$token" --node c1 --data "$WORK/c1"

# --- files that are wrong: FILE:LINE:COLUMN, status 2
file=$WORK/agent.yaml
wrong() {  # WHAT PATTERN; the file on standard input
  cat >"$file"
  refuse "$1" "^$file:$2" "$FAIRLEAD" agent --config "$file"
  refuse "$1, checked" "^$file:$2" "$FAIRLEAD" agent --check --config "$file"
  equal "status of: $1" "$("$FAIRLEAD" agent --check --config "$file" >/dev/null 2>&1; echo $?)" 2
}
wrong "an unknown field" '2:1: nodes: there is no such field' <<<$'node: c1\nnodes: c2'
wrong "one deep inside" '3:5: networks.hooks.progams: there is no such field' <<<$'networks:\n  hooks:\n    progams: []'
wrong "a wrong type" '2:3: networks.mtu: ' <<<$'networks:\n  mtu: large'
wrong "a bad address" '2:3: networks.host: must be a unicast address' <<<$'networks:\n  host: 224.0.0.1'
wrong "no address" '1:1: networks.host: must be given' <<<'networks: {fabric: log}'
wrong "a bad duration" '1:27: networks.auditInterval: "soon" is no duration' <<<'networks: {host: 1.2.3.4, auditInterval: soon}'
wrong "a field twice" '2:1: node: is given twice' <<<$'node: a\nnode: b'
wrong "no YAML" '3:1: end of sequence' <<<$'node: [a\n'
refuse "a file that is not there" '--config .*/nothing: ' "$FAIRLEAD" agent --config "$WORK/nothing"
echo 'node: c1' >"$file"
refuse "nothing to do" 'no feature is configured' "$FAIRLEAD" agent --config "$file" --lock-file "$WORK/l" --admin-socket none
cat >"$file" <<YAML
networks: {host: 192.0.2.1, fabric: log}
YAML
refuse "no API" '--kubeconfig or --join-dir: exactly one of them must be given: networks needs an API' \
  "$FAIRLEAD" agent --config "$file"

printf 'kubeconfig: a\njoinDir: b\nnetworks: {host: 192.0.2.1, fabric: log}\n' >"$file"
refuse "both kinds of credentials" "^$file:1:1: kubeconfig: only one of kubeconfig and joinDir may be given, not both \\($file:2:1: joinDir\\)" \
  "$FAIRLEAD" agent --config "$file"
printf 'kubeconfig: /nothing\nnetworks: {host: 192.0.2.1, fabric: log}\n' >"$file"
expect "a flag for one kind overrides the other" '^ok +credentials of join folder ' \
  "$FAIRLEAD" agent --check --config "$file" --join-dir "$WORK/c1"

# --- a file that is right
cat >"$file" <<YAML
joinDir: $WORK/c1
metricsListen: none
networks:
  host: 192.0.2.1
  fabric: log
  auditInterval: 1s
  hooks: {allowedPrograms: [/bin/true], timeout: 5s}
YAML
before=$(cd "$WORK/c1" && find . -type f -exec sha256sum {} + | sort)
refuse "a flag that is no number" '--mtu large: ' "$FAIRLEAD" agent --check --config "$file" --mtu large
expect "check" '^ok +client certificate, valid from ' "$FAIRLEAD" agent --check --config "$file"
expect "check of a program" '^ok +allowed program /bin/true' "$FAIRLEAD" agent --check --config "$file"
equal "well" "$("$FAIRLEAD" agent --check --config "$file" >/dev/null; echo $?)" 0
expect "what the fabric lacks" '^FAILED address 192.0.2.1 for tunnels: no interface of this host has it' \
  "$FAIRLEAD" agent --check --config "$file" --fabric vxlan
equal "not well" "$("$FAIRLEAD" agent --check --config "$file" --fabric vxlan >/dev/null; echo $?)" 1
expect "a program that is not there" '^FAILED allowed program /bin/nothing: No such file' \
  "$FAIRLEAD" agent --check --config "$file" --allowed-program /bin/nothing
mv "$WORK/c1/node.key" "$WORK/key"
expect "a key that is not there" '^FAILED credentials of join folder .*node.key' "$FAIRLEAD" agent --check --config "$file"
mv "$WORK/key" "$WORK/c1/node.key"
equal "nothing was changed" "$(cd "$WORK/c1" && find . -type f -exec sha256sum {} + | sort)" "$before"

# --- nobody to ask yet
why_out() {  # STATUS FLAGS…: what it says on standard output; the rest is in $WORK/why.err
  local status=0
  "$FAIRLEAD" why attachment web "${@:2}" 2>"$WORK/why.err" || status=$?
  [ "$status" = "$1" ] || echo "status $status instead of $1: $(cat "$WORK/why.err")"
}
alone() { env -u KUBECONFIG "$FAIRLEAD" why attachment web "$@"; }
refuse "nobody" 'agent: .*agent.sock: .*No such file' alone --join-dir "$WORK/c1"
# One witness that does not answer keeps no other from answering.
expect "the API, with a dead agent" 'it does not exist in namespace default' why_out 0 --join-dir "$WORK/c1" --kubeconfig "$KUBECONFIG"
expect "who did not answer" '^fairlead why: agent: .*/agent.sock: .*No such file' cat "$WORK/why.err"
expect "the API alone, of nothing" 'missing: the NetworkAttachment: it does not exist in namespace default' \
  "$FAIRLEAD" why attachment web --admin-socket "" --kubeconfig "$KUBECONFIG"

# --- the agent by its file
start_manager "$WORK/agent.told"
NOTIFY_SOCKET=$WORK/agent.told.sock "$FAIRLEAD" agent --config "$file" >"$WORK/c1.out" 2>"$WORK/c1.err" &
agent=$!
STARTED+=("$agent")
wait_until 30 "the agent's word" grep -qx 'READY=1' "$WORK/agent.told"
expect "its status" '^STATUS=ready, fabric log, 0 attachments here' cat "$WORK/agent.told"
socket=$WORK/c1/agent.sock
equal "whose the socket is" "$(stat -c %a "$socket")" 600
expect "what the socket says" '"node":"c1","ready":true,"api":true' curl -sS --unix-socket "$socket" http://localhost/status
refuse "a second agent takes no socket" "--admin-socket $socket: .*in use" \
  "$FAIRLEAD" agent --config "$file" --lock-file "$WORK/other.lock" --admin-socket "$socket"
expect "the first still answers" '^ok$' curl -sS --unix-socket "$socket" http://localhost/healthz

# --- why: the story of an attachment
why() { "$FAIRLEAD" why attachment web --join-dir "$WORK/c1" "$@"; }
refuse "not of this node" 'attachment default/web is not one of node c1' env -u KUBECONFIG "$FAIRLEAD" why attachment web --join-dir "$WORK/c1"
attachment() {
  kubectl create -f - >/dev/null <<OBJECT
{"apiVersion": "fairlead.dev/v1alpha1", "kind": "NetworkAttachment", "metadata": {"name": "$1"},
 "spec": {"node": "$2", "subnet": "s"$3}}
OBJECT
}
attachment web c1 ', "postCreateExec": ["/bin/false"]'
says() { why "${@:2}" | grep -qE -- "$1"; }
wait_until 20 "no subnet" says 'missing: an address: there is no Subnet s in namespace default'
expect "both tell" 'says the agent of node c1' why
sed "s|server: .*|server: https://127.0.0.1:$(free_port)|" "$KUBECONFIG" >"$WORK/dead.kubeconfig"
expect "the agent, with a dead API" 'says the agent of node c1' why_out 0 --join-dir "$WORK/c1" --kubeconfig "$WORK/dead.kubeconfig"
expect "that the API did not answer" '^fairlead why: API: .*refused' cat "$WORK/why.err"
expect "the agent, with a kubeconfig that is not there" 'says the agent of node c1' \
  why_out 0 --join-dir "$WORK/c1" --kubeconfig "$WORK/nothing"
# What these credentials may not read is named.
expect "what a node may not read" 'note: +Events could not be read: .*forbidden' alone --kubeconfig "$WORK/c1/node.kubeconfig"
# Whoever may not ask is told so.
chmod 755 "$WORK"
install -m 755 "$FAIRLEAD" "$WORK/fairlead"
refuse "not root" 'agent: .*/agent.sock: permission denied: run as root' env -u KUBECONFIG HOME=/ \
  setpriv --reuid 65534 --regid 65534 --clear-groups "$WORK/fairlead" why attachment web --join-dir "$WORK/c1"
rm "$WORK/fairlead"
kubectl create -f - >/dev/null <<'OBJECT'
{"apiVersion": "fairlead.dev/v1alpha1", "kind": "Subnet", "metadata": {"name": "s"}, "spec": {"vni": 5, "ipv4": "10.0.0.0/30"}}
OBJECT
wait_until 20 "a hook that may not run" says 'postCreateExec: /bin/false is not an allowed program on this node'
expect "what to do" 'allow the program on c1' why
attachment good c1 ''
implemented() { "$FAIRLEAD" why attachment good --join-dir "$WORK/c1" -o json |
  python3 -c 'import json,sys; a=json.load(sys.stdin); assert len(a)==2 and all(e["fulfilled"] for e in a), a'; }
wait_until 20 "one that is all right, by both" implemented
for name in p q r; do attachment "$name" c1 ''; done
full() { "$FAIRLEAD" why attachment r --join-dir "$WORK/c1" | grep -q 'all addresses of Subnet s are taken; it waits in line'; }
wait_until 20 "an exhausted pool" full
attachment lost c9 ''
nowhere() { "$FAIRLEAD" why attachment lost --join-dir "$WORK/c1" | grep -qE 'missing: its node: no agent has reported from c9'; }
wait_until 20 "a node that is not there" nowhere

# --- stopping
kill -TERM "$agent"
wait "$agent" || die "the agent did not end well"
expect "said" '^STOPPING=1$' cat "$WORK/agent.told"
equal "the socket is gone" "$(ls "$socket" 2>/dev/null)" ''
kill -TERM "$SERVER_PID"
wait "$SERVER_PID" || die "the server did not end well"
expect "said" '^STOPPING=1$' cat "$WORK/server.told"
