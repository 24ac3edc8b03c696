#!/bin/bash
# The demonstration of `make up`, in a lab of its own: three hosts, two networks with the same addresses, pings
# inside and none across, a host that dies and heals. And that taking it down leaves nothing behind.
# time-limit: 240
. "$(dirname "$0")/../lib.sh"
cd "$(dirname "$0")/../.." || exit 1
name=t$((RANDOM % 10000))
down() { "$FAIRLEAD" lab down --name "$name" >/dev/null 2>&1 || true; }
finish() { local status=$?; down; (exit "$status"); cleanup; }
trap finish EXIT
check "the demonstration" scripts/up --name "$name" --port "$(free_port)" --fabric "${FABRIC:-vxlan}"
check "the demonstration again" scripts/up --name "$name"
expect "status" 'host-3-agent +10.231.0.3 +process [0-9]+' "$FAIRLEAD" lab status --name "$name"
refuse "a second lab of that name" 'is up' "$FAIRLEAD" lab up --name "$name"
refuse "no such host" 'no host host-9' "$FAIRLEAD" lab exec host-9 --name "$name" -- true
equal "the exit status of a command" "$("$FAIRLEAD" lab exec 1 --name "$name" -- sh -c 'exit 7' || echo $?)" 7
check "down" "$FAIRLEAD" lab down --name "$name"
equal "no namespace is left" "$(ip netns list | grep -c "fl-$name-" || true)" 0
[ ! -e "/run/fairlead-$name" ] || die "the folder is left"
refuse "status of no lab" 'there is no lab' "$FAIRLEAD" lab status --name "$name"
