#!/bin/bash
# Subnets, attachments and addresses as a user sees them with kubectl: order does not matter, rivals get one
# winner, full subnets serve waiters when an address comes free, released addresses wait for the nodes.
# time-limit: 120
. "$(dirname "$0")/../lib.sh"
start_server one

subnet() {  # NAME VNI BLOCKS [NAMESPACE]
  echo "{\"apiVersion\": \"fairlead.dev/v1alpha1\", \"kind\": \"Subnet\",
    \"metadata\": {\"name\": \"$1\", \"namespace\": \"${4:-default}\"}, \"spec\": {\"vni\": $2, $3}}"
}
attachment() {  # NAME NODE SUBNET [MORE]
  echo "{\"apiVersion\": \"fairlead.dev/v1alpha1\", \"kind\": \"NetworkAttachment\",
    \"metadata\": {\"name\": \"$1\", \"namespace\": \"default\"},
    \"spec\": {\"node\": \"$2\", \"subnet\": \"$3\"${4:-}}}"
}
apply() { "$@" | kubectl apply -f - >/dev/null; }
field() { kubectl get "$1" "$2" -o "jsonpath={$3}"; }
has() { field "$1" "$2" "$3" | grep -qE -- "$4"; }
lacks() { ! has "$@"; }
addressed() { wait_until 20 "address of $1" has na "$1" .status.ipv4 .; }

# --- order of creation does not matter
apply attachment early n1 s1
wait_until 20 "word on the missing subnet" has na early .status.errors.ipam 'Subnet s1 does not exist'
apply subnet s1 7 '"ipv4": "10.0.0.0/29", "ipv6": "fd00::/64"'
addressed early
equal "the error is gone" "$(field na early .status.errors.ipam)" ""
equal "nobody is there to carry it" "$(field na early .status.errors.host)" \
  '["Node n1 is not known: no agent has reported from there"]'
expect "both families" '^fd00::' field na early .status.ipv6
ip=$(field na early .status.ipv4)
# shellcheck disable=SC2086  # four numbers
equal "the MAC carries the address" "$(field na early .status.macAddress)" \
  "$(printf "02:00:%02x:%02x:%02x:%02x" ${ip//./ })"
lock=v1-7-${ip//./-}
equal "the lock is its own" "$(field ipl "$lock" '.metadata.ownerReferences[0].uid')" "$(field na early .metadata.uid)"
equal "the status names the lock" "$(field na early .status.lockUID)" "$(field ipl "$lock" .metadata.uid)"

# --- what happened is told
told() { kubectl describe "$1" "$2" | grep -qE "$3"; }
wait_until 20 "the address told" told na early 'Normal +AddressAssigned .*fairlead-ipam +Assigned IPv4 address '"$ip"
check "and what was missing before" told na early 'Warning +NoAddress .*Subnet s1 does not exist'

# --- rivals
apply subnet rival 7 '"ipv4": "10.0.0.0/24"'
equal "the loser is not validated" "$(field sn rival .status.validated)" false
expect "the loser knows the winner" "CIDR overlaps with default/s1's" field sn rival .status.errors
wait_until 20 "the conflict told" told sn rival "Warning +SubnetConflict .*CIDR overlaps with default/s1's"
kubectl create namespace other >/dev/null
apply subnet stranger 7 '"ipv4": "192.168.0.0/24"' other
expect "a network stays in its namespace" 'same VNI but different namespace wrt default/s1' \
  kubectl get sn -n other stranger -o 'jsonpath={.status.errors}'
refuse "no VNI 0" 'spec.vni' kubectl apply -f <(subnet zero 0 '"ipv4": "10.1.0.0/24"')
refuse "no VNI 2^24" 'spec.vni' kubectl apply -f <(subnet big 16777216 '"ipv4": "10.1.0.0/24"')
refuse "no host bits" 'spec.ipv4' kubectl apply -f <(subnet bits 8 '"ipv4": "10.1.0.1/24"')
apply attachment on-rival n1 rival
wait_until 20 "word on the rival" has na on-rival .status.errors.ipam 'has not passed validation'
patch_status subnets rival '{"status": {"validated": true}}'
equal "a status is not to be talked into" "$(field sn rival .status.validated)" false

# --- a full subnet, and who waits for it (five addresses: .2 to .6)
for i in 1 2 3 4; do apply attachment "a$i" "n$i" s1; addressed "a$i"; done
apply attachment waits n1 s1
wait_until 20 "word on exhaustion" has na waits .status.errors.ipam 'no IPv4 address available in subnet default/s1'
wait_until 20 "exhaustion told" told na waits 'Warning +AddressExhausted .*no IPv4 address available'
equal "contention is told" "$(field na waits .status.addressContention)" true
wanted=$(field na a1 .status.ipv4)
apply attachment fixed n1 s1 ", \"fixedIPv4\": \"$wanted\""
wait_until 20 "word on the taken address" has na fixed .status.errors.ipam "$wanted is taken"
apply attachment outside n1 s1 ', "fixedIPv4": "10.9.9.9"'
wait_until 20 "word on the wrong address" has na outside .status.errors.ipam '10.9.9.9 is not an address that subnet s1'
kubectl delete na a1 >/dev/null
wait_until 20 "an address for one who waits" bash -c \
  'kubectl get na waits fixed -o "jsonpath={.items[*].status.ipv4}" | grep -q .'
kubectl delete na a2 >/dev/null
if [ -z "$(field na waits .status.ipv4)" ]; then addressed waits; fi

# --- a lock that is in use is not deleted, and who tries is told by whom
before=$(field na a3 .status.ipv4) lock=v1-7-${before//./-}
refuse "a lock in use" "$before is in use by NetworkAttachment default/a3" kubectl delete ipl "$lock"
equal "nothing happened to it" "$(field ipl "$lock" .metadata.deletionTimestamp)" ""
apply attachment claims n1 s1 ", \"fixedIPv4\": \"$before\""
wait_until 20 "the holder named" has na claims .status.errors.ipam "$before is taken by attachment a3"
kubectl delete na claims >/dev/null

# --- quarantine: a node that may still send to an address holds it
kubectl create -f - >/dev/null <<<'{"apiVersion": "fairlead.dev/v1alpha1", "kind": "NodeReport", "metadata": {"name": "n4"}}'
held=$(field na a4 .status.ipv4) lock=v1-7-${held//./-}
kubectl delete na a4 >/dev/null
equal "the released lock waits for the node" \
  "$(field ipl "$lock" '.metadata.annotations.fairlead\.dev/awaits')" n4
refuse "a released lock does not change" 'is being released' kubectl label ipl "$lock" a=b
released=$(field ipl "$lock" .metadata.resourceVersion)
refuse "a report is about networks" 'must be the number of a virtual network' \
  kubectl patch nodereport n4 --type=merge -p '{"applied": {"seven": "1"}}'
kubectl patch nodereport n4 --type=merge -p '{"appliedOwn": "1"}' >/dev/null
check "an older report does not count" kubectl get ipl "$lock"
kubectl patch nodereport n4 --type=merge -p "{\"appliedOwn\": \"$released\"}" >/dev/null
wait_until 20 "the address free" bash -c "! kubectl get ipl $lock || kubectl get ipl $lock -o jsonpath={.metadata.annotations} | grep -vq awaits"

# --- the winner goes, the rival follows, addresses move on
kubectl delete sn s1 >/dev/null
equal "the rival is validated in the same moment" "$(field sn rival .status.validated)" true
addressed on-rival
wait_until 20 "no address without subnet" lacks na early .status.ipv4 .

# --- a Subnet that is made again: its network is not given away meanwhile, its locks are in use again
stranger() { kubectl get sn -n other stranger -o 'jsonpath={.status.errors}'; }
taken=$(field na on-rival .status.ipv4) lock=v1-7-${taken//./-}
kubectl delete sn rival >/dev/null
wait_until 20 "no address without subnet" lacks na on-rival .status.ipv4 .
wait_until 20 "the network is still default's" bash -c \
  'kubectl get sn -n other stranger -o "jsonpath={.status.errors}" | grep -q "default still holds addresses"'
expect "an idle lock is kept" "$taken is kept for NetworkAttachment default/on-rival" \
  bash -c "kubectl delete ipl $lock 2>&1 || true"
apply subnet rival 7 '"ipv4": "10.0.0.0/24"'
equal "it has its network back" "$(field sn rival .status.validated)" true
addressed on-rival
equal "and its address" "$(field na on-rival .status.ipv4)" "$taken"
equal "its lock is not idle" "$(field ipl "$lock" '.metadata.labels.fairlead\.dev/idle-since')" ""
expect "the other waits" 'same VNI but' stranger

# --- the server comes back and knows it all
kill -KILL "$SERVER_PID"
wait "$SERVER_PID" 2>/dev/null || true
PORT=${SERVER_URL##*:} start_server one
before=$(field na on-rival .status.ipv4)
apply attachment after n1 rival
addressed after
[ "$(field na after .status.ipv4)" != "$before" ] || die "an address was given twice"
equal "the address outlives the server" "$(field na on-rival .status.ipv4)" "$before"
expect "metrics" 'fairlead_ipam_assignments_total [1-9]' kubectl get --raw /metrics
