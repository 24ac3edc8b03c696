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

class Watches {
 public:
  Watches(runtime::Runtime& runtime, watchcache::WatchCache& cache)
      : runtime_(runtime), cache_(cache) {}

  // Streams until the client's or the server's time limit, the client leaves, it falls behind, or
  // `still_allowed` (if given, asked before every write) says no.
  Task<Result<>> watch(Request& request, std::function<bool()> still_allowed = nullptr);

  std::uint64_t open() const { return open_; }
  std::uint64_t events_sent() const { return events_sent_; }
  std::uint64_t cut() const { return cut_; }

 private:
  struct Opened;
  // Apart, and not inlined: what it takes to open a watch is not kept for as long as it is open.
  [[gnu::noinline]] Task<apimachinery::Answer<std::unique_ptr<Opened>>> open_watch(
      Request& request);
  [[gnu::noinline]] Task<Result<>> stream(Request& request, Opened& opened,
                                          std::function<bool()> still_allowed);

  runtime::Runtime& runtime_;
  watchcache::WatchCache& cache_;
  std::uint64_t open_ = 0;
  std::uint64_t events_sent_ = 0;
  std::uint64_t cut_ = 0;
};

}  // namespace fairlead::apiserver
