// Query strings, list/watch/get and write options, continue tokens, names and request paths.
#include <gtest/gtest.h>

#include "api/apimachinery/generate_name.h"
#include "api/apimachinery/request/continue_token.h"
#include "api/apimachinery/request/list_options.h"
#include "api/apimachinery/request/request_info.h"
#include "api/apimachinery/request/write_options.h"
#include "api/apimachinery/test_kinds.h"

namespace fairlead::apimachinery {
namespace {

using Freshness = ReadAt::Freshness;

Query query(std::string_view text) { return *Query::parse(text); }

// Names and values are decoded; broken escapes are refused.
TEST(Query, Parses) {
  const Query q = query("a=1&b=x%20y+z&c&a=2&&labelSelector=a%3Db");
  EXPECT_EQ(q.get("a"), "1");
  EXPECT_EQ(q.all("a"), (std::vector<std::string_view>{"1", "2"}));
  EXPECT_EQ(q.get("b"), "x y z");
  EXPECT_EQ(q.get("c"), "");
  EXPECT_EQ(q.get("labelSelector"), "a=b");
  EXPECT_FALSE(q.has("d"));
  for (const char* bad : {"a=%", "a=%1", "a=%zz", "a=%ff", "%c0%80=a"})
    EXPECT_FALSE(Query::parse(bad)) << bad;
}

// resourceVersion × match × limit, as the table in Kubernetes' documentation has it.
TEST(ListOptions, DecidesWhatToRead) {
  struct Case {
    std::string query;
    Freshness freshness;
    std::uint64_t revision;
  };
  for (const Case& c : std::vector<Case>{
           {"", Freshness::newest, 0},
           {"limit=5", Freshness::newest, 0},
           {"resourceVersion=0", Freshness::any, 0},
           {"resourceVersion=0&limit=5", Freshness::any, 0},
           {"resourceVersion=0&resourceVersionMatch=NotOlderThan", Freshness::any, 0},
           {"resourceVersion=7", Freshness::not_older_than, 7},
           {"resourceVersion=7&limit=5", Freshness::exact, 7},
           {"resourceVersion=7&resourceVersionMatch=NotOlderThan&limit=5",
            Freshness::not_older_than, 7},
           {"resourceVersion=7&resourceVersionMatch=Exact", Freshness::exact, 7},
           {"continue=abc&limit=5", Freshness::continuation, 0},
           {"continue=abc&resourceVersion=0", Freshness::continuation, 0},
       }) {
    const auto options = parse_list_options(query(c.query), widget_kind());
    ASSERT_TRUE(options) << c.query << ": " << options.error().message;
    EXPECT_EQ(read_at(*options).freshness, c.freshness) << c.query;
    EXPECT_EQ(read_at(*options).revision, c.revision) << c.query;
  }
}

// Every way of asking nonsense has its code and its sentence.
TEST(ListOptions, RefusesNonsense) {
  struct Case {
    std::string query;
    int code;
    std::string message;
  };
  for (const Case& c : std::vector<Case>{
           {"labelSelector=a%20b", 400, "unable to parse requirement"},
           {"fieldSelector=spec.weight%3D1", 400, "field label not supported: spec.weight"},
           {"limit=x", 400, "limit: strconv.ParseInt"},
           {"resourceVersion=abc", 400, "resourceVersion: Invalid value"},
           {"resourceVersion=-1", 400, "resourceVersion: Invalid value"},
           {"continue=x&resourceVersion=5", 400,
            "specifying resource version is not allowed when using continue"},
           {"resourceVersionMatch=Exact", 422,
            "ListOptions.meta.k8s.io \"\" is invalid: resourceVersionMatch: Forbidden: "
            "resourceVersionMatch is forbidden unless resourceVersion is provided"},
           {"resourceVersion=5&resourceVersionMatch=Exact&continue=x", 422,
            "ListOptions.meta.k8s.io \"\" is invalid: resourceVersionMatch: Forbidden: "
            "resourceVersionMatch is forbidden when continue is provided"},
           {"resourceVersion=0&resourceVersionMatch=Exact", 422,
            "ListOptions.meta.k8s.io \"\" is invalid: resourceVersionMatch: Forbidden: "
            "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\""},
           {"resourceVersion=1&resourceVersionMatch=Bogus", 422,
            "ListOptions.meta.k8s.io \"\" is invalid: resourceVersionMatch: Unsupported value"},
           {"sendInitialEvents=true", 422,
            "ListOptions.meta.k8s.io \"\" is invalid: sendInitialEvents: Forbidden: "
            "sendInitialEvents is forbidden for list"},
           {"watch=true&sendInitialEvents=true", 422,
            "ListOptions.meta.k8s.io \"\" is invalid: resourceVersionMatch: Forbidden: "
            "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"},
           {"watch=true&resourceVersionMatch=NotOlderThan", 422,
            "ListOptions.meta.k8s.io \"\" is invalid: resourceVersionMatch: Forbidden: "
            "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"},
       }) {
    const auto options = parse_list_options(query(c.query), widget_kind());
    ASSERT_FALSE(options) << c.query;
    EXPECT_EQ(options.error().code, c.code) << c.query;
    EXPECT_TRUE(options.error().message.starts_with(c.message)) << options.error().message;
  }
}

// A watch carries its own parameters.
TEST(ListOptions, ReadsWatchParameters) {
  const auto options = parse_list_options(
      query("watch=1&allowWatchBookmarks=true&sendInitialEvents=true&resourceVersionMatch="
            "NotOlderThan&timeoutSeconds=300&labelSelector=a&fieldSelector=metadata.name%3Dx"),
      widget_kind());
  ASSERT_TRUE(options) << options.error().message;
  EXPECT_TRUE(options->watch);
  EXPECT_TRUE(options->allow_bookmarks);
  EXPECT_EQ(options->send_initial_events, true);
  EXPECT_EQ(options->timeout, std::chrono::seconds(300));
  EXPECT_EQ(options->fields.required("metadata.name"), "x");
  EXPECT_FALSE(parse_list_options(query("watch=false"), widget_kind())->watch);
  EXPECT_EQ(*parse_get_options(query("resourceVersion=5")), 5u);
  EXPECT_EQ(*parse_get_options(query("")), std::nullopt);
  EXPECT_EQ(parse_get_options(query("resourceVersion=x")).error().code, 400);
}

// Write options: defaults, the manager from the User-Agent, and what is refused.
TEST(WriteOptions, Parses) {
  const auto options = parse_write_options(query("dryRun=All&fieldValidation=Strict"),
                                           WriteVerb::create, "kubectl/v1.32.4 (linux/amd64)");
  ASSERT_TRUE(options);
  EXPECT_TRUE(options->dry_run);
  EXPECT_EQ(options->field_manager, "kubectl");
  EXPECT_EQ(options->validation, FieldValidation::strict);
  EXPECT_EQ(parse_write_options(query(""), WriteVerb::update, "")->field_manager, "unknown");
  EXPECT_EQ(parse_write_options(query(""), WriteVerb::update, "")->validation,
            FieldValidation::warn);
  EXPECT_TRUE(
      parse_write_options(query("fieldManager=m&force=true"), WriteVerb::apply, "x")->force);

  struct Case {
    std::string query;
    WriteVerb verb;
    std::string message;
  };
  for (const Case& c : std::vector<Case>{
           {"dryRun=Some", WriteVerb::create,
            "CreateOptions.meta.k8s.io \"\" is invalid: dryRun: Unsupported value: [\"Some\"]: "
            "supported values: \"All\""},
           {"fieldValidation=x", WriteVerb::update,
            "UpdateOptions.meta.k8s.io \"\" is invalid: fieldValidation: Unsupported value: \"x\": "
            "supported values: \"\", \"Ignore\", \"Strict\", \"Warn\""},
           {"", WriteVerb::apply,
            "PatchOptions.meta.k8s.io \"\" is invalid: fieldManager: Required value: is required "
            "for apply patch"},
           {"force=true", WriteVerb::patch,
            "PatchOptions.meta.k8s.io \"\" is invalid: force: Forbidden: may not be specified for "
            "non-apply patch"},
           {"fieldManager=a%0Ab", WriteVerb::create,
            "CreateOptions.meta.k8s.io \"\" is invalid: fieldManager: Invalid value"},
           {"fieldManager=" + std::string(129, 'x'), WriteVerb::create,
            "CreateOptions.meta.k8s.io \"\" is invalid: fieldManager: Too long"},
       }) {
    const auto refused = parse_write_options(query(c.query), c.verb, "x/1");
    ASSERT_FALSE(refused) << c.query;
    EXPECT_EQ(refused.error().code, 422);
    EXPECT_TRUE(refused.error().message.starts_with(c.message)) << refused.error().message;
  }
}

// DeleteOptions come in the body, or in the query when there is no body.
TEST(DeleteOptions, Parses) {
  const auto body = parse_delete_options(
      query("propagationPolicy=Orphan"),
      json(
          R"({"kind":"DeleteOptions","apiVersion":"v1","propagationPolicy":"Background",)"
          R"("gracePeriodSeconds":-5,"dryRun":["All"],"preconditions":{"uid":"u","resourceVersion":"7"}})"));
  ASSERT_TRUE(body);
  EXPECT_EQ(body->propagation, Propagation::background);
  EXPECT_EQ(body->grace_seconds, 1);
  EXPECT_TRUE(body->dry_run);
  EXPECT_EQ(body->uid, "u");
  EXPECT_EQ(body->resource_version, "7");
  EXPECT_EQ(parse_delete_options(query("propagationPolicy=Foreground"), Json())->propagation,
            Propagation::foreground);
  EXPECT_EQ(parse_delete_options(query("orphanDependents=true"), Json())->propagation,
            Propagation::orphan);
  EXPECT_EQ(
      parse_delete_options(query(""), json(R"({"propagationPolicy":"Background"})"))->propagation,
      Propagation::background);
  EXPECT_EQ(parse_delete_options(query(""), Json())->propagation, Propagation::unset);

  const std::vector<std::pair<std::string, int>> refused = {
      {R"({"orphanDependents":true,"propagationPolicy":"Orphan"})", 422},
      {R"({"propagationPolicy":"Bogus"})", 422},
      {R"({"dryRun":["x"]})", 422},
      {R"({"kind":"ConfigMap"})", 400},
      {R"({"gracePeriodSeconds":"x"})", 400},
      {R"({"preconditions":[]})", 400},
      {R"([])", 400}};
  for (const auto& [text, code] : refused) {
    EXPECT_EQ(parse_delete_options(query(""), json(text)).error().code, code) << text;
  }
}

// The token is what kube-apiserver makes; strangers' tokens are refused, never trusted.
TEST(ContinueToken, RoundTrips) {
  const std::string token = encode_continue({88, std::string("default/w\0", 10)});
  EXPECT_EQ(*decode_base64url(token),
            R"({"v":"meta.k8s.io/v1","rv":88,"start":"default/w\u0000"})");
  EXPECT_EQ(token.find('='), std::string::npos);
  const auto decoded = decode_continue(token);
  ASSERT_TRUE(decoded);
  EXPECT_EQ(decoded->revision, 88);
  EXPECT_EQ(decoded->start, std::string("default/w\0", 10));
  EXPECT_EQ(decode_continue(encode_continue({-1, "a"}))->revision, -1);

  const auto coded = [](std::string_view text) { return encode_base64url(text); };
  for (const std::string& bad : std::vector<std::string>{
           "x", "!!!", "", coded("{}"), coded("[]"), coded("nonsense"),
           coded(R"({"v":"v9","rv":1,"start":"a"})"),
           coded(R"({"v":"meta.k8s.io/v1","rv":0,"start":"a"})"),
           coded(R"({"v":"meta.k8s.io/v1","rv":-7,"start":"a"})"),
           coded(R"({"v":"meta.k8s.io/v1","rv":"1","start":"a"})"),
           coded(R"({"v":"meta.k8s.io/v1","rv":1,"start":""})"),
           coded(R"({"v":"meta.k8s.io/v1","rv":1,"start":"../x"})"),
           coded(R"({"v":"meta.k8s.io/v1","rv":1,"start":"a//b"})"), std::string(9000, 'A')}) {
    const auto refused = decode_continue(bad);
    ASSERT_FALSE(refused) << bad;
    EXPECT_EQ(refused.error().code, 400);
    EXPECT_TRUE(refused.error().message.starts_with("continue key is not valid"));
  }
}

// base64url survives every byte and every length.
TEST(ContinueToken, Base64RoundTrips) {
  std::string bytes;
  for (int i = 0; i < 300; ++i) {
    EXPECT_EQ(*decode_base64url(encode_base64url(bytes)), bytes);
    bytes += static_cast<char>(i * 37);
  }
  EXPECT_EQ(encode_base64url("\xff\xfe"), "__4");
}

// Generated names stay within 63 characters and use only letters that spell no words.
TEST(GenerateName, AddsFiveCharacters) {
  EXPECT_EQ(generate_name("pod-", 0), "pod-bbbbb");
  EXPECT_EQ(generate_name(std::string(100, 'x'), 12345).size(), 63u);
  EXPECT_NE(generate_name("a", 1), generate_name("a", 2));
  const std::string name = generate_name("", 0xdeadbeefcafebabeull);
  EXPECT_EQ(name.size(), 5u);
  EXPECT_EQ(name.find_first_not_of("bcdfghjklmnpqrstvwxz2456789"), std::string::npos);
}

struct PathCase {
  std::string method;
  std::string target;
  std::string expected;  // verb group version namespace resource name subresource
};

// Paths of every form and what they ask for.
TEST(RequestInfo, UnderstandsPaths) {
  const std::vector<PathCase> cases = {
      {"GET", "/api/v1/nodes", "list||v1||nodes||"},
      {"GET", "/api/v1/nodes?watch=true", "watch||v1||nodes||"},
      {"GET", "/api/v1/nodes?watch=false", "list||v1||nodes||"},
      {"GET", "/api/v1/nodes/n1", "get||v1||nodes|n1|"},
      {"PUT", "/api/v1/nodes/n1/status", "update||v1||nodes|n1|status"},
      {"GET", "/api/v1/namespaces", "list||v1||namespaces||"},
      {"GET", "/api/v1/namespaces/a", "get||v1|a|namespaces|a|"},
      {"PUT", "/api/v1/namespaces/a/finalize", "update||v1|a|namespaces|a|finalize"},
      {"PATCH", "/api/v1/namespaces/a/status", "patch||v1|a|namespaces|a|status"},
      {"POST", "/api/v1/namespaces/a/configmaps", "create||v1|a|configmaps||"},
      {"DELETE", "/api/v1/namespaces/a/configmaps", "deletecollection||v1|a|configmaps||"},
      {"DELETE", "/api/v1/namespaces/a/configmaps/c", "delete||v1|a|configmaps|c|"},
      {"GET", "/apis/fairlead.dev/v1alpha1/parcels", "list|fairlead.dev|v1alpha1||parcels||"},
      {"GET", "/apis/fairlead.dev/v1alpha1/namespaces/a/parcels/s/",
       "get|fairlead.dev|v1alpha1|a|parcels|s|"},
      {"HEAD", "/api/v1/nodes/n1", "get||v1||nodes|n1|"},
      {"GET", "/api/v1/watch/namespaces/a/configmaps", "watch||v1|a|configmaps||"},
      {"GET", "/api/v1/watch/nodes/n1", "watch||v1||nodes|n1|"},
      {"POST", "/api/v1/watch/nodes", "create||v1||nodes||"},
      {"GET", "/api/v1/nodes/a%2Fb", "get||v1||nodes|a/b|"},
  };
  for (const PathCase& c : cases) {
    const auto info = parse_request(c.method, c.target);
    ASSERT_TRUE(info) << c.target;
    EXPECT_TRUE(info->is_resource) << c.target;
    EXPECT_EQ(info->verb + "|" + info->group + "|" + info->version + "|" + info->namespace_name +
                  "|" + info->resource + "|" + info->name + "|" + info->subresource,
              c.expected)
        << c.target;
  }
}

// Everything else is a non-resource path with the method as verb.
TEST(RequestInfo, KeepsOtherPaths) {
  for (const char* path : {"/", "/api", "/api/v1", "/apis", "/apis/g", "/apis/g/v1", "/healthz",
                           "/openapi/v3/apis/g/v1"}) {
    const auto info = parse_request("GET", path);
    ASSERT_TRUE(info) << path;
    EXPECT_FALSE(info->is_resource) << path;
    EXPECT_EQ(info->verb, "get");
    EXPECT_EQ(info->path, path);
  }
}

// Paths that cannot be one are not served; broken escapes are bad requests.
TEST(RequestInfo, RefusesBadPaths) {
  const std::vector<std::pair<std::string, int>> cases = {
      {"", 404},
      {"api/v1", 404},
      {"/api//v1/nodes", 404},
      {"/api/v1/../secrets", 404},
      {"/api/v1/%2e%2e/nodes", 404},
      {"/api/v1/./nodes", 404},
      {"/api/v1/nodes/n%00", 404},
      {"/api/v1/nodes/a/b/c", 404},
      {"/a/b/c/d/e/f/g/h/i/j/k/l/m", 404},
      {"/api/v1/nodes/%zz", 400},
      {"/api/v1/nodes?a=%z", 400},
      {"/api/v1/nodes/%ff", 400},
      {"/healthz/%c0%ae", 400},
      {"/api/v1/nodes?labelSelector=%ed%a0%80", 400},
      {"/" + std::string(20'000, 'x'), 404},
  };
  for (const auto& [target, code] : cases) {
    const auto info = parse_request("GET", target);
    ASSERT_FALSE(info) << target;
    EXPECT_EQ(info.error().code, code) << target;
  }
}

}  // namespace
}  // namespace fairlead::apimachinery
