#!/bin/bash
# time-limit: 240
# Mutual TLS between the members of an election, with real agents on three hosts: keys and a holder; a foreign CA, an expired
# certificate and garbage are refused, a certificate of another name by --check; captured datagrams change nothing when they are
# sent again; certificates are replaced while a VIP is held, and engines killed. There is no traffic or load besides.
here=$(cd "$(dirname "$0")" && pwd)
[ "$(id -u)" -eq 0 ] || { echo "needs root for network namespaces"; exit 77; }
# shellcheck disable=SC1091  # not beside this script
. "$here/../lib.sh"
# shellcheck disable=SC1091
. "$here/../vip_lab.sh"
VIPS=$VIP
# A lease that a busy machine does not lose by the way.
LEASE=2s

# --- certificates
PKI=$WORK/pki
mkdir -p "$PKI"
make_ca() {  # NAME
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$PKI/$1.key" -out "$PKI/$1.crt" \
    -subj "/CN=$1" -days 2 2>/dev/null
}
# certificate CA FILE DNS-NAME [DAYS]
certificate() {
  openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$PKI/$2.key" -out "$PKI/$2.csr" -subj "/CN=$3" 2>/dev/null
  openssl x509 -req -in "$PKI/$2.csr" -CA "$PKI/$1.crt" -CAkey "$PKI/$1.key" -CAcreateserial -days "${4:-1}" \
    -extfile <(echo "subjectAltName=DNS:$3") -out "$PKI/$2.new" 2>/dev/null
  mv "$PKI/$2.new" "$PKI/$2.crt"
}
make_ca ca
make_ca foreign
for host in "${HOSTS[@]}"; do certificate ca "$host" "$host"; done
declare -A CA=([a]=ca [b]=ca [c]=ca)

eval "$(declare -f config | sed '1s/config/plain_config/')"
config() {
  plain_config "$1" | sed "s|^  lease: .*|&\n  tls: {ca: $PKI/${CA[$1]}.crt, certificate: $PKI/$1.crt, key: $PKI/$1.key}|"
}
tls_of() { status "$1" | jq -r --arg peer "$2" '.election.members[] | select(.name == $peer) | .tls'; }  # HOST PEER
connected() { [ "$(tls_of "$1" "$2" | jq .connected)" = true ]; }
says() { tls_of "$1" "$2" | jq -r .problem | grep -Eq "$3"; }  # HOST PEER PATTERN
alive() { status "$1" | jq -e --arg peer "$2" '.election.members[] | select(.name == $peer) | .alive' >/dev/null; }
dead() { ! alive "$@"; }
all_connected() {
  local one other
  for one in "${HOSTS[@]}"; do for other in "${HOSTS[@]}"; do [ "$one" = "$other" ] || connected "$one" "$other" || return 1; done; done
}
stop_agent() { kill -TERM "${AGENT[$1]}"; wait "${AGENT[$1]}" || true; }
takes() { status "$1" | jq -r .virtualIPs[0].epoch; }

lab_up
# --- what the files must be is told before anything runs
config a >"$WORK/a.yaml"
check "the file" in_ns a "$FAIRLEAD" agent --check --config "$WORK/a.yaml"
sed 's/^node: a/node: z/' "$WORK/a.yaml" >"$WORK/z.yaml"
expect "a certificate without this node's name" "election.tls.certificate $PKI/a.crt: must have this node's name, z, .*it has a" \
  sh -c "ip netns exec $ns-a '$FAIRLEAD' agent --check --config '$WORK/z.yaml' || true"
sed "s|$PKI/a.key|$PKI/b.key|" "$WORK/a.yaml" >"$WORK/z.yaml"
expect "another's key" "election.tls.key $PKI/b.key" sh -c "ip netns exec $ns-a '$FAIRLEAD' agent --check --config '$WORK/z.yaml' || true"

# --- keys, a holder, and what the engines say to each other is sealed
ip netns exec "$ns-sw" tcpdump -i br0 -n -U -w "$WORK/peers.pcap" "udp port 10000" >/dev/null 2>"$WORK/peers.err" &
sniffer=$!
STARTED+=("$sniffer")
wait_until 10 "a capture" grep -q listening "$WORK/peers.err"
for host in "${HOSTS[@]}"; do start_agent "$host"; done
wait_until 30 "connections" all_connected
wait_until 30 "a holder" one_holder
equal "authenticated" "$(status a | jq .election.authenticated)" true
if status a | jq -r '.election.notes[]' | grep -q 'not authenticated'; then die "peers are called unauthenticated"; fi
check "a client reaches it" in_ns client ping -c 1 -W 2 "$VIP"

# --- certificates are replaced while a VIP is held, and every engine is killed once: the holder stays, or another takes over
holder=$(holder)
epoch=$(takes "$holder")
for host in "${HOSTS[@]}"; do
  before=$(tls_of "$host" "$(other_than "$host")" | jq -r .since)
  certificate ca "$host" "$host"
  renewed() { [ "$(tls_of "$host" "$(other_than "$host")" | jq -r .since)" != "$before" ] && all_connected; }
  wait_until 30 "new keys of $host" renewed
done
equal "the holder after new certificates" "$(holder)" "$holder"
equal "the epoch after new certificates" "$(takes "$holder")" "$epoch"
for host in "${HOSTS[@]}"; do
  since=$(tls_of "$host" "$(other_than "$host")" | jq -r .since)
  old=$(engine_of "$host")
  kill -KILL "$old"
  new_engine() { [ -n "$(engine_of "$host")" ] && [ "$(engine_of "$host")" != "$old" ]; }
  wait_until 20 "another engine on $host" new_engine
  for other in "${HOSTS[@]}"; do
    [ "$other" = "$host" ] || wait_until 20 "$other hears $host again" alive "$other" "$host"
    [ "$other" = "$host" ] || wait_until 20 "$host hears $other again" alive "$host" "$other"
  done
  # No handshake was needed for it.
  equal "the key of $host" "$(tls_of "$host" "$(other_than "$host")" | jq -r .since)" "$since"
  wait_until 20 "a holder" one_holder
done

# --- captured datagrams, sent once more by somebody else, change nothing
kill -TERM "$sniffer"
wait "$sniffer" || true
holder=$(holder)
epoch=$(takes "$holder")
"$LAB/vip_replay.py" "$WORK/peers.pcap" >"$WORK/replay.list"
sent=$(wc -l <"$WORK/replay.list")
[ "$sent" -gt 100 ] || die "only $sent datagrams were captured"
in_ns client "$LAB/vip_replay.py" --send "$WORK/replay.list"
sleep 1
equal "the holder after a replay" "$(holder)" "$holder"
equal "the epoch after a replay" "$(takes "$holder")" "$epoch"
for host in "${HOSTS[@]}"; do alive "$host" "$(other_than "$host")" || die "$host does not hear its peers after a replay"; done

# --- garbage on the port, by TCP and by UDP
garbage() {

  for _ in {1..30}; do
    in_ns client timeout 2 bash -c 'head -c 4000 /dev/urandom >/dev/tcp/10.0.0.1/10000' 2>/dev/null || true
    in_ns client timeout 2 bash -c 'head -c 1000 /dev/urandom >/dev/udp/10.0.0.1/10000' 2>/dev/null || true
  done
}
garbage
all_connected || die "garbage has cost connections"
equal "the holder after garbage" "$(holder)" "$holder"

# --- wrong certificates: host c, while a and b go on
refused() {  # WHAT, PATTERN at c, PATTERN at a
  stop_agent c
  start_agent c
  wait_until 30 "$1, as c tells it" says c a "$2"
  wait_until 30 "$1, as a tells it" says a c "$3"
  wait_until 10 "$1: c is not heard" dead a c
  [ "$(status c | jq -r '.virtualIPs[0].here')" = false ] || die "$1: c answers"
  wait_until 20 "$1: a holder" one_holder
}
certificate foreign c c
refused "a foreign CA" 'refused a connection from 10.0.0.1|hung up|bad certificate|unknown ca' 'certificate verify failed'
certificate ca c c -1
refused "an expired certificate" 'refused a connection from|expired|hung up' 'certificate has expired'
CA[c]=foreign
certificate ca c c
refused "a node that trusts another CA" 'refused a connection from 10.0.0.1: a: ' 'refuses this node: a: '
CA[c]=ca

# --- the right one again
certificate ca c c
stop_agent c
start_agent c
wait_until 30 "connections" all_connected
wait_until 30 "c is heard" alive a c
wait_until 30 "a holder" one_holder
echo "keys renewed while a VIP was held, $sent datagrams replayed, wrong certificates refused"
