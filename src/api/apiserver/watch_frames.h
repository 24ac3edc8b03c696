// Watch events as bytes for one client: whole objects (frames shared by all watchers), or Tables
// and PartialObjectMetadata made for this one. Pure.
#pragma once

#include <string>

#include "api/apimachinery/request/accept.h"
#include "api/apimachinery/table.h"
#include "api/resource/kind.h"
#include "api/store/store.h"
#include "api/watchcache/event.h"

namespace fairlead::apiserver {

class WatchFrames {
 public:
  WatchFrames(const resource::Kind& kind, apimachinery::Representation form,
              apimachinery::IncludeObject include)
      : kind_(kind), form_(std::move(form)), include_(include) {}

  Bytes event(watchcache::EventType type, const watchcache::Event& event, resource::Moment now);
  // An object that existed when the watch began.
  Bytes initial(const watchcache::ObjectRef& object, resource::Moment now);
  // A bookmark. With `initial_end` it is annotated as the end of the initial events and carries the
  // empty list that client-go expects.
  Bytes bookmark(store::Place place, bool initial_end, resource::Moment now);
  Bytes error(const apimachinery::Status& status) const;

  // An upper bound of the size of that object's frame, before it is encoded.
  std::size_t most_bytes(const watchcache::Object& object) const;

 private:
  bool plain() const { return form_.shape == apimachinery::Shape::object; }
  // True: frames are the cache's own bytes, encoded once for all watchers.
  bool shared() const { return plain() && !kind_.view; }
  std::string empty_list() const;
  Json shaped(Json object, resource::Moment now);

  const resource::Kind& kind_;
  apimachinery::Representation form_;
  apimachinery::IncludeObject include_;
  bool columns_sent_ = false;
};

}  // namespace fairlead::apiserver
