#!/bin/bash
# The demonstration of `make up`, in labs of their own, with each fabric over each underlay: three hosts, two networks
# with the same addresses, pings inside and none across, a host that dies and heals. And that taking it down leaves
# nothing behind.
# time-limit: 300
. "$(dirname "$0")/../lib.sh"
cd "$(dirname "$0")/../.." || exit 1
[ "$(id -u)" -eq 0 ] || { echo "needs root for network namespaces"; exit 77; }
name=t$((RANDOM % 10000))
down() { "$FAIRLEAD" lab down --name "$name" >/dev/null 2>&1 || true; }
finish() {
  local status=$?
  set +e  # to the end, whatever fails
  down
  (exit "$status")
  cleanup
}
trap finish EXIT
lab() { "$FAIRLEAD" lab "$@" --name "$name"; }

# demonstrate FABRIC UNDERLAY: and the lab stays up.
demonstrate() {
  check "the demonstration on $1 over $2" \
    scripts/up --name "$name" --port "$(free_port)" --fabric "$1" --underlay "$2"
  expect "status" 'host-3-agent +(10.231.0.3|fd00:231::3) +process [0-9]+' lab status
  expect "what it is" "^fabric $1, underlay $2" lab status
  local left=1450
  [ "$2" = ipv4 ] || left=1430
  expect "the MTU that the tunnel leaves" " mtu $left " ip -n "fl-$name-guest-r1" -o link show type veth
  check "a packet that fills it" ip netns exec "fl-$name-guest-r1" ping -c 1 -W 5 -M "do" -s $((left - 28)) 10.10.0.12
}
take_down() {
  check "down" lab down
  equal "no namespace is left" "$(ip netns list | grep -c "fl-$name-" || true)" 0
  equal "no process is left" "$(pgrep -fc "/run/fairlead-$name/" || true)" 0
  [ ! -e "/run/fairlead-$name" ] || die "the folder is left"
}

demonstrate vxlan ipv4
check "the demonstration again" scripts/up --name "$name"
refuse "a second lab of that name" 'is up' lab up
refuse "no such host" 'no host host-9' "$FAIRLEAD" lab exec host-9 --name "$name" -- true
equal "the exit status of a command" "$("$FAIRLEAD" lab exec 1 --name "$name" -- sh -c 'exit 7' || echo $?)" 7
refuse "no such process" 'no process host-1-vswitchd' lab kill host-1-vswitchd
# However it is called, and whatever node it says it is.
second_agent() {
  timeout 20 "$FAIRLEAD" lab exec host-1 --name "$name" -- \
    "$FAIRLEAD" agent --fabric vxlan --host-ip 10.231.0.1 --metrics-listen none "$@"
}
refuse "a second agent of a node" 'another agent \(pid [0-9]+\) carries fabric vxlan on this host' \
  second_agent --node host-1 --kubeconfig "/run/fairlead-$name/host-1/node.kubeconfig"
refuse "an agent of another node" 'another agent \(pid [0-9]+\) carries fabric vxlan on this host' \
  second_agent --join-dir "/run/fairlead-$name/host-2" --lock-file "$WORK/second.lock"
check "a process killed" lab kill host-1-agent
expect "is missed" 'host-1-agent +10.231.0.1 +NOT RUNNING' lab status
refuse "and tells so" 'not everything runs' lab status
check "started again" lab start host-1-agent
refuse "and not twice" 'runs already' lab start host-1-agent
check "all is well" lab status
take_down
refuse "status of no lab" 'there is no lab' lab status

hook_ran() {
  kubectl get networkattachment "$1" -o 'jsonpath={.status.postCreateExecReport.stdOut}' | grep -qx "plugged $1"
}
# A hook on two hosts, one of whose agents was started again.
lab_hooks() {
  cat >"$WORK/a hook" <<'HOOK'
#!/bin/sh
echo "plugged $1"
HOOK
  chmod +x "$WORK/a hook"
  check "a lab that allows a program" lab up --hosts 2 --fabric log --port "$(free_port)" --allowed-program "$WORK/a hook"
  check "an agent killed" lab kill host-2-agent
  check "and started again" lab start host-2-agent
  export KUBECONFIG=/run/fairlead-$name/server/admin.kubeconfig
  kubectl create -f - >/dev/null <<OBJECTS
apiVersion: fairlead.dev/v1alpha1
kind: Subnet
metadata: {name: main}
spec: {ipv4: 10.10.0.0/24, vni: 5001}
---
apiVersion: fairlead.dev/v1alpha1
kind: NetworkAttachment
metadata: {name: one}
spec: {node: host-1, subnet: main, postCreateExec: ["$WORK/a hook", one]}
---
apiVersion: fairlead.dev/v1alpha1
kind: NetworkAttachment
metadata: {name: two}
spec: {node: host-2, subnet: main, postCreateExec: ["$WORK/a hook", two]}
OBJECTS
  local attachment
  for attachment in one two; do wait_until 30 "the hook of $attachment" hook_ran "$attachment"; done
  take_down
}
lab_hooks

refuse "one server for one store" 'several servers need --store etcd' lab up --servers 2
if command -v ovs-vswitchd >/dev/null; then
  # shellcheck disable=SC2016  # for the shell inside
  refuse "without Open vSwitch" 'no ovsdb-tool on this machine: apt install openvswitch-switch' unshare --mount \
    sh -c 'mount --bind /dev/null "$(command -v ovsdb-tool)" && exec "$0" lab up --name "$1" --fabric ovs' "$FAIRLEAD" "$name"
  demonstrate ovs ipv4
  expect "a switch of its own" 'host-3-vswitchd +10.231.0.3 +process [0-9]+' lab status
  expect "in its own folder" "br-phy" \
    ovs-vsctl --timeout=10 --db="unix:/run/fairlead-$name/host-3-ovs/db.sock" list-br
  take_down
  demonstrate ovs ipv6
  take_down
fi
demonstrate vxlan ipv6
take_down
