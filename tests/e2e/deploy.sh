#!/bin/bash
# scripts/deploy: in which order it does things and what it leaves when it fails; the overlays, alone and together; and
# scripts/publish, against a registry on this machine. kubectl renders for real; what it would do to a cluster is written
# down by a stand-in, which fails where it is told to. (What the manifests do when they run: kubernetes.sh.)
# time-limit: 180
. "$(dirname "$0")/../lib.sh"
ROOT=$(cd "$(dirname "$0")/../.." && pwd)
start_server cluster
REAL=$(command -v kubectl)

# --- a kubectl that renders and reads for real, and notes the rest in $WORK/calls
mkdir "$WORK/bin"
cat >"$WORK/bin/kubectl" <<STAND_IN
#!/bin/bash
case "\$1 \${2:-}" in
  kustomize\ * | version\ * | "get --raw" | "get secret") exec "$REAL" "\$@" ;;
esac
echo "\$*" >>"$WORK/calls"
case "\$*" in
  "apply -k "*) "$REAL" kustomize "\$3" >"$WORK/applied.yaml" ;;
  "apply -f "*) cat "\$3" >"$WORK/registered.yaml" ;;
  "get apiservice"*-o\ name) cat "$WORK/registered" 2>/dev/null; exit 0 ;;
  "get storageclasses"*) echo '{"items": []}' ;;
  "get apiservice"* | "get pods "*-o\ json) echo '{"items": [{"metadata": {"name": "pod-1"}, "status": {"containerStatuses": [{"ready": false}]}}]}' ;;
  "get pods,"*) echo "pod-1 Pending" ;;
  "get events"*) echo "no persistent volumes available for this claim" ;;
  "logs "*) echo "last words" ;;
esac
[ ! -e "$WORK/fail" ] || ! grep -qE "\$(cat "$WORK/fail")" <<<"\$*" || { echo "error: timed out" >&2; exit 1; }
STAND_IN
chmod +x "$WORK/bin/kubectl"
deploy() { PATH=$WORK/bin:$PATH IMAGE=r.example/net/fairlead:v7 TIMEOUT=7 "$ROOT/scripts/deploy" "$@"; }
steps() { sed -n 's/^\(apply -[kf]\|rollout status\|wait\|delete apiservice\).*/\1/p' "$WORK/calls" | uniq | paste -sd ' '; }
again() { rm -f "$WORK/calls" "$WORK/fail" "$WORK/registered" "$WORK/registered.yaml"; }

# --- the group is registered last, when the server is ready
again
expect "it works" 'Fairlead serves fairlead.dev here' deploy
equal "in this order" "$(steps)" 'apply -k rollout status apply -f wait rollout status'
expect "the server first" '^rollout status -n fairlead-system deployment/fairlead-server --timeout=7s' grep '^rollout' "$WORK/calls"
equal "the registration is not among the rest" "$(grep -c '^kind: APIService' "$WORK/applied.yaml")" 0
expect "but by itself" '^kind: APIService' cat "$WORK/registered.yaml"
expect "a cluster without a default StorageClass is told of" 'no default StorageClass.*STORAGE_CLASS' deploy
# --- a server that does not come: nothing is registered, and the reasons are shown
again
echo 'rollout status.*fairlead-server' >"$WORK/fail"
refuse "a server that does not come" 'was not registered: nothing here blocks the cluster' deploy
equal "nothing registered" "$(steps)" 'apply -k rollout status'
for shown in 'deployment/fairlead-server is not ready after 7 s' 'pod-1 Pending' 'no persistent volumes available' 'last words'; do
  expect "why" "$shown" deploy
done
# --- one that kube-apiserver does not reach: the registration is taken back
again
echo '^wait' >"$WORK/fail"
refuse "a server that is not reached" 'was taken back: nothing here blocks the cluster' deploy
equal "taken back" "$(steps)" 'apply -k rollout status apply -f wait delete apiservice'
# --- agents that do not come: the server serves, and nothing is taken back
again
echo 'rollout status.*fairlead-agent' >"$WORK/fail"
refuse "agents that do not come" 'fairlead.dev is served, but daemonset/fairlead-agent does not do its part' deploy
equal "nothing taken back" "$(steps)" 'apply -k rollout status apply -f wait rollout status'
# --- one that was registered before stays: its objects are the cluster's
again
echo apiservice.apiregistration.k8s.io/v1alpha1.fairlead.dev >"$WORK/registered"
echo 'rollout status.*fairlead-server' >"$WORK/fail"
refuse "a failed change" 'kubectl delete apiservice v1alpha1.fairlead.dev  *# ends that' deploy
equal "it stays" "$(steps)" 'apply -k rollout status'
# --- taking away begins with the group
again
expect "removed" '^removed' deploy --remove
expect "the group first" '^delete apiservice v1alpha1.fairlead.dev' head -n 1 "$WORK/calls"
refuse "no such overlay" 'OVERLAYS: there is no nonsense \(ha hooks ovs pod-tokens, prometheus, grafana\)' env OVERLAYS=nonsense PATH="$WORK/bin:$PATH" IMAGE=f "$ROOT/scripts/deploy"
refuse "Grafana needs an image" 'GRAFANA_IMAGE is not set' env OVERLAYS=grafana PATH="$WORK/bin:$PATH" IMAGE=f "$ROOT/scripts/deploy"
refuse "by digest each needs its own" 'for fairlead-etcd, its own image must be named' env OVERLAYS=ha PATH="$WORK/bin:$PATH" IMAGE=f@sha256:1 "$ROOT/scripts/deploy"
equal "no keys left behind" "$(find "$ROOT/build" -maxdepth 1 -name 'deploy.*')" ''

# --- overlays. render OVERLAY…: as a list in $WORK/all.json
render() {
  OVERLAYS=$* GRAFANA_IMAGE=g.example/grafana:9 deploy --render >"$WORK/all.yaml" 2>"$WORK/render.err" || die "$*: $(cat "$WORK/render.err")"
  python3 -c 'import sys, yaml, json; print(json.dumps([d for d in yaml.safe_load_all(sys.stdin) if d]))' <"$WORK/all.yaml" >"$WORK/all.json"
  RENDERED=$*
}
of() { jq -r ".[] | select(.kind == \"$1\" and .metadata.name == \"$2\") | $3" "$WORK/all.json"; }
whole() { # what pods refer to exists, volumes are mounted and the other way round, Services find pods
  local kind reference
  while read -r kind reference; do
    [ -n "$(of "$kind" "$reference" .kind)" ] || die "$RENDERED: no $kind $reference"
  done < <(jq -r '.[] | .spec.template?.spec? // empty | (.serviceAccountName // empty | "ServiceAccount \(.)"),
    (.volumes[] | (.configMap.name? // empty | "ConfigMap \(.)"), (.secret.secretName? // empty | "Secret \(.)"),
     (.persistentVolumeClaim.claimName? // empty | "PersistentVolumeClaim \(.)"))' "$WORK/all.json" | sort -u)
  equal "$RENDERED: what is mounted" "$(jq -c '[.[] | select(.spec.template?) | [.metadata.name,
    (([.spec.template.spec.containers[].volumeMounts[].name] | unique) - ([.spec.template.spec.volumes[].name, .spec.volumeClaimTemplates[]?.metadata.name] | unique)),
    ([.spec.template.spec.volumes[].name] - [.spec.template.spec.containers[].volumeMounts[].name])] | select(.[1] != [] or .[2] != [])]' "$WORK/all.json")" '[]'
  equal "$RENDERED: whom Services find" "$(jq -c '[.[] | select(.spec.template?) | .spec.template.metadata.labels] as $pods |
    [.[] | select(.kind == "Service") | select(.spec.selector as $s | $pods | any(contains($s)) | not) | .metadata.name]' "$WORK/all.json")" '[]'
  equal "$RENDERED: each once" "$(jq 'length - ([.[] | [.kind, .metadata.namespace, .metadata.name]] | unique | length)' "$WORK/all.json")" 0
}
images() { jq -r '[.[] | .spec.template?.spec?.containers[]?.image] | unique | join(" ")' "$WORK/all.json"; }
arguments() { of "$1" "$2" '.spec.template.spec.containers[0].args[]'; }

render ha
whole
equal "ha: images" "$(images)" 'r.example/net/fairlead-etcd:v7 r.example/net/fairlead:v7'
equal "ha: servers and members" "$(of Deployment fairlead-server .spec.replicas) $(of StatefulSet fairlead-etcd .spec.replicas)" '2 3'
equal "ha: no volume of the server's own" "$(of PersistentVolumeClaim fairlead-data .kind)" ''
of Secret fairlead-etcd '.data | to_entries[] | "\(.key) \(.value | gsub("\\s"; ""))"' | while read -r key value; do base64 -d <<<"$value" >"$WORK/$key"; done
equal "ha: what the Secret holds" "$(of Secret fairlead-etcd '.data | keys | join(" ")')" 'ca.crt client.crt client.key member.crt member.key'
check "ha: the members' certificate" openssl verify -CAfile "$WORK/ca.crt" -purpose sslserver "$WORK/member.crt"
check "ha: also towards each other" openssl verify -CAfile "$WORK/ca.crt" -purpose sslclient "$WORK/member.crt"
check "ha: the servers'" openssl verify -CAfile "$WORK/ca.crt" -purpose sslclient "$WORK/client.crt"
members=$(arguments Deployment fairlead-server | sed -n 's/^--store=etcd://p')
equal "ha: three members" "$(tr ',' '\n' <<<"$members" | wc -l)" 3
for member in $(tr ',' ' ' <<<"$members"); do
  host=${member#https://}
  check "ha: certified for $host" openssl x509 -in "$WORK/member.crt" -noout -checkhost "${host%:*}"
  expect "ha: a member of it" "=https://${host%:*}:2380(,|$)" arguments StatefulSet fairlead-etcd
done
# The etcd of those arguments starts, with those certificates, and a server works on it with its own.
mkdir -p "$WORK/etcd"
client=$(free_port) peer=$(free_port)
mapfile -t words < <(arguments StatefulSet fairlead-etcd | grep -v initial-cluster= | sed -e "s|/var/lib/etcd|$WORK/etcd|; s|/etc/etcd|$WORK|; s|\$(POD_NAME)|fairlead-etcd-0|" \
  -e "s|0.0.0.0:2379|127.0.0.1:$client|; s|0.0.0.0:2380|127.0.0.1:$peer|; s|0.0.0.0:2381|127.0.0.1:$(free_port)|; s|://fairlead-etcd.*:2379|://localhost:$client|; s|://fairlead-etcd.*:2380|://localhost:$peer|")
etcd "${words[@]}" "--initial-cluster=fairlead-etcd-0=https://localhost:$peer" >"$WORK/etcd.out" 2>"$WORK/etcd.err" &
STARTED+=($!)
host=$KUBECONFIG
mapfile -t words < <(arguments Deployment fairlead-server | grep '^--etcd' | sed "s|/etc/fairlead/etcd|$WORK|")
start_server two --store "etcd:https://localhost:$client" "${words[@]}"
check "ha: a server on that etcd" kubectl create namespace there
KUBECONFIG=$host

render ovs
whole
expect "ovs" '^--fabric=ovs$' arguments DaemonSet fairlead-agent
equal "ovs: one fabric" "$(arguments DaemonSet fairlead-agent | grep -c -- --fabric)" 1
render hooks
whole
equal "hooks: images" "$(images)" 'r.example/net/fairlead-tools:v7 r.example/net/fairlead:v7'
equal "hooks: namespaces both ways" "$(of DaemonSet fairlead-agent '.spec.template.spec.containers[0].volumeMounts[] | select(.mountPath == "/run/netns") | .mountPropagation')" Bidirectional
render pod-tokens
whole
equal "pod-tokens: nothing of the kubelet's" "$(of DaemonSet fairlead-agent '[.. | .hostPath? | values | .path] | join(" ")')" /run/fairlead
equal "pod-tokens: one audience" "$(of DaemonSet fairlead-agent '.spec.template.spec.volumes[] | .projected.sources[0].serviceAccountToken.audience? // empty')" \
  "$(arguments Deployment fairlead-server | sed -n 's/^--agent-token-audience=//p')"
render prometheus grafana
whole
equal "monitoring: images" "$(images)" 'g.example/grafana:9 r.example/net/fairlead-prometheus:v7 r.example/net/fairlead:v7'
equal "monitoring: by NodePort" "$(jq -c '[.[] | select(.spec.type? == "NodePort") | [.metadata.name, .spec.ports[0].nodePort]]' "$WORK/all.json")" \
  '[["fairlead-grafana",30003],["fairlead-prometheus",30909]]'
equal "monitoring: every dashboard" "$(of ConfigMap fairlead-grafana-dashboards '.data | keys | join(" ")')" "$(cd "$ROOT/deploy/grafana" && echo *.json)"
of ConfigMap fairlead-prometheus '.data["prometheus.yml"]' >"$WORK/prometheus.yml"
of ConfigMap fairlead-prometheus '.data["rules.yml"]' >"$WORK/rules.yml"
check "monitoring: its configuration" promtool check config --syntax-only "$WORK/prometheus.yml"
while read -r service; do
  [ "$service" = fairlead-etcd ] || equal "monitoring: $service" "$(of Service "$service" .spec.clusterIP)" None
done < <(sed -n 's/.*names: \[\([a-z-]*\)\.fairlead-system.*/\1/p' "$WORK/prometheus.yml")
STORAGE_CLASS=fast render ha ovs hooks pod-tokens prometheus grafana
whole
equal "all together: the class" "$(of StatefulSet fairlead-etcd '.spec.volumeClaimTemplates[0].spec.storageClassName')" fast
equal "all together: the agent" "$(arguments DaemonSet fairlead-agent | grep -E 'fabric|allowed' | xargs)" '--fabric=ovs --allowed-program=/usr/local/libexec/fairlead/ping-test'
expect "all together: the server" '--agent-token-audience' arguments Deployment fairlead-server
# Each alone is a kustomization of its own, too (with the words of newer kubectls).
if [ "$("$REAL" version --client -o json | jq -r '.clientVersion.minor | gsub("[^0-9]"; "")')" -ge 21 ]; then
  for overlay in "$ROOT"/deploy/overlays/*; do check "$overlay" "$REAL" kustomize "$overlay"; done
fi

# --- a server outside: the next token replaces the last, and a failure leaves it
echo old >"$WORK/host.token"
chmod 640 "$WORK/host.token"
cat >"$WORK/bin/kubectl" <<STAND_IN
#!/bin/bash
[ -e "$WORK/answer" ] && jq -e '.spec.expirationSeconds == 7200' >/dev/null && cat "$WORK/answer"
STAND_IN
renew() { PATH=$WORK/bin:$PATH "$ROOT/deploy/outside/renew-token" "$ROOT/deploy/outside/host.kubeconfig" "$WORK/host.token" "$@"; }
if renew 7200; then die "renewed without an answer"; fi
echo '{"kind": "Status", "message": "forbidden"}' >"$WORK/answer"
if renew 7200 >/dev/null; then die "renewed by a refusal"; fi
equal "the last one stays" "$(cat "$WORK"/host.token*)" old
echo '{"kind": "TokenRequest", "status": {"token": "new"}}' >"$WORK/answer"
check "renewed" renew 7200
equal "the next one" "$(cat "$WORK"/host.token*) $(stat -c %a "$WORK/host.token")" 'new 640'
check "the example is a kubeconfig" "$REAL" --kubeconfig "$ROOT/deploy/outside/host.kubeconfig" config view --minify
mkdir "$WORK/units"
for unit in service timer; do
  sed "s|/usr/local/libexec/fairlead|$ROOT/deploy/outside|" "$ROOT/deploy/outside/fairlead-host-token.$unit" >"$WORK/units/fairlead-host-token.$unit"
done
check "its units" systemd-analyze verify --recursive-errors=no "$WORK/units/fairlead-host-token.service" "$WORK/units/fairlead-host-token.timer"

# --- publish: what arrives is what was made
publish() { IMAGES=$WORK/images REGISTRY=$1 INSECURE=yes "$ROOT/scripts/publish" "${@:2}"; }
refuse "no images yet" 'run make images first' publish 127.0.0.1:1/net
check "images" "$ROOT/scripts/images" --binary "$FAIRLEAD" --output "$WORK/images" fairlead fairlead-tools
registry=127.0.0.1:$(free_port)
printf 'version: 0.1\nstorage: {filesystem: {rootdirectory: %s}}\nhttp: {addr: "%s"}\n' "$WORK/registry" "$registry" >"$WORK/registry.yml"
docker-registry serve "$WORK/registry.yml" >"$WORK/registry.out" 2>"$WORK/registry.err" &
STARTED+=($!)
wait_until 20 "registry" curl -sf "http://$registry/v2/"
digest=$(jq -r '.manifests[0].digest' "$WORK/images/fairlead/index.json")
expect "pushed" "^$registry/net/fairlead:latest $digest$" publish "$registry/net"
equal "both images" "$(curl -s "http://$registry/v2/_catalog" | jq -c .repositories)" '["net/fairlead","net/fairlead-tools"]'
version=$("$FAIRLEAD" --version | awk '{print $2}')
equal "by version and as the latest" "$(curl -s "http://$registry/v2/net/fairlead/tags/list" | jq -c '.tags | sort')" "$(jq -cn --arg v "$version" '[$v, "latest"] | sort')"
TAG=v9 expect "by a tag of one's own" "^$registry/net/fairlead:v9 $digest$" publish "$registry/net" fairlead
expect "the same, byte for byte" "Docker-Content-Digest: $digest" curl -sI -H 'Accept: application/vnd.oci.image.manifest.v1+json' "http://$registry/v2/net/fairlead/manifests/v9"
refuse "nobody there" 'connection refused' publish 127.0.0.1:1/net fairlead
refuse "no registry" 'REGISTRY is not set' publish ''
