#!/bin/bash
# time-limit: 1200
# Addresses and announcements of virtual IPs on Debian's kernel, which has VLAN interfaces but no tcx: what
# tests/netns/vip_interfaces.sh says on the one at hand.
here=$(cd "$(dirname "$0")" && pwd)
drivers=$here/../../build/release/tests/netns
[ -x "$drivers/vip_interfaces_driver" ] || { echo "no vip_interfaces_driver: scripts/build release vip_interfaces_driver vip_fence_driver"; exit 77; }
VM_LIMIT=${VM_LIMIT:-1150} exec "$here/run" env "PATIENCE=${PATIENCE:-4}" "VIP_INTERFACES_DRIVER=$drivers/vip_interfaces_driver" \
  "VIP_FENCE_DRIVER=$drivers/vip_fence_driver" bash "$here/../netns/vip_interfaces.sh"
