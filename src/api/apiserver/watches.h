// watch: a stream of events from the watch cache to one client.
//
// Frames are the events' own shared bytes; those that wait go into one write. They are taken only
// when there is room for them (watch_room.h), so that unread bytes are bounded over all watches. A
// client that does not keep up is cut when its queue overflows or room is not found in time, and
// resumes from the last version it saw. A watch whose right ends (watch_right.h), or whose server
// stops, ends cleanly, as at its time limit.
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

// A watch that has sent its head: first the initial events, if any, then the changes.
struct OpenWatch;
struct CloseWatch {
  void operator()(OpenWatch* watch) const;
};
using OpenWatchRef = std::unique_ptr<OpenWatch, CloseWatch>;

class Watches {
 public:
  // `most_bytes`: the budget for unread frames; a second one of the same size is for the references
  // that snapshots of initial events hold.
  Watches(runtime::Runtime& runtime, watchcache::WatchCache& cache, std::size_t most_bytes)
      : runtime_(runtime), cache_(cache), frames_room_(most_bytes), snapshots_room_(most_bytes) {}

  // Checks the options and sends the head. What it returns needs nothing of the request any more;
  // null when the watch was refused, which has then been answered.
  Task<Result<OpenWatchRef>> open(Request& request, std::unique_ptr<WatchRight> right);

  // Streams initial events, then changes, until the client's or the server's time limit, or until
  // the client leaves or falls behind, its right ends, or the server stops.
  Task<Result<>> stream(http::Exchange& exchange, OpenWatch& watch);

  // The node's registration or what is relevant to it has changed: its watches renew their right at
  // once instead of at the next interval.
  void recheck(std::string_view node);
  // Ends every watch cleanly, also those opened later.
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
  // Two budgets, to exclude deadlock: a watch that holds a snapshot waits for room for frames,
  // never the other way round.
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
