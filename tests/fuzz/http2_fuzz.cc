// Whole connections fed by strangers: bytes to the HTTP/2 server, to the HTTP/1.1 server, and from
// a hostile server to the client. Nothing may crash, hang or be left running.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "foundation/base/log.h"
#include "foundation/http/client.h"
#include "foundation/http/http2_frames.h"
#include "foundation/http/test_world.h"

namespace {

using namespace fairlead;
using namespace fairlead::http;

// Sends the input in pieces, with a moment or a few seconds between them.
void feed(MemoryRuntime& runtime, RawPeer& peer, std::string_view bytes) {
  while (!bytes.empty()) {
    const std::size_t n = std::min<std::size_t>(bytes.size(), 1 + (bytes.size() * 7) % 300);
    runtime.run(peer.send(std::string(bytes.substr(0, n))), 1s);
    bytes.remove_prefix(n);
    runtime.run_for(bytes.size() % 5 == 0 ? Duration(2s) : Duration(1ms));
  }
}

void attack_server(std::string_view bytes, bool with_opening) {
  Limits limits;
  limits.body_bytes = 4096;
  limits.request_bytes = 16384;
  limits.header_bytes = 4096;
  limits.streams_per_connection = 20;
  ServerWorld world(limits);
  RawPeer peer = world.connect();
  if (with_opening) world.runtime.run(peer.send(client_opening()));
  feed(world.runtime, peer, bytes);
  world.handler.publish();
  world.runtime.run(peer.receive(world.runtime, {}, 1s));
  world.handler.end_streams();
  peer.close();
  world.runtime.run_for(200s);
  if (world.server->counters().connections_open != 0) std::abort();
  if (world.server->counters().requests_under_way != 0) std::abort();
  if (world.handler.started != world.handler.ended) std::abort();
}

Task<void> ask(Client& client, Request request, int& ended) {
  (void)co_await client.send(std::move(request));
  ++ended;
}

void attack_client(std::string_view bytes, bool http2) {
  MemoryRuntime runtime;
  const runtime::Endpoint at{runtime::Endpoint::Kind::tcp, "hostile", 80};
  const auto listener = *runtime.listen(at, nullptr);
  ClientOptions options;
  options.endpoints = {at};
  options.http2_prior_knowledge = http2;
  options.response_bytes = 1 << 20;
  Client client(runtime, options);
  runtime::Scope scope(runtime);
  int ended = 0;
  Request request;
  request.headers.add("accept-encoding", "gzip");
  for (int i = 0; i < 3; ++i) scope.spawn(ask(client, request, ended));
  for (int i = 0; i < 3 && ended < 3; ++i) {
    auto stream = runtime.run(listener->accept(), 1s);
    if (!stream || !*stream) break;
    RawPeer peer(std::move(**stream));
    if (http2) runtime.run(peer.send(frame(NGHTTP2_SETTINGS, 0, 0)));
    feed(runtime, peer, bytes);
    peer.close();
    runtime.run_for(1s);
  }
  client.close();
  runtime.run_for(100s);
  if (ended != 3) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  log::set_level(log::Level::error);
  if (size < 1 || size > 8192) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % 4) {
    case 0:
    case 1:
      attack_server(bytes, data[0] % 4 == 0);
      break;
    case 2:
      attack_client(bytes, true);
      break;
    default:
      attack_client(bytes, false);
  }
  return 0;
}
