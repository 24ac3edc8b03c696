// ListText: a list in the form that a client asked for, encoded piece by piece.
//
// A long list is encoded while it is sent: a slow client holds one piece in memory, not the list,
// and other requests are served between two pieces. Pure; the pieces together are exactly the
// encoded list.
#pragma once

#include <string>
#include <vector>

#include "api/apimachinery/request/accept.h"
#include "api/apimachinery/table.h"
#include "api/resource/kind.h"
#include "api/watchcache/stored_object.h"

namespace fairlead::apiserver {

class ListText {
 public:
  // `table` is used for lists in the form of a Table. `kind` outlives this.
  ListText(const resource::Kind& kind, std::vector<watchcache::ObjectRef> objects,
           const apimachinery::ListMeta& meta, apimachinery::Representation form,
           apimachinery::TableOptions table);

  // The next piece: at least `enough` bytes, or all that is left; empty at the end.
  std::string next(std::size_t enough);
  bool ended() const { return ended_; }

 private:
  Json envelope(const apimachinery::ListMeta& meta) const;
  Json item(const watchcache::ObjectRef& object) const;
  void append_item(std::string& out, const watchcache::ObjectRef& object);

  const resource::Kind& kind_;
  std::vector<watchcache::ObjectRef> objects_;
  apimachinery::Representation form_;
  apimachinery::TableOptions table_;
  std::string head_;
  std::string tail_;
  std::size_t next_ = 0;
  bool ended_ = false;
};

}  // namespace fairlead::apiserver
