// ApiServer: an HTTP request in, an answer out. The order of the steps is the order of the code in
// api_server.cc: what is asked → room for it → who asks → may they → carry it out → count it.
//
// Owns the verbs; what they stand on (store, cache, identity) is handed in and outlives it. Runs on
// one loop. Every answer, a refusal too, is a Kubernetes Status or a plain text that kubectl shows.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "api/apiserver/access.h"
#include "api/apiserver/admission.h"
#include "api/apiserver/audit_log.h"
#include "api/apiserver/documents.h"
#include "api/apiserver/health.h"
#include "api/apiserver/node_index.h"
#include "api/apiserver/object_writer.h"
#include "api/apiserver/reads.h"
#include "api/apiserver/request_metrics.h"
#include "api/apiserver/reviews.h"
#include "api/apiserver/seats.h"
#include "api/apiserver/transactions.h"
#include "api/apiserver/watches.h"
#include "api/apiserver/writes.h"
#include "api/identity/authenticator.h"
#include "api/identity/authorizer.h"
#include "foundation/base/metrics.h"
#include "foundation/http/server.h"

namespace fairlead::apiserver {

struct ApiServerOptions {
  // Requests under way at once, watches not counted; beyond that, or beyond a user's share of them
  // (seats.h), 429 with Retry-After.
  std::size_t reads = 1'000;
  std::size_t writes = 1'000;
  std::size_t watches = 20'000;
  // What may wait for watchers to take it; beyond that, or beyond a user's share, watches wait.
  std::size_t watch_bytes = 64 << 20;
  // Token and access reviews (reviews.h). A server behind a host cluster leaves them to the host.
  bool reviews = true;
};

// A path outside the API that someone else answers (joining, the console).
class PathHandler {
 public:
  virtual ~PathHandler() = default;
  virtual bool serves(std::string_view path) const = 0;
  // Whether anybody may ask, without credentials.
  virtual bool open_to_all() const = 0;
  virtual Task<Result<>> serve(Request& request) = 0;
};

class ApiServer final : public http::Handler {
 public:
  struct Parts {
    runtime::Runtime& runtime;
    store::Store& store;
    watchcache::WatchCache& cache;
    const resource::Catalog& catalog;
    NodeIndex& nodes;
    identity::Authenticator& authenticator;
    identity::Authorizer& authorizer;
    metrics::Registry& metrics;
  };
  explicit ApiServer(Parts parts, ApiServerOptions options = {});

  Task<void> serve(http::Exchange& exchange) override;
  http::Caller recognise(const http::Request& head, const runtime::PeerInfo& peer) override;
  http::Response refusal(int status, std::string_view reason) const override;

  Health& health() { return health_; }
  ObjectWriter& writer() { return writer_; }
  void set_audit(AuditLog audit) { audit_ = std::move(audit); }
  void add_path(PathHandler& handler) { paths_.push_back(&handler); }
  // The server stops: watches end now, cleanly; other requests go on.
  void end_watches() { watches_.end_all(); }

 private:
  struct Call;
  // There is a serve() for every watch that is open. What comes before ends before it, and is not
  // inlined: its frame would become part of serve()'s.
  [[gnu::noinline]] Task<void> answer(Call& call);
  void conclude(const Call& call, const Result<>& sent);
  [[gnu::noinline]] Task<std::unique_ptr<Status>> receive(Request& request);
  [[gnu::noinline]] Task<Answer<>> identify(Request& request);
  [[gnu::noinline]] Task<Answer<>> admit(Request& request);
  [[gnu::noinline]] Task<Answer<>> permit(Request& request);
  Answer<> take_seat(Request& request);
  void keep_body(Request& request) const;
  bool is_open_to_all(std::string_view path) const;
  // Which answer it gets.
  Task<Result<>> dispatch(Call& call);
  Task<Result<>> dispatch_resource(Call& call);
  Task<Result<>> open_watch(Call& call);
  Task<Result<>> send_metrics(Request& request);
  Answer<> find_kind(Request& request) const;
  PathHandler* path_handler(std::string_view path) const;

  Parts parts_;
  ApiServerOptions options_;
  Access access_;
  NamespaceLifecycle namespace_lifecycle_;
  RequestMetrics metrics_;
  NodeRestriction node_restriction_;
  ObjectWriter writer_;
  Reads reads_;
  Writes writes_;
  Watches watches_;
  Transactions transactions_;
  Documents documents_;
  Reviews reviews_;
  Health health_;
  AuditLog audit_;
  std::vector<PathHandler*> paths_;
  Seats read_seats_;
  Seats write_seats_;
  Seats watch_seats_;
};

}  // namespace fairlead::apiserver
