// watch: a stream of events from the watch cache to one client.
//
// Frames are the events' own shared bytes, several to a write when several wait. They are made when
// there is room for them (watch_room.h), so that what waits for clients is bounded over all
// watches. A client that does not keep up is cut by its subscription's bound; it resumes from the
// last version it saw. A watch whose right ends (watch_right.h) and one of a server that stops end
// cleanly, as at their time limit.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "api/apiserver/request.h"
#include "api/apiserver/watch_right.h"
#include "api/apiserver/watch_room.h"
#include "api/watchcache/watch_cache.h"
#include "foundation/runtime/runtime.h"

namespace fairlead::apiserver {

// A watch that was admitted: it tells what there was, then what changes.
struct OpenWatch;
struct CloseWatch {
  void operator()(OpenWatch* watch) const;
};
using OpenWatchRef = std::unique_ptr<OpenWatch, CloseWatch>;

class Watches {
 public:
  // `most_bytes` may wait for clients to take them, and as much again for references to what there
  // was when watches began.
  Watches(runtime::Runtime& runtime, watchcache::WatchCache& cache, std::size_t most_bytes)
      : runtime_(runtime), cache_(cache), frames_room_(most_bytes), snapshots_room_(most_bytes) {}

  // Sends the head. What comes back needs nothing of the request any more; null when all has been
  // said, which a refusal is.
  Task<Result<OpenWatchRef>> open(Request& request, std::unique_ptr<WatchRight> right);

  // Streams what there is, then what changes, until the client's or the server's time limit, the
  // client leaves, it falls behind, its right ends, or the server stops.
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
  std::size_t bytes() const { return frames_room_.taken() + snapshots_room_.taken(); }
  std::uint64_t room_waits() const { return frames_room_.waits() + snapshots_room_.waits(); }

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
  // Apart: who holds a snapshot waits for room for its frames, never the other way round.
  WatchRoom frames_room_;
  WatchRoom snapshots_room_;
  std::map<Place, OpenWatch*> open_;
  std::uint64_t next_number_ = 0;
  bool ending_ = false;
  std::uint64_t events_sent_ = 0;
  std::uint64_t cut_ = 0;
  std::uint64_t revoked_ = 0;
};

}  // namespace fairlead::apiserver
