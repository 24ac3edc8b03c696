#include "api/apimachinery/status.h"

#include <gtest/gtest.h>

#include "api/apimachinery/test_kinds.h"

namespace fairlead::apimachinery {
namespace {

const GroupResource kWidgets{"demo.example.com", "widgets"};
const GroupResource kNodes{"", "nodes"};

struct Case {
  Status status;
  int code;
  std::string reason;
  std::string message;
};

// Each constructor gives the code, reason and wording that clients of Kubernetes know.
TEST(Status, WordsEachCaseAsKubernetesDoes) {
  const std::vector<Case> cases = {
      {bad_request("no"), 400, "BadRequest", "no"},
      {unauthorized(), 401, "Unauthorized", "Unauthorized"},
      {not_found(kWidgets, "x"), 404, "NotFound", "widgets.demo.example.com \"x\" not found"},
      {not_found(kNodes, "n1"), 404, "NotFound", "nodes \"n1\" not found"},
      {unknown_resource(), 404, "NotFound", "the server could not find the requested resource"},
      {method_not_allowed(kWidgets, "patch"), 405, "MethodNotAllowed",
       "patch is not supported on resources of kind \"widgets.demo.example.com\""},
      {not_acceptable({"application/json", "application/yaml"}), 406, "NotAcceptable",
       "only the following media types are accepted: application/json, application/yaml"},
      {unsupported_media_type({"application/json"}), 415, "UnsupportedMediaType",
       "the body of the request was in an unknown format - accepted media types include: "
       "application/json"},
      {already_exists(kWidgets, "x"), 409, "AlreadyExists",
       "widgets.demo.example.com \"x\" already exists"},
      {being_deleted(kWidgets, "x"), 409, "AlreadyExists",
       "object is being deleted: widgets.demo.example.com \"x\" already exists"},
      {modified(kWidgets, "x"), 409, "Conflict",
       "Operation cannot be fulfilled on widgets.demo.example.com \"x\": the object has been "
       "modified; please apply your changes to the latest version and try again"},
      {expired("too old resource version: 1 (86)"), 410, "Expired",
       "too old resource version: 1 (86)"},
      {request_entity_too_large("limit is 3145728"), 413, "RequestEntityTooLarge",
       "Request entity too large: limit is 3145728"},
      {patch_failed("testing path /a failed"), 422, "Invalid",
       "the server rejected our request due to an error in our request"},
      {too_many_requests("slow down", 1), 429, "TooManyRequests", "slow down"},
      {internal_error("disk"), 500, "InternalError", "Internal error occurred: disk"},
      {server_timeout(kWidgets, "list", 2), 500, "ServerTimeout",
       "The list operation against widgets.demo.example.com could not be completed at this time, "
       "please try again."},
      {service_unavailable("starting"), 503, "ServiceUnavailable", "starting"},
      {timeout("too slow"), 504, "Timeout", "Timeout: too slow"},
      {too_large_resource_version(9, 5), 504, "Timeout",
       "Timeout: Too large resource version: 9, current: 5"},
      {forbidden(kWidgets, "", "nope"), 403, "Forbidden",
       "widgets.demo.example.com is forbidden: nope"},
      {forbidden(Attempt{"u", "get", "g", "r", "", "n", "x", ""}), 403, "Forbidden",
       "r.g \"x\" is forbidden: User \"u\" cannot get resource \"r\" in API group \"g\" in the "
       "namespace \"n\""},
      {forbidden(Attempt{"u", "update", "", "nodes", "status", "", "n1", ""}, "not yours"), 403,
       "Forbidden",
       "nodes \"n1\" is forbidden: User \"u\" cannot update resource \"nodes/status\" in API group "
       "\"\" at the cluster scope: not yours"},
      {forbidden(Attempt{"<u>", "get", "", "", "", "", "", "/metrics"}), 403, "Forbidden",
       "forbidden: User \"&lt;u&gt;\" cannot get path \"/metrics\""},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(c.status.code, c.code) << c.message;
    EXPECT_EQ(c.status.reason, c.reason) << c.message;
    EXPECT_EQ(c.status.message, c.message);
  }
}

// The JSON form has the members in the order and with the omissions clients are used to.
TEST(Status, EncodesAsObject) {
  EXPECT_EQ(text(not_found(kWidgets, "x").to_json()),
            R"({"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure",)"
            R"("message":"widgets.demo.example.com \"x\" not found","reason":"NotFound",)"
            R"("details":{"name":"x","group":"demo.example.com","kind":"widgets"},"code":404})");
  EXPECT_EQ(text(deleted(kWidgets, "x", "u-1").to_json()),
            R"({"kind":"Status","apiVersion":"v1","metadata":{},"status":"Success",)"
            R"("details":{"name":"x","group":"demo.example.com","kind":"widgets","uid":"u-1"}})");
  EXPECT_EQ(text(*too_large_resource_version(9, 5).to_json().as_object().if_contains("details")),
            R"({"causes":[{"reason":"ResourceVersionTooLarge",)"
            R"("message":"Too large resource version"}],"retryAfterSeconds":1})");
  EXPECT_EQ(text(patch_failed("testing path /a failed").to_json().at("details")),
            R"({"causes":[{"reason":"FieldValueInvalid","message":"testing path /a failed",)"
            R"("field":"patch"}]})");
  EXPECT_EQ(text(expired_continue("tok").to_json().at("metadata")), R"({"continue":"tok"})");
}

// Invalid names the Kind (not the resource) and lists every field error once.
TEST(Status, InvalidListsFieldErrors) {
  const auto one = resource::required("spec.size", "");
  const auto two = resource::invalid("spec.color", Json("x"), "no such color");
  const Status single = invalid(widget_kind(), "w", {one});
  EXPECT_EQ(single.message, "Widget.demo.example.com \"w\" is invalid: spec.size: Required value");
  EXPECT_EQ(single.details->kind, "Widget");
  const Status both = invalid(widget_kind(), "w", {one, two, one});
  EXPECT_EQ(both.code, 422);
  EXPECT_EQ(both.message,
            "Widget.demo.example.com \"w\" is invalid: [spec.size: Required value, spec.color: "
            "Invalid value: \"x\": no such color]");
  ASSERT_EQ(both.details->causes.size(), 3u);
  EXPECT_EQ(both.details->causes[1].reason, "FieldValueInvalid");
  EXPECT_EQ(both.details->causes[1].field, "spec.color");
}

// Every one of our error codes has an HTTP answer.
TEST(Status, MapsErrorCodes) {
  const std::vector<std::pair<Code, int>> cases = {
      {Code::invalid, 400},      {Code::not_found, 404}, {Code::already_exists, 409},
      {Code::conflict, 409},     {Code::gone, 410},      {Code::forbidden, 403},
      {Code::unauthorized, 401}, {Code::exhausted, 429}, {Code::unavailable, 503},
      {Code::timeout, 504},      {Code::cancelled, 504}, {Code::unsupported, 405},
      {Code::corrupt, 500},      {Code::io, 500},        {Code::internal, 500}};
  for (const auto& [code, http] : cases) {
    EXPECT_EQ(status_of({code, "m"}).code, http) << code_name(code);
  }
}

// Callers inside the server distinguish refusals by the code that they had, or would have.
TEST(Status, IsAnErrorAgain) {
  for (const Code code : {Code::invalid, Code::not_found, Code::already_exists, Code::conflict,
                          Code::gone, Code::forbidden, Code::unauthorized, Code::exhausted,
                          Code::unavailable, Code::timeout, Code::unsupported, Code::internal})
    EXPECT_EQ(error_of(status_of({code, "m"})).code, code) << code_name(code);
  const GroupResource things{"g", "things"};
  EXPECT_EQ(error_of(being_deleted(things, "a")).code, Code::already_exists);
  EXPECT_EQ(error_of(uid_mismatch(things, "a", "1", "2")).code, Code::conflict);
  EXPECT_EQ(error_of(apply_conflict("m", {})).code, Code::conflict);
  EXPECT_EQ(error_of(invalid("g", "Thing", "a", {})).code, Code::invalid);
  EXPECT_EQ(error_of(request_entity_too_large("1 MiB")).code, Code::exhausted);
  EXPECT_EQ(error_of(server_timeout(things, "write", 1)).code, Code::unavailable);
  EXPECT_EQ(error_of(not_found(things, "a")),
            (Error{Code::not_found, R"(things.g "a" not found)"}));
}

}  // namespace
}  // namespace fairlead::apimachinery
