#!/bin/bash
# Two servers on one etcd, one of them frozen and then dead for good: the other does all there is to do at once, without
# waiting for a lease of the other to run out, because there is none. Whatever needed the frozen one would never come.
# time-limit: 180
. "$(dirname "$0")/../lib.sh"
command -v etcd >/dev/null || { echo "etcd is not installed"; exit 77; }
port=$(free_port) peer=$(free_port)
etcd --name m0 --data-dir "$WORK/etcd" --listen-client-urls "http://127.0.0.1:$port" \
  --advertise-client-urls "http://127.0.0.1:$port" --listen-peer-urls "http://127.0.0.1:$peer" \
  --initial-advertise-peer-urls "http://127.0.0.1:$peer" --initial-cluster "m0=http://127.0.0.1:$peer" \
  --log-level error >"$WORK/etcd.log" 2>&1 &
STARTED+=("$!")
start_server left --store "etcd:http://127.0.0.1:$port"
left=$SERVER_PID left_config=$KUBECONFIG
mkdir "$WORK/right" && cp -r "$WORK/left/pki" "$WORK/right/"
start_server right --store "etcd:http://127.0.0.1:$port"
right=$SERVER_PID right_config=$KUBECONFIG

attachment() {
  kubectl create -o 'jsonpath={.status.ipv4}' -f - <<<"{\"apiVersion\": \"fairlead.dev/v1alpha1\",
    \"kind\": \"NetworkAttachment\", \"metadata\": {\"name\": \"$1\"}, \"spec\": {\"node\": \"n1\", \"subnet\": \"$2\"}}"
}
# does_everything NAME VNI: a subnet that fills up, one who waits, a dependent, a namespace.
does_everything() {
  kubectl create -f - >/dev/null <<<"{\"apiVersion\": \"fairlead.dev/v1alpha1\", \"kind\": \"Subnet\",
    \"metadata\": {\"name\": \"$1\"}, \"spec\": {\"vni\": $2, \"ipv4\": \"10.$2.0.0/30\"}}"
  equal "$1: the subnet is validated by its own creation" "$(kubectl get sn "$1" -o 'jsonpath={.status.validated}')" true
  # The answer to the creation itself has the address: nobody else came in between.
  expect "$1: an address with the creation" '^10\.' attachment "$1-a" "$1"
  local count=1
  while [ -n "$(attachment "$1-$count" "$1")" ]; do count=$((count + 1)); done
  kubectl delete na "$1-a" >/dev/null
  wait_until 20 "$1: an address for the one who waited" bash -c \
    "kubectl get na $1-$count -o 'jsonpath={.status.ipv4}' | grep -q ."
  kubectl create cm "$1-owner" >/dev/null
  kubectl create -f - >/dev/null <<<"{\"apiVersion\": \"v1\", \"kind\": \"ConfigMap\", \"metadata\": {\"name\": \"$1-owned\",
    \"ownerReferences\": [{\"apiVersion\": \"v1\", \"kind\": \"ConfigMap\", \"name\": \"$1-owner\",
    \"uid\": \"$(kubectl get cm "$1-owner" -o 'jsonpath={.metadata.uid}')\"}]}}"
  kubectl delete cm "$1-owner" >/dev/null
  wait_until 20 "$1: the dependent collected" bash -c "! kubectl get cm $1-owned"
  kubectl create namespace "$1" >/dev/null
  kubectl create cm in-it -n "$1" >/dev/null
  kubectl delete namespace "$1" --wait=false >/dev/null
  wait_until 20 "$1: the namespace gone" bash -c "! kubectl get namespace $1"
  equal "$1: no server holds a lease" "$(kubectl get leases -A -o name)" ""
}
kill -STOP "$left"
KUBECONFIG=$right_config does_everything frozen 101
kill -KILL "$left"
KUBECONFIG=$right_config does_everything dead 102
# The other way round: the one that is left is the one that had started first.
PORT=$(grep -o '127.0.0.1:[0-9]*' "$left_config" | head -n 1 | cut -d: -f2) start_server left --store "etcd:http://127.0.0.1:$port"
kill -STOP "$right"
KUBECONFIG=$left_config does_everything again 103
