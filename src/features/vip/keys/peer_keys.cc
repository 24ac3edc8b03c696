#include "features/vip/keys/peer_keys.h"

#include <algorithm>
#include <utility>

#include "features/vip/keys/peer_certificate.h"
#include "foundation/base/log.h"
#include "foundation/base/time_text.h"
#include "foundation/runtime/back_off.h"
#include "foundation/runtime/timed_wait.h"

namespace fairlead::vip {
namespace {

constexpr runtime::BackOff::Limits kDialAgain{.first = 100ms, .longest = 1s, .jitter = true};
constexpr Duration kGreeting = 5s;      // for the handshake and the offers together
constexpr Duration kBetweenBytes = 1s;  // of a connection that stands
constexpr Duration kSilence = 10s;      // then it is lost
constexpr Duration kRenewKey = 30min;
constexpr Duration kKeyLife = 1h;  // after the last byte of a connection
constexpr Duration kLookAtFiles = 2s;
// Visitors that are not known yet. A place is given back a second after it was taken at the
// earliest, so that this is also how many handshakes strangers can cause in a second.
constexpr std::size_t kMostStrangers = 8;
constexpr std::size_t kMostOfMember = 4;
constexpr Duration kPlaceTaken = 1s;

Task<Result<std::string>> read_exactly(runtime::Stream& stream, std::size_t size) {
  std::string bytes(size, '\0');
  for (std::size_t have = 0; have < size;) {
    FL_CO_TRY(const std::size_t got,
              co_await stream.read(std::span(bytes.data() + have, size - have)));
    if (got == 0) co_return fail(Code::unavailable, "it has hung up");
    have += got;
  }
  co_return bytes;
}

Task<Result<KeyOffer>> read_offer(runtime::Stream& stream) {
  FL_CO_TRY(const std::string head, co_await read_exactly(stream, 2));
  const std::size_t size = static_cast<std::size_t>(static_cast<unsigned char>(head[0])) << 8 |
                           static_cast<unsigned char>(head[1]);
  if (size > kMostOfferBytes) co_return fail(Code::invalid, "not an offer of an election peer");
  FL_CO_TRY(const std::string body, co_await read_exactly(stream, size));
  co_return decode_offer(body);
}

// "10.0.0.1" of "10.0.0.1:4711" and of "[::ffff:10.0.0.1]:4711".
std::string host_of(const std::string& address) {
  constexpr std::string_view kMapped = "::ffff:";
  const Result<runtime::Endpoint> at = runtime::Endpoint::parse(address);
  if (!at) return address;
  return at->host.starts_with(kMapped) && at->host.contains('.') ? at->host.substr(kMapped.size())
                                                                 : at->host;
}

// A peer's text, for log and status.
std::string printable(std::string_view text) {
  std::string out;
  for (const char c : text) out.push_back(c >= ' ' && c < 0x7f ? c : '?');
  return out;
}

}  // namespace

PeerKeys::PeerKeys(runtime::Runtime& runtime, metrics::Registry& metrics,
                   std::function<void()> changed)
    : runtime_(runtime),
      changed_(std::move(changed)),
      refused_(metrics.counter("fairlead_vip_peer_connections_refused_total",
                               "TLS connections to the election's port that were refused: "
                               "certificates that do not fit, garbage, too many.")) {
  metrics.gauges_of("fairlead_vip_peer_tls_connected",
                    "1 while the TLS connection with another member of the election stands.",
                    {"peer"}, [connected = connected_] {
                      metrics::Registry::Readings readings;
                      for (const auto& [peer, is] : *connected)
                        readings.push_back({{peer}, is ? 1.0 : 0.0});
                      return readings;
                    });
}

PeerKeys::~PeerKeys() = default;

Result<> PeerKeys::follow(Options options) {
  bool other = options != options_;
  if (!options.tls.empty()) {
    FL_TRY(runtime::TlsCredentials credentials,
           read_tls(runtime_.files(), options.tls, options.node));
    const auto current = tls_->current();
    other = other || !current || credentials != *current;
    tls_->swap(std::move(credentials));
    file_problem_.clear();
  }
  if (!other) return {};
  options_ = std::move(options);
  begin_anew();
  return {};
}

// Every connection ends, and is made anew if it still should be.
void PeerKeys::begin_anew() {
  ++round_;
  if (listener_) listener_->close();
  for (const auto& [name, peer] : peers_) peer->changed.notify();
  followed_.notify();
}

void PeerKeys::set_peers(const std::map<std::string, runtime::Endpoint>& peers) {
  bool fewer_keys = false;
  std::erase_if(peers_, [&](const auto& one) {
    Peer& peer = *one.second;
    const auto at = peers.find(one.first);
    if (at != peers.end() && at->second == peer.at) return false;
    fewer_keys |= !peer.key.empty();
    peer.wanted = false;
    peer.changed.notify();
    connected_->erase(one.first);
    return true;
  });
  for (const auto& [name, at] : peers) {
    if (name == options_.node || peers_.contains(name)) continue;
    auto peer = std::make_shared<Peer>();
    peer->name = name;
    peer->at = at;
    peers_[name] = std::move(peer);
  }
  if (fewer_keys) changed_();
  followed_.notify();
}

std::map<std::string, std::string> PeerKeys::keys() const {
  std::map<std::string, std::string> keys;
  if (!active()) return keys;
  for (const auto& [name, peer] : peers_)
    if (!peer->key.empty()) keys[name] = peer->key;
  return keys;
}

std::vector<PeerKeyReport> PeerKeys::reports() const {
  std::vector<PeerKeyReport> reports;
  if (!active()) return reports;
  for (const auto& [name, peer] : peers_) {
    PeerKeyReport report{.peer = name,
                         .has_key = !peer->key.empty(),
                         .connected = peer->link != 0,
                         .since = {},
                         .expires = {},
                         .problem = peer->link != 0 ? "" : peer->problem};
    if (report.has_key) {
      report.since = rfc3339(peer->since);
      report.expires = rfc3339(peer->expires);
    }
    if (!file_problem_.empty() && report.problem.empty()) report.problem = file_problem_;
    if (!report.connected && report.problem.empty()) report.problem = "it has not connected yet";
    reports.push_back(std::move(report));
  }
  return reports;
}

PeerKeys::PeerPtr PeerKeys::find(const std::string& name) const {
  const auto at = peers_.find(name);
  return at == peers_.end() ? nullptr : at->second;
}

PeerKeys::PeerPtr PeerKeys::find_at(const std::string& address) const {
  const std::string host = host_of(address);
  for (const auto& [name, peer] : peers_)
    if (peer->at.host == host) return peer;
  return nullptr;
}

KeyOffer PeerKeys::own_offer(const std::string& to) {
  return {.from = options_.node,
          .to = to,
          .part = identity::random_bytes([this] { return runtime_.random(); }, kKeyPartBytes),
          .refusal = {}};
}

void PeerKeys::take_key(Peer& peer, std::string key, const runtime::PeerInfo& info) {
  peer.key = std::move(key);
  peer.link = ++links_;
  peer.alive = runtime_.now();
  peer.since = runtime_.wall_now();
  if (const auto shown = identity::Certificate::parse_pem(info.certificate))
    peer.expires = shown->validity().not_after;
  peer.problem.clear();
  (*connected_)[peer.name] = true;
  log::info("election peer authenticated", {{"peer", peer.name},
                                            {"address", info.address},
                                            {"certificateExpires", rfc3339(peer.expires)}});
  changed_();
}

void PeerKeys::lost(Peer& peer, std::uint64_t link, const std::string& problem) {
  if (peer.link != link) return;  // another connection has taken its place
  const bool news = link != 0 || peer.problem != problem;
  peer.link = 0;
  peer.problem = problem;
  (*connected_)[peer.name] = false;
  if (!news || problem.empty()) return;
  // One that has ended is usually there again at once; the key stays.
  log::write(
      link != 0 ? log::Level::info : log::Level::warning,
      link != 0 ? "TLS connection with an election peer ended"
                : "no TLS connection with an election peer",
      {{"peer", peer.name}, {"reason", problem}, {"hasKey", peer.key.empty() ? "no" : "yes"}});
}

// ---- this node dials

Task<void> PeerKeys::dial(PeerPtr peer) {
  runtime::BackOff back_off(kDialAgain);
  while (peer->wanted && active() && options_.node < peer->name) {
    const Instant began = runtime_.now();
    const Result<> outcome = co_await visit_peer(peer);
    if (!outcome && outcome.error().code == Code::cancelled) break;
    lost(*peer, peer->link, outcome ? "" : outcome.error().message);
    if (outcome) continue;  // ended by this node: at once again
    back_off.held(runtime_.now() - began);
    runtime::TimedWait wait(runtime_, peer->changed, runtime_.now() + back_off.next(runtime_));
    const Result<> woken = co_await wait;
    if (!woken && woken.error().code == Code::cancelled) break;
  }
  peer->dialed = false;
}

Task<Result<>> PeerKeys::visit_peer(PeerPtr peer) {
  auto credentials = std::make_shared<runtime::TlsCredentials>(*tls_->current());
  credentials->server_name = peer->name;
  const std::uint64_t round = round_;
  Task<Result<std::unique_ptr<runtime::Stream>>> connecting =
      runtime_.connect(peer->at, credentials);
  FL_CO_TRY(const std::unique_ptr<runtime::Stream> stream,
            co_await runtime::with_timeout(runtime_, kGreeting, std::move(connecting)));
  FL_CO_CHECKED(check_certificate(stream->peer(), peer->name, identity::Purpose::server,
                                  credentials->trusted_ca, runtime_.wall_now()));
  const KeyOffer own = own_offer(peer->name);
  FL_CO_CHECKED(co_await stream->write(encode(own)));
  Task<Result<KeyOffer>> reading = read_offer(*stream);
  FL_CO_TRY(const KeyOffer theirs,
            co_await runtime::with_timeout(runtime_, kGreeting, std::move(reading)));
  if (!theirs.refusal.empty())
    co_return fail(Code::unauthorized, "it refuses this node: " + printable(theirs.refusal));
  if (theirs.from != peer->name)
    co_return fail(Code::unauthorized, "it calls itself " + printable(theirs.from));
  if (!peer->wanted || round != round_) co_return Result<>{};
  take_key(*peer, agree(own, theirs), stream->peer());
  co_return co_await answer_bytes(*stream, peer);
}

// Always reads, so that the end of the other one is noticed at once.
Task<Result<>> PeerKeys::answer_bytes(runtime::Stream& stream, PeerPtr peer) {
  const std::uint64_t round = round_;
  const Instant renew = runtime_.now() + kRenewKey;
  while (peer->wanted && round == round_ && runtime_.now() < renew) {
    Task<Result<std::string>> reading = read_exactly(stream, 1);
    FL_CO_TRY(const std::string byte,
              co_await runtime::with_timeout(runtime_, kSilence, std::move(reading)));
    peer->alive = runtime_.now();
    FL_CO_CHECKED(co_await stream.write(byte));
  }
  co_return Result<>{};
}

// ---- others dial this node

Task<void> PeerKeys::listen() {
  runtime::BackOff back_off(kDialAgain);
  runtime::Scope visits(runtime_);
  for (;;) {
    if (!active()) {
      if (!co_await followed_.wait()) break;
      continue;
    }
    Result<std::unique_ptr<runtime::Listener>> listener = runtime_.listen(options_.listen, tls_);
    if (!listener) {
      if (file_problem_.empty())
        log::warning("election peers cannot connect", {{"error", listener.error().message}});
      file_problem_ = listener.error().message;
      if (!co_await back_off.pause(runtime_)) break;
      continue;
    }
    file_problem_.clear();
    back_off.reset();
    listener_ = std::move(*listener);
    Result<std::unique_ptr<runtime::Stream>> stream = co_await listener_->accept();
    while (stream) {
      visits.spawn(take_visitor(std::move(*stream)));
      stream = co_await listener_->accept();
    }
    listener_.reset();
    if (stream.error().code == Code::cancelled) break;
    if (!co_await runtime::sleep(runtime_, 10ms)) break;
  }
  co_await visits.close();
}

bool PeerKeys::may_enter(const std::string& place, bool member) const {
  const auto at = visitors_.find(place);
  return at == visitors_.end() || at->second < (member ? kMostOfMember : kMostStrangers);
}

Task<void> PeerKeys::take_visitor(std::unique_ptr<runtime::Stream> stream) {
  const PeerPtr neighbour = find_at(stream->peer().address);
  const std::string place = neighbour ? neighbour->name : "";
  if (!may_enter(place, neighbour != nullptr)) {
    refused_.add();
    co_return;
  }
  ++visitors_[place];
  const Instant leaves = runtime_.now() + kPlaceTaken;
  Task<Result<PeerPtr>> greeting = greet_visitor(*stream);
  const Result<PeerPtr> peer =
      co_await runtime::with_timeout(runtime_, kGreeting, std::move(greeting));
  if (!peer && peer.error().code != Code::cancelled) {
    refused_.add();
    const std::string& address = stream->peer().address;
    const std::string reason = "refused a connection from " +
                               address.substr(0, address.rfind(':')) + ": " + peer.error().message;
    log::debug("election peer refused", {{"from", address}, {"reason", peer.error().message}});
    if (neighbour && neighbour->link == 0) lost(*neighbour, 0, reason);
  }
  if (!peer) stream->close();
  if (!peer) (void)co_await runtime::sleep_until(runtime_, leaves);
  if (--visitors_[place] == 0) visitors_.erase(place);
  if (peer) co_await send_bytes(*stream, *peer);
}

Task<Result<PeerKeys::PeerPtr>> PeerKeys::greet_visitor(runtime::Stream& stream) {
  FL_CO_CHECKED(co_await stream.handshake());
  FL_CO_TRY(const KeyOffer theirs, co_await read_offer(stream));
  Result<PeerPtr> peer = judge_visitor(stream.peer(), theirs);
  KeyOffer own = own_offer(theirs.from);
  if (!peer) {
    own.part.clear();
    own.refusal = peer.error().message;
    (void)co_await stream.write(encode(own));
    (void)co_await stream.shutdown_write();
    co_return peer;
  }
  FL_CO_CHECKED(co_await stream.write(encode(own)));
  take_key(**peer, agree(theirs, own), stream.peer());
  co_return peer;
}

Result<PeerKeys::PeerPtr> PeerKeys::judge_visitor(const runtime::PeerInfo& info,
                                                  const KeyOffer& offer) {
  if (!offer.refusal.empty()) return fail(Code::invalid, "an offer without a part of the key");
  const std::string name = printable(offer.from);
  if (Result<> its = check_certificate(info, offer.from, identity::Purpose::client,
                                       tls_->current()->trusted_ca, runtime_.wall_now());
      !its)
    return fail(std::move(its).error().context(name));
  const PeerPtr peer = find(offer.from);
  if (!peer) return fail(Code::unauthorized, name + " is no member");
  if (offer.to != options_.node)
    return fail(Code::invalid,
                name + " means " + printable(offer.to) + ", this is " + options_.node);
  if (offer.from > options_.node)
    return fail(Code::invalid, "of two nodes the one whose name comes first dials");
  return peer;
}

Task<void> PeerKeys::send_bytes(runtime::Stream& stream, PeerPtr peer) {
  const std::uint64_t round = round_, link = peer->link;
  Result<> going;
  while (going && peer->wanted && round == round_ && peer->link == link) {
    going = co_await stream.write(".");
    if (!going) break;
    Task<Result<std::string>> reading = read_exactly(stream, 1);
    const Result<std::string> byte =
        co_await runtime::with_timeout(runtime_, kSilence, std::move(reading));
    if (!byte) going = fail(byte.error());
    if (!byte) break;
    peer->alive = runtime_.now();
    runtime::TimedWait wait(runtime_, peer->changed, runtime_.now() + kBetweenBytes);
    const Result<> woken = co_await wait;
    if (!woken && woken.error().code == Code::cancelled) going = woken;
  }
  if (!going && going.error().code == Code::cancelled) co_return;
  lost(*peer, link, going ? "" : going.error().message);
}

// ---- upkeep

Task<void> PeerKeys::keep_files() {
  for (;;) {
    if (!co_await runtime::sleep(runtime_, kLookAtFiles)) co_return;
    if (!active()) continue;
    Result<runtime::TlsCredentials> credentials =
        read_tls(runtime_.files(), options_.tls, options_.node);
    if (!credentials) {  // perhaps half replaced: those that are in use stay
      if (file_problem_ != credentials.error().message)
        log::warning("certificates of the election not read again",
                     {{"error", credentials.error().message}});
      file_problem_ = credentials.error().message;
      continue;
    }
    if (listener_) file_problem_.clear();
    if (*credentials == *tls_->current()) continue;
    log::info("certificates of the election read again", {{"file", options_.tls.certificate}});
    tls_->swap(std::move(*credentials));
    ++round_;
    for (const auto& [name, peer] : peers_) peer->changed.notify();
  }
}

Task<void> PeerKeys::forget_old_keys() {
  for (;;) {
    if (!co_await runtime::sleep(runtime_, kKeyLife / 60)) co_return;
    bool any = false;
    for (const auto& [name, peer] : peers_) {
      if (peer->key.empty() || runtime_.now() < peer->alive + kKeyLife) continue;
      log::error("the key of an election peer has ended: it could not be renewed",
                 {{"peer", name}, {"reason", peer->problem}});
      peer->key.clear();
      any = true;
    }
    if (any) changed_();
  }
}

Task<void> PeerKeys::run() {
  runtime::Scope scope(runtime_);
  scope.spawn(keep_files());
  scope.spawn(forget_old_keys());
  scope.spawn(listen());
  for (;;) {
    for (const auto& [name, peer] : peers_) {
      if (!active() || peer->dialed || name < options_.node) continue;
      peer->dialed = true;
      scope.spawn(dial(peer));
    }
    if (!co_await followed_.wait()) break;
  }
  co_await scope.close();
}

}  // namespace fairlead::vip
