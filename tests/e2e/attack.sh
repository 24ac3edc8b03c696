#!/bin/bash
# Peers that mean harm: slow, endless, malformed, too many, with wrong credentials. Each is refused or cut,
# others are served meanwhile, memory stays below MEMORY_MB, and the process is the same at the end.
# ATTACKS=name runs only those whose name contains it.
# time-limit: 400
. "$(dirname "$0")/../lib.sh"
MEMORY_MB=${MEMORY_MB:-400}

# A user who is no administrator, and reads and writes all the same.
CONTROLLER_TOKEN=controller-$RANDOM$RANDOM
export CONTROLLER_TOKEN FAIRLEAD WORK
echo "$CONTROLLER_TOKEN,controller,,\"fairlead:controllers\"" >"$WORK/tokens"

start_server one --token-auth-file "$WORK/tokens" --log-level error --handshake-seconds 2 --header-seconds 2 --body-seconds 3 \
  --idle-seconds 8 --stall-seconds 3

# certificate NAME SUBJECT USAGE FIRST LAST [CA]: signed by the server's own authority, unless by another.
: >"$WORK/index"
mkdir "$WORK/certificates"
certificate() {
  local out=$WORK/certificates/$1 ca=${6:-$SERVER_DATA/pki/ca}
  openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "$2" -keyout "$out.key" -out "$out.csr" 2>/dev/null
  cat >"$WORK/ca.conf" <<TEXT
[ca]
default_ca = one
[one]
database = $WORK/index
rand_serial = yes
unique_subject = no
default_md = sha256
policy = any
x509_extensions = extensions
new_certs_dir = $WORK/certificates
[any]
organizationName = optional
commonName = supplied
[extensions]
extendedKeyUsage = $3
TEXT
  openssl ca -batch -notext -config "$WORK/ca.conf" -cert "$ca.crt" -keyfile "$ca.key" -in "$out.csr" -out "$out.crt" \
    -startdate "$4" -enddate "$5" -preserveDN 2>"$WORK/openssl.err" || die "openssl: $(cat "$WORK/openssl.err")"
}
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj '/CN=another authority' \
  -keyout "$WORK/other.key" -out "$WORK/other.crt" 2>/dev/null
yesterday=$(date -u -d '-1 day' +%Y%m%d%H%M%SZ) tomorrow=$(date -u -d '+1 day' +%Y%m%d%H%M%SZ)
certificate good '/O=system:masters/CN=tester' clientAuth "$yesterday" "$tomorrow"
certificate expired '/O=system:masters/CN=tester' clientAuth 20200101000000Z "$yesterday"
certificate future '/O=system:masters/CN=tester' clientAuth "$tomorrow" 20400101000000Z
certificate foreign '/O=system:masters/CN=tester' clientAuth "$yesterday" "$tomorrow" "$WORK/other"
certificate server '/O=system:masters/CN=tester' serverAuth "$yesterday" "$tomorrow"
certificate node '/O=system:nodes/CN=system:node:nowhere' clientAuth "$yesterday" "$tomorrow"
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj '/CN=long' \
  -addext "subjectAltName=$(seq -s, -f 'DNS:%032g.example' 70)" \
  -keyout "$WORK/certificates/long.key" -out "$WORK/certificates/long.crt" 2>/dev/null

attack() { # NAME SUITE: the server must live on, and stop when it is told
  export SERVER_DATA
  PYTHONDONTWRITEBYTECODE=1 python3 "$(dirname "$0")/attack/attack.py" \
    "${SERVER_URL#https://}" "$SERVER_DATA/pki/ca.crt" "$TOKEN" "$SERVER_PID" "$MEMORY_MB" "$WORK/certificates" \
    "$2" "${ATTACKS:-}" || die "see above; the server said: $(tail -n 20 "$WORK/$1.err")"
  CHECKS=$((CHECKS + 1))
}
stop() {
  expect "still ready" ok api GET /readyz
  check "the same process" kill -0 "$SERVER_PID"
  kill -TERM "$SERVER_PID"
  wait "$SERVER_PID" || die "SIGTERM: exit status $?"
}
attack one all
stop

# A server that allows little. It tells everything it can tell; secrets are not among that.
start_server two --log-level debug --max-connections 40 --max-reads 20 --max-writes 20 --max-watches 20 \
  --stall-seconds 20 --token-auth-file "$WORK/tokens" --audit-log "$WORK/audit" --audit-level metadata
attack two limits
api POST /api/v1/namespaces/default/secrets -H 'Content-Type: application/json' \
  -d '{"metadata":{"name":"s"},"stringData":{"password":"lighthouse-keeper"}}' >/dev/null
equal "a secret" "$(code)" 201
TOKEN=guessed-in-vain api GET /api/v1/namespaces/default/secrets >/dev/null
join=$("$FAIRLEAD" server token create --data "$SERVER_DATA")
stop
check "the audit log has the request" grep -q '"verb":"create".*"resource":"secrets"' "$WORK/audit"
for word in "$TOKEN" lighthouse-keeper "$(printf lighthouse-keeper | base64)" guessed-in-vain "$(cut -d. -f2 <<<"${join%%@*}")"; do
  if grep -qF -- "$word" "$WORK/two.out" "$WORK/two.err" "$WORK/audit"; then die "a log contains a secret: $word"; fi
  CHECKS=$((CHECKS + 1))
done
