// Object: one version of one API object, immutable, encoded once; and the form it has in the store.
//
// In the store an object is its JSON without resourceVersion (that is known only after the commit),
// behind a small header: format version, and the offset at which `"resourceVersion":"N",` belongs.
// Reading it back therefore splices bytes and never encodes again.
//
//   stored:  01 | varint offset | {"apiVersion":…,"kind":…,"metadata":{  "name":…},"spec":…}
//   served: {"apiVersion":…,"kind":…,"metadata":{"resourceVersion":"7168","name":…
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/resource/kind.h"
#include "api/store/store.h"
#include "foundation/base/bytes.h"
#include "foundation/base/result.h"
#include "foundation/wire/json.h"

namespace fairlead::watchcache {

// One entry of metadata.ownerReferences.
struct Owner {
  std::string api_version;
  std::string kind;
  std::string name;
  std::string uid;
  bool blocks_deletion = false;  // blockOwnerDeletion
  bool operator==(const Owner&) const = default;
};

struct Object {
  std::string namespace_name;  // empty for cluster-scoped kinds
  std::string name;
  std::string uid;
  store::Place place;
  std::string json;              // as served
  std::uint32_t version_at = 0;  // where in json the number of resourceVersion stands
  std::uint32_t version_length = 0;
  std::vector<std::pair<std::string, std::string>> labels;  // sorted by key
  std::vector<std::string> fields;  // values of kind.selectable, in that order
  std::vector<Owner> owners;
  std::int64_t created_at = 0;        // metadata.creationTimestamp, seconds since 1970
  bool deleting = false;              // metadata.deletionTimestamp is set
  bool waits_for_dependents = false;  // deleting, with finalizer foregroundDeletion
  bool orphans_dependents = false;    // deleting, with finalizer orphan

  // "namespace/name", or the name alone: the order of lists.
  std::string key() const;
  // In `memory`, which must outlive it; default: the heap.
  Json decode(const boost::json::storage_ptr& memory = {}) const;
  std::string_view label(std::string_view label_key) const;  // empty when absent; see has_label
  bool has_label(std::string_view label_key) const;
};
using ObjectRef = std::shared_ptr<const Object>;

inline Bytes served_bytes(const ObjectRef& object) { return Bytes::share(object, object->json); }

// The object's JSON as served, but with another resourceVersion (deletions carry their own).
std::string with_version(const Object& object, store::Place place);

// Store keys: "<group or core>/<plural>/" then the object's key.
std::string kind_prefix(const resource::Kind& kind);
std::string store_key(const resource::Kind& kind, std::string_view namespace_name,
                      std::string_view name);
// The part after the kind's prefix.
std::string object_key(const resource::Kind& kind, std::string_view namespace_name,
                       std::string_view name);

// metadata.resourceVersion, if present, is left out. REQUIRES: object.metadata is a non-empty
// object.
Bytes encode_stored(const Json& object);

// The JSON as served of what encode_stored made, once its place is known.
std::string served_text(const Bytes& stored, store::Place place);

// Fails with corrupt on bytes that encode_stored cannot have made.
Result<ObjectRef> decode_stored(const resource::Kind& kind, std::string_view stored,
                                store::Place place);

}  // namespace fairlead::watchcache
