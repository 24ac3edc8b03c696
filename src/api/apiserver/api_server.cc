#include "api/apiserver/api_server.h"

#include <utility>

#include "api/apimachinery/selector/selector.h"
#include "api/apiserver/no_pods.h"
#include "foundation/base/ids.h"
#include "foundation/base/log.h"

namespace fairlead::apiserver {
namespace {

using apimachinery::refuse;

constexpr std::string_view kMetricsPath = "/metrics";

bool is_read(std::string_view verb) { return verb == "get" || verb == "list" || verb == "head"; }

// What a stranger may say, where strangers may say something (joining).
constexpr std::size_t kStrangersBody = 64 << 10;

// A path that does not parse is answered like one that nobody serves.
Task<Result<>> refuse_request(Request& request, std::unique_ptr<Status> refusal) {
  if (request.info.path.empty() && refusal->code == 404)
    return send_text(request, 404, "404 page not found\n");
  return send_status(request, std::move(*refusal));
}

// Fills the attributes from the parsed request; views into it.
void fill_attributes(Request& request) {
  const apimachinery::RequestInfo& info = request.info;
  request.attributes = {.user = request.user.get(),
                        .verb = info.verb,
                        .is_resource = info.is_resource,
                        .group = info.group,
                        .version = info.version,
                        .resource = info.resource,
                        .subresource = info.subresource,
                        .namespace_ = info.namespace_name,
                        .name = info.name,
                        .path = info.path,
                        .field_selector = {}};
}

Answer<> read_query(Request& request) {
  auto query = apimachinery::parse_target_query(request.exchange.request().target);
  if (!query) return refuse(query.error());
  request.query = std::move(*query);
  return {};
}

Answer<> read_field_selector(Request& request) {
  const std::string_view text = request.query.get_or_empty("fieldSelector");
  if (text.empty()) return {};
  auto selector = apimachinery::FieldSelector::parse(text);
  if (!selector) return refuse(apimachinery::bad_request(selector.error().message));
  request.field_selector = std::move(*selector);
  return {};
}

// A collection that is cut down to one name by a selector is authorised like that one object.
void attach_terms(Request& request) {
  const std::string_view verb = request.info.verb;
  const bool of_many = verb == "list" || verb == "watch" || verb == "deletecollection";
  for (const auto& term : request.field_selector.terms()) {
    request.field_terms.push_back({term.path, term.value, term.equal});
    if (of_many && term.equal && term.path == "metadata.name" && request.attributes.name.empty())
      request.attributes.name = term.value;
  }
  request.attributes.field_selector = request.field_terms;
}

}  // namespace

ApiServer::ApiServer(Parts parts, ApiServerOptions options)
    : parts_(parts),
      options_(options),
      access_(parts.runtime, parts.authenticator, parts.authorizer),
      namespace_lifecycle_(parts.catalog, parts.cache),
      metrics_(parts.metrics),
      node_restriction_(parts.runtime, metrics_.rejections("node_writes")),
      writer_(parts.store, parts.cache),
      reads_(parts.runtime, parts.cache),
      writes_(parts.runtime, parts.cache, writer_, access_),
      watches_(parts.runtime, parts.cache, options.watch_bytes),
      transactions_(parts.runtime, parts.catalog, writer_, access_),
      documents_(parts.catalog,
                 options.reviews ? served_reviews() : std::vector<apimachinery::ServedResource>()),
      reviews_(parts.authenticator, parts.authorizer),
      read_seats_(options.reads),
      write_seats_(options.writes),
      watch_seats_(options.watches) {
  writer_.add_admission(node_restriction_);
  writer_.add_admission(namespace_lifecycle_);
  health_.add("ping", true, [] { return Result<>{}; });
  health_.add("cache", false, [this]() -> Result<> {
    if (!parts_.cache.ready()) return fail(Code::unavailable, "the watch cache is not loaded yet");
    return {};
  });
  metrics::Registry& registry = parts.metrics;
  registry.gauge_of(
      "fairlead_apiserver_requests_under_way", "Requests under way, watches excluded.",
      [this] { return static_cast<double>(read_seats_.taken() + write_seats_.taken()); });
  registry.gauge_of("fairlead_apiserver_watches", "Open watch streams.",
                    [this] { return static_cast<double>(watches_.open()); });
  registry.counter_of("fairlead_apiserver_watch_events_total", "Events sent to watchers.",
                      [this] { return static_cast<double>(watches_.events_sent()); });
  registry.counter_of("fairlead_apiserver_watches_cut_total",
                      "Watch streams ended because the client did not keep up.",
                      [this] { return static_cast<double>(watches_.cut()); });
  registry.counter_of("fairlead_apiserver_watches_revoked_total",
                      "Watch streams ended because who asked for them may no longer see them.",
                      [this] { return static_cast<double>(watches_.revoked()); });
  registry.gauge_of("fairlead_apiserver_watch_bytes", "Bytes that wait for watchers to take them.",
                    [this] { return static_cast<double>(watches_.bytes()); });
  registry.counter_of("fairlead_apiserver_watch_waits_total",
                      "How often a watch had to wait for room for what it was to send.",
                      [this] { return static_cast<double>(watches_.room_waits()); });
  parts.nodes.on_loss([this](std::string_view node) { watches_.recheck(node); });
}

// A request under way, with what is recorded at its end.
struct ApiServer::Call {
  Request request;
  Instant began;
  WallTime received;
  OpenWatchRef watch;  // answered, and goes on
};

Task<void> ApiServer::serve(http::Exchange& exchange) {
  auto call = std::make_unique<Call>(Call{.request = {.exchange = exchange},
                                          .began = parts_.runtime.now(),
                                          .received = parts_.runtime.wall_now(),
                                          .watch = nullptr});
  co_await answer(*call);
  const OpenWatchRef watch = std::move(call->watch);
  if (!watch) co_return;
  const Seat seat = std::move(call->request.seat);
  const resource::Kind* kind = call->request.kind;
  // Watches stay open for an hour, by the thousand: what was asked is kept only for the audit log.
  if (!audit_.enabled()) {
    call.reset();
    exchange.forget_request();
  }
  const Result<> sent = co_await watches_.stream(exchange, *watch);
  if (call) {
    conclude(*call, sent);
  } else {
    metrics_.record(kind, "watch", {}, 200, {});
  }
}

// All of it, or the beginning of a watch.
Task<void> ApiServer::answer(Call& call) {
  Request& request = call.request;
  Result<> sent;
  if (std::unique_ptr<Status> refusal = co_await receive(request)) {
    sent = co_await refuse_request(request, std::move(refusal));
  } else {
    sent = co_await dispatch(call);
  }
  if (!call.watch) conclude(call, sent);
}

void ApiServer::conclude(const Call& call, const Result<>& sent) {
  const Request& request = call.request;
  metrics_.record(request.kind, request.info.verb, request.info.subresource, request.answered,
                  parts_.runtime.now() - call.began);
  if (audit_.enabled())
    audit_.record(request, request.kept_body, call.received, parts_.runtime.wall_now());
  if (!sent && sent.error().code != Code::cancelled)
    log::debug("client left", {{"path", request.info.path}, {"error", sent.error().message}});
}

// What is asked; a reason not to answer it, or nothing.
Task<std::unique_ptr<Status>> ApiServer::receive(Request& request) {
  request.audit_id = request.header("Audit-ID").empty() || request.header("Audit-ID").size() > 64
                         ? random_uuid([this] { return parts_.runtime.random(); })
                         : std::string(request.header("Audit-ID"));
  const http::Request& received = request.exchange.request();
  auto info = apimachinery::parse_request(received.method, received.target);
  if (!info) {
    const Answer<> known = co_await identify(request);
    // A stranger is not told what is wrong with it.
    const bool stranger = !known || request.user->name == identity::kAnonymousUser;
    if (stranger && info.error().code == 400)
      co_return std::make_unique<Status>(known ? apimachinery::unauthorized() : known.error());
    co_return std::make_unique<Status>(std::move(info).error());
  }
  request.info = std::move(*info);
  Answer<> admitted = co_await admit(request);
  if (!admitted) co_return std::make_unique<Status>(std::move(admitted).error());
  co_return nullptr;
}

Task<Answer<>> ApiServer::identify(Request& request) {
  const http::Headers& headers = request.exchange.request().headers;
  // Found a moment ago, by the head. A body may have taken long to come: then it is asked again.
  identity::UserRef noted;
  if (request.exchange.request().body.empty())
    noted = std::static_pointer_cast<const identity::User>(request.exchange.caller().note);
  auto user = co_await access_.identify(request.exchange.peer(),
                                        identity::HeaderFields(headers.begin(), headers.end()),
                                        std::move(noted));
  if (!user) co_return refuse(std::move(user).error());
  request.user = std::move(*user);
  co_return Answer<>{};
}

// Who asks, whether they may, and whether there is room.
Task<Answer<>> ApiServer::admit(Request& request) {
  if (is_open_to_all(request.info.path)) co_return read_query(request);

  Answer<> known = co_await identify(request);
  if (!known) co_return known;
  if (request.user->name != identity::kAnonymousUser) keep_body(request);
  fill_attributes(request);
  // A right may hang on what is selected. A query that cannot be read selects nothing, and that is
  // said only to those who may ask.
  Answer<> understood = read_query(request);
  if (understood) understood = read_field_selector(request);
  attach_terms(request);
  Answer<> allowed = co_await permit(request);
  if (!allowed) co_return allowed;
  if (!understood) co_return understood;
  co_return take_seat(request);
}

bool ApiServer::is_open_to_all(std::string_view path) const {
  if (Health::serves(path)) return true;
  const PathHandler* handler = path_handler(path);
  return handler && handler->open_to_all();
}

Answer<> ApiServer::take_seat(Request& request) {
  const bool watches = request.info.verb == "watch";
  const bool reads = is_read(request.info.verb);
  Seats& seats = watches ? watch_seats_ : reads ? read_seats_ : write_seats_;
  request.seat = seats.take(*request.user);
  if (request.seat) return {};
  const std::string_view kind = watches ? "watches" : reads ? "reads" : "writes";
  metrics_.rejected(seats.full() ? std::string(kind) : "user_" + std::string(kind));
  return refuse(apimachinery::too_many_requests("too many requests, please try again later.", 1));
}

// Bodies of those who proved who they are, if they are not too long.
void ApiServer::keep_body(Request& request) const {
  if (!audit_.enabled() || !audit_.wants_body(request)) return;
  const std::string& body = request.exchange.request().body;
  if (body.size() <= kMaxAuditBody) {
    request.kept_body = body;
  } else {
    request.omitted_body = body.size();
  }
}

http::Caller ApiServer::recognise(const http::Request& head, const runtime::PeerInfo& peer) {
  const identity::AuthRequest question{
      .peer = &peer,
      .headers = identity::HeaderFields(head.headers.begin(), head.headers.end()),
      .now = parts_.runtime.wall_now()};
  const std::optional<Result<identity::UserRef>> found =
      parts_.authenticator.authenticate_now(question);
  // Somebody must be asked: that comes later. Until then it is a stranger's, on little room.
  if (!found) return {};
  const identity::User* user = *found ? (*found)->get() : nullptr;
  if (!user || user->name == identity::kAnonymousUser) {
    const std::string_view path = std::string_view(head.target).substr(0, head.target.find('?'));
    return {.body_bytes = is_open_to_all(path) ? kStrangersBody : 0};
  }
  const bool node = !identity::node_of(*user).empty() && !identity::roles_of(*user).admin;
  return {.standing = node ? http::Standing::limited : http::Standing::trusted,
          .name = user->name,
          .note = **found};
}

http::Response ApiServer::refusal(int status, std::string_view reason) const {
  Status said;
  switch (status) {
    case 413:
      said = apimachinery::request_entity_too_large(reason);
      break;
    case 429:
      said = apimachinery::too_many_requests(std::string(reason), 1);
      break;
    default:
      return Handler::refusal(status, reason);
  }
  http::Response response{.status = status, .headers = {}, .body = {}};
  response.headers.add("content-type", std::string(kJsonType));
  if (status == 429) response.headers.add("retry-after", "1");
  response.body.emplace_back(wire::encode_json(said.to_json()).append("\n"));
  return response;
}

Task<Answer<>> ApiServer::permit(Request& request) {
  // Each operation of a transaction is judged by itself; a stranger's is not even read.
  if (request.info.is_resource && Transactions::serves(request.info)) {
    if (request.user->name == identity::kAnonymousUser)
      co_return refuse(apimachinery::unauthorized());
    co_return Answer<>{};
  }
  co_return co_await access_.permit(request.attributes);
}

PathHandler* ApiServer::path_handler(std::string_view path) const {
  for (PathHandler* handler : paths_)
    if (handler->serves(path)) return handler;
  return nullptr;
}

Task<Result<>> ApiServer::dispatch(Call& call) {
  Request& request = call.request;
  const std::string& path = request.info.path;
  if (Health::serves(path)) return health_.serve(request);
  if (request.info.is_resource) return dispatch_resource(call);
  if (path == kMetricsPath) return send_metrics(request);
  if (PathHandler* handler = path_handler(path)) return handler->serve(request);
  if (documents_.serves(path)) return documents_.serve(request);
  return send_text(request, 404, "404 page not found\n");
}

Task<Result<>> ApiServer::send_metrics(Request& request) {
  std::vector<Bytes> body;
  body.emplace_back(parts_.metrics.expose());
  return send_bytes(request, 200, "text/plain; version=0.0.4; charset=utf-8", std::move(body));
}

Answer<> ApiServer::find_kind(Request& request) const {
  apimachinery::RequestInfo& info = request.info;
  const resource::Kind* kind = parts_.catalog.find(info.group, info.version, info.resource);
  if (!kind) return refuse(apimachinery::unknown_resource());
  if (kind->kind == "Namespace") {
    info.namespace_name.clear();
    // It is authorised in itself; the view must not look at what was cleared.
    if (!request.attributes.namespace_.empty()) request.attributes.namespace_ = info.name;
  }
  const bool scoped = !info.namespace_name.empty();
  const bool known_subresource = info.subresource.empty() ||
                                 (info.subresource == "status" && kind->has_status) ||
                                 (info.subresource == "finalize" && kind->kind == "Namespace");
  const bool needs_namespace = kind->namespaced && (!info.name.empty() || info.verb == "create");
  if (!known_subresource || (scoped && !kind->namespaced) || (needs_namespace && !scoped))
    return refuse(apimachinery::unknown_resource());
  request.kind = kind;
  return {};
}

Task<Result<>> ApiServer::dispatch_resource(Call& call) {
  Request& request = call.request;
  if (options_.reviews && Reviews::serves(request.info))
    return reviews_.serve(request, parts_.runtime.wall_now());
  if (Transactions::serves(request.info)) return transactions_.serve(request);
  if (lists_pods(request.info, parts_.catalog)) return send_no_pods(request, parts_.cache);
  Answer<> found = find_kind(request);
  if (!found) return send_status(request, std::move(found).error());

  const std::string_view verb = request.info.verb;
  const bool whole = request.info.subresource.empty();
  if (verb == "get") return reads_.get(request);
  if (verb == "list" && whole) return reads_.list(request);
  if (verb == "update" && !request.info.name.empty()) return writes_.update(request);
  if (verb == "patch" && !request.info.name.empty()) return writes_.patch(request);
  if (verb == "create" && whole && request.info.name.empty()) return writes_.create(request);
  if (verb == "delete" && whole) return writes_.remove(request);
  if (verb == "deletecollection" && whole) return writes_.remove_collection(request);
  if (verb == "watch" && whole) return open_watch(call);
  return send_status(
      request, apimachinery::method_not_allowed(apimachinery::group_resource(*request.kind), verb));
}

Task<Result<>> ApiServer::open_watch(Call& call) {
  auto right = std::make_unique<WatchRight>(access_, call.request);
  FL_CO_TRY(call.watch, co_await watches_.open(call.request, std::move(right)));
  co_return Result<>{};
}

}  // namespace fairlead::apiserver
