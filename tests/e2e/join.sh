#!/bin/bash
# A machine becomes a node by a join token, keeps to its rights, and stops being one.
# time-limit: 180
. "$(dirname "$0")/../lib.sh"
start_server one
ADDRESS=${SERVER_URL#https://}
token() { "$FAIRLEAD" server token create --data "$SERVER_DATA" "$@"; }
join() { "$FAIRLEAD" join --server "$ADDRESS" "$@"; }
as() { kubectl --kubeconfig "$WORK/$1/node.kubeconfig" "${@:2}"; }

# --- tokens
any=$(token --description 'for tests')
expect "a token pins the authority" '^[a-z0-9]{6}\.[a-z0-9]{16}@sha256:[0-9a-f]{64}$' echo "$any"
expect "tokens are listed" "^${any%%.*} +20.*any +no +for tests" "$FAIRLEAD" server token list --data "$SERVER_DATA"
secret=${any#*.} secret=${secret%%@*}
stored=$(kubectl get secret -n kube-system "join-token-${any%%.*}" -o 'jsonpath={.data.record}' | base64 -d)
expect "a digest is stored" secretDigest echo "$stored"
if grep -q "$secret" <<<"$stored"; then die "the token itself is stored"; fi
refuse "a bad ttl" '--ttl soon: must look like' token --ttl soon
refuse "no such folder" 'nowhere/admin.kubeconfig does not exist' "$FAIRLEAD" server token list --data "$WORK/nowhere"

# --- joining
expect "join" '^joined https://.* as a1, certificate valid until 20' join --token "$any" --node a1 --data "$WORK/a1"
expect "kubectl shows the node" '^a1 ' kubectl get nodes
equal "the key is private" "$(stat -c %a "$WORK/a1/node.key")$(stat -c %a "$WORK/a1/node.kubeconfig")" 600600
equal "the servers" "$(cat "$WORK/a1/servers")" "$SERVER_URL"
equal "who it is" "$(whoami --kubeconfig "$WORK/a1/node.kubeconfig")" system:node:a1
check "its own Node" as a1 get node a1
refuse "another Node" 'Forbidden' as a1 get node a2
refuse "all secrets" 'Forbidden' as a1 get secrets -A
refuse "a write elsewhere" 'forbidden' as a1 create configmap mine
refuse "a backup" '403|orbidden' as a1 get --raw /fairlead.dev/backup
before=$(cat "$WORK/a1/node.crt")
expect "joining again changes nothing" '^already joined as a1' join --token "$any" --node a1 --data "$WORK/a1"
equal "the certificate stays" "$(cat "$WORK/a1/node.crt")" "$before"
expect "renewal needs no token" '^certificate of a1 renewed' "$FAIRLEAD" join --renew --data "$WORK/a1"
[ "$(cat "$WORK/a1/node.crt")" != "$before" ] || die "the certificate was not renewed"
check "the renewed certificate" as a1 get node a1
refuse "another name in the same folder" 'node.crt is that of node a1' join --token "$any" --node a2 --data "$WORK/a1"

# --- servers that do not answer
expect "the next server" 'trying the next server' \
  "$FAIRLEAD" join --server "127.0.0.1:$(free_port),$ADDRESS" --token "$any" --node a2 --data "$WORK/a2"
check "joined all the same" as a2 get node a2
refuse "no server at all" '127.0.0.1:[0-9]+: ' \
  "$FAIRLEAD" join --server "127.0.0.1:$(free_port)" --token "$any" --node a3 --data "$WORK/a3"

# --- refusals
wrong=${any%%.*}.0000000000000000@${any#*@}
refuse "a wrong token" 'join token is unknown or has expired' join --token "$wrong" --node b1 --data "$WORK/b1"
api POST /fairlead.dev/join -d '{}' >/dev/null
equal "a malformed request" "$(code)" 400
openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout /dev/null -subj /CN=x 2>/dev/null |
  jq -Rs --arg t "$wrong" '{token: $t, node: "b1", signingRequest: .}' >"$WORK/request"
api POST /fairlead.dev/join -d @"$WORK/request" >/dev/null
equal "a wrong token is 401" "$(code)" 401
jq 'del(.token)' "$WORK/request" >"$WORK/unproven"
api POST /fairlead.dev/join -d @"$WORK/unproven" >/dev/null
equal "the admin is no node" "$(code)" 401
refuse "a wrong pin" 'not the one the join token names' \
  join --token "${any%%@*}@sha256:$(printf '0%.0s' $(seq 64))" --node b1 --data "$WORK/b1"
refuse "no pin" '--token: it does not name the cluster' join --token "${any%%@*}" --node b1 --data "$WORK/b1"
refuse "no token" '--token: needed' join --node b1 --data "$WORK/b1"
refuse "a bad name" '--node B_1: is not a valid' join --token "$any" --node B_1 --data "$WORK/b1"
short=$(token --ttl 1s)
expired() { "$FAIRLEAD" server token list --data "$SERVER_DATA" | grep -q "^${short%%.*} .*expired"; }
wait_until 20 "end of the token" expired
refuse "an expired token" 'unknown or has expired' join --token "$short" --node b1 --data "$WORK/b1"
bound=$(token --node b2)
refuse "a token for another node" 'is for another node' join --token "$bound" --node b1 --data "$WORK/b1"
refuse "nobody joined" 'NotFound' kubectl get node b1
if expired; then die "an expired token outlived the making of another"; fi
check "delete a token" "$FAIRLEAD" server token delete --data "$SERVER_DATA" "${bound%%.*}"
refuse "a deleted token" 'unknown or has expired' join --token "$bound" --node b2 --data "$WORK/b2"

# --- one name, two machines
refuse "a second machine" 'node a1 is registered with another key' join --token "$any" --node a1 --data "$WORK/rival"
check "the first one stays" as a1 get node a1
for i in $(seq 4); do
  join --token "$any" --node race --data "$WORK/race$i" >"$WORK/race$i.out" 2>&1 &
  racers[i]=$!
done
winners=0
for i in $(seq 4); do if wait "${racers[i]}"; then winners=$((winners + 1)); fi; done
equal "of four at once one joins" $winners 1
replacing=$(token --node a1 --replace)
expect "a token that may replace" '^joined' join --token "$replacing" --node a1 --data "$WORK/rival"
check "the new machine" as rival get node a1
refuse "the old one is out" 'Unauthorized|must be logged in' as a1 get node a1

# --- deleting the Node revokes its certificate
check "delete the Node" kubectl delete node a2
refuse "revoked" 'Unauthorized|must be logged in' as a2 get node a2
refuse "no renewal either" 'certificate is needed|not registered' "$FAIRLEAD" join --renew --data "$WORK/a2"
expect "it may join anew" '^joined' join --renew --token "$any" --data "$WORK/a2"
check "and is a node again" as a2 get node a2
