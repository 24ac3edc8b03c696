#!/bin/bash
# time-limit: 1200
# The fence of virtual IPs on Debian's kernel, which has no tcx but VLAN interfaces: what tests/netns/vip_fence.sh says on
# the one at hand. Without what does not depend on the kernel, unless SHORT is empty (`make check-all`), because every
# instruction is interpreted.
here=$(cd "$(dirname "$0")" && pwd)
driver=$here/../../build/release/tests/netns/vip_fence_driver
[ -x "$driver" ] || { echo "no $driver: scripts/build release vip_fence_driver"; exit 77; }
VM_LIMIT=${VM_LIMIT:-1150} exec "$here/run" env "PATIENCE=${PATIENCE:-4}" MECHANISMS=default "SHORT=${SHORT-yes}" "VIP_FENCE_DRIVER=$driver" bash "$here/../netns/vip_fence.sh"
