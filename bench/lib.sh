# shellcheck shell=bash
# For the scripts in bench/: what they start, tables, and figures that count only if what was timed was right.
# Source it from the repository's folder; it stops what was started and removes its files, also after a failure.
FAIRLEAD=${FAIRLEAD:-$PWD/build/fairlead}
WORK=$(mktemp -d)
STARTED=()
IN=()  # what things are run with: `ip netns exec …` for those in a network namespace
cleanup_more() { :; }  # a script may have more to remove
cleanup() {
  local status=$? pid
  set +e  # to the end, whatever fails
  for pid in "${STARTED[@]:-}"; do [ -n "$pid" ] && kill -KILL "$pid" 2>/dev/null; done
  wait 2>/dev/null || true
  cleanup_more
  rm -rf "$WORK"
  exit "$status"
}
trap cleanup EXIT
trap 'exit 1' TERM

# spoilt WHAT [FILE]: figures that would be wrong are not printed; the end of the file says why. Ends the script, also
# from within $(…).
spoilt() {
  echo "$(basename "$0"): $1" >&2
  [ -z "${2:-}" ] || tail -n 20 "$2" >&2
  kill -TERM $$
  exit 1
}

free_port() { python3 tests/free_port.py; }
wait_until() {
  local what=$1 limit=${LIMIT:-60} end
  end=$((SECONDS + limit))
  shift
  until "$@" >/dev/null 2>&1; do
    [ $SECONDS -lt $end ] || { tail -n 20 "$WORK"/*.err >&2; spoilt "no $what after $limit s"; }
    sleep 0.1
  done
}
start_etcd() {  # sets ETCD, ETCD_PID
  local client peer
  client=http://127.0.0.1:$(free_port)
  peer=http://127.0.0.1:$(free_port)
  rm -rf "$WORK/etcd"
  etcd --data-dir "$WORK/etcd" --listen-client-urls "$client" --advertise-client-urls "$client" \
    --listen-peer-urls "$peer" --initial-advertise-peer-urls "$peer" \
    --initial-cluster "default=$peer" >"$WORK/etcd.err" 2>&1 &
  ETCD_PID=$!
  STARTED+=("$ETCD_PID")
  # shellcheck disable=SC2034  # for who sources this
  ETCD=$client
  wait_until etcd curl -sf "$client/health"
}

machine() {
  echo "$(nproc) cores, $(awk '/MemTotal/ {printf "%.0f GB", $2 / 1e6}' /proc/meminfo), $(date -u +%F), load before: $(cut -d' ' -f1 /proc/loadavg)"
}
# row FIGURE MEASURED COMMAND: what was not measured is no row.
row() {
  [ -n "$2" ] || spoilt "nothing was measured: $1"
  printf '| %s | %s | %s |\n' "$@"
}

# bench ARGUMENTS…: a load whose JSON goes to $WORK/result. It ends with status 1 if any answer was not 2xx, any event
# did not arrive, or anything else was not as it should be.
bench() {
  "${IN[@]}" "$FAIRLEAD" bench "$@" --json >"$WORK/result" 2>"$WORK/bench.err" || spoilt "fairlead bench $* failed" "$WORK/bench.err"
}
# wrk_load CONNECTIONS SECONDS URL: its requests per second in $WORK/rate, a line of figures in $WORK/line. wrk ends with
# status 0 whatever it was answered.
wrk_load() {
  wrk -t1 -c"$1" -d"${2}s" --latency -s bench/get.lua "$3" >"$WORK/wrk" || spoilt "wrk failed" "$WORK/wrk"
  if grep -qE 'Non-2xx|Socket errors' "$WORK/wrk"; then spoilt "wrk: not every request was answered well" "$WORK/wrk"; fi
  awk '/requests in/ && $1 > 0 {found = 1} END {exit !found}' "$WORK/wrk" || spoilt "wrk: no request was answered" "$WORK/wrk"
  awk '/Requests\/sec/ {print $2}' "$WORK/wrk" >"$WORK/rate"
  awk '/Requests\/sec/ {r = $2} /50%/ {a = $2} /99%/ {b = $2} END {print r "/s, p50 " a ", p99 " b}' "$WORK/wrk" >"$WORK/line"
}
