# shellcheck shell=bash
# shellcheck disable=SC2154  # ns is vip_lab.sh's
# A lab for virtual IPs that routers lead to: that of vip_lab.sh with a router at 10.0.0.254 and fd00::fe, and a far client behind
# it at 10.50.0.2 and fd50::2. Source it after vip_lab.sh; call routed_lab_up.
# shellcheck disable=SC2034  # for the scripts
VIP=192.0.2.75
VIP6=2001:db8::75
ANYCAST=192.0.2.80
ANYCAST6=2001:db8::80

declare -A LINK_LOCAL=()

far() { in_ns far "$@"; }
routed_lab_up() {
  local host
  lab_up
  trap routed_lab_down EXIT
  add_host r 254
  in_ns r ip addr add fd00::fe/64 dev eth0 nodad
  ip netns add "$ns-far"
  far ip link set lo up
  in_ns r ip link add far0 type veth peer name eth0 netns "$ns-far"
  in_ns r ip link set far0 up
  in_ns r ip addr add 10.50.0.1/24 dev far0
  in_ns r ip addr add fd50::1/64 dev far0 nodad
  far ip link set eth0 up
  far ip addr add 10.50.0.2/24 dev eth0
  far ip addr add fd50::2/64 dev eth0 nodad
  far ip route add default via 10.50.0.1
  far ip -6 route add default via fd50::1
  # Flows are spread by their ports, too.
  in_ns r sh -c 'echo 1 >/proc/sys/net/ipv4/ip_forward; echo 1 >/proc/sys/net/ipv6/conf/all/forwarding
    echo 1 >/proc/sys/net/ipv4/fib_multipath_hash_policy; echo 1 >/proc/sys/net/ipv6/fib_multipath_hash_policy'
  for host in "${HOSTS[@]}"; do
    in_ns "$host" ip route add default via 10.0.0.254
    in_ns "$host" ip -6 route add default via fd00::fe
  done
}
routed_lab_down() {
  local status=$?
  set +e
  if [ "$status" -ne 0 ]; then tail -n 8 "$WORK"/router*.err >&2 2>/dev/null; fi
  (exit "$status")
  lab_down
}

# next_hops ADDRESS: where the router sends packets to it, as host names, in order.
next_hops() {
  local family=-4
  case $1 in *:*) family=-6 ;; esac
  in_ns r ip "$family" route show "$1" | grep -oE 'via (inet6 )?[0-9a-f.:]+' | sed 's/.* //' | sed -E -f <(host_names) | sort -u | paste -sd ' '
}
# host_names: for sed, from the addresses of hosts to their names. FRR prefers link-local ones as next hops.
host_names() {
  local host
  for host in "${HOSTS[@]}"; do
    [ -n "${LINK_LOCAL[$host]:-}" ] ||
      LINK_LOCAL[$host]=$(in_ns "$host" ip -6 -o addr show dev eth0 scope link | sed -nE 's/.*inet6 ([0-9a-f:]+).*/\1/p' | head -n 1)
    echo "s/^(10\.0\.0\.|fd00::)$(number_of "$host")\$/$host/"
    [ -z "${LINK_LOCAL[$host]}" ] || echo "s/^${LINK_LOCAL[$host]}\$/$host/"
  done
}
leads_to() { [ "$(next_hops "$1")" = "$2" ]; }              # ADDRESS "HOST…"
leads_elsewhere() { case " $(next_hops "$1") " in *" $2 "*) false ;; esac; }  # ADDRESS HOST: not to this one
leads_to_holder() {                                         # ADDRESS
  local host
  host=$(holder "$1")
  [ "$(wc -w <<<"$host")" -eq 1 ] && leads_to "$1" "$host"
}

# start_names: on each host a server that answers with the host's name.
start_names() {
  local host
  cat >"$WORK/names.py" <<'P'
import socket, sys
server = socket.create_server(("::", 7007), family=socket.AF_INET6, dualstack_ipv6=True, backlog=128)
print("ready", flush=True)
while True:
    connection, _ = server.accept()
    connection.sendall(sys.argv[1].encode())
    connection.close()
P
  for host in "${HOSTS[@]}"; do
    in_ns "$host" python3 "$WORK/names.py" "$host" >"$WORK/names-$host" 2>&1 &
    STARTED+=($!)
    wait_until 10 "server on $host" grep -q ready "$WORK/names-$host"
  done
}
# ask ADDRESS [TIMES]: the names that answer the far client, in order.
ask() {
  far python3 - "$1" "${2:-1}" <<'P'
import socket, sys
names = set()
for _ in range(int(sys.argv[2])):
    with socket.create_connection((sys.argv[1], 7007), timeout=2) as connection:
        names.add(connection.recv(10).decode())
print(*sorted(names))
P
}
answers() { [ "$(ask "$1" "${3:-1}")" = "$2" ]; }  # ADDRESS "NAME…" [TIMES]

# withdrawn_within MILLISECONDS WHAT HOST ADDRESS…: the router no longer sends packets to the host. Says after how long.
withdrawn_within() {
  local limit=$1 what=$2 host=$3 began now address
  shift 3
  began=$(date +%s%3N)
  for address in "$@"; do
    until leads_elsewhere "$address" "$host"; do
      now=$(date +%s%3N)
      [ $((now - began)) -lt $((limit * PATIENCE)) ] || die "$what: $address still leads to $host after $limit ms"
      sleep 0.02
    done
  done
  now=$(date +%s%3N)
  CHECKS=$((CHECKS + 1))
  echo "$ROUTER, $what of $host: withdrawn after $((now - began)) ms"
}

# --- routers ---------------------------------------------------------------------------------------------------------
start_router_bird() {  # BIRD's lines for its protocols on standard input
  { cat <<'C'
log stderr all;
router id 10.0.0.254;
protocol device { }
protocol kernel { ipv4 { import none; export all; }; merge paths on; }
protocol kernel { ipv6 { import none; export all; }; merge paths on; }
C
    cat; } >"$WORK/router.conf"
  in_ns r /usr/sbin/bird -f -c "$WORK/router.conf" -s "$WORK/router.sock" 2>>"$WORK/router.err" &
  STARTED+=($!)
}
# start_frr NAMESPACE DAEMON…: FRR's daemons, each with $WORK/NAMESPACE-DAEMON.conf, which may be absent.
start_frr() {
  local where=$1 daemon
  shift
  # FRR gives up being root, for a user of its own.
  chmod 711 "$WORK"
  mkdir -p "$WORK/frr-$where"
  chown frr:frr "$WORK/frr-$where"
  for daemon in zebra "$@"; do
    [ -e "$WORK/$where-$daemon.conf" ] || echo "hostname $where" >"$WORK/$where-$daemon.conf"
    local more=()
    [ "$daemon" != bfdd ] || more=(--bfdctl "$WORK/frr-$where/bfdd.ctl")
    in_ns "$where" "/usr/lib/frr/$daemon" -f "$WORK/$where-$daemon.conf" -i "$WORK/frr-$where/$daemon.pid" \
      -z "$WORK/frr-$where/zserv.api" --vty_socket "$WORK/frr-$where" "${more[@]}" -P 0 \
      >>"$WORK/router-$where-$daemon.err" 2>&1 &
    STARTED+=($!)
    wait_until 10 "FRR's $daemon" test -e "$WORK/frr-$where/$daemon.vty"
  done
}
frr() { vtysh --vty_socket "$WORK/frr-$1" -c "$2"; }  # NAMESPACE COMMAND
