#!/bin/bash
# deploy/kubernetes: what `make deploy` would apply is rendered and looked at, and then run as pods would run it: the
# container image, the manifests' arguments, users, Secrets and ConfigMaps. The cluster is another fairlead server, behind a
# front (rbac_front.py) that gives service accounts the rights of the manifests, and no others.
# An attachment becomes an interface, by an agent that has nothing but the kubelet's certificate; a node that the cluster
# deletes frees its addresses; with deploy/overlays/pod-tokens an agent has nothing but the token of its pod.
# (The aggregator itself is shown by aggregated.sh. No kubelet and no scheduler take part here.)
# time-limit: 180
if [ "$(id -u)" -ne 0 ]; then echo "running what an image holds needs root"; exit 77; fi
if [ -z "${IN_NAMESPACE:-}" ]; then IN_NAMESPACE=1 exec unshare --net -- bash "$0" "$@"; fi
. "$(dirname "$0")/../lib.sh"
HERE=$(cd "$(dirname "$0")" && pwd)
ROOT=$(cd "$HERE/../.." && pwd)
ip link set lo up
ip link add underlay type veth peer name wire
ip address add 10.0.0.11/24 dev underlay
ip link set wire up
ip link set underlay up

# --- the cluster: a server that publishes whose client certificates it believes, as kube-apiserver does
PKI=$WORK/pki
mkdir -p "$PKI"
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=cluster -keyout "$PKI/ca.key" -out "$PKI/ca.crt" 2>/dev/null
kubelet() { # NODE: its client certificate, certificate and key in one file as the kubelet keeps it
  openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "/O=system:nodes/CN=system:node:$1" -keyout "$PKI/$1.key" -out "$PKI/$1.csr" 2>/dev/null
  openssl x509 -req -in "$PKI/$1.csr" -CA "$PKI/ca.crt" -CAkey "$PKI/ca.key" -CAcreateserial -days 2 \
    -extfile <(echo extendedKeyUsage=clientAuth) -out "$PKI/$1.crt" 2>/dev/null
  cat "$PKI/$1.crt" "$PKI/$1.key"
}
start_server cluster
CLUSTER=$KUBECONFIG
# front NAME MANIFESTS: what the service accounts of pods talk to, at FRONT_PORT; its log is $WORK/NAME.log
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=front -addext subjectAltName=IP:127.0.0.1 \
  -keyout "$PKI/front.key" -out "$PKI/front.crt" 2>/dev/null
front() {
  FRONT_PORT=$(free_port)
  : >"$WORK/$1.log"
  python3 "$HERE/rbac_front.py" --port "$FRONT_PORT" --cert "$PKI/front.crt" --key "$PKI/front.key" --host "$SERVER_URL" \
    --host-ca "$WORK/cluster/pki/ca.crt" --host-token "$TOKEN" --manifests "$2" --tokens "$WORK/accounts.json" --log "$WORK/$1.log" \
    >"$WORK/$1.out" 2>"$WORK/$1.err" &
  STARTED+=($!)
  wait_until 20 "front $1" grep -q ready "$WORK/$1.out"
}
kubectl create configmap extension-apiserver-authentication -n kube-system --from-file=client-ca-file="$PKI/ca.crt" \
  --from-file=requestheader-client-ca-file="$PKI/ca.crt" --from-literal=requestheader-allowed-names='["front-proxy-client"]' \
  --from-literal=requestheader-username-headers='["X-Remote-User"]' >/dev/null

# --- what would be applied
deploy() { "$ROOT/scripts/deploy" "$@"; }
refuse "no image" 'IMAGE is not set.*make images' deploy
KUBECONFIG=$WORK/none refuse "no cluster" "the cluster does not answer \(KUBECONFIG=$WORK/none\)" deploy --render
# render NAME: what would be applied, as a list in $WORK/NAME.json
render() {
  IMAGE=registry.example:5000/net/fairlead:v7 deploy --render >"$WORK/$1.yaml" || die "$1 cannot be rendered"
  python3 -c 'import sys, yaml, json; print(json.dumps([d for d in yaml.safe_load_all(sys.stdin) if d]))' <"$WORK/$1.yaml" >"$WORK/$1.json"
}
render all
MANIFESTS=$WORK/all.json
find_in() { jq -r "$1" "$MANIFESTS"; }
of() { find_in ".[] | select(.kind == \"$1\" and .metadata.name == \"$2\") | $3"; }
equal "the image" "$(find_in '[.[] | .spec.template.spec.containers[]?.image] | unique | join(" ")')" registry.example:5000/net/fairlead:v7
equal "all is there" "$(find_in '[.[].kind] | group_by(.) | map("\(.[0])=\(length)") | join(" ")')" \
  'APIService=1 ClusterRole=4 ClusterRoleBinding=2 ConfigMap=2 DaemonSet=1 Deployment=1 Namespace=1 PersistentVolumeClaim=1 RoleBinding=1 Secret=1 Service=1 ServiceAccount=2'
equal "each once" "$(find_in 'length - ([.[] | [.kind, .metadata.namespace, .metadata.name]] | unique | length)')" 0
equal "where" "$(find_in 'map(.metadata.namespace // "-") | unique | join(" ")')" '- fairlead-system kube-system'
equal "one authority" "$(of APIService v1alpha1.fairlead.dev .spec.caBundle | base64 -d)" "$(of ConfigMap fairlead-ca '.data["ca.crt"]')"
equal "and its certificate" "$(of Secret fairlead-pki '.data["ca.crt"]' | base64 -d)" "$(of ConfigMap fairlead-ca '.data["ca.crt"]')"
equal "no agent sees a Secret" "$(of DaemonSet fairlead-agent '[.spec.template | .. | .secret?, .secretRef?, .secretKeyRef? | values] | length')" 0
# What pods refer to exists.
find_in '.[] | select(.spec.template) | .spec.template.spec | "ServiceAccount \(.serviceAccountName)",
  (.volumes[] | (.configMap.name? // empty | "ConfigMap \(.)"), (.secret.secretName? // empty | "Secret \(.)"),
   (.persistentVolumeClaim.claimName? // empty | "PersistentVolumeClaim \(.)"))' >"$WORK/references"
equal "references" "$(wc -l <"$WORK/references")" 6
while read -r kind name; do [ -n "$(of "$kind" "$name" .kind)" ] || die "no $kind $name"; done <"$WORK/references"
selected=$(of Service fairlead '.spec.selector | to_entries[] | "\(.key)=\(.value)"')
equal "the Service finds the server" "$(of Deployment fairlead-server '.spec.template.metadata.labels | to_entries[] | "\(.key)=\(.value)"')" "$selected"
# The kinds that this server has itself, it accepts, whole.
jq '[.[] | select(.apiVersion == "v1" and (.kind | IN("Namespace", "ConfigMap", "Secret", "Service")))]' "$WORK/all.json" |
  jq '{apiVersion: "v1", kind: "List", items: .}' >"$WORK/known.json"
expect "accepted" 'secret/fairlead-pki created' kubectl create -f "$WORK/known.json"
# Applying again keeps the authority that is in the cluster now.
IMAGE=fairlead deploy --render >"$WORK/again.yaml" || die "it cannot be rendered again"
expect "the authority stays" "$(of APIService v1alpha1.fairlead.dev .spec.caBundle)" cat "$WORK/again.yaml"
expect "an image without a tag" 'image: fairlead:latest' cat "$WORK/again.yaml"
IMAGE=r.example/f@sha256:$(printf '0%.0s' $(seq 64)) deploy --render >"$WORK/digest.yaml" || die "no digest"
expect "by digest" 'image: r.example/f@sha256:0{64}$' cat "$WORK/digest.yaml"
OVERLAYS=pod-tokens render bound
kubectl patch secret fairlead-pki -n fairlead-system --type=json -p '[{"op": "remove", "path": "/data/ca.key"}]' >/dev/null
IMAGE=fairlead refuse "half an authority" 'fairlead-pki has no ca.key' deploy --render
equal "no keys left behind" "$(find "$ROOT/build" -maxdepth 1 -name 'deploy.*')" ''

# --- the pods. pod NAME: its file system from the image, its volumes where the manifest mounts them
"$ROOT/scripts/images" --binary "$FAIRLEAD" --output "$WORK/images" >/dev/null
pod() {
  umoci unpack --image "$WORK/images/fairlead:latest" "$WORK/$1" >/dev/null
  POD=$WORK/$1/rootfs
}
put() { install -D -m "$1" -o "$2" -g "$2" /dev/stdin "$POD$3"; } # MODE OWNER PATH <content
arguments() { of "$1" "$2" '.spec.template.spec.containers[0].args[]' | sed "s|\$(NODE_NAME)|n1|; s|\$(HOST_IP)|10.0.0.11|"; }
run_as() { # USER OUTPUT ARGUMENTS…: in $POD, with nothing but the environment of a pod; the process started is the program itself
  local user=$1 output=$2
  shift 2
  unshare --mount --mount-proc="$POD/proc" -- chroot --userspec="$user" "$POD" \
    /usr/bin/fairlead "$@" >"$WORK/$output.out" 2>"$WORK/$output.err" &
  STARTED+=($!)
}

pod server
server_user=$(of Deployment fairlead-server '.spec.template.spec.securityContext | "\(.runAsUser):\(.runAsGroup)"')
install -d -m 2777 -o 0 -g "${server_user#*:}" "$POD/var/lib/fairlead/pki" # an emptyDir
mode=$(printf '%o' "$(of Deployment fairlead-server '.spec.template.spec.volumes[] | .secret.defaultMode? // empty')")
for path in $(of Deployment fairlead-server '.spec.template.spec.containers[0].volumeMounts[] | select(.subPath) | .mountPath'); do
  of Secret fairlead-pki ".data[\"${path##*/}\"]" | base64 -d | put "$mode" 0 "$path"
  chgrp "${server_user#*:}" "$POD$path" # fsGroup
done
account=/run/secrets/kubernetes.io/serviceaccount
put 444 0 $account/token <<<pod-token
put 444 0 $account/ca.crt <"$PKI/front.crt"
echo '{"pod-token": {"user": "system:serviceaccount:fairlead-system:fairlead-server"}}' >"$WORK/accounts.json"
front rights "$MANIFESTS"
# Nodes that are there before the server is.
for node in n1 n2 n3; do kubectl create -f - >/dev/null <<<"{\"apiVersion\": \"v1\", \"kind\": \"Node\", \"metadata\": {\"name\": \"$node\"}}"; done
SERVER_POD=$POD
start_server_pod() { # OUTPUT
  export KUBERNETES_SERVICE_HOST=127.0.0.1 KUBERNETES_SERVICE_PORT=$FRONT_PORT
  mapfile -t words < <(arguments Deployment fairlead-server)
  POD=$SERVER_POD run_as "$server_user" "$1" "${words[@]}"
  SERVER_POD_PID=$!
  wait_until 30 "server in its pod" grep -q ready "$WORK/$1.out"
}
start_server_pod server
of ConfigMap fairlead-ca '.data["ca.crt"]' >"$WORK/bundle.crt"
name=$(of APIService v1alpha1.fairlead.dev '.spec.service | "\(.name).\(.namespace).svc"')
at() { curl -sS --max-time 10 -o /dev/null -w '%{http_code}' --cacert "$WORK/bundle.crt" --resolve "$name:8443:127.0.0.1" "https://$name:8443$1" "${@:2}"; }
equal "the probe, and the certificate that the APIService expects" "$(at "$(of Deployment fairlead-server '.spec.template.spec.containers[0].readinessProbe.httpGet.path')")" 200
equal "alive" "$(at "$(of Deployment fairlead-server '.spec.template.spec.containers[0].livenessProbe.httpGet.path')")" 200

pod agent
of ConfigMap fairlead-agent .data.kubeconfig | sed 's/svc:443/svc:8443/' | put 444 0 /etc/fairlead/agent/kubeconfig # what the Service does
put 444 0 /etc/fairlead/ca/ca.crt <"$WORK/bundle.crt"
kubelet n1 | put 600 0 /var/lib/kubelet/pki/kubelet-client-current.pem
put 444 0 /etc/hosts <<<"127.0.0.1 $name"
mapfile -t words < <(arguments DaemonSet fairlead-agent)
run_as 0:0 agent "${words[@]}"
AGENT_PID=$!
wait_until 30 "agent in its pod" grep -q '"fabric":"vxlan"' "$WORK/agent.out"
equal "its probe" "$(curl -sS --max-time 10 "http://10.0.0.11:9294$(of DaemonSet fairlead-agent '.spec.template.spec.containers[0].readinessProbe.httpGet.path')")" ok
export KUBECONFIG=$SERVER_POD/var/lib/fairlead/admin.kubeconfig
kubectl create -f - >/dev/null <<'OBJECTS'
{"apiVersion": "fairlead.dev/v1alpha1", "kind": "Subnet", "metadata": {"name": "s"}, "spec": {"vni": 5, "ipv4": "10.1.0.0/24"}}
{"apiVersion": "fairlead.dev/v1alpha1", "kind": "NetworkAttachment", "metadata": {"name": "x"}, "spec": {"node": "n1", "subnet": "s"}}
{"apiVersion": "fairlead.dev/v1alpha1", "kind": "NetworkAttachment", "metadata": {"name": "y"}, "spec": {"node": "n2", "subnet": "s"}}
OBJECTS
interface() { kubectl get na x -o 'jsonpath={.status.ifcName}' | grep .; }
wait_until 30 "an interface" interface
check "it is there" ip link show "$(interface)"
kubectl delete na x >/dev/null
released() { [ -z "$(kubectl get iplocks -o 'jsonpath={.items[?(@.metadata.deletionTimestamp)].metadata.name}')" ]; }
wait_until 30 "the address free, by the report of the node" released
check "its report" kubectl get nodereport n1

# --- the kubelet's certificate is its node's, and no other's
status() { # NODE ATTACHMENT: may this node write its status?
  at "/apis/fairlead.dev/v1alpha1/namespaces/default/networkattachments/$2/status" --cert "$PKI/$1.crt" --key "$PKI/$1.key" \
    -X PATCH -H 'Content-Type: application/merge-patch+json' -d '{"status": {"hostIP": "192.0.2.66"}}'
}
equal "not another node's attachment" "$(status n1 y)" 403
equal "no creating" "$(at /apis/fairlead.dev/v1alpha1/namespaces/default/subnets --cert "$PKI/n1.crt" --key "$PKI/n1.key" -X POST -d '{}' -H 'Content-Type: application/json')" 403
kubelet n2 >/dev/null
equal "its own" "$(status n2 y)" 200

NODE_REPORT=/apis/fairlead.dev/v1alpha1/nodereports
# --- a node that the cluster deletes holds no address back, one that it has does
IN_CLUSTER=(kubectl --kubeconfig "$CLUSTER")
awaited() { kubectl get iplocks -o json | jq -r '[.items[].metadata.annotations["fairlead.dev/awaits"] // empty] | join(" ")'; }
gone() { kill -KILL "$1"; wait "$1" 2>/dev/null || true; }
gone "$AGENT_PID"
kubectl create -f - >/dev/null <<'OBJECT'
{"apiVersion": "fairlead.dev/v1alpha1", "kind": "NetworkAttachment", "metadata": {"name": "z"}, "spec": {"node": "n1", "subnet": "s"}}
OBJECT
kubectl delete na z >/dev/null
equal "it waits for the node" "$(awaited)" n1
"${IN_CLUSTER[@]}" delete node n3 >/dev/null
"${IN_CLUSTER[@]}" delete node n1 >/dev/null
nobody_awaited() { [ -z "$(awaited)" ]; }
wait_until 30 "the address free, because its node is gone" nobody_awaited
refuse "and its report gone" NotFound kubectl get nodereport n1

# --- all of it with the rights of the manifests: nothing was refused, and no kind of right is there for nothing
refuse "nothing refused" '^$' grep ^refused "$WORK/rights.log"
used() { grep -q "^allowed system:serviceaccount:fairlead-system:fairlead-server [a-z]* $1 " "$WORK/rights.log"; }
find_in '.[] | select(.kind == "ClusterRole" and .metadata.name == "fairlead-server") | .rules[] | .apiGroups[0] + "/" + .resources[]' >"$WORK/granted"
equal "what it may read and write" "$(xargs <"$WORK/granted")" '/namespaces /nodes /events'
while read -r right; do check "$right is needed" used "$right"; done <"$WORK/granted"
equal "a token is reviewed" "$(at $NODE_REPORT/n2 -H 'Authorization: Bearer unknown')" 401
check "by the cluster" used authentication.k8s.io/tokenreviews
check "the ConfigMap is followed" used /configmaps

# --- deploy/overlays/pod-tokens: an agent without any certificate, by the token of its pod
gone "$SERVER_POD_PID"
MANIFESTS=$WORK/bound.json
AUDIENCE=$(of DaemonSet fairlead-agent '.spec.template.spec.volumes[] | .projected.sources[0].serviceAccountToken.audience? // empty')
token_of() { # ID AUDIENCE: looks like a service account's; only the cluster can tell whether it is one
  printf '{"aud":["%s"],"jti":"%s"}' "$2" "$1" | base64 -w0 | tr '+/' '-_' | tr -d = | sed 's/^/e30./; s/$/.c2ln/'
}
jq -n --arg a "$(token_of a "$AUDIENCE")" --arg b "$(token_of b "$AUDIENCE")" --arg c "$(token_of c "$AUDIENCE")" --arg audience "$AUDIENCE" '
  def agent: {user: "system:serviceaccount:fairlead-system:fairlead-agent", $audience, namespace: "fairlead-system"};
  {"pod-token": {user: "system:serviceaccount:fairlead-system:fairlead-server"},
   ($a): (agent + {pod: "fairlead-agent-x", uid: "u1", node: "n2"}),
   ($b): agent,
   ($c): (agent + {user: "system:serviceaccount:default:other", pod: "p", uid: "u2", node: "n2"})}' >"$WORK/accounts.json"
front bound "$MANIFESTS"
start_server_pod again
pod tokens
put 444 0 "$(of DaemonSet fairlead-agent '.spec.template.spec.containers[0].volumeMounts[] | select(.name == "token") | .mountPath')/token" <<<"$(token_of a "$AUDIENCE")"
of ConfigMap fairlead-agent .data.kubeconfig | sed 's/svc:443/svc:8443/' | put 444 0 /etc/fairlead/agent/kubeconfig
put 444 0 /etc/fairlead/ca/ca.crt <"$WORK/bundle.crt"
put 444 0 /etc/hosts <<<"127.0.0.1 $name"
mapfile -t words < <(arguments DaemonSet fairlead-agent | sed 's/^--node=n1$/--node=n2/')
run_as 0:0 tokens "${words[@]}"
wait_until 30 "agent with the token of its pod" grep -q '"fabric":"vxlan"' "$WORK/tokens.out"
kubectl create -f - >/dev/null <<'OBJECT'
{"apiVersion": "fairlead.dev/v1alpha1", "kind": "NetworkAttachment", "metadata": {"name": "t"}, "spec": {"node": "n2", "subnet": "s"}}
OBJECT
made() { kubectl get na t -o 'jsonpath={.status.ifcName}' | grep .; }
wait_until 30 "an interface, by the token alone" made
by_token() { at "$1" -H "Authorization: Bearer $2" "${@:3}"; }
equal "its own report" "$(by_token $NODE_REPORT/n2 "$(token_of a "$AUDIENCE")")" 200
equal "no other node's" "$(by_token $NODE_REPORT/n3 "$(token_of a "$AUDIENCE")")" 403
equal "nothing else" "$(by_token /apis/fairlead.dev/v1alpha1/namespaces/default/subnets "$(token_of a "$AUDIENCE")" -X POST -H 'Content-Type: application/json' -d '{}')" 403
equal "a token without a pod" "$(by_token $NODE_REPORT/n2 "$(token_of b "$AUDIENCE")")" 401
equal "another service account's" "$(by_token $NODE_REPORT/n2 "$(token_of c "$AUDIENCE")")" 401
equal "one that nobody gave out" "$(by_token $NODE_REPORT/n2 "$(token_of d "$AUDIENCE")")" 401
refuse "nothing refused here either" '^$' grep ^refused "$WORK/bound.log"
expect "the pod was looked up" 'allowed .*:fairlead-server get /pods fairlead-system/fairlead-agent-x$' cat "$WORK/bound.log"
