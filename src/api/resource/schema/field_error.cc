#include "api/resource/schema/field_error.h"

namespace fairlead::resource {
namespace {

struct Wording {
  std::string_view reason;
  std::string_view title;
  bool shows_value;
};

Wording wording(FieldError::Type type) {
  using enum FieldError::Type;
  switch (type) {
    case not_found:
      return {"FieldValueNotFound", "Not found", true};
    case required:
      return {"FieldValueRequired", "Required value", false};
    case duplicate:
      return {"FieldValueDuplicate", "Duplicate value", true};
    case invalid:
      return {"FieldValueInvalid", "Invalid value", true};
    case not_supported:
      return {"FieldValueNotSupported", "Unsupported value", true};
    case forbidden:
      return {"FieldValueForbidden", "Forbidden", false};
    case too_long:
      return {"FieldValueTooLong", "Too long", false};
    case too_many:
      return {"FieldValueTooMany", "Too many", true};
    case type_invalid:
      return {"FieldValueTypeInvalid", "Invalid value", true};
  }
  return {"FieldValueInvalid", "Invalid value", true};
}

}  // namespace

std::string FieldError::reason() const { return std::string(wording(type).reason); }

std::string FieldError::message() const {
  const Wording words = wording(type);
  std::string text(words.title);
  if (words.shows_value) text.append(": ").append(wire::encode_json(value.value_or(Json())));
  if (!detail.empty()) text.append(": ").append(detail);
  return text;
}

std::string FieldError::to_string() const { return field + ": " + message(); }

FieldError required(std::string field, std::string detail) {
  return {FieldError::Type::required, std::move(field), std::nullopt, std::move(detail)};
}

FieldError duplicate(std::string field, Json value) {
  return {FieldError::Type::duplicate, std::move(field), std::move(value), ""};
}

FieldError invalid(std::string field, Json value, std::string detail) {
  return {FieldError::Type::invalid, std::move(field), std::move(value), std::move(detail)};
}

FieldError not_supported(std::string field, Json value, const std::vector<std::string>& supported) {
  std::string detail;
  for (const std::string& one : supported) {
    detail.append(detail.empty() ? "supported values: " : ", ")
        .append(wire::encode_json(Json(one)));
  }
  return {FieldError::Type::not_supported, std::move(field), std::move(value), std::move(detail)};
}

FieldError forbidden(std::string field, std::string detail) {
  return {FieldError::Type::forbidden, std::move(field), std::nullopt, std::move(detail)};
}

FieldError too_long(std::string field, std::size_t max_bytes) {
  return {FieldError::Type::too_long, std::move(field), std::nullopt,
          "must have at most " + std::to_string(max_bytes) + " bytes"};
}

FieldError too_many(std::string field, std::size_t actual, std::size_t max_items) {
  return {FieldError::Type::too_many, std::move(field), Json(actual),
          "must have at most " + std::to_string(max_items) + " items"};
}

std::string join_errors(const FieldErrors& errors) {
  std::string text;
  for (const FieldError& error : errors) {
    if (!text.empty()) text.append(", ");
    text.append(error.to_string());
  }
  return errors.size() > 1 ? "[" + text + "]" : text;
}

}  // namespace fairlead::resource
