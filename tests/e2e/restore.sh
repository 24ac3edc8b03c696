#!/bin/bash
# Whichever way a store is restored (etcd by etcdctl's snapshots under running and under new servers, by Fairlead's backups
# from etcd to etcd, from SQLite to etcd and back): objects are the same, resourceVersions go on growing, a watch at an
# old version is told 410, and a node's report from before frees no address that is released afterwards.
# time-limit: 300
. "$(dirname "$0")/../lib.sh"
for program in etcd etcdctl jq; do
  command -v "$program" >/dev/null || { echo "$program is not installed"; exit 77; }
done
export ETCDCTL_API=3
PEER=$(free_port)

start_etcd() {  # NAME: the member m0 on the folder $WORK/NAME
  ETCD_PORT=${ETCD_PORT:-$(free_port)}
  etcd --name m0 --data-dir "$WORK/$1" --listen-client-urls "http://127.0.0.1:$ETCD_PORT" \
    --advertise-client-urls "http://127.0.0.1:$ETCD_PORT" --listen-peer-urls "http://127.0.0.1:$PEER" \
    --initial-advertise-peer-urls "http://127.0.0.1:$PEER" --initial-cluster "m0=http://127.0.0.1:$PEER" \
    --log-level error >"$WORK/$1.log" 2>&1 &
  ETCD_PID=$!
  STARTED+=("$ETCD_PID")
  wait_until 30 "etcd" etcdctl --endpoints "http://127.0.0.1:$ETCD_PORT" endpoint health
  ETCD=etcd:http://127.0.0.1:$ETCD_PORT
}
stop_etcd() { kill -KILL "$ETCD_PID"; wait "$ETCD_PID" 2>/dev/null || true; }
restore_snapshot() {  # FOLDER: as operators do it, with the names and addresses of before
  etcdctl snapshot restore "$WORK/snapshot" --name m0 --data-dir "$WORK/$1" \
    --initial-cluster "m0=http://127.0.0.1:$PEER" --initial-advertise-peer-urls "http://127.0.0.1:$PEER" >/dev/null 2>&1
}
stop_server() {
  kill -TERM "$SERVER_PID"
  wait "$SERVER_PID" || die "SIGTERM: exit status $?"
}

version() { kubectl get "$1" "$2" -o 'jsonpath={.metadata.resourceVersion}'; }
make_objects() {
  kubectl apply -f - >/dev/null <<'YAML'
apiVersion: v1
kind: ConfigMap
metadata: {name: owner}
---
apiVersion: v1
kind: Secret
metadata: {name: hidden}
stringData: {a: b}
---
apiVersion: coordination.k8s.io/v1
kind: Lease
metadata: {name: held}
spec: {holderIdentity: somebody, leaseDurationSeconds: 15, leaseTransitions: 3, renewTime: "2026-11-17T08:00:00.123456Z"}
---
apiVersion: fairlead.dev/v1alpha1
kind: Subnet
metadata: {name: s1}
spec: {vni: 7, ipv4: 10.0.0.0/24}
---
apiVersion: fairlead.dev/v1alpha1
kind: NodeReport
metadata: {name: n1}
YAML
  kubectl apply -f - >/dev/null <<YAML
apiVersion: v1
kind: ConfigMap
metadata:
  name: owned
  ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: owner, uid: $(kubectl get cm owner -o 'jsonpath={.metadata.uid}')}]
YAML
  attach kept
}
attach() {
  kubectl create -f - >/dev/null <<YAML
apiVersion: fairlead.dev/v1alpha1
kind: NetworkAttachment
metadata: {name: $1}
spec: {node: n1, subnet: s1}
YAML
}
# Everything but what a restore may change: versions, and what the nodes say meanwhile.
objects() {
  kubectl get cm,secrets,leases,sn,na,ipl,ns -A -o json |
    jq -S '[.items[] | select(.metadata.name | test("^(lost|fresh)") | not) | del(.metadata.resourceVersion)]'
}
same_objects() { cmp -s "$WORK/before" <(objects); }

# What clients know that is lost: a later object, and a node that has applied all there was.
lose_something() {
  for i in $(seq 1 40); do kubectl create cm "lost-$i"; done >/dev/null
  LAST=$(version cm lost-40)
  report "$LAST"
}
report() {
  kubectl patch nodereport n1 --type=merge \
    -p "{\"appliedOwn\": \"$1\", \"appliedElsewhere\": \"$1\", \"applied\": {\"7\": \"$1\"}}" >/dev/null
}
# restored WAY: what must hold of a server on what was restored, to clients that know versions up to $LAST.
restored() {
  same_objects || die "$1: the objects differ: $(diff "$WORK/before" <(objects) | head)"
  refuse "$1: what is lost is gone" NotFound kubectl get cm lost-40
  # The agent of n1 still says what it has seen in the history that is lost.
  report "$LAST"
  local lock address
  address=$(kubectl get na kept -o 'jsonpath={.status.ipv4}')
  lock=v1-7-${address//./-}
  kubectl delete na kept >/dev/null
  equal "$1: the released address waits for its node" \
    "$(kubectl get ipl "$lock" -o 'jsonpath={.metadata.annotations.fairlead\.dev/awaits}')" n1
  attach fresh
  [ "$(kubectl get na fresh -o 'jsonpath={.status.ipv4}')" != "$address" ] || die "$1: a released address was given away"
  local released
  released=$(version ipl "$lock")
  [ "$released" -gt "$LAST" ] || die "$1: resourceVersions went back from $LAST to $released"
  for i in $(seq 1 60); do kubectl create cm "fresh-$i"; done >/dev/null
  api GET "/api/v1/namespaces/default/configmaps?watch=1&timeoutSeconds=2&resourceVersion=$LAST" >"$WORK/watched"
  expect "$1: a watch from before starts over" '"code": ?410' cat "$WORK/watched"
  api GET "/api/v1/namespaces/default/configmaps?resourceVersion=$LAST&resourceVersionMatch=Exact" >"$WORK/listed"
  equal "$1: a list of before is gone" "$(code)" 410
  report "$(version cm fresh-60)"
  wait_until 20 "$1: the address free after a new report" bash -c "! kubectl get ipl $lock"
  kubectl delete cm -l '!none' --field-selector metadata.name!=owner,metadata.name!=owned >/dev/null
  kubectl delete na fresh >/dev/null
  report "$(version cm owner)"
}

# --- etcd's own snapshot, under a server that runs
start_etcd first
start_server one --store "$ETCD"
make_objects
# Something that is none of ours, written where only we should write, and erased again, hurts nobody.
etcdctl --endpoints "http://127.0.0.1:$ETCD_PORT" put /fairlead/data/core/configmaps/default/foreign nothing >/dev/null
etcdctl --endpoints "http://127.0.0.1:$ETCD_PORT" del /fairlead/data/core/configmaps/default/foreign >/dev/null
check "a foreign value came and went" kubectl create cm lost-after-foreign
kill -0 "$SERVER_PID" || die "the server died of a foreign value"
objects >"$WORK/before"
etcdctl --endpoints "http://127.0.0.1:$ETCD_PORT" snapshot save "$WORK/snapshot" >/dev/null 2>&1
lose_something
stop_etcd
restore_snapshot second
start_etcd second
wait_until 30 "a server that goes on" kubectl get cm owner
restored "etcdctl, server running"
expect "it is told" 'etcd was restored.*raft log began anew|etcd was restored.*lies before' cat "$WORK/one.err"
expect "and counted" '^fairlead_store_restores_total 1' kubectl get --raw /metrics

# --- the same snapshot again, the server stopped and its folder lost
report "$(version cm owner)"
lose_something
stop_server
stop_etcd
restore_snapshot third
start_etcd third
cp -r "$WORK/one/pki" "$WORK/pki"
mkdir "$WORK/two" && cp -r "$WORK/pki" "$WORK/two/"
start_server two --store "$ETCD"
restored "etcdctl, new server"

# --- a backup of etcd into another etcd
attach kept
objects >"$WORK/before"
expect "backup of etcd" 'objects at revision' "$FAIRLEAD" server backup --data "$WORK/two" --store "$ETCD" "$WORK/from-etcd"
lose_something
stop_server
stop_etcd
ETCD_PORT=$(free_port) PEER=$(free_port)
start_etcd fourth
mkdir "$WORK/three" && cp -r "$WORK/pki" "$WORK/three/"
expect "restore into etcd" 'objects of revision' "$FAIRLEAD" server restore --data "$WORK/three" --store "$ETCD" "$WORK/from-etcd"
start_server three --store "$ETCD"
restored "backup, etcd to etcd"

# --- from etcd to SQLite
attach kept
objects >"$WORK/before"
expect "backup of etcd" 'objects at revision' "$FAIRLEAD" server backup --data "$WORK/three" --store "$ETCD" "$WORK/to-sqlite"
lose_something
stop_server
mkdir "$WORK/four" && cp -r "$WORK/pki" "$WORK/four/"
expect "restore into SQLite" 'objects of revision' "$FAIRLEAD" server restore --data "$WORK/four" "$WORK/to-sqlite"
start_server four
restored "backup, etcd to SQLite"

# --- the same backup again, into a new folder: also what was written in between is not repeated
attach kept
lose_something
stop_server
mkdir "$WORK/five" && cp -r "$WORK/pki" "$WORK/five/"
expect "restore once more" 'objects of revision' "$FAIRLEAD" server restore --data "$WORK/five" "$WORK/to-sqlite"
start_server five
restored "backup, SQLite for the second time"

# --- and from SQLite to etcd
attach kept
objects >"$WORK/before"
expect "backup of SQLite" 'objects at revision' "$FAIRLEAD" server backup --data "$WORK/five" "$WORK/to-etcd"
lose_something
stop_server
stop_etcd
ETCD_PORT=$(free_port) PEER=$(free_port)
start_etcd fifth
mkdir "$WORK/six" && cp -r "$WORK/pki" "$WORK/six/"
expect "restore into etcd" 'objects of revision' "$FAIRLEAD" server restore --data "$WORK/six" --store "$ETCD" "$WORK/to-etcd"
start_server six --store "$ETCD"
restored "backup, SQLite to etcd"
