#include <gtest/gtest.h>

#include "api/resource/kind_test_support.h"
#include "api/resource/name_rules.h"
#include "api/resource/test_kinds.h"

namespace fairlead::resource {
namespace {

using testing::json;
using testing::Texts;

constexpr std::string_view kSubdomainWords =
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
    "'.', "
    "and must start and end with an alphanumeric character (e.g. 'example.com', regex used for "
    "validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
constexpr std::string_view kLabelWords =
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and "
    "must "
    "start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for "
    "validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";

const Kind& kind(std::string_view name) {
  for (const auto& one : test_catalog().kinds()) {
    if (one->kind == name) return *one;
  }
  ADD_FAILURE() << "no kind " << name;
  return *test_catalog().kinds().front();
}

Texts texts(const FieldErrors& errors) {
  Texts result;
  for (const FieldError& error : errors) result.push_back(error.to_string());
  return result;
}

Texts problems(std::string_view kind_name, std::string_view metadata) {
  const Json object = JsonObject{{"metadata", json(metadata)}};
  return texts(check_metadata(kind(kind_name), object));
}

// The shapes of names, at their edges.
TEST(NameRules, AcceptAndRefuse) {
  const std::string l63(63, 'a');
  const std::string l253 = l63 + "." + l63 + "." + l63 + "." + std::string(61, 'b');
  for (const std::string& good :
       {std::string("a"), std::string("0"), std::string("a-b.c-d.0"), l253}) {
    EXPECT_TRUE(is_dns_subdomain(good)) << good;
  }
  for (const std::string& bad :
       {std::string(""), std::string("-a"), std::string("a-"), std::string("a..b"),
        std::string(".a"), std::string("a."), std::string("A"), std::string("a_b"), l253 + "c"}) {
    EXPECT_FALSE(is_dns_subdomain(bad)) << bad;
  }
  EXPECT_TRUE(is_dns_label(l63));
  EXPECT_FALSE(is_dns_label(l63 + "a"));
  EXPECT_FALSE(is_dns_label("a.b"));
  for (const std::string& good :
       {std::string("a"), std::string("A_b.c-D"), std::string("x.y/z"), "x.y/" + l63}) {
    EXPECT_TRUE(is_qualified_name(good)) << good;
  }
  for (const std::string& bad :
       {std::string(""), std::string("/a"), std::string("a/"), std::string("a/b/c"),
        std::string("A.b/c"), std::string("-a"), std::string("a b"), l63 + "a"}) {
    EXPECT_FALSE(is_qualified_name(bad)) << bad;
  }
  for (const std::string& good : {std::string(""), std::string("A"), std::string("1.2_3-4"), l63}) {
    EXPECT_TRUE(is_label_value(good)) << good;
  }
  for (const std::string& bad :
       {std::string(" "), std::string("-"), std::string("a."), l63 + "a"}) {
    EXPECT_FALSE(is_label_value(bad)) << bad;
  }
  EXPECT_EQ(dns_1035_label_problem("a1"), "");
  EXPECT_NE(dns_1035_label_problem("1a"), "");
  EXPECT_EQ(config_map_key_problem("a.B_c-1"), "");
  for (const std::string_view bad : {"", "a/b", ".", "..", "..a"}) {
    EXPECT_NE(config_map_key_problem(bad), "") << bad;
  }
  for (const std::string_view bad : {"", "1", "a--b", "-a", "a-", "A", "abcdefghijklmnop"}) {
    EXPECT_NE(port_name_problem(bad), "") << bad;
  }
  EXPECT_EQ(port_name_problem("http-2"), "");
}

// Names, namespaces and generateName.
TEST(Metadata, NamesAreChecked) {
  EXPECT_EQ(problems("Parcel", R"({"name":"a.b","namespace":"ns"})"), Texts{});
  EXPECT_EQ(problems("Parcel", R"({"namespace":"ns"})"),
            Texts{"metadata.name: Required value: name or generateName is required"});
  EXPECT_EQ(problems("Parcel", R"({"name":"A","namespace":"ns"})"),
            Texts{"metadata.name: Invalid value: \"A\": " + std::string(kSubdomainWords)});
  EXPECT_EQ(problems("Parcel", R"({"name":"a"})"), Texts{"metadata.namespace: Required value"});
  EXPECT_EQ(problems("Parcel", R"({"name":"a","namespace":"n.s"})"),
            Texts{"metadata.namespace: Invalid value: \"n.s\": " + std::string(kLabelWords)});
  EXPECT_EQ(problems("Node", R"({"name":"a","namespace":"ns"})"),
            Texts{"metadata.namespace: Forbidden: not allowed on this type"});
  EXPECT_EQ(problems("Namespace", R"({"name":"a.b"})"),
            Texts{"metadata.name: Invalid value: \"a.b\": " + std::string(kLabelWords)});
  EXPECT_EQ(problems("Parcel", R"({"name":"a","generateName":"a-","namespace":"ns"})"), Texts{});
  EXPECT_EQ(problems("Parcel", R"({"name":"a","generateName":"A-","namespace":"ns"})"),
            Texts{"metadata.generateName: Invalid value: \"A-\": " + std::string(kSubdomainWords)});
  EXPECT_EQ(problems("Service", R"({"name":"1a","namespace":"ns"})").size(), 1u);
  const std::string long_name(254, 'a');
  EXPECT_EQ(
      problems("Parcel", R"({"name":")" + long_name + R"(","namespace":"ns"})"),
      Texts{"metadata.name: Invalid value: \"" + long_name + "\": must be no more than 253 bytes"});
}

// Labels and annotations: keys, values and total size.
TEST(Metadata, LabelsAndAnnotationsAreChecked) {
  const auto with = [](std::string_view rest) {
    return problems("Parcel", R"({"name":"a","namespace":"ns",)" + std::string(rest) + "}");
  };
  EXPECT_EQ(with(R"("labels":{"a/b":"c","d":""},"annotations":{"X.com/y":"any thing"})"), Texts{});
  EXPECT_EQ(
      with(R"("labels":{"a b":"c"})"),
      Texts{"metadata.labels: Invalid value: \"a b\": name part must consist of alphanumeric "
            "characters, '-', '_' or '.', and must start and end with an alphanumeric "
            "character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation "
            "is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"});
  EXPECT_EQ(with(R"("labels":{"/b":"c"})"),
            Texts{"metadata.labels: Invalid value: \"/b\": prefix part must be non-empty"});
  EXPECT_EQ(
      with(R"("labels":{"a":"b c"})"),
      Texts{"metadata.labels: Invalid value: \"b c\": a valid label must be an empty string or "
            "consist of alphanumeric characters, '-', '_' or '.', and must start and end with "
            "an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used "
            "for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"});
  EXPECT_EQ(with(R"("annotations":{"a b":"c"})").size(), 1u);
  const std::string big(256 << 10, 'x');
  EXPECT_EQ(with(R"("annotations":{"a":")" + big + R"("})"),
            Texts{"metadata.annotations: Too long: must have at most 262144 bytes"});
  EXPECT_EQ(with(R"("annotations":{"a":")" + big.substr(1) + R"("})"), Texts{});
}

// Finalizers are qualified names, and the two of garbage collection exclude each other.
TEST(Metadata, FinalizersAreChecked) {
  const auto with = [](std::string_view list) {
    return problems("Parcel",
                    R"({"name":"a","namespace":"ns","finalizers":)" + std::string(list) + "}");
  };
  EXPECT_EQ(with(R"(["x.com/y","orphan"])"), Texts{});
  EXPECT_EQ(with(R"(["x.com/y","x.com/y"])"), Texts{});
  EXPECT_EQ(with(R"(["a/"])"),
            Texts{"metadata.finalizers: Invalid value: \"a/\": name part must be non-empty"});
  EXPECT_EQ(
      with(R"(["orphan","foregroundDeletion"])"),
      Texts{"metadata.finalizers: Invalid value: [\"orphan\",\"foregroundDeletion\"]: finalizer "
            "orphan and foregroundDeletion cannot be both set"});
}

// Owners are complete, are no Events, and at most one controls.
TEST(Metadata, OwnersAreChecked) {
  const auto with = [](std::string_view list) {
    return problems("Parcel",
                    R"({"name":"a","namespace":"ns","ownerReferences":)" + std::string(list) + "}");
  };
  const std::string owner =
      R"({"apiVersion":"v1","kind":"Node","name":"n","uid":"u","controller":true})";
  const std::string second =
      R"({"apiVersion":"v1","kind":"Node","name":"m","uid":"v","controller":true})";
  EXPECT_EQ(with("[" + owner + "]"), Texts{});
  EXPECT_EQ(
      with("[{}]"),
      (Texts{"metadata.ownerReferences.apiVersion: Invalid value: \"\": version must not be empty",
             "metadata.ownerReferences.kind: Invalid value: \"\": must not be empty",
             "metadata.ownerReferences.name: Invalid value: \"\": must not be empty",
             "metadata.ownerReferences.uid: Invalid value: \"\": must not be empty"}));
  EXPECT_EQ(with(R"([{"apiVersion":"g/","kind":"K","name":"n","uid":"u"}])").size(), 1u);
  EXPECT_EQ(with(R"([{"apiVersion":"v1","kind":"Event","name":"n","uid":"u"}])").size(), 1u);
  const Texts two = with("[" + owner + "," + second + "]");
  ASSERT_EQ(two.size(), 1u);
  EXPECT_TRUE(
      two[0].ends_with("Only one reference can have Controller set to true. Found \"true\" in "
                       "references for n and m"));
}

// Metadata of wrong types never crashes; the schema check reports it.
TEST(Metadata, WrongTypesAreLeftToTheSchema) {
  const Kind& parcel = kind("Parcel");
  for (
      const std::string_view metadata :
      {R"("x")", R"([])",
       R"({"name":1,"labels":[],"annotations":"x","finalizers":{},"ownerReferences":1})",
       R"({"name":"a","namespace":"ns","labels":{"a":1},"finalizers":[1],"ownerReferences":[1,null]})"}) {
    const Json object = JsonObject{{"apiVersion", parcel.api_version()},
                                   {"kind", "Parcel"},
                                   {"metadata", json(metadata)},
                                   {"spec", JsonObject{{"number", 1}}}};
    EXPECT_FALSE(check_metadata(parcel, object).empty() &&
                 check_schema(parcel.schema, object, nullptr).empty())
        << metadata;
  }
}

// Between two versions: identity stays, generation does not fall, no finalizer joins a deletion.
TEST(Metadata, UpdatesKeepIdentity) {
  const Kind& parcel = kind("Parcel");
  const auto update = [&](std::string_view before, std::string_view after) {
    return texts(check_metadata_update(parcel, JsonObject{{"metadata", json(after)}},
                                       JsonObject{{"metadata", json(before)}}));
  };
  EXPECT_EQ(update(R"({"name":"a","uid":"u","labels":{}})",
                   R"({"name":"a","uid":"u","labels":{"x":"y"}})"),
            Texts{});
  EXPECT_EQ(update(R"({"name":"a"})", R"({"name":"b"})"),
            Texts{"metadata.name: Invalid value: \"b\": field is immutable"});
  EXPECT_EQ(update(R"({"uid":"u"})", R"({"uid":"v"})"),
            Texts{"metadata.uid: Invalid value: \"v\": field is immutable"});
  EXPECT_EQ(update(R"({"deletionTimestamp":"2024-05-01T12:00:00Z"})", R"({})"),
            Texts{"metadata.deletionTimestamp: Invalid value: null: field is immutable"});
  EXPECT_EQ(update(R"({"generation":3})", R"({"generation":2})"),
            Texts{"metadata.generation: Invalid value: 2: must not be decremented"});
  EXPECT_EQ(update(R"({"finalizers":["a/b"]})", R"({"finalizers":["a/b","c/d"]})"), Texts{});
  EXPECT_EQ(update(R"({"deletionTimestamp":"2024-05-01T12:00:00Z","finalizers":["a/b"]})",
                   R"({"deletionTimestamp":"2024-05-01T12:00:00Z","finalizers":["c/d"]})"),
            Texts{"metadata.finalizers: Forbidden: no new finalizers can be added if the object is "
                  "being deleted, found new finalizers []string{\"c/d\"}"});
}

}  // namespace
}  // namespace fairlead::resource
