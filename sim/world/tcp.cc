#include "sim/world/tcp.h"

#include <algorithm>
#include <utility>

#include "foundation/base/check.h"
#include "sim/world/machine.h"
#include "sim/world/network.h"
#include "sim/world/world.h"

namespace fairlead::sim {

Connection::Connection(TcpStack& stack, std::uint64_t id, Machine& from, std::string local)
    : stack_(stack), id_(id) {
  ends_[0].machine = &from;
  ends_[0].address = std::move(local);
}

Connection::~Connection() = default;

void Connection::attach(Machine& machine, std::string local) {
  ends_[1].machine = &machine;
  ends_[1].address = std::move(local);
}

World& Connection::world() { return stack_.network().world(); }

Link& Connection::link_from(Which sender) {
  return stack_.network().link(*ends_[sender].machine, *ends_[other(sender)].machine);
}

Task<Result<std::size_t>> Connection::read(Which which, std::span<char> into,
                                           std::shared_ptr<Connection>) {
  FL_CO_CHECKED(co_await Checkpoint());
  End& end = ends_[which];
  for (;;) {
    if (end.closed) co_return fail(Code::unavailable, "stream is closed");
    if (!end.received.empty()) {
      const std::size_t n = take_received(end, into);
      give_credit(which, n);
      co_return n;
    }
    if (end.broken) co_return fail(*end.broken);
    if (end.peer_finished) co_return std::size_t{0};
    FL_CO_CHECKED(co_await end.readable.wait());
  }
}

Task<Result<>> Connection::write(Which which, std::string_view bytes, std::shared_ptr<Connection>) {
  End& end = ends_[which];
  for (;;) {
    if (end.closed) co_return fail(Code::unavailable, "stream is closed");
    if (end.broken) co_return fail(*end.broken);
    if (end.finished) co_return fail(Code::invalid, "write after shutdown");
    if (bytes.empty()) co_return Result<>{};
    const std::size_t n = std::min(room(which), bytes.size());
    if (n == 0) {
      wait_for_credit(which);
      FL_CO_CHECKED(co_await end.writable.wait());
      continue;
    }
    send_data(which, bytes.substr(0, n));
    bytes.remove_prefix(n);
  }
}

Result<> Connection::finish(Which which) {
  End& end = ends_[which];
  if (end.closed) return fail(Code::unavailable, "stream is closed");
  if (end.broken) return fail(*end.broken);
  if (!std::exchange(end.finished, true)) send(which, Segment::Kind::finish, {});
  return {};
}

// As a kernel does: bytes that nobody will read any more make it a reset.
void Connection::close(Which which) {
  End& end = ends_[which];
  if (std::exchange(end.closed, true)) return;
  end.readable.open();
  end.writable.open();
  if (!end.gone && !end.broken && attached()) {
    if (!end.received.empty()) {
      send(which, Segment::Kind::reset, {});
    } else if (!std::exchange(end.finished, true)) {
      send(which, Segment::Kind::finish, {});
    }
  }
  end.received.clear();
  if (over()) stack_.forget(id_);
}

// What is already on the wire still arrives; nothing is ever sent again.
void Connection::vanish(const Machine& machine, bool reset) {
  for (Which which : {0, 1}) {
    End& end = ends_[which];
    if (end.machine != &machine || end.gone) continue;
    if (reset && attached() && !end.broken && !end.closed) send(which, Segment::Kind::reset, {});
    end.gone = true;
    end.closed = true;
    end.received.clear();
  }
}

void Connection::break_end(Which which, Error error) {
  End& end = ends_[which];
  end.broken = std::move(error);
  drop_flow(which);
  end.readable.open();
  end.writable.open();
}

bool Connection::over() const {
  const auto done = [](const End& end) { return end.machine == nullptr || end.gone || end.closed; };
  return done(ends_[0]) && done(ends_[1]) && flows_[0].segments.empty() &&
         flows_[1].segments.empty();
}

void Connection::send_data(Which sender, std::string_view bytes) {
  credits_[sender].outstanding += bytes.size();
  Link& link = link_from(sender);
  if (bytes.size() > 1 && link.random().chance(link.settings().split_per_million)) {
    const std::size_t first = 1 + link.random().below(bytes.size() - 1);
    send(sender, Segment::Kind::data, std::string(bytes.substr(0, first)));
    bytes.remove_prefix(first);
  }
  send(sender, Segment::Kind::data, std::string(bytes));
}

void Connection::send(Which sender, Segment::Kind kind, std::string bytes) {
  Flow& flow = flows_[sender];
  Link& link = link_from(sender);
  const LinkSettings& settings = link.settings();
  Moment arrives = link.arrival(world().now(), bytes.size());
  Duration retry = settings.retransmit_after;
  if (!link.passes()) arrives = std::max(arrives, world().now() + retry);
  while (link.loses() && retry <= settings.retransmit_at_most) {
    arrives += retry;
    retry *= 2;
  }
  arrives = std::max(arrives, flow.last_arrival);
  flow.last_arrival = arrives;
  flow.segments.push_back({.kind = kind, .bytes = std::move(bytes), .arrives = arrives});
  if (!flow.armed()) world().schedule(flow, flow.segments.front().arrives);
}

void Connection::deliver(Flow& flow) {
  if (stall(flow)) return;
  const Which receiver = other(flow.sender);
  const Moment now = world().now();
  while (!flow.segments.empty() && flow.segments.front().arrives <= now) {
    Segment segment = std::move(flow.segments.front());
    flow.segments.pop_front();
    arrive(receiver, std::move(segment));
  }
  if (!flow.segments.empty() && !flow.armed())
    world().schedule(flow, flow.segments.front().arrives);
  if (over()) stack_.forget(id_);
}

// True if the first segment cannot get through now: it is tried again later, or given up.
bool Connection::stall(Flow& flow) {
  const Which receiver = other(flow.sender);
  const Link& link = link_from(flow.sender);
  const LinkSettings& settings = link.settings();
  if (link.passes() && ends_[receiver].machine->up()) {
    flow.stalled_since.reset();
    return false;
  }
  const Moment now = world().now();
  world().record(Happening::stall, ends_[flow.sender].machine->id(), ends_[receiver].machine->id(),
                 id_);
  // A reset is sent once, and a dead sender sends nothing again.
  if (ends_[flow.sender].gone || flow.segments.front().kind == Segment::Kind::reset) {
    drop_flow(flow.sender);
    if (over()) stack_.forget(id_);
    return true;
  }
  if (!flow.stalled_since) {
    flow.stalled_since = now;
    flow.retry = settings.retransmit_after;
  }
  if (now - *flow.stalled_since >= settings.give_up_after) {
    break_end(flow.sender, Error{Code::timeout, "connection timed out"});
    if (over()) stack_.forget(id_);
    return true;
  }
  world().schedule(flow, now + flow.retry);
  flow.retry = std::min(flow.retry * 2, settings.retransmit_at_most);
  return true;
}

void Connection::arrive(Which receiver, Segment segment) {
  End& end = ends_[receiver];
  const ActorId from = ends_[other(receiver)].machine->id();
  const ActorId to = end.machine->id();
  switch (segment.kind) {
    case Segment::Kind::data:
      if (end.gone || end.closed) return answer_with_reset(receiver);
      if (end.broken) return;
      world().record(Happening::deliver, from, to, id_, segment.bytes.size(),
                     hash_bytes(segment.bytes));
      end.received.push_back(std::move(segment.bytes));
      end.readable.open();
      return;
    case Segment::Kind::finish:
      world().record(Happening::finish, from, to, id_);
      if (end.gone) return answer_with_reset(receiver);
      end.peer_finished = true;
      end.readable.open();
      return;
    case Segment::Kind::reset:
      world().record(Happening::reset, from, to, id_);
      if (!end.gone && !end.broken)
        break_end(receiver, Error{Code::unavailable, "connection reset by peer"});
      return;
  }
}

void Connection::answer_with_reset(Which receiver) {
  drop_flow(receiver);
  send(receiver, Segment::Kind::reset, {});
}

void Connection::drop_flow(Which sender) {
  world().unschedule(flows_[sender]);
  flows_[sender].segments.clear();
}

std::size_t Connection::take_received(End& end, std::span<char> into) {
  std::size_t n = 0;
  while (n < into.size() && !end.received.empty()) {
    const std::string& piece = end.received.front();
    const std::size_t part = std::min(into.size() - n, piece.size() - end.received_offset);
    std::copy_n(piece.data() + end.received_offset, part, into.data() + n);
    n += part;
    end.received_offset += part;
    if (end.received_offset == piece.size()) {
      end.received.pop_front();
      end.received_offset = 0;
    }
  }
  return n;
}

void Connection::give_credit(Which reader, std::size_t bytes) {
  const Which sender = other(reader);
  if (ends_[sender].gone || ends_[sender].broken) return;
  const Moment arrives = link_from(reader).arrival(world().now(), 0);
  credits_[sender].credits.push_back({.arrives = arrives, .bytes = bytes});
  if (ends_[sender].writable.waited_on()) wait_for_credit(sender);
}

std::size_t Connection::room(Which sender) {
  Credits& credits = credits_[sender];
  const Link& way_back = link_from(other(sender));
  const Moment now = world().now();
  while (!credits.credits.empty() && credits.credits.front().arrives <= now) {
    if (!way_back.passes()) {
      credits.credits.front().arrives = now + way_back.settings().retransmit_after;
      break;
    }
    credits.outstanding -= credits.credits.front().bytes;
    credits.credits.pop_front();
  }
  const std::size_t window = link_from(sender).settings().window;
  return window - std::min(window, credits.outstanding);
}

void Connection::wait_for_credit(Which sender) {
  Credits& credits = credits_[sender];
  if (credits.credits.empty() || credits.armed()) return;
  world().schedule(credits, credits.credits.front().arrives);
}

}  // namespace fairlead::sim
