// The schema of the agent's file as documents: for editors (JSON schema) and for people (Markdown).
#include <algorithm>

#include "api/apimachinery/openapi/openapi_model.h"
#include "node/agent/config_file.h"

namespace fairlead::agent {
namespace {

using resource::Schema;

// The file is closed: a field that is not known is a mistake.
void close_objects(Json& schema) {
  if (JsonObject* object = schema.if_object()) {
    if (object->contains("properties")) (*object)["additionalProperties"] = false;
    object->erase("x-kubernetes-list-type");
    for (auto& member : *object) close_objects(member.value());
  } else if (JsonArray* array = schema.if_array()) {
    for (Json& item : *array) close_objects(item);
  }
}

std::string type_text(const Schema& schema) {
  switch (schema.type) {
    case Schema::Type::object:
      return "map";
    case Schema::Type::array:
      return "list of " + (schema.items ? type_text(*schema.items) : std::string("anything"));
    case Schema::Type::string:
      return schema.format.empty() ? "text" : schema.format;
    case Schema::Type::integer:
      return "integer";
    case Schema::Type::number:
      return "number";
    case Schema::Type::boolean:
      return "true or false";
    case Schema::Type::int_or_string:
    case Schema::Type::any:
      break;
  }
  return "anything";
}

std::string rules_text(const resource::Field& field) {
  std::string text;
  const auto add = [&](const std::string& rule) { text += (text.empty() ? "" : "; ") + rule; };
  const Schema& schema = field.schema;
  if (field.required) add("must be given");
  if (schema.default_value) add("default `" + wire::encode_json(*schema.default_value) + "`");
  std::string values;
  for (const std::string& value : schema.allowed)
    values += (values.empty() ? "`" : ", `") + value + "`";
  if (!values.empty()) add("one of " + values);
  if (schema.minimum && schema.maximum)
    add(std::to_string(*schema.minimum) + " to " + std::to_string(*schema.maximum));
  else if (schema.minimum)
    add("at least " + std::to_string(*schema.minimum));
  else if (schema.maximum)
    add("at most " + std::to_string(*schema.maximum));
  return text;
}

std::string flag_of(const std::string& path, const std::vector<FlagType>& flags) {
  const auto at = std::ranges::find(flags, path, &FlagType::path);
  return at == flags.end() ? "" : "`" + at->flag + "`";
}

void add_rows(const Schema& schema, const std::string& prefix, const std::vector<FlagType>& flags,
              std::string& page) {
  for (const resource::Field& field : schema.fields) {
    const std::string path = prefix + field.name;
    page += "| `" + path + "` | " + type_text(field.schema) + " | " + flag_of(path, flags) + " | " +
            rules_text(field) + " | " + field.schema.description + " |\n";
    add_rows(field.schema, path + ".", flags, page);
    if (field.schema.items) add_rows(*field.schema.items, path + "[].", flags, page);
  }
}

}  // namespace

Json config_json_schema(const Schema& schema) {
  JsonObject document{{"$schema", "https://json-schema.org/draft/2020-12/schema"},
                      {"title", "fairlead agent --config"}};
  Json body = apimachinery::schema_json(schema, {.prefix = "", .version3 = true});
  close_objects(body);
  for (auto& member : body.get_object()) document[member.key()] = std::move(member.value());
  return document;
}

std::string config_reference(const Schema& schema, const std::vector<FlagType>& flags) {
  std::string page =
      "# The file of `fairlead agent --config`\n"
      "\n"
      "YAML. Made by `fairlead agent --config-reference`; `tests/e2e/agent_config.sh` fails when "
      "this page is not what it\n"
      "prints. Flags override the file. `fairlead agent --config-schema` prints a JSON schema for "
      "editors, `fairlead agent\n"
      "--check --config FILE` says what is wrong, with line and column.\n"
      "\n"
      "```yaml\n"
      "joinDir: /var/lib/fairlead-node  # `fairlead join --data /var/lib/fairlead-node …` has "
      "filled it\n"
      "networks:\n"
      "  host: 10.0.0.11\n"
      "  fabric: vxlan\n"
      "```\n"
      "\n"
      "A duration is `250ms`, `10s`, `1m30s`, or plain seconds. What needs an API runs where "
      "joinDir or kubeconfig is set.\n"
      "\n"
      "| field | type | flag | rules | meaning |\n"
      "|---|---|---|---|---|\n";
  std::vector<FlagType> all = flags;
  all.push_back({.flag = "--log-format", .path = "log.format"});
  all.push_back({.flag = "--log-level", .path = "log.level"});
  add_rows(schema, "", all, page);
  return page;
}

}  // namespace fairlead::agent
