// The protobuf messages of the Kubernetes kinds that clients may send us, as tables: field number,
// JSON name, and how the value is written in JSON. The numbers are Kubernetes' published ones.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace fairlead::apimachinery {

enum class KubeType : std::uint8_t {
  text,
  integer,
  boolean,
  bytes,  // base64 in JSON
  message,
  time,
  micro_time,
  int_or_string,
  quantity,
  raw_json,  // FieldsV1
  text_map,
  bytes_map,
  quantity_map,
};

struct KubeField {
  std::uint32_t number;
  std::string_view name;
  KubeType type = KubeType::text;
  std::string_view message{};  // KubeType::message: which one
  bool repeated = false;
  bool pointer = false;  // zero and false are values, not absence
};

struct KubeMessage {
  std::string_view name;
  std::span<const KubeField> fields;
};

// nullptr when there is none of that name. Top-level kinds are "<apiVersion> <Kind>".
const KubeMessage* find_kube_message(std::string_view name);

}  // namespace fairlead::apimachinery
