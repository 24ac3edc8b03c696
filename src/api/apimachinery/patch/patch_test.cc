// JSON patch, merge patch and strategic merge patch, each as a table of documents.
#include <gtest/gtest.h>

#include "api/apimachinery/patch/json_patch.h"
#include "api/apimachinery/patch/merge_patch.h"
#include "api/apimachinery/patch/strategic_merge.h"
#include "api/apimachinery/test_kinds.h"

namespace fairlead::apimachinery {
namespace {

struct PatchCase {
  std::string document;
  std::string patch;
  std::string result;  // empty: refused with `code`
  int code = 0;
};

// RFC 6902, operation by operation, with the HTTP answer to each way of failing.
TEST(JsonPatch, AppliesOperations) {
  const std::vector<PatchCase> cases = {
      {R"({"a":1})", R"([{"op":"add","path":"/b","value":2}])", R"({"a":1,"b":2})"},
      {R"({"a":[1,2]})", R"([{"op":"add","path":"/a/1","value":9}])", R"({"a":[1,9,2]})"},
      {R"({"a":[1]})", R"([{"op":"add","path":"/a/-","value":9}])", R"({"a":[1,9]})"},
      {R"({"a":[1]})", R"([{"op":"add","path":"/a/1","value":9}])", R"({"a":[1,9]})"},
      {R"({"a":[1]})", R"([{"op":"add","path":"/a/2","value":9}])", "", 422},
      {R"({"a":[1]})", R"([{"op":"add","path":"/a/01","value":9}])", "", 422},
      {R"({"a":1,"b":2,"c":3})", R"([{"op":"remove","path":"/a"}])", R"({"b":2,"c":3})"},
      {R"({"a":1})", R"([{"op":"remove","path":"/x"}])", "", 422},
      {R"({"a":[1,2]})", R"([{"op":"remove","path":"/a/0"}])", R"({"a":[2]})"},
      {R"({"a":1})", R"([{"op":"replace","path":"/a","value":null}])", R"({"a":null})"},
      {R"({"a":1})", R"([{"op":"replace","path":"/x","value":1}])", "", 422},
      {R"({"a":{"b":1}})", R"([{"op":"move","from":"/a/b","path":"/c"}])", R"({"a":{},"c":1})"},
      {R"({"a":{"b":1}})", R"([{"op":"move","from":"/a","path":"/a/c"}])", "", 422},
      {R"({"a":{"b":1}})", R"([{"op":"copy","from":"/a","path":"/c"}])",
       R"({"a":{"b":1},"c":{"b":1}})"},
      {R"({"a/b":1,"m~n":2})",
       R"([{"op":"remove","path":"/a~1b"},{"op":"test","path":"/m~0n","value":2}])",
       R"({"m~n":2})"},
      {R"({"a":1})", R"([{"op":"test","path":"/a","value":1.0}])", R"({"a":1})"},
      {R"({"a":1})", R"([{"op":"test","path":"/a","value":2}])", "", 422},
      {R"({"a":1})", R"([{"op":"test","path":"/b","value":null}])", R"({"a":1})"},
      {R"({"a":1})", R"([{"op":"add","path":"","value":{"z":1}}])", R"({"z":1})"},
      {R"({"a":1})", R"([{"op":"bogus","path":"/a"}])", "", 400},
      {R"({"a":1})", R"([{"op":"add","path":"/a"}])", "", 400},
      {R"({"a":1})", R"([{"op":"add","path":"a","value":1}])", "", 400},
      {R"({"a":1})", R"([{"op":"add","path":"/~2","value":1}])", "", 400},
      {R"({"a":1})", R"({"op":"add"})", "", 400},
      {R"({"a":1})", R"([1])", "", 400},
  };
  for (const PatchCase& c : cases) {
    const auto result = apply_json_patch(json(c.document), json(c.patch));
    if (c.result.empty()) {
      ASSERT_FALSE(result) << c.patch;
      EXPECT_EQ(result.error().code, c.code) << c.patch;
    } else {
      ASSERT_TRUE(result) << c.patch << ": " << result.error().message;
      EXPECT_EQ(text(*result), c.result) << c.patch;
    }
  }
}

// A small patch cannot become a large document: operations and copies are bounded.
TEST(JsonPatch, LimitsAmplification) {
  JsonArray many;
  for (std::size_t i = 0; i <= kMaxJsonPatchOperations; ++i) {
    many.push_back(json(R"({"op":"test","path":"/a","value":1})"));
  }
  EXPECT_EQ(apply_json_patch(json(R"({"a":1})"), many).error().code, 413);

  JsonArray doubling = {json(R"({"op":"add","path":"/a","value":["0123456789"]})")};
  for (int i = 0; i < 40; ++i)
    doubling.push_back(json(R"({"op":"copy","from":"/a","path":"/a/-"})"));
  EXPECT_EQ(apply_json_patch(json("{}"), doubling).error().code, 413);

  JsonArray shifting;
  JsonArray long_list;
  for (int i = 0; i < 100'000; ++i) long_list.push_back(i);
  for (int i = 0; i < 5'000; ++i) {
    shifting.push_back(json(R"({"op":"add","path":"/a/0","value":1})"));
  }
  EXPECT_EQ(apply_json_patch(JsonObject{{"a", long_list}}, shifting).error().code, 413);

  std::string deep_path;
  JsonArray deep;
  for (int i = 0; i < 150; ++i) {
    deep_path += "/a";
    deep.push_back(JsonObject{{"op", "add"}, {"path", deep_path}, {"value", JsonObject()}});
  }
  EXPECT_FALSE(apply_json_patch(json("{}"), deep));
}

// RFC 7386, with the examples of its appendix that apply to objects.
TEST(MergePatch, AppliesRfcExamples) {
  const std::vector<PatchCase> cases = {
      {R"({"a":"b"})", R"({"a":"c"})", R"({"a":"c"})"},
      {R"({"a":"b"})", R"({"b":"c"})", R"({"a":"b","b":"c"})"},
      {R"({"a":"b"})", R"({"a":null})", R"({})"},
      {R"({"a":"b","b":"c"})", R"({"a":null})", R"({"b":"c"})"},
      {R"({"a":["b"]})", R"({"a":"c"})", R"({"a":"c"})"},
      {R"({"a":"c"})", R"({"a":["b"]})", R"({"a":["b"]})"},
      {R"({"a":{"b":"c"}})", R"({"a":{"b":"d","c":null}})", R"({"a":{"b":"d"}})"},
      {R"({"a":[{"b":"c"}]})", R"({"a":[1]})", R"({"a":[1]})"},
      {R"({"e":null})", R"({"a":1})", R"({"e":null,"a":1})"},
      {R"({})", R"({"a":{"bb":{"ccc":null}}})", R"({"a":{"bb":{}}})"},
  };
  for (const PatchCase& c : cases) {
    Json target = json(c.document);
    apply_merge_patch(target, json(c.patch));
    EXPECT_EQ(text(target), c.result) << c.patch;
  }
}

// A patch made from two objects turns the one into the other.
TEST(MergePatch, MakesTheDifference) {
  const std::vector<PatchCase> cases = {
      {R"({"a":1})", R"({"a":1})", R"({})"},
      {R"({"a":1,"b":{"c":1,"d":2}})", R"({"b":{"c":1,"d":3},"e":[1]})",
       R"({"a":null,"b":{"d":3},"e":[1]})"},
  };
  for (const PatchCase& c : cases) {
    const Json patch = make_merge_patch(json(c.document), json(c.patch));
    EXPECT_EQ(text(patch), c.result);
    Json target = json(c.document);
    apply_merge_patch(target, patch);
    EXPECT_EQ(target, json(c.patch));
  }
}

// Lists with a merge key merge by it; directives delete, replace, order and retain.
TEST(StrategicMerge, FollowsTheSchema) {
  const std::string parts =
      R"({"spec":{"parts":[{"name":"a","image":"1"},{"name":"b","image":"2"}]}})";
  const std::vector<PatchCase> cases = {
      {parts, R"({"spec":{"parts":[{"name":"b","image":"3"}]}})",
       R"({"spec":{"parts":[{"name":"a","image":"1"},{"name":"b","image":"3"}]}})"},
      // A new item without an order comes first, as in kube-apiserver.
      {parts, R"({"spec":{"parts":[{"name":"c","image":"4"}]}})",
       R"({"spec":{"parts":[{"name":"c","image":"4"},{"name":"a","image":"1"},{"name":"b","image":"2"}]}})"},
      {parts,
       R"({"spec":{"$setElementOrder/parts":[{"name":"b"},{"name":"c"},{"name":"a"}],"parts":[{"name":"c"}]}})",
       R"({"spec":{"parts":[{"name":"b","image":"2"},{"name":"c"},{"name":"a","image":"1"}]}})"},
      {parts, R"({"spec":{"$setElementOrder/parts":[{"name":"b"},{"name":"a"}]}})",
       R"({"spec":{"parts":[{"name":"b","image":"2"},{"name":"a","image":"1"}]}})"},
      {parts, R"({"spec":{"parts":[{"name":"a","$patch":"delete"}]}})",
       R"({"spec":{"parts":[{"name":"b","image":"2"}]}})"},
      {parts, R"({"spec":{"parts":[{"name":"z"},{"$patch":"replace"}]}})",
       R"({"spec":{"parts":[{"name":"z"}]}})"},
      {parts, R"({"spec":{"parts":[{"image":"x"}]}})", "", 400},
      {parts, R"({"spec":{"parts":[{"name":"a","$patch":"bogus"}]}})", "", 400},
      {parts, R"({"spec":{"$patch":"replace","list":["x"]}})", R"({"spec":{"list":["x"]}})"},
      {parts, R"({"spec":{"$patch":"delete"}})", R"({"spec":{}})"},
      {parts, R"({"spec":{"$patch":"bogus"}})", "", 400},
      {parts, R"({"spec":{"parts":[{"name":"a","args":["x"]}]}})",
       R"({"spec":{"parts":[{"name":"a","image":"1","args":["x"]},{"name":"b","image":"2"}]}})"},
      {R"({"spec":{"names":["a","b"]}})", R"({"spec":{"names":["b","c"]}})",
       R"({"spec":{"names":["a","b","c"]}})"},
      {R"({"spec":{"names":["a","b"]}})", R"({"spec":{"$deleteFromPrimitiveList/names":["a"]}})",
       R"({"spec":{"names":["b"]}})"},
      {R"({"spec":{"list":["a","b"]}})", R"({"spec":{"list":["c"]}})",
       R"({"spec":{"list":["c"]}})"},
      {R"({"spec":{"rollout":{"type":"x","a":"1"}}})",
       R"({"spec":{"rollout":{"$retainKeys":["type","b"],"type":"y","b":"2"}}})",
       R"({"spec":{"rollout":{"type":"y","b":"2"}}})"},
      {R"({"spec":{"rollout":{"type":"x"}}})",
       R"({"spec":{"rollout":{"$retainKeys":["type"],"b":"2"}}})", "", 400},
      {R"({"metadata":{"labels":{"a":"1","b":"2"}}})", R"({"metadata":{"labels":{"a":null}}})",
       R"({"metadata":{"labels":{"b":"2"}}})"},
      {R"({"metadata":{"finalizers":["x"]}})",
       R"({"metadata":{"$deleteFromPrimitiveList/finalizers":["x"]}})",
       R"({"metadata":{"finalizers":[]}})"},
      {R"({"metadata":{"ownerReferences":[{"uid":"1"},{"uid":"2"}]}})",
       R"({"metadata":{"ownerReferences":[{"uid":"1","$patch":"delete"}]}})",
       R"({"metadata":{"ownerReferences":[{"uid":"2"}]}})"},
      {R"({"data":{"k":"v"}})", R"([1])", "", 400},
  };
  const resource::Kind kind = gadget_kind();
  for (const PatchCase& c : cases) {
    const auto result = apply_strategic_merge(kind.schema, json(c.document), json(c.patch));
    if (c.result.empty()) {
      ASSERT_FALSE(result) << c.patch;
      EXPECT_EQ(result.error().code, c.code) << c.patch;
    } else {
      ASSERT_TRUE(result) << c.patch << ": " << result.error().message;
      EXPECT_EQ(text(*result), c.result) << c.patch;
    }
  }
}

}  // namespace
}  // namespace fairlead::apimachinery
