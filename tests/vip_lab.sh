# shellcheck shell=bash
# A lab for virtual IPs, for tests/netns/vip*.sh and bench/vip: three hosts and a client in network namespaces, joined by a
# bridge in a fourth, with a real agent on each host. Source it after tests/lib.sh; call lab_up.
#
#   hosts a b c at 10.0.0.1 to .3 and fd00::1 to ::3, client at 10.0.0.100 and fd00::100
ns=flv$$
LAB=$(cd "$(dirname "${BASH_SOURCE[0]}")/netns" && pwd)
HOSTS=(a b c)
VIP=10.0.0.75
VIP6=fd00::75
PORT=7007
LEASE=${LEASE:-300ms}
declare -A AGENT=() # process ids

in_ns() { ip netns exec "$ns-$1" "${@:2}"; }
number_of() { case $1 in a) echo 1 ;; b) echo 2 ;; c) echo 3 ;; d) echo 4 ;; e) echo 5 ;; esac; }

lab_down() {
  local status=$? name pid
  set +e
  for name in $(ip netns list | awk -v p="^$ns-" '$1 ~ p {print $1}'); do
    for pid in $(ip netns pids "$name"); do kill -KILL "$pid" 2>/dev/null; done
  done
  sleep 0.2
  for name in $(ip netns list | awk -v p="^$ns-" '$1 ~ p {print $1}'); do
    ip netns exec "$name" "$FAIRLEAD" vip fence --clear >/dev/null 2>&1
    ip netns del "$name"
  done
  if [ "$status" -ne 0 ]; then
    tail -n 15 "$WORK"/agent-*.err >&2 2>/dev/null
  fi
  (exit "$status")
  cleanup
}

add_host() {  # NAME NUMBER
  ip netns add "$ns-$1"
  in_ns "$1" ip link set lo up
  in_ns sw ip link add "p-$1" type veth peer name eth0 netns "$ns-$1"
  in_ns sw ip link set "p-$1" master br0 up
  in_ns "$1" ip link set eth0 up
  in_ns "$1" ip addr add "10.0.0.$2/24" dev eth0
  in_ns "$1" ip addr add "fd00::$2/64" dev eth0 nodad
}

# config HOST: the agent's file.
config() {
  local other
  echo "node: $1"
  echo "metricsListen: none"
  echo "election:"
  echo "  backend: raft"
  echo "  listen: 10.0.0.$(number_of "$1"):10000"
  echo "  lease: $LEASE"
  [ -z "${SECRET:-}" ] || echo "  secretFile: $SECRET"
  [ -z "${FENCE:-}" ] || echo "  fence: $FENCE"
  echo "  peers:"
  for other in "${HOSTS[@]}"; do
    [ "$other" = "$1" ] || echo "  - {name: $other, address: '10.0.0.$(number_of "$other"):10000'}"
  done
  echo "virtualIPs:"
  for other in ${VIPS:-$VIP $VIP6}; do echo "- {address: '$other', interface: eth0${VIP_OPTIONS:-}}"; done
}

start_agent() {  # HOST: in its namespace, with its own state and socket
  config "$1" >"$WORK/$1.yaml"
  # A file system for BPF of its own is not needed: the fence is kept by network namespace.
  ip netns exec "$ns-$1" "$FAIRLEAD" agent --config "$WORK/$1.yaml" --state "$WORK/state-$1" \
    --admin-socket "$WORK/$1.sock" --lock-file "$WORK/$1.lock" >>"$WORK/agent-$1.out" 2>>"$WORK/agent-$1.err" &
  # shellcheck disable=SC2034  # for the scripts
  AGENT[$1]=$!
  STARTED+=($!)
}
status() { "$FAIRLEAD" status --json --admin-socket "$WORK/$1.sock"; }
# Processes of a host's agent by their part.
engine_of() { pgrep -f "vip-engine --state $WORK/state-$1 " | head -n 1; }
guard_of() { pgrep -f "vip-guard --state $WORK/state-$1" | head -n 1; }

# holder [VIP]: who answers, by the agents' own word.
holder() {
  local host
  for host in "${HOSTS[@]}"; do
    if status "$host" 2>/dev/null | jq -e --arg vip "${1:-$VIP}" '.virtualIPs[] | select(.address == $vip and .here)' \
      >/dev/null 2>&1; then echo "$host"; fi
  done | paste -sd ' '
}
one_holder() { [ "$(holder "${1:-$VIP}" | wc -w)" -eq 1 ]; }
leader() {
  local host
  for host in "${HOSTS[@]}"; do
    if status "$host" 2>/dev/null | jq -e '.election.leader == .node' >/dev/null; then echo "$host"; return; fi
  done
}
other_than() { local host; for host in "${HOSTS[@]}"; do [ "$host" = "$1" ] || { echo "$host"; return; }; done; }
# Waits until the agents agree on who leads (or assigns), and sets LEADER.
find_leader() { wait_until 30 "a leader" known_leader; }
known_leader() { LEADER=$(leader) && [ -n "$LEADER" ]; }
# well HOST: its engine runs, hears a leader, and offers every VIP in health; so after a start, too.
well() {
  status "$1" | jq -e --arg vips "${VIPS:-$VIP $VIP6}" '.election.engine and .election.leader != "" and
    ([.virtualIPs[] | select(.healthy and .interface != "") | .address] | contains($vips | split(" ")))'
}
all_well() {
  local host
  for host in "${HOSTS[@]}"; do wait_until 30 "health of $host" well "$host"; done
}
# Moves the VIPs to a host that may have to become well first, and waits for it.
move_to() {
  local vip
  for vip in ${VIPS:-$VIP $VIP6}; do wait_until 30 "move of $vip to $1" ask_to_move "$1" "$vip"; done
  for vip in ${VIPS:-$VIP $VIP6}; do wait_until 30 "$vip at $1" moved "$1" "$vip"; done
}
ask_to_move() { "$FAIRLEAD" vip move "$2" --to "$1" --admin-socket "$WORK/$1.sock"; }
# moved HOST VIP: asks again now and then, because a leader that granted it may have lost its office since.
moved() {
  for _ in {1..20}; do
    ! held_by "$1" "$2" || return 0
    sleep 0.1
  done
  ask_to_move "$1" "$2"
  held_by "$1" "$2"
}
held_by() { [ "$(holder "$2")" = "$1" ]; }

lab_up() {
  trap lab_down EXIT
  ip netns add "$ns-sw"
  in_ns sw ip link set lo up
  in_ns sw ip link add br0 type bridge
  in_ns sw ip link set br0 up
  local host
  for host in "${HOSTS[@]}"; do add_host "$host" "$(number_of "$host")"; done
  add_host client 100
}

# keepalived on a host, with these lines for its timing. Its first master is host a.
start_keepalived() {  # HOST LINES
  cat >"$WORK/keepalived-$1.conf" <<C
global_defs { vrrp_garp_master_refresh 60 }
vrrp_instance v4 {
  state BACKUP
  interface eth0
  virtual_router_id 51
  priority $((200 - $(number_of "$1")))
  $2
  virtual_ipaddress { $VIP/24 dev eth0 }
}
vrrp_instance v6 {
  state BACKUP
  interface eth0
  virtual_router_id 52
  priority $((200 - $(number_of "$1")))
  $2
  virtual_ipaddress { $VIP6/64 dev eth0 }
}
C
  ip netns exec "$ns-$1" keepalived --dont-fork --vrrp --log-console --use-file="$WORK/keepalived-$1.conf" \
    --pid="$WORK/keepalived-$1.pid" --vrrp_pid="$WORK/keepalived-vrrp-$1.pid" >"$WORK/agent-$1.err" 2>&1 &
  # shellcheck disable=SC2034  # for the scripts
  AGENT[$1]=$!
  STARTED+=($!)
}
keepalived_master() { in_ns "$1" ip -o addr show dev eth0 | grep -q "inet $VIP/"; }
kill_keepalived() { kill -KILL "$(cat "$WORK/keepalived-$1.pid")" "$(cat "$WORK/keepalived-vrrp-$1.pid")"; }

start_servers() {
  local host
  for host in "${HOSTS[@]}"; do
    # At once, however busy the machine is: what a server has taken and not answered is lost in every move.
    in_ns "$host" chrt -f 1 "$LAB/vip_traffic.py" serve "$PORT" >"$WORK/serve-$host" 2>&1 &
    STARTED+=($!)
    wait_until 10 "server on $host" grep -q ready "$WORK/serve-$host"
  done
}

# capture DIR: what each host sends into the switch, until end_capture.
capture() {
  local host
  mkdir -p "$1"
  CAPTURE=$1
  CAPTURES=()
  for host in "${HOSTS[@]}"; do
    ip netns exec "$ns-sw" tcpdump -i "p-$host" -Q in -n -s 128 -B 16384 --time-stamp-precision=nano -w "$1/$host.pcap" \
      "not udp port 10000" >/dev/null 2>"$1/$host.err" &
    CAPTURES+=($!)
    STARTED+=($!)
  done
  for host in "${HOSTS[@]}"; do wait_until 10 "capture at $host" grep -q listening "$1/$host.err"; done
}
end_capture() {
  local host
  kill -TERM "${CAPTURES[@]}"
  wait "${CAPTURES[@]}" || true
  # What is not captured is not judged.
  for host in "${HOSTS[@]}"; do
    grep -qx '0 packets dropped by kernel' "$CAPTURE/$host.err" || die "the capture at $host is not whole: $(cat "$CAPTURE/$host.err")"
  done
}
# judge DIR VIPS: prints the verdicts; fails if two answered at once.
judge() {
  local host words=()
  for host in "${HOSTS[@]}"; do words+=("$host=$1/$host.pcap"); done
  "$LAB/vip_judge.py" "$2" "${words[@]}"
}

# traffic DIR: from the client to both VIPs, and from the holder to the client, until end_traffic.
traffic() {
  local vip host
  TRAFFIC=()
  for vip in $VIP $VIP6; do
    ip netns exec "$ns-client" "$LAB/vip_traffic.py" ask "$vip" "$PORT" eth0 "$1/ask-$vip" >"$1/ask-$vip.log" 2>&1 &
    TRAFFIC+=($!)
    for host in "${HOSTS[@]}"; do
      ip netns exec "$ns-$host" "$LAB/vip_traffic.py" push "$vip" "$([ "$vip" = "$VIP" ] && echo 10.0.0.100 || echo fd00::100)" 9 &
      TRAFFIC+=($!)
    done
  done
  STARTED+=("${TRAFFIC[@]}")
  for vip in $VIP $VIP6; do wait_until 10 "traffic" grep -q ready "$1/ask-$vip.log"; done
}
end_traffic() {
  kill -TERM "${TRAFFIC[@]}"
  wait "${TRAFFIC[@]}" 2>/dev/null || true
}
# longest_gap DIR VIP: in milliseconds, as the client saw it.
longest_gap() { jq '[.gaps[][1]] | max // 0' "$1/ask-$2"; }
