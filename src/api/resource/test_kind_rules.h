// For tests only: what holds for every kind, checked for all kinds of a catalog. Core kinds and the
// kinds of features pass the same checks.
#pragma once

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <string_view>

#include "api/resource/catalog.h"
#include "api/resource/kind_test_support.h"

namespace fairlead::resource::testing {

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

inline const Schema* schema_at(const Schema& schema, std::string_view path) {
  const std::size_t dot = path.find('.');
  const Field* field = schema.find(path.substr(0, dot));
  if (!field || dot == std::string_view::npos) return field ? &field->schema : nullptr;
  return schema_at(field->schema, path.substr(dot + 1));
}

// No two kinds answer to the same name on kubectl's command line within a group.
inline void expect_unique_names(const Catalog& catalog) {
  std::set<std::string> names;
  for (const auto& kind : catalog.kinds()) {
    if (kind->view) continue;  // goes by the names of what it shows
    for (const std::string& name : kind->short_names)
      EXPECT_TRUE(names.insert(name).second) << name;
    EXPECT_TRUE(names.insert(kind->plural).second) << kind->plural;
  }
}

// Every field has a description for explain, and every list and map says what is in it.
inline void expect_descriptions(const Catalog& catalog) {
  for (const auto& kind : catalog.kinds()) {
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
inline void expect_declared_keys(const Catalog& catalog) {
  for (const auto& kind : catalog.kinds()) {
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
inline void expect_valid_defaults(const Catalog& catalog) {
  for (const auto& kind : catalog.kinds()) {
    each_schema(kind->schema, "", [&](const Schema& schema, const std::string& path) {
      if (!schema.default_value) return;
      EXPECT_TRUE(check_schema(schema, *schema.default_value, nullptr).empty())
          << kind->kind << " " << path;
    });
  }
}

// What can be selected by exists.
inline void expect_selectable_fields(const Catalog& catalog) {
  for (const auto& kind : catalog.kinds()) {
    for (const std::string& path : kind->selectable) {
      EXPECT_TRUE(schema_at(kind->schema, path)) << kind->kind << " " << path;
      EXPECT_EQ(selected_value(object_of(*kind, "{}"), path), "");
    }
  }
}

// Columns have known types, one is the name and one an age, and each can be computed for an object
// that has nothing, or nonsense, in it.
inline void expect_working_columns(const Catalog& catalog) {
  const std::set<std::string> types = {"integer", "number", "string", "boolean", "date"};
  for (const auto& kind : catalog.kinds()) {
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
        column.cell(object_of(*kind, members), moment(kNow));
      }
    }
    EXPECT_EQ(names, 1) << kind->kind;
  }
}

// Objects of any shape go through prepare and the checks of every kind without a crash.
inline void expect_nonsense_is_survived(const Catalog& catalog) {
  for (const auto& kind : catalog.kinds()) {
    for (
        const std::string_view members :
        {R"({})",
         R"({"spec":[],"status":[],"data":7,"stringData":7,"subsets":"x","endpoints":{},"ports":"y","involvedObject":[]})",
         R"({"spec":{"ports":{},"finalizers":"x","vni":{}},"status":"x","data":{"a":{}},"stringData":{"a":[]},"type":[]})",
         R"({"spec":{"ports":[{"port":"x"},7,null,{"port":{}}],"taints":[null]},"data":null,"stringData":null,"subsets":[null],"ports":[null],"endpoints":[{"addresses":[1]}]})"}) {
      const Json object = object_of(*kind, members);
      const auto made = write(*kind, object);
      const auto updated = write(*kind, object, &made.object, Write::update);
      write(*kind, object, &updated.object, Write::update_status);
    }
    for (Json nonsense : {Json(), Json(7), Json("x"), Json(JsonArray())}) {
      write(*kind, nonsense);
    }
  }
}

inline void expect_sound_kinds(const Catalog& catalog) {
  expect_unique_names(catalog);
  expect_descriptions(catalog);
  expect_declared_keys(catalog);
  expect_valid_defaults(catalog);
  expect_selectable_fields(catalog);
  expect_working_columns(catalog);
  expect_nonsense_is_survived(catalog);
}

}  // namespace fairlead::resource::testing
