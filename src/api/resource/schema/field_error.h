// FieldError: what is wrong with which field, worded as Kubernetes words it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "foundation/wire/json.h"

namespace fairlead::resource {

struct FieldError {
  enum class Type {
    not_found,
    required,
    duplicate,
    invalid,
    not_supported,
    forbidden,
    too_long,
    too_many,
    type_invalid
  };
  Type type = Type::invalid;
  std::string field;          // "spec.vni", "metadata.finalizers[0]"
  std::optional<Json> value;  // shown in the message where the type shows one
  std::string detail;

  std::string reason() const;     // "FieldValueInvalid", as in Status causes
  std::string message() const;    // `Invalid value: 0: must be greater than or equal to 1`
  std::string to_string() const;  // `spec.vni: Invalid value: 0: must be …`
};

using FieldErrors = std::vector<FieldError>;

// The common ones, by name.
FieldError required(std::string field, std::string detail = "");
FieldError duplicate(std::string field, Json value);
FieldError invalid(std::string field, Json value, std::string detail);
// `Unsupported value: "x": supported values: "a", "b"`, in the order given.
FieldError not_supported(std::string field, Json value, const std::vector<std::string>& supported);
FieldError forbidden(std::string field, std::string detail);
FieldError too_long(std::string field, std::size_t max_bytes);
FieldError too_many(std::string field, std::size_t actual, std::size_t max_items);

// `a: Required value, b: Invalid value: 0: …`; in brackets when there are several.
std::string join_errors(const FieldErrors& errors);

}  // namespace fairlead::resource
