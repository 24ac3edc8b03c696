#include "api/resource/catalog.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "api/resource/kind_test_support.h"

namespace fairlead::resource {
namespace {

using testing::object_of;

// Calls `visit` for every schema below and including `schema`, with its path.
template <class Visit>
void each_schema(const Schema& schema, const std::string& path, const Visit& visit) {
  visit(schema, path);
  for (const Field& field : schema.fields) {
    each_schema(field.schema, path.empty() ? field.name : path + "." + field.name, visit);
  }
  if (schema.items) each_schema(*schema.items, path + "[]", visit);
  if (schema.values) each_schema(*schema.values, path + "{}", visit);
}

const Schema* schema_at(const Schema& schema, std::string_view path) {
  const std::size_t dot = path.find('.');
  const Field* field = schema.find(path.substr(0, dot));
  if (!field || dot == std::string_view::npos) return field ? &field->schema : nullptr;
  return schema_at(field->schema, path.substr(dot + 1));
}

const auto& kinds() { return builtin_catalog().kinds(); }

// Every kind can be found by what a URL says and by what an object says.
TEST(Catalog, KindsAreFound) {
  const Catalog& catalog = builtin_catalog();
  EXPECT_EQ(kinds().size(), 15u);
  for (const auto& kind : kinds()) {
    EXPECT_EQ(catalog.find(kind->group, kind->version, kind->plural), kind.get());
    EXPECT_EQ(catalog.find_kind(kind->api_version(), kind->kind), kind.get());
  }
  EXPECT_EQ(catalog.find("", "v1", "pods"), nullptr);
  EXPECT_EQ(catalog.find("fairlead.dev", "v1", "subnets"), nullptr);
  EXPECT_EQ(catalog.find_kind("v1", "Subnet"), nullptr);
  EXPECT_EQ(catalog.find_kind("fairlead.dev/v1alpha1", "Subnet")->qualified(),
            "subnets.fairlead.dev");
}

// No two kinds answer to the same name on kubectl's command line within a group.
TEST(Catalog, NamesAreUnique) {
  std::set<std::string> names;
  for (const auto& kind : kinds()) {
    if (kind->view) continue;  // goes by the names of what it shows
    for (const std::string& name : kind->short_names)
      EXPECT_TRUE(names.insert(name).second) << name;
    EXPECT_TRUE(names.insert(kind->plural).second) << kind->plural;
  }
}

// Every field has a description for explain, and every list and map says what is in it.
TEST(Catalog, EveryFieldIsDescribed) {
  for (const auto& kind : kinds()) {
    EXPECT_FALSE(kind->schema.description.empty()) << kind->kind;
    each_schema(kind->schema, "", [&](const Schema& schema, const std::string& path) {
      for (const Field& field : schema.fields) {
        EXPECT_FALSE(field.schema.description.empty())
            << kind->kind << " " << path << "." << field.name;
      }
      EXPECT_EQ(schema.type == Schema::Type::array, schema.items != nullptr)
          << kind->kind << " " << path;
    });
  }
}

// Keys of map lists are declared fields of their items; merge keys too.
TEST(Catalog, ListKeysAreDeclared) {
  for (const auto& kind : kinds()) {
    each_schema(kind->schema, "", [&](const Schema& schema, const std::string& path) {
      for (const std::string& key : schema.map_keys) {
        EXPECT_TRUE(schema.items && schema.items->find(key))
            << kind->kind << " " << path << " " << key;
      }
      if (schema.list_type == Schema::ListType::map) EXPECT_FALSE(schema.map_keys.empty()) << path;
      if (!schema.patch_merge_key.empty()) {
        EXPECT_TRUE(schema.items && schema.items->find(schema.patch_merge_key))
            << kind->kind << " " << path;
      }
    });
  }
}

// A default passes the checks of the field it is for.
TEST(Catalog, DefaultsAreValid) {
  for (const auto& kind : kinds()) {
    each_schema(kind->schema, "", [&](const Schema& schema, const std::string& path) {
      if (!schema.default_value) return;
      EXPECT_TRUE(check_schema(schema, *schema.default_value, nullptr).empty())
          << kind->kind << " " << path;
    });
  }
}

// What can be selected by exists.
TEST(Catalog, SelectableFieldsExist) {
  for (const auto& kind : kinds()) {
    for (const std::string& path : kind->selectable) {
      EXPECT_TRUE(schema_at(kind->schema, path)) << kind->kind << " " << path;
      EXPECT_EQ(selected_value(object_of(*kind, "{}"), path), "");
    }
  }
}

// Columns have known types, one is the name and one an age, and each can be computed for an object
// that has nothing, or nonsense, in it.
TEST(Catalog, ColumnsWork) {
  const std::set<std::string> types = {"integer", "number", "string", "boolean", "date"};
  for (const auto& kind : kinds()) {
    int names = 0;
    for (const Column& column : kind->columns) {
      EXPECT_TRUE(types.contains(column.type)) << kind->kind << " " << column.name;
      EXPECT_FALSE(column.description.empty()) << kind->kind << " " << column.name;
      names += column.format == "name";
      for (
          const std::string_view members :
          {R"({})",
           R"({"spec":[],"status":7,"data":"x","subsets":[1],"endpoints":[[]],"ports":[null]})",
           R"({"spec":{"ports":[1,{}],"clusterIPs":[1],"selector":{"a":1}},"status":{"conditions":[1],"addresses":[{}],"loadBalancer":{"ingress":[5]}},"series":3})"}) {
        column.cell(object_of(*kind, members), testing::moment(testing::kNow));
      }
    }
    EXPECT_EQ(names, 1) << kind->kind;
  }
}

// Objects of any shape go through prepare and the checks of every kind without a crash.
TEST(Catalog, NonsenseIsSurvived) {
  for (const auto& kind : kinds()) {
    for (
        const std::string_view members :
        {R"({})",
         R"({"spec":[],"status":[],"data":7,"stringData":7,"subsets":"x","endpoints":{},"ports":"y","involvedObject":[]})",
         R"({"spec":{"ports":{},"finalizers":"x","vni":{}},"status":"x","data":{"a":{}},"stringData":{"a":[]},"type":[]})",
         R"({"spec":{"ports":[{"port":"x"},7,null,{"port":{}}],"taints":[null]},"data":null,"stringData":null,"subsets":[null],"ports":[null],"endpoints":[{"addresses":[1]}]})"}) {
      const Json object = object_of(*kind, members);
      const auto made = testing::write(*kind, object);
      const auto updated = testing::write(*kind, object, &made.object, Write::update);
      testing::write(*kind, object, &updated.object, Write::update_status);
    }
    for (Json nonsense : {Json(), Json(7), Json("x"), Json(JsonArray())}) {
      testing::write(*kind, nonsense);
    }
  }
}

// `kubectl get all` and `kubectl delete all --all` are about what users make, not about what the
// server and the nodes keep for themselves.
TEST(Catalog, AllIsWhatUsersMake) {
  const std::set<std::string> made_by_users = {"Service", "Subnet", "NetworkAttachment"};
  for (const auto& kind : kinds()) {
    const bool listed = std::ranges::find(kind->categories, "all") != kind->categories.end();
    EXPECT_EQ(listed, made_by_users.contains(kind->kind)) << kind->kind;
  }
}

// The flags of updates are those of Kubernetes for its kinds, and strict for ours.
TEST(Catalog, UpdateRules) {
  const std::set<std::string> create_on_update = {"Service", "Endpoints", "Event", "Lease"};
  const std::set<std::string> conditional = {"Lease",  "NetworkAttachmentDefinition",
                                             "Subnet", "NetworkAttachment",
                                             "IPLock", "NodeReport"};
  const std::set<std::string> with_status = {"Namespace", "Node", "Service", "Subnet",
                                             "NetworkAttachment"};
  const std::set<std::string> no_strategic_merge = {"NetworkAttachmentDefinition", "Subnet",
                                                    "NetworkAttachment", "IPLock", "NodeReport"};
  const std::set<std::string> cluster_wide = {"Namespace", "Node", "NodeReport"};
  for (const auto& kind : kinds()) {
    EXPECT_EQ(kind->create_on_update, create_on_update.contains(kind->kind)) << kind->kind;
    EXPECT_EQ(kind->unconditional_update, !conditional.contains(kind->kind)) << kind->kind;
    EXPECT_EQ(kind->has_status, with_status.contains(kind->kind)) << kind->kind;
    EXPECT_EQ(kind->strategic_merge, !no_strategic_merge.contains(kind->kind)) << kind->kind;
    EXPECT_EQ(kind->namespaced, !cluster_wide.contains(kind->kind)) << kind->kind;
    EXPECT_EQ(kind->time_to_live.count(), kind->kind == "Event" ? 3600 : 0) << kind->kind;
  }
}

}  // namespace
}  // namespace fairlead::resource
