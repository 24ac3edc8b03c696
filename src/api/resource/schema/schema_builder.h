// Schemas of kinds that have no C++ type of their own (the core kinds), written as nested calls:
//
//   object("…", {field("port", integer("…").required…
//
// Each function takes the description first that `kubectl explain` shows.
#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include "api/resource/schema/schema.h"

namespace fairlead::resource {

// A Schema with rules that can be chained while it is being built.
struct SchemaBuilder : Schema {
  SchemaBuilder& one_of(std::vector<std::string> values);
  SchemaBuilder& defaults_to(Json value);
  SchemaBuilder& at_most(std::size_t length);   // bytes of a string, items of a list
  SchemaBuilder& at_least(std::int64_t value);  // integers
  // Lists: how server-side apply sees them.
  SchemaBuilder& keyed_by(std::vector<std::string> keys);
  SchemaBuilder& as_set();
  // Lists: strategic merge merges them, by `key` when items are objects.
  SchemaBuilder& patch_merge(std::string key = "");
  SchemaBuilder& as_atomic();  // objects and maps owned as a whole
  SchemaBuilder& open();       // objects: members beyond the declared ones are kept
};

SchemaBuilder string(std::string description);
SchemaBuilder bytes(std::string description);       // base64
SchemaBuilder time(std::string description);        // RFC 3339, seconds
SchemaBuilder micro_time(std::string description);  // RFC 3339, microseconds
SchemaBuilder boolean(std::string description);
SchemaBuilder int32(std::string description);
SchemaBuilder int64(std::string description);
SchemaBuilder int_or_string(std::string description);
SchemaBuilder any(std::string description);
SchemaBuilder object(std::string description, std::vector<Field> fields);
// An object of a core kind: members this server does not know are kept.
SchemaBuilder open_object(std::string description, std::vector<Field> fields);
SchemaBuilder map_of(Schema values, std::string description);
SchemaBuilder list(Schema items, std::string description);
SchemaBuilder string_list(std::string description);

Field field(std::string name, Schema schema);
Field required_field(std::string name, Schema schema);

// A whole object of a core kind: apiVersion, kind and metadata, then `fields`; open.
Schema core_object(std::string description, std::vector<Field> fields);

// status.conditions as Kubernetes writes them, merged by type.
Schema conditions(std::string description);
// A reference to an object: kind, namespace, name, uid, apiVersion, resourceVersion, fieldPath.
Schema object_reference(std::string description);

}  // namespace fairlead::resource
