// metadata.managedFields: who owns which field.
//
// track_create and track_update run on every write that is not an apply; server_side_apply.h does
// the rest. The semantics are structured-merge-diff's: a manager owns what it added or changed,
// whoever changes a field takes it from everyone else, and a removed field is owned by nobody.
// Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/apimachinery/apply/field_set.h"
#include "api/resource/kind.h"
#include "foundation/wire/json.h"

namespace fairlead::apimachinery {

struct Writer {
  std::string manager;      // fieldManager, or what the User-Agent gave
  std::string subresource;  // "" or "status"
  std::string now;          // RFC 3339, whole seconds, Z
};

struct ManagedEntry {
  std::string manager;
  bool apply = false;  // operation Apply, else Update
  std::string api_version;
  std::string time;
  std::string subresource;
  FieldSet fields;

  // Entries of one identity are one entry; appliers keep theirs across API versions.
  bool same_identity(const ManagedEntry& other) const;
};

using ManagedEntries = std::vector<ManagedEntry>;

inline constexpr std::size_t kMaxUpdateManagers = 10;

// Fails with invalid on an entry without operation, apiVersion or fieldsType FieldsV1.
Result<ManagedEntries> parse_managed_fields(const Json& list);
JsonArray encode_managed_fields(ManagedEntries entries);  // in Kubernetes' order

// The object is about to be created: everything in it belongs to the writer.
void track_create(const resource::Kind& kind, Json& object, const Writer& writer);

// `object` is about to replace `live`. Takes the managedFields that the client sent when it sent
// valid ones, those of `live` otherwise; `[]` and `[{}]` reset them. When nothing but times would
// differ, the entries of `live` stay as they are.
void track_update(const resource::Kind& kind, const Json& live, Json& object, const Writer& writer);

// The parts shared with server-side apply.
ManagedEntries live_entries(const Json& live);
void remove_ownerless_metadata(FieldSet& fields);  // name, uid, resourceVersion, …
// Whether a writer of the subresource ("" for the object) may own anything in that member.
bool is_trackable(const resource::Kind& kind, std::string_view subresource,
                  std::string_view member);
// Of `fields`, those in trackable members.
void keep_trackable(const resource::Kind& kind, std::string_view subresource, FieldSet& fields);
void set_managed_fields(Json& object, ManagedEntries entries);
void merge_oldest_updaters(ManagedEntries& entries);
// Ownership of everything in `object`, as a create by `writer` gives it.
ManagedEntry whole_object_entry(const resource::Kind& kind, const Json& object,
                                const Writer& writer);

// True when the objects differ at most in the times of managedFields: then nothing is written.
bool same_but_for_managed_times(const Json& live, const Json& object);

}  // namespace fairlead::apimachinery
