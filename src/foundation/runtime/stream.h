// Byte streams, datagrams and raw packets as components see them. Implemented by the epoll loop
// (runtime/epoll_*) and by the simulated network (sim/).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "foundation/base/result.h"
#include "foundation/runtime/task.h"

namespace fairlead::runtime {

// Where to connect or listen: "10.0.0.1:6443", "[::1]:80", "name:443" or "unix:/run/x.sock".
struct Endpoint {
  enum class Kind { tcp, unix_socket };
  Kind kind = Kind::tcp;
  std::string host;  // address or name; the path for unix_socket
  std::uint16_t port = 0;

  static Result<Endpoint> parse(std::string_view text);
  std::string to_string() const;
  bool operator==(const Endpoint&) const = default;
};

// The TLS credentials and requirements of one side. Certificates and keys are PEM.
struct TlsCredentials {
  std::string certificate_chain;  // own certificate first; empty: none is shown
  std::string private_key;
  std::string trusted_ca;   // CAs for the peer; a server without any asks for no certificate
  std::string server_name;  // client: name to send as SNI and to verify; empty: endpoint's host
  std::vector<std::string> alpn;  // in order of preference, "h2", "http/1.1"
  bool skip_verify = false;  // client: accept any server certificate (aggregator probes, tests)

  bool operator==(const TlsCredentials&) const = default;
};

// What is known of the other side of a connection once it is set up.
struct PeerInfo {
  std::string address;  // "10.0.0.7:41234"
  bool tls = false;
  std::string alpn;         // negotiated protocol, empty without
  std::string certificate;  // PEM of the peer's leaf certificate, empty if it showed none
  // A server accepts the handshake of a client whose certificate does not verify against trusted_ca
  // (so that the caller can answer 401) but says so here.
  bool certificate_trusted = false;
  // Size in DER of all certificates that the peer sent: the memory they cost depends on it.
  std::size_t certificate_bytes = 0;
};

class Stream {
 public:
  virtual ~Stream() = default;

  // Completes the TLS handshake of an accepted connection; peer() is final after it. Nothing to do
  // on plain and on connected streams.
  virtual Task<Result<>> handshake() = 0;
  // At least one byte unless the peer ended its side (0). One reader and one writer at a time.
  virtual Task<Result<std::size_t>> read(std::span<char> into) = 0;
  // All of it, or an error.
  virtual Task<Result<>> write(std::string_view bytes) = 0;
  // No more will be written; the peer reads 0 after what was written.
  virtual Task<Result<>> shutdown_write() = 0;
  // Ends both directions now; pending reads and writes fail with unavailable. Idempotent.
  virtual void close() = 0;
  virtual const PeerInfo& peer() const = 0;
};

class Listener {
 public:
  virtual ~Listener() = default;
  // The next connection, before its TLS handshake, so that a slow peer never holds up accept.
  virtual Task<Result<std::unique_ptr<Stream>>> accept() = 0;
  virtual Endpoint local() const = 0;
  virtual void close() = 0;
};

struct Datagram {
  Endpoint from;
  std::string bytes;
};

class DatagramSocket {
 public:
  virtual ~DatagramSocket() = default;
  virtual Task<Result<Datagram>> receive() = 0;
  virtual Task<Result<>> send(const Endpoint& to, std::string_view bytes) = 0;
  virtual Endpoint local() const = 0;
  virtual void close() = 0;
};

// Whole Ethernet frames on one interface (ARP, ND).
class PacketSocket {
 public:
  virtual ~PacketSocket() = default;
  virtual Task<Result<std::string>> receive() = 0;
  virtual Task<Result<>> send(std::string_view frame) = 0;
  virtual void close() = 0;
};

}  // namespace fairlead::runtime
