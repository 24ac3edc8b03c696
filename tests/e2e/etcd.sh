#!/bin/bash
# Two servers on a real etcd cluster of three, written to and watched on both, while members are killed,
# frozen, compacted and defragmented and a server is killed: nothing acknowledged is lost, and every watcher
# on every server sees the one ordered history, or a clean 410.
# time-limit: 240
. "$(dirname "$0")/../lib.sh"
here=$(cd "$(dirname "$0")" && pwd)
for program in etcd etcdctl openssl; do
  command -v "$program" >/dev/null || { echo "$program is not installed"; exit 77; }
done

# The judge can say no.
check "the judge finds what is planted" python3 "$here/etcd_judge.py"

# etcd's authority, and one certificate for its members and its clients.
openssl ecparam -name prime256v1 -genkey -noout -out "$WORK/ca.key"
openssl req -x509 -new -key "$WORK/ca.key" -subj /CN=etcd-ca -days 1 -out "$WORK/ca.crt"
openssl ecparam -name prime256v1 -genkey -noout -out "$WORK/etcd.key"
openssl req -new -key "$WORK/etcd.key" -subj /CN=etcd -out "$WORK/etcd.csr"
openssl x509 -req -in "$WORK/etcd.csr" -CA "$WORK/ca.crt" -CAkey "$WORK/ca.key" -CAcreateserial -days 1 \
  -extfile <(echo "subjectAltName = IP:127.0.0.1") -out "$WORK/etcd.crt" 2>/dev/null

if ! PYTHONDONTWRITEBYTECODE=1 python3 "$here/etcd_storm.py" "$FAIRLEAD" "$WORK" "${SEED:-$RANDOM}"; then
  tail -n 20 "$WORK"/*.err >&2
  die "the promises were not kept"
fi
CHECKS=$((CHECKS + 1))
