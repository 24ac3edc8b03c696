// A kind served in a second form: events.k8s.io/v1 over the stored core Events.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "api/apiserver/test_server.h"

namespace fairlead::apiserver {
namespace {

constexpr std::string_view kCore = "/api/v1/namespaces/default/events";
constexpr std::string_view kView = "/apis/events.k8s.io/v1/namespaces/default/events";
constexpr std::string_view kMerge = "application/merge-patch+json";

const std::string kOldStyle = R"({"metadata":{"name":"old"},"reason":"Done","message":"it is done",
  "type":"Normal","count":3,"source":{"component":"maker","host":"n1"},
  "involvedObject":{"kind":"Parcel","name":"blue","namespace":"default"},
  "firstTimestamp":"2030-06-01T00:00:00Z","lastTimestamp":"2030-06-01T00:00:07Z"})";
const std::string kNewStyle = R"({"apiVersion":"events.k8s.io/v1","kind":"Event",
  "metadata":{"name":"new"},"eventTime":"2030-06-01T00:00:00.000001Z","reason":"Done","action":"Make",
  "reportingController":"example.com/maker","reportingInstance":"maker-0","type":"Warning",
  "note":"it is done","regarding":{"kind":"Parcel","name":"green","namespace":"default"}})";

std::string one(std::string_view collection, std::string_view name) {
  return fmt::format("{}/{}", collection, name);
}

// The same object under both names, each with its own field names.
TEST(Views, ReadBothWays) {
  TestServer server;
  ASSERT_EQ(server.ask("admin", "POST", kCore, kOldStyle)->status, 201);
  ASSERT_EQ(server.ask("admin", "POST", kView, kNewStyle)->status, 201);

  const auto old = server.ask("admin", "GET", one(kView, "old"));
  EXPECT_EQ(old->at("apiVersion"), "events.k8s.io/v1");
  EXPECT_EQ(old->at("note"), "it is done");
  EXPECT_EQ(old->at("regarding.name"), "blue");
  EXPECT_EQ(old->at("deprecatedSource.component"), "maker");
  EXPECT_EQ(old->at("deprecatedLastTimestamp"), "2030-06-01T00:00:07Z");
  EXPECT_EQ(wire::find(old->json(), "deprecatedCount")->to_number<int>(), 3);
  EXPECT_EQ(wire::find(old->json(), "message"), nullptr);
  EXPECT_EQ(wire::find(old->json(), "involvedObject"), nullptr);

  const auto made = server.ask("admin", "GET", one(kCore, "new"));
  EXPECT_EQ(made->at("apiVersion"), "v1");
  EXPECT_EQ(made->at("message"), "it is done");
  EXPECT_EQ(made->at("involvedObject.name"), "green");
  EXPECT_EQ(made->at("reportingComponent"), "example.com/maker");
  EXPECT_EQ(made->at("metadata.uid"),
            server.ask("admin", "GET", one(kView, "new"))->at("metadata.uid"));

  const Json list = server.ask("admin", "GET", kView)->json();
  EXPECT_EQ(wire::find_string(list, "apiVersion"), "events.k8s.io/v1");
  const JsonArray& items = wire::find(list, "items")->get_array();
  ASSERT_EQ(items.size(), 2u);
  for (const Json& item : items) {
    EXPECT_EQ(wire::find_string(item, "apiVersion"), "events.k8s.io/v1");
    EXPECT_EQ(wire::find_string(item, "note"), "it is done");
  }
}

// Selectors use the names of the form that is asked.
TEST(Views, Select) {
  TestServer server;
  server.ask("admin", "POST", kCore, kOldStyle);
  server.ask("admin", "POST", kView, kNewStyle);
  const auto names = [&](std::string_view collection, std::string_view selector) {
    const auto answer =
        server.ask("admin", "GET", fmt::format("{}?fieldSelector={}", collection, selector));
    if (answer->status != 200) return fmt::format("{}", answer->status);
    std::string all;
    const Json list = answer->json();
    for (const Json& item : wire::find(list, "items")->get_array())
      all.append(wire::find_string(item, "metadata.name")).push_back(' ');
    return all;
  };
  EXPECT_EQ(names(kView, "regarding.name=blue"), "old ");
  EXPECT_EQ(names(kView, "reportingController=example.com/maker"), "new ");
  EXPECT_EQ(names(kView, "type=Warning,reason=Done"), "new ");
  EXPECT_EQ(names(kView, "metadata.name=old"), "old ");
  EXPECT_EQ(names(kView, "involvedObject.name=blue"), "400");
  EXPECT_EQ(names(kCore, "involvedObject.name=green"), "new ");
  EXPECT_EQ(names(kCore, "regarding.name=green"), "400");
}

// Every kind of write through the view reaches the stored object, and answers in the view's form.
TEST(Views, Write) {
  TestServer server;
  server.ask("admin", "POST", kCore, kOldStyle);
  const auto merged = server.ask("admin", "PATCH", one(kView, "old"),
                                 R"({"note":"again","deprecatedCount":4})", kMerge);
  EXPECT_EQ(merged->status, 200) << merged->text;
  EXPECT_EQ(merged->at("note"), "again");
  const auto stored = server.ask("admin", "GET", one(kCore, "old"));
  EXPECT_EQ(stored->at("message"), "again");
  EXPECT_EQ(wire::find(stored->json(), "count")->to_number<int>(), 4);
  EXPECT_EQ(wire::find(stored->json(), "note"), nullptr);

  const auto patched = server.ask("admin", "PATCH", one(kView, "old"),
                                  R"([{"op":"replace","path":"/note","value":"third"}])",
                                  "application/json-patch+json");
  EXPECT_EQ(patched->at("note"), "third");
  const auto strategic = server.ask("admin", "PATCH", one(kView, "old"), R"({"note":"fourth"})",
                                    "application/strategic-merge-patch+json");
  EXPECT_EQ(strategic->at("note"), "fourth");
  const auto applied = server.ask(
      "admin", "PATCH", one(kView, "old") + "?fieldManager=me&force=true",
      R"({"apiVersion":"events.k8s.io/v1","kind":"Event","metadata":{"name":"old"},"note":"fifth"})",
      "application/apply-patch+yaml");
  EXPECT_EQ(applied->status, 200) << applied->text;
  EXPECT_EQ(applied->at("note"), "fifth");
  EXPECT_EQ(server.ask("admin", "GET", one(kCore, "old"))->at("message"), "fifth");

  Json whole = server.ask("admin", "GET", one(kView, "old"))->json();
  whole.get_object()["note"] = "sixth";
  const auto updated = server.ask("admin", "PUT", one(kView, "old"), wire::encode_json(whole));
  EXPECT_EQ(updated->status, 200) << updated->text;
  EXPECT_EQ(server.ask("admin", "GET", one(kCore, "old"))->at("message"), "sixth");
  const auto wrong = server.ask("admin", "PUT", one(kCore, "old"), wire::encode_json(whole));
  EXPECT_EQ(wrong->status, 400);

  EXPECT_EQ(server.ask("admin", "DELETE", one(kView, "old"))->status, 200);
  EXPECT_EQ(server.ask("admin", "GET", one(kCore, "old"))->status, 404);
  const auto gone = server.ask("admin", "DELETE", one(kView, "old"));
  EXPECT_EQ(gone->at("details.group"), "events.k8s.io");
}

// What is made in the new form must be complete in it.
TEST(Views, NewEventsAreChecked) {
  TestServer server;
  const auto errors = [&](std::string_view field, Json value) {
    auto parsed = wire::parse_json(kNewStyle);
    Json event = std::move(parsed->value);
    event.get_object()[field] = std::move(value);
    return server.ask("admin", "POST", kView, wire::encode_json(event))->status;
  };
  for (const char* field :
       {"eventTime", "action", "reason", "reportingController", "reportingInstance", "type"})
    EXPECT_EQ(errors(field, nullptr), 422) << field;
  EXPECT_EQ(errors("type", "Odd"), 422);
  EXPECT_EQ(errors("action", Json(std::string(129, 'x'))), 422);
  EXPECT_EQ(errors("note", Json(std::string(1025, 'x'))), 422);
  EXPECT_EQ(errors("deprecatedCount", 2), 422);
  EXPECT_EQ(errors("deprecatedLastTimestamp", "2030-06-01T00:00:00Z"), 422);
  EXPECT_EQ(errors("apiVersion", "v1"), 400);
  EXPECT_EQ(errors("note", "fine"), 201);
}

// Watches tell in the view's form, initial objects and bookmarks included.
TEST(Views, Watch) {
  TestServer server;
  server.ask("admin", "POST", kCore, kOldStyle);
  const auto watch =
      server.begin("admin", "GET",
                   fmt::format("{}?watch=true&sendInitialEvents=true&allowWatchBookmarks=true"
                               "&resourceVersionMatch=NotOlderThan",
                               kView));
  server.ask("admin", "POST", kView, kNewStyle);
  server.ask("admin", "DELETE", one(kCore, "old"));
  std::vector<std::string> told;
  for (std::size_t at = 0; at < watch->text.size();) {
    const std::size_t end = watch->text.find('\n', at);
    const auto frame = wire::parse_json(watch->text.substr(at, end - at));
    ASSERT_TRUE(frame);
    EXPECT_EQ(wire::find_string(frame->value, "object.apiVersion"), "events.k8s.io/v1");
    told.push_back(fmt::format("{} {} {}", std::string(wire::find_string(frame->value, "type")),
                               std::string(wire::find_string(frame->value, "object.metadata.name")),
                               std::string(wire::find_string(frame->value, "object.note"))));
    at = end + 1;
  }
  EXPECT_EQ(told, (std::vector<std::string>{"ADDED old it is done", "BOOKMARK  ",
                                            "ADDED new it is done", "DELETED old it is done"}));
  server.fibers.cancel();
  server.runtime.settle();
}

// Tables show the same cells under both names; a transaction names what is stored.
TEST(Views, TablesAndTransactions) {
  TestServer server;
  server.ask("admin", "POST", kCore, kOldStyle);
  const auto row = [&](std::string_view collection) {
    http::Request request;
    request.method = "GET";
    request.target = one(collection, "old");
    request.headers.add("Authorization", "Bearer admin");
    request.headers.add("Accept", "application/json;as=Table;g=meta.k8s.io;v=v1");
    TestExchange exchange(std::move(request), {});
    server.fibers.spawn(server.api.serve(exchange));
    server.runtime.settle();
    const Json table = exchange.json();
    return wire::encode_json(*wire::find(wire::find(table, "rows")->get_array().front(), "cells"));
  };
  EXPECT_EQ(row(kView), row(kCore));
  EXPECT_NE(row(kView).find("parcel/blue"), std::string::npos);

  const std::string operation =
      fmt::format(R"({{"operations":[{{"verb":"create","object":{}}}]}})", kNewStyle);
  const auto refused =
      server.ask("admin", "POST", "/apis/fairlead.dev/v1alpha1/transactions", operation);
  EXPECT_EQ(refused->status, 400);
}

}  // namespace
}  // namespace fairlead::apiserver
