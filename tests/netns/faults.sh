#!/bin/bash
# Faults in the middle of churn, on the lab: agents, servers with their controllers, an etcd member, and the
# daemons of Open vSwitch killed with -9, a node cut off from the API. After each the promises hold at rest, and
# guests that nobody touched have gone on pinging each other (see faults.py).
#   FABRIC  vxlan, or ovs as in faults_ovs.sh    SEED  of the churn
# time-limit: 400
. "$(dirname "$0")/../lib.sh"
here=$(cd "$(dirname "$0")" && pwd)
[ "$(id -u)" -eq 0 ] || { echo "needs root for network namespaces"; exit 77; }
for program in etcd etcdctl ovs-vswitchd; do
  command -v "$program" >/dev/null || { echo "$program is not installed"; exit 77; }
done
export PYTHONDONTWRITEBYTECODE=1

# What is left of a lab when something failed; the story says what it was called.
finish() {
  local status=$? name
  set +e  # to the end, whatever fails
  cat "$WORK"/*.lab 2>/dev/null | while read -r name; do
    [ "$status" -eq 0 ] || tail -n 15 "/run/fairlead-$name"/*.log >&2 2>/dev/null || true
    "$FAIRLEAD" lab down --name "$name" >/dev/null 2>&1 || true
  done
  (exit "$status")
  cleanup
}
trap finish EXIT

check "the judge finds what is planted" python3 "$here/faults_judge.py"
fabric=${FABRIC:-vxlan}
mkdir "$WORK/$fabric"
if ! python3 "$here/faults.py" "$FAIRLEAD" "$WORK/$fabric" "$fabric" "${SEED:-$RANDOM}"; then
  die "the promises were not kept on $fabric"
fi
CHECKS=$((CHECKS + 1))
