#!/usr/bin/env python3
"""The least of a Kubernetes API aggregator: the front of a host cluster whose own API is a fairlead server.

It asks the host who a caller is, passes requests for one API group to the server behind it, with its
client certificate and the caller's name in X-Remote-* headers, and everything else to the host. It also
plays a little RBAC that the host does not have: the user "limited" may read subnets in the namespace
"default", and nothing else.

    aggregating_proxy.py --port P --cert C --key K --client-cert C --client-key K
                         --host URL --host-ca FILE --server URL --server-ca FILE --server-name NAME
"""

import argparse
import http.client
import http.server
import json
import ssl
import urllib.parse

GROUP = "/apis/fairlead.dev"
WHO_AM_I = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
ACCESS_REVIEW = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
HOP_BY_HOP = {"connection", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade", "host", "content-length"}


class Peer:
    """A server to pass requests to."""

    def __init__(self, url, ca, name=None, certificate=None, key=None):
        at = urllib.parse.urlsplit(url)
        self.host, self.port, self.name = at.hostname, at.port, name or at.hostname
        self.tls = ssl.create_default_context(cafile=ca)
        if certificate:
            self.tls.load_cert_chain(certificate, key)

    def connect(self):
        # The certificate is for the Service's name, the connection goes to its address.
        connection = http.client.HTTPSConnection(self.host, self.port, context=self.tls, timeout=60)
        http.client.HTTPConnection.connect(connection)
        connection.sock = self.tls.wrap_socket(connection.sock, server_hostname=self.name)
        return connection

    def send(self, method, path, fields, body):
        """The connection on which the answer will come."""
        connection = self.connect()
        connection.putrequest(method, path, skip_accept_encoding=True)
        for name, value in fields:
            connection.putheader(name, value)
        connection.putheader("Content-Length", str(len(body)))
        connection.endheaders(body)
        return connection


def limited_may(spec):
    asked = spec.get("resourceAttributes", {})
    return (asked.get("group") == "fairlead.dev" and asked.get("resource") == "subnets"
            and asked.get("namespace") == "default" and asked.get("verb") in ("get", "list", "watch"))


class Front(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    host = server_behind = None

    def log_message(self, *_):
        pass

    def answer(self, code, value):
        text = json.dumps(value).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def caller(self):
        """Who the host says this is; None: it does not know."""
        authorization = self.headers.get("Authorization")
        if not authorization:
            return None
        fields = [("Authorization", authorization), ("Content-Type", "application/json")]
        connection = self.host.send("POST", WHO_AM_I, fields, b"{}")
        response = connection.getresponse()
        review = json.load(response)
        connection.close()
        return review["status"]["userInfo"] if response.status == 201 else None

    def relay(self, connection):
        response = connection.getresponse()
        self.send_response(response.status)
        for name, value in response.getheaders():
            if name.lower() not in HOP_BY_HOP:
                self.send_header(name, value)
        if self.command == "HEAD" or response.status in (204, 304):
            self.end_headers()
            connection.close()
            return
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        try:
            while piece := response.read1(65536):
                self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
            self.wfile.write(b"0\r\n\r\n")
        finally:
            connection.close()

    def serve(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        fields = [(name, value) for name, value in self.headers.items() if name.lower() not in HOP_BY_HOP]
        if self.path == ACCESS_REVIEW and self.command == "POST":
            review = json.loads(body)
            if review["spec"].get("user") == "limited":
                review["status"] = {"allowed": limited_may(review["spec"]), "reason": "says the host"}
                return self.answer(201, review)
        if not self.path.startswith(GROUP + "/"):
            return self.relay(self.host.send(self.command, self.path, fields, body))
        user = self.caller()
        if not user:
            return self.answer(401, {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 401,
                                     "reason": "Unauthorized", "message": "Unauthorized"})
        fields = [(name, value) for name, value in fields
                  if name.lower() != "authorization" and not name.lower().startswith("x-remote-")]
        fields.append(("X-Remote-User", user["username"]))
        fields += [("X-Remote-Group", group) for group in user.get("groups", [])]
        return self.relay(self.server_behind.send(self.command, self.path, fields, body))

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = serve


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, client_address):
        pass  # a client that left


def main():
    parser = argparse.ArgumentParser()
    for name in ("port", "cert", "key", "client-cert", "client-key", "host", "host-ca", "server", "server-ca",
                 "server-name"):
        parser.add_argument("--" + name, required=True)
    given = parser.parse_args()
    Front.host = Peer(given.host, given.host_ca)
    Front.server_behind = Peer(given.server, given.server_ca, given.server_name, given.client_cert, given.client_key)
    server = Server(("127.0.0.1", int(given.port)), Front)
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.load_cert_chain(given.cert, given.key)
    server.socket = tls.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    print("ready", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
