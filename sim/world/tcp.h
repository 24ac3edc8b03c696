// TcpStack: the streams of the virtual network, as the kernels of the machines see them.
//
// A Connection has two ends. What one end sends travels in order over a Link, is held up while the
// link is cut or the receiver is dead, and is retried with growing pauses. An end belongs to one
// boot of a machine; after a crash it is gone, and whatever reaches it is answered with a reset.
// Programs hold TcpStream and TcpListener; the stack keeps connections alive while bytes are still
// under way after both have let go.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "foundation/runtime/stream.h"
#include "foundation/runtime/timer_heap.h"
#include "sim/world/gate.h"
#include "sim/world/link.h"
#include "sim/world/moment.h"

namespace fairlead::sim {

class World;
class Machine;
class Network;
class TcpStack;

class Connection {
 public:
  using Which = int;  // 0: the end that dialled, 1: the end that was called
  static Which other(Which end) { return 1 - end; }

  Connection(TcpStack& stack, std::uint64_t id, Machine& from, std::string local);
  ~Connection();

  // The called end comes into being when the dial arrives.
  void attach(Machine& machine, std::string local);

  std::uint64_t id() const { return id_; }
  const std::string& address(Which end) const { return ends_[end].address; }
  bool attached() const { return ends_[1].machine != nullptr; }

  // What a program does at its end.
  Task<Result<std::size_t>> read(Which end, std::span<char> into, std::shared_ptr<Connection> self);
  Task<Result<>> write(Which end, std::string_view bytes, std::shared_ptr<Connection> self);
  Result<> finish(Which end);  // half close
  void close(Which end);

  // That machine is gone, and with it the ends it had.
  void vanish(const Machine& machine, bool reset);
  // Fails both operations of that end and forgets what it had.
  void break_end(Which end, Error error);
  bool over() const;

 private:
  struct Segment {
    enum class Kind { data, finish, reset };
    Kind kind = Kind::data;
    std::string bytes;
    Moment arrives;
  };
  struct Credit {
    Moment arrives;
    std::size_t bytes;
  };
  // One direction: what `from` sends and the other end has not got yet.
  struct Flow final : runtime::Timer {
    Flow(Connection& connection, Which from) : owner(connection), sender(from) {}
    void fire() override { owner.deliver(*this); }
    Connection& owner;
    Which sender;
    std::deque<Segment> segments;
    Duration retry{0};
    std::optional<Moment> stalled_since;
    Moment last_arrival{};
  };
  // Room given back to the sender of a flow; looked at only when the sender needs room.
  struct Credits final : runtime::Timer {
    Credits(Connection& connection, Which from) : owner(connection), sender(from) {}
    void fire() override { owner.ends_[sender].writable.open(); }
    Connection& owner;
    Which sender;
    std::deque<Credit> credits;
    std::size_t outstanding = 0;  // bytes sent and not credited
  };
  struct End {
    Machine* machine = nullptr;
    std::string address;
    bool gone = false;      // its machine crashed
    bool closed = false;    // its program let go
    bool finished = false;  // it sent its end
    bool peer_finished = false;
    std::optional<Error> broken;
    std::deque<std::string> received;
    std::size_t received_offset = 0;  // into the first piece
    Gate readable;
    Gate writable;
  };

  World& world();
  Link& link_from(Which sender);
  void send(Which sender, Segment::Kind kind, std::string bytes);
  void send_data(Which sender, std::string_view bytes);
  void deliver(Flow& flow);
  bool stall(Flow& flow);
  void arrive(Which receiver, Segment segment);
  void answer_with_reset(Which receiver);
  std::size_t take_received(End& end, std::span<char> into);
  void give_credit(Which reader, std::size_t bytes);
  std::size_t room(Which sender);
  void wait_for_credit(Which sender);
  void drop_flow(Which sender);

  TcpStack& stack_;
  std::uint64_t id_;
  std::array<End, 2> ends_;
  Flow flows_[2] = {{*this, 0}, {*this, 1}};
  Credits credits_[2] = {{*this, 0}, {*this, 1}};
};

class TcpStack {
 public:
  explicit TcpStack(Network& network) : network_(network) {}
  ~TcpStack();

  // A plain stream to an address and port, or to a unix socket of the same machine.
  Task<Result<std::unique_ptr<runtime::Stream>>> dial(Machine& from, runtime::Endpoint to);
  Result<std::unique_ptr<runtime::Listener>> listen(Machine& at, const runtime::Endpoint& endpoint);
  void machine_died(Machine& machine, bool reset);

  // For connections, listeners and dials.
  struct Backlog {  // a listening socket
    Machine* machine = nullptr;
    runtime::Endpoint local;
    bool open = true;
    std::deque<std::shared_ptr<Connection>> waiting;
    Gate arrived;
  };
  static constexpr std::size_t kBacklog = 128;
  Network& network() { return network_; }
  std::shared_ptr<Connection> open(Machine& from);
  // The socket that takes a connection to `to` at that machine; null when nobody listens.
  std::shared_ptr<Backlog> find_backlog(const Machine& machine, const runtime::Endpoint& to) const;
  void close(Backlog& backlog);
  void forget(std::uint64_t connection);
  std::uint16_t ephemeral_port(const Machine& machine);

 private:
  static std::string key(const Machine& machine, const runtime::Endpoint& endpoint);

  Network& network_;
  std::uint64_t next_id_ = 1;
  std::map<std::uint64_t, std::shared_ptr<Connection>> connections_;
  std::map<std::string, std::shared_ptr<Backlog>> backlogs_;
  std::map<std::uint32_t, std::uint16_t> ports_;  // by machine: the last ephemeral one
};

}  // namespace fairlead::sim
