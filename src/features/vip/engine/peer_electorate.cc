#include "features/vip/engine/peer_electorate.h"

#include <algorithm>
#include <utility>

#include "foundation/base/log.h"
#include "foundation/runtime/scope.h"

namespace fairlead::vip {
namespace {

constexpr int kStateMode = 0600;
constexpr std::size_t kMostQueued = 1'024;  // datagrams; further ones are dropped, as networks do

Result<EngineState> read_state(runtime::Runtime& runtime, const EngineOptions& options) {
  const Result<std::string> text = runtime.files().read(options.state);
  if (text) {
    Result<EngineState> state = decode_state(*text);
    if (!state) return fail(std::move(state).error().context(options.state));
    if (!state->node.empty() && state->node != options.node)
      return fail(Code::invalid, options.state + ": belongs to node " + state->node + ", this is " +
                                     options.node +
                                     ": if its disk was copied or the node has another name now, "
                                     "delete the file");
    state->node = options.node;
    return state;
  }
  if (text.error().code != Code::not_found) return fail(text.error());
  EngineState state{
      .node = options.node,
      .instance = runtime.random() | 1,
      .durable = {.reserved_term = 0, .log = {{.version = {}, .settings = options.settings}}}};
  std::ranges::sort(state.durable.log.front().settings.members);
  FL_CHECKED(runtime.files().write_atomically(options.state, encode(state), kStateMode));
  return state;
}

}  // namespace

Result<std::unique_ptr<PeerElectorate>> PeerElectorate::open(runtime::Runtime& runtime,
                                                             EngineOptions options) {
  FL_CHECKED(check(options.settings.timing));
  if (!options.settings.find(options.node))
    return fail(Code::invalid, "node " + options.node + " is none of the members");
  FL_TRY(EngineState state, read_state(runtime, options));
  auto socket = runtime.open_datagram(options.listen);
  if (!socket) return fail(std::move(socket).error().context("listen"));
  return std::unique_ptr<PeerElectorate>(
      new PeerElectorate(runtime, std::move(options), std::move(state), std::move(*socket)));
}

PeerElectorate::PeerElectorate(runtime::Runtime& runtime, EngineOptions options, EngineState state,
                               std::unique_ptr<runtime::DatagramSocket> socket)
    : runtime_(runtime),
      options_(std::move(options)),
      instance_(state.instance),
      socket_(std::move(socket)),
      sessions_({.self = {options_.node, runtime_.random() | 1},
                 .secret = options_.secret,
                 .keyed = options_.keyed}) {
  elector_.emplace(ElectorOptions{.self = options_.node,
                                  .incarnation = sessions_.self().incarnation,
                                  .instance = instance_,
                                  .durable = std::move(state.durable)},
                   runtime_.now(), [this] { return runtime_.random(); });
  follow_members();
}

void PeerElectorate::follow_members() {
  const Entry& latest = elector_->raft().latest();
  members_ = latest.version;
  addresses_.clear();
  std::vector<std::string> names;
  for (const Member& member : latest.settings.members) {
    names.push_back(member.name);
    if (Result<runtime::Endpoint> at = runtime::Endpoint::parse(member.address))
      addresses_[member.name] = std::move(*at);
  }
  sessions_.set_peers(names);
  tell_problem(options_.node, elector_->problem_of(options_.node));
}

void PeerElectorate::tell_problem(const std::string& node, const std::string& problem) {
  std::string& told = told_[node];
  if (told == problem) return;
  told = problem;
  if (problem.empty())
    log::info("election member is listened to again", {{"member", node}});
  else
    log::error("election member is not listened to", {{"member", node}, {"reason", problem}});
}

void PeerElectorate::carry() {
  for (const Elector::Envelope& envelope : elector_->take_messages()) {
    if (std::optional<std::string> probe = sessions_.probe(envelope.to))
      queue(envelope.to, std::move(*probe));
    queue(envelope.to, sessions_.send(envelope.to, envelope.message));
  }
  if (elector_->raft().latest().version != members_) follow_members();
  if (sessions_.changes() != sessions_seen_) {
    sessions_seen_ = sessions_.changes();
    farewells_changed().notify();
  }
  to_write_.notify();
}

void PeerElectorate::queue(const std::string& to, std::string bytes) {
  if (outgoing_.size() >= kMostQueued || gone_ || bytes.empty()) return;
  outgoing_.push_back({to, std::move(bytes)});
  to_send_.notify();
}

void PeerElectorate::set_keys(const std::map<std::string, std::string>& keys) {
  sessions_.set_keys(keys);
}

Task<void> PeerElectorate::send() {
  for (;;) {
    while (!outgoing_.empty()) {
      const Outgoing one = std::move(outgoing_.front());
      outgoing_.pop_front();
      const auto at = addresses_.find(one.to);
      if (at == addresses_.end()) continue;
      const runtime::Endpoint to = at->second;  // the members may change meanwhile
      const Result<> sent = co_await socket_->send(to, one.bytes);
      if (!sent && sent.error().code == Code::cancelled) co_return;
    }
    if (!co_await to_send_.wait()) co_return;
  }
}

Task<void> PeerElectorate::receive() {
  for (;;) {
    const Result<runtime::Datagram> datagram = co_await socket_->receive();
    if (!datagram) {
      if (datagram.error().code == Code::cancelled) co_return;
      if (!co_await runtime::sleep(runtime_, 10ms)) co_return;
      continue;
    }
    Sessions::Outcome outcome = sessions_.receive(datagram->bytes);
    if (!outcome.refused.empty())
      log::debug("datagram refused",
                 {{"from", datagram->from.to_string()}, {"reason", outcome.refused}});
    if (!outcome.knock.empty()) elector_->knocked(runtime_.now(), outcome.knock);
    if (outcome.reply) queue(outcome.reply->first, std::move(outcome.reply->second));
    if (outcome.received) {
      const std::string& from = outcome.received->from;
      elector_->receive(runtime_.now(), from, outcome.received->message);
      tell_problem(from, elector_->problem_of(from));
    }
    settle_();
  }
}

Task<void> PeerElectorate::keep_state() {
  for (;;) {
    if (std::optional<Raft::Write> write = elector_->take_write()) {
      std::string text = encode(EngineState{
          .node = options_.node, .instance = instance_, .durable = std::move(write->durable)});
      // Nothing of this object: it may be gone before the disk has answered.
      Result<> written = co_await runtime::blocking(
          runtime_, [&files = runtime_.files(), path = options_.state, text = std::move(text)] {
            return files.write_atomically(path, text, kStateMode);
          });
      if (!written) {
        log::error("election state not written",
                   {{"file", options_.state}, {"error", written.error().to_string()}});
        if (!co_await runtime::sleep(runtime_, 1s)) co_return;
        elector_->write_failed();
        continue;
      }
      elector_->written(runtime_.now(), write->number);
      settle_();
      continue;
    }
    if (!co_await to_write_.wait()) co_return;
  }
}

std::vector<Farewell> PeerElectorate::farewells() const {
  std::vector<Farewell> all;
  for (const auto& [name, at] : addresses_) {
    if (name == options_.node) continue;
    if (std::optional<std::string> bytes = sessions_.farewell(name, elector_->farewell()))
      all.push_back({at, std::move(*bytes)});
  }
  return all;
}

Task<void> PeerElectorate::say_farewell() {
  gone_ = true;  // nothing is sent after it
  outgoing_.clear();
  for (const Farewell& farewell : farewells())
    (void)co_await socket_->send(farewell.to, farewell.bytes);
}

Task<void> PeerElectorate::run(std::function<void()> settle) {
  settle_ = std::move(settle);
  runtime::Scope scope(runtime_);
  scope.spawn(receive());
  scope.spawn(send());
  scope.spawn(keep_state());
  co_await scope.join();
}

}  // namespace fairlead::vip
