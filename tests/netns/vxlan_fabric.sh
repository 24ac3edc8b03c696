#!/bin/bash
# The kernel-only fabric on the real kernel: namespaces are hosts, joined by a bridge in a namespace of its
# own, and guests. Everything is said twice: once over an IPv4 underlay, once over IPv6 (UNDERLAYS="4 6").
# time-limit: 300
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$(dirname "$0")/../lib.sh"
DRIVER=${VXLAN_DRIVER:-$here/../../build/dev/tests/netns/vxlan_driver}
PREFIX=flvx$$
DEVICE=fairlead-vxlan
PORT=4789

[ "$(id -u)" -eq 0 ] || { echo "needs root"; exit 77; }
[ -x "$DRIVER" ] || die "no $DRIVER: scripts/build dev vxlan_driver"

remove_namespaces() {
  local name
  for name in $(ip netns list | awk '{print $1}' | grep "^$PREFIX-"); do ip netns del "$name"; done
}
leave() {
  local status=$?
  set +e  # to the end, whatever fails
  trap '' INT TERM
  remove_namespaces
  (exit "$status")
  cleanup
}
trap leave EXIT
trap 'exit 143' INT TERM

ns() { local name=$1; shift; ip netns exec "$PREFIX-$name" "$@"; }
link() { local name=$1; shift; ip -n "$PREFIX-$name" link "$@"; }
# in_background NAMESPACE COMMAND…: PID is then the command's own, not that of a shell around it.
in_background() {
  local name=$1
  shift
  ip netns exec "$PREFIX-$name" "$@" &
  PID=$!
  STARTED+=("$PID")
}
drive() { local host=$1; shift; ns "$host" "$DRIVER" "${UNDERLAY[$host]}" "$@"; }

declare -A UNDERLAY MAC V4 V6 VNI HOST INTERFACE
# station NAME HOST VNI NUMBER: stations of different networks share addresses and MACs on purpose.
station() {
  HOST[$1]=$2 VNI[$1]=$3 INTERFACE[$1]=fl0000000000$3
  INTERFACE[$1]=${INTERFACE[$1]%?}$4
  MAC[$1]=02:00:00:00:00:0$4 V4[$1]=10.0.0.$4 V6[$1]=fd00::$4
}
station a1 h1 100 1; station a2 h1 100 2; station a3 h2 100 3; station a4 h2 100 4
station b1 h1 200 1; station b3 h2 200 3
interface_of() { echo "${INTERFACE[$1]}"; }
whole() { echo "${MAC[$1]}/${V4[$1]}/${V6[$1]}"; }
honest=$("$here/frames.py" honest)
host_end_of() { local guest; guest=$(interface_of "$1"); echo "fh${guest#fl}"; }

# state HOST STATION…: what that host should carry, as the driver reads it.
state() {
  local host=$1 name where
  shift
  for name in "$@"; do
    where="\"host\": \"${UNDERLAY[${HOST[$name]}]}\""
    [ "${HOST[$name]}" != "$host" ] || where="\"interface\": \"$(interface_of "$name")\""
    echo "{\"id\": \"uid-$name\", \"vni\": ${VNI[$name]}, \"mac\": \"${MAC[$name]}\",
           \"addresses\": [\"${V4[$name]}\", \"${V6[$name]}\"], $where}"
  done | jq -s '{stations: .}' >"$WORK/$host.json"
}

build_underlay() {
  local host
  ip netns add "$PREFIX-sw"
  link sw add sw0 type bridge
  link sw set sw0 up
  for host in h1 h2 h3; do
    ip netns add "$PREFIX-$host"
    ip link add eth0 netns "$PREFIX-$host" type veth peer name "p-$host" netns "$PREFIX-sw"
    link sw set "p-$host" master sw0 up
    ip -n "$PREFIX-$host" addr add "192.0.2.${host#h}/24" dev eth0
    ip -n "$PREFIX-$host" addr add "2001:db8::${host#h}/64" dev eth0 nodad
    link "$host" set eth0 up
    link "$host" set lo up
    UNDERLAY[$host]=192.0.2.${host#h}
    [ "$1" = 4 ] || UNDERLAY[$host]=2001:db8::${host#h}
  done
}

# give STATION: what a guest does with its interface.
give() {
  local name=$1
  link "${HOST[$name]}" set "$(interface_of "$name")" netns "$PREFIX-$name" name eth0
  configure "$name" "$name" eth0
}
configure() {
  ip -n "$PREFIX-$2" addr add "${V4[$1]}/24" dev "$3"
  ip -n "$PREFIX-$2" addr add "${V6[$1]}/64" dev "$3" nodad
  ip -n "$PREFIX-$2" link set "$3" up
}

pings() { ns "$1" ping -q -c 2 -i 0.1 -W 5 "$2"; }
no_ping() { ! ns "$1" ping -q -c 2 -i 0.1 -W 1 "$2"; }

# transfer FROM TO ADDRESS: 8 MB by TCP; prints how much arrived.
transfer() {
  : >"$WORK/server.out"
  in_background "$2" python3 -c '
import socket, sys
listener = socket.create_server((sys.argv[1], 5000), family=socket.AF_INET6 if ":" in sys.argv[1] else socket.AF_INET)
print("listening", flush=True)
connection, _ = listener.accept()
connection.sendall(b"x" * 8000000)' "$3" >"$WORK/server.out" 2>"$WORK/server.err"
  local server=$PID
  wait_until 20 "listener in $2" grep -q listening "$WORK/server.out"
  ns "$1" python3 -c '
import socket, sys
connection = socket.create_connection((sys.argv[1], 5000), timeout=60)
total = 0
while chunk := connection.recv(65536): total += len(chunk)
print(total)' "$3" || kill "$server"
  wait "$server"
}

counted() { [ "$(counter "$1" "$2")" -ge 1 ]; }
counter() { drive "$1" counters | sed -n "s/^$2=//p"; }

# heard WHAT STATION EXPECTED COMMAND…: the marks that reach a station while the command sends them; the
# command's last frame says "end".
heard() {
  local what=$1 at=$2 expected=$3 listener
  shift 3
  : >"$WORK/heard"
  in_background "$at" "$here/frames.py" listen eth0 >"$WORK/heard" 2>"$WORK/heard.err"
  listener=$PID
  wait_until 20 "listener at $at" grep -q listening "$WORK/heard"
  "$@"
  wait_until 20 "last frame at $at" grep -qx end "$WORK/heard"
  wait "$listener"
  equal "$what" "$(grep -vx listening "$WORK/heard" | paste -sd ' ')" "$expected"
}

# forge FROM TO: all that station FROM may not send to TO, among it as a4, and what it may.
forge() {
  ns "$1" "$here/frames.py" forge eth0 "$(whole "$1")" "$(whole "$2")" "$(whole a4)"
  ns "$1" "$here/frames.py" send eth0 \
    "kind=ip4,from=${MAC[$1]},to=${MAC[$2]},source=${V4[$1]},target=${V4[$2]},mark=end"
}
# forge_tunnelled HOST: the same, as that host, to station a3 of host 2 as if from a1.
forge_tunnelled() {
  ns "$1" "$here/frames.py" forge-tunnel "${UNDERLAY[h2]}" "$PORT" 100 "$(whole a1)" "$(whole a3)" "$(whole a4)"
  ns "$1" "$here/frames.py" tunnel "${UNDERLAY[h2]}" "$PORT" 100 \
    "kind=ip4,from=${MAC[a1]},to=${MAC[a3]},source=${V4[a1]},target=${V4[a3]},mark=end"
}

# What leaves and enters host 1 through the tunnel.
start_capture() {
  : >"$WORK/tcpdump.err"
  in_background h1 tcpdump -i eth0 -s 160 -B 32768 -U -w "$WORK/underlay.pcap" "udp port $PORT" 2>"$WORK/tcpdump.err"
  CAPTURE=$PID
  wait_until 20 tcpdump grep -q 'listening on' "$WORK/tcpdump.err"
}
stop_capture() { kill -TERM "$CAPTURE"; wait "$CAPTURE" || true; }
# captured FAMILY FILTER: how many packets fit; I[n] in the filter is byte n of the inner frame.
captured() {
  local base='udp[16' filter
  [ "$1" = 4 ] || base='ip6[56'
  filter=${2//I[/$base+}
  tcpdump -r "$WORK/underlay.pcap" -n "$filter" 2>/dev/null | wc -l
}

kernel_programs() {
  local device
  for device in "$@"; do
    tc -n "$PREFIX-h1" -j filter show dev "$device" ingress | jq -r '.[].options.prog.id // empty'
  done | sort -u
}
map_of_program() { bpftool -j prog show id "$1" | jq -r '.map_ids[]' | while read -r id; do
    bpftool -j map show id "$id" | jq -r --arg name "$2" 'select(.name == $name) | .id'; done; }

# crowd HOST N: what the host should carry, and N stations behind host 2, in crowd.json.
crowd() {
  python3 -c '
import json, sys
everything = json.load(open(sys.argv[1]))
everything["stations"] += [{"id": f"crowd-{i}", "vni": 100, "mac": f"02:00:00:99:{i >> 8:02x}:{i & 255:02x}",
                            "addresses": [f"10.9.{i >> 8}.{i & 255}"], "host": sys.argv[2]} for i in range(1, int(sys.argv[3]) + 1)]
print(json.dumps(everything))' "$WORK/$1.json" "${UNDERLAY[h2]}" "$2" >"$WORK/crowd.json"
}

start_holder() {
  : >"$WORK/hold.out"
  in_background h1 "$DRIVER" "${UNDERLAY[h1]}" hold "$WORK/h1.json" >>"$WORK/hold.out" 2>>"$WORK/hold.err"
  HOLDER=$PID
  wait_until 30 "holder ready" grep -qx ready "$WORK/hold.out"
}
# It is really gone, not only a shell around it.
kill_holder() {
  CHECKS=$((CHECKS + 1))
  grep -q vxlan_driver "/proc/$HOLDER/cmdline" || die "process $HOLDER is not the driver"
  kill -KILL "$HOLDER"
  wait "$HOLDER" 2>/dev/null || true
}
# mended WHAT: the holder noticed by itself; begin a new page for the next.
mended() {
  wait_until 30 "mending of $1" grep -qE '^audit missing=[1-9]' "$WORK/hold.out"
  CHECKS=$((CHECKS + 1))
  : >"$WORK/hold.out"
}

scenario() {
  local family=$1 name overhead=50
  [ "$family" = 4 ] || overhead=70
  build_underlay "$family"
  for name in a1 a2 a3 b1 b3; do
    ip netns add "$PREFIX-$name"
    link "$name" set lo up
  done

  # Both hosts are told; the interfaces are as promised.
  state h1 a1 a2 a3 a4 b1 b3
  state h2 a1 a2 a3 a4 b1 b3
  expect "applied on host 1" "uid-a1 ok made" drive h1 apply "$WORK/h1.json"
  expect "applied on host 2" "uid-a3 ok made" drive h2 apply "$WORK/h2.json"
  expect "MTU, MAC, down" "mtu $((1500 - overhead)) .*state DOWN" link h1 show "$(interface_of a1)"
  expect "MAC" "${MAC[a1]}" link h1 show "$(interface_of a1)"
  equal "applied again, nothing made" "$(drive h1 apply "$WORK/h1.json" | grep -c made)" 0
  expect "nothing to mend" "audit missing=0 unexpected=0 failed=0" drive h1 audit "$WORK/h1.json"
  equal "a new process finds them" "$(drive h1 stations | awk '{print $1}' | paste -sd ' ')" \
    "uid-a1 uid-a2 uid-b1"
  for name in a1 a2 a3 b1 b3; do give "$name"; done
  configure a4 h2 "$(interface_of a4)" # one that stays with the host

  # Stations reach one another, here and there, by IPv4 and IPv6.
  start_capture
  for name in a2 a3 a4; do
    check "ping $name" pings a1 "${V4[$name]}"
    check "ping $name by IPv6" pings a1 "${V6[$name]}"
  done
  check "the other network" pings b1 "${V4[b3]}"
  check "network 200 has no station 2" no_ping b1 "${V4[a2]}"
  check "network 200 has no station 2 by IPv6" no_ping b1 "${V6[a2]}"
  equal "TCP to another host" "$(transfer a1 a3 "${V4[a3]}")" 8000000
  equal "TCP to another host by IPv6" "$(transfer a3 a1 "${V6[a1]}")" 8000000
  equal "TCP on one host" "$(transfer a1 a2 "${V4[a2]}")" 8000000
  equal "TCP on one host by IPv6" "$(transfer a2 a1 "${V6[a1]}")" 8000000

  # Blocks overlap: each network's address 3 is its own station.
  heard "each network its own" b3 "b end" ns b1 "$here/frames.py" send eth0 \
    "kind=ip4,from=${MAC[b1]},to=${MAC[b3]},source=${V4[b1]},target=${V4[b3]},mark=b" \
    "kind=ip4,from=${MAC[b1]},to=${MAC[b3]},source=${V4[b1]},target=${V4[b3]},mark=end"

  # What is not its own does not leave a guest: to a station on another host and to one on this host.
  local target
  for target in a3 a2; do
    local good="from=${MAC[a1]},to=${MAC[$target]}"
    heard "spoofed frames to $target" "$target" end ns a1 "$here/frames.py" send eth0 \
      "kind=ip4,from=02:00:00:00:00:77,to=${MAC[$target]},source=${V4[a1]},target=${V4[$target]},mark=mac" \
      "kind=ip4,$good,source=10.0.0.4,target=${V4[$target]},mark=ip4" \
      "kind=ip6,$good,source=fd00::4,target=${V6[$target]},mark=ip6" \
      "kind=ip6,$good,source=fe80::1,target=${V6[$target]},mark=link-local" \
      "kind=arp,$good,source=10.0.0.4,target=${V4[$target]},mark=arp" \
      "kind=arp,$good,sender=02:00:00:00:00:77,source=${V4[a1]},target=${V4[$target]},mark=arp-mac" \
      "kind=arp,$good,op=2,source=${V4[a1]},target=${V4[$target]},mark=arp-reply" \
      "kind=arp,from=${MAC[a1]},to=ff:ff:ff:ff:ff:ff,source=${V4[a1]},target=${V4[a1]},mark=announced" \
      "kind=ip4,from=${MAC[a1]},to=ff:ff:ff:ff:ff:ff,source=${V4[a1]},target=10.0.0.255,mark=broadcast" \
      "kind=ip4,from=${MAC[a1]},to=01:00:5e:00:00:01,source=${V4[a1]},target=224.0.0.1,mark=multicast" \
      "kind=ip4,from=${MAC[a1]},to=02:00:00:00:00:99,source=${V4[a1]},target=${V4[$target]},mark=nobody" \
      "kind=ip4,$good,vlan=5,source=${V4[a1]},target=${V4[$target]},mark=vlan" \
      "kind=other,$good,mark=other" \
      "kind=nd,$good,source=${V6[a1]},target=${V6[$target]},claim=fd00::4,mark=advertised" \
      "kind=nd,$good,source=${V6[a1]},target=${V6[$target]},claim=fd00::4,behind=options,mark=hidden" \
      "kind=ip4,$good,source=${V4[a1]},target=${V4[$target]},mark=end"
    heard "all else that a1 may not send to $target" "$target" "$honest end" forge a1 "$target"
  done
  stop_capture
  for name in source_mac source_ip source_arp nd group protocol nobody; do
    equal "counted: $name" "$([ "$(counter h1 "drop_$name")" -ge 2 ] && echo yes)" yes
  done

  # The underlay carries the stations' packets and nothing else.
  expect "all of it was captured" "^0 packets dropped by kernel" cat "$WORK/tcpdump.err"
  equal "IPv4 was carried" "$([ "$(captured "$family" 'I[12:2]=0x0800')" -gt 4 ] && echo yes)" yes
  equal "IPv6 was carried" "$([ "$(captured "$family" 'I[12:2]=0x86dd')" -gt 4 ] && echo yes)" yes
  equal "no ARP was" "$(captured "$family" 'I[12:2]=0x0806')" 0
  equal "no neighbour discovery was" \
    "$(captured "$family" 'I[12:2]=0x86dd and I[20]=58 and I[54]>=133 and I[54]<=137')" 0
  equal "no group address was" "$(captured "$family" 'I[0]&1!=0')" 0

  # A stranger on the underlay cannot speak for a station; one behind the right host can.
  ns h3 "$here/frames.py" tunnel "${UNDERLAY[h2]}" "$PORT" 100 \
    "kind=ip4,from=${MAC[a1]},to=${MAC[a3]},source=${V4[a1]},target=${V4[a3]},mark=stranger"
  wait_until 10 "stranger counted" counted h2 drop_peer
  heard "from the right host" a3 "through end" ns h1 "$here/frames.py" tunnel "${UNDERLAY[h2]}" "$PORT" 100 \
    "kind=ip4,from=${MAC[a1]},to=${MAC[a3]},source=${V4[a1]},target=${V4[a3]},mark=through" \
    "kind=ip4,from=${MAC[a1]},to=${MAC[a3]},source=${V4[a1]},target=${V4[a3]},mark=end"
  # But only as its own stations: with their addresses, and with no word on who anybody's neighbour is.
  local why before
  before=$(drive h2 counters)
  heard "forged by the right host" a3 "$honest end" forge_tunnelled h1
  for why in source_ip nd protocol group nobody peer; do
    equal "counted from the tunnel: $why" \
      "$([ "$(counter h2 "drop_$why")" -gt "$(sed -n "s/^drop_$why=//p" <<<"$before")" ] && echo yes)" yes
  done
  # A host that speaks for a station behind another one.
  : >"$WORK/heard"
  in_background a3 "$here/frames.py" listen eth0 >"$WORK/heard" 2>"$WORK/heard.err"
  wait_until 20 "listener at a3" grep -q listening "$WORK/heard"
  forge_tunnelled h3
  ns h1 "$here/frames.py" tunnel "${UNDERLAY[h2]}" "$PORT" 100 \
    "kind=ip4,from=${MAC[a1]},to=${MAC[a3]},source=${V4[a1]},target=${V4[a3]},mark=after"
  wait_until 20 "frame of the right host" grep -qx after "$WORK/heard"
  equal "forged by the wrong host" "$(paste -sd ' ' "$WORK/heard")" "listening after"

  # What cannot be a host is not sent to, whoever says that a station is behind it.
  local bad
  for bad in 224.0.0.1 255.255.255.255 0.0.0.0 127.0.0.1 ff02::1 ::1 ::; do
    jq --arg bad "$bad" '(.stations[] | select(.id == "uid-a4") | .host) = $bad' "$WORK/h1.json" >"$WORK/bad.json"
    expect "a station behind $bad" "host $bad of a remote station must" drive h1 apply "$WORK/bad.json"
    check "a1 does not reach it" no_ping a1 "${V4[a4]}"
  done
  drive h1 apply "$WORK/h1.json" >/dev/null
  check "a4 is where it was" pings a1 "${V4[a4]}"

  # The agent dies, another one takes over, audits, applies: no ping is lost.
  start_holder
  in_background a1 ping -q -i 0.01 -c 300 -W 20 "${V4[a3]}" >"$WORK/ping.remote"
  local remote=$PID
  in_background a1 ping -q -i 0.01 -c 300 -W 20 "${V6[a2]}" >"$WORK/ping.local"
  local near=$PID
  kill_holder
  expect "adopted" "audit missing=0 unexpected=0" drive h1 audit "$WORK/h1.json"
  start_holder
  kill_holder
  drive h1 apply "$WORK/h1.json" >/dev/null
  drive h2 audit "$WORK/h2.json" >/dev/null
  # One that needs maps of another size fills them and moves every filter over.
  expect "moved to other maps" "audit missing=[1-9].* failed=0" \
    env VXLAN_STATIONS=1000 ip netns exec "$PREFIX-h1" "$DRIVER" "${UNDERLAY[h1]}" audit "$WORK/h1.json"
  expect "and back" "audit missing=[1-9].* failed=0" drive h1 audit "$WORK/h1.json"
  equal "full maps say so" "$(VXLAN_STATIONS=5 drive h2 audit "$WORK/h2.json" | grep -c exhausted)" 1
  drive h2 audit "$WORK/h2.json" >/dev/null
  wait "$remote" "$near" || true
  expect "no ping lost to another host" "300 received" cat "$WORK/ping.remote"
  expect "no ping lost on this host" "300 received" cat "$WORK/ping.local"

  # The underlay's MTU changes: whatever is within reach follows, at the next audit or, with a holder, at once.
  # A guest that took its interface away follows when it likes: what it sends arrives all the same, but for an
  # underlay that does not take packets to pieces.
  start_holder
  : >"$WORK/hold.out"
  link h1 set eth0 mtu 1400
  mended "MTU"
  link h2 set eth0 mtu 1400
  expect "the guest that is here; the device already followed" "audit missing=1 unexpected=0 failed=0" drive h2 audit "$WORK/h2.json"
  expect "nothing left to mend" "audit missing=0 unexpected=0 failed=0" drive h2 audit "$WORK/h2.json"
  local follower
  for follower in "$DEVICE" "$(interface_of a4)" "$(host_end_of a4)"; do
    expect "smaller" " mtu $((1400 - overhead)) " link h2 show "$follower"
  done
  expect "smaller on host 1" " mtu $((1400 - overhead)) " link h1 show "$DEVICE"
  [ "$family" = 6 ] ||
    check "as large as before" ns a1 ping -q -c 1 -W 5 -M "do" -s $((1500 - overhead - 28)) "${V4[a3]}"
  check "as large as before, on one host" ns a1 ping -q -c 1 -W 5 -M "do" -s $((1500 - overhead - 28)) "${V4[a2]}"
  link h1 set eth0 mtu 1500
  mended "MTU of before"
  kill_holder
  link h2 set eth0 mtu 1500
  drive h2 audit "$WORK/h2.json" >/dev/null
  for follower in "$DEVICE" "$(interface_of a4)" "$(host_end_of a4)" "$(host_end_of a3)"; do
    expect "as before" " mtu $((1500 - overhead)) " link h2 show "$follower"
  done

  # Somebody meddles: the holder notices and mends; others' links are left alone.
  link h1 add stranger type veth peer name stranger-peer
  start_holder
  : >"$WORK/hold.out"
  tc -n "$PREFIX-h1" filter del dev "$(host_end_of a1)" ingress
  mended "filter"
  check "after the filter was removed" pings a1 "${V4[a3]}"
  tc -n "$PREFIX-h1" qdisc del dev "$(host_end_of a1)" clsact
  mended "qdisc"
  check "after the qdisc was removed" pings a1 "${V4[a3]}"
  link h1 set "$(host_end_of a1)" down
  mended "link set down"
  check "after the link was set down" pings a1 "${V4[a3]}"
  link h1 del "$DEVICE"
  mended "VXLAN device"
  check "after the VXLAN device was removed" pings a1 "${V4[a3]}"
  link h1 del "$(host_end_of a2)"
  mended "veth pair"
  give a2
  check "after the pair was removed" pings a2 "${V4[a3]}"
  kill_holder
  local program map
  program=$(kernel_programs "$DEVICE")
  map=$(map_of_program "$program" fl_answers)
  bpftool map delete id "$map" key hex 64 00 00 00 04 00 00 00 0a 00 00 03 00 00 00 00 00 00 00 00 00 00 00 00
  expect "a lost entry is found" "audit missing=1 unexpected=0" drive h1 audit "$WORK/h1.json"

  # An end without a word on itself is a leftover if this fabric made it (its group says so); the ovs
  # fabric may just be at work on another.
  link h1 add fh0000000000001 group 0x666c6b01 type veth peer name fl0000000000001
  link h1 add fh0000000000002 group 0x666c6b02 type veth peer name fl0000000000002
  expect "half made" "audit missing=0 unexpected=1 failed=0" drive h1 audit "$WORK/h1.json"
  refuse "our leftover is gone" "does not exist" link h1 show fh0000000000001
  check "another's is left alone" link h1 show fh0000000000002
  link h1 del fh0000000000002

  # An audit works in parts: with more stations than one holds, none is missed and none is taken for too much.
  crowd h1 600
  expect "a crowd" "audit missing=600 unexpected=0 failed=0" drive h1 audit "$WORK/crowd.json"
  expect "all of it is there" "audit missing=0 unexpected=0 failed=0" drive h1 audit "$WORK/crowd.json"
  check "the others are connected" pings a1 "${V4[a3]}"
  crowd h1 300
  expect "half of it" "audit missing=0 unexpected=300 failed=0" drive h1 audit "$WORK/crowd.json"
  expect "none of it" "audit missing=0 unexpected=300 failed=0" drive h1 audit "$WORK/h1.json"

  # Less is wanted: what is too much goes, the rest stays connected.
  state h1 a1 a3
  expect "too much" "audit missing=0 unexpected=4 failed=0" drive h1 audit "$WORK/h1.json"
  check "the rest is connected" pings a1 "${V4[a3]}"
  refuse "its interface is gone" "does not exist" link a2 show eth0
  check "nobody answers for a2" no_ping a1 "${V4[a2]}"

  # Nothing is left behind.
  local programs
  programs=$(kernel_programs "$DEVICE" "$(host_end_of a1)")
  equal "programs were there" "$(wc -w <<<"$programs")" 2
  map=$(map_of_program "${programs%%$'\n'*}" fl_places)
  expect "withdrawn" "uid-a1 ok" drive h1 withdraw "$WORK/h1.json"
  refuse "host end gone" "does not exist" link h1 show "$(host_end_of a1)"
  equal "maps are empty" "$(bpftool -j map dump id "$map" | jq length)" 0
  check "dismantled" drive h1 dismantle
  equal "links left" "$(ip -n "$PREFIX-h1" -o link | awk -F': ' '{print $2}' | cut -d@ -f1 | sort | paste -sd ' ')" \
    "eth0 lo stranger stranger-peer"
  for program in $programs; do
    wait_until 20 "end of program $program" sh -c "! bpftool prog show id $program"
  done
  wait_until 20 "end of the maps" sh -c "! bpftool map show id $map"
  remove_namespaces
}

for underlay in ${UNDERLAYS:-4 6}; do scenario "$underlay"; done
