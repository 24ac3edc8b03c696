#include "api/resource/metadata.h"

#include "api/resource/schema/schema_builder.h"

namespace fairlead::resource {

Schema object_meta_schema() {
  Schema schema = schema_of<ObjectMeta>();
  schema.description = "Standard metadata of the object.";
  const Schema entry =
      object("What one manager set, in which way and version.",
             {field("manager", string("Name of the manager.")),
              field("operation", string("How it was set.").one_of({"Apply", "Update"})),
              field("apiVersion", string("Version the fields are written in.")),
              field("time", time("When the manager last changed one of them.")),
              field("fieldsType", string("Format of fieldsV1.").one_of({"FieldsV1"})),
              field("fieldsV1", object("The fields, as a tree of names.", {}).open()),
              field("subresource", string("The subresource written through, if any."))});
  for (Field& member : schema.fields) {
    if (member.name != "managedFields") continue;
    Schema described = list(entry, member.schema.description);
    member.schema = std::move(described);
  }
  return schema;
}

}  // namespace fairlead::resource
