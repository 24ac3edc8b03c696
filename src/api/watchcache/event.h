// Event: one change of one object, shared by every watcher that sees it. What watchers are sent is
// encoded once per form, on first use, and shared as bytes.
#pragma once

#include <array>
#include <memory>

#include "api/watchcache/stored_object.h"
#include "foundation/base/bytes.h"

namespace fairlead::watchcache {

// What a watcher is told. A change that moves an object into or out of a watcher's selection is
// added or deleted to that watcher, whatever it was in the store.
enum class EventType { added, modified, deleted };

class Event {
 public:
  // `before` null: created; `after` null: erased at `place`.
  Event(ObjectRef before, ObjectRef after, store::Place place)
      : before_(std::move(before)), after_(std::move(after)), place_(place) {}

  const ObjectRef& before() const { return before_; }
  const ObjectRef& after() const { return after_; }
  store::Place place() const { return place_; }

  // The object as the watcher is to see it: the new version; for deleted the previous content with
  // the resourceVersion of this change.
  const ObjectRef& shown(EventType type) const;

  // `{"type":"ADDED","object":{…}}` and a newline.
  const Bytes& frame(EventType type) const;
  // They are made again when somebody asks: nearly all watchers are served by now.
  void forget_frames() const { frames_ = {}; }

  // An estimate of what keeping this event costs.
  std::size_t bytes() const;

 private:
  ObjectRef before_;
  ObjectRef after_;
  store::Place place_;
  mutable ObjectRef tombstone_;
  mutable std::array<Bytes, 3> frames_;
};
using EventRef = std::shared_ptr<const Event>;

std::string_view event_type_name(EventType type);

}  // namespace fairlead::watchcache
