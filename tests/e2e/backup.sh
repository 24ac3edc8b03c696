#!/bin/bash
# A backup of a running server, taken under writes, brings everything back.
# time-limit: 180
. "$(dirname "$0")/../lib.sh"
start_server one
ONE=$SERVER_DATA
for i in $(seq 1 300); do
  printf 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: kept-%03d}\ndata: {number: "%d"}\n---\n' "$i" "$i"
done | kubectl create -f - >/dev/null
check "a secret" kubectl create secret generic hidden --from-literal=a=b
kept() { kubectl get cm,secrets -o json | jq -S '[.items[] | select(.metadata.name | test("^(kept|hidden)"))]'; }
kept >"$WORK/before"

# --- while it runs and others write
touch "$WORK/writing"
(while [ -e "$WORK/writing" ]; do
  kubectl create cm "busy-$RANDOM$RANDOM" >/dev/null 2>&1
done) &
writer=$!
STARTED+=("$writer")
busy() { kubectl get cm -o name | grep busy- >/dev/null; }
wait_until 30 "first write" busy
expect "backup" '^[0-9]+ objects at revision [0-9]+ written' "$FAIRLEAD" server backup --data "$ONE" "$WORK/file"
equal "nobody else may read it" "$(stat -c %a "$WORK/file")" 600
rm "$WORK/writing"
wait $writer || true
refuse "a viewer gets none" 'Forbidden|forbidden' kubectl --as v --as-group fairlead:viewers get --raw /fairlead.dev/backup
refuse "restore while it runs" 'in use by another fairlead server|holds a database already' \
  "$FAIRLEAD" server restore --data "$ONE" "$WORK/file"
check "a change after the backup" kubectl create cm later
last=$(kubectl get cm later -o 'jsonpath={.metadata.resourceVersion}')
kill -TERM "$SERVER_PID"
wait "$SERVER_PID" || die "SIGTERM: exit status $?"

# --- refusals
refuse "restore over data" 'holds a database already' "$FAIRLEAD" server restore --data "$ONE" "$WORK/file"
python3 - "$WORK" <<'PY'
import sys
data = bytearray(open(sys.argv[1] + "/file", "rb").read())
open(sys.argv[1] + "/short", "wb").write(data[:-10])
data[len(data) // 2] ^= 1
open(sys.argv[1] + "/corrupt", "wb").write(data)
PY
refuse "a corrupt backup" "$WORK/corrupt: " "$FAIRLEAD" server restore --data "$WORK/new" "$WORK/corrupt"
refuse "a backup cut short" "$WORK/short: " "$FAIRLEAD" server restore --data "$WORK/new" "$WORK/short"
refuse "a missing file" 'absent: No such file' "$FAIRLEAD" server restore --data "$WORK/new" "$WORK/absent"
[ ! -e "$WORK/new/fairlead.db" ] || die "a refused restore left a database"
refuse "backup of nothing" 'no such folder' "$FAIRLEAD" server backup --data "$WORK/nowhere" "$WORK/none"
mkdir "$WORK/empty"
refuse "backup of an empty folder" 'holds no database' "$FAIRLEAD" server backup --data "$WORK/empty" "$WORK/none"
refuse "restore to memory" '--store memory' "$FAIRLEAD" server restore --data "$WORK/new" --store memory "$WORK/file"

# --- back again
expect "backup of a stopped server" 'objects at revision' "$FAIRLEAD" server backup --data "$ONE" "$WORK/stopped"
expect "restore" 'objects of revision' "$FAIRLEAD" server restore --data "$WORK/new" "$WORK/file"
cp -r "$ONE/pki" "$WORK/new/"
start_server new
kept >"$WORK/after"
cmp "$WORK/before" "$WORK/after" || die "the restored objects differ: $(diff "$WORK/before" "$WORK/after" | head)"
check "writes during the backup are whole" busy
refuse "the later change is not there" 'NotFound' kubectl get cm later
check "a new write" kubectl create cm fresh
[ "$(kubectl get cm fresh -o 'jsonpath={.metadata.resourceVersion}')" -gt "$last" ] ||
  die "resourceVersions went backwards"
kubectl get --raw "/api/v1/namespaces/default/configmaps?watch=1&timeoutSeconds=2&resourceVersion=$last" \
  >"$WORK/watched" 2>&1 || true
expect "a watch from before starts over" '410|too old|Expired|Gone' cat "$WORK/watched"

# --- whatever the umask and the folder: nobody else reads what is secret
kill -TERM "$SERVER_PID"
wait "$SERVER_PID" || die "SIGTERM: exit status $?"
umask 022
chmod 755 "$WORK"
mkdir -m 755 "$WORK/open"
touch "$WORK/open/audit" # as an earlier version or an operator made it
start_server open --audit-log "$WORK/open/audit" --audit-level request
check "a secret" kubectl create secret generic hidden --from-literal=a=b
touch "$WORK/open/file.partial"
check "a backup beside it" "$FAIRLEAD" server backup --data "$WORK/open" "$WORK/open/file"
equal "what others may read" "$(find "$WORK/open" -type f -perm /077 ! -name '*.crt')" ""
[ -e "$WORK/open/fairlead.db-wal" ] || die "there is no log to look at"
refuse "another user" 'Permission denied' setpriv --reuid 65534 --regid 65534 --clear-groups cat "$WORK/open/fairlead.db"
