#!/bin/bash
# time-limit: 240
# The ovs fabric on real Open vSwitch: two hosts in network namespaces, joined by a bridge in a third,
# each with its own ovsdb-server and ovs-vswitchd, and guests in namespaces of their own.
#
#   OVS_DATAPATH  netdev: in user space, on any kernel; system: the kernel's, which needs its module
#                 (tests/vm/ovs_kernel.sh runs this there)
here=$(cd "$(dirname "$0")" && pwd)
[ "$(id -u)" -eq 0 ] || { echo "needs root for network namespaces"; exit 77; }
command -v ovs-vswitchd >/dev/null || { echo "no Open vSwitch here"; exit 77; }
# shellcheck disable=SC1091  # not beside this script
. "$here/../lib.sh"
DRIVER=${FABRIC_DRIVER:-$here/../../build/dev/tests/netns/fabric_driver}
[ -x "$DRIVER" ] || { echo "no $DRIVER: build the dev preset first"; exit 77; }
DATAPATH=${OVS_DATAPATH:-netdev}
ns=flo$$
hosts=(1 2)

teardown() {
  local status=$? name pid
  set +e  # to the end, whatever fails
  for name in $(ip netns list | awk -v p="^$ns-" '$1 ~ p {print $1}'); do
    for pid in $(ip netns pids "$name"); do kill -KILL "$pid" 2>/dev/null || true; done
    ip netns del "$name"
  done
  if [ "$status" -ne 0 ]; then
    grep -hE 'WARN|ERR' "$WORK"/*/vswitchd.log | grep -vE 'timeval|poll_loop' | tail -n 30 >&2
    tail -n 8 "$WORK"/*.out "$WORK"/*.err >&2 2>/dev/null
  fi
  (exit "$status")
  cleanup
}
trap teardown EXIT

# In the background call ip itself: $! is then the program and not a shell around it.
in_ns() { ip netns exec "$ns-$1" "${@:2}"; }
add_ns() { ip netns add "$ns-$1"; in_ns "$1" ip link set lo up; }

# --- the underlay and the switches -----------------------------------------------------------------
add_ns sw
in_ns sw ip link add br0 type bridge
in_ns sw ip link set br0 up

# Open vSwitch 3.1 counts the processors anew every 10 seconds on the clock since boot, and as none before the first
# of them: an ovs-vswitchd started by then has no thread for upcalls and loses each one.
booted_long_ago() { awk '{exit !($1 > 11)}' /proc/uptime; }
[ "$DATAPATH" != system ] || wait_until 20 "clock beyond 11 s" booted_long_ago

start_ovsdb() {
  local dir=$WORK/h$1
  OVS_RUNDIR=$dir ip netns exec "$ns-h$1" ovsdb-server "$dir/conf.db" --remote="punix:$dir/db.sock" \
    --unixctl="$dir/ovsdb.ctl" --log-file="$dir/ovsdb.log" -vconsole:off >/dev/null 2>&1 &
  DB_PID[$1]=$!
  STARTED+=($!)
  wait_until 20 "database of host $1" ovs-vsctl --timeout=$((2 * PATIENCE)) --db="unix:$dir/db.sock" --no-wait show
}
start_vswitchd() {
  local dir=$WORK/h$1
  OVS_RUNDIR=$dir ip netns exec "$ns-h$1" ovs-vswitchd "unix:$dir/db.sock" --unixctl="$dir/vswitchd.ctl" \
    --log-file="$dir/vswitchd.log" -vconsole:off >/dev/null 2>&1 &
  SWITCH_PID[$1]=$!
  STARTED+=($!)
}
vsctl() { ovs-vsctl -vconsole:off --timeout=$((10 * PATIENCE)) --db="unix:$WORK/h$1/db.sock" "${@:2}"; }
ofctl() { ovs-ofctl -O OpenFlow14 -vconsole:off "$2" "unix:$WORK/h$1/$3.mgmt" "${@:4}"; }
flags() { echo "--fabric ovs --run-dir $WORK/h$1 --datapath $DATAPATH --local-ip 192.0.2.$1"; }
# shellcheck disable=SC2046  # words
driver() { in_ns "h$1" "$DRIVER" $(flags "$1") "${@:2}"; }

for h in "${hosts[@]}"; do
  add_ns "h$h"
  in_ns sw ip link add "p$h" type veth peer name eth0 netns "$ns-h$h"
  in_ns sw ip link set "p$h" master br0 up
  in_ns "h$h" ip link set eth0 up
  mkdir "$WORK/h$h"
  ovsdb-tool create "$WORK/h$h/conf.db" /usr/share/openvswitch/vswitch.ovsschema
  start_ovsdb "$h"
  vsctl "$h" --no-wait init
  start_vswitchd "$h"
  # Bridges that belong to somebody else, not ours to touch: of the host's uplink (in user space, because
  # tunnels there need it), and one more.
  uplink=eth0
  if [ "$DATAPATH" = netdev ]; then
    uplink=br-phy
    vsctl "$h" add-br br-phy -- set bridge br-phy datapath_type=netdev -- add-port br-phy eth0
  fi
  vsctl "$h" add-br other -- set bridge other "datapath_type=$DATAPATH"
  ofctl "$h" add-flow other "table=3,tcp,tp_dst=4711,actions=normal"
  in_ns "h$h" ip addr add "192.0.2.$h/24" dev "$uplink"
  in_ns "h$h" ip link set "$uplink" up
done
others() {
  vsctl "$1" --columns=name,ports,fail_mode,external_ids --if-exists list bridge br-phy other
  ofctl "$1" dump-flows other --no-stats
}
others 2 >"$WORK/others.before"  # of the host whose switch is not restarted
wait_until 20 "underlay" in_ns h1 ping -c 1 -W 1 192.0.2.2
wait_until 20 "underlay" in_ns h2 ping -c 1 -W 1 192.0.2.1
# A third host has no attachment at all: no packet of a virtual network comes to it.
add_ns h3
in_ns sw ip link add p3 type veth peer name eth0 netns "$ns-h3"
in_ns sw ip link set p3 master br0 up
in_ns h3 ip addr add 192.0.2.3/24 dev eth0
in_ns h3 ip link set eth0 up

# Everything that crosses the underlay, for the end.
in_ns sw tcpdump -i br0 -U -n -w "$WORK/underlay.pcap" 'udp port 4789' >/dev/null 2>"$WORK/tcpdump.err" &
STARTED+=($!)
in_ns sw tcpdump -i p1 -U -n -w "$WORK/wire.pcap" 'udp port 4789' >/dev/null 2>"$WORK/tcpdump2.err" &
STARTED+=($!)
wait_until 10 "capture" grep -q listening "$WORK/tcpdump2.err"
in_ns h3 tcpdump -i eth0 -Q in -U -n -l udp >"$WORK/at-host3" 2>"$WORK/tcpdump3.err" &
STARTED+=($!)
wait_until 10 "capture" grep -q listening "$WORK/tcpdump3.err"

# --- who there is: a and b on host 1, c on host 2; x and y with the same addresses in another VNI ----
python3 - "$WORK" <<'P'
import json, sys
stations = [("a", 7, 1, "10.0.0.10", "fd00::10"), ("b", 7, 1, "10.0.0.11", "fd00::11"),
            ("c", 7, 2, "10.0.0.12", "fd00::12"), ("x", 8, 1, "10.0.0.10", "fd00::10"),
            ("y", 8, 2, "10.0.0.12", "fd00::12")]
for host in (1, 2):
    desired = [dict(id="uid-" + name, vni=vni, mac="02:00:00:00:%02x:%02x" % (vni, ord(name)), addresses=[v4, v6],
                    **({"local": True} if at == host else {"host": "192.0.2.%d" % at}))
               for name, vni, at, v4, v6 in stations]
    json.dump({"stations": desired}, open("%s/desired%d.json" % (sys.argv[1], host), "w"))
json.dump({"stations": []}, open(sys.argv[1] + "/nothing.json", "w"))
P
# (It takes several tries on a slow machine, where making a bridge lasts longer than anyone waits for it.)
applied() { driver "$1" apply "$WORK/desired$1.json" >"$WORK/apply.err" 2>&1; }
for h in "${hosts[@]}"; do wait_until 20 "success of apply on host $h" applied "$h"; done
driver 1 list >"$WORK/list"
expect "stations that are complete" '^3$' grep -c uid- "$WORK/list"
interface_of() { driver "$1" list | jq -r "select(.id == \"uid-$2\") | .interface"; }

# guest HOST NAME IPV4 IPV6: takes its interface into a namespace of its own.
guest() {
  local interface
  interface=$(interface_of "$1" "$2")
  [ -n "$interface" ] || die "no interface of $2"
  expect "interface of $2 is down, with the fabric's MTU" 'mtu 1450.*state DOWN' \
    in_ns "h$1" ip -o link show "$interface"
  equal "addresses of $2" "$(in_ns "h$1" ip -o addr show dev "$interface")" ""
  add_ns "$2"
  in_ns "h$1" ip link set "$interface" netns "$ns-$2" name eth0
  # Its neighbours are not asked for again while a switch is away, which a slow machine makes long.
  in_ns "$2" sysctl -qw net.ipv4.neigh.eth0.base_reachable_time_ms=600000
  in_ns "$2" ip link set eth0 up
  in_ns "$2" ip addr add "$3/24" dev eth0
  in_ns "$2" ip addr add "$4/64" dev eth0 nodad
}
guest 1 a 10.0.0.10 fd00::10
guest 1 b 10.0.0.11 fd00::11
guest 2 c 10.0.0.12 fd00::12
guest 1 x 10.0.0.10 fd00::10
guest 2 y 10.0.0.12 fd00::12

# --- reachability ---------------------------------------------------------------------------------
wait_until 20 "tunnel" in_ns a ping -c 1 -W 1 10.0.0.12
for to in 10.0.0.11 10.0.0.12 fd00::11 fd00::12; do
  check "a reaches $to" in_ns a ping -c 2 -i 0.2 -W $((2 * PATIENCE)) "$to"
done
check "largest packet" in_ns a ping -c 1 -W $((2 * PATIENCE)) -M 'do' -s 1422 10.0.0.12
expect "the neighbour is whom the bridge says" '02:00:00:00:07:63' in_ns a ip neigh show 10.0.0.12
expect "also over IPv6" '02:00:00:00:07:63' in_ns a ip -6 neigh show fd00::12

# tcp FROM TO ADDRESS: who answers there, after a megabyte each way.
serve='
import socket, sys
family = socket.AF_INET6 if ":" in sys.argv[1] else socket.AF_INET
listener = socket.socket(family); listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
listener.bind((sys.argv[1], 4000)); listener.listen(8); print("ready", flush=True)
while True:
    peer, _ = listener.accept(); peer.settimeout(int(sys.argv[3]))
    data = b""
    while len(data) < 1 << 20: data += peer.recv(65536)
    peer.sendall(data + sys.argv[2].encode()); peer.close()'
call='
import os, socket, sys
data = os.urandom(1 << 20); peer = socket.create_connection((sys.argv[1], 4000), int(sys.argv[2]))
peer.sendall(data); back = b""
while True:
    piece = peer.recv(65536)
    if not piece: break
    back += piece
assert back[:1 << 20] == data; print(back[1 << 20:].decode())'
serve_in() {
  in_ns "$1" python3 -c "$serve" "$2" "$1" $((20 * PATIENCE)) >"$WORK/serve-$1-$3.out" 2>&1 &
  STARTED+=($!)
  wait_until 10 "server in $1" grep -q ready "$WORK/serve-$1-$3.out"
}
serve_in b 10.0.0.11 4
serve_in c 10.0.0.12 4
serve_in c fd00::12 6
serve_in y 10.0.0.12 4
equal "TCP on the same host" "$(in_ns a timeout $((30 * PATIENCE)) python3 -c "$call" 10.0.0.11 $((20 * PATIENCE)))" b
equal "TCP to another host" "$(in_ns a timeout $((30 * PATIENCE)) python3 -c "$call" 10.0.0.12 $((20 * PATIENCE)))" c
equal "TCP over IPv6" "$(in_ns a timeout $((30 * PATIENCE)) python3 -c "$call" fd00::12 $((20 * PATIENCE)))" c

# --- isolation ------------------------------------------------------------------------------------
equal "the same address in another network" "$(in_ns x timeout $((30 * PATIENCE)) python3 -c "$call" 10.0.0.12 $((20 * PATIENCE)))" y
refuse "b is not in x's network" '100% packet loss' in_ns x ping -c 2 -i 0.2 -W 1 10.0.0.11
refuse "nor over IPv6" '100% packet loss' in_ns x ping -c 2 -i 0.2 -W 1 fd00::11

# What arrives at b from here on.
in_ns b tcpdump -i eth0 -U -n -e -l >"$WORK/at-b" 2>"$WORK/at-b.err" &
STARTED+=($!)
wait_until 10 "capture" grep -q listening "$WORK/at-b.err"
in_ns a ip addr add 10.0.0.99/24 dev eth0
in_ns a ip addr add fd00::99/64 dev eth0 nodad
refuse "a foreign IPv4 source" '100% packet loss' in_ns a ping -I 10.0.0.99 -c 2 -i 0.2 -W 1 10.0.0.11
refuse "a foreign IPv6 source" '100% packet loss' in_ns a ping -I fd00::99 -c 2 -i 0.2 -W 1 fd00::11
# Frames by hand: a foreign MAC, ARP that claims b's or c's address, an advertisement, broadcast,
# multicast, an unknown destination; then one good frame to wait for.
in_ns a python3 - <<'P'
import socket, struct
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW); s.bind(("eth0", 0))
mac = lambda t: bytes.fromhex(t.replace(":", ""))
a, b, evil = mac("02:00:00:00:07:61"), mac("02:00:00:00:07:62"), mac("02:00:00:00:66:66")
ip4 = socket.inet_aton; ip6 = lambda t: socket.inet_pton(socket.AF_INET6, t)
def csum(data):
    if len(data) % 2: data += b"\0"
    n = sum(struct.unpack("!%dH" % (len(data) // 2), data)); n = (n >> 16) + (n & 0xffff)
    return ~(n + (n >> 16)) & 0xffff
def udp4(dst_mac, src_mac, src, dst, text):
    body = struct.pack("!HHHH", 9, 9, 8 + len(text), 0) + text
    head = struct.pack("!BBHHHBBH4s4s", 69, 0, 20 + len(body), 1, 0, 64, 17, 0, ip4(src), ip4(dst))
    head = head[:10] + struct.pack("!H", csum(head)) + head[12:]
    return dst_mac + src_mac + b"\x08\x00" + head + body
def arp(dst_mac, op, sha, spa, tha, tpa):
    return dst_mac + a + struct.pack("!HHHBBH", 0x806, 1, 0x800, 6, 4, op) + sha + ip4(spa) + tha + ip4(tpa)
def icmp6(dst_mac, src, dst, body):
    pseudo = ip6(src) + ip6(dst) + struct.pack("!II", len(body), 58)
    body = body[:2] + struct.pack("!H", csum(pseudo + body)) + body[4:]
    return dst_mac + a + b"\x86\xdd" + struct.pack("!IHBB", 6 << 28, len(body), 58, 255) + ip6(src) + ip6(dst) + body
every = b"\xff" * 6
s.send(udp4(b, evil, "10.0.0.10", "10.0.0.11", b"bad mac"))
s.send(arp(b, 2, a, "10.0.0.12", b, "10.0.0.11"))
s.send(arp(every, 1, a, "10.0.0.12", b"\0" * 6, "10.0.0.11"))
s.send(arp(every, 2, a, "10.0.0.10", every, "10.0.0.10"))
s.send(icmp6(b, "fd00::10", "fd00::11", struct.pack("!BBHI", 136, 0, 0, 0x20000000) + ip6("fd00::12") + b"\x02\x01" + a))
s.send(udp4(every, a, "10.0.0.10", "10.0.0.255", b"broadcast"))
s.send(udp4(mac("01:00:5e:00:00:fb"), a, "10.0.0.10", "224.0.0.251", b"multicast"))
s.send(udp4(evil, a, "10.0.0.10", "10.0.0.77", b"unknown"))
s.send(udp4(b, a, "10.0.0.10", "10.0.0.11", b"the end"))
P
wait_until 10 "the good frame" grep -q '10.0.0.10.9 > 10.0.0.11.9: UDP, length 7' "$WORK/at-b"
# (b's own kernel may ask who a is meanwhile, and be answered.)
for bad in 10.0.0.99 fd00::99 02:00:00:00:66:66 'ARP.*10.0.0.12' 'neighbor adv.*fd00::12' ff:ff:ff:ff:ff:ff 224.0.0.251 10.0.0.77; do
  refuse "$bad at b" '' grep -e "02:00:00:00:07:61.*$bad" -e "$bad.*02:00:00:00:07:62" "$WORK/at-b"
done
in_ns a ip addr del 10.0.0.99/24 dev eth0
in_ns a ip addr del fd00::99/64 dev eth0

# A stranger on the underlay cannot speak for a station, nor can a host for one that is behind another; the
# right host can.
as_c="kind=ip4,from=02:00:00:00:07:63,to=02:00:00:00:07:62,source=10.0.0.12,target=10.0.0.11"
in_ns b "$here/frames.py" listen eth0 >"$WORK/heard.out" 2>&1 &
STARTED+=($!)
wait_until 10 "listener at b" grep -q listening "$WORK/heard.out"
in_ns h3 "$here/frames.py" tunnel 192.0.2.1 4789 7 "$as_c,mark=stranger"
in_ns h2 "$here/frames.py" tunnel 192.0.2.1 4789 7 "${as_c/10.0.0.12/10.0.0.10},mark=address" \
  "${as_c/07:63/07:61},mark=mac" "$as_c,mark=end"
wait_until 10 "frame from the right host" grep -qx end "$WORK/heard.out"
equal "frames from the underlay at b" "$(paste -sd ' ' "$WORK/heard.out")" "listening end"
# Nor does the right host speak for others, or say who anybody's neighbour is; nor does a guest of this host.
whole_a=02:00:00:00:07:61/10.0.0.10/fd00::10 whole_b=02:00:00:00:07:62/10.0.0.11/fd00::11
whole_c=02:00:00:00:07:63/10.0.0.12/fd00::12
# heard_at_b WHAT END COMMAND…: of the frames that the command forges, b hears the honest ones, in any order: a
# switch in user space changes it. END sends the last.
heard_at_b() {
  local what=$1 end=$2 mark
  shift 2
  in_ns b "$here/frames.py" listen eth0 >"$WORK/heard.out" 2>&1 &
  STARTED+=($!)
  wait_until 10 "listener at b" grep -q listening "$WORK/heard.out"
  "$@"
  for mark in $("$here/frames.py" honest); do wait_until 10 "$mark: $what" grep -qx "$mark" "$WORK/heard.out"; done
  $end
  wait_until 10 "the last frame: $what" grep -qx end "$WORK/heard.out"
  equal "$what" "$(grep -vxE 'listening|end' "$WORK/heard.out" | sort | paste -sd ' ')" \
    "$("$here/frames.py" honest | tr ' ' '\n' | sort | paste -sd ' ')"
}
end_from_h2() { in_ns h2 "$here/frames.py" tunnel 192.0.2.1 4789 7 "$as_c,mark=end"; }
end_from_a() {
  in_ns a "$here/frames.py" send eth0 \
    "kind=ip4,from=02:00:00:00:07:61,to=02:00:00:00:07:62,source=10.0.0.10,target=10.0.0.11,mark=end"
}
heard_at_b "forged by the right host" end_from_h2 \
  in_ns h2 "$here/frames.py" forge-tunnel 192.0.2.1 4789 7 "$whole_c" "$whole_b" "$whole_a"
heard_at_b "forged by a guest" end_from_a in_ns a "$here/frames.py" forge eth0 "$whole_a" "$whole_b" "$whole_c"

# What cannot be a host is not sent to, whoever says that a station is behind it.
for bad in 224.0.0.1 255.255.255.255 0.0.0.0 127.0.0.1 ff02::1; do
  jq --arg bad "$bad" '(.stations[] | select(.id == "uid-c") | .host) = $bad' "$WORK/desired1.json" >"$WORK/bad.json"
  expect "a station behind $bad" "host $bad of a remote station must" driver 1 apply "$WORK/bad.json"
  refuse "a does not reach it" '100% packet loss' in_ns a ping -c 1 -W 1 10.0.0.12
done
check "a station behind its host again" driver 1 apply "$WORK/desired1.json"
check "a reaches it again" in_ns a ping -c 2 -i 0.2 -W $((2 * PATIENCE)) 10.0.0.12

# The host's own kernel stands beside the switch: it neither answers nor greets the guest.
in_ns a ip route add 192.0.2.0/24 dev eth0
refuse "the host does not answer a guest" '100% packet loss' in_ns a ping -c 2 -i 0.2 -W 1 192.0.2.1
refuse "nor its ARP" '' sh -c "ip netns exec $ns-a ip neigh show 192.0.2.1 | grep lladdr"
in_ns a ip route del 192.0.2.0/24 dev eth0

# --- a second process adopts, without cutting traffic ----------------------------------------------
in_ns a ping -c 40 -i 0.05 -W $((2 * PATIENCE)) 10.0.0.12 >"$WORK/ping" 2>&1 &
pinger=$!
expect "nothing to mend" '"missing":0,"unexpected":0' driver 1 audit "$WORK/desired1.json"
expect "nothing made anew" '"id":"uid-a","result":"ok","made":false' driver 1 apply "$WORK/desired1.json"
wait "$pinger" || true
expect "no packet lost meanwhile" ' 0% packet loss' cat "$WORK/ping"

# --- damage, and a process that mends it ------------------------------------------------------------
# shellcheck disable=SC2046  # words
ip netns exec "$ns-h1" "$DRIVER" $(flags 1) hold "$WORK/desired1.json" >"$WORK/hold.out" 2>"$WORK/hold.err" &
hold=$!
STARTED+=("$hold")
wait_until 20 "first audit" grep -q missing "$WORK/hold.out"
reached() { in_ns a ping -c 1 -W 1 10.0.0.12 && in_ns a ping -c 1 -W 1 fd00::11; }
restart_vswitchd() {
  kill -KILL "${SWITCH_PID[1]}"
  wait "${SWITCH_PID[1]}" 2>/dev/null || true
  start_vswitchd 1
}
# Pings of untouched guests all the while, to another host and on this one; lost is what is missing up to
# the last reply.
start_pings() {
  ip netns exec "$ns-a" ping -i 0.05 10.0.0.12 >"$WORK/pings.remote" 2>&1 &
  PINGS=($!)
  ip netns exec "$ns-a" ping -i 0.05 10.0.0.11 >"$WORK/pings.local" 2>&1 &
  PINGS+=($!)
  STARTED+=("${PINGS[@]}")
  for way in remote local; do wait_until 10 "$way pings" more_pings "$way" 5; done
}
pings() { grep -c 'bytes from' "$WORK/pings.$1" || true; }
more_pings() { [ "$(pings "$1")" -ge "$2" ]; }
stop_pings() {
  local way
  for way in remote local; do wait_until 40 "$way pings again" more_pings "$way" $(($(pings "$way") + 5)); done
  kill -INT "${PINGS[@]}"
  wait "${PINGS[@]}" || true
}
lost() { echo $(($(sed -n 's/.*icmp_seq=\([0-9]*\).*/\1/p' "$WORK/pings.$1" | tail -n 1) - $(pings "$1"))); }
waits() { vsctl 1 --if-exists get Open_vSwitch . other_config:flow-restore-wait | tr -d '"'; }
wont_wait() { [ -z "$(waits)" ]; }
will_wait() { [ "$(waits)" = true ]; }

start_pings
restart_vswitchd
wait_until 40 "traffic after a restart of ovs-vswitchd" reached
expect "an audit mended it" '"missing":[1-9]' cat "$WORK/hold.out"
stop_pings
echo "restart of ovs-vswitchd beside bridges of others ($DATAPATH): $(lost remote) pings lost to another host," \
  "$(lost local) on this one"
equal "bridges of others wait for nobody" "$(waits)" ""

if [ "$DATAPATH" = system ]; then
  # Alone on the kernel's datapath it goes on with the kernel's flows until ours are back.
  vsctl 1 del-br other
  wait_until 30 "word that it shall wait" will_wait
  start_pings
  restart_vswitchd
  wait_until 60 "traffic that is new to the kernel" in_ns b ping -c 1 -W 1 10.0.0.12
  stop_pings
  echo "alone: $(lost remote) pings lost to another host, $(lost local) on this one"
  equal "pings lost on this host" "$(lost local)" 0
  # Before 3.1.1 it makes the kernel's tunnel device anew when it starts.
  version=$(ovs-vswitchd --version | sed -n '1s/.* //p')
  if printf '3.1.1\n%s\n' "$version" | sort -CV; then
    equal "pings lost to another host" "$(lost remote)" 0
  else
    echo "(Open vSwitch $version makes its tunnel device anew when it starts: those to another host are its own.)"
  fi
  check "it will wait the next time too" will_wait
  vsctl 1 add-br other
  wait_until 30 "word that it shall not wait beside others" wont_wait
fi

kill -KILL "${DB_PID[1]}"
wait "${DB_PID[1]}" 2>/dev/null || true
# (ovs-vswitchd forwards nothing in user space while it has no database: not ours to mend.)
start_ovsdb 1
wait_until 30 "connection after a restart of ovsdb-server" sh -c "[ \$(grep -c 'connected to Open' $WORK/hold.err) -ge 2 ]"
wait_until 30 "traffic after a restart of ovsdb-server" reached
# Somebody removes an interface: it is made again.
audits=$(grep -c missing "$WORK/hold.out")
host_end=$(interface_of 1 x | sed s/^fl/fh/)
in_ns h1 ip link del "$host_end"
wait_until 30 "interface made again" sh -c "[ \$(grep -c missing $WORK/hold.out) -gt $audits ]"
check "interface made again" in_ns h1 ip link show "$host_end"
kill -TERM "$hold"
wait "$hold" || true
# Somebody sets another MTU: set back.
host_end=$(interface_of 1 a | sed s/^fl/fh/)
in_ns h1 ip link set "$host_end" mtu 1400
expect "an MTU that changed" '"missing":1,"unexpected":0' driver 1 audit "$WORK/desired1.json"
expect "the MTU again" 'mtu 1450' in_ns h1 ip link show "$host_end"
# Somebody removes flows: seen by the next audit.
ofctl 1 del-flows fairlead
expect "flows that went" '"missing":5,' driver 1 audit "$WORK/desired1.json"
ofctl 1 add-flow fairlead "table=4,actions=normal"
expect "flows that came" '"missing":0,"unexpected":1' driver 1 audit "$WORK/desired1.json"
# What a process left that was killed while it made an interface: nothing tells whose it is but its group.
in_ns h1 ip link add fh0000000000002 group 0x666c6b02 type veth peer name fl0000000000002
in_ns h1 ip link add fh0000000000001 group 0x666c6b01 type veth peer name fl0000000000001
expect "half made" '"missing":0,"unexpected":1' driver 1 audit "$WORK/desired1.json"
refuse "our leftover is gone" 'does not exist' in_ns h1 ip link show fh0000000000002
check "another's is left alone" in_ns h1 ip link show fh0000000000001
in_ns h1 ip link del fh0000000000001
vsctl 1 del-port fairlead fl-vtep
expect "the tunnel's port that went" '"missing":' driver 1 audit "$WORK/desired1.json"
wait_until 20 "traffic through a new tunnel port" reached
expect "all well" '"missing":0,"unexpected":0' driver 1 audit "$WORK/desired1.json"

# --- one of the connections to the bridge is lost amid a bundle --------------------------------------
# Many stations in a network of their own, so that their flows are shared out; the bundle that is cut is carried
# out by the bridge, or not, and the fabric cannot know.
python3 - "$WORK" <<'P'
import json, sys
desired = json.load(open(sys.argv[1] + "/desired1.json"))
desired["stations"] += [dict(id="many-%d" % n, vni=9, mac="02:00:00:00:09:%02x" % n, addresses=["10.0.1.%d" % n],
                             host="192.0.2.2") for n in range(1, 200)]
json.dump(desired, open(sys.argv[1] + "/many.json", "w"))
P
mkdir "$WORK/cutter"
ln -s "$WORK/h1/db.sock" "$WORK/cutter/db.sock"
ip netns exec "$ns-h1" "$here/lane_cutter.py" "$WORK/cutter/fairlead.mgmt" "$WORK/h1/fairlead.mgmt" "$WORK/cutter" \
  2>"$WORK/cutter.err" &
STARTED+=($!)
wait_until 10 "the cutter" test -S "$WORK/cutter/fairlead.mgmt"
ip netns exec "$ns-h1" "$DRIVER" --fabric ovs --run-dir "$WORK/cutter" --datapath "$DATAPATH" --local-ip 192.0.2.1 \
  hold "$WORK/many.json" >"$WORK/cut.out" 2>"$WORK/cut.err" &
hold=$!
STARTED+=("$hold")
wait_until 20 "first audit" grep -q missing "$WORK/cut.out"
lanes() { [ "$(cat "$WORK/cutter/lanes")" -ge "$1" ]; }
flows() { ofctl 1 dump-flows fairlead | grep -c cookie=0xf1ea || true; }
all_flows() { [ "$(flows)" -eq "$many" ]; }
host_end=$(interface_of 1 x | sed s/^fl/fh/)
many=$(flows)
[ "$many" -ge 597 ] || die "flows of many stations: $many"
wait_until 30 "connections" lanes 8
for how in before after; do
  again=$(($(cat "$WORK/cutter/lanes") + 1))
  touch "$WORK/cutter/$how"
  ofctl 1 del-flows fairlead
  in_ns h1 ip link del "$host_end"  # makes it look
  wait_until 30 "cut of a connection" test -e "$WORK/cutter/cut-$how"
  wait_until 30 "all flows again, cut $how" all_flows
  wait_until 30 "a new connection" lanes "$again"
  wait_until 30 "interface made again" in_ns h1 ip link show "$host_end"
done
kill -TERM "$hold"
wait "$hold" || true
expect "all well after cuts" '"missing":0,"unexpected":0' driver 1 audit "$WORK/many.json"
expect "and without the many" '"missing":0,"unexpected":199' driver 1 audit "$WORK/desired1.json"

# --- the underlay saw only unicast IP between stations that know each other -------------------------
# (But for what frames.py forged there.)
seen() { tcpdump -n -r "$WORK/wire.pcap" "udp port 4789 and not udp src port 4788 and ($1)" 2>/dev/null | wc -l; }
[ "$(seen 'udp[28:2] = 0x0800')" -gt 0 ] || die "no VXLAN was seen at all"
equal "ARP on the underlay" "$(seen 'udp[28:2] = 0x0806')" 0
equal "broadcast and multicast on the underlay" "$(seen 'udp[16] & 1 != 0')" 0
check "a packet for host 3" in_ns h1 python3 -c '
import socket
socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"end", ("192.0.2.3", 9))'
wait_until 10 "packet for host 3" grep -q '192.0.2.3.9: UDP' "$WORK/at-host3"
refuse "anything of a virtual network at host 3" '' grep -F .4789 "$WORK/at-host3"

# --- the end ----------------------------------------------------------------------------------------
for h in "${hosts[@]}"; do
  check "removal on host $h" driver "$h" audit "$WORK/nothing.json"
  equal "interfaces left on host $h" "$(in_ns "h$h" ip -o link | grep -cE ': f[lh][0-9a-f]{13}' || true)" 0
  equal "stations left on host $h" "$(driver "$h" list)" ""
  equal "ports left on host $h" "$(vsctl "$h" list-ports fairlead)" fl-vtep
  equal "flows left on host $h" "$(ofctl "$h" dump-flows fairlead | grep -c 'cookie=0xf1ea' |
    tr -d '\n')" "$(ofctl "$h" dump-flows fairlead | grep -c 'cookie=0xf1ea000000000000')"
done
equal "guests' interfaces" "$(in_ns a ip -o link | grep -c eth0 || true)" 0
check "other bridges are as they were" diff "$WORK/others.before" <(others 2)
