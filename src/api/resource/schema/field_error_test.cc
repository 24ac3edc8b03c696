#include "api/resource/schema/field_error.h"

#include <gtest/gtest.h>

namespace fairlead::resource {
namespace {

// Every type of error reads as Kubernetes words it, and names the reason its Status causes carry.
TEST(FieldError, IsWordedAsKubernetesWordsIt) {
  struct Case {
    FieldError error;
    std::string_view text, reason;
  };
  for (const auto& [error, text, reason] : {
           Case{invalid("spec.vni", Json(0), "must be greater than or equal to 1"),
                "spec.vni: Invalid value: 0: must be greater than or equal to 1",
                "FieldValueInvalid"},
           Case{required("spec.node"), "spec.node: Required value", "FieldValueRequired"},
           Case{required("metadata.name", "name or generateName is required"),
                "metadata.name: Required value: name or generateName is required",
                "FieldValueRequired"},
           Case{not_supported("spec.type", Json("x"), {"a", "b"}),
                "spec.type: Unsupported value: \"x\": supported values: \"a\", \"b\"",
                "FieldValueNotSupported"},
           Case{forbidden("spec.node", "field is immutable"),
                "spec.node: Forbidden: field is immutable", "FieldValueForbidden"},
           Case{too_long("data", 10), "data: Too long: must have at most 10 bytes",
                "FieldValueTooLong"},
           Case{too_many("endpoints", 5, 3), "endpoints: Too many: 5: must have at most 3 items",
                "FieldValueTooMany"},
           Case{duplicate("l[1]", Json(JsonObject{{"port", 80}})),
                "l[1]: Duplicate value: {\"port\":80}", "FieldValueDuplicate"},
           Case{{FieldError::Type::not_found, "x", Json("y"), ""},
                "x: Not found: \"y\"",
                "FieldValueNotFound"},
           Case{{FieldError::Type::type_invalid, "x", Json("string"), "must be of type integer"},
                "x: Invalid value: \"string\": must be of type integer",
                "FieldValueTypeInvalid"},
       }) {
    EXPECT_EQ(error.to_string(), text);
    EXPECT_EQ(error.reason(), reason);
  }
}

// Several errors stand in brackets, one stands alone.
TEST(FieldError, JoinsInBrackets) {
  EXPECT_EQ(join_errors({required("a")}), "a: Required value");
  EXPECT_EQ(join_errors({required("a"), required("b")}), "[a: Required value, b: Required value]");
}

}  // namespace
}  // namespace fairlead::resource
