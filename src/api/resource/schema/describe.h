// One description of a type, from which everything else follows.
//
// A described type says its fields once:
//
//   struct WidgetSpec {
//     std::uint32_t size = 0;
//
//     template <class V>
//     static void describe(V& v) {
//       v.field("size", &WidgetSpec::size).description("…").required().minimum(1).immutable();
//     }
//   };
//
// and this header makes of it, by visiting that description: the Schema (schema_of), the decoder
// from JSON (decode), and the encoder to JSON (encode). A whole API object also calls
// v.type_meta("g/v1", "Kind") first, which stands for its apiVersion and kind.
//
// Members may be std::string, bool, integers, double, Json, Time, MicroTime, other described types,
// and std::vector, std::map<std::string, …> or std::optional of these. The encoder leaves out what
// is empty (zero, "", no items, no value), as Kubernetes' omitempty does: where zero means
// something, use std::optional. The decoder skips members it does not know, reports members of the
// wrong type, and leaves rules (ranges, required …) to check_schema.
#pragma once

#include <concepts>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/resource/schema/field_error.h"
#include "api/resource/schema/schema.h"
#include "api/resource/timestamp.h"
#include "foundation/base/result.h"
#include "foundation/wire/json.h"

namespace fairlead::resource {

// Civil time in whole seconds ("2024-05-01T12:00:00Z") and in microseconds.
struct Time {
  Moment at{};
  auto operator<=>(const Time&) const = default;
};
struct MicroTime {
  Moment at{};
  auto operator<=>(const MicroTime&) const = default;
};

// The rules that may follow v.field(...), writing into the schema's field.
class FieldRules {
 public:
  explicit FieldRules(Field& field) : field_(field) {}

  FieldRules& description(std::string text) {
    return set(field_.schema.description, std::move(text));
  }
  FieldRules& required() { return set(field_.required, true); }
  FieldRules& immutable() { return set(field_.immutable, true); }
  FieldRules& minimum(std::int64_t value) { return set(field_.schema.minimum, value); }
  FieldRules& maximum(std::int64_t value) { return set(field_.schema.maximum, value); }
  FieldRules& max_length(std::size_t value) { return set(field_.schema.max_length, value); }
  FieldRules& format(std::string text) { return set(field_.schema.format, std::move(text)); }
  FieldRules& default_value(Json value) {
    return set(field_.schema.default_value, std::move(value));
  }
  FieldRules& one_of(std::vector<std::string> values) {
    return set(field_.schema.allowed, std::move(values));
  }
  // A list whose items are known by these members: merged item by item.
  FieldRules& keyed_by(std::vector<std::string> keys) {
    field_.schema.list_type = Schema::ListType::map;
    field_.schema.map_keys = std::move(keys);
    return *this;
  }
  FieldRules& set_of_scalars() { return set(field_.schema.list_type, Schema::ListType::set); }
  // Strategic merge merges this list, by `key` when its items are objects.
  FieldRules& patch_merge(std::string key = "") {
    field_.schema.patch_merge_key = std::move(key);
    return set(field_.schema.patch_merge, true);
  }
  FieldRules& atomic() { return set(field_.schema.atomic, true); }

 private:
  template <class T, class U>
  FieldRules& set(T& target, U&& value) {
    target = std::forward<U>(value);
    return *this;
  }
  Field& field_;
};

// What v.field(...) gives where rules do not matter.
struct NoRules {
  const NoRules& description(std::string_view) const { return *this; }
  const NoRules& required() const { return *this; }
  const NoRules& immutable() const { return *this; }
  const NoRules& minimum(std::int64_t) const { return *this; }
  const NoRules& maximum(std::int64_t) const { return *this; }
  const NoRules& max_length(std::size_t) const { return *this; }
  const NoRules& format(std::string_view) const { return *this; }
  template <class T>
  const NoRules& default_value(const T&) const {
    return *this;
  }
  const NoRules& one_of(std::initializer_list<std::string_view>) const { return *this; }
  const NoRules& keyed_by(std::initializer_list<std::string_view>) const { return *this; }
  const NoRules& set_of_scalars() const { return *this; }
  const NoRules& patch_merge(std::string_view = "") const { return *this; }
  const NoRules& atomic() const { return *this; }
};

class SchemaVisitor;

template <class T>
concept Described = requires { &T::template describe<SchemaVisitor>; };

// ---------------------------------------------------------------- schema

template <class T>
struct SchemaOf;

template <class T>
Schema schema_of() {
  return SchemaOf<T>::make();
}

class SchemaVisitor {
 public:
  explicit SchemaVisitor(Schema& schema) : schema_(schema) {}

  void type_meta(std::string_view api_version, std::string_view kind);

  template <class Owner, class Member>
  FieldRules field(std::string_view name, Member Owner::*) {
    schema_.fields.push_back(
        Field{.name = std::string(name), .schema = schema_of<Member>(), .required = false});
    return FieldRules(schema_.fields.back());
  }

 private:
  Schema& schema_;
};

namespace describe_detail {
Schema scalar(Schema::Type type, std::string_view format = "");
Schema integer(std::string_view format, std::optional<std::int64_t> minimum);
Schema list_of(Schema items);
Schema map_of(Schema values);
}  // namespace describe_detail

template <Described T>
struct SchemaOf<T> {
  static Schema make() {
    Schema schema;
    schema.type = Schema::Type::object;
    SchemaVisitor visitor(schema);
    T::describe(visitor);
    return schema;
  }
};
template <>
struct SchemaOf<std::string> {
  static Schema make() { return describe_detail::scalar(Schema::Type::string); }
};
template <>
struct SchemaOf<bool> {
  static Schema make() { return describe_detail::scalar(Schema::Type::boolean); }
};
template <>
struct SchemaOf<double> {
  static Schema make() { return describe_detail::scalar(Schema::Type::number, "double"); }
};
template <>
struct SchemaOf<Json> {
  static Schema make() { return describe_detail::scalar(Schema::Type::any); }
};
template <>
struct SchemaOf<Time> {
  static Schema make() { return describe_detail::scalar(Schema::Type::string, "date-time"); }
};
template <>
struct SchemaOf<MicroTime> {
  static Schema make() { return describe_detail::scalar(Schema::Type::string, "micro-time"); }
};
template <std::integral T>
struct SchemaOf<T> {
  static Schema make() {
    constexpr bool wide = sizeof(T) > 4 || (std::unsigned_integral<T> && sizeof(T) == 4);
    return describe_detail::integer(wide ? "int64" : "int32", std::unsigned_integral<T>
                                                                  ? std::optional<std::int64_t>(0)
                                                                  : std::nullopt);
  }
};
template <class T>
struct SchemaOf<std::vector<T>> {
  static Schema make() { return describe_detail::list_of(schema_of<T>()); }
};
template <class T>
struct SchemaOf<std::map<std::string, T>> {
  static Schema make() { return describe_detail::map_of(schema_of<T>()); }
};
template <class T>
struct SchemaOf<std::optional<T>> {
  static Schema make() { return schema_of<T>(); }
};

// ---------------------------------------------------------------- decoding

// Where a decoder stands, for error messages; rendered only when there is something to say.
struct DecodePath {
  const DecodePath* parent = nullptr;
  std::string_view name;
  std::optional<std::size_t> index;

  std::string to_string() const;
};

namespace describe_detail {
void wrong_type(const DecodePath& path, const Json& value, std::string_view wanted,
                FieldErrors& errors);
// Fails unless `value` is an integer within the bounds.
std::optional<std::int64_t> integer_within(const Json& value, std::int64_t low, std::uint64_t high);
}  // namespace describe_detail

template <class T>
void decode_value(const Json& value, T& out, const DecodePath& path, FieldErrors& errors);

template <class T>
class DecodeVisitor {
 public:
  DecodeVisitor(const JsonObject& in, T& out, const DecodePath& path, FieldErrors& errors)
      : in_(in), out_(out), path_(path), errors_(errors) {}

  void type_meta(std::string_view api_version, std::string_view kind) {
    expect("apiVersion", api_version);
    expect("kind", kind);
  }

  template <class Member>
  NoRules field(std::string_view name, Member T::* member) {
    const Json* value = in_.if_contains(name);
    if (value && !value->is_null()) {
      decode_value(*value, out_.*member, DecodePath{.parent = &path_, .name = name, .index = {}},
                   errors_);
    }
    return {};
  }

 private:
  // Items of a list carry no type, so a missing one is right; a different one is not.
  void expect(std::string_view name, std::string_view wanted) {
    const Json* value = in_.if_contains(name);
    if (value && *value != Json(wanted)) {
      errors_.push_back(not_supported(std::string(name), *value, {std::string(wanted)}));
    }
  }
  const JsonObject& in_;
  T& out_;
  const DecodePath& path_;
  FieldErrors& errors_;
};

namespace describe_detail {

template <class T>
inline constexpr bool is_vector = false;
template <class T>
inline constexpr bool is_vector<std::vector<T>> = true;
template <class T>
inline constexpr bool is_map = false;
template <class T>
inline constexpr bool is_map<std::map<std::string, T>> = true;
template <class T>
inline constexpr bool is_optional = false;
template <class T>
inline constexpr bool is_optional<std::optional<T>> = true;
template <class T>
concept Timestamp = std::same_as<T, Time> || std::same_as<T, MicroTime>;

}  // namespace describe_detail

template <class T>
void decode_value(const Json& value, T& out, const DecodePath& path, FieldErrors& errors) {
  namespace detail = describe_detail;
  if constexpr (std::same_as<T, Json>) {
    out = value;
  } else if constexpr (detail::is_optional<T>) {
    decode_value(value, out.emplace(), path, errors);
  } else if constexpr (std::same_as<T, std::string>) {
    if (!value.is_string()) return detail::wrong_type(path, value, "string", errors);
    out = value.get_string();
  } else if constexpr (std::same_as<T, bool>) {
    if (!value.is_bool()) return detail::wrong_type(path, value, "boolean", errors);
    out = value.get_bool();
  } else if constexpr (std::integral<T>) {
    static_assert(sizeof(T) <= 8 && !std::same_as<T, std::uint64_t>);
    const auto number =
        detail::integer_within(value, std::numeric_limits<T>::min(), std::numeric_limits<T>::max());
    if (!number) return detail::wrong_type(path, value, "integer", errors);
    out = static_cast<T>(*number);
  } else if constexpr (std::floating_point<T>) {
    if (!value.is_number()) return detail::wrong_type(path, value, "number", errors);
    out = value.to_number<T>();
  } else if constexpr (detail::Timestamp<T>) {
    if (!value.is_string()) return detail::wrong_type(path, value, "date-time", errors);
    const auto moment = parse_rfc3339(value.get_string());
    if (!moment) return detail::wrong_type(path, value, "date-time", errors);
    out.at = *moment;
  } else if constexpr (detail::is_vector<T>) {
    const JsonArray* array = value.if_array();
    if (!array) return detail::wrong_type(path, value, "array", errors);
    out.resize(array->size());
    for (std::size_t i = 0; i < array->size(); ++i) {
      decode_value((*array)[i], out[i], DecodePath{.parent = &path, .name = {}, .index = i},
                   errors);
    }
  } else if constexpr (detail::is_map<T>) {
    const JsonObject* object = value.if_object();
    if (!object) return detail::wrong_type(path, value, "object", errors);
    for (const auto& member : *object) {
      decode_value(member.value(), out[std::string(member.key())],
                   DecodePath{.parent = &path, .name = member.key(), .index = {}}, errors);
    }
  } else {
    static_assert(Described<T>);
    const JsonObject* object = value.if_object();
    if (!object) return detail::wrong_type(path, value, "object", errors);
    DecodeVisitor<T> visitor(*object, out, path, errors);
    T::describe(visitor);
  }
}

// The value as a T, or invalid with every field that does not fit.
template <Described T>
Result<T> decode(const Json& value) {
  T out;
  FieldErrors errors;
  decode_value(value, out, DecodePath{}, errors);
  if (!errors.empty()) return fail(Code::invalid, join_errors(errors));
  return out;
}

// ---------------------------------------------------------------- encoding

template <class T>
Json encode(const T& value);

template <class T>
class EncodeVisitor {
 public:
  EncodeVisitor(const T& in, JsonObject& out) : in_(in), out_(out) {}

  void type_meta(std::string_view api_version, std::string_view kind) {
    out_["apiVersion"] = api_version;
    out_["kind"] = kind;
  }
  template <class Member>
  NoRules field(std::string_view name, Member T::* member) {
    Json value = encode(in_.*member);
    if (!is_empty(value) || has_value(in_.*member)) out_.emplace(name, std::move(value));
    return {};
  }

 private:
  static bool is_empty(const Json& value) {
    switch (value.kind()) {
      case boost::json::kind::null:
        return true;
      case boost::json::kind::bool_:
        return !value.get_bool();
      case boost::json::kind::int64:
        return value.get_int64() == 0;
      case boost::json::kind::uint64:
        return value.get_uint64() == 0;
      case boost::json::kind::double_:
        return value.get_double() == 0;
      case boost::json::kind::string:
        return value.get_string().empty();
      case boost::json::kind::array:
        return value.get_array().empty();
      case boost::json::kind::object:
        return value.get_object().empty();
    }
    return false;
  }
  // An optional says itself whether it is there.
  template <class Member>
  static bool has_value(const Member& member) {
    if constexpr (describe_detail::is_optional<Member>) return member.has_value();
    return false;
  }
  const T& in_;
  JsonObject& out_;
};

template <class T>
Json encode(const T& value) {
  namespace detail = describe_detail;
  if constexpr (detail::is_optional<T>) {
    return value ? encode(*value) : Json(nullptr);
  } else if constexpr (std::same_as<T, Time>) {
    return Json(rfc3339(value.at));
  } else if constexpr (std::same_as<T, MicroTime>) {
    return Json(rfc3339_micro(value.at));
  } else if constexpr (detail::is_vector<T>) {
    JsonArray array;
    array.reserve(value.size());
    for (const auto& item : value) array.push_back(encode(item));
    return array;
  } else if constexpr (detail::is_map<T>) {
    JsonObject object;
    for (const auto& [name, item] : value) object.emplace(name, encode(item));
    return object;
  } else if constexpr (Described<T>) {
    JsonObject object;
    EncodeVisitor<T> visitor(value, object);
    T::describe(visitor);
    return object;
  } else if constexpr (std::integral<T> && !std::same_as<T, bool>) {
    return Json(static_cast<std::int64_t>(value));
  } else {
    return Json(value);
  }
}

}  // namespace fairlead::resource
