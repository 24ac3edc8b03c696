// ApiServer: an HTTP request in, an answer out, in the order of the code in api_server.cc:
//
//   parse the path → authenticate → parse the query → authorise → take a seat (429 when there is
//   none) → dispatch to a verb, document, review, transaction or path handler → metrics, audit log
//
// Health checks and the paths of handlers that are open to all skip authentication, authorisation
// and seats. A watch goes on after its dispatch; it is recorded when it ends.
//
// Owns the verbs; store, cache and identity are handed in and outlive it. Runs on one loop. A
// refusal is a Kubernetes Status; only unknown paths outside the API, the health checks and what
// http::Server refuses by itself (other than 413 and 429) are answered in plain text.
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
  // Seats: how many reads (get, list), writes and watches may be under way at once. When all are
  // taken, or the user's share of them is (seats.h), the answer is 429 with Retry-After.
  std::size_t reads = 1'000;
  std::size_t writes = 1'000;
  std::size_t watches = 20'000;
  // Bytes of watch events that may wait for slow clients, over all watches. When they are used up,
  // or the user's share of them is, a watch pauses before it encodes more (watch_room.h).
  std::size_t watch_bytes = 64 << 20;
  // Whether token and access reviews are served (reviews.h). A server behind a host cluster leaves
  // them to the host.
  bool reviews = true;
};

// Answers paths outside the API: joining (join_service.h) and backup (program/backup_service.h).
class PathHandler {
 public:
  virtual ~PathHandler() = default;
  virtual bool serves(std::string_view path) const = 0;
  // True: requests need no credentials and no permission.
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
  // For shutdown: ends every watch cleanly, also those opened later; other requests go on.
  void end_watches() { watches_.end_all(); }

 private:
  struct Call;
  // serve()'s coroutine frame lives as long as its watch, and there are thousands of watches. The
  // steps before the watch are not inlined, so that their frames do not become part of it.
  [[gnu::noinline]] Task<void> answer(Call& call);
  void conclude(const Call& call, const Result<>& sent);
  [[gnu::noinline]] Task<std::unique_ptr<Status>> receive(Request& request);
  [[gnu::noinline]] Task<Answer<>> identify(Request& request);
  [[gnu::noinline]] Task<Answer<>> admit(Request& request);
  [[gnu::noinline]] Task<Answer<>> permit(Request& request);
  Answer<> take_seat(Request& request);
  void keep_body(Request& request) const;
  bool is_open_to_all(std::string_view path) const;
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
