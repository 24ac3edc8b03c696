#include "api/resource/schema/validation.h"

#include <gtest/gtest.h>

#include "api/resource/kind_test_support.h"
#include "api/resource/schema/schema_builder.h"

namespace fairlead::resource {
namespace {

using testing::json;
using testing::Texts;

Schema sample() {
  const Schema item =
      object("", {field("port", int32("").at_least(1)),
                  field("protocol", string("").defaults_to("TCP")), field("note", string(""))});
  Field fixed = field("fixed", string(""));
  fixed.immutable = true;
  Schema limited = int64("");
  limited.minimum = 1;
  limited.maximum = 9;
  Schema maybe = string("");
  maybe.nullable = true;
  return object(
      "",
      {required_field("name", string("").at_most(5)), field("kind", string("").one_of({"a", "b"})),
       field("mode", string("").one_of({"x", "y"}).defaults_to("x")), fixed, field("size", limited),
       field("small", int32("")), field("maybe", maybe), field("flag", boolean("")),
       field("ratio",
             [] {
               Schema s;
               s.type = Schema::Type::number;
               return s;
             }()),
       field("target", int_or_string("")),
       field("ports", list(item, "").keyed_by({"port", "protocol"}).at_most(3)),
       field("tags", string_list("").as_set()), field("labels", map_of(string(""), "")),
       field("when", time("")), field("blob", bytes("")), field("raw", any("")),
       field("address",
             [] {
               Schema s = string("");
               s.format = "ipv6";
               return s;
             }()),
       field("deep",
             object("", {field("inner",
                               object("", {field("leaf", string("").defaults_to("d")), fixed}))})),
       field("open", open_object("", {field("known", object("", {}))}))});
}

// Members nobody declared are found at any depth, in document order, and removed when asked.
TEST(UnknownFields, AreFoundAndRemoved) {
  const std::string_view text =
      R"({"name":"n","bogus":1,"ports":[{"port":1},{"port":2,"x":{"y":1}}],"deep":{"q":1,"inner":{"z":1}},)"
      R"("labels":{"any":"thing"},"open":{"free":{"a":1},"known":{"not":1}},"raw":{"a":{}},"zz":null})";
  const Texts expected = {"bogus", "ports[1].x", "deep.q", "deep.inner.z", "open.known.not", "zz"};
  Json object = json(text);
  EXPECT_EQ(unknown_fields(sample(), object, false), expected);
  EXPECT_EQ(object, json(text));
  EXPECT_EQ(unknown_fields(sample(), object, true), expected);
  EXPECT_EQ(
      wire::encode_json(object),
      R"({"name":"n","ports":[{"port":1},{"port":2}],"deep":{"inner":{}},"labels":{"any":"thing"},)"
      R"("open":{"free":{"a":1},"known":{}},"raw":{"a":{}}})");
  EXPECT_EQ(unknown_fields(sample(), object, true), Texts{});
}

// Values of the wrong type are left to the type check.
TEST(UnknownFields, WrongTypesAreNotItsBusiness) {
  Json object = json(R"({"deep":[{"a":1}],"ports":{"a":1},"name":{"a":1}})");
  EXPECT_EQ(unknown_fields(sample(), object, true), Texts{});
}

// Defaults fill what is absent, null or (for strings) empty, inside objects that are there.
TEST(Defaults, FillWhatIsAbsent) {
  struct Case {
    std::string_view in, out;
  };
  for (const auto& [in, out] : {
           Case{R"({})", R"({"mode":"x"})"},
           Case{R"({"mode":"y"})", R"({"mode":"y"})"},
           Case{R"({"mode":""})", R"({"mode":"x"})"},
           Case{R"({"mode":null})", R"({"mode":"x"})"},
           Case{R"({"mode":"x","name":null,"raw":null,"maybe":null})",
                R"({"mode":"x","raw":null,"maybe":null})"},
           Case{R"({"mode":"x","deep":{"inner":{}}})",
                R"({"mode":"x","deep":{"inner":{"leaf":"d"}}})"},
           Case{R"({"mode":"x","deep":{}})", R"({"mode":"x","deep":{}})"},
           Case{R"({"mode":"x","ports":[{},{"protocol":"UDP"},7]})",
                R"({"mode":"x","ports":[{"protocol":"TCP"},{"protocol":"UDP"},7]})"},
           Case{R"({"mode":"x","deep":"text","ports":"text"})",
                R"({"mode":"x","deep":"text","ports":"text"})"},
       }) {
    Json object = json(in);
    apply_defaults(sample(), object);
    EXPECT_EQ(wire::encode_json(object), out) << in;
  }
}

Texts problems(std::string_view text, std::string_view old = "") {
  Texts texts;
  const Json before = old.empty() ? Json() : json(old);
  for (const FieldError& error :
       check_schema(sample(), json(text), old.empty() ? nullptr : &before)) {
    texts.push_back(error.to_string());
  }
  return texts;
}

// Each rule of a schema, broken once.
TEST(CheckSchema, ReportsEachRule) {
  struct Case {
    std::string_view text;
    Texts errors;
  };
  for (const auto& [text, errors] : {
           Case{R"({"name":"n"})", {}},
           Case{R"({})", {"name: Required value"}},
           Case{R"({"name":""})", {"name: Required value"}},
           Case{R"({"name":null})", {"name: Required value"}},
           Case{R"({"name":7})",
                {"name: Invalid value: \"integer\": name in body must be of type string: "
                 "\"integer\""}},
           Case{R"({"name":"123456"})", {"name: Too long: must have at most 5 bytes"}},
           Case{R"({"name":"n","kind":"c"})",
                {"kind: Unsupported value: \"c\": supported values: \"a\", \"b\""}},
           Case{R"({"name":"n","size":0})",
                {"size: Invalid value: 0: must be greater than or equal to 1"}},
           Case{R"({"name":"n","size":10})",
                {"size: Invalid value: 10: must be less than or equal to 9"}},
           Case{R"({"name":"n","size":18446744073709551615})",
                {"size: Invalid value: 18446744073709551615: must be less than or equal to 9"}},
           Case{R"({"name":"n","size":1.5})",
                {"size: Invalid value: \"number\": size in body must be of type integer: "
                 "\"number\""}},
           Case{R"({"name":"n","size":"1"})",
                {"size: Invalid value: \"string\": size in body must be of type integer: "
                 "\"string\""}},
           Case{R"({"name":"n","small":2147483648})",
                {"small: Invalid value: 2147483648: must be less than or equal to 2147483647"}},
           Case{
               R"({"name":"n","small":-2147483649})",
               {"small: Invalid value: -2147483649: must be greater than or equal to -2147483648"}},
           Case{R"({"name":"n","small":null,"flag":true,"ratio":1,"target":"http"})", {}},
           Case{R"({"name":"n","ratio":0.5,"target":80,"raw":[1]})", {}},
           Case{R"({"name":"n","flag":"true"})",
                {"flag: Invalid value: \"string\": flag in body must be of type boolean: "
                 "\"string\""}},
           Case{R"({"name":"n","ratio":"1"})",
                {"ratio: Invalid value: \"string\": ratio in body must be of type number: "
                 "\"string\""}},
           Case{R"({"name":"n","target":true})",
                {"target: Invalid value: \"boolean\": target in body must be of type integer or "
                 "string: \"boolean\""}},
           Case{R"({"name":"n","ports":{}})",
                {"ports: Invalid value: \"object\": ports in body must be of type array: "
                 "\"object\""}},
           Case{R"({"name":"n","deep":[]})",
                {"deep: Invalid value: \"array\": deep in body must be of type object: \"array\""}},
           Case{R"({"name":"n","ports":[{"port":0}]})",
                {"ports[0].port: Invalid value: 0: must be greater than or equal to 1"}},
           Case{R"({"name":"n","ports":[{"port":1},{"port":1,"protocol":"UDP"}]})", {}},
           Case{R"({"name":"n","ports":[{"port":1},{"port":1,"protocol":"TCP"}]})",
                {"ports[1]: Duplicate value: {\"port\":1,\"protocol\":\"TCP\"}"}},
           Case{R"({"name":"n","ports":[{"port":1},{"port":2},{"port":3},{"port":4}]})",
                {"ports: Too many: 4: must have at most 3 items"}},
           Case{R"({"name":"n","tags":["a","b","a"]})", {"tags[2]: Duplicate value: \"a\""}},
           Case{R"({"name":"n","labels":{"k":1}})",
                {"labels[k]: Invalid value: \"integer\": labels[k] in body must be of type string: "
                 "\"integer\""}},
           Case{R"({"name":"n","when":"2024-05-01T12:00:00Z","blob":"aGk="})", {}},
           Case{R"({"name":"n","when":"yesterday"})",
                {"when: Invalid value: \"yesterday\": must be an RFC 3339 time, (e.g. "
                 "2006-01-02T15:04:05Z)"}},
           Case{R"({"name":"n","blob":"aGk"})", {"blob: Invalid value: \"aGk\": must be base64"}},
           Case{R"({"name":"n","blob":"a*k="})", {"blob: Invalid value: \"a*k=\": must be base64"}},
           Case{R"({"name":"n","address":"fd00::5"})", {}},
           Case{R"({"name":"n","address":""})", {}},
           Case{R"({"name":"n","address":"10.0.0.1"})",
                {"address: Invalid value: \"10.0.0.1\": must be a valid IPv6 address"}},
           Case{R"({"name":"n","address":"FD00::5"})",
                {"address: Invalid value: \"FD00::5\": must be in canonical form (\"fd00::5\")"}},
       }) {
    EXPECT_EQ(problems(text), errors) << text;
  }
}

// Immutable fields may be neither changed, added nor dropped; null is the same as absent.
TEST(CheckSchema, ImmutableFieldsStay) {
  const Texts forbidden = {"fixed: Forbidden: field is immutable"};
  EXPECT_EQ(problems(R"({"name":"n","fixed":"a"})", R"({"name":"n","fixed":"a"})"), Texts{});
  EXPECT_EQ(problems(R"({"name":"m"})", R"({"name":"n"})"), Texts{});
  EXPECT_EQ(problems(R"({"name":"n","fixed":null})", R"({"name":"n"})"), Texts{});
  EXPECT_EQ(problems(R"({"name":"n","fixed":"b"})", R"({"name":"n","fixed":"a"})"), forbidden);
  EXPECT_EQ(problems(R"({"name":"n"})", R"({"name":"n","fixed":"a"})"), forbidden);
  EXPECT_EQ(problems(R"({"name":"n","fixed":"a"})", R"({"name":"n"})"), forbidden);
  EXPECT_EQ(problems(R"({"name":"n","deep":{"inner":{"fixed":"b"}}})",
                     R"({"name":"n","deep":{"inner":{"fixed":"a"}}})"),
            Texts{"deep.inner.fixed: Forbidden: field is immutable"});
  // Nor by way of the object they are in.
  const Texts lost = {"deep.inner.fixed: Forbidden: field is immutable"};
  EXPECT_EQ(problems(R"({"name":"n","deep":{}})", R"({"name":"n","deep":{"inner":{"fixed":"a"}}})"),
            lost);
  EXPECT_EQ(problems(R"({"name":"n"})", R"({"name":"n","deep":{"inner":{"fixed":"a"}}})"), lost);
  EXPECT_EQ(problems(R"({"name":"n","deep":{"inner":{"fixed":"a"}}})", R"({"name":"n"})"), lost);
  EXPECT_EQ(problems(R"({"name":"n"})", R"({"name":"n","deep":{"inner":{"leaf":"a"}}})"), Texts{});
}

}  // namespace
}  // namespace fairlead::resource
