// watch: a stream of events from the watch cache to one client.
//
// Frames are the events' own shared bytes, several to a write when several wait. A client that does
// not keep up is cut by its subscription's bound; it resumes from the last version it saw. A watch
// whose right ends (watch_right.h) and one of a server that stops end cleanly, as at their time
// limit.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "apiserver/request.h"
#include "apiserver/watch_right.h"
#include "runtime/runtime.h"
#include "watchcache/watch_cache.h"

namespace fairlead::apiserver {

// A watch that has told what there was and goes on with what changes.
struct OpenWatch;
struct CloseWatch {
  void operator()(OpenWatch* watch) const;
};
using OpenWatchRef = std::unique_ptr<OpenWatch, CloseWatch>;

class Watches {
 public:
  Watches(runtime::Runtime& runtime, watchcache::WatchCache& cache)
      : runtime_(runtime), cache_(cache) {}

  // Sends the head and what there is now. What comes back needs nothing of the request any more;
  // null when all has been said, which a refusal is.
  Task<Result<OpenWatchRef>> open(Request& request, std::unique_ptr<WatchRight> right);

  // Streams until the client's or the server's time limit, the client leaves, it falls behind, its
  // right ends, or the server stops.
  Task<Result<>> stream(http::Exchange& exchange, OpenWatch& watch);

  // The node's registration or what is relevant to it has changed: its watches ask for their right
  // at once instead of at the next turn.
  void recheck(std::string_view node);
  // Every watch ends now, also those that are opened later.
  void end_all();

  std::uint64_t open() const { return open_.size(); }
  std::uint64_t events_sent() const { return events_sent_; }
  std::uint64_t cut() const { return cut_; }
  std::uint64_t revoked() const { return revoked_; }

 private:
  friend struct OpenWatch;
  struct Opening;
  // By node (empty: none), then in the order of their opening.
  using Place = std::pair<std::string, std::uint64_t>;
  Task<apimachinery::Answer<Opening>> subscribe(Request& request);
  // False when the right has ended.
  Task<bool> renew(http::Exchange& exchange, OpenWatch& watch);

  runtime::Runtime& runtime_;
  watchcache::WatchCache& cache_;
  // Copies of frames that wait for clients, see Batch.
  std::shared_ptr<std::size_t> joined_bytes_ = std::make_shared<std::size_t>(0);
  std::map<Place, OpenWatch*> open_;
  std::uint64_t next_number_ = 0;
  bool ending_ = false;
  std::uint64_t events_sent_ = 0;
  std::uint64_t cut_ = 0;
  std::uint64_t revoked_ = 0;
};

}  // namespace fairlead::apiserver
