#!/bin/bash
# time-limit: 600
# The vxlan fabric on Debian's kernel: what tests/netns/vxlan_fabric.sh says on the one at hand.
here=$(cd "$(dirname "$0")" && pwd)
driver=$here/../../build/release/tests/netns/vxlan_driver
[ -x "$driver" ] || { echo "no $driver: scripts/build release vxlan_driver"; exit 77; }
VM_LIMIT=${VM_LIMIT:-560} exec "$here/run" env PATIENCE=6 "VXLAN_DRIVER=$driver" bash "$here/../netns/vxlan_fabric.sh"
