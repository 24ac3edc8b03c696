// Kind: everything the product knows about one API kind, in one value. The API server, kubectl's
// tables, OpenAPI, discovery, the client and the documentation all follow from it.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/resource/node_access.h"
#include "api/resource/schema/field_error.h"
#include "api/resource/schema/schema.h"
#include "api/resource/timestamp.h"
#include "foundation/wire/json.h"

namespace fairlead::resource {

struct Column {
  std::string name;    // "Validated"
  std::string type;    // integer number string boolean date
  std::string format;  // "name" for the name column
  std::string description;
  int priority = 0;  // > 0: only with -o wide
  // A date cell is already humanised ("5d").
  std::function<Json(const Json& object, Moment now)> cell;
};

// What an endpoint writes. `finalize` is a namespace's own subresource, the only one that may take
// entries out of its spec.finalizers.
enum class Write { create, update, update_status, finalize };

// What a name must look like: most kinds take a DNS subdomain.
enum class NameRule { dns_subdomain, dns_label, dns_1035_label };

struct Kind;

// The objects of a stored kind in another form, served in another group and version: converted at
// the edge of the API, one way on reading and the other on writing. Both are pure, move members
// about and lose nothing.
struct View {
  std::string of;                // apiVersion of the stored kind, which has the same name
  const Kind* stored = nullptr;  // that kind; found by the Catalog
  // In place, apiVersion included. Objects need not be complete (an apply names some fields only),
  // nor of the right types: what is wrong is left as it is.
  std::function<void(Json& object)> show;  // from the stored form
  std::function<void(Json& object)> keep;  // to the stored form
  // Selectable fields: as they are called here, and in the stored form.
  std::vector<std::pair<std::string, std::string>> paths;
};

struct Kind {
  std::string group;  // "" for the core group
  std::string version;
  std::string kind;    // "ConfigMap"
  std::string plural;  // "configmaps"
  std::string singular;
  std::vector<std::string> short_names;
  std::vector<std::string> categories;
  bool namespaced = true;
  bool stored = true;        // false: only created, and answered at once (reviews)
  std::optional<View> view;  // set: no objects of its own
  NameRule name_rule = NameRule::dns_subdomain;

  Schema schema;                      // of the whole object, apiVersion, kind and metadata included
  bool has_status = false;            // serves …/status; the main endpoint then ignores status
  bool strategic_merge = false;       // core kinds; others answer 415
  bool unconditional_update = false;  // an update without resourceVersion is accepted
  bool create_on_update = false;      // PUT makes a missing object
  std::chrono::seconds time_to_live{0};  // Events: removed by the server after this; 0: never

  // Fields for fieldSelector beyond metadata.name and metadata.namespace, as dotted paths. The
  // selected value is the field's text: strings as they are, numbers in decimal, booleans
  // true/false, absent "".
  std::vector<std::string> selectable;

  NodeAccess node;  // what a node may do with the objects

  // Without the namespace; the name column first, age among them.
  std::vector<Column> columns;

  // Brings an object into its stored form after decoding and before validation: derived fields,
  // stamps, fields a client may not set. `old` is null on create. The object has not been checked
  // against the schema yet: members may have any type, and what is wrong is left for the checks.
  std::function<void(Json& object, const Json* old, Write write, Moment now)> prepare;

  // What the schema cannot say. Runs after the schema's own checks passed.
  std::function<FieldErrors(const Json& object, const Json* old, Write write)> validate;

  std::string api_version() const { return group.empty() ? version : group + "/" + version; }
  std::string list_kind() const { return kind + "List"; }
  // The kind whose objects these are.
  const Kind& storage() const { return view ? *view->stored : *this; }
  // An object of the storage in this kind's form.
  Json shown(Json object) const {
    if (view) view->show(object);
    return object;
  }
  // "leases.coordination.k8s.io": how error messages name the resource.
  std::string qualified() const { return group.empty() ? plural : plural + "." + group; }
};

// The value of a selectable field as selectors compare it. An object (the source of an Event) is
// represented by its `component`.
std::string selected_value(const Json& object, std::string_view path);

}  // namespace fairlead::resource
