// For tests only: a server that tells strangers from users, and requests of both.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "foundation/http/test_world.h"

namespace fairlead::http {

inline std::string request(std::string_view method, std::string_view path, std::string_view user,
                           std::string_view more = "") {
  std::string text =
      std::string(method).append(" ").append(path).append(" HTTP/1.1\r\nHost: h\r\n");
  if (!user.empty()) text.append("x-user: ").append(user).append("\r\n");
  return text.append(more).append("\r\n");
}

inline std::string upload(std::string_view user, std::size_t length) {
  return request("PUT", "/echo", user, "Content-Length: " + std::to_string(length) + "\r\n");
}

struct StrictWorld : ServerWorld {
  explicit StrictWorld(Limits limits = {}) : ServerWorld(limits) { handler.strict = true; }
  RawPeer connect_from(std::string address) {
    runtime.client_address = std::move(address);
    return connect();
  }
  // Sends, and what came back within a second.
  std::string say(RawPeer& peer, std::string bytes) {
    runtime.run(peer.send(std::move(bytes)), 1s);
    runtime.run(peer.receive(runtime, {}, 1s));
    return std::exchange(peer.received, {});
  }
};

}  // namespace fairlead::http
