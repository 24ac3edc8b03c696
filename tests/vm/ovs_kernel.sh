#!/bin/bash
# time-limit: 600
# The ovs fabric on the kernel's datapath (module openvswitch), on Debian's kernel: what
# tests/netns/ovs_fabric.sh says in user space.
here=$(cd "$(dirname "$0")" && pwd)
driver=$here/../../build/release/tests/netns/fabric_driver
[ -x "$driver" ] || { echo "no $driver: scripts/build release fabric_driver"; exit 77; }
VM_LIMIT=${VM_LIMIT:-560} exec "$here/run" env PATIENCE=6 OVS_DATAPATH=system "FABRIC_DRIVER=$driver" \
  bash "$here/../netns/ovs_fabric.sh"
