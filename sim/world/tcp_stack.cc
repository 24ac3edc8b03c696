// Dialling, listening and the life of connections; sim/world/tcp.cc has what travels on them.
#include <algorithm>
#include <cerrno>
#include <utility>

#include "foundation/base/check.h"
#include "sim/world/machine.h"
#include "sim/world/network.h"
#include "sim/world/tcp.h"
#include "sim/world/world.h"

namespace fairlead::sim {
namespace {

using runtime::Endpoint;

class TcpStream final : public runtime::Stream {
 public:
  TcpStream(std::shared_ptr<Connection> connection, Connection::Which end)
      : connection_(std::move(connection)), end_(end) {
    peer_.address = connection_->address(Connection::other(end));
  }
  ~TcpStream() override { connection_->close(end_); }
  Task<Result<>> handshake() override { co_return Result<>{}; }
  Task<Result<std::size_t>> read(std::span<char> into) override {
    return connection_->read(end_, into, connection_);
  }
  Task<Result<>> write(std::string_view bytes) override {
    return connection_->write(end_, bytes, connection_);
  }
  Task<Result<>> shutdown_write() override { co_return connection_->finish(end_); }
  void close() override { connection_->close(end_); }
  const runtime::PeerInfo& peer() const override { return peer_; }

 private:
  std::shared_ptr<Connection> connection_;
  Connection::Which end_;
  runtime::PeerInfo peer_;
};

class TcpListener final : public runtime::Listener {
 public:
  TcpListener(TcpStack& stack, std::shared_ptr<TcpStack::Backlog> backlog)
      : stack_(stack), backlog_(std::move(backlog)) {}
  ~TcpListener() override { close(); }
  Task<Result<std::unique_ptr<runtime::Stream>>> accept() override { return take(backlog_); }
  Endpoint local() const override { return backlog_->local; }
  void close() override { stack_.close(*backlog_); }

 private:
  static Task<Result<std::unique_ptr<runtime::Stream>>> take(
      std::shared_ptr<TcpStack::Backlog> backlog) {
    FL_CO_CHECKED(co_await Checkpoint());
    for (;;) {
      if (!backlog->open) co_return fail(Code::unavailable, "listener is closed");
      if (!backlog->waiting.empty()) {
        std::shared_ptr<Connection> connection = std::move(backlog->waiting.front());
        backlog->waiting.pop_front();
        co_return std::make_unique<TcpStream>(std::move(connection), 1);
      }
      FL_CO_CHECKED(co_await backlog->arrived.wait());
    }
  }

  TcpStack& stack_;
  std::shared_ptr<TcpStack::Backlog> backlog_;
};

// One attempt to connect: the dial travels there, the answer back; lost ones are tried again.
class Dial final : public runtime::Timer {
 public:
  Dial(TcpStack& stack, Machine& from, Endpoint to)
      : stack_(stack),
        from_(from),
        to_(std::move(to)),
        world_(stack.network().world()),
        connection_(stack.open(from)),
        began_(world_.now()) {
    travel(from_, first_target());
  }
  // Given up half way: the called end, if there is one, hears of it.
  ~Dial() override {
    if (connection_) connection_->close(0);
  }

  Gate answered;
  std::optional<Error> failure;
  bool established() const { return stage_ == Stage::established; }
  std::shared_ptr<Connection> take() { return std::move(connection_); }

  void fire() override {
    switch (stage_) {
      case Stage::dialling:
        return arrive();
      case Stage::refused:
        if (!answer_passes()) return try_again(Stage::dialling);
        return end(Error{Code::unavailable, "connection refused"});
      case Stage::answering:
        if (!answer_passes()) return try_again(Stage::answering);
        world_.record(Happening::establish, target_->id(), from_.id(), connection_->id());
        stage_ = Stage::established;
        return answered.open();
      case Stage::established:
        return;
    }
  }

 private:
  enum class Stage { dialling, refused, answering, established };

  const Machine* first_target() {
    if (to_.kind == Endpoint::Kind::unix_socket) return &from_;
    return stack_.network().holder(from_, to_.host);
  }

  void travel(const Machine& from, const Machine* to) {
    const Moment now = world_.now();
    const Moment arrives = to ? stack_.network().link(from, *to).arrival(now, 0) : now + 1ms;
    world_.schedule(*this, arrives);
  }

  void arrive() {
    Network& network = stack_.network();
    target_ = const_cast<Machine*>(first_target());
    if (!target_) {
      // Nobody answers ARP for it: that is known sooner than that nobody answers the dial.
      if (world_.now() - began_ >= 3s) return end(Error{Code::unavailable, "no route to host"});
      return try_again(Stage::dialling);
    }
    world_.record(Happening::dial, from_.id(), target_->id(), connection_->id());
    Link& link = network.link(from_, *target_);
    if (!link.passes() || link.loses() || !target_->up()) return try_again(Stage::dialling);
    const std::shared_ptr<TcpStack::Backlog> backlog = stack_.find_backlog(*target_, to_);
    if (!backlog) {
      world_.record(Happening::refuse, target_->id(), from_.id(), connection_->id());
      stage_ = Stage::refused;
      return travel(*target_, &from_);
    }
    if (backlog->waiting.size() >= TcpStack::kBacklog) return try_again(Stage::dialling);
    connection_->attach(*target_, to_.to_string());
    backlog->waiting.push_back(connection_);
    backlog->arrived.open();
    stage_ = Stage::answering;
    travel(*target_, &from_);
  }

  bool answer_passes() { return stack_.network().link(*target_, from_).passes(); }

  void try_again(Stage stage) {
    stage_ = stage;
    const Duration limit = stack_.network().link(from_, from_).settings().connect_for;
    if (world_.now() - began_ >= limit) return end(Error{Code::timeout, "connect timed out"});
    world_.schedule(*this, world_.now() + retry_);
    retry_ *= 2;
  }

  void end(Error error) {
    failure = std::move(error);
    answered.open();
  }

  TcpStack& stack_;
  Machine& from_;
  Endpoint to_;
  World& world_;
  std::shared_ptr<Connection> connection_;
  Moment began_;
  Machine* target_ = nullptr;
  Stage stage_ = Stage::dialling;
  Duration retry_ = 1s;
};

bool any_address(const std::string& host) {
  return host.empty() || host == "0.0.0.0" || host == "::";
}

}  // namespace

TcpStack::~TcpStack() = default;

std::string TcpStack::key(const Machine& machine, const Endpoint& endpoint) {
  std::string text = std::to_string(machine.id()) + "/";
  if (endpoint.kind == Endpoint::Kind::unix_socket) return text + endpoint.to_string();
  return text + (any_address(endpoint.host) ? "*" : endpoint.host) + ":" +
         std::to_string(endpoint.port);
}

std::shared_ptr<TcpStack::Backlog> TcpStack::find_backlog(const Machine& machine,
                                                          const Endpoint& to) const {
  if (const auto found = backlogs_.find(key(machine, to)); found != backlogs_.end())
    return found->second;
  if (to.kind == Endpoint::Kind::unix_socket) return nullptr;
  const auto any = backlogs_.find(key(machine, {.kind = to.kind, .host = {}, .port = to.port}));
  return any == backlogs_.end() ? nullptr : any->second;
}

std::uint16_t TcpStack::ephemeral_port(const Machine& machine) {
  std::uint16_t& port = ports_[machine.id()];
  port = port < 32'768 || port == 65'535 ? 32'768 : port + 1;
  return port;
}

std::shared_ptr<Connection> TcpStack::open(Machine& from) {
  const std::uint64_t id = next_id_++;
  const Endpoint local{.host = from.address(), .port = ephemeral_port(from)};
  auto connection = std::make_shared<Connection>(*this, id, from, local.to_string());
  connections_.emplace(id, connection);
  return connection;
}

// Forgotten only after the event that ended it has returned, because that event may be its own.
void TcpStack::forget(std::uint64_t id) {
  const auto found = connections_.find(id);
  if (found == connections_.end()) return;
  network_.world().after(Duration(0), [connection = std::move(found->second)] {});
  connections_.erase(found);
}

Task<Result<std::unique_ptr<runtime::Stream>>> TcpStack::dial(Machine& from, Endpoint to) {
  FL_CO_CHECKED(co_await Checkpoint());
  Dial attempt(*this, from, to);
  while (!attempt.established() && !attempt.failure) {
    if (Result<> waited = co_await attempt.answered.wait(); !waited) co_return fail(waited.error());
  }
  if (attempt.failure) co_return fail(attempt.failure->context("connect " + to.to_string()));
  co_return std::make_unique<TcpStream>(attempt.take(), 0);
}

Result<std::unique_ptr<runtime::Listener>> TcpStack::listen(Machine& at, const Endpoint& endpoint) {
  Endpoint local = endpoint;
  if (local.kind == Endpoint::Kind::tcp && local.port == 0) local.port = ephemeral_port(at);
  if (local.kind == Endpoint::Kind::tcp && !any_address(local.host)) {
    const std::optional<std::string> address = network_.resolve(at, local.host);
    if (!address || !network_.has_address(at, *address))
      return fail(errno_error("listen on " + endpoint.to_string(), EADDRNOTAVAIL));
    local.host = *address;
  }
  if (backlogs_.contains(key(at, local)))
    return fail(errno_error("listen on " + endpoint.to_string(), EADDRINUSE));
  auto backlog = std::make_shared<Backlog>();
  backlog->machine = &at;
  backlog->local = local;
  backlogs_.emplace(key(at, local), backlog);
  return std::make_unique<TcpListener>(*this, std::move(backlog));
}

void TcpStack::close(Backlog& backlog) {
  if (!std::exchange(backlog.open, false)) return;
  backlogs_.erase(key(*backlog.machine, backlog.local));
  for (const auto& connection : backlog.waiting) connection->close(1);
  backlog.waiting.clear();
  backlog.arrived.open();
}

void TcpStack::machine_died(Machine& machine, bool reset) {
  std::erase_if(backlogs_, [&machine](const auto& entry) {
    Backlog& backlog = *entry.second;
    if (backlog.machine != &machine) return false;
    backlog.open = false;
    backlog.waiting.clear();
    return true;
  });
  std::vector<std::uint64_t> over;
  for (const auto& [id, connection] : connections_) {
    connection->vanish(machine, reset);
    if (connection->over()) over.push_back(id);
  }
  for (const std::uint64_t id : over) forget(id);
}

}  // namespace fairlead::sim
