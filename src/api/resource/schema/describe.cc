#include "api/resource/schema/describe.h"

namespace fairlead::resource {

void SchemaVisitor::type_meta(std::string_view api_version, std::string_view kind) {
  const auto add = [this](std::string name, std::string description) {
    Field field{.name = std::move(name), .schema = schema_of<std::string>()};
    field.schema.description = std::move(description);
    schema_.fields.push_back(std::move(field));
  };
  add("apiVersion",
      "The version of the API this object is written in: " + std::string(api_version) + ".");
  add("kind", "The kind of the object: " + std::string(kind) + ".");
}

std::string DecodePath::to_string() const {
  std::string text = parent ? parent->to_string() : "";
  if (index) return text + "[" + std::to_string(*index) + "]";
  if (!text.empty() && !name.empty()) text += '.';
  return text.append(name);
}

namespace describe_detail {

Schema scalar(Schema::Type type, std::string_view format) {
  Schema schema;
  schema.type = type;
  schema.format = format;
  return schema;
}

Schema integer(std::string_view format, std::optional<std::int64_t> minimum) {
  Schema schema = scalar(Schema::Type::integer, format);
  schema.minimum = minimum;
  return schema;
}

Schema list_of(Schema items) {
  Schema schema;
  schema.type = Schema::Type::array;
  schema.items = std::make_shared<const Schema>(std::move(items));
  return schema;
}

Schema map_of(Schema values) {
  Schema schema;
  schema.type = Schema::Type::object;
  schema.values = std::make_shared<const Schema>(std::move(values));
  return schema;
}

void wrong_type(const DecodePath& path, const Json& value, std::string_view wanted,
                FieldErrors& errors) {
  errors.push_back(FieldError{FieldError::Type::type_invalid, path.to_string(), value,
                              "must be of type " + std::string(wanted)});
}

std::optional<std::int64_t> integer_within(const Json& value, std::int64_t low,
                                           std::uint64_t high) {
  if (value
          .is_uint64()) {  // Boost keeps as unsigned only what int64 cannot hold, or what code made
    const std::uint64_t number = value.get_uint64();
    if (number > high || number > std::uint64_t{std::numeric_limits<std::int64_t>::max()}) {
      return std::nullopt;
    }
    return static_cast<std::int64_t>(number);
  }
  if (!value.is_int64()) return std::nullopt;
  const std::int64_t number = value.get_int64();
  if (number < low || (number > 0 && static_cast<std::uint64_t>(number) > high)) {
    return std::nullopt;
  }
  return number;
}

}  // namespace describe_detail
}  // namespace fairlead::resource
