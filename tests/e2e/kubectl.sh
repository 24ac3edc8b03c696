#!/bin/bash
# kubectl does on a Fairlead server everything it does on Kubernetes.
# time-limit: 240
. "$(dirname "$0")/../lib.sh"
# shellcheck disable=SC2086  # several flags
start_server one ${SERVER_FLAGS:-}

# --- looking around
expect "api-versions" '^fairlead.dev/v1alpha1$' kubectl api-versions
expect "api-resources" 'networkattachments +na .*NetworkAttachment' kubectl api-resources
expect "namespaces" 'default +Active' kubectl get namespaces
expect "version" 'Server Version: (v1\.|version.Info.*GitVersion:"v1\.)' kubectl version  # the latter: before 1.28
expect "explain a kind" 'KIND: +Subnet' kubectl explain subnet
expect "explain a field" 'vni' kubectl explain subnet.spec --recursive
expect "explain a core kind" 'KIND: +ConfigMap' kubectl explain configmap
expect "explain a review" "(FIELD|RESOURCE): resourceAttributes" kubectl explain selfsubjectaccessreview.spec.resourceAttributes
expect "explain a token review" "KIND: +TokenReview" kubectl explain tokenreview
expect "auth can-i" '^yes$' kubectl auth can-i create subnets
expect "auth can-i as a viewer" '^no$' kubectl auth can-i create subnets --as someone --as-group fairlead:viewers
equal "whoami" "$(whoami --kubeconfig "$KUBECONFIG")" fairlead:admin
if kubectl_since 27; then expect "auth whoami" 'fairlead:admin' kubectl auth whoami; fi

# --- create, get in every form
cat >"$WORK/subnet.yaml" <<'YAML'
apiVersion: fairlead.dev/v1alpha1
kind: Subnet
metadata: {name: blue, labels: {tier: front}}
spec: {ipv4: 10.1.0.0/24, vni: 7}
YAML
expect "create" 'subnet.fairlead.dev/blue created' kubectl create -f "$WORK/subnet.yaml"
refuse "create twice" 'AlreadyExists.*"blue" already exists' kubectl create -f "$WORK/subnet.yaml"
expect "get" '^blue .*10\.1\.0\.0/24' kubectl get subnets
expect "get wide" '^NAME' kubectl get subnets -o wide
expect "get yaml" 'vni: 7' kubectl get subnet blue -o yaml
equal "get jsonpath" "$(kubectl get sn blue -o 'jsonpath={.spec.vni}')" 7
equal "generation" "$(kubectl get sn blue -o 'jsonpath={.metadata.generation}')" 1
expect "describe" 'Name: +blue' kubectl describe subnet blue
expect "label selector" '^subnet.fairlead.dev/blue$' kubectl get sn -l tier=front -o name
equal "label selector without match" "$(kubectl get sn -l tier=back -o name)" ""
expect "field selector" '^subnet.fairlead.dev/blue$' kubectl get sn --field-selector spec.vni=7 -o name
refuse "unknown field selector" 'field label not supported' kubectl get sn --field-selector spec.nope=7
refuse "missing object" 'NotFound' kubectl get subnet green
refuse "missing namespace" 'namespaces "nowhere" not found' kubectl create -n nowhere -f "$WORK/subnet.yaml"

# --- apply, client and server side
expect "apply unchanged" 'blue (configured|unchanged)' kubectl apply -f "$WORK/subnet.yaml"
expect "apply again" 'blue unchanged' kubectl apply -f "$WORK/subnet.yaml"
sed -i 's/tier: front/tier: middle/' "$WORK/subnet.yaml"
expect "diff" '\+ +tier: middle' kubectl diff -f "$WORK/subnet.yaml"
expect "apply a change" 'blue configured' kubectl apply -f "$WORK/subnet.yaml"
equal "applied" "$(kubectl get sn blue -o 'jsonpath={.metadata.labels.tier}')" middle
cat >"$WORK/map.yaml" <<'YAML'
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {colour: red}
YAML
expect "server-side apply" 'settings serverside-applied' kubectl apply --server-side --field-manager a -f "$WORK/map.yaml"
sed -i 's/colour: red/colour: green/' "$WORK/map.yaml"
refuse "conflict" 'conflict with "a".*\.data\.colour|Apply failed with 1 conflict' \
  kubectl apply --server-side --field-manager b -f "$WORK/map.yaml"
expect "forced" 'serverside-applied' kubectl apply --server-side --field-manager b --force-conflicts -f "$WORK/map.yaml"
equal "forced value" "$(kubectl get cm settings -o 'jsonpath={.data.colour}')" green

# --- validation
refuse "strict validation" 'unknown field "(spec.)?bogus"' kubectl create -f - <<'YAML'
apiVersion: fairlead.dev/v1alpha1
kind: Subnet
metadata: {name: odd}
spec: {ipv4: 10.2.0.0/24, vni: 8, bogus: 1}
YAML
refuse "a bad value" 'spec.vni: Invalid value' kubectl create -f - <<'YAML'
apiVersion: fairlead.dev/v1alpha1
kind: Subnet
metadata: {name: odd}
spec: {ipv4: 10.2.0.0/24, vni: 0}
YAML
refuse "an immutable field" 'immutable' kubectl patch sn blue --type merge -p '{"spec":{"vni":9}}'
expect "dry run" 'created \(server dry run\)' kubectl create configmap ghost --from-literal=a=b --dry-run=server
refuse "dry run stored nothing" 'NotFound' kubectl get configmap ghost

# --- patches and edits
check "merge patch" kubectl patch sn blue --type merge -p '{"metadata":{"labels":{"a":"1"}}}'
check "json patch" kubectl patch sn blue --type json -p '[{"op":"add","path":"/metadata/labels/b","value":"2"}]'
refuse "strategic patch on our kinds" 'not supported|UnsupportedMediaType|media type' kubectl patch sn blue --type strategic -p '{}'
check "strategic patch on core kinds" kubectl patch cm settings -p '{"data":{"size":"xl"}}'
equal "all patches" "$(kubectl get sn blue -o 'jsonpath={.metadata.labels.a}{.metadata.labels.b}')" 12
check "label" kubectl label sn blue c=3
check "annotate" kubectl annotate sn blue note=hello
EDITOR="sed -i s/note:\ hello/note:\ edited/" check "edit" kubectl edit sn blue
equal "edited" "$(kubectl get sn blue -o 'jsonpath={.metadata.annotations.note}')" edited
patch_status subnets blue '{"status": {"validated": true}}'
if kubectl_since 24; then
  check "status patch" kubectl patch sn blue --subresource=status --type merge -p '{"status": {"validated": true}}'
fi
equal "generation counts the spec only" "$(kubectl get sn blue -o 'jsonpath={.metadata.generation}')" 1
if kubectl_since 23; then
  check "wait" kubectl wait sn/blue --for=jsonpath='{.status.validated}'=true --timeout=20s
fi

# --- events, under both of their names
BLUE=$(kubectl get sn blue -o 'jsonpath={.metadata.uid}')  # describe asks for events by it
cat >"$WORK/event.yaml" <<YAML
apiVersion: events.k8s.io/v1
kind: Event
metadata: {name: told, labels: {told: by-hand}}
eventTime: 2026-01-01T00:00:00.000000Z
type: Warning
reason: Tried
action: Try
note: it was tried
reportingController: example.com/tester
reportingInstance: tester-0
regarding: {apiVersion: fairlead.dev/v1alpha1, kind: Subnet, name: blue, namespace: default, uid: $BLUE}
YAML
EVENTS=events.v1.events.k8s.io
expect "create an event" 'event.events.k8s.io/told created' kubectl create -f "$WORK/event.yaml"
expect "get events by their new name" 'Warning +Tried +subnet/blue +it was tried' kubectl get "$EVENTS"
expect "and by their old" 'Warning +Tried +subnet/blue +it was tried' kubectl get events
expect "one object, two forms" '^it was tried it was tried$' echo \
  "$(kubectl get "$EVENTS" told -o 'jsonpath={.note}') $(kubectl get event told -o 'jsonpath={.message}')"
expect "describe shows it" 'Tried .*it was tried' kubectl describe subnet blue
expect "select in the new form" 'event.events.k8s.io/told' \
  kubectl get "$EVENTS" --field-selector regarding.name=blue,type=Warning -o name
check "patch in the new form" kubectl patch "$EVENTS" told --type merge -p '{"note":"again"}'
equal "and read in the old" "$(kubectl get event told -o 'jsonpath={.message}')" again
expect "apply in the new form" 'told serverside-applied' kubectl apply --server-side --force-conflicts -f "$WORK/event.yaml"
equal "applied" "$(kubectl get event told -o 'jsonpath={.message}')" "it was tried"
expect "explain the new form" 'regarding' kubectl explain --api-version=events.k8s.io/v1 events
refuse "an incomplete event" 'action: Required value' bash -c "sed '/^action/d; s/told$/other/' $WORK/event.yaml | kubectl create -f -"
kubectl get "$EVENTS" -w -o name >"$WORK/events-watched" 2>&1 &
STARTED+=($!)
wait_until 20 "a watched event" grep -q told "$WORK/events-watched"
check "delete in the new form" kubectl delete "$EVENTS" -l told=by-hand
refuse "gone in the old" 'NotFound' kubectl get event told

# --- watch
kubectl get sn -w -o name >"$WORK/watched" 2>&1 &
STARTED+=($!)
wait_until 20 "first watched object" grep -q blue "$WORK/watched"
sed 's/name: blue/name: cyan/; s/vni: 7/vni: 17/' "$WORK/subnet.yaml" | kubectl create -f - >/dev/null
wait_until 20 "watched creation" grep -q cyan "$WORK/watched"

# --- paging
for i in $(seq 1 12); do
  printf 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: page-%02d}\n---\n' "$i"
done | kubectl create -f - >/dev/null
equal "chunks" "$(kubectl get cm --chunk-size=5 -o name | grep -c page-)" 12

# --- deletion
check "delete" kubectl delete sn cyan
refuse "deleted" 'NotFound' kubectl get sn cyan
owner=$(kubectl get cm settings -o 'jsonpath={.metadata.uid}')
dependent() {
  kubectl create -f - >/dev/null <<YAML
apiVersion: v1
kind: ConfigMap
metadata:
  name: $1
  ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: ${2:-settings}, uid: $owner, blockOwnerDeletion: true}]
YAML
}
dependent child
check "background deletion" kubectl delete cm settings
wait_until 20 "collection of the dependent" bash -c '! kubectl get cm child'
check "a new owner" kubectl create cm settings
owner=$(kubectl get cm settings -o 'jsonpath={.metadata.uid}')
dependent child
check "foreground deletion" kubectl delete cm settings --cascade=foreground --timeout=20s
refuse "the dependent went first" 'NotFound' kubectl get cm child
check "a new owner" kubectl create cm settings
owner=$(kubectl get cm settings -o 'jsonpath={.metadata.uid}')
dependent child
check "orphan deletion" kubectl delete cm settings --cascade=orphan --timeout=20s
# shellcheck disable=SC2016  # asked anew each time
wait_until 20 "release of the orphan" bash -c '[ -z "$(kubectl get cm child -o "jsonpath={.metadata.ownerReferences}")" ]'
check "namespace" kubectl create namespace away
check "something in it" kubectl create -n away cm inside
check "namespace deletion" kubectl delete namespace away --timeout=30s
refuse "its content went too" 'NotFound' kubectl get -n away cm inside
check "delete all of a label" kubectl delete cm --all
equal "all gone" "$(kubectl get cm -o name)" ""

# --- a clean end
kill -TERM "$SERVER_PID"
wait "$SERVER_PID" || die "SIGTERM: exit status $?"
