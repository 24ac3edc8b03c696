// ObjectId: an object's kind, namespace and name, as the server's own controllers queue it; and the
// few writes they make, through ObjectWriter as any client's.
#pragma once

#include <compare>
#include <functional>
#include <string>

#include "api/apiserver/object_writer.h"
#include "api/resource/kind.h"
#include "api/watchcache/stored_object.h"

namespace fairlead::controllers {

struct ObjectId {
  const resource::Kind* kind = nullptr;
  std::string namespace_name;
  std::string name;

  static ObjectId of(const resource::Kind& kind, const watchcache::Object& object) {
    return {&kind, object.namespace_name, object.name};
  }
  std::string to_string() const { return kind->plural + " " + namespace_name + "/" + name; }
  // By words: the order must not depend on where a kind lies in memory.
  std::strong_ordering operator<=>(const ObjectId& other) const {
    if (auto order = name <=> other.name; order != 0) return order;
    if (auto order = namespace_name <=> other.namespace_name; order != 0) return order;
    if (kind == other.kind) return std::strong_ordering::equal;
    if (auto order = kind->plural <=> other.kind->plural; order != 0) return order;
    return kind->group <=> other.kind->group;
  }
  bool operator==(const ObjectId& other) const { return (*this <=> other) == 0; }
};

// Deletes the object if it still is the one with that uid. An object that is gone or replaced is
// fine.
Task<Result<>> delete_object(apiserver::ObjectWriter& writer, ObjectId id, std::string uid,
                             apimachinery::Propagation propagation, resource::Moment now);

// Changes the live object by `edit`, which returns false when there is nothing to do. Finalizers,
// generation and managed fields follow the rules of any update.
Task<Result<>> edit_object(apiserver::ObjectWriter& writer, ObjectId id, std::string uid,
                           std::string subresource, resource::Moment now,
                           std::function<bool(Json& object)> edit);

}  // namespace fairlead::controllers
