#include "api/watchcache/stored_object.h"

#include <algorithm>
#include <chrono>

#include "foundation/base/check.h"
#include "foundation/base/time_text.h"

namespace fairlead::watchcache {
namespace {

constexpr char kFormat = 1;
constexpr std::string_view kVersionOpen = "\"resourceVersion\":\"";
constexpr std::string_view kVersionClose = "\",";

// Most of an object is what the cache only passes on.
constexpr std::string_view kNotLookedAt[] = {"metadata.managedFields", "metadata.annotations",
                                             "extendedMetadata"};

void append_varint(std::string& out, std::uint64_t value) {
  while (value >= 0x80) {
    out.push_back(static_cast<char>(value | 0x80));
    value >>= 7;
  }
  out.push_back(static_cast<char>(value));
}

// The number and how many bytes it took; nothing on a malformed one.
std::optional<std::pair<std::uint64_t, std::size_t>> read_varint(std::string_view bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < bytes.size() && i < 5; ++i) {
    const auto byte = static_cast<unsigned char>(bytes[i]);
    value |= static_cast<std::uint64_t>(byte & 0x7f) << (7 * i);
    if (!(byte & 0x80)) return std::pair{value, i + 1};
  }
  return std::nullopt;
}

std::string number_text(store::Place place) { return std::to_string(place.number()); }

void append_member(std::string& out, std::string_view name, const Json& value) {
  wire::encode_json_to(out, Json(name));
  out.push_back(':');
  wire::encode_json_to(out, value);
}

std::vector<std::pair<std::string, std::string>> read_labels(const Json& object) {
  std::vector<std::pair<std::string, std::string>> labels;
  const Json* map = wire::find(object, "metadata.labels");
  if (!map || !map->is_object()) return labels;
  for (const auto& [key, value] : map->get_object())
    if (value.is_string()) labels.emplace_back(key, value.get_string());
  std::ranges::sort(labels);
  return labels;
}

std::vector<Owner> read_owners(const Json& object) {
  std::vector<Owner> owners;
  const Json* list = wire::find(object, "metadata.ownerReferences");
  if (!list || !list->is_array()) return owners;
  for (const Json& entry : list->get_array()) {
    const Json* blocks = wire::find(entry, "blockOwnerDeletion");
    owners.push_back({.api_version = std::string(wire::find_string(entry, "apiVersion")),
                      .kind = std::string(wire::find_string(entry, "kind")),
                      .name = std::string(wire::find_string(entry, "name")),
                      .uid = std::string(wire::find_string(entry, "uid")),
                      .blocks_deletion = blocks && blocks->is_bool() && blocks->get_bool()});
  }
  return owners;
}

bool has_finalizer(const Json& object, std::string_view name) {
  const Json* list = wire::find(object, "metadata.finalizers");
  return list && list->is_array() && std::ranges::any_of(list->get_array(), [&](const Json& entry) {
           return entry.is_string() && entry.get_string() == name;
         });
}

std::int64_t read_created(const Json& object) {
  const auto time = parse_rfc3339(wire::find_string(object, "metadata.creationTimestamp"));
  return time ? std::chrono::floor<std::chrono::seconds>(time->time_since_epoch()).count() : 0;
}

}  // namespace

std::string Object::key() const {
  return namespace_name.empty() ? name : namespace_name + "/" + name;
}

Json Object::decode(const boost::json::storage_ptr& memory) const {
  auto parsed = wire::parse_json(json, {.memory = memory});
  CHECK(parsed);  // it was parsed when it was taken from the store
  return std::move(parsed->value);
}

std::string_view Object::label(std::string_view label_key) const {
  const auto at = std::ranges::lower_bound(
      labels, label_key, {}, [](const auto& entry) { return std::string_view(entry.first); });
  return at != labels.end() && at->first == label_key ? std::string_view(at->second)
                                                      : std::string_view();
}

bool Object::has_label(std::string_view label_key) const {
  return std::ranges::binary_search(
      labels, label_key, {}, [](const auto& entry) { return std::string_view(entry.first); });
}

std::string with_version(const Object& object, store::Place place) {
  std::string json;
  json.reserve(object.json.size() + 4);
  json.append(object.json, 0, object.version_at);
  json.append(number_text(place));
  json.append(object.json, object.version_at + object.version_length);
  return json;
}

std::string kind_prefix(const resource::Kind& kind) {
  return (kind.group.empty() ? "core" : kind.group) + "/" + kind.plural + "/";
}

std::string object_key(const resource::Kind& kind, std::string_view namespace_name,
                       std::string_view name) {
  std::string key;
  if (kind.namespaced) key.append(namespace_name).push_back('/');
  key.append(name);
  return key;
}

std::string store_key(const resource::Kind& kind, std::string_view namespace_name,
                      std::string_view name) {
  return kind_prefix(kind) + object_key(kind, namespace_name, name);
}

Bytes encode_stored(const Json& object) {
  const JsonObject& members = object.as_object();
  const JsonObject& metadata = members.at("metadata").as_object();
  std::string json = "{";
  json.reserve(1024);
  for (std::string_view name : {"apiVersion", "kind"}) {
    if (const Json* value = members.if_contains(name)) {
      append_member(json, name, *value);
      json.push_back(',');
    }
  }
  json.append("\"metadata\":{");
  const std::size_t insert_at = json.size();
  bool first = true;
  for (const auto& [name, value] : metadata) {
    if (name == "resourceVersion") continue;
    if (!std::exchange(first, false)) json.push_back(',');
    append_member(json, name, value);
  }
  CHECK(!first);
  json.push_back('}');
  for (const auto& [name, value] : members) {
    if (name == "apiVersion" || name == "kind" || name == "metadata") continue;
    json.push_back(',');
    append_member(json, name, value);
  }
  json.push_back('}');

  std::string stored(1, kFormat);
  append_varint(stored, insert_at);
  stored.append(json);
  return Bytes(std::move(stored));
}

namespace {

struct Split {
  std::string_view text;  // the JSON without resourceVersion
  std::size_t insert_at;
};

Result<Split> split_stored(std::string_view stored) {
  if (stored.empty()) return fail(Code::corrupt, "stored object is empty");
  if (stored[0] != kFormat)
    return fail(Code::corrupt, "stored object has unknown format " + std::to_string(stored[0]));
  const auto offset = read_varint(stored.substr(1));
  if (!offset) return fail(Code::corrupt, "stored object has a malformed header");
  const auto [insert_at, header] = *offset;
  const std::string_view text = stored.substr(1 + header);
  if (insert_at == 0 || insert_at >= text.size())
    return fail(Code::corrupt, "stored object has a malformed header");
  return Split{text, insert_at};
}

std::string insert_version(const Split& split, std::string_view number) {
  std::string json;
  json.reserve(split.text.size() + kVersionOpen.size() + number.size() + kVersionClose.size());
  json.append(split.text.substr(0, split.insert_at)).append(kVersionOpen);
  json.append(number).append(kVersionClose).append(split.text.substr(split.insert_at));
  return json;
}

}  // namespace

std::string served_text(const Bytes& stored, store::Place place) {
  const Result<Split> split = split_stored(stored.view());
  CHECK(split);
  return insert_version(*split, number_text(place));
}

Result<ObjectRef> decode_stored(const resource::Kind& kind, std::string_view stored,
                                store::Place place) {
  FL_TRY(const Split split, split_stored(stored));
  JsonArena memory(2 * split.text.size());
  auto parsed = wire::parse_json(split.text, {.memory = &memory, .skip = kNotLookedAt});
  if (!parsed) return fail(Error{Code::corrupt, parsed.error().message}.context("stored object"));
  const Json& value = parsed->value;

  auto object = std::make_shared<Object>();
  const std::string number = number_text(place);
  object->json = insert_version(split, number);
  object->version_at = static_cast<std::uint32_t>(split.insert_at + kVersionOpen.size());
  object->version_length = static_cast<std::uint32_t>(number.size());

  object->place = place;
  object->namespace_name = wire::find_string(value, "metadata.namespace");
  object->name = wire::find_string(value, "metadata.name");
  object->uid = wire::find_string(value, "metadata.uid");
  if (object->name.empty()) return fail(Code::corrupt, "stored object has no name");
  object->deleting = !wire::find_string(value, "metadata.deletionTimestamp").empty();
  if (object->deleting) {
    object->waits_for_dependents = has_finalizer(value, "foregroundDeletion");
    object->orphans_dependents = has_finalizer(value, "orphan");
  }
  object->owners = read_owners(value);
  object->created_at = read_created(value);
  object->labels = read_labels(value);
  object->fields.reserve(kind.selectable.size());
  for (const std::string& path : kind.selectable)
    object->fields.push_back(resource::selected_value(value, path));
  return object;
}

}  // namespace fairlead::watchcache
