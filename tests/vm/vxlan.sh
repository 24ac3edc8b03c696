#!/bin/bash
# time-limit: 1200
# The vxlan fabric on Debian's kernel: what tests/netns/vxlan_fabric.sh says on the one at hand. Over IPv4 unless UNDERLAYS
# says otherwise (`make check-all`: over IPv6 too), because every instruction is interpreted.
here=$(cd "$(dirname "$0")" && pwd)
driver=$here/../../build/release/tests/netns/vxlan_driver
[ -x "$driver" ] || { echo "no $driver: scripts/build release vxlan_driver"; exit 77; }
VM_LIMIT=${VM_LIMIT:-1150} exec "$here/run" env "PATIENCE=${PATIENCE:-6}" "UNDERLAYS=${UNDERLAYS:-4}" "VXLAN_DRIVER=$driver" bash "$here/../netns/vxlan_fabric.sh"
