#!/bin/bash
# The container image: made twice it is the same; another tool (umoci) reads it; a server runs from what that tool
# unpacks, as the image's own user, with nothing of this machine's file system in reach.
# time-limit: 120
. "$(dirname "$0")/../lib.sh"
ROOT=$(cd "$(dirname "$0")/../.." && pwd)
if [ "$(id -u)" -ne 0 ]; then echo "unpacking an image with its owners needs root"; exit 77; fi
export SOURCE_DATE_EPOCH=1700000000
images() { "$ROOT/scripts/images" --binary "$FAIRLEAD" "$@"; }

expect "make it" "^$WORK/a/fairlead:v1 sha256:[0-9a-f]{64}$" images --output "$WORK/a" --tag v1
check "make it again" images --output "$WORK/b" --tag v1
check "the same, byte for byte" cmp "$WORK/a/fairlead.tar" "$WORK/b/fairlead.tar"
SOURCE_DATE_EPOCH=1800000000 check "at another time" images --output "$WORK/c" --tag v1
refuse "is another image" differ cmp "$WORK/a/fairlead.tar" "$WORK/c/fairlead.tar"
refuse "no binary" 'does not exist: run make build first' "$ROOT/scripts/images" --binary "$WORK/none" --output "$WORK/d"
SOURCE_DATE_EPOCH=soon refuse "no time" 'SOURCE_DATE_EPOCH=soon: must be a number' images --output "$WORK/d"

# --- every blob is what its name says; the archive holds the same layout
(cd "$WORK/a/fairlead/blobs/sha256" && for blob in *; do [ "$(sha256sum <"$blob")" = "$blob  -" ] || exit 1; done) || die "a digest is wrong"
equal "the archive" "$(tar -tf "$WORK/a/fairlead.tar" | grep -cE '^(oci-layout|index.json|blobs/sha256/[0-9a-f]{64})$')" 5
expect "umoci lists the tag" '^v1$' umoci list --layout "$WORK/a/fairlead"
check "umoci unpacks it" umoci unpack --image "$WORK/a/fairlead:v1" "$WORK/bundle"
image=$WORK/bundle/rootfs
equal "what it runs" "$(jq -c '.process.args + [.process.user.uid]' "$WORK/bundle/config.json")" '["/usr/bin/fairlead","--help",65532]'
equal "nothing to log in with" "$(cd "$image/usr/bin" && echo *)" fairlead
equal "no program that changes its user" "$(find "$image" -xdev -perm /6000)" ""
equal "the data is its own" "$(stat -c '%u %a' "$image/var/lib/fairlead")" '65532 700'

# --- it runs: in its own root and mounts, as its own user
port=$(free_port)
unshare --mount --mount-proc="$image/proc" -- \
  chroot --userspec=65532:65532 "$image" /usr/bin/fairlead server --data /var/lib/fairlead --listen "127.0.0.1:$port" \
  >"$WORK/server.out" 2>"$WORK/server.err" &
STARTED+=($!)
wait_until 30 "server from the image" grep -q ready "$WORK/server.out"
export KUBECONFIG=$image/var/lib/fairlead/admin.kubeconfig
check "create" kubectl create -f - <<'OBJECT'
{"apiVersion": "fairlead.dev/v1alpha1", "kind": "Subnet", "metadata": {"name": "s"}, "spec": {"vni": 5, "ipv4": "10.0.0.0/24"}}
OBJECT
equal "get" "$(kubectl get subnet s -o 'jsonpath={.spec.ipv4} {.status.validated}')" '10.0.0.0/24 true'
equal "its files" "$(stat -c %u "$image"/var/lib/fairlead/* | sort -u)" 65532
# The agent starts as far as a node without membership gets.
refuse "agent" 'run .fairlead join. first' chroot "$image" /usr/bin/fairlead agent --host-ip 192.0.2.1 --join-dir /var/lib/none

# --- the name that a node's containerd gives it (ctr images import): what a pod means by fairlead:v1
equal "its name" "$(jq -r '.manifests[0].annotations["io.containerd.image.name"]' "$WORK/a/fairlead/index.json")" docker.io/library/fairlead:v1
# --- the other images: hooks find a shell and what they usually call; etcd and Prometheus run from theirs
refuse "no such image" 'other: must be one of fairlead, fairlead-tools, fairlead-etcd, fairlead-prometheus' images --output "$WORK/d" other
check "make the others" images --output "$WORK/o" fairlead-tools fairlead-etcd fairlead-prometheus
for name in tools etcd prometheus; do check "unpack $name" umoci unpack --image "$WORK/o/fairlead-$name:latest" "$WORK/$name"; done
# With the PATH of an image, not of this machine.
inside() { env -i PATH=/usr/sbin:/usr/bin chroot "$WORK/$1/rootfs" "${@:2}"; }
equal "a shell" "$(inside tools /bin/sh -c 'grep -c . /etc/passwd')" 2
expect "ip" 'ip utility, iproute2' inside tools /bin/sh -c 'ip -V'
expect "ping" 'ping from iputils' inside tools /bin/sh -c 'ping -V'
expect "the program" "^fairlead $("$FAIRLEAD" --version | awk '{print $2}')" inside tools /usr/bin/fairlead --version
expect "the driver's hook" 'up or down, not sideways' inside tools /usr/local/libexec/fairlead/ping-test sideways fl1
expect "etcd" '^etcd Version: 3' inside etcd /usr/bin/etcd --version
expect "etcdctl" 'etcdctl version' inside etcd /usr/bin/etcdctl version
expect "Prometheus" '^prometheus, version 2' inside prometheus /usr/bin/prometheus --version
equal "what each runs" "$(for name in tools etcd prometheus; do jq -r '.process.args[0]' "$WORK/$name/config.json"; done | xargs)" '/usr/bin/fairlead /usr/bin/etcd /usr/bin/prometheus'
