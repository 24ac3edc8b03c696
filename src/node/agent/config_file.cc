#include "node/agent/config_file.h"

#include <algorithm>

#include "api/resource/schema/validation.h"
#include "foundation/http/message.h"

namespace fairlead::agent {
namespace {

std::string at(const std::string& name, const wire::YamlPlace& place) {
  return name + ":" + std::to_string(place.line) + ":" + std::to_string(place.column);
}

std::string shown(const Json& value) {
  return value.is_string() ? std::string(value.get_string()) : wire::encode_json(value);
}

// The object's member at a dotted path, made on the way.
void set(Json& root, std::string_view path, Json value) {
  JsonObject* object = root.if_object();
  for (std::size_t dot = path.find('.'); object && dot != std::string_view::npos;
       dot = path.find('.')) {
    Json& member = (*object)[path.substr(0, dot)];
    if (member.is_null()) member = JsonObject();
    object = member.if_object();
    path.remove_prefix(dot + 1);
  }
  if (object) (*object)[path] = std::move(value);
}

// A section without any fields ("networks:") is an empty one.
void open_empty_sections(const resource::Schema& schema, Json& value) {
  JsonObject* object = value.if_object();
  if (!object) return;
  for (const resource::Field& field : schema.fields) {
    Json* member = object->if_contains(field.name);
    if (!member || field.schema.type != resource::Schema::Type::object) continue;
    if (member->is_null()) *member = JsonObject();
    open_empty_sections(field.schema, *member);
  }
}

}  // namespace

Result<ConfigFile> ConfigFile::read(runtime::Files& files, const std::string& path) {
  Result<std::string> text = files.read(path);
  if (!text) return fail(text.error().code, "--config " + path + ": " + text.error().message);
  return parse(path, *text);
}

Result<ConfigFile> ConfigFile::parse(std::string name, std::string_view text) {
  ConfigFile file;
  file.name_ = std::move(name);
  Result<wire::ParsedJson> parsed =
      wire::parse_yaml(text, {.max_depth = 32, .max_bytes = kMostConfigBytes}, file.places_);
  if (!parsed)
    return fail(Code::invalid,
                at(file.name_, file.places_.failure) + ": " + parsed.error().message);
  if (parsed->value.is_null()) parsed->value = JsonObject();
  if (!parsed->value.is_object())
    return fail(Code::invalid, at(file.name_, {}) + ": must be a map of fields");
  file.value_ = std::move(parsed->value);
  file.duplicates_ = std::move(parsed->duplicates);
  return file;
}

void ConfigFile::drop(std::string_view field) { value_.get_object().erase(field); }

void ConfigFile::copy_place(const std::string& before, const std::string& after) {
  if (before == after) return;
  if (const auto place = places_.at.find(before); place != places_.at.end())
    places_.at.insert_or_assign(after, wire::YamlPlace(place->second));
}

void ConfigFile::loosen(const resource::Schema& schema, Json& value, const std::string& before,
                        const std::string& after) {
  if (schema.type == resource::Schema::Type::string && (value.is_number() || value.is_bool())) {
    value = Json(wire::encode_json(value));
  } else if (JsonObject* object = value.if_object()) {
    respell(schema.fields, *object, before + ".", after + ".");
  } else if (JsonArray* array = value.if_array(); array && schema.items) {
    for (std::size_t i = 0; i < array->size(); ++i) {
      const std::string index = "[" + std::to_string(i) + "]";
      copy_place(before + index, after + index);
      loosen(*schema.items, (*array)[i], before + index, after + index);
    }
  }
}

void ConfigFile::respell(const std::vector<resource::Field>& fields, JsonObject& object,
                         const std::string& before, const std::string& after) {
  JsonObject spelled;
  for (auto& member : object) {
    const std::string key(member.key());
    const auto field = std::ranges::find_if(fields, [&](const resource::Field& one) {
      return http::equals_ignoring_case(one.name, key);
    });
    const std::string name = field == fields.end() ? key : field->name;
    const std::string from = before + key;
    const std::string to = after + name;
    if (spelled.contains(name)) {
      duplicates_.push_back(to);
      places_.duplicates.insert_or_assign(to, places_.find(from));
      continue;
    }
    copy_place(from, to);
    if (field != fields.end()) loosen(field->schema, member.value(), from, to);
    spelled.emplace(name, std::move(member.value()));
  }
  object = std::move(spelled);
}

void ConfigFile::accept_loosely(const std::vector<resource::Field>& fields) {
  respell(fields, value_.get_object(), "", "");
}

void ConfigFile::lay_over(std::vector<FlagValue> flags) {
  for (FlagValue& flag : flags) {
    if (flag.value) set(value_, flag.path, *flag.value);
    std::string path = flag.path;
    flags_.insert_or_assign(std::move(path), std::move(flag));
  }
}

Result<> ConfigFile::check(const resource::Schema& schema) {
  for (const std::string& path : duplicates_) {
    const auto second = places_.duplicates.find(path);
    const wire::YamlPlace place =
        second == places_.duplicates.end() ? wire::YamlPlace{} : second->second;
    return fail(Code::invalid, at(name_, place) + ": " + path + ": is given twice");
  }
  open_empty_sections(schema, value_);
  const std::vector<std::string> unknown = resource::unknown_fields(schema, value_, false);
  if (!unknown.empty())
    return fail(Code::invalid, where(unknown.front()) + ": there is no such field");
  FL_CHECKED(refuse(resource::check_schema(schema, value_, nullptr)));
  resource::apply_defaults(schema, value_);
  return {};
}

std::string ConfigFile::where(const std::string& path) const {
  // An item of a list belongs to the flag of the list, and a member to that of the whole.
  for (const auto& [set_path, flag] : flags_) {
    if (!flag.value) continue;
    const bool inside = path.starts_with(set_path + "[") || path.starts_with(set_path + ".");
    if (!flag.text.empty() && (inside || path == set_path)) return flag.flag + " " + flag.text;
    if (path == set_path) return flag.flag + " " + shown(*flag.value);
    if (!path.starts_with(set_path + "[")) continue;
    const std::size_t index = std::strtoul(path.c_str() + set_path.size() + 1, nullptr, 10);
    const JsonArray* items = flag.value->if_array();
    return flag.flag + (items && index < items->size() ? " " + shown((*items)[index]) : "");
  }
  if (!name_.empty()) return at(name_, places_.find(path)) + ": " + path;
  const auto flag = flags_.find(path);
  return flag == flags_.end() ? path : flag->second.flag;
}

std::string ConfigFile::describe(const resource::FieldError& error) const {
  if (error.type == resource::FieldError::Type::required)
    return where(error.field) + ": must be given";
  // The place shows the value; it need not be repeated.
  const bool plain = error.type == resource::FieldError::Type::invalid;
  return where(error.field) + ": " + (plain ? error.detail : error.message());
}

Result<> ConfigFile::refuse(const resource::FieldErrors& errors) const {
  if (errors.empty()) return {};
  std::string text;
  for (const resource::FieldError& error : errors)
    text += (text.empty() ? "" : "\n") + describe(error);
  return fail(Code::invalid, std::move(text));
}

}  // namespace fairlead::agent
