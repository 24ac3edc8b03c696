// What follows from a Schema alone: the checks and normalisations that every kind shares.
// Pure; the API server calls them in the order given here.
#pragma once

#include <string>
#include <vector>

#include "api/resource/kind.h"
#include "api/resource/schema/field_error.h"
#include "api/resource/schema/schema.h"

namespace fairlead::resource {

// Paths of members the schema does not know, in document order ("spec.bogus", "spec.list[2].x").
// With `remove` they are also taken out. Members under preserve_unknown objects are known.
std::vector<std::string> unknown_fields(const Schema& schema, Json& object, bool remove);

// Fills absent members that have a default, inside objects that are present. A null where the
// schema allows none counts as absent: it takes the default or is removed.
void apply_defaults(const Schema& schema, Json& object);

// Types, required, ranges, enumerations, lengths, duplicate keys of map lists; with `old` also
// immutable fields (Forbidden, "field is immutable"). Immutability is looked for in objects inside
// objects, not inside lists. Text formats the schema names (date-time, micro-time, byte, ipv4,
// ipv6, mac) are checked too.
FieldErrors check_schema(const Schema& schema, const Json& object, const Json* old);

// metadata of any kind: name (DNS-1123 subdomain; label for namespaces), namespace, generateName,
// labels, annotations (256 KiB), finalizers, ownerReferences.
FieldErrors check_metadata(const Kind& kind, const Json& object);
// The rules between two versions of one object: immutable metadata, no new finalizers once deletion
// began.
FieldErrors check_metadata_update(const Kind& kind, const Json& object, const Json& old);

// "metadata.name" style checks for use by kinds.
bool is_dns_subdomain(std::string_view text);   // ≤ 253
bool is_dns_label(std::string_view text);       // ≤ 63
bool is_qualified_name(std::string_view text);  // label keys
bool is_label_value(std::string_view text);

}  // namespace fairlead::resource
