#!/bin/bash
# What `make install` puts in place: systemd accepts the units, and the programs work with the flags, the user and the
# capabilities that the units give them (this machine need not run systemd; in a network and a mount namespace of its own).
# time-limit: 120
if [ "$(id -u)" -ne 0 ]; then echo "giving up capabilities needs root"; exit 77; fi
if [ -z "${IN_NAMESPACE:-}" ]; then IN_NAMESPACE=1 exec unshare --net --mount -- bash "$0" "$@"; fi
. "$(dirname "$0")/../lib.sh"
export FAIRLEAD
ROOT=$(cd "$(dirname "$0")/../.." && pwd)
TARGET=$WORK/root
UNITS=$TARGET/usr/local/lib/systemd/system
install_to() { DESTDIR=$1 PREFIX=$2 "$ROOT/scripts/install" "${@:3}"; }

# --- installing and removing
expect "install" 'installed below' install_to "$TARGET" /usr/local
equal "the program" "$("$TARGET/usr/local/bin/fairlead" --version)" "$("$FAIRLEAD" --version)"
# --ping's default program is there, and runs as far as an interface that does not exist gets.
hook=$(fairlead_flag() { "$FAIRLEAD" bench attachments --help | grep -oE 'ping-program TEXT=[^ ]+' | cut -d= -f2; }; fairlead_flag)
refuse "the hook of --ping" 'there is no interface fl0' "$TARGET$hook" up fl0 10.0.0.2
echo mine >"$TARGET/etc/fairlead/server.env"
check "install again" install_to "$TARGET" /usr/local
equal "settings stay" "$(cat "$TARGET/etc/fairlead/server.env")" mine
cp "$ROOT/deploy/systemd/server.env" "$TARGET/etc/fairlead/server.env"
check "elsewhere" install_to "$WORK/other" /usr
expect "the path follows" 'ExecStart=/usr/bin/fairlead' grep -h ExecStart "$WORK/other/usr/lib/systemd/system/fairlead-server.service"
check "remove" install_to "$WORK/other" /usr --remove
equal "what is left" "$(cd "$WORK/other" && find . -type f | sort | xargs)" './etc/fairlead/agent.env ./etc/fairlead/server.env'
refuse "a relative prefix" 'PREFIX=usr: must be an absolute path' install_to "$WORK/other" usr

# --- systemd's own judgement; its other units are those of this machine
mkdir -p "$TARGET/usr/lib/systemd"
cp -r /usr/lib/systemd/system "$TARGET/usr/lib/systemd/"
ln -s usr/lib "$TARGET/lib"
install -D /bin/kill "$TARGET/bin/kill"  # of ExecReload
verify() { # UNIT…: it says something only when something is wrong
  local said
  said=$(systemd-analyze verify --root="$TARGET" "$@" 2>&1) || true
  [ -z "$said" ] || { echo "$said"; return 1; }
}
check "verify" verify fairlead-server.service fairlead-agent.service
# exposure N UNIT: at most N tenths of 10, as `systemd-analyze security` counts
exposure() { systemd-analyze security --offline=true --root="$TARGET" --threshold="$1" --no-pager "$2"; }
check "how exposed the server is" exposure 15 fairlead-server.service
# Virtual IPs cost it three tenths: raw sockets, real-time priority and locked memory.
check "how exposed the agent is" exposure 43 fairlead-agent.service
sed -i.good 's/^Restart=always/Restart=sometimes/' "$UNITS/fairlead-agent.service"
refuse "verify can fail" 'Failed to parse service restart' verify fairlead-agent.service
mv "$UNITS/fairlead-agent.service.good" "$UNITS/fairlead-agent.service"

# --- the server as its unit runs it: its flags, not root, no capabilities
setting() { sed -n "s/^$2=//p" "$UNITS/fairlead-$1.service" | tail -n 1; }
flags() { sed -n "s/^FAIRLEAD_${1^^}_FLAGS=//p" "$TARGET/etc/fairlead/$1.env"; }
# command_of NAME: the words of its ExecStart, with the settings file's flags, in this test's folder
command_of() {
  local line
  line=$(setting "$1" ExecStart)
  line=${line/\$FAIRLEAD_${1^^}_FLAGS/$(flags "$1")}
  sed "s|/usr/local/bin/fairlead|$FAIRLEAD|; s|/var/lib|$WORK/lib|g; s|/run/fairlead|$WORK/run|g" <<<"$line"
}
ip link set lo up
ip link add underlay type veth peer name wire
ip address add 10.0.0.11/24 dev underlay
ip link set wire up
ip link set underlay up
chmod 755 "$WORK"
mkdir -p "$WORK/lib/fairlead" "$WORK/lib/fairlead-node"
chown 65532:65532 "$WORK/lib/fairlead"
equal "no capabilities" "$(setting server CapabilityBoundingSet)" ''
# What their unit (Type=notify) tells them to: a manager on an abstract socket, as systemd has it in containers.
equal "the server tells" "$(setting server Type)" notify
equal "the agent tells" "$(setting agent Type)" notify
export NOTIFY_SOCKET=@fairlead-units-$$
python3 - "$WORK/told" "$NOTIFY_SOCKET" <<'PYTHON' &
import socket, sys
manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
manager.bind("\0" + sys.argv[2][1:])
with open(sys.argv[1], "w", buffering=1) as told:
    while True:
        told.write(manager.recv(4096).decode())
PYTHON
STARTED+=($!)
wait_until 10 "manager" test -f "$WORK/told"
read -ra words <<<"$(command_of server)"
setpriv --reuid 65532 --regid 65532 --clear-groups --bounding-set=-all --inh-caps=-all --no-new-privs "${words[@]}" \
  >"$WORK/server.out" 2>"$WORK/server.err" &
STARTED+=($!)
wait_until 30 "server by its unit" grep -q ready "$WORK/server.out"
wait_until 10 "the server's word" grep -qx READY=1 "$WORK/told"
expect "and what it is" '^STATUS=ready.* https://' cat "$WORK/told"
export KUBECONFIG=$WORK/lib/fairlead/admin.kubeconfig

# --- the agent as its unit runs it: root with the capabilities of the unit and no others
read -ra words <<<"$(command_of agent)"
capabilities=$(setting agent CapabilityBoundingSet)
capabilities=${capabilities//CAP_/}
bounds=-all,+${capabilities// /,+}
agent() {  # in a subshell: the process is the agent itself
  exec setpriv --bounding-set="${bounds,,}" --inh-caps=-all --no-new-privs "${words[@]}"
}
refuse "not joined" 'run .fairlead join. first' agent
token=$("$FAIRLEAD" server token create --data "$WORK/lib/fairlead")
check "join" "$FAIRLEAD" join --server 127.0.0.1:6443 --token "$token" --node n1 --data "$WORK/lib/fairlead-node"
agent >"$WORK/agent.out" 2>"$WORK/agent.err" &
AGENT=$!
STARTED+=("$AGENT")
wait_until 30 "agent by its unit" grep -q '"fabric":"vxlan"' "$WORK/agent.out"
wait_until 10 "the agent's word" grep -q '^STATUS=ready, fabric vxlan' "$WORK/told"
kubectl create -f - >/dev/null <<'OBJECTS'
{"apiVersion": "fairlead.dev/v1alpha1", "kind": "Subnet", "metadata": {"name": "s"}, "spec": {"vni": 5, "ipv4": "10.1.0.0/24"}}
{"apiVersion": "fairlead.dev/v1alpha1", "kind": "NetworkAttachment", "metadata": {"name": "x"}, "spec": {"node": "n1", "subnet": "s"}}
OBJECTS
interface() { kubectl get na x -o 'jsonpath={.status.ifcName}' | grep .; }
wait_until 30 "an interface" interface
check "it is there" ip link show "$(interface)"
why() { "$FAIRLEAD" why attachment x --admin-socket "$WORK/run/agent.sock"; }
expect "why, by its agent" 'attachment default/x: as it should be, says the agent of node n1' why
equal "without errors" "$(kubectl get na x -o 'jsonpath={.status.errors}')" ''

# --- with a virtual IP: what it needs of the unit, and that it is held with that
kill -TERM "$AGENT"
wait "$AGENT" || die "the agent did not end well"
allows() { [[ " $(setting agent "$1") " == *" $2 "* ]]; }
check "frames for announcements" allows RestrictAddressFamilies AF_PACKET
check "its state" allows StateDirectory fairlead-vip
equal "real-time scheduling is not refused" "$(setting agent RestrictRealtime)" ''
# As systemd has it: mounted at boot, and seen by the unit in a mount namespace of its own.
mount -t bpf bpf /sys/fs/bpf
mount --make-shared /sys/fs/bpf
cat >"$WORK/agent.yaml" <<'CONFIG'
node: n1
election: {listen: "10.0.0.11:10000", peers: []}
virtualIPs: [{address: 10.0.0.75, interface: underlay}]
CONFIG
export -f agent
export bounds
# shellcheck disable=SC2016  # for the inner shell
unshare --mount --propagation slave -- bash -c 'words=("$@"); agent' - "${words[@]}" --config "$WORK/agent.yaml" \
  --state "$WORK/lib/fairlead-vip" >"$WORK/agent.out" 2>"$WORK/agent.err" &
AGENT=$!
STARTED+=("$AGENT")
status() { "$FAIRLEAD" status --json --admin-socket "$WORK/run/agent.sock"; }
held() { status | jq -e '.virtualIPs[] | select(.address == "10.0.0.75" and .here)'; }
wait_until 30 "a virtual IP by the unit" held
fence() { status | jq -r .election.fence; }
expect "behind a fence" 'tcx|clsact' fence
equal "nothing is lacking" "$(grep -c 'real-time scheduling\|locked memory' "$WORK/agent.err")" 0
kill -TERM "$AGENT"
wait "$AGENT" || die "the agent with a virtual IP did not end well"
equal "no address is left" "$(ip -o address show to 10.0.0.75)" ''
