#!/bin/bash
# What comes over the wire when things are not as they should be: every wrong request gets the right
# answer, and the server lives on.
# time-limit: 180
. "$(dirname "$0")/../lib.sh"
start_server one --log-level warning

SUBNETS=/apis/fairlead.dev/v1alpha1/namespaces/default/subnets
JSON=(-H 'Content-Type: application/json')
answers() { # WHAT CODE PATTERN METHOD PATH [curl arguments…]
  local what=$1 wanted=$2 pattern=$3 body
  shift 3
  CHECKS=$((CHECKS + 1))
  body=$(api "$@")
  [ "$(code)" = "$wanted" ] || die "$what: status $(code), wanted $wanted: $body"
  grep -qE -- "$pattern" <<<"$body" || die "$what: wanted /$pattern/ in: $body"
}

# --- bodies
answers "malformed JSON" 400 BadRequest POST $SUBNETS "${JSON[@]}" -d '{"kind":'
answers "not an object" 400 BadRequest POST $SUBNETS "${JSON[@]}" -d '[1,2]'
answers "no body" 400 BadRequest POST $SUBNETS "${JSON[@]}"
answers "wrong kind" 400 BadRequest POST $SUBNETS "${JSON[@]}" -d '{"kind":"Pod","apiVersion":"v1","metadata":{"name":"x"}}'
answers "wrong type" 422 'spec.vni' POST $SUBNETS "${JSON[@]}" -d '{"metadata":{"name":"x"},"spec":{"ipv4":"10.0.0.0/8","vni":"seven"}}'
answers "wrong metadata" 422 Invalid POST $SUBNETS "${JSON[@]}" -d '{"metadata":7}'
answers "bad name" 422 'metadata.name' POST $SUBNETS "${JSON[@]}" -d '{"metadata":{"name":"No_Good"},"spec":{"ipv4":"10.0.0.0/8","vni":7}}'
answers "bad UTF-8" 400 BadRequest POST $SUBNETS "${JSON[@]}" --data-binary $'{"metadata":{"name":"\xff\xfe"}}'
python3 -c 'print("[" * 100000)' >"$WORK/deep"
answers "deep nesting" 400 BadRequest POST $SUBNETS "${JSON[@]}" --data-binary "@$WORK/deep"
head -c 4000000 /dev/zero | tr '\0' ' ' >"$WORK/huge"
body=$(api POST $SUBNETS "${JSON[@]}" --http1.1 -H 'Expect:' --data-binary "@$WORK/huge" 2>/dev/null) || true
equal "huge body" "$(code)" 413
answers "unknown media type" 415 UnsupportedMediaType POST $SUBNETS -H 'Content-Type: text/plain' -d 'x'
answers "unknown answer type" 406 NotAcceptable GET $SUBNETS -H 'Accept: application/xml'
answers "bad protobuf" 400 BadRequest POST /api/v1/namespaces/default/configmaps -H 'Content-Type: application/vnd.kubernetes.protobuf' --data-binary $'k8s\x01\x02\x03'
answers "duplicate fields, strict" 400 'duplicate field .*metadata.name' POST "$SUBNETS?fieldValidation=Strict" "${JSON[@]}" -d '{"metadata":{"name":"a","name":"b"},"spec":{"ipv4":"10.0.0.0/8","vni":7}}'

# --- paths, verbs and options
answers "unknown path" 404 'page not found' GET /nonsense
answers "unknown kind" 404 'could not find|NotFound' GET /apis/fairlead.dev/v1alpha1/namespaces/default/pods
answers "dots in a path" 404 '' GET '/api/v1/namespaces/default/../secrets' --path-as-is
answers "a broken escape" 400 '' GET '/api/v1/namespaces/%zz'
answers "a wrong verb" 405 MethodNotAllowed POST /api/v1/namespaces/default "${JSON[@]}" -d '{}'
answers "a bad label selector" 400 BadRequest GET "$SUBNETS?labelSelector=a%20b%20c"
answers "a bad field selector" 400 'field label not supported' GET "$SUBNETS?fieldSelector=spec.x%3D1"
answers "a bad continue token" 400 BadRequest GET "$SUBNETS?continue=rubbish"
answers "a bad resourceVersion" 400 '' GET "$SUBNETS?resourceVersion=abc"
answers "a future resourceVersion" 504 'Too large resource version' GET "$SUBNETS?resourceVersion=999999999999"
answers "a wrong match" 422 resourceVersionMatch GET "$SUBNETS?resourceVersionMatch=Exact"
answers "a bad dryRun" 422 dryRun POST "$SUBNETS?dryRun=Some" "${JSON[@]}" -d '{"metadata":{"name":"a"}}'

# --- identity
TOKEN=wrong answers "a wrong token" 401 Unauthorized GET $SUBNETS
code=$(curl -sk -o /dev/null -w '%{http_code}' "$SERVER_URL$SUBNETS")
equal "no credentials" "$code" 401
code=$(curl -sk -o /dev/null -w '%{http_code}' "$SERVER_URL/healthz")
equal "health is open" "$code" 200
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj '/O=system:masters/CN=stranger' \
  -keyout "$WORK/foreign.key" -out "$WORK/foreign.crt" 2>/dev/null
code=$(curl -sk -o /dev/null -w '%{http_code}' --cert "$WORK/foreign.crt" --key "$WORK/foreign.key" "$SERVER_URL$SUBNETS")
equal "a foreign certificate" "$code" 401
code=$(curl -sk -o /dev/null -w '%{http_code}' -H 'X-Remote-User: admin' -H 'X-Remote-Group: system:masters' "$SERVER_URL$SUBNETS")
equal "identity headers from anybody" "$code" 401

# --- transactions: all or nothing, each change with a version of its own
transaction() {
  cat <<TEXT
{"operations":[
 {"verb":"create","object":{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"$1","namespace":"default"}}},
 {"verb":"create","object":{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"$2","namespace":"default"}}}]}
TEXT
}
TX=/apis/fairlead.dev/v1alpha1/transactions
answers "a transaction" 201 TransactionResult POST $TX "${JSON[@]}" -d "$(transaction t1 t2)"
answers "half of it exists" 409 'operations\[1\].*already exists' POST $TX "${JSON[@]}" -d "$(transaction t3 t2)"
answers "nothing of it was made" 404 NotFound GET /api/v1/namespaces/default/configmaps/t3
one=$(api GET /api/v1/namespaces/default/configmaps/t1 | jq -r .metadata.resourceVersion)
two=$(api GET /api/v1/namespaces/default/configmaps/t2 | jq -r .metadata.resourceVersion)
equal "neighbouring versions" "$((one + 1))" "$two"
answers "the same object twice" 400 'same object' POST $TX "${JSON[@]}" -d "$(transaction t4 t4)"
answers "an unknown verb" 400 'verb must be' POST $TX "${JSON[@]}" -d '{"operations":[{"verb":"melt"}]}'

# --- watches: old versions, bookmarks, resuming inside a transaction
watch() { # QUERY SECONDS: one line per event
  api GET "/api/v1/namespaces/default/configmaps?watch=true&timeoutSeconds=$2&$1"
}
lines=$(watch "resourceVersion=$one" 1)
equal "a watch resumes inside a transaction" "$(jq -r '.object.metadata.name' <<<"$lines")" t2
lines=$(watch "resourceVersion=1" 1)
equal "an old version ends with one error" "$(jq -r '.type + " " + (.object.code | tostring)' <<<"$lines")" "ERROR 410"
equal "old versions are answered 200" "$(code)" 200
lines=$(watch "allowWatchBookmarks=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan" 1)
expect "initial events" 'k8s.io/initial-events-end' echo "$lines"
exact=$(api GET "/api/v1/namespaces/default/configmaps?resourceVersion=$one&resourceVersionMatch=Exact")
equal "an exact list shows whole commits" "$(jq -r '.items[].metadata.name' <<<"$exact" | tr '\n' ' ')" "t1 t2 "

# --- paging over a changing collection
for i in 1 2 3 4 5 6; do api POST /api/v1/namespaces/default/configmaps "${JSON[@]}" -d "{\"metadata\":{\"name\":\"p$i\"}}" >/dev/null; done
first=$(api GET "/api/v1/namespaces/default/configmaps?limit=3")
token=$(jq -r .metadata.continue <<<"$first")
api DELETE /api/v1/namespaces/default/configmaps/p5 >/dev/null
api POST /api/v1/namespaces/default/configmaps "${JSON[@]}" -d '{"metadata":{"name":"p55"}}' >/dev/null
rest=$(api GET "/api/v1/namespaces/default/configmaps?limit=100&continue=$token")
equal "later pages show the first page's moment" "$( (jq -r '.items[].metadata.name' <<<"$first"; jq -r '.items[].metadata.name' <<<"$rest") | tr '\n' ' ')" "p1 p2 p3 p4 p5 p6 t1 t2 "
equal "both pages carry one version" "$(jq -r .metadata.resourceVersion <<<"$first")" "$(jq -r .metadata.resourceVersion <<<"$rest")"

# --- raw bytes: smuggling forms are refused, and the connection ends
raw() { # bytes → first line of the answer
  printf %b "$1" | timeout 10 openssl s_client -quiet -connect "${SERVER_URL#https://}" -CAfile "$SERVER_DATA/pki/ca.crt" \
    -alpn http/1.1 2>/dev/null | head -n 1 | tr -d '\r'
}
expect "two lengths" ' 400' raw 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabc'
expect "length and chunks" ' 400' raw 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n'
expect "a space before the colon" ' 400' raw 'GET / HTTP/1.1\r\nHost : a\r\n\r\n'
expect "no host" ' 400' raw 'GET / HTTP/1.1\r\n\r\n'
expect "an unknown coding" ' 501' raw 'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n'

# --- gzip, metrics, health
api GET /api/v1/namespaces/default/configmaps -H 'Accept-Encoding: gzip' >/dev/null
equal "small answers are plain" "$(head -c 1 "$WORK/body")" "{"
answers "metrics" 200 'fairlead_apiserver_requests_total\{verb="create"' GET /metrics
answers "named checks" 200 '\[\+\]cache ok' GET '/readyz?verbose'

# --- one server per folder
refuse "a second server" 'in use by another fairlead server' "$FAIRLEAD" server --data "$SERVER_DATA" --listen 127.0.0.1:0
refuse "a bad flag" '--store' "$FAIRLEAD" server --data "$WORK/x" --store paper
refuse "a bad address" '--listen' "$FAIRLEAD" server --data "$WORK/x" --listen nonsense
kill -0 "$SERVER_PID" || die "the server died"
kill -TERM "$SERVER_PID"
wait "$SERVER_PID" || die "SIGTERM: exit status $?"
