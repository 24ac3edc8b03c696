#include "sim/models/etcd_members.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "foundation/base/bytes.h"
#include "foundation/wire/etcd.h"
#include "foundation/wire/grpc.h"

namespace fairlead::sim {
namespace {

namespace etcd = wire::etcd;
using wire::GrpcCode;
using wire::GrpcStatus;

const GrpcStatus kNoLeader{GrpcCode::unavailable, "etcdserver: no leader"};
const GrpcStatus kTimedOut{GrpcCode::unavailable, "etcdserver: request timed out"};

// The product's server has no trailers, so the status travels in the head; its client reads either.
http::Headers headers_of(const GrpcStatus& status) {
  http::Headers headers;
  headers.add("content-type", "application/grpc");
  headers.add("grpc-status", std::to_string(static_cast<int>(status.code)));
  if (!status.message.empty())
    headers.add("grpc-message", wire::encode_grpc_message(status.message));
  return headers;
}

http::Response response_of(const EtcdModel::Answer& answer) {
  http::Response response;
  response.headers = headers_of(answer ? GrpcStatus{GrpcCode::ok, ""} : answer.error());
  if (answer) response.body.emplace_back(wire::frame_grpc_message(*answer));
  return response;
}

// The one message of a whole request body; nullopt if it is anything else.
std::optional<std::string> message_in(const std::string& body) {
  wire::GrpcMessageReader reader(EtcdModel::kMaxRequestBytes * 2);
  reader.append(body);
  const auto message = reader.next();
  if (!message || !*message || !reader.at_boundary()) return std::nullopt;
  return std::string(**message);
}

Bytes framed(const etcd::WatchResponse& response) {
  std::string bytes;
  wire::begin_grpc_message(bytes);
  etcd::encode(bytes, response);
  wire::end_grpc_message(bytes, 0);
  return Bytes(std::move(bytes));
}

}  // namespace

// What the HTTP server of one machine calls: which machine it was is all it adds.
class EtcdMembers::Member final : public http::Handler {
 public:
  Member(EtcdMembers& members, Machine& machine) : members_(members), machine_(machine) {}

  Task<void> serve(http::Exchange& exchange) override {
    const std::string path = exchange.request().target;
    std::optional<std::string> message = message_in(exchange.request().body);
    if (!message) {
      http::Response refused =
          response_of(std::unexpected(GrpcStatus{GrpcCode::internal, "grpc: malformed request"}));
      (void)co_await exchange.respond(std::move(refused));
    } else if (path == etcd::kWatchPath) {
      co_await members_.watch(machine_, exchange, std::move(*message));
    } else {
      const EtcdModel::Answer answer =
          co_await members_.answer(machine_, path, std::move(*message));
      http::Response response = response_of(answer);
      (void)co_await exchange.respond(std::move(response));
    }
  }

 private:
  EtcdMembers& members_;
  Machine& machine_;
};

EtcdMembers::EtcdMembers(World& world, EtcdMembersSettings settings)
    : settings_(settings), random_(world.random_stream("etcd")) {}

std::vector<std::string> EtcdMembers::start(World& world, std::size_t members) {
  for (std::size_t i = 0; i < members; ++i) {
    machines_.push_back("etcd" + std::to_string(machines_.size()));
    world.add_machine(machines_.back()).start([this](Machine& machine) { return serve(machine); });
  }
  return machines_;
}

std::vector<runtime::Endpoint> EtcdMembers::endpoints(std::size_t first) const {
  std::vector<runtime::Endpoint> endpoints;
  endpoints.reserve(machines_.size());
  for (std::size_t i = 0; i < machines_.size(); ++i)
    endpoints.push_back(
        {.host = machines_[(first + i) % machines_.size()], .port = settings_.port});
  return endpoints;
}

Task<void> EtcdMembers::serve(Machine& machine) {
  Member member(*this, machine);
  http::Server server(machine, member);
  const runtime::Endpoint everywhere{.host = "0.0.0.0", .port = settings_.port};
  auto listener = machine.listen(everywhere, nullptr);
  CHECK(listener.has_value());
  co_await server.serve(std::move(*listener));
}

void EtcdMembers::restore(World& world, const EtcdModel& snapshot) {
  world.note("etcd is restored from a snapshot");
  for (const std::string& name : machines_) world.machine(name).crash(Crash::kill());
  model_ = snapshot.restored();
  orphans_.clear();
  for (const std::string& name : machines_) world.machine(name).restart();
}

void EtcdMembers::resume_leader() {
  leader_paused_ = false;
  // What was proposed before the leader stopped may still be in its log, or may have been lost.
  for (const Proposal& orphan : std::exchange(orphans_, {}))
    if (random_.chance(500'000)) (void)apply(orphan);
  changed_.notify();
}

void EtcdMembers::lose_leader() {
  has_leader_ = false;
  changed_.notify();
}

void EtcdMembers::elect_leader() {
  has_leader_ = true;
  changed_.notify();
}

void EtcdMembers::trouble_the_leader(World& world, Duration begin, Duration end) {
  Random random = world.random_stream("leader");
  Duration at = begin + random.between(1s, 8s);
  while (at < end) {
    const Duration until = at + random.between(500ms, 8s);
    if (random.chance(500'000)) {
      world.after(at, [this] { pause_leader(); });
      world.after(until, [this] { resume_leader(); });
    } else {
      world.after(at, [this] { lose_leader(); });
      world.after(until, [this] { elect_leader(); });
    }
    at = until + random.between(2s, 8s);
  }
}

EtcdModel::Answer EtcdMembers::apply(const Proposal& proposal) {
  EtcdModel::Answer answer = proposal.path == etcd::kCompactPath ? model_.compact(proposal.message)
                                                                 : model_.txn(proposal.message);
  changed_.notify();
  return answer;
}

// Waits while the leader is paused. Fails once the request has waited as long as etcd lets it.
Task<Result<>> EtcdMembers::leader_answers() {
  while (leader_paused_) {
    FL_CO_CHECKED(co_await changed_.wait());
  }
  co_return Result<>{};
}

Task<EtcdModel::Answer> EtcdMembers::answer(Machine& machine, std::string path,
                                            std::string message) {
  if (!has_leader_) co_return std::unexpected(kNoLeader);
  if (path == etcd::kStatusPath) co_return model_.status(machine.id(), 1);
  const bool write = path == etcd::kTxnPath || path == etcd::kCompactPath;
  if (!write && path != etcd::kRangePath)
    co_return std::unexpected(GrpcStatus{GrpcCode::unimplemented, "unknown method"});
  Proposal proposal{.path = std::move(path), .message = std::move(message)};
  (void)co_await runtime::sleep(machine, settings_.before_commit.draw(random_));
  const Result<> in_time =
      co_await runtime::with_timeout(machine, settings_.request_time, leader_answers());
  if (!in_time) {
    if (write) orphans_.push_back(std::move(proposal));
    co_return std::unexpected(kTimedOut);
  }
  if (write && random_.chance(settings_.lost_answers_per_million)) {
    if (random_.chance(500'000)) (void)apply(proposal);
    co_return std::unexpected(kTimedOut);
  }
  EtcdModel::Answer answer = write ? apply(proposal) : model_.range(proposal.message);
  // A member that dies now has made the change and told nobody.
  (void)co_await runtime::sleep(machine, settings_.after_commit.draw(random_));
  co_return answer;
}

// One watch per stream, from its start revision on, until the stream, the leader or history ends.
Task<void> EtcdMembers::watch(Machine& machine, http::Exchange& exchange, std::string message) {
  const auto request = etcd::decode_watch_request(message);
  const auto* create = request ? std::get_if<etcd::WatchCreateRequest>(&*request) : nullptr;
  if (!create || !has_leader_) {
    http::Response refused = response_of(std::unexpected(kNoLeader));
    (void)co_await exchange.respond(std::move(refused));
    co_return;
  }
  Following following{
      .create = *create,
      .next = create->start_revision > 0 ? create->start_revision : model_.revision() + 1,
      .compacted_before = model_.compacted()};
  http::ResponseHead head;
  head.headers.add("content-type", "application/grpc");
  if (!co_await exchange.start(std::move(head))) co_return;
  etcd::WatchResponse created;
  created.header = {.cluster_id = 1, .member_id = machine.id(), .revision = model_.revision()};
  created.created = true;
  if (!co_await exchange.write(framed(created))) co_return;
  while (has_leader_) {
    const std::int64_t known = model_.revision();
    (void)co_await runtime::sleep(machine, settings_.watch_lag.draw(random_));
    if (following.next < model_.compacted()) {
      etcd::WatchResponse cancelled;
      cancelled.canceled = true;
      cancelled.compact_revision = model_.compacted();
      (void)co_await exchange.write(framed(cancelled));
      break;
    }
    const Result<> sent = co_await send_until(exchange, following, known);
    if (!sent) co_return;
    if (model_.revision() > known || !has_leader_) continue;
    if (!co_await changed_.wait()) co_return;
  }
  (void)co_await exchange.finish();
}

Task<Result<>> EtcdMembers::send_until(http::Exchange& exchange, Following& following,
                                       std::int64_t last) {
  const std::deque<EtcdModel::Event>& log = model_.log();
  auto event = std::ranges::lower_bound(log, following.next, {}, &EtcdModel::Event::revision);
  std::vector<Bytes> pieces;  // made before waiting: the log may grow meanwhile
  etcd::WatchResponse response;
  bool unfinished = false;
  for (; event != log.end() && event->revision <= last; ++event) {
    if (event->key < following.create.key || event->key >= following.create.range_end) continue;
    // etcd keeps no erasures of the very revision it was compacted to.
    if (event->erased && event->revision == following.compacted_before) continue;
    response.events.push_back({.erased = event->erased,
                               .kv = {.key = event->key,
                                      .create_revision = event->created,
                                      .mod_revision = event->revision,
                                      .version = event->version,
                                      .value = event->value}});
    const bool whole =
        std::next(event) == log.end() || std::next(event)->revision > event->revision;
    const bool cut =
        whole ? random_.chance(500'000) : following.create.fragment && random_.chance(100'000);
    if (!cut) continue;
    response.fragment = unfinished = !whole;
    pieces.push_back(framed(response));
    response = {};
  }
  if (unfinished || !response.events.empty()) pieces.push_back(framed(response));
  following.next = std::max(following.next, last + 1);
  for (Bytes& piece : pieces) {
    FL_CO_CHECKED(co_await exchange.write(std::move(piece)));
  }
  co_return Result<>{};
}

}  // namespace fairlead::sim
