#!/bin/bash
# The fence of virtual IPs on the real kernel: hosts h1 and h2, a client c and a pod behind h1 are namespaces, joined by
# a bridge in a namespace of its own. The client asks for the VIPs in every way; a program judges the answers by the time
# stamps of the frames. Everything is said for each way of attaching that the kernel has (MECHANISMS="tcx clsact";
# "default": the one that it chooses on a kernel without tcx).
# time-limit: 300
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$(dirname "$0")/../lib.sh"
DRIVER=${VIP_FENCE_DRIVER:-$here/../../build/dev/tests/netns/vip_fence_driver}
PREFIX=flfe$$
V4=192.0.2.75 V6=2001:db8::75          # untagged, on eth0
T4=198.51.100.75 T6=2001:db8:5::75     # in VLAN 5, on eth0.5
TARGETS=("$V4" "$V6")                  # as the client asks for them
VIPS=("$V4" "$V6")
MARGIN=0.05                            # seconds that a frame may take from the fence to the client
[ "$PATIENCE" -eq 1 ] || MARGIN=0.5
INTERVAL=$(awk "BEGIN {print 0.004 * $PATIENCE}")

[ "$(id -u)" -eq 0 ] || { echo "needs root"; exit 77; }
[ -x "$DRIVER" ] || die "no $DRIVER: scripts/build dev vip_fence_driver"

BPF_MOUNTED=no
grep -q ' /sys/fs/bpf bpf ' /proc/1/mounts && BPF_MOUNTED=yes
remove_namespaces() {
  local name
  for name in $(ip netns list | awk '{print $1}' | grep "^$PREFIX-h"); do ip netns exec "$name" "$DRIVER" dismantle; done
  for name in $(ip netns list | awk '{print $1}' | grep "^$PREFIX-"); do ip netns del "$name"; done
}
leave() {
  local status=$? pid
  set +e  # to the end, whatever fails
  trap '' INT TERM
  for pid in "${STARTED[@]:-}"; do [ -z "$pid" ] || kill -KILL "$pid" 2>/dev/null; done
  wait 2>/dev/null
  remove_namespaces
  # The fence mounted it; others may be using it by now.
  if [ "$BPF_MOUNTED" = no ]; then rmdir /sys/fs/bpf/fairlead 2>/dev/null && umount /sys/fs/bpf; fi
  (exit "$status")
  cleanup
}
trap leave EXIT
trap 'exit 143' INT TERM

ns() { local name=$1; shift; ip netns exec "$PREFIX-$name" "$@"; }
ipn() { local name=$1; shift; ip -n "$PREFIX-$name" "$@"; }
drive() { local host=$1; shift; ns "$host" "$DRIVER" "$@"; }
# in_background NAMESPACE COMMAND…: PID is then the command's own, not that of a shell around it.
in_background() {
  local name=$1
  shift
  ip netns exec "$PREFIX-$name" "$@" &
  PID=$!
  STARTED+=("$PID")
}
mac_of() { ipn "$1" -j link show "$2" | jq -r '.[0].address'; }

# Not every kernel has VLAN interfaces; Debian's, in tests/vm, has. Tags of single frames: programs_test.cc.
VLANS=no
add_vlan() {
  ipn "$1" link add link eth0 name eth0.5 type vlan id 5
  ipn "$1" link set eth0.5 up
  ipn "$1" addr add "198.51.100.$2/24" dev eth0.5
  ipn "$1" addr add "2001:db8:5::$2/64" dev eth0.5 nodad
}
find_vlans() {
  ip netns add "$PREFIX-try"
  ipn try link add eth0 type veth peer name eth1
  if ipn try link add link eth0 name eth0.5 type vlan id 5 2>/dev/null; then
    VLANS=yes
    TARGETS+=("$T4@5" "$T6@5")
    VIPS+=("$T4" "$T6")
  fi
  ip netns del "$PREFIX-try"
}

build_world() {
  local name number
  ip netns add "$PREFIX-sw"
  ipn sw link add sw0 type bridge
  ipn sw link set sw0 up
  for name in h1 h2 c; do
    number=${name#h}; [ "$name" != c ] || number=9
    ip netns add "$PREFIX-$name"
    ip link add eth0 netns "$PREFIX-$name" type veth peer name "p-$name" netns "$PREFIX-sw"
    ipn sw link set "p-$name" master sw0 up
    ipn "$name" link set lo up
    ipn "$name" link set eth0 up
    ipn "$name" addr add "192.0.2.$number/24" dev eth0
    ipn "$name" addr add "2001:db8::$number/64" dev eth0 nodad
    [ "$VLANS" = no ] || add_vlan "$name" "$number"
  done
  # The pod's network is reached through h1.
  ip netns add "$PREFIX-pod"
  ip link add eth0 netns "$PREFIX-pod" type veth peer name pod0 netns "$PREFIX-h1"
  ipn pod link set lo up
  ipn pod link set eth0 up
  ipn h1 link set pod0 up
  ipn h1 addr add 10.9.0.1/24 dev pod0
  ipn h1 addr add fd09::1/64 dev pod0 nodad
  ipn pod addr add 10.9.0.2/24 dev eth0
  ipn pod addr add fd09::2/64 dev eth0 nodad
  ipn pod route add default via 10.9.0.1
  ipn pod route add default via fd09::1
  ns h1 sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1
  for name in h2 c; do
    ipn "$name" route add 10.9.0.0/24 via 192.0.2.1
    ipn "$name" route add fd09::/64 via 2001:db8::1
  done
}

# give HOST / take HOST: the addresses of the VIPs, as whoever holds them would add them.
give() {
  ipn "$1" addr replace "$V4/32" dev eth0
  ipn "$1" addr replace "$V6/128" dev eth0 nodad preferred_lft 0
  [ "$VLANS" = yes ] || return 0
  ipn "$1" addr replace "$T4/32" dev eth0.5
  ipn "$1" addr replace "$T6/128" dev eth0.5 nodad preferred_lft 0
}
take() {
  ipn "$1" addr del "$V4/32" dev eth0
  ipn "$1" addr del "$V6/128" dev eth0
  [ "$VLANS" = yes ] || return 0
  ipn "$1" addr del "$T4/32" dev eth0.5
  ipn "$1" addr del "$T6/128" dev eth0.5
}
watch_all() {
  drive "$1" watch eth0 "$V4" "$V6"
  [ "$VLANS" = no ] || drive "$1" watch eth0.5 "$T4" "$T6"
}
open_all() { drive "$1" open "$2" "${VIPS[@]}"; }

# start_asking HOST SECONDS VIP…: in the background, answers go to $WORK/answers.
start_asking() {
  local mac seconds=$2
  mac=$(mac_of "$1" eth0)
  shift 2
  : >"$WORK/answers"
  in_background c "$here/vip_answers.py" ask eth0 "$mac" "$((seconds * PATIENCE))" "$INTERVAL" "$@" \
    >>"$WORK/answers" 2>"$WORK/answers.err"
  ASKER=$PID
  wait_until 20 asker grep -q asking "$WORK/answers"
}
kinds_of() { case $1 in *:*) echo nd,echo,tcp ;; *) echo arp,echo,tcp ;; esac; }
answered_all() {
  local vip kind
  for vip in "${VIPS[@]}"; do
    for kind in $(tr , ' ' <<<"$(kinds_of "$vip")"); do grep -q " $vip $kind$" "$WORK/answers" || return 1; done
  done
}
end_asking() { kill "$ASKER" 2>/dev/null || true; wait "$ASKER" 2>/dev/null || true; }
# answers_all WHAT: the host answers for all VIPs in all ways.
answers_all() {
  start_asking h1 20 "${TARGETS[@]}"
  wait_until 15 "answers: $1" answered_all
  CHECKS=$((CHECKS + 1))
  end_asking
}
# silent WHAT [COMMAND…]: no answer for any, while the command runs, and after it.
silent() {
  local what=$1
  shift
  start_asking h1 20 "${TARGETS[@]}"
  [ $# -eq 0 ] || "$@"
  sleep "$((PATIENCE == 1 ? 1 : 2))"  # time to answer, were it to
  end_asking
  check "$what" "$here/vip_answers.py" silent "$WORK/answers" "${VIPS[@]}"
}
# judged WHAT: they answered until the deadline that the fence has now, and not after it.
judged() {
  drive h1 list >"$WORK/deadlines"
  check "$1" "$here/vip_answers.py" until "$WORK/answers" "$MARGIN" <"$WORK/deadlines"
}
past_deadlines() {  # and a while longer, in which answers would be seen
  local last
  last=$(drive h1 list | awk '{print $3}' | sort -n | tail -n 1)
  python3 -c "
import time
time.sleep(max($last / 1e9 - time.clock_gettime(time.CLOCK_BOOTTIME), 0) + 0.5 * $PATIENCE)"
}

pings() { ns "$1" ping -q -c 2 -i 0.2 -W $((3 * PATIENCE)) "${@:2}"; }
no_ping() { ! ns "$1" ping -q -c 2 -i 0.2 -W "$PATIENCE" "${@:2}"; }
counter() { drive "$1" counters | sed -n "s/^$2=//p"; }
counted_more() { [ "$(counter "$1" "$2")" -gt "$3" ]; }

# work_on VERB [ARGUMENT]: processes of the driver, one for each interface; WORKERS.
work_on() {
  : >"$WORK/work.out"
  in_background h1 "$DRIVER" "$1" eth0 "${@:2}" "$V4" "$V6" >>"$WORK/work.out" 2>"$WORK/work.err"
  WORKERS=("$PID")
  if [ "$VLANS" = yes ]; then
    in_background h1 "$DRIVER" "$1" eth0.5 "${@:2}" "$T4" "$T6" >>"$WORK/work.out" 2>>"$WORK/work.err"
    WORKERS+=("$PID")
  fi
  wait_until 20 "$1" sh -c "[ \$(grep -c ready '$WORK/work.out') -eq ${#WORKERS[@]} ]"
}
end_work() { kill -KILL "${WORKERS[@]}"; wait "${WORKERS[@]}" 2>/dev/null || true; }

# A VIP begins closed; open it answers in every way, to strangers and to the host itself.
test_open_and_closed() {
  answers_all "without a fence"  # else silence would prove nothing
  watch_all h1
  expect "how" "^$1" drive h1 describe
  silent "closed from the beginning"
  check "no delivery to the host itself" no_ping h1 "$V4"
  check "nor from another address" no_ping h1 -I 192.0.2.1 "$V4"
  check "nor by IPv6" no_ping h1 "$V6"
  open_all h1 3600000 >/dev/null
  answers_all "open"
  check "the host itself" pings h1 "$V4"
  check "the host itself by IPv6" pings h1 "$V6"
  check "ping" pings c "$V4"
  check "ping by IPv6" pings c "$V6"
  drive h1 close "${VIPS[@]}"
  silent "closed by hand"
  check "the host's other addresses" pings c 192.0.2.1
  check "and by IPv6" pings c 2001:db8::1
}

# heard FROM WHAT EXPECTED: which datagrams a server on h1 gets, of those that FROM sends to the VIPs and then to h1 itself.
heard() {
  : >"$WORK/heard"
  in_background h1 python3 -c '
import socket
server = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
server.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
server.bind(("::", 7000))
print("ready", flush=True)
while (said := server.recv(100).decode()) != "end":
    print(said, flush=True)
print("end", flush=True)' >>"$WORK/heard" 2>"$WORK/heard.err"
  wait_until 20 server grep -q ready "$WORK/heard"
  ns "$1" python3 -c '
import socket, sys
for said, to in (("four", sys.argv[1]), ("six", sys.argv[2]), ("end", sys.argv[3])):
    sender = socket.socket(socket.AF_INET6 if ":" in to else socket.AF_INET, socket.SOCK_DGRAM)
    sender.sendto(said.encode(), (to, 7000))' "$V4" "$V6" 192.0.2.1
  wait_until 20 "last datagram" grep -q end "$WORK/heard"
  equal "$2 from $1" "$(paste -sd ' ' "$WORK/heard")" "ready $3end"
}
# Delivery alone, without an answer: from the client and from the host itself (from the pod: test_transit).
test_delivery() {
  local from
  ipn c neigh replace "$V4" lladdr "$(mac_of h1 eth0)" dev eth0
  ipn c neigh replace "$V6" lladdr "$(mac_of h1 eth0)" dev eth0
  for from in c h1; do heard "$from" "nothing delivered" ""; done
  open_all h1 3600000 >/dev/null
  for from in c pod h1; do heard "$from" "delivered" "four six "; done
  drive h1 close-all
  ipn c neigh flush dev eth0
}

# Whatever becomes of the process, the host falls silent at the deadline.
test_deadlines() {
  local length=$((400 * PATIENCE))
  start_asking h1 60 "${TARGETS[@]}"
  open_all h1 "$length" >/dev/null
  past_deadlines
  end_asking
  judged "no process lives"

  work_on hold "$length"
  start_asking h1 60 "${TARGETS[@]}"
  wait_until 15 "answers while held" answered_all
  kill -STOP "${WORKERS[@]}"
  past_deadlines
  judged "processes stopped"
  kill -CONT "${WORKERS[@]}"
  : >"$WORK/answers"
  wait_until 15 "answers of continued holders" answered_all
  end_work
  past_deadlines
  end_asking
  judged "processes killed"
}

# The guard's way, by the pinned deadlines alone.
test_shutter() {
  open_all h1 3600000 >/dev/null
  answers_all "before the shutter"
  drive h1 shutter
  silent "after the shutter"
  equal "all closed" "$(drive h1 list | awk '{print $3}' | sort -u)" 0
}

# h2 holds the VIPs; h1 is fenced, and the pod behind it still reaches them.
test_transit() {
  local before
  take h1
  watch_all h2
  give h2
  open_all h2 3600000 >/dev/null
  check "the pod reaches the holder" pings pod "$V4"
  check "by IPv6" pings pod "$V6"
  check "h1 itself does" pings h1 "$V4"
  check "by IPv6 too" pings h1 "$V6"
  drive h1 guard pod0
  before=$(counter h1 transit)
  check "through a guarded interface" pings pod "$V4"
  check "by IPv6, guarded" pings pod "$V6"
  check "large packets" pings pod -s 4000 "$V4"
  check "large packets by IPv6" pings pod -s 4000 "$V6"
  check "transit was counted" counted_more h1 transit "$before"
  # The pod's own host has the addresses again, closed: it is not served by it.
  give h1
  check "no delivery from the pod" no_ping pod "$V4"
  check "no delivery from the pod by IPv6" no_ping pod "$V6"
  heard pod "nothing delivered" ""
  drive h2 close-all
  take h2
}

nat() { ns h1 iptables -w -t nat "$@"; }
# What NAT on this host turns into an answer is one: replies of a pod behind the VIP, and packets that leave as it.
test_nat() {
  nat -A PREROUTING -d "$V4" -p udp --dport 9000 -j DNAT --to-destination 10.9.0.2:9000
  nat -A POSTROUTING -s 10.9.0.2 -p udp --dport 9001 -j SNAT --to-source "$V4"
  : >"$WORK/pod.out"
  in_background pod python3 -c '
import socket, sys, time
server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.bind(("10.9.0.2", 9000))
print("ready", flush=True)
_, asker = server.recvfrom(100)
while True:
    server.sendto(b"reply", asker)
    server.sendto(b"call", ("192.0.2.9", 9001))
    time.sleep(float(sys.argv[1]))' "$INTERVAL" >"$WORK/pod.out" 2>"$WORK/pod.err"
  local pod=$PID
  wait_until 20 "server in the pod" grep -q ready "$WORK/pod.out"
  : >"$WORK/answers"
  in_background c "$here/vip_answers.py" listen eth0 60 "$V4" >>"$WORK/answers" 2>"$WORK/answers.err"
  ASKER=$PID
  wait_until 20 listener grep -q asking "$WORK/answers"
  open_all h1 3600000 >/dev/null
  in_background c python3 -c '
import socket, sys, time
client = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
while True:
    client.sendto(b"ask", (sys.argv[1], 9000))
    time.sleep(0.05)' "$V4"
  local client=$PID
  wait_until 20 "NATed replies" grep -q " $V4 udp" "$WORK/answers"
  wait_until 20 "NATed calls" grep -q " $V4 call" "$WORK/answers"
  open_all h1 $((300 * PATIENCE)) >/dev/null
  past_deadlines
  drive h1 list | grep "^$V4 " >"$WORK/deadlines"
  check "NATed packets" "$here/vip_answers.py" until "$WORK/answers" "$MARGIN" udp,call <"$WORK/deadlines"
  kill "$client" "$pod"
  wait "$client" "$pod" 2>/dev/null || true
  end_asking
  nat -F
}

# Another interface on the same wire: with arp_ignore=1, which goes with adding the address, or with a guard.
test_second_interface() {
  local arp=$V4
  ip link add eth1 netns "$PREFIX-h1" type veth peer name p-h1b netns "$PREFIX-sw"
  ipn sw link set p-h1b master sw0 up
  ipn h1 link set eth1 up
  ipn h1 addr add 192.0.2.101/32 dev eth1
  start_asking h1 20 "$arp"
  wait_until 15 "an answer of the unguarded interface" grep -q " $V4 arp" "$WORK/answers"
  end_asking
  ns h1 sysctl -qw net.ipv4.conf.eth1.arp_ignore=1
  silent "arp_ignore=1"
  ns h1 sysctl -qw net.ipv4.conf.eth1.arp_ignore=0
  drive h1 guard eth1
  silent "a guarded second interface"
  ipn h1 link del eth1
}

flap() {
  ipn h1 link set eth0 down
  ipn h1 link set eth0 up
  ipn h1 addr replace 2001:db8::1/64 dev eth0 nodad
  if [ "$VLANS" = yes ]; then
    ipn h1 link set eth0.5 up
    ipn h1 addr replace 2001:db8:5::1/64 dev eth0.5 nodad
  fi
  give h1
}
# qdiscs VERB: adds or deletes clsact everywhere.
qdiscs() {
  tc -n "$PREFIX-h1" qdisc "$1" dev eth0 clsact
  [ "$VLANS" = no ] || tc -n "$PREFIX-h1" qdisc "$1" dev eth0.5 clsact
}
restart_often() { local times=5; while [ $((times--)) -gt 0 ]; do watch_all h1; done; }
# A map of another shape makes the next process take it for another version: it replaces maps and programs.
another_version() {
  local folder
  folder=$(pins)
  rm "$folder/guarded"
  bpftool map create "$folder/guarded" type hash key 4 value 8 entries 10 name fl_guarded
  expect "replaced" "\(new\)" drive h1 describe
  equal "VIPs were inherited" "$(drive h1 list | awk '{print $1, $NF}' | sort | paste -sd ' ')" \
    "$(for vip in "${VIPS[@]}"; do echo "$vip 0"; done | sort | paste -sd ' ')"
  watch_all h1
}
pins() {
  local cookie
  cookie=$(ns h1 python3 -c '
import socket, sys
print(int.from_bytes(socket.socket().getsockopt(socket.SOL_SOCKET, 71, 8), sys.byteorder))')
  echo "/sys/fs/bpf/fairlead/vip-$cookie"
}

test_meddling() {
  silent "link down and up" flap
  silent "processes that come and go" restart_often
  expect "adopted" "\(adopted\)" drive h1 describe
  silent "another version" another_version
  open_all h1 3600000 >/dev/null
  answers_all "still works"
  drive h1 close-all
  if [ "$1" = tcx ]; then
    qdiscs add
    silent "clsact removed" qdiscs del
    return
  fi
  expect "says that it is removable" "removable" drive h1 describe
  qdiscs del
  answers_all "removed, and nobody looks"
  work_on keep
  silent "put back at start"
  qdiscs del
  wait_until 20 "restored eth0" grep -q "restored programs on eth0$" "$WORK/work.out"
  [ "$VLANS" = no ] || wait_until 20 "restored eth0.5" grep -q "restored programs on eth0.5$" "$WORK/work.out"
  silent "put back"
  drive h1 forget "$V4"
  wait_until 20 "restored VIP" grep -q "restored virtual IP $V4" "$WORK/work.out"
  silent "VIP put back"
  end_work
}

# An interface that goes and comes back is guarded again; on tcx the programs stay before those of others.
test_looked_after() {
  local keeper stranger
  ipn h1 link add eth1 type veth peer name eth1p
  : >"$WORK/keep.out"
  in_background h1 "$DRIVER" keep eth1 203.0.113.75 >>"$WORK/keep.out" 2>"$WORK/keep.err"
  keeper=$PID
  wait_until 20 keeper grep -q ready "$WORK/keep.out"
  ipn h1 link del eth1
  sleep "$PATIENCE"
  ipn h1 link add eth1 type veth peer name eth1p
  wait_until 20 "interface guarded again" grep -q "restored programs on eth1$" "$WORK/keep.out"
  if [ "$1" = tcx ]; then
    : >"$WORK/keep.out"
    : >"$WORK/push.out"
    in_background h1 "$DRIVER" push eth1 >>"$WORK/push.out" 2>"$WORK/push.err"
    stranger=$PID
    wait_until 20 stranger grep -q pushed "$WORK/push.out"
    wait_until 20 "first again" grep -q "restored programs on eth1$" "$WORK/keep.out"
    : >"$WORK/keep.out"
    sleep 0.3
    equal "once" "$(cat "$WORK/keep.out")" ""
    kill -KILL "$stranger"
    wait "$stranger" 2>/dev/null || true
  fi
  CHECKS=$((CHECKS + 1))
  kill -KILL "$keeper"
  wait "$keeper" 2>/dev/null || true
  drive h1 forget 203.0.113.75
  ipn h1 link del eth1
}

# What a network namespace left pinned goes with the next process that opens a fence anywhere.
folders() { find /sys/fs/bpf/fairlead -mindepth 1 -maxdepth 1 | wc -l; }
fewer_folders() { drive h1 describe && [ "$(folders)" -lt "$1" ]; }
test_orphans() {
  local before
  ip netns add "$PREFIX-gone"
  ipn gone link add eth0 type veth peer name eth1
  drive gone watch eth0 "$V4"
  before=$(folders)
  ip netns del "$PREFIX-gone"
  wait_until 20 "end of what is orphaned" fewer_folders "$before"
  CHECKS=$((CHECKS + 1))
}

# Left-overs are listed and removed; in the end nothing is left.
test_left_overs() {
  equal "left-overs" "$(drive h1 list | wc -l)" "${#VIPS[@]}"
  take h1
  drive h1 forget "$V4" "$V6"
  equal "fewer" "$(drive h1 list | wc -l)" $((${#VIPS[@]} - 2))
  check "dismantled" drive h1 dismantle
  check "nothing is pinned" test ! -e "$(pins)"
  equal "no program" "$(ns h1 bpftool net show dev eth0 2>/dev/null | grep -c fl_fence)" 0
  give h1
  answers_all "without a fence again"
}

refuses() { refuse "$1" "$2" ns h1 "${@:3}"; }
test_refusals() {
  refuses "no such interface" "no interface nosuch0" "$DRIVER" watch nosuch0 "$V4"
  refuses "not unicast" "cannot be a virtual IP" "$DRIVER" watch eth0 224.0.0.5
  refuses "IPv4 in IPv6" "cannot be a virtual IP" "$DRIVER" watch eth0 ::ffff:192.0.2.1
  # shellcheck disable=SC2046  # many words
  refuses "too many" "room for 1024 virtual IPs" "$DRIVER" watch eth0 $(seq -f '10.77.%.0f.1' 0 255) \
    $(seq -f '10.78.%.0f.1' 0 255) $(seq -f '10.79.%.0f.1' 0 255) $(seq -f '10.80.%.0f.1' 0 255) 10.81.0.1
  equal "up to then" "$(drive h1 list | wc -l)" 1024
  refuses "time namespace" "time namespace .* offset by 1000 s" unshare -T --boottime 1000 --fork "$DRIVER" describe
  refuses "no rights" "needs root, or CAP_SYS_ADMIN" setpriv --bounding-set -bpf,-sys_admin "$DRIVER" describe
  refuses "no right to load" "needs root, or CAP_BPF" \
    env FENCE_BPF=/proc/self/fd/9 setpriv --bounding-set -bpf,-sys_admin "$DRIVER" describe 9</sys/fs/bpf
  refuses "no BPF file system" "no BPF file system at /sys/fs/bpf: mount it" unshare -pfm --mount-proc "$DRIVER" describe
  refuses "a private one" "would vanish with it" \
    unshare -pfm --mount-proc --propagation private sh -c "mount -t bpf bpf /sys/fs/bpf && exec $DRIVER describe"
  refuses "not one" "/tmp is not a BPF file system" env FENCE_BPF=/tmp "$DRIVER" describe
}

# scenario MECHANISM [EXPECTED]: "default" is the one that the fence chooses. With SHORT only what differs between kernels.
scenario() {
  local expected=${2:-$1}
  export FENCE_MECHANISM=$1
  [ "$1" != default ] || unset FENCE_MECHANISM
  build_world
  give h1
  test_open_and_closed "$expected"
  test_delivery
  test_deadlines
  test_transit
  test_nat
  test_meddling "$expected"
  if [ -z "${SHORT:-}" ]; then
    test_shutter
    test_second_interface
    test_looked_after "$expected"
    [ "$1" != tcx ] || test_orphans
  fi
  test_left_overs
  [ "$1" = clsact ] || [ -n "${SHORT:-}" ] || test_refusals
  remove_namespaces
}

find_vlans
for mechanism in ${MECHANISMS:-tcx clsact}; do
  if [ "$mechanism" = default ]; then scenario default clsact; else scenario "$mechanism"; fi
done
