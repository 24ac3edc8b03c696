// watch: a stream of events from the watch cache to one client.
//
// Frames are the events' own shared bytes, several to a write when several wait. A client that does
// not keep up is cut by its subscription's bound; it resumes from the last version it saw.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "apiserver/request.h"
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
  Task<Result<OpenWatchRef>> open(Request& request, std::function<bool()> still_allowed = nullptr);

  // Streams until the client's or the server's time limit, the client leaves, it falls behind, or
  // `still_allowed` (if given, asked before every write) says no.
  Task<Result<>> stream(http::Exchange& exchange, OpenWatch& watch);

  std::uint64_t open() const { return open_; }
  std::uint64_t events_sent() const { return events_sent_; }
  std::uint64_t cut() const { return cut_; }

 private:
  struct Opening;
  Task<apimachinery::Answer<Opening>> subscribe(Request& request);

  runtime::Runtime& runtime_;
  watchcache::WatchCache& cache_;
  // Copies of frames that wait for clients, see Batch.
  std::shared_ptr<std::size_t> joined_bytes_ = std::make_shared<std::size_t>(0);
  std::uint64_t open_ = 0;
  std::uint64_t events_sent_ = 0;
  std::uint64_t cut_ = 0;
};

}  // namespace fairlead::apiserver
