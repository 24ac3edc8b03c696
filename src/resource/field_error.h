// FieldError: what is wrong with which field, worded as Kubernetes words it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "wire/json.h"

namespace fairlead::resource {

struct FieldError {
  enum class Type {
    not_found, required, duplicate, invalid, not_supported, forbidden, too_long, too_many, type_invalid
  };
  Type type = Type::invalid;
  std::string field;             // "spec.vni", "metadata.finalizers[0]"
  std::optional<Json> value;     // shown in the message where the type shows one
  std::string detail;

  std::string reason() const;    // "FieldValueInvalid", as in Status causes
  std::string message() const;   // `Invalid value: 0: must be greater than or equal to 1`
  std::string to_string() const; // `spec.vni: Invalid value: 0: must be …`
};

using FieldErrors = std::vector<FieldError>;

}  // namespace fairlead::resource
