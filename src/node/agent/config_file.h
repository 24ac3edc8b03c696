// The agent's configuration: one YAML file, with a flag for many of its fields. Flags are laid over
// the file; what comes out is checked against one schema, put together from the agent's own fields
// (agent_settings.h) and those of the features. Everything that is wrong is told with its place:
//
//   agent.yaml:7:3: networks.host: must be a unicast address
//   --host-ip 224.0.0.1: must be a unicast address
//
// Pure, except read().
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/resource/schema/field_error.h"
#include "api/resource/schema/schema.h"
#include "foundation/runtime/runtime.h"
#include "foundation/wire/yaml.h"
#include "node/agent/node_feature.h"

namespace fairlead::agent {

inline constexpr std::size_t kMostConfigBytes = 1 << 20;

// A field that has a flag, or whose value was given elsewhere than in the file.
struct FlagValue {
  std::string flag;           // "--host-ip", or the name of an environment variable
  std::string path;           // "networks.host"
  std::optional<Json> value;  // nullopt: the flag was not given
  std::string text{};         // the value as it was written; empty: as it is
};

class ConfigFile {
 public:
  // No file: every value comes from flags.
  ConfigFile() = default;
  static Result<ConfigFile> read(runtime::Files& files, const std::string& path);
  // Fails with invalid: "FILE:LINE:COLUMN: what".
  static Result<ConfigFile> parse(std::string name, std::string_view text);

  // Takes what a forgiving reader of these top-level fields takes: names in any case, and numbers
  // where text is wanted. Places stay what they were.
  void accept_loosely(const std::vector<resource::Field>& fields);
  // As if the file did not have that top-level field.
  void drop(std::string_view field);
  // Lays flags over the file.
  void lay_over(std::vector<FlagValue> flags);

  // Unknown fields, fields given twice, types, ranges, values. Fills in defaults.
  Result<> check(const resource::Schema& schema);
  // What is wrong by further rules, in the same words. No errors: success.
  Result<> refuse(const resource::FieldErrors& errors) const;

  // "--flag value" of a field that a flag has set, else "FILE:LINE:COLUMN: path"; without a file
  // the field's flag.
  std::string where(const std::string& path) const;

  const Json& value() const { return value_; }
  // True if the file or a flag has that top-level field.
  bool has(std::string_view field) const { return wire::find(value_, field) != nullptr; }

 private:
  void respell(const std::vector<resource::Field>& fields, JsonObject& object,
               const std::string& before, const std::string& after);
  void loosen(const resource::Schema& schema, Json& value, const std::string& before,
              const std::string& after);
  void copy_place(const std::string& before, const std::string& after);
  std::string describe(const resource::FieldError& error) const;

  std::string name_;  // as given; empty: there is no file
  Json value_ = JsonObject();
  wire::YamlPlaces places_;
  std::vector<std::string> duplicates_;
  std::map<std::string, FlagValue, std::less<>> flags_;  // by path
};

// A JSON schema (draft 2020-12) of the file, for editors.
Json config_json_schema(const resource::Schema& schema);
// The same as a page of documentation: docs/reference/agent.md.
std::string config_reference(const resource::Schema& schema, const std::vector<FlagType>& flags);

}  // namespace fairlead::agent
