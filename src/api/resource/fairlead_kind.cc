#include "api/resource/fairlead_kind.h"

#include <algorithm>

#include "api/resource/fairlead_group.h"

namespace fairlead::resource {

Kind fairlead_kind(std::string name, std::string plural, std::string singular,
                   std::string short_name, Schema schema, std::vector<Section> sections) {
  Kind kind;
  kind.group = kFairleadGroup;
  kind.version = kFairleadVersion;
  kind.kind = std::move(name);
  kind.plural = std::move(plural);
  kind.singular = std::move(singular);
  kind.short_names = {std::move(short_name)};
  kind.categories = {"all", "fairlead"};
  std::ranges::find(schema.fields, "metadata", &Field::name)->schema = object_meta_schema();
  kind.has_status = schema.find("status") != nullptr;
  kind.schema = std::move(schema);
  kind.prepare = [sections = std::move(sections)](Json& object, const Json* old, Write write,
                                                  Moment now) {
    JsonObject* members = object.if_object();
    if (!members) return;
    if (write == Write::create) {
      if (const auto status = members->find("status"); status != members->end()) {
        members->stable_erase(status);
      }
    }
    stamp_writes(sections, object, old, now);
  };
  return kind;
}

}  // namespace fairlead::resource
