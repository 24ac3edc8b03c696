#!/bin/bash
# A fairlead server behind the API aggregator of a host cluster: users, tokens, rights and namespaces are
# the host's, subnets are Fairlead's. The host is another fairlead server behind a small aggregating proxy;
# with KUBE_APISERVER=/path/to/kube-apiserver it is that one, with etcd, in a network namespace of its own; with
# KUBE_CONTROLLER_MANAGER=/path/to/kube-controller-manager, too, its garbage collector is tried on our kinds.
# time-limit: 300
KUBE_APISERVER=${KUBE_APISERVER:-}
if [ -n "$KUBE_APISERVER" ] && [ -z "${IN_NAMESPACE:-}" ]; then
  IN_NAMESPACE=1 exec unshare --net -- bash "$0" "$@"
fi
. "$(dirname "$0")/../lib.sh"
HERE=$(cd "$(dirname "$0")" && pwd)
DEPLOY=$(cd "$HERE/../../deploy/kubernetes" && pwd)
SUBNETS=/apis/fairlead.dev/v1alpha1/namespaces/default/subnets
NAME=fairlead.fairlead-system.svc
PKI=$WORK/pki
mkdir -p "$PKI"

# --- certificates: authority NAME; certificate AUTHORITY NAME SUBJECT [extensions]
authority() {
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj "/CN=$1" \
    -keyout "$PKI/$1.key" -out "$PKI/$1.crt" 2>/dev/null
}
certificate() {
  openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "$3" -keyout "$PKI/$2.key" -out "$PKI/$2.csr" 2>/dev/null
  openssl x509 -req -in "$PKI/$2.csr" -CA "$PKI/$1.crt" -CAkey "$PKI/$1.key" -CAcreateserial -days 2 \
    -extfile <(echo "${4:-extendedKeyUsage=clientAuth}") -out "$PKI/$2.crt" 2>/dev/null
}
SERVING='subjectAltName=IP:127.0.0.1,DNS:localhost
extendedKeyUsage=serverAuth'

# kubeconfig FILE URL CA TOKEN
kubeconfig() {
  cat >"$1" <<YAML
apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "$2", certificate-authority-data: "$(base64 -w0 "$3")"}}]
users: [{name: u, user: {token: "$4"}}]
contexts: [{name: c, context: {cluster: c, user: u}}]
current-context: c
YAML
}
as() { local who=$1; shift; kubectl --kubeconfig "$WORK/$who.kubeconfig" "$@"; }
# direct TOKEN METHOD PATH: the status of a request past the aggregator
direct() {
  local token=$1 method=$2 path=$3
  shift 3
  curl -sS --max-time 30 -o "$WORK/body" -w '%{http_code}' --cacert "$BEHIND_DATA/pki/ca.crt" -X "$method" \
    ${token:+-H "Authorization: Bearer $token"} "$@" "$BEHIND_URL$path"
}
metric() { # NAME: its value on the server behind
  curl -sS --cacert "$BEHIND_DATA/pki/ca.crt" -H "Authorization: Bearer $(cat "$BEHIND_DATA/admin.token")" \
    "$BEHIND_URL/metrics" | awk -v name="$1" '$1 == name {print $2}'
}
subnet() { # NAME VNI [NAMESPACE]
  printf 'apiVersion: fairlead.dev/v1alpha1\nkind: Subnet\nmetadata: {name: %s, namespace: %s}\nspec: {ipv4: 10.1.0.0/24, vni: %s}\n' \
    "$1" "${3:-default}" "$2" >"$WORK/$1.yaml"
}
start_behind() { # ADDRESS: the server behind
  local port
  port=$(free_port)
  BEHIND_DATA=$WORK/behind BEHIND_URL=https://$1:$port BEHIND_PORT=$port
  "$FAIRLEAD" server --data "$BEHIND_DATA" --listen "$1:$port" --host-kubeconfig "$WORK/host.kubeconfig" \
    --tls-name "$NAME" >"$WORK/behind.out" 2>"$WORK/behind.err" &
  STARTED+=($!)
  wait_until 30 "authority of the server behind" test -s "$BEHIND_DATA/pki/ca.crt"
}

authority front-proxy
certificate front-proxy front-proxy-client /CN=front-proxy-client
authority host
certificate host front /CN=front "$SERVING"

# --- the host: an API at $HOST_URL with authority $HOST_CA; users admin, limited and nobody by token
fairlead_host() {
  cat >"$WORK/tokens.csv" <<CSV
admin-token,boss,1,"system:masters"
limited-token,limited,2
nobody-token,nobody,3
server-token,server,4,"fairlead:controllers"
CSV
  start_server host --token-auth-file "$WORK/tokens.csv"
  HOST_PID=$SERVER_PID HOST_DATA=$SERVER_DATA HOST_OWN_URL=$SERVER_URL
  unset KUBECONFIG
  HOST_CA=$PKI/host.crt HOST_PORT=$(free_port)
  HOST_URL=https://127.0.0.1:$HOST_PORT
}
publish_authentication() { # FRONT-PROXY-CA: what kube-apiserver publishes by itself
  as own create configmap extension-apiserver-authentication -n kube-system --dry-run=client -o yaml \
    --from-file=requestheader-client-ca-file="$PKI/$1.crt" --from-literal=requestheader-allowed-names='["front-proxy-client"]' \
    --from-literal=requestheader-username-headers='["X-Remote-User"]' --from-literal=requestheader-group-headers='["X-Remote-Group"]' \
    --from-literal=requestheader-extra-headers-prefix='["X-Remote-Extra-"]' | as own apply -f - >/dev/null 2>&1
}
proxy() { # NAME PORT CLIENT-CERTIFICATE
  python3 "$HERE/aggregating_proxy.py" --port "$2" --cert "$PKI/front.crt" --key "$PKI/front.key" \
    --client-cert "$PKI/$3.crt" --client-key "$PKI/$3.key" --host "$HOST_OWN_URL" --host-ca "$HOST_DATA/pki/ca.crt" \
    --server "$BEHIND_URL" --server-ca "$BEHIND_DATA/pki/ca.crt" --server-name "$NAME" >"$WORK/$1.out" 2>"$WORK/$1.err" &
  STARTED+=($!)
  wait_until 20 "proxy $1" grep -q ready "$WORK/$1.out"
}
kube_host() {
  ip link set lo up
  ip address add 192.0.2.10/32 dev lo
  local client peer port
  client=$(free_port) peer=$(free_port) port=$(free_port)
  etcd --data-dir "$WORK/etcd" --listen-client-urls "http://127.0.0.1:$client" --advertise-client-urls "http://127.0.0.1:$client" \
    --listen-peer-urls "http://127.0.0.1:$peer" --initial-advertise-peer-urls "http://127.0.0.1:$peer" \
    --initial-cluster "default=http://127.0.0.1:$peer" >"$WORK/etcd.out" 2>&1 &
  STARTED+=($!)
  cat >"$WORK/tokens.csv" <<CSV
admin-token,boss,1,"system:masters"
limited-token,limited,2
nobody-token,nobody,3
CSV
  openssl genrsa -out "$PKI/accounts.key" 2048 2>/dev/null
  "$KUBE_APISERVER" --etcd-servers "http://127.0.0.1:$client" --bind-address 127.0.0.1 --secure-port "$port" \
    --advertise-address 192.0.2.10 --service-cluster-ip-range 10.96.0.0/24 --authorization-mode RBAC --cert-dir "$WORK/kube" \
    --tls-cert-file "$PKI/front.crt" --tls-private-key-file "$PKI/front.key" --client-ca-file "$PKI/host.crt" \
    --token-auth-file "$WORK/tokens.csv" --service-account-key-file "$PKI/accounts.key" \
    --service-account-signing-key-file "$PKI/accounts.key" --service-account-issuer https://kubernetes.default.svc \
    --requestheader-client-ca-file "$PKI/front-proxy.crt" --requestheader-allowed-names front-proxy-client \
    --requestheader-username-headers X-Remote-User --requestheader-group-headers X-Remote-Group \
    --requestheader-extra-headers-prefix X-Remote-Extra- --proxy-client-cert-file "$PKI/front-proxy-client.crt" \
    --proxy-client-key-file "$PKI/front-proxy-client.key" --enable-aggregator-routing >"$WORK/kube.out" 2>"$WORK/kube.err" &
  STARTED+=($!)
  HOST_URL=https://127.0.0.1:$port HOST_CA=$PKI/host.crt
  wait_until 90 "kube-apiserver" curl -sf --cacert "$HOST_CA" "$HOST_URL/readyz"
  kubeconfig "$WORK/admin.kubeconfig" "$HOST_URL" "$HOST_CA" admin-token
  wait_until 30 "namespace default" as admin get namespace default
}

# --- start
subnet blue 7
if [ -z "$KUBE_APISERVER" ]; then
  fairlead_host
  kubeconfig "$WORK/own.kubeconfig" "$HOST_OWN_URL" "$HOST_DATA/pki/ca.crt" admin-token
  # What is wrong at the start is said, with the way out of it.
  starts_with() { "$FAIRLEAD" server --data "$WORK/wrong" --listen 127.0.0.1:0 --host-kubeconfig "$1"; }
  refuse "no such kubeconfig" '--host-kubeconfig .*/none.*[Nn]o such file' starts_with "$WORK/none"
  refuse "not in a pod" '--host-kubeconfig in-cluster.*KUBERNETES_SERVICE_HOST' starts_with in-cluster
  refuse "nothing is published" 'ConfigMap kube-system/extension-apiserver-authentication.*not found.*requestheader-client-ca-file' \
    starts_with "$WORK/own.kubeconfig"
  as own create configmap extension-apiserver-authentication -n kube-system --from-literal=client-ca-file= >/dev/null
  refuse "no front proxy" 'requestheader-client-ca-file is missing' starts_with "$WORK/own.kubeconfig"
  publish_authentication front-proxy
  kubeconfig "$WORK/nobody.kubeconfig" "$HOST_OWN_URL" "$HOST_DATA/pki/ca.crt" nobody-token
  refuse "no right to read it" 'forbidden.*extension-apiserver-authentication-reader' starts_with "$WORK/nobody.kubeconfig"
  # Host and aggregator are one API for the server behind, as they are with Kubernetes.
  kubeconfig "$WORK/host.kubeconfig" "$HOST_URL" "$HOST_CA" admin-token
  start_behind 127.0.0.1
  proxy front "$HOST_PORT" front-proxy-client
  wait_until 60 "server behind ready" grep -q ready "$WORK/behind.out"
  for who in admin limited nobody; do kubeconfig "$WORK/$who.kubeconfig" "$HOST_URL" "$HOST_CA" "$who-token"; done
else
  kube_host
  for who in limited nobody; do kubeconfig "$WORK/$who.kubeconfig" "$HOST_URL" "$HOST_CA" "$who-token"; done
  as admin apply -f "$DEPLOY/namespace.yaml" -f "$DEPLOY/rbac.yaml" >/dev/null
  as admin apply -f - >/dev/null <<'YAML'
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: reader, namespace: default}
rules:
- {apiGroups: [fairlead.dev], resources: [subnets], verbs: [get, list, watch]}
YAML
  as admin create rolebinding reader --role=reader --user=limited -n default >/dev/null
  kubeconfig "$WORK/host.kubeconfig" "$HOST_URL" "$HOST_CA" "$(as admin create token fairlead-server -n fairlead-system)"
  start_behind 192.0.2.10
  sed "s/SERVER_ADDRESS/192.0.2.10/; s/SERVER_PORT/$BEHIND_PORT/" "$DEPLOY/service-outside.yaml" | as admin apply -f - >/dev/null
  sed "s/CA_BUNDLE/$(base64 -w0 "$BEHIND_DATA/pki/ca.crt")/" "$DEPLOY/apiservice.yaml" | as admin apply -f - >/dev/null
  wait_until 60 "server behind ready" grep -q ready "$WORK/behind.out"
  check "the APIService becomes available" as admin wait --for=condition=Available --timeout=60s apiservice/v1alpha1.fairlead.dev
  wait_until 60 "discovery and OpenAPI of it" as admin explain subnet
fi

# --- an admin of the host does everything, through the aggregator
expect "api-resources" 'subnets +sn +fairlead.dev/v1alpha1 +true +Subnet' as admin api-resources --api-group fairlead.dev
expect "explain" 'KIND: +Subnet' as admin explain subnet
expect "explain a field" 'vni.*<integer>' as admin explain subnet.spec
expect "create" 'subnet.fairlead.dev/blue created' as admin create -f "$WORK/blue.yaml"
expect "get" '^blue .*10\.1\.0\.0/24' as admin get subnets
expect "apply" 'blue (configured|unchanged)' as admin apply -f "$WORK/blue.yaml"
sed -i 's/metadata: {/metadata: {labels: {tier: front}, /' "$WORK/blue.yaml"
expect "apply a change" 'blue configured' as admin apply -f "$WORK/blue.yaml"
expect "server-side apply" 'blue serverside-applied' as admin apply --server-side --field-manager other -f "$WORK/blue.yaml"
equal "changed" "$(as admin get subnet blue -o 'jsonpath={.metadata.labels.tier}')" front
expect "patch" 'blue patched' as admin patch subnet blue --type merge -p '{"metadata":{"annotations":{"a":"b"}}}'
as admin get subnets --watch --output-watch-events >"$WORK/watch.out" 2>"$WORK/watch.err" &
STARTED+=($!)
wait_until 20 "the watch shows what is there" grep -q 'ADDED.*blue' "$WORK/watch.out"
subnet green 9
expect "create another" 'green created' as admin create -f "$WORK/green.yaml"
expect "delete it" 'green" deleted' as admin delete subnet green
wait_until 20 "the watch shows the change" grep -q 'DELETED.*green' "$WORK/watch.out"
expect "who made it" 'kubectl' as admin get subnet blue --show-managed-fields -o 'jsonpath={.metadata.managedFields[*].manager}'

# --- the host's rights count
expect "limited reads" '^blue' as limited get subnets -n default
expect "limited watches" '^blue' timeout 20 kubectl --kubeconfig "$WORK/limited.kubeconfig" get subnet blue -n default --watch --request-timeout=2s
refuse "limited does not create" 'Forbidden.*User "limited" cannot create resource "subnets" in API group "fairlead.dev"' as limited create -f "$WORK/green.yaml"
refuse "limited does not delete" 'Forbidden' as limited delete subnet blue -n default
refuse "limited sees no other namespace" 'Forbidden' as limited get subnets -A
refuse "limited sees no other kind" 'Forbidden' as limited get iplocks -n default
refuse "nobody sees nothing" 'Forbidden.*User "nobody" cannot list' as nobody get subnets -n default
kubeconfig "$WORK/stranger.kubeconfig" "$HOST_URL" "$HOST_CA" no-such-token
refuse "a stranger" 'Unauthorized|must be logged in' as stranger get subnets
before=$(metric fairlead_host_access_reviews_total)
for _ in 1 2 3 4 5; do as limited get subnet blue -n default -o name >/dev/null; done
after=$(metric fairlead_host_access_reviews_total)
[ "$((after - before))" -le 2 ] || die "answers are not kept: $before, then $after access reviews"
CHECKS=$((CHECKS + 1))

# --- past the aggregator: tokens by TokenReview, identity headers only from the aggregator's certificate
equal "a token of the host" "$(direct limited-token GET $SUBNETS)" 200
equal "and its rights" "$(direct limited-token DELETE $SUBNETS/blue)" 403
equal "a token of nobody" "$(direct no-such-token GET $SUBNETS)" 401
equal "no token" "$(direct '' GET $SUBNETS)" 401
equal "headers from anybody" "$(direct '' GET $SUBNETS -H 'X-Remote-User: boss' -H 'X-Remote-Group: system:masters')" 401
FRONT=(--cert "$PKI/front-proxy-client.crt" --key "$PKI/front-proxy-client.key")
equal "headers from the aggregator" "$(direct '' GET $SUBNETS "${FRONT[@]}" -H 'X-Remote-User: limited')" 200
equal "the aggregator without a user" "$(direct '' GET $SUBNETS "${FRONT[@]}")" 401
certificate front-proxy other-client /CN=other
equal "another certificate of its authority" \
  "$(direct '' GET $SUBNETS --cert "$PKI/other-client.crt" --key "$PKI/other-client.key" -H 'X-Remote-User: boss' -H 'X-Remote-Group: system:masters')" 401
equal "health is open" "$(direct '' GET /readyz)" 200
equal "the server's own admin" "$(direct "$(cat "$BEHIND_DATA/admin.token")" GET $SUBNETS)" 200
equal "no core kinds" "$(direct "$(cat "$BEHIND_DATA/admin.token")" GET /api/v1/namespaces)" 404
equal "no reviews" "$(direct "$(cat "$BEHIND_DATA/admin.token")" POST /apis/authentication.k8s.io/v1/tokenreviews -H 'Content-Type: application/json' -d '{}')" 404
direct "$(cat "$BEHIND_DATA/admin.token")" GET /apis >/dev/null
equal "one group" "$(jq -r '.groups[].name' "$WORK/body")" fairlead.dev

# --- the host's namespaces count
subnet red 10 nowhere
refuse "a namespace that does not exist" 'namespaces "nowhere" not found' as admin create -f "$WORK/red.yaml"
for n in 1 2 3 4 5; do
  subnet "s$n" "$((20 + n))" "new-$n"
  { printf 'apiVersion: v1\nkind: Namespace\nmetadata: {name: new-%s}\n---\n' "$n"; cat "$WORK/s$n.yaml"; } >"$WORK/both.yaml"
  expect "an object follows its new namespace at once" "s$n created" as admin create -f "$WORK/both.yaml"
done
subnet late 30 new-1
as admin create configmap stays -n new-1 >/dev/null
as admin patch configmap stays -n new-1 -p '{"metadata":{"finalizers":["example.com/stays"]}}' >/dev/null
as admin delete namespace new-1 --wait=false >/dev/null
refuse "a namespace that is going" 'Forbidden.*being terminated' as admin create -f "$WORK/late.yaml"

# --- the host's garbage collector collects, nobody here: what a deletion waits for stays until the host has acted
for cascade in orphan foreground; do
  subnet "kept-$cascade" 41
  as admin create -f "$WORK/kept-$cascade.yaml" >/dev/null
  as admin delete subnet "kept-$cascade" "--cascade=$cascade" --wait=false >/dev/null
done
kept() { as admin get subnet "kept-$1" -o 'jsonpath={.metadata.finalizers[*]}'; }
if [ -z "${KUBE_CONTROLLER_MANAGER:-}" ]; then
  for _ in 1 2 3 4 5; do
    equal "orphaning waits for the host" "$(kept orphan)" orphan
    equal "foreground deletion waits for the host" "$(kept foreground)" foregroundDeletion
  done
  equal "no collector runs here" "$(metric 'workqueue_depth{name="garbage-collector"}')" ""
  for cascade in orphan foreground; do  # as the host's would
    as admin patch subnet "kept-$cascade" --type merge -p '{"metadata":{"finalizers":null}}' >/dev/null
    refuse "gone once the host has acted" 'NotFound' as admin get subnet "kept-$cascade"
  done
else
  "$KUBE_CONTROLLER_MANAGER" --kubeconfig "$WORK/admin.kubeconfig" --controllers=garbagecollector --leader-elect=false \
    --secure-port=0 >"$WORK/kcm.out" 2>"$WORK/kcm.err" &
  STARTED+=($!)
  gone() { ! as admin get subnet "$1" 2>/dev/null; }
  wait_until 90 "the host's collector to finish both" gone kept-orphan
  wait_until 90 "the host's collector to finish both" gone kept-foreground
  owned() { # SUBNET NAME: a ConfigMap of the host that the Subnet owns
    as admin create configmap "$2" -n default >/dev/null
    as admin patch configmap "$2" -n default -p "{\"metadata\":{\"ownerReferences\":[{\"apiVersion\":\"fairlead.dev/v1alpha1\",
      \"kind\":\"Subnet\",\"name\":\"$1\",\"uid\":\"$(as admin get subnet "$1" -o 'jsonpath={.metadata.uid}')\"}]}}" >/dev/null
  }
  for cascade in orphan background foreground; do
    subnet "owner-$cascade" 42
    as admin create -f "$WORK/owner-$cascade.yaml" >/dev/null
    owned "owner-$cascade" "owned-$cascade"
    as admin delete subnet "owner-$cascade" "--cascade=$cascade" --timeout=120s >/dev/null
  done
  vanished() { ! as admin get configmap "$1" -n default 2>/dev/null; }
  wait_until 120 "what was deleted with its owner" vanished owned-background
  wait_until 120 "what was deleted before its owner" vanished owned-foreground
  equal "an orphan stays, and has no owner" "$(as admin get configmap owned-orphan -n default -o 'jsonpath={.metadata.name}{.metadata.ownerReferences}')" owned-orphan
fi

# --- a released address waits for the agents that carry it, though their Nodes are the host's
start_agent() {
  "$FAIRLEAD" agent --kubeconfig "$BEHIND_DATA/admin.kubeconfig" --node edge --host-ip 192.0.2.1 --fabric log \
    --metrics-listen none --admin-socket none --lock-file "$WORK/edge.lock" >"$WORK/edge.out" 2>>"$WORK/edge.err" &
  AGENT_PID=$!
  STARTED+=($!)
}
start_agent
as admin create -f - >/dev/null <<'YAML'
apiVersion: fairlead.dev/v1alpha1
kind: NetworkAttachment
metadata: {name: held, namespace: default}
spec: {node: edge, subnet: blue}
YAML
held() { as admin get na held -o "jsonpath={$1}"; }
implemented() { [ -n "$(held .status.hostIP)" ]; }
wait_until 30 "an attachment with an interface" implemented
expect "that is ready" 'condition met' as admin wait --for=condition=Ready na/held --timeout=30s
told() {
  as admin get events -n default --field-selector involvedObject.name=held \
    -o 'jsonpath={range .items[*]}{.reason} {.source.host}{"\n"}{end}' | grep -qx 'Implemented edge'
}
wait_until 30 "what its agent did, among the host's Events" told
beats() { [ -n "$(as admin get nodereport edge -o 'jsonpath={.renewTime}')" ]; }
wait_until 30 "the agent is heard, in its report" beats
lock=$(held .status.ipv4)
lock=v1-7-${lock//./-}
kill -KILL "$AGENT_PID"
wait "$AGENT_PID" 2>/dev/null || true
as admin delete na held >/dev/null
equal "the released lock waits for the node" \
  "$(as admin get ipl "$lock" -o 'jsonpath={.metadata.annotations.fairlead\.dev/awaits}')" edge
start_agent
freed() { ! as admin get ipl "$lock" 2>/dev/null; }
wait_until 30 "the address free once the node has said so" freed
expect "its report" '^edge ' as admin get nodereports
kill "$AGENT_PID"
wait "$AGENT_PID" 2>/dev/null || true

if [ -n "$KUBE_APISERVER" ]; then
  # --- what only the real aggregator does
  expect "OpenAPI v2 is merged" 'dev.fairlead.v1alpha1.Subnet' as admin get --raw /openapi/v2
  expect "and has both" 'io.k8s.api.core.v1.ConfigMap"' as admin get --raw /openapi/v2
  expect "OpenAPI v3 is offered" 'apis/fairlead.dev/v1alpha1' as admin get --raw /openapi/v3
  expect "and served" 'dev.fairlead.v1alpha1.Subnet' as admin get --raw /openapi/v3/apis/fairlead.dev/v1alpha1
  refuse "validated by kubectl with it" 'unknown field "spec.nope"' as admin create --validate=strict -f - <<'YAML'
apiVersion: fairlead.dev/v1alpha1
kind: Subnet
metadata: {name: odd}
spec: {ipv4: 10.1.0.0/24, vni: 7, nope: 1}
YAML
  as admin create serviceaccount app >/dev/null
  token=$(as admin create token app)
  equal "a service account without rights" "$(direct "$token" GET $SUBNETS)" 403
  as admin create rolebinding app --role=reader --serviceaccount=default:app >/dev/null
  allowed() { [ "$(direct "$token" GET $SUBNETS)" = 200 ]; }
  wait_until 20 "its rights count once it has them" allowed
  certificate host certified /CN=limited
  equal "a client certificate of the host" "$(direct '' GET $SUBNETS --cert "$PKI/certified.crt" --key "$PKI/certified.key")" 200
  expect "can-i" '^yes' as limited auth can-i list subnets.fairlead.dev -n default
  expect "impersonation" 'Forbidden' as admin get iplocks -n default --as limited
  equal "all with transactions" "$(as admin create --raw /apis/fairlead.dev/v1alpha1/transactions -f - <<'JSON' | jq -r .kind
{"operations":[{"verb":"create","object":{"apiVersion":"fairlead.dev/v1alpha1","kind":"Subnet",
 "metadata":{"name":"t1","namespace":"default"},"spec":{"ipv4":"10.9.0.0/24","vni":99}}}]}
JSON
)" TransactionResult
  # --- the load drivers find the same API there
  expect "bench api" 'requests' "$FAIRLEAD" bench api --kubeconfig "$WORK/admin.kubeconfig" --namespace bench-1 --kind subnets --verb create --connections 4 --count 200
  expect "bench api on the host's own kind" 'requests' "$FAIRLEAD" bench api --kubeconfig "$WORK/admin.kubeconfig" --namespace bench-2 --kind configmaps --verb mixed --connections 4 --count 200
  expect "bench watch" 'events' "$FAIRLEAD" bench watch --kubeconfig "$WORK/admin.kubeconfig" --namespace bench-3 --watchers 150 --events 100
else
  # --- a new aggregator takes over without a restart, the old one loses its word
  authority next-proxy
  certificate next-proxy next-proxy-client /CN=front-proxy-client
  NEXT=(--cert "$PKI/next-proxy-client.crt" --key "$PKI/next-proxy-client.key")
  equal "not known yet" "$(direct '' GET $SUBNETS "${NEXT[@]}" -H 'X-Remote-User: limited')" 401
  direct '' GET "$SUBNETS?watch=1" -N "${FRONT[@]}" -H 'X-Remote-User: limited' --max-time 120 >"$WORK/watch.code" &
  old_watch=$!
  STARTED+=("$old_watch")
  publish_authentication next-proxy
  vouches() { [ "$(direct '' GET $SUBNETS "${NEXT[@]}" -H 'X-Remote-User: limited')" = 200 ]; }
  wait_until 20 "the new aggregator is believed" vouches
  equal "the old one is not" "$(direct '' GET $SUBNETS "${FRONT[@]}" -H 'X-Remote-User: limited')" 401
  wait "$old_watch" || die "a watch that it vouched for did not end cleanly"
  CHECKS=$((CHECKS + 1))
  as own patch configmap extension-apiserver-authentication -n kube-system -p '{"data":{"requestheader-client-ca-file":"rubbish"}}' >/dev/null
  wait_until 20 "a broken one is complained about" grep -q 'the last one stays in force' "$WORK/behind.err"
  equal "and changes nothing" "$(direct '' GET $SUBNETS "${NEXT[@]}" -H 'X-Remote-User: limited')" 200
  # --- a host that is silent decides nothing
  kill -KILL "$HOST_PID"
  wait "$HOST_PID" 2>/dev/null || true
  equal "a token that cannot be reviewed" "$(direct some-other-token GET $SUBNETS)" 503
  equal "a right that cannot be reviewed" "$(direct '' GET $SUBNETS "${NEXT[@]}" -H 'X-Remote-User: someone')" 503
  equal "the server's own admin goes on" "$(direct "$(cat "$BEHIND_DATA/admin.token")" GET $SUBNETS)" 200
fi
