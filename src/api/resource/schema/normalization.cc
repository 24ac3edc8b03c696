// The two passes that bring an object into shape before it is checked: unknown members and
// defaults.
#include "api/resource/schema/schema_path.h"
#include "api/resource/schema/validation.h"

namespace fairlead::resource {
namespace {

class UnknownFields {
 public:
  explicit UnknownFields(bool remove) : remove_(remove) {}

  void walk(const Schema& schema, Json& value, const SchemaPath& path) {
    if (JsonObject* object = value.if_object()) {
      if (schema.type == Schema::Type::object) walk_members(schema, *object, path);
    } else if (JsonArray* array = value.if_array(); array && schema.items) {
      for (std::size_t i = 0; i < array->size(); ++i) {
        if ((*array)[i].is_structured()) walk(*schema.items, (*array)[i], path.item(i));
      }
    }
  }
  std::vector<std::string> take() { return std::move(found_); }

 private:
  void walk_members(const Schema& schema, JsonObject& object, const SchemaPath& path) {
    for (auto member = object.begin(); member != object.end();) {
      const Field* field = schema.find(member->key());
      const Schema* inner = field ? &field->schema : schema.values.get();
      if (inner) {
        if (member->value().is_structured()) {
          walk(*inner, member->value(), path.member(member->key()));
        }
      } else if (!schema.preserve_unknown) {
        found_.push_back(path.member(member->key()).to_string());
        if (remove_) {
          member = object.stable_erase(member);
          continue;
        }
      }
      ++member;
    }
  }

  bool remove_;
  std::vector<std::string> found_;
};

// Go cannot tell an empty string from none, so Kubernetes' defaults replace both.
bool counts_as_absent(const Schema& schema, const Json& value) {
  if (value.is_null()) return !schema.nullable && schema.type != Schema::Type::any;
  return schema.default_value && schema.default_value->is_string() && value.is_string() &&
         value.get_string().empty();
}

}  // namespace

std::vector<std::string> unknown_fields(const Schema& schema, Json& object, bool remove) {
  UnknownFields walk(remove);
  walk.walk(schema, object, SchemaPath());
  return walk.take();
}

void apply_defaults(const Schema& schema, Json& value) {
  if (JsonObject* object = value.if_object()) {
    for (const Field& field : schema.fields) {
      auto member = object->find(field.name);
      if (member != object->end() && counts_as_absent(field.schema, member->value())) {
        if (!field.schema.default_value) {
          object->stable_erase(member);
          continue;
        }
        member->value() = *field.schema.default_value;
      } else if (member == object->end()) {
        if (!field.schema.default_value) continue;
        member = object->emplace(field.name, *field.schema.default_value).first;
      }
      if (member->value().is_structured()) apply_defaults(field.schema, member->value());
    }
    if (schema.values) {
      for (auto& member : *object) {
        if (member.value().is_structured()) apply_defaults(*schema.values, member.value());
      }
    }
  } else if (JsonArray* array = value.if_array(); array && schema.items) {
    for (Json& item : *array) {
      if (item.is_structured()) apply_defaults(*schema.items, item);
    }
  }
}

}  // namespace fairlead::resource
