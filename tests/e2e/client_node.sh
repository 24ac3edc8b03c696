#!/bin/bash
# The npm package @kubernetes/client-node lists, watches and runs an informer against the server.
# time-limit: 240
. "$(dirname "$0")/../lib.sh"
here=$(cd "$(dirname "$0")" && pwd)
command -v npm >/dev/null || { echo "npm is not installed"; exit 77; }
cache=$here/../../build/client-node
mkdir -p "$cache"
cp "$here/client_node/package.json" "$here/client_node/informer.mjs" "$cache/"
if [ ! -d "$cache/node_modules/@kubernetes/client-node" ]; then
  (cd "$cache" && npm install --no-audit --no-fund --ignore-scripts >"$WORK/npm.log" 2>&1) ||
    { tail -n 3 "$WORK/npm.log"; echo "the npm registry is out of reach"; exit 77; }
fi
start_server one
output=$(cd "$cache" && timeout 100 node informer.mjs "$KUBECONFIG" 2>&1) || die "client-node: $output"
for line in 'listed default' 'watched ADDED first' 'informer add first' 'informer add second' \
  'informer update second' 'informer delete first' 'custom blue 7'; do
  CHECKS=$((CHECKS + 1))
  grep -qF "$line" <<<"$output" || die "client-node: no \"$line\" in: $output"
done
