#include "foundation/http/server.h"

#include <list>
#include <map>
#include <utility>

#include "foundation/base/log.h"
#include "foundation/http/http1_server.h"
#include "foundation/http/http2_server.h"
#include "foundation/http/server_core.h"
#include "foundation/runtime/channel.h"

namespace fairlead::http {
namespace {

// One connection from accept to close, as stop() and newcomers need to reach it.
struct Slot {
  Slot(ServerCore& core, Doorkeeper::Id id, std::string_view group, runtime::Stream& its_stream)
      : stream(its_stream), visit(core, id, group) {}

  runtime::Stream& stream;
  Visit visit;
  runtime::Nested<Result<>>* handshake = nullptr;
  ServerConnection* connection = nullptr;

  void drain() {
    if (handshake) handshake->cancel();
    if (connection) connection->drain();
  }
  // Ends it now: whatever waits for its stream fails.
  void cut() {
    if (handshake) handshake->cancel();
    stream.close();
  }
};

// What the certificates that a peer showed keep in memory: the text of the first here, and twenty
// times their size inside OpenSSL. Those that hold are part of what a connection costs while they
// are usual; a stranger's always count.
std::size_t cost_of(const runtime::PeerInfo& peer) {
  constexpr std::size_t kUsual = 3 << 9;
  if (peer.certificate_trusted && peer.certificate_bytes <= kUsual) return 0;
  return peer.certificate.size() + 20 * peer.certificate_bytes;
}

Task<Result<>> all_ended(runtime::Scope& scope) {
  co_await scope.join();
  co_return Result<>{};
}

}  // namespace

class Server::State {
 public:
  State(runtime::Runtime& runtime, Handler& handler, const Limits& limits)
      : core_(runtime, handler, limits), connections_(runtime) {}

  Task<void> serve(std::unique_ptr<runtime::Listener> listener);
  void retire() { core_.retiring = true; }
  Task<void> stop(Duration drain);
  const ServerCounters& counters() {
    core_.counters.strangers_open = core_.door.strangers();
    core_.counters.buffers_lent = core_.buffers.lent();
    return core_.counters;
  }
  std::size_t request_bytes() const { return core_.ledger.bytes().taken(); }

 private:
  void admit(std::unique_ptr<runtime::Stream> stream);
  Task<void> connection(std::unique_ptr<runtime::Stream> stream, Doorkeeper::Id id,
                        std::string group);
  Task<void> speak(Slot& slot, runtime::Stream& stream);
  Task<bool> handshake(Slot& slot, runtime::Stream& stream);
  Task<void> run(Slot& slot, ServerConnection& connection);

  ServerCore core_;
  std::list<runtime::Listener*> listeners_;
  std::map<Doorkeeper::Id, Slot> slots_;
  Doorkeeper::Id last_id_ = 0;
  bool stopped_ = false;
  runtime::Signal stopping_;
  runtime::Scope connections_;
};

Task<void> Server::State::serve(std::unique_ptr<runtime::Listener> listener) {
  if (core_.draining) co_return;
  const auto place = listeners_.insert(listeners_.end(), listener.get());
  while (!core_.draining) {
    Result<std::unique_ptr<runtime::Stream>> accepted = co_await listener->accept();
    if (core_.draining) break;
    if (accepted) {
      admit(std::move(*accepted));
      continue;
    }
    const Error& error = accepted.error();
    if (error.code == Code::cancelled || error.code == Code::unavailable) break;
    // Out of descriptors or memory: what is open goes on, new connections wait.
    log::warning("accept failed", {{"error", error.to_string()}});
    if (!co_await runtime::sleep(core_.runtime, 100ms)) break;
  }
  listeners_.erase(place);
}

// One that is not admitted is closed by going out of scope.
void Server::State::admit(std::unique_ptr<runtime::Stream> stream) {
  std::string group = address_group(stream->peer().address);
  const Doorkeeper::Id id = ++last_id_;
  const Doorkeeper::Entry entry = core_.door.enter(id, group);
  if (!entry.admitted) {
    ++core_.counters.connections_refused;
    return core_.count(Refusal::connections);
  }
  if (entry.gives_way) {
    core_.count(Refusal::strangers);
    if (const auto slot = slots_.find(*entry.gives_way); slot != slots_.end()) slot->second.cut();
  }
  ++core_.counters.connections_accepted;
  ++core_.counters.connections_open;
  connections_.spawn(connection(std::move(stream), id, std::move(group)));
}

Task<bool> Server::State::handshake(Slot& slot, runtime::Stream& stream) {
  runtime::Nested<Result<>> attempt(
      core_.runtime,
      runtime::with_timeout<void>(core_.runtime, core_.limits.handshake_time, stream.handshake()));
  slot.handshake = &attempt;
  const Result<> outcome = co_await attempt;
  slot.handshake = nullptr;
  if (outcome) co_return true;
  ++core_.counters.connections_refused;
  core_.count(Refusal::handshake);
  log::debug("handshake failed",
             {{"peer", stream.peer().address}, {"error", outcome.error().to_string()}});
  co_return false;
}

Task<void> Server::State::run(Slot& slot, ServerConnection& connection) {
  slot.connection = &connection;
  if (core_.draining) connection.drain();
  co_await connection.run();
  slot.connection = nullptr;
}

Task<void> Server::State::connection(std::unique_ptr<runtime::Stream> stream, Doorkeeper::Id id,
                                     std::string group) {
  const auto place = slots_.try_emplace(id, core_, id, group, *stream).first;
  if (co_await handshake(place->second, *stream)) co_await speak(place->second, *stream);
  stream->close();
  slots_.erase(place);
  --core_.counters.connections_open;
}

Task<void> Server::State::speak(Slot& slot, runtime::Stream& stream) {
  if (!slot.visit.hold_certificate(cost_of(stream.peer()))) {
    core_.count(Refusal::memory);
    co_return;
  }
  std::string preface;
  bool http2 = stream.peer().alpn == "h2";
  if (!http2) {
    const auto http1 = std::make_unique<Http1Server>(core_, stream, slot.visit);
    co_await run(slot, *http1);
    preface = http1->http2_preface();
    http2 = !preface.empty();
  }
  if (http2) {
    const auto connection =
        std::make_unique<Http2Server>(core_, stream, slot.visit, std::move(preface));
    co_await run(slot, *connection);
  }
}

Task<void> Server::State::stop(Duration drain) {
  if (std::exchange(core_.draining, true)) {
    while (!stopped_)
      if (!co_await stopping_.wait()) break;
    co_return;
  }
  for (runtime::Listener* listener : listeners_) listener->close();
  for (auto& [id, slot] : slots_) slot.drain();
  // The deadline cancels the join, which hands that on to every connection and then waits for them.
  (void)co_await runtime::with_timeout<void>(core_.runtime, drain, all_ended(connections_));
  stopped_ = true;
  stopping_.notify();
}

Server::Server(runtime::Runtime& runtime, Handler& handler, Limits limits)
    : state_(std::make_unique<State>(runtime, handler, limits)) {}
Server::~Server() = default;

Task<void> Server::serve(std::unique_ptr<runtime::Listener> listener) {
  return state_->serve(std::move(listener));
}

void Server::retire() { state_->retire(); }

Task<void> Server::stop(Duration drain) { return state_->stop(drain); }

const ServerCounters& Server::counters() const { return state_->counters(); }

std::size_t Server::request_bytes() const { return state_->request_bytes(); }

}  // namespace fairlead::http
