// check_schema: one walk over the object beside its schema and, for immutability, beside the old
// object.
#include "api/resource/schema/validation.h"

#include <algorithm>
#include <limits>
#include <set>

#include "api/resource/schema/schema_path.h"
#include "api/resource/schema/text_formats.h"

namespace fairlead::resource {
namespace {

std::string_view type_name(Schema::Type type) {
  switch (type) {
    case Schema::Type::object:
      return "object";
    case Schema::Type::array:
      return "array";
    case Schema::Type::string:
      return "string";
    case Schema::Type::integer:
      return "integer";
    case Schema::Type::number:
      return "number";
    case Schema::Type::boolean:
      return "boolean";
    case Schema::Type::int_or_string:
      return "integer or string";
    case Schema::Type::any:
      return "any";
  }
  return "any";
}

std::string_view type_name(const Json& value) {
  switch (value.kind()) {
    case boost::json::kind::null:
      return "null";
    case boost::json::kind::bool_:
      return "boolean";
    case boost::json::kind::int64:
    case boost::json::kind::uint64:
      return "integer";
    case boost::json::kind::double_:
      return "number";
    case boost::json::kind::string:
      return "string";
    case boost::json::kind::array:
      return "array";
    case boost::json::kind::object:
      return "object";
  }
  return "null";
}

bool is_integer(const Json& value) { return value.is_int64() || value.is_uint64(); }

bool has_type(Schema::Type type, const Json& value) {
  switch (type) {
    case Schema::Type::object:
      return value.is_object();
    case Schema::Type::array:
      return value.is_array();
    case Schema::Type::string:
      return value.is_string();
    case Schema::Type::integer:
      return is_integer(value);
    case Schema::Type::number:
      return value.is_number();
    case Schema::Type::boolean:
      return value.is_bool();
    case Schema::Type::int_or_string:
      return is_integer(value) || value.is_string();
    case Schema::Type::any:
      return true;
  }
  return true;
}

bool is_absent(const Json* value) { return !value || value->is_null(); }

bool same(const Json* a, const Json* b) {
  return is_absent(a) == is_absent(b) && (is_absent(a) || *a == *b);
}

class SchemaCheck {
 public:
  // `old` is what stood in this place before, or null.
  void walk(const Schema& schema, const Json& value, const Json* old, const SchemaPath& path) {
    if (value.is_null()) return;  // the same as absent
    if (!has_type(schema.type, value)) return report_type(schema, value, path);
    switch (value.kind()) {
      case boost::json::kind::object:
        walk_members(schema, value.get_object(), old ? old->if_object() : nullptr, path);
        break;
      case boost::json::kind::array:
        walk_items(schema, value.get_array(), path);
        break;
      case boost::json::kind::string:
        check_text(schema, value, path);
        break;
      case boost::json::kind::int64:
      case boost::json::kind::uint64:
        check_integer(schema, value, path);
        break;
      default:
        break;
    }
  }

  FieldErrors take() { return std::move(errors_); }

 private:
  void walk_members(const Schema& schema, const JsonObject& object, const JsonObject* old,
                    const SchemaPath& path) {
    for (const Field& field : schema.fields) {
      if (path.is_root()) in_metadata_ = field.name == "metadata";
      const Json* value = object.if_contains(field.name);
      const Json* before = old ? old->if_contains(field.name) : nullptr;
      // An empty string is no value where one is needed: typed clients cannot tell the two apart.
      const bool missing = is_absent(value) || (value->is_string() && value->get_string().empty());
      if (field.required && missing)
        errors_.push_back(required(path.member(field.name).to_string()));
      if (field.immutable && old && !same(value, before)) {
        errors_.push_back(forbidden(path.member(field.name).to_string(), "field is immutable"));
      }
      if (value && !value->is_null()) {
        walk(field.schema, *value, old && !before ? &nothing() : before, path.member(field.name));
      } else if (before && before->is_object()) {
        report_lost(field.schema, before->get_object(), path.member(field.name));
      }
    }
    if (!schema.values) return;
    for (const auto& member : object) {
      walk(*schema.values, member.value(), nullptr, path.key(member.key()));
    }
  }

  // An object that was there before went away, and its immutable members with it.
  void report_lost(const Schema& schema, const JsonObject& old, const SchemaPath& path) {
    for (const Field& field : schema.fields) {
      const Json* before = old.if_contains(field.name);
      if (is_absent(before)) continue;
      if (field.immutable) {
        errors_.push_back(forbidden(path.member(field.name).to_string(), "field is immutable"));
      } else if (before->is_object()) {
        report_lost(field.schema, before->get_object(), path.member(field.name));
      }
    }
  }

  void walk_items(const Schema& schema, const JsonArray& array, const SchemaPath& path) {
    if (schema.max_length && array.size() > *schema.max_length) {
      errors_.push_back(too_many(path.to_string(), array.size(), *schema.max_length));
    }
    if (!schema.items) return;
    for (std::size_t i = 0; i < array.size(); ++i) {
      walk(*schema.items, array[i], nullptr, path.item(i));
    }
    if (array.size() > 1 && schema.list_type != Schema::ListType::atomic && !in_metadata_) {
      check_duplicates(schema, array, path);
    }
  }

  void check_duplicates(const Schema& schema, const JsonArray& array, const SchemaPath& path) {
    std::set<std::string> seen;
    for (std::size_t i = 0; i < array.size(); ++i) {
      const Json identity =
          schema.list_type == Schema::ListType::set ? array[i] : identity_of(schema, array[i]);
      if (identity.is_null()) continue;
      if (!seen.insert(wire::encode_json(identity)).second) {
        errors_.push_back(duplicate(path.item(i).to_string(), identity));
      }
    }
  }

  // The members of an item that tell it from others, defaults included; null if it has none.
  static Json identity_of(const Schema& list, const Json& item) {
    const JsonObject* object = item.if_object();
    if (!object) return nullptr;
    JsonObject identity;
    for (const std::string& key : list.map_keys) {
      const Json* value = object->if_contains(key);
      const Field* field = list.items->find(key);
      if (is_absent(value)) {
        if (!field || !field->schema.default_value) continue;
        value = &*field->schema.default_value;
      }
      identity[key] = *value;
    }
    return identity.empty() ? Json(nullptr) : Json(std::move(identity));
  }

  void check_text(const Schema& schema, const Json& value, const SchemaPath& path) {
    const std::string_view text = value.get_string();
    if (schema.max_length && text.size() > *schema.max_length) {
      errors_.push_back(too_long(path.to_string(), *schema.max_length));
    }
    if (!schema.allowed.empty() &&
        std::ranges::find(schema.allowed, text) == schema.allowed.end()) {
      errors_.push_back(not_supported(path.to_string(), value, schema.allowed));
    }
    if (schema.format.empty()) return;
    if (std::string problem = format_problem(schema.format, text); !problem.empty()) {
      errors_.push_back(invalid(path.to_string(), value, std::move(problem)));
    }
  }

  void check_integer(const Schema& schema, const Json& value, const SchemaPath& path) {
    // What int64 cannot hold is above every bound a schema can state.
    const bool huge = value.is_uint64() && value.get_uint64() > std::uint64_t{kInt64Max};
    const std::int64_t number = huge                ? kInt64Max
                                : value.is_uint64() ? static_cast<std::int64_t>(value.get_uint64())
                                                    : value.get_int64();
    const bool narrow = schema.format == "int32";
    const std::int64_t low =
        schema.minimum.value_or(narrow ? std::numeric_limits<std::int32_t>::min() : kInt64Min);
    const std::int64_t high =
        schema.maximum.value_or(narrow ? std::numeric_limits<std::int32_t>::max() : kInt64Max);
    if (number < low) {
      errors_.push_back(invalid(path.to_string(), value,
                                "must be greater than or equal to " + std::to_string(low)));
    } else if (number > high || huge) {
      errors_.push_back(invalid(path.to_string(), value,
                                "must be less than or equal to " + std::to_string(high)));
    }
  }

  void report_type(const Schema& schema, const Json& value, const SchemaPath& path) {
    const std::string field = path.to_string();
    const std::string given(type_name(value));
    errors_.push_back(FieldError{FieldError::Type::type_invalid, field, Json(given),
                                 field + " in body must be of type " +
                                     std::string(type_name(schema.type)) + ": \"" + given + "\""});
  }

  // Stands for an object that was absent before, so that its new members count as changes.
  static const Json& nothing() {
    static const Json kNothing = JsonObject();
    return kNothing;
  }

  static constexpr std::int64_t kInt64Max = std::numeric_limits<std::int64_t>::max();
  static constexpr std::int64_t kInt64Min = std::numeric_limits<std::int64_t>::min();
  FieldErrors errors_;
  // Kubernetes lets owners and finalizers be named twice.
  bool in_metadata_ = false;
};

}  // namespace

FieldErrors check_schema(const Schema& schema, const Json& object, const Json* old) {
  SchemaCheck check;
  check.walk(schema, object, old, SchemaPath());
  return check.take();
}

}  // namespace fairlead::resource
