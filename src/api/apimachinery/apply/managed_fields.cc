#include "api/apimachinery/apply/managed_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <tuple>

#include "api/apimachinery/apply/typed_walk.h"
#include "api/apimachinery/request/quoted.h"

namespace fairlead::apimachinery {
namespace {

constexpr std::string_view kAncientManager = "ancient-changes";
// Far more managers than an object has; entries are compared pairwise.
constexpr std::size_t kMaxEntries = 1'000;

FieldSet make_ownerless() {
  FieldSet set;
  set.insert({"f:apiVersion"});
  set.insert({"f:kind"});
  set.insert({"f:metadata"});
  for (const char* name : {"name", "namespace", "creationTimestamp", "selfLink", "uid",
                           "clusterName", "generation", "managedFields", "resourceVersion"}) {
    set.insert({"f:metadata", std::string("f:") + name});
  }
  return set;
}

const JsonArray* managed_list(const Json& object) {
  const Json* list = wire::find(object, "metadata.managedFields");
  return list ? list->if_array() : nullptr;
}

// A client says "forget" with an empty list or with one empty entry.
bool is_reset(const JsonArray& list) {
  if (list.empty()) return true;
  return list.size() == 1 && list[0].is_object() && list[0].get_object().empty();
}

void remove_managed_fields(Json& object) {
  Json* metadata = wire::find(object, "metadata");
  if (metadata && metadata->is_object()) metadata->get_object().stable_erase("managedFields");
}

// The entries to start from: the client's own when it sent some, those of the live object
// otherwise.
ManagedEntries starting_entries(const Json& live, const Json& object, const Writer& writer) {
  const JsonArray* sent = managed_list(object);
  if (sent && writer.subresource.empty()) {
    if (is_reset(*sent)) return {};
    auto parsed = parse_managed_fields(*sent);
    if (parsed && !parsed->empty()) return std::move(*parsed);
  }
  return live_entries(live);
}

ManagedEntry entry_of(const resource::Kind& kind, const Writer& writer, FieldSet fields) {
  ManagedEntry entry;
  entry.manager = writer.manager.empty() ? "unknown" : writer.manager;
  entry.api_version = kind.api_version();
  entry.time = writer.now;
  entry.subresource = writer.subresource;
  entry.fields = std::move(fields);
  return entry;
}

// An object of a built-in type is never without its structs: `spec` of a new one is an empty struct
// that was filled, not a field that was added. So nobody who writes into them owns them; whoever
// applies an empty one does (kube-apiserver 1.26 does the same).
void disown_structs(const resource::Kind& kind, FieldSet& fields) {
  if (!kind.strategic_merge) return;
  FieldSet structs;
  for (const resource::Field& field : kind.schema.fields) {
    const bool is_struct = field.schema.type == resource::Schema::Type::object &&
                           !field.schema.values && !field.schema.fields.empty();
    if (is_struct) structs.insert({"f:" + field.name});
  }
  fields = fields.subtract(structs);
}

bool older(const ManagedEntry& a, const ManagedEntry& b) {
  return std::tie(a.time, a.manager, a.api_version, a.subresource) <
         std::tie(b.time, b.manager, b.api_version, b.subresource);
}

Result<ManagedEntry> parse_entry(const Json& json, std::size_t index) {
  const JsonObject* object = json.if_object();
  if (!object) return fail(Code::invalid, "a managed fields entry must be an object");
  const auto text = [&](std::string_view name) {
    const Json* member = object->if_contains(name);
    return std::string(member && member->is_string() ? std::string_view(member->get_string()) : "");
  };
  ManagedEntry entry;
  const std::string operation = text("operation");
  if (operation != "Apply" && operation != "Update") {
    return fail(Code::invalid, "operation must be `Apply` or `Update`");
  }
  entry.apply = operation == "Apply";
  entry.manager = text("manager");
  entry.api_version = text("apiVersion");
  entry.time = text("time");
  entry.subresource = text("subresource");
  if (entry.api_version.empty()) return fail(Code::invalid, "apiVersion must not be empty");
  const std::string type = text("fieldsType");
  if (type != "FieldsV1") {
    return fail(Code::invalid,
                type.empty() ? fmt::format("missing fieldsType in managed fields entry {}", index)
                             : fmt::format("invalid fieldsType {} in managed fields entry {}",
                                           quoted(type), index));
  }
  if (const Json* fields = object->if_contains("fieldsV1"); fields && !fields->is_null()) {
    FL_TRY(entry.fields, FieldSet::parse(*fields));
  }
  return entry;
}

Json encode_entry(const ManagedEntry& entry) {
  JsonObject object;
  object.reserve(8);
  object.emplace("manager", entry.manager);
  object.emplace("operation", entry.apply ? "Apply" : "Update");
  object.emplace("apiVersion", entry.api_version);
  if (!entry.time.empty()) object.emplace("time", entry.time);
  object.emplace("fieldsType", "FieldsV1");
  object.emplace("fieldsV1", entry.fields.encode());
  if (!entry.subresource.empty()) object.emplace("subresource", entry.subresource);
  return object;
}

}  // namespace

bool ManagedEntry::same_identity(const ManagedEntry& other) const {
  return manager == other.manager && apply == other.apply && subresource == other.subresource &&
         (apply || api_version == other.api_version);
}

Result<ManagedEntries> parse_managed_fields(const Json& list) {
  const JsonArray* array = list.if_array();
  if (!array) return fail(Code::invalid, "managedFields must be a list");
  if (array->size() > kMaxEntries) return fail(Code::invalid, "too many managed fields entries");
  ManagedEntries entries;
  for (std::size_t i = 0; i < array->size(); ++i) {
    FL_TRY(ManagedEntry entry, parse_entry((*array)[i], i));
    const auto same = std::find_if(entries.begin(), entries.end(), [&](const ManagedEntry& known) {
      return known.same_identity(entry);
    });
    if (same == entries.end()) {
      entries.push_back(std::move(entry));
    } else {
      *same = std::move(entry);
    }
  }
  return entries;
}

JsonArray encode_managed_fields(ManagedEntries entries) {
  std::sort(entries.begin(), entries.end(), [](const ManagedEntry& a, const ManagedEntry& b) {
    return a.apply != b.apply ? a.apply : older(a, b);
  });
  JsonArray list;
  list.reserve(entries.size());
  for (const ManagedEntry& entry : entries) list.push_back(encode_entry(entry));
  return list;
}

ManagedEntries live_entries(const Json& live) {
  const Json* list = wire::find(live, "metadata.managedFields");
  if (!list) return {};
  return parse_managed_fields(*list).value_or(ManagedEntries{});
}

void remove_ownerless_metadata(FieldSet& fields) {
  static const FieldSet ownerless = make_ownerless();
  fields = fields.subtract(ownerless);
}

bool is_trackable(const resource::Kind& kind, std::string_view subresource,
                  std::string_view member) {
  // Kept by the server, whatever a client sends; nobody's to own.
  if (member == "extendedMetadata") return false;
  return !kind.has_status || (member == "status") == (subresource == "status");
}

void keep_trackable(const resource::Kind& kind, std::string_view subresource, FieldSet& fields) {
  const auto trackable = [&](const FieldNode& node) {  // a member's element is "f:" and its name
    return is_trackable(kind, subresource, std::string_view(node.element).substr(2));
  };
  if (std::ranges::all_of(fields.nodes(), trackable)) return;
  std::vector<FieldNode> kept;
  std::ranges::copy_if(fields.nodes(), std::back_inserter(kept), trackable);
  fields = FieldSet::from_nodes(std::move(kept));
}

void set_managed_fields(Json& object, ManagedEntries entries) {
  std::erase_if(entries, [](const ManagedEntry& entry) { return entry.fields.empty(); });
  if (entries.empty()) {
    remove_managed_fields(object);
    return;
  }
  JsonObject& metadata = wire::member_object(object.get_object(), "metadata");
  metadata["managedFields"] = encode_managed_fields(std::move(entries));
}

// The oldest updaters of one API version become one entry, until few enough are left.
void merge_oldest_updaters(ManagedEntries& entries) {
  const auto updaters = [&] {
    return static_cast<std::size_t>(std::count_if(
        entries.begin(), entries.end(), [](const ManagedEntry& entry) { return !entry.apply; }));
  };
  if (updaters() <= kMaxUpdateManagers) return;
  std::sort(entries.begin(), entries.end(), older);
  for (std::size_t i = 0; i < entries.size() && updaters() > kMaxUpdateManagers; ++i) {
    if (entries[i].apply) continue;
    // Swallow the next-oldest of the same version into this one, under the common name.
    for (std::size_t j = i + 1; j < entries.size() && updaters() > kMaxUpdateManagers;) {
      if (entries[j].apply || entries[j].api_version != entries[i].api_version) {
        ++j;
        continue;
      }
      entries[i].manager = kAncientManager;
      entries[i].subresource.clear();
      entries[i].time = entries[j].time;
      entries[i].fields = entries[i].fields.unite(entries[j].fields);
      entries.erase(entries.begin() + static_cast<std::ptrdiff_t>(j));
    }
  }
}

ManagedEntry whole_object_entry(const resource::Kind& kind, const Json& object,
                                const Writer& writer) {
  static const Json nothing = JsonObject();
  FieldSet fields = compare_objects(kind.schema, nothing, object, [&](std::string_view member) {
                      return is_trackable(kind, writer.subresource, member);
                    }).changed;
  remove_ownerless_metadata(fields);
  disown_structs(kind, fields);
  return entry_of(kind, writer, std::move(fields));
}

void track_create(const resource::Kind& kind, Json& object, const Writer& writer) {
  remove_managed_fields(object);
  set_managed_fields(object, {whole_object_entry(kind, object, writer)});
}

void track_update(const resource::Kind& kind, const Json& live, Json& object,
                  const Writer& writer) {
  ManagedEntries entries = starting_entries(live, object, writer);
  remove_managed_fields(object);
  // An object that nobody tracked so far, or that was reset, stays untracked until the first apply.
  if (entries.empty()) return;

  Comparison comparison = compare_objects(kind.schema, live, object, [&](std::string_view member) {
    return is_trackable(kind, writer.subresource, member);
  });
  remove_ownerless_metadata(comparison.changed);
  disown_structs(kind, comparison.changed);
  const FieldSet& changed = comparison.changed;
  for (ManagedEntry& entry : entries) {
    if (!changed.empty()) entry.fields = entry.fields.subtract(changed);
    if (!comparison.removed.empty()) entry.fields = entry.fields.subtract(comparison.removed);
  }
  if (!changed.empty()) {
    ManagedEntry mine = entry_of(kind, writer, changed);
    const auto same = std::find_if(entries.begin(), entries.end(), [&](const ManagedEntry& entry) {
      return entry.same_identity(mine);
    });
    if (same == entries.end()) {
      entries.push_back(std::move(mine));
    } else {
      same->fields = same->fields.unite(mine.fields);
      same->time = writer.now;
    }
  }
  std::erase_if(entries, [](const ManagedEntry& entry) { return entry.fields.empty(); });
  merge_oldest_updaters(entries);
  set_managed_fields(object, std::move(entries));
  if (same_but_for_managed_times(live, object)) {
    if (const JsonArray* list = managed_list(live)) {
      wire::member_object(object.get_object(), "metadata")["managedFields"] = *list;
    }
  }
}

}  // namespace fairlead::apimachinery
