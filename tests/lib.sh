# shellcheck shell=bash
# For the scripts in tests/e2e and tests/netns: a server to talk to, and assertions that say what they
# wanted. Source it; it cleans up behind itself, also after a failure.
set -euo pipefail
TESTS=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
FAIRLEAD=${FAIRLEAD:-$TESTS/../build/fairlead}
WORK=$(mktemp -d)
export HOME=$WORK/home  # kubectl caches discovery below HOME
mkdir -p "$HOME"
STARTED=()
CHECKS=0
PATIENCE=${PATIENCE:-1}  # how many times longer to wait for what comes late on a slow machine

cleanup() {
  local status=$? pid
  for pid in "${STARTED[@]:-}"; do
    [ -n "$pid" ] && kill -CONT "$pid" 2>/dev/null && kill -KILL "$pid" 2>/dev/null
  done
  wait 2>/dev/null || true
  rm -rf "$WORK"
  [ "$status" -ne 0 ] || echo "$CHECKS checks"
  exit "$status"
}
trap cleanup EXIT

die() { echo "FAILED: $*" >&2; exit 1; }

free_port() { python3 "$TESTS/free_port.py"; }

# start_server NAME [flags…]: sets SERVER_PID, SERVER_URL, KUBECONFIG, TOKEN; data in $WORK/NAME.
start_server() {
  local name=$1 port
  shift
  port=${PORT:-$(free_port)}
  SERVER_DATA=$WORK/$name
  SERVER_URL=https://127.0.0.1:$port
  "$FAIRLEAD" server --data "$SERVER_DATA" --listen "127.0.0.1:$port" "$@" \
    >"$WORK/$name.out" 2>"$WORK/$name.err" &
  SERVER_PID=$!
  STARTED+=("$SERVER_PID")
  wait_until 30 "server $name ready" grep -q ready "$WORK/$name.out"
  export KUBECONFIG=$SERVER_DATA/admin.kubeconfig
  TOKEN=$(cat "$SERVER_DATA/admin.token")
}

# wait_until SECONDS WHAT COMMAND…: tries until it succeeds; the limit only ends a hopeless wait.
wait_until() {
  local limit=$(($1 * PATIENCE)) what=$2 end
  shift 2
  end=$((SECONDS + limit))
  until "$@" >/dev/null 2>&1; do
    [ $SECONDS -lt $end ] || { tail -n 20 "$WORK"/*.err >&2 2>/dev/null || true; die "no $what after $limit s"; }
    sleep 0.1
  done
}

# check WHAT COMMAND…: the command succeeds.
check() {
  local what=$1 output
  shift
  CHECKS=$((CHECKS + 1))
  output=$("$@" 2>&1) || die "$what: $* failed: $output"
}

# expect WHAT PATTERN COMMAND…: the output of the command, whatever its status, matches the pattern.
expect() {
  local what=$1 pattern=$2 output
  shift 2
  CHECKS=$((CHECKS + 1))
  output=$("$@" 2>&1) || true
  grep -qE -- "$pattern" <<<"$output" || die "$what: $* gave, instead of /$pattern/:
$output"
}

# refuse WHAT PATTERN COMMAND…: the command fails and says why.
refuse() {
  local what=$1 pattern=$2 output
  shift 2
  CHECKS=$((CHECKS + 1))
  if output=$("$@" 2>&1); then die "$what: $* succeeded: $output"; fi
  grep -qE -- "$pattern" <<<"$output" || die "$what: $* failed with, instead of /$pattern/:
$output"
}

equal() {
  CHECKS=$((CHECKS + 1))
  [ "$2" = "$3" ] || die "$1: got '$2', wanted '$3'"
}

# api METHOD PATH [curl arguments…]: the body of the answer; its status in $WORK/code.
api() {
  local method=$1 path=$2
  shift 2
  curl -sS --max-time 20 -X "$method" --cacert "$SERVER_DATA/pki/ca.crt" \
    -H "Authorization: Bearer ${TOKEN}" -A fairlead-test -o "$WORK/body" -w '%{http_code}' \
    "$@" "$SERVER_URL$path" >"$WORK/code"
  cat "$WORK/body"
}
code() { cat "$WORK/code"; }

# kubectl_since MINOR: this kubectl is at least 1.MINOR. Debian 12's is 1.20: what that lacks is asked for by raw requests,
# and by kubectl's own verb where there is one.
kubectl_since() {
  local minor
  minor=$(kubectl version --client -o json 2>/dev/null | jq -r '.clientVersion.minor | gsub("[^0-9]"; "")')
  [ "${minor:-0}" -ge "$1" ]
}

# whoami [kubectl flags…]: the user that the server takes these credentials for.
whoami() {
  kubectl "$@" create --raw /apis/authentication.k8s.io/v1/selfsubjectreviews -f - \
    <<<'{"kind": "SelfSubjectReview", "apiVersion": "authentication.k8s.io/v1"}' | jq -r .status.userInfo.username
}

# patch_status RESOURCE NAME PATCH: a merge patch of the status of an object of ours in the namespace default.
patch_status() {
  api PATCH "/apis/fairlead.dev/v1alpha1/namespaces/default/$1/$2/status" \
    -H 'Content-Type: application/merge-patch+json' -d "$3" >/dev/null
  equal "patch of the status of $1/$2" "$(code)" 200
}
