#!/bin/bash
# What deploy/prometheus and deploy/grafana ask for exists: a real Prometheus scrapes real servers (one on SQLite, one
# on etcd behind the first as its host), that etcd, and agents by deploy/prometheus/standalone.yml, and every query of every
# dashboard and alert rule finds its metrics there. docs/metrics.md names what is scraped, and nothing else.
# (Grafana itself takes no part: Debian has none. Its files are read as it would read them.)
# time-limit: 240
# In a network namespace of its own: one of the agents holds a virtual IP there.
if [ -z "${OBSERVED:-}" ]; then
  [ "$(id -u)" -eq 0 ] && own=() || own=(--map-root-user)
  OBSERVED=1 exec unshare "${own[@]}" --net bash "$0" "$@"
fi
. "$(dirname "$0")/../lib.sh"
ip link set lo up
ip link add v0 type veth peer name v1
ip link set v0 up
ip link set v1 up
ip addr add 192.0.2.1/24 dev v0
HERE=$(cd "$(dirname "$0")" && pwd)
ROOT=$(cd "$HERE/../.." && pwd)
RULES=$ROOT/deploy/prometheus

# --- by promtool: forms, and when each alert fires
check "rules" promtool check rules "$RULES/rules.yml"
check "tests of the rules" promtool test rules "$RULES/rules_test.yml"
while read -r alert; do
  grep -q "alertname=\"$alert\"" "$RULES/rules_test.yml" || die "no test shows $alert firing"
done < <(sed -n 's/.*- alert: //p' "$RULES/rules.yml")
check "each alert's for: is tested" python3 "$HERE/alert_patience.py" "$RULES"
check "the configuration for Kubernetes" promtool check config --syntax-only "$RULES/kubernetes.yml"

# --- Grafana: dashboards that it can load, all of them loaded by deploy/grafana, and told apart
for file in "$ROOT"/deploy/grafana/*.json; do
  check "$file" jq -e '.title and .uid and .schemaVersion and ([.panels[].id] | length == (unique | length))
    and ([.panels[] | select(.type != "row") | .targets[] | .expr] | length > 0)' "$file"
  check "$file is loaded by itself" grep -qw "$(basename "$file")" "$ROOT/deploy/grafana/kustomization.yaml"
done
equal "each its own" "$(jq -rs '[.[].uid] | length - (unique | length)' "$ROOT"/deploy/grafana/*.json)" 0

# --- two servers and two agents
echo 'scrape-token,prometheus,1,"fairlead:viewers"' >"$WORK/tokens.csv"
start_server one --token-auth-file "$WORK/tokens.csv"
ONE=${SERVER_URL#https://}
client=$(free_port) peer=$(free_port)
etcd --data-dir "$WORK/etcd" --listen-client-urls "http://127.0.0.1:$client" --advertise-client-urls "http://127.0.0.1:$client" \
  --listen-peer-urls "http://127.0.0.1:$peer" --initial-advertise-peer-urls "http://127.0.0.1:$peer" \
  --initial-cluster "default=http://127.0.0.1:$peer" --quota-backend-bytes 4294967296 >"$WORK/etcd.out" 2>&1 &
STARTED+=($!)
kubectl create configmap extension-apiserver-authentication -n kube-system --from-file=requestheader-client-ca-file="$WORK/one/pki/ca.crt" \
  --from-literal=requestheader-allowed-names='["none"]' --from-literal=requestheader-username-headers='["X-Remote-User"]' >/dev/null
# Both servers are one authority's, so that Prometheus trusts both.
mkdir -p "$WORK/two/pki"
cp "$WORK"/one/pki/ca.* "$WORK/two/pki"
host=$KUBECONFIG
start_server two --token-auth-file "$WORK/tokens.csv" --store "etcd:http://127.0.0.1:$client" --host-kubeconfig "$host"
TWO=${SERVER_URL#https://}
KUBECONFIG=$host
token=$("$FAIRLEAD" server token create --data "$WORK/one")
agents=()
# The first agent is alone in an election of virtual IPs, holds one of its file, and follows those of the API.
cat >"$WORK/n1.yaml" <<C
election: {listen: "127.0.0.1:$(free_port)", fence: none}
virtualIPs:
- {address: 192.0.2.75, interface: v0, health: [{command: [/bin/true], interval: 200ms}], notify: [/bin/true]}
virtualIPsFromAPI: {}
state: $WORK/vip
networks: {host: 192.0.2.1}
C
echo 'networks: {host: 192.0.2.2}' >"$WORK/n2.yaml"
for n in 1 2; do
  check "join n$n" "$FAIRLEAD" join --server "$ONE" --token "$token" --node "n$n" --data "$WORK/n$n"
  agents+=("127.0.0.1:$(free_port)")
  "$FAIRLEAD" agent --config "$WORK/n$n.yaml" --join-dir "$WORK/n$n" --fabric log --metrics-listen "${agents[-1]}" \
    --allowed-program /bin/true >"$WORK/n$n.out" 2>"$WORK/n$n.err" &
  STARTED+=($!)
done
for n in 1 2; do wait_until 30 "agent n$n" grep -q ready "$WORK/n$n.out"; done
printf '{"apiVersion": "fairlead.dev/v1alpha1", "kind": "VirtualIP", "metadata": {"name": "front"}, "spec": {"address": "192.0.2.76", "interface": "v0"}}\n' |
  kubectl create -f - >/dev/null
wait_until 30 "a virtual IP" kubectl wait --for=condition=Ready --timeout=1s virtualip/front

# --- something to see: attachments on both nodes, a hook, a full subnet, a rejected one, a deletion
{
  for subnet in "main 5 10.0.0.0/24" "small 6 10.0.1.0/30" "rival 5 10.0.0.0/25"; do
    read -r name vni block <<<"$subnet"
    printf '{"apiVersion": "fairlead.dev/v1alpha1", "kind": "Subnet", "metadata": {"name": "%s"}, "spec": {"vni": %s, "ipv4": "%s"}}\n' \
      "$name" "$vni" "$block"
  done
  for n in 1 2 3 4 5 6; do
    printf '{"apiVersion": "fairlead.dev/v1alpha1", "kind": "NetworkAttachment", "metadata": {"name": "%s-%s"}, "spec": {"node": "n%s", "subnet": "%s", "postCreateExec": ["/bin/true"]}}\n' \
      main $n $((n % 2 + 1)) main small $n $((n % 2 + 1)) small
  done
} | kubectl create -f - >/dev/null
waiting() { [ "$(kubectl get na -o json | jq '[.items[] | select(.status.addressContention)] | length')" -ge 1 ]; }
implemented() { [ "$(kubectl get na -o json | jq '[.items[] | select(.status.postCreateExecReport)] | length')" -ge 8 ]; }
wait_until 30 "implementation" implemented
wait_until 30 "a full subnet" waiting
kubectl delete na main-1 >/dev/null
api POST /apis/fairlead.dev/v1alpha1/namespaces/default/subnets -H 'Content-Type: application/json' \
  -d '{"metadata": {"name": "elsewhere"}, "spec": {"vni": 9, "ipv4": "10.9.0.0/24"}}' >/dev/null  # on the second server

# --- Prometheus, by the configuration that is delivered
cp "$WORK/one/pki/ca.crt" "$WORK/ca.crt"
echo scrape-token >"$WORK/token"
sed -e "s|/etc/prometheus/fairlead|$WORK|; s|rules.yml|$RULES/rules.yml|; s|_interval: 15s|_interval: 500ms|" \
  -e "s|\"10.0.0.1:6443\"|\"$ONE\", \"$TWO\"|; s|\"10.0.0.11:9294\", \"10.0.0.12:9294\"|\"${agents[0]}\", \"${agents[1]}\"|" \
  -e "s|targets: \[\]|targets: [\"127.0.0.1:$client\"]|" "$RULES/standalone.yml" >"$WORK/prometheus.yml"
check "the configuration" promtool check config "$WORK/prometheus.yml"
page=http://127.0.0.1:$(free_port)
prometheus --config.file "$WORK/prometheus.yml" --storage.tsdb.path "$WORK/tsdb" --web.listen-address "${page#http://}" \
  >"$WORK/prometheus.out" 2>"$WORK/prometheus.err" &
STARTED+=($!)
ask() { curl -sS --max-time 10 -G "$page/api/v1/query" --data-urlencode "query=$1" | jq -r '.data.result[0].value[1]'; }
all_scraped() { [ "$(ask 'count(up{job=~"fairlead-.*"} == 1)')" = 5 ]; }
wait_until 40 "scrape of two servers, etcd and two agents" all_scraped
twice() { [ "$(ask 'min(count_over_time(up[1m]))')" -ge 2 ]; }
wait_until 20 "a second scrape" twice
check "every query" python3 "$HERE/metric_queries.py" check "$page" "$ROOT"/deploy/grafana/*.json "$RULES/rules.yml"
# The check is able to fail.
sed 's/fairlead_agent_local_attachments/fairlead_agent_local_things/; s/reason/because/' "$ROOT/deploy/grafana/externals.json" >"$WORK/wrong.json"
refuse "a metric and a label that do not exist" 'no series for fairlead_agent_local_things' python3 "$HERE/metric_queries.py" check "$page" "$WORK/wrong.json"
expect "the label, too" 'no metric of it has the label because' python3 "$HERE/metric_queries.py" check "$page" "$WORK/wrong.json"

# --- docs/metrics.md: what is scraped is there, and what is there is scraped
curl -sS "$page/api/v1/metadata" | jq -r '.data | keys[]' | grep -E '^(fairlead_|workqueue_|process_)' | sort >"$WORK/real"
grep -oE '\b(fairlead|workqueue)_[a-z0-9_]+' "$ROOT/docs/metrics.md" | sed 's/_seconds_count$/_seconds/' | sort -u >"$WORK/named"
while read -r name; do
  case $name in process_*) continue ;; esac
  grep -qx "$name" "$WORK/named" || die "docs/metrics.md does not mention $name"
done <"$WORK/real"
while read -r name; do
  case $name in *_) continue ;; esac  # a prefix
  grep -qx "$name" "$WORK/real" || die "docs/metrics.md mentions $name, which nobody serves"
done <"$WORK/named"
CHECKS=$((CHECKS + 1))
