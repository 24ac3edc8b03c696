#include "api/resource/schema/schema_builder.h"

#include "api/resource/metadata.h"

namespace fairlead::resource {
namespace {

SchemaBuilder typed(Schema::Type type, std::string description, std::string format = "") {
  SchemaBuilder schema;
  schema.type = type;
  schema.description = std::move(description);
  schema.format = std::move(format);
  return schema;
}

}  // namespace

SchemaBuilder& SchemaBuilder::one_of(std::vector<std::string> values) {
  allowed = std::move(values);
  return *this;
}
SchemaBuilder& SchemaBuilder::defaults_to(Json value) {
  default_value = std::move(value);
  return *this;
}
SchemaBuilder& SchemaBuilder::at_most(std::size_t length) {
  max_length = length;
  return *this;
}
SchemaBuilder& SchemaBuilder::at_least(std::int64_t value) {
  minimum = value;
  return *this;
}
SchemaBuilder& SchemaBuilder::keyed_by(std::vector<std::string> keys) {
  list_type = ListType::map;
  map_keys = std::move(keys);
  return *this;
}
SchemaBuilder& SchemaBuilder::as_set() {
  list_type = ListType::set;
  return *this;
}
SchemaBuilder& SchemaBuilder::patch_merge(std::string key) {
  Schema::patch_merge = true;
  patch_merge_key = std::move(key);
  return *this;
}
SchemaBuilder& SchemaBuilder::as_atomic() {
  atomic = true;
  return *this;
}
SchemaBuilder& SchemaBuilder::open() {
  preserve_unknown = true;
  return *this;
}

SchemaBuilder string(std::string description) {
  return typed(Schema::Type::string, std::move(description));
}
SchemaBuilder bytes(std::string description) {
  return typed(Schema::Type::string, std::move(description), "byte");
}
SchemaBuilder time(std::string description) {
  return typed(Schema::Type::string, std::move(description), "date-time");
}
SchemaBuilder micro_time(std::string description) {
  return typed(Schema::Type::string, std::move(description), "micro-time");
}
SchemaBuilder boolean(std::string description) {
  return typed(Schema::Type::boolean, std::move(description));
}
SchemaBuilder int32(std::string description) {
  return typed(Schema::Type::integer, std::move(description), "int32");
}
SchemaBuilder int64(std::string description) {
  return typed(Schema::Type::integer, std::move(description), "int64");
}
SchemaBuilder int_or_string(std::string description) {
  return typed(Schema::Type::int_or_string, std::move(description), "int-or-string");
}
SchemaBuilder any(std::string description) {
  return typed(Schema::Type::any, std::move(description));
}

SchemaBuilder object(std::string description, std::vector<Field> fields) {
  SchemaBuilder schema = typed(Schema::Type::object, std::move(description));
  schema.fields = std::move(fields);
  return schema;
}

SchemaBuilder open_object(std::string description, std::vector<Field> fields) {
  return object(std::move(description), std::move(fields)).open();
}

SchemaBuilder map_of(Schema values, std::string description) {
  SchemaBuilder schema = typed(Schema::Type::object, std::move(description));
  schema.values = std::make_shared<const Schema>(std::move(values));
  return schema;
}

SchemaBuilder list(Schema items, std::string description) {
  SchemaBuilder schema = typed(Schema::Type::array, std::move(description));
  schema.items = std::make_shared<const Schema>(std::move(items));
  return schema;
}

SchemaBuilder string_list(std::string description) {
  return list(string(""), std::move(description));
}

Field field(std::string name, Schema schema) {
  return Field{.name = std::move(name), .schema = std::move(schema)};
}

Field required_field(std::string name, Schema schema) {
  return Field{.name = std::move(name), .schema = std::move(schema), .required = true};
}

Schema core_object(std::string description, std::vector<Field> fields) {
  std::vector<Field> all = {
      field("apiVersion", string("The version of the API this object is written in.")),
      field("kind", string("The kind of the object.")), field("metadata", object_meta_schema())};
  for (Field& one : fields) all.push_back(std::move(one));
  return open_object(std::move(description), std::move(all));
}

Schema conditions(std::string description) {
  return list(open_object("One aspect of the object's state.",
                          {field("type", string("Which aspect, for example Ready.")),
                           field("status", string("True, False or Unknown.")),
                           field("observedGeneration",
                                 int64("The generation the condition was computed from.")),
                           field("lastHeartbeatTime", time("When it was last confirmed.")),
                           field("lastTransitionTime", time("When status last changed.")),
                           field("reason", string("One word for machines.")),
                           field("message", string("An explanation for people."))}),
              std::move(description))
      .keyed_by({"type"})
      .patch_merge("type");
}

Schema object_reference(std::string description) {
  return open_object(std::move(description),
                     {field("kind", string("Kind of the object.")),
                      field("namespace", string("Namespace of the object.")),
                      field("name", string("Name of the object.")),
                      field("uid", string("UID of the object.")),
                      field("apiVersion", string("API version of the object.")),
                      field("resourceVersion", string("Version of the object referred to.")),
                      field("fieldPath", string("A part of the object, such as "
                                                "spec.containers{name}."))})
      .as_atomic();
}

}  // namespace fairlead::resource
