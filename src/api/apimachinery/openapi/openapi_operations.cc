#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "api/apimachinery/openapi/openapi_model.h"
#include "api/apimachinery/request/accept.h"

namespace fairlead::apimachinery {
namespace {

using resource::Kind;
using Names = std::vector<std::string_view>;

const Names kListQuery = {"allowWatchBookmarks",
                          "continue",
                          "fieldSelector",
                          "labelSelector",
                          "limit",
                          "resourceVersion",
                          "resourceVersionMatch",
                          "sendInitialEvents",
                          "timeoutSeconds",
                          "watch"};
const Names kWriteQuery = {"dryRun", "fieldManager", "fieldValidation"};
const Names kPatchQuery = {"dryRun", "fieldManager", "fieldValidation", "force"};
const Names kDeleteQuery = {"dryRun", "gracePeriodSeconds", "orphanDependents",
                            "propagationPolicy"};
const Names kGetQuery = {"resourceVersion"};
const Names kAnyBody = {"*/*"};

struct Parameter {
  std::string_view name;
  std::string_view type;
  std::string_view description;
};

constexpr std::array kParameters = {
    Parameter{"allowWatchBookmarks", "boolean", "Ask for bookmark events while watching."},
    Parameter{"continue", "string", "The continue token of the page before."},
    Parameter{"dryRun", "string", "All: go through every step but change nothing."},
    Parameter{"fieldManager", "string", "Who makes this change, for managedFields."},
    Parameter{"fieldSelector", "string", "Restrict the objects by their fields."},
    Parameter{"fieldValidation", "string",
              "What to do about unknown and duplicate fields: Ignore, Warn or Strict."},
    Parameter{"force", "boolean", "Take fields over from other managers when applying."},
    Parameter{"gracePeriodSeconds", "integer", "Seconds before the object is deleted."},
    Parameter{"labelSelector", "string", "Restrict the objects by their labels."},
    Parameter{"limit", "integer", "At most so many objects in one answer."},
    Parameter{"orphanDependents", "boolean", "Deprecated: use propagationPolicy."},
    Parameter{"pretty", "string", "True: indent the answer."},
    Parameter{"propagationPolicy", "string",
              "What happens to dependents: Orphan, Background or Foreground."},
    Parameter{"resourceVersion", "string", "How fresh the answer must be."},
    Parameter{"resourceVersionMatch", "string", "How to understand resourceVersion."},
    Parameter{"sendInitialEvents", "boolean", "Begin a watch with the objects there are."},
    Parameter{"timeoutSeconds", "integer", "When the server is to end the request."},
    Parameter{"watch", "boolean", "Follow the changes instead of listing the objects."},
};

const Parameter* find_parameter(std::string_view name) {
  const auto it = std::find_if(kParameters.begin(), kParameters.end(),
                               [&](const Parameter& parameter) { return parameter.name == name; });
  return it == kParameters.end() ? nullptr : &*it;
}

std::string camel(std::string_view text) {
  std::string out;
  bool upper = true;
  for (const char c : text) {
    if (c == '.' || c == '-') {
      upper = true;
      continue;
    }
    out += upper && c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    upper = false;
  }
  return out;
}

std::string base_path(const Kind& kind) {
  return kind.group.empty() ? fmt::format("/api/{}", kind.version)
                            : fmt::format("/apis/{}/{}", kind.group, kind.version);
}

class OperationList {
 public:
  explicit OperationList(const Kind& kind) : kind_(kind) {}

  void read(const std::string& path) {
    add(path, "get", "get", "", model_name(kind_), {}, kGetQuery);
  }
  void list(const std::string& path) {
    add(path, "get", "list", "", model_name(kind_) + "List", {}, kListQuery);
  }
  void create(const std::string& path) {
    add(path, "post", "post", model_name(kind_), model_name(kind_), kAnyBody, kWriteQuery);
  }
  void replace(const std::string& path) {
    add(path, "put", "put", model_name(kind_), model_name(kind_), kAnyBody, kWriteQuery);
  }
  void patch(const std::string& path) {
    add(path, "patch", "patch", std::string(kPatchModel), model_name(kind_),
        patch_content_types(kind_), kPatchQuery);
  }
  void remove(const std::string& path) {
    add(path, "delete", "delete", std::string(kDeleteOptionsModel), std::string(kStatusModel),
        kAnyBody, kDeleteQuery);
  }
  void remove_collection(const std::string& path) {
    Names query = kDeleteQuery;
    query.insert(query.end(), kListQuery.begin(), kListQuery.end());
    add(path, "delete", "deletecollection", std::string(kDeleteOptionsModel),
        std::string(kStatusModel), kAnyBody, std::move(query));
  }
  std::vector<Operation> take() { return std::move(operations_); }

 private:
  void add(const std::string& path, std::string method, std::string action, std::string body,
           std::string response, Names consumes, Names query) {
    query.push_back("pretty");
    operations_.push_back({path, std::move(method), std::move(action), &kind_, std::move(body),
                           std::move(response), std::move(consumes), std::move(query)});
  }

  const Kind& kind_;
  std::vector<Operation> operations_;
};

std::string_view operation_verb(const Operation& operation) {
  if (operation.action == "get") return "read";
  if (operation.action == "post") return "create";
  if (operation.action == "put") return "replace";
  if (operation.action == "deletecollection") return "delete";
  return operation.action;
}

}  // namespace

std::vector<Operation> operations_of(const Kind& kind) {
  OperationList operations(kind);
  const std::string base = base_path(kind);
  const std::string collection =
      kind.namespaced ? fmt::format("{}/namespaces/{{namespace}}/{}", base, kind.plural)
                      : fmt::format("{}/{}", base, kind.plural);
  if (!kind.stored) {
    operations.create(collection);
    return operations.take();
  }
  const bool is_namespace = kind.group.empty() && kind.plural == "namespaces";
  if (kind.namespaced) operations.list(fmt::format("{}/{}", base, kind.plural));
  operations.list(collection);
  operations.create(collection);
  if (!is_namespace) operations.remove_collection(collection);
  const std::string item = collection + "/{name}";
  operations.read(item);
  operations.replace(item);
  operations.patch(item);
  operations.remove(item);
  if (is_namespace) operations.replace(item + "/finalize");
  if (kind.has_status) {
    operations.read(item + "/status");
    operations.replace(item + "/status");
    operations.patch(item + "/status");
  }
  return operations.take();
}

std::string operation_id(const Operation& operation) {
  const Kind& kind = *operation.kind;
  const bool in_namespace = operation.path.find("{namespace}") != std::string::npos;
  std::string suffix;
  if (operation.path.ends_with("/status")) suffix = "Status";
  if (operation.path.ends_with("/finalize")) suffix = "Finalize";
  if (kind.namespaced && !in_namespace) suffix = "ForAllNamespaces";
  return fmt::format("{}{}{}{}{}{}{}", operation_verb(operation),
                     kind.group.empty() ? "Core" : camel(kind.group), camel(kind.version),
                     operation.action == "deletecollection" ? "Collection" : "",
                     in_namespace ? "Namespaced" : "", kind.kind, suffix);
}

std::string_view query_description(std::string_view parameter) {
  const Parameter* found = find_parameter(parameter);
  return found ? found->description : std::string_view();
}

std::string_view query_type(std::string_view parameter) {
  const Parameter* found = find_parameter(parameter);
  return found ? found->type : "string";
}

}  // namespace fairlead::apimachinery
