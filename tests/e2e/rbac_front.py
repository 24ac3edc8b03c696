#!/usr/bin/env python3
"""kube-apiserver's part as pods see it, in front of a fairlead server: service accounts with the rights that manifests give
them, and tokens that are bound to pods.

A request with the token of a service account passes if a rule of the manifests' RBAC allows it, and gets 403 otherwise,
as RBAC decides; it then goes to the host with the host's own admin token. Two roles that every cluster has are known here.
A TokenReview for an audience is answered from the table of tokens, as a kube-apiserver before 1.30 does: with the pod's
name and uid, not with its node. Pods are those of the table.

    rbac_front.py --port P --cert C --key K --host URL --host-ca FILE --host-token T --manifests JSON
                  --tokens JSON --log FILE

TOKENS: {"TOKEN": {"user": …, "audience": …, "pod": …, "uid": …, "namespace": …, "node": …}}; read again for every request.
LOG gets a line for each decision: "allowed|refused USER VERB GROUP/RESOURCE NAMESPACE/NAME".
"""
import argparse
import json
import re
import ssl
import urllib.parse

from aggregating_proxy import HOP_BY_HOP, Front, Peer, Server

TOKEN_REVIEW = "/apis/authentication.k8s.io/v1/tokenreviews"
KNOWN_ROLES = {
    ("ClusterRole", "", "system:auth-delegator"): [
        {"apiGroups": ["authentication.k8s.io"], "resources": ["tokenreviews"], "verbs": ["create"]},
        {"apiGroups": ["authorization.k8s.io"], "resources": ["subjectaccessreviews"], "verbs": ["create"]}],
    ("Role", "kube-system", "extension-apiserver-authentication-reader"): [
        {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list", "watch"],
         "resourceNames": ["extension-apiserver-authentication"]}],
}
VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}


def attributes(method, target):
    """What a request wants, as RBAC sees it: verb, group, resource, namespace, name."""
    split = urllib.parse.urlsplit(target)
    query = dict(urllib.parse.parse_qsl(split.query))
    parts = split.path.strip("/").split("/")
    group, rest = ("", parts[2:]) if parts[0] == "api" else (parts[1], parts[3:])
    namespace = ""
    if rest[0] == "namespaces" and len(rest) > 2:
        namespace, rest = rest[1], rest[2:]
    resource = rest[0] + ("/" + rest[2] if len(rest) > 2 else "")
    name = rest[1] if len(rest) > 1 else ""
    verb = VERBS.get(method) or ("get" if name else "watch" if query.get("watch") in ("1", "true") else "list")
    selected = re.search(r"(?:^|,)metadata\.name=([^,]+)", query.get("fieldSelector", ""))
    return verb, group, resource, namespace, name or (selected[1] if selected else "")


class Rights:
    """The rules of every service account, from RBAC manifests: (namespace or "" for all, rule)."""

    def __init__(self, objects):
        roles = dict(KNOWN_ROLES)
        for o in objects:
            if o["kind"] in ("ClusterRole", "Role"):
                roles[o["kind"], o["metadata"].get("namespace", ""), o["metadata"]["name"]] = o["rules"]
        self.rules = {}
        for o in objects:
            if o["kind"] not in ("ClusterRoleBinding", "RoleBinding"):
                continue
            namespace = o["metadata"].get("namespace", "")
            kind = o["roleRef"]["kind"]
            rules = roles[kind, namespace if kind == "Role" else "", o["roleRef"]["name"]]
            for subject in o["subjects"]:
                user = f"system:serviceaccount:{subject['namespace']}:{subject['name']}"
                self.rules.setdefault(user, []).extend((namespace, rule) for rule in rules)

    def allow(self, user, wanted):
        verb, group, resource, namespace, name = wanted
        return any((not where or where == namespace) and verb in rule["verbs"] and group in rule.get("apiGroups", [])
                   and resource in rule.get("resources", [])
                   and (not rule.get("resourceNames") or name in rule["resourceNames"])
                   for where, rule in self.rules.get(user, []))


class RbacFront(Front):
    rights = host_token = tokens_path = log_path = None

    def status(self, code, reason, message):
        self.answer(code, {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": reason,
                           "message": message})

    def review(self, body, tokens):
        """A TokenReview for an audience; the host knows nothing of those."""
        review = json.loads(body)
        known = tokens.get(review["spec"]["token"])
        status = {"authenticated": False}
        if known and known.get("audience") in review["spec"]["audiences"]:
            extra = {f"authentication.kubernetes.io/pod-{key}": [known[field]]
                     for key, field in (("name", "pod"), ("uid", "uid")) if field in known}
            status = {"authenticated": True, "audiences": [known["audience"]],
                      "user": {"username": known["user"], "groups": ["system:serviceaccounts"], "extra": extra}}
        self.answer(201, {**review, "status": status})

    def pod(self, wanted, tokens):
        for known in tokens.values():
            if (known.get("namespace"), known.get("pod")) == wanted[3:]:
                return self.answer(200, {"kind": "Pod", "apiVersion": "v1", "spec": {"nodeName": known["node"]},
                                         "metadata": {"name": known["pod"], "uid": known["uid"]}})
        return self.status(404, "NotFound", f'pods "{wanted[4]}" not found')

    def serve(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        with open(self.tokens_path, encoding="utf-8") as file:
            tokens = json.load(file)
        known = tokens.get((self.headers.get("Authorization") or "").removeprefix("Bearer "))
        if not known or known.get("audience"):  # tokens for other audiences open nothing here
            return self.status(401, "Unauthorized", "Unauthorized")
        wanted = attributes(self.command, self.path)
        allowed = self.rights.allow(known["user"], wanted)
        verb, group, resource, namespace, name = wanted
        with open(self.log_path, "a", encoding="utf-8") as log:
            log.write(f"{'allowed' if allowed else 'refused'} {known['user']} {verb} {group}/{resource} {namespace}/{name}\n")
        if not allowed:
            return self.status(403, "Forbidden", f'{resource} "{name}" is forbidden: User "{known["user"]}" cannot {verb}')
        if self.path == TOKEN_REVIEW and "audiences" in json.loads(body)["spec"]:
            return self.review(body, tokens)
        if (group, resource) == ("", "pods"):
            return self.pod(wanted, tokens)
        fields = [(key, value) for key, value in self.headers.items() if key.lower() not in HOP_BY_HOP | {"authorization"}]
        fields.append(("Authorization", f"Bearer {self.host_token}"))
        return self.relay(self.host.send(self.command, self.path, fields, body))

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = serve


def main():
    parser = argparse.ArgumentParser()
    for name in ("port", "cert", "key", "host", "host-ca", "host-token", "manifests", "tokens", "log"):
        parser.add_argument("--" + name, required=True)
    given = parser.parse_args()
    with open(given.manifests, encoding="utf-8") as file:
        RbacFront.rights = Rights(json.load(file))
    RbacFront.host = Peer(given.host, given.host_ca)
    RbacFront.host_token, RbacFront.tokens_path, RbacFront.log_path = given.host_token, given.tokens, given.log
    server = Server(("127.0.0.1", int(given.port)), RbacFront)
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.load_cert_chain(given.cert, given.key)
    server.socket = tls.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    print("ready", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
