#include "features/vip/config/vip_texts.h"

#include <fmt/format.h>

#include <algorithm>

#include "foundation/wire/json.h"

namespace fairlead::vip {
namespace {

constexpr const char* kSample =
    R"(# fairlead agent --config FILE: one virtual IP on three machines. Each machine has this file, with its own `node` and
# `listen`. `fairlead agent --check --config FILE` says what is wrong with it; `fairlead agent --config-reference` has every field.

node: a                            # this machine's name; default: the host name

election:
  backend: raft                    # among the members themselves; or etcd, kubernetes
  listen: 10.0.0.1:10000           # this machine's own address, UDP; nothing else may use the port
  peers:                           # all members; this machine may be among them
  - {name: a, address: "10.0.0.1:10000"}
  - {name: b, address: "10.0.0.2:10000"}
  - {name: c, address: "10.0.0.3:10000"}
  lease: 300ms                     # a dead machine is replaced within about lease + margin + renew
  # renew: 30ms                    # default: lease / 10
  # margin: 20ms                   # default: lease / 15, at least 20ms
  # secretFile: /etc/fairlead/vip.secret   # the same on all members: head -c 32 /dev/urandom | base64
  # tls: {ca: /etc/fairlead/ca.crt, certificate: /etc/fairlead/node.crt, key: /etc/fairlead/node.key}
  quorumLoss: release              # without a majority nobody holds the address; keep gives that promise up
  fence: required                  # besteffort: also where the kernel cannot silence this machine by itself
  # witness: true                  # a third machine that only votes, for sites with two; then no virtualIPs

virtualIPs:
- address: 10.0.0.75               # IPv4 or IPv6; nobody's own address
  interface: eth0                  # on each machine that of the address' network
  # announce: l2                   # ARP and neighbour discovery; or bgp (field `bgp`), route, external
  # priority: 100                  # the highest holds it
  # preferredNode: a
  # group: web                     # addresses of one group move together
  # apart: dns                     # addresses of one name here stay on different machines
  # preempt: true                  # a better machine takes it over …
  # preemptDelay: 10s              # … after it has been well for so long
  # health:                        # all must be well, or this machine does not hold the address
  # - {http: "https://127.0.0.1:6443/livez", caFile: /etc/kubernetes/pki/ca.crt, interval: 1s, timeout: 1s}
  # - {tcp: "127.0.0.1:80", rise: 2, fall: 3}
  # - {command: [/usr/local/bin/check, --quick], interval: 5s}
  # notify: [/usr/local/bin/on-change]   # with FAIRLEAD_VIP, FAIRLEAD_STATE and others in its environment
)";

constexpr const char* kManifest =
    R"(# A static Pod of fairlead agent with virtual IPs, for /etc/kubernetes/manifests of each control plane node. It needs no API
# server: write it before `kubeadm init --control-plane-endpoint ADDRESS`. The agent's file is {config} of the host.
apiVersion: v1
kind: Pod
metadata:
  name: fairlead-vip
  namespace: kube-system
  labels: {{app.kubernetes.io/name: fairlead-vip}}
spec:
  hostNetwork: true
  dnsPolicy: Default
  priorityClassName: system-node-critical
  tolerations:
  - {{operator: Exists}}
  containers:
  - name: agent
    image: {image}
    imagePullPolicy: IfNotPresent
    args:
    - agent
    - --config=/etc/fairlead/agent.yaml
    - --state=/var/lib/fairlead-vip
    - --lock-file=/run/fairlead/vip.lock
    - --admin-socket=/run/fairlead/vip.sock
    readinessProbe:
      httpGet: {{host: 127.0.0.1, path: /readyz, port: 9294}}
      periodSeconds: 5
    resources:
      requests: {{cpu: 20m, memory: 32Mi}}
    # NET_ADMIN and NET_RAW for addresses and announcements, BPF and SYS_ADMIN for the fence in the kernel, SYS_NICE and IPC_LOCK
    # to be on time, and a writable /proc/sys/net, which only privileged containers have.
    securityContext:
      privileged: true
      runAsUser: 0
      readOnlyRootFilesystem: true
      capabilities: {{add: [NET_ADMIN, NET_RAW, BPF, SYS_ADMIN, SYS_NICE, IPC_LOCK]}}
    volumeMounts:
    - {{name: config, mountPath: /etc/fairlead/agent.yaml, readOnly: true}}
    - {{name: state, mountPath: /var/lib/fairlead-vip}}
    - {{name: run, mountPath: /run/fairlead}}
    # The fence outlives the container: it is pinned in the host's BPF file system.
    - {{name: bpf, mountPath: /sys/fs/bpf, mountPropagation: HostToContainer}}
  volumes:
  - {{name: config, hostPath: {{path: {config}, type: File}}}}
  - {{name: state, hostPath: {{path: {state}, type: DirectoryOrCreate}}}}
  - {{name: run, hostPath: {{path: /run/fairlead, type: DirectoryOrCreate}}}}
  - {{name: bpf, hostPath: {{path: /sys/fs/bpf, type: Directory}}}}
)";

bool is_printable(const std::string& text) {
  return std::ranges::all_of(text, [](char c) { return c > ' ' && c < 0x7f; });
}

Result<> check_path(const char* flag, const std::string& path) {
  if (path.starts_with('/') && is_printable(path)) return {};
  return fail(Code::invalid, fmt::format("{} {}: must be an absolute path", flag, path));
}

std::string quoted(const std::string& text) { return wire::encode_json(Json(text)); }

}  // namespace

std::string vip_sample() { return kSample; }

Result<std::string> vip_manifest(const ManifestOptions& options) {
  if (options.image.empty() || !is_printable(options.image))
    return fail(Code::invalid, fmt::format("--image {}: must be an image's name", options.image));
  FL_CHECKED(check_path("--config", options.config));
  FL_CHECKED(check_path("--state", options.state));
  return fmt::format(fmt::runtime(kManifest), fmt::arg("image", quoted(options.image)),
                     fmt::arg("config", quoted(options.config)),
                     fmt::arg("state", quoted(options.state)));
}

}  // namespace fairlead::vip
