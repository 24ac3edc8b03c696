#include "foundation/wire/ovsdb.h"

#include <gtest/gtest.h>

namespace fairlead::wire::ovsdb {
namespace {

std::vector<std::string> split(std::string_view bytes, std::size_t piece) {
  MessageSplitter splitter;
  std::vector<std::string> messages;
  for (std::size_t at = 0; at < bytes.size(); at += piece) {
    splitter.append(bytes.substr(at, piece));
    for (auto message = splitter.next(); message && *message; message = splitter.next())
      messages.emplace_back(**message);
  }
  return messages;
}

// Braces inside of texts, escaped quotes and white space between messages confuse nobody, however
// the bytes arrive.
TEST(OvsdbSplitter, FindsTheEnds) {
  const std::string_view stream = R"( {"a":"}\"]{"} {"b":[{"c":"\\"}]}{"d":)";
  const std::vector<std::string> wanted = {R"({"a":"}\"]{"})", R"({"b":[{"c":"\\"}]})"};
  for (std::size_t piece = 1; piece <= stream.size(); ++piece)
    EXPECT_EQ(split(stream, piece), wanted) << piece;
}

// What cannot become a message is refused at once and for good.
TEST(OvsdbSplitter, Refuses) {
  struct Case {
    std::string_view bytes;
    Code code;
  };
  for (const Case& c : {Case{"x", Code::corrupt}, Case{"[1]", Code::corrupt},
                        Case{R"({"a":[})", Code::corrupt}, Case{"{[[[[", Code::exhausted},
                        Case{R"({"a":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa)", Code::exhausted}}) {
    MessageSplitter splitter({.bytes = 32, .depth = 4});
    splitter.append(c.bytes);
    const auto first = splitter.next();
    ASSERT_FALSE(first) << c.bytes;
    EXPECT_EQ(first.error().code, c.code) << c.bytes;
    splitter.append("{}");
    EXPECT_FALSE(splitter.next());
  }
}

// Every kind of value, as RFC 7047 writes it.
TEST(Ovsdb, Values) {
  struct Case {
    std::string_view text;
    Value value;
  };
  const Case cases[] = {
      {R"("fh1")", Value("fh1")},
      {"7", Value(std::int64_t{7})},
      {"true", Value(Atom(true))},
      {R"(["uuid","44d66cc1-e5de-4147-a0cc-5faa72fdcdd2"])",
       Value(Uuid{"44d66cc1-e5de-4147-a0cc-5faa72fdcdd2"})},
      {R"(["named-uuid","row1"])", Value(NamedUuid{"row1"})},
      {R"(["set",[]])", Value()},
      {R"(["set",[1,2]])", Value::set({Atom(std::int64_t{1}), Atom(std::int64_t{2})})},
      {R"(["map",[["key","flow"],["remote_ip","flow"]]])",
       Value(std::map<std::string, std::string>{{"key", "flow"}, {"remote_ip", "flow"}})},
  };
  for (const Case& c : cases) {
    const auto decoded = decode_value(parse_json(c.text)->value);
    ASSERT_TRUE(decoded) << c.text;
    EXPECT_EQ(*decoded, c.value) << c.text;
    EXPECT_EQ(encode_json(encode_value(c.value)), c.text);
  }
  for (const std::string_view text :
       {"null", "{}", R"(["set"])", R"(["set",[null]])", R"(["map",[["a"]]])", R"(["uuid",1])"})
    EXPECT_FALSE(decode_value(parse_json(text)->value)) << text;
}

// The texts of operations, as ovsdb-server takes them.
TEST(Ovsdb, Operations) {
  EXPECT_EQ(encode_json(insert("Port", {{"name", "fh1"}}, "p0")),
            R"({"op":"insert","table":"Port","row":{"name":"fh1"},"uuid-name":"p0"})");
  EXPECT_EQ(
      encode_json(mutate("Bridge", {{"name", "==", "fairlead"}},
                         {{"ports", "insert", Value::set({NamedUuid{"p0"}, NamedUuid{"p1"}})}})),
      R"({"op":"mutate","table":"Bridge","where":[["name","==","fairlead"]],"mutations":)"
      R"([["ports","insert",["set",[["named-uuid","p0"],["named-uuid","p1"]]]]]})");
  EXPECT_EQ(encode_json(remove("Port", {{"name", "==", "x"}})),
            R"({"op":"delete","table":"Port","where":[["name","==","x"]]})");
  EXPECT_EQ(encode_json(update("Port", {}, {{"tag", Value()}})),
            R"({"op":"update","table":"Port","where":[],"row":{"tag":["set",[]]}})");
  EXPECT_EQ(encode_json(select("Port", {}, {"name"})),
            R"({"op":"select","table":"Port","where":[],"columns":["name"]})");
  EXPECT_EQ(encode_json(wait("Port", {}, {"name"}, {{{"name", "x"}}}, false)),
            R"({"op":"wait","table":"Port","where":[],"columns":["name"],"rows":[{"name":"x"}],)"
            R"("until":"!=","timeout":0})");
}

// A transaction is all of its results, or the error of whichever operation had one.
TEST(Ovsdb, Transactions) {
  const auto good = decode_transaction(
      parse_json(R"([{"uuid":["uuid","u1"]},{"count":2},{"rows":[{"name":"a"}]}])")->value, 3);
  ASSERT_TRUE(good);
  EXPECT_EQ((*good)[0].inserted, Uuid{"u1"});
  EXPECT_EQ((*good)[1].count, 2);
  EXPECT_EQ((*good)[2].rows.at(0).at("name").text(), "a");

  // As ovsdb-server refuses a second port of one name: after the results of the operations.
  const auto clash = decode_transaction(
      parse_json(
          R"([{"uuid":["uuid","u1"]},{"details":"two rows","error":"constraint violation"}])")
          ->value,
      1);
  ASSERT_FALSE(clash);
  EXPECT_EQ(clash.error().code, Code::conflict);
  EXPECT_NE(clash.error().message.find("two rows"), std::string::npos);
  EXPECT_FALSE(decode_transaction(parse_json("[{}]")->value, 2));
  EXPECT_FALSE(decode_transaction(parse_json("[{},{}]")->value, 1));
  EXPECT_FALSE(decode_transaction(parse_json("[null]")->value, 1));
}

// Calls, answers and notices are told apart.
TEST(Ovsdb, Messages) {
  const auto echo = decode_message(R"({"id":"echo","method":"echo","params":[]})");
  ASSERT_TRUE(echo && std::holds_alternative<Request>(*echo));
  EXPECT_EQ(encode_reply(std::get<Request>(*echo).id, JsonArray{}),
            R"({"id":"echo","result":[],"error":null})");
  const auto reply = decode_message(R"({"id":3,"result":{},"error":null})");
  ASSERT_TRUE(reply && std::holds_alternative<Reply>(*reply));
  const auto notice = decode_message(R"({"id":null,"method":"update","params":["m",{}]})");
  ASSERT_TRUE(notice && std::holds_alternative<Notification>(*notice));
  EXPECT_EQ(encode_request(7, "list_dbs", {}), R"({"id":7,"method":"list_dbs","params":[]})");
  for (const std::string_view text :
       {"{}", R"({"id":1})", R"({"id":1,"method":"x"})", R"({"method":1,"params":[]})", "1"})
    EXPECT_FALSE(decode_message(text)) << text;
}

// Updates carry whole rows, before and after.
TEST(Ovsdb, Updates) {
  const auto tables = decode_updates(parse_json(R"({"Interface":{
      "u1":{"new":{"name":"a","ofport":["set",[]]}},
      "u2":{"old":{"ofport":1},"new":{"name":"b","ofport":2}},
      "u3":{"old":{"name":"c"}}}})")
                                         ->value);
  ASSERT_TRUE(tables);
  const TableUpdate& rows = tables->at("Interface");
  EXPECT_EQ(rows.at("u1").kind, RowUpdate::Kind::insert);
  EXPECT_EQ(rows.at("u1").row.at("ofport").number(), std::nullopt);
  EXPECT_EQ(rows.at("u2").kind, RowUpdate::Kind::modify);
  EXPECT_EQ(rows.at("u2").row.at("ofport").number(), 2);
  EXPECT_EQ(rows.at("u3").kind, RowUpdate::Kind::remove);
  EXPECT_FALSE(decode_updates(parse_json(R"({"T":{"u":{}}})")->value));
  EXPECT_FALSE(decode_updates(parse_json(R"({"T":[]})")->value));
}

}  // namespace
}  // namespace fairlead::wire::ovsdb
