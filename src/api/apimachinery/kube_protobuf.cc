#include "api/apimachinery/kube_protobuf.h"

#include <chrono>
#include <string>

#include "api/apimachinery/kube_messages.h"
#include "foundation/base/check.h"
#include "foundation/base/encoding.h"
#include "foundation/base/time_text.h"
#include "foundation/wire/protobuf.h"

namespace fairlead::apimachinery {
namespace {

using wire::ProtoReader;

constexpr std::string_view kMagic("k8s\0", 4);
constexpr int kMaxDepth = 32;

Error broken(std::string_view where) {
  return {Code::invalid, "malformed protobuf in " + std::string(where)};
}

// Seconds and nanoseconds; an empty message is no time.
Result<Json> read_time(std::string_view bytes, bool micro) {
  ProtoReader reader(bytes);
  std::int64_t seconds = 0, nanos = 0;
  bool any = false;
  while (reader.next()) {
    any = true;
    if (reader.field() == 1) seconds = reader.signed_number();
    if (reader.field() == 2) nanos = reader.signed_number();
  }
  constexpr std::int64_t kFarthest =
      9'000'000'000;  // what nanoseconds can count, and a little less
  if (!reader.ok() || seconds > kFarthest || seconds < -kFarthest || nanos < 0 ||
      nanos >= 1'000'000'000)
    return fail(broken("a time"));
  if (!any) return Json(nullptr);
  const CivilTime time{std::chrono::seconds(seconds) + std::chrono::nanoseconds(nanos)};
  return Json(micro ? rfc3339_micro(time) : rfc3339(time));
}

Result<Json> read_int_or_string(std::string_view bytes) {
  ProtoReader reader(bytes);
  bool is_text = false;
  std::int64_t number = 0;
  std::string text;
  while (reader.next()) {
    if (reader.field() == 1) is_text = reader.number() == 1;
    if (reader.field() == 2) number = static_cast<std::int32_t>(reader.signed_number());
    if (reader.field() == 3) text = reader.bytes();
  }
  if (!reader.ok()) return fail(broken("a number or text"));
  return is_text ? Json(text) : Json(number);
}

// One message whose field 1 is a text: a Quantity, or FieldsV1 with its raw bytes.
Result<std::string> read_only_text(std::string_view bytes) {
  ProtoReader reader(bytes);
  std::string text;
  while (reader.next())
    if (reader.field() == 1) text = reader.bytes();
  if (!reader.ok()) return fail(broken("a quantity"));
  return text;
}

Result<Json> read_map_value(KubeType type, std::string_view bytes) {
  if (type == KubeType::bytes_map) return Json(encode_base64(bytes));
  if (type == KubeType::text_map) return Json(bytes);
  FL_TRY(const std::string text, read_only_text(bytes));
  return Json(text);
}

Result<> read_map_entry(KubeType type, std::string_view bytes, JsonObject& into) {
  ProtoReader reader(bytes);
  std::string_view key, value;
  while (reader.next()) {
    if (reader.field() == 1) key = reader.bytes();
    if (reader.field() == 2) value = reader.bytes();
  }
  if (!reader.ok()) return fail(broken("a map"));
  FL_TRY(into[key], read_map_value(type, value));
  return {};
}

Result<Json> read_message(const KubeMessage& shape, std::string_view bytes, int depth);

// The value of one field, null for what JSON leaves out.
Result<Json> read_value(const KubeField& field, const ProtoReader& reader, int depth) {
  switch (field.type) {
    case KubeType::text:
      if (reader.bytes().empty() && !field.repeated) return Json(nullptr);
      return Json(reader.bytes());
    case KubeType::integer:
      if (reader.number() == 0 && !field.pointer) return Json(nullptr);
      return Json(reader.signed_number());
    case KubeType::boolean:
      if (!reader.boolean() && !field.pointer) return Json(nullptr);
      return Json(reader.boolean());
    case KubeType::bytes:
      return Json(encode_base64(reader.bytes()));
    case KubeType::time:
      return read_time(reader.bytes(), false);
    case KubeType::micro_time:
      return read_time(reader.bytes(), true);
    case KubeType::int_or_string:
      return read_int_or_string(reader.bytes());
    case KubeType::quantity: {
      FL_TRY(const std::string text, read_only_text(reader.bytes()));
      return Json(text);
    }
    case KubeType::raw_json: {
      FL_TRY(const std::string text, read_only_text(reader.bytes()));
      FL_TRY(wire::ParsedJson parsed, wire::parse_json(text));
      return std::move(parsed.value);
    }
    case KubeType::message: {
      const KubeMessage* shape = find_kube_message(field.message);
      CHECK(shape);
      return read_message(*shape, reader.bytes(), depth + 1);
    }
    default:
      return fail(Code::internal, "a map is not a single value");
  }
}

bool is_map(KubeType type) {
  return type == KubeType::text_map || type == KubeType::bytes_map ||
         type == KubeType::quantity_map;
}

const KubeField* find_field(const KubeMessage& shape, std::uint32_t number) {
  for (const KubeField& field : shape.fields)
    if (field.number == number) return &field;
  return nullptr;
}

Result<Json> read_message(const KubeMessage& shape, std::string_view bytes, int depth) {
  if (depth > kMaxDepth) return fail(Code::invalid, "protobuf nested too deeply");
  JsonObject object;
  ProtoReader reader(bytes);
  while (reader.next()) {
    const KubeField* field = find_field(shape, reader.field());
    if (!field) continue;
    if (is_map(field->type)) {
      FL_CHECKED(
          read_map_entry(field->type, reader.bytes(), wire::member_object(object, field->name)));
      continue;
    }
    FL_TRY(Json value, read_value(*field, reader, depth));
    if (value.is_null()) continue;
    if (!field->repeated) {
      object[field->name] = std::move(value);
    } else {
      Json& list = object[field->name];
      if (!list.is_array()) list = JsonArray{};
      list.get_array().push_back(std::move(value));
    }
  }
  if (!reader.ok()) return fail(broken(shape.name));
  return Json(std::move(object));
}

}  // namespace

Result<Json> decode_kube_protobuf(std::string_view bytes) {
  if (!bytes.starts_with(kMagic))
    return fail(Code::invalid, "the body does not begin with the magic of Kubernetes' protobuf");
  ProtoReader envelope(bytes.substr(kMagic.size()));
  std::string_view type, raw;
  while (envelope.next()) {
    if (envelope.field() == 1) type = envelope.bytes();
    if (envelope.field() == 2) raw = envelope.bytes();
  }
  std::string api_version, kind;
  ProtoReader type_reader(type);
  while (type_reader.next()) {
    if (type_reader.field() == 1) api_version = type_reader.bytes();
    if (type_reader.field() == 2) kind = type_reader.bytes();
  }
  if (!envelope.ok() || !type_reader.ok()) return fail(broken("the envelope"));

  const KubeMessage* shape = kind == "DeleteOptions" ? find_kube_message(kind)
                                                     : find_kube_message(api_version + " " + kind);
  if (!shape)
    return fail(Code::unsupported,
                "kind \"" + kind + "\" of version \"" + api_version + "\" is taken as JSON only");
  FL_TRY(Json object, read_message(*shape, raw, 0));
  object.get_object()["apiVersion"] = api_version;
  object.get_object()["kind"] = kind;
  // Texts in protobuf may be any bytes; what is not UTF-8 must not get further.
  FL_TRY(wire::ParsedJson checked, wire::parse_json(wire::encode_json(object)));
  return std::move(checked.value);
}

}  // namespace fairlead::apimachinery
