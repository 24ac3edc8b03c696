#include "api/identity/token.h"

#include <gtest/gtest.h>

#include "api/identity/test_support.h"

namespace fairlead::identity {
namespace {

using namespace testing;

// Generated tokens have 256 bits and differ.
TEST(Token, generated_tokens_differ) {
  Random random = seeded(1);
  const std::string a = make_token(random), b = make_token(random);
  EXPECT_EQ(a.size(), 43u);
  EXPECT_NE(a, b);
}

// Only the Bearer scheme, in any case, yields a token.
TEST(Token, bearer_header) {
  EXPECT_EQ(bearer_token("Bearer abc"), "abc");
  EXPECT_EQ(bearer_token("bearer   abc "), "abc");
  for (const char* none : {"", "Bearer", "Bearer ", "Bearer    ", "Basic abc", "abc", "Bearerabc"})
    EXPECT_FALSE(bearer_token(none)) << none;
}

// Kubernetes' token file, with groups, comments and empty lines.
TEST(TokenFile, reads_kubernetes_format) {
  const auto tokens = must(parse_token_file(
      "# people\n\nt1,jane,1001\r\nt2, joe ,1002,\"dev, ops\"\nt3,node,3,system:nodes\n"
      "\"t,4\",\"q\"\"q\",4,\"\"\n"));
  ASSERT_EQ(tokens.size(), 4u);
  EXPECT_EQ(tokens[0].token, "t1");
  EXPECT_EQ(tokens[0].user, (User{"jane", "1001", {}, {}}));
  EXPECT_EQ(tokens[1].user, (User{"joe", "1002", {"dev", "ops"}, {}}));
  EXPECT_EQ(tokens[2].user, (User{"node", "3", {"system:nodes"}, {}}));
  EXPECT_EQ(tokens[3].token, "t,4");
  EXPECT_EQ(tokens[3].user.name, "q\"q");
}

// A malformed line is refused with its number and without its content.
TEST(TokenFile, errors_name_the_line_and_keep_the_secret) {
  for (const char* bad :
       {"s3cret,jane", "s3cret", ",jane,1", "s3cret,,1", "s3cret,a,b,c,d", "s3cret,a,b,\"c",
        "s3cret,a,\"b\"c", "s3cret,a\"b,c", "s3 cret,a,b", "s3cret,a,b\ns3cret,b,c"}) {
    const auto tokens = parse_token_file(std::string("ok,a,b\n") + bad);
    ASSERT_FALSE(tokens) << bad;
    EXPECT_EQ(tokens.error().code, Code::invalid);
    EXPECT_NE(tokens.error().message.find("line "), std::string::npos);
    EXPECT_EQ(tokens.error().message.find("cret"), std::string::npos) << tokens.error().message;
  }
}

// The table finds exactly the tokens that were added.
TEST(TokenTable, finds_by_token) {
  TokenTable table;
  const UserRef jane = std::make_shared<const User>(User{"jane", {}, {}, {}});
  table.add("secret", jane);
  EXPECT_EQ(table.find("secret"), jane);
  for (const char* wrong : {"", "secre", "secret ", "Secret", "secrets"})
    EXPECT_EQ(table.find(wrong), nullptr);
}

// Join tokens have kubeadm's shape, with an optional pin.
TEST(JoinToken, text_form) {
  const std::string pin = "sha256:" + std::string(64, 'a');
  const JoinToken made = JoinToken::make(seeded(3), pin);
  const JoinToken read = must(JoinToken::parse(made.to_string()));
  EXPECT_EQ(read.id, made.id);
  EXPECT_EQ(read.secret, made.secret);
  EXPECT_EQ(read.ca_pin, pin);
  EXPECT_EQ(must(JoinToken::parse("abcdef.0123456789abcdef")).ca_pin, "");
  for (const char* bad :
       {"", ".", "abcdef", "abcdef.", "abcde.0123456789abcdef", "abcdef.0123456789abcde",
        "ABCDEF.0123456789abcdef", "abcdef.0123456789abcdef@", "abcdef.0123456789abcdef@sha256:12",
        "abcdef.0123456789abcdef.", "abcdef.0123456789abcdef\n"})
    EXPECT_FALSE(JoinToken::parse(bad)) << bad;
}

// A join token is accepted while it lives; what the server keeps does not contain its secret.
TEST(JoinToken, records_prove_tokens) {
  Random random = seeded(4);
  const JoinToken token = JoinToken::make(random), other = JoinToken::make(random);
  std::vector<JoinTokenRecord> records{make_record(other, std::nullopt, "other"),
                                       make_record(token, kNow + kDay)};
  records[1].node = "n1";
  records[1].replaces_nodes = true;
  const std::string stored = encode_records(records);
  EXPECT_EQ(stored.find(token.secret), std::string::npos);
  const auto read = must(decode_records(stored));
  ASSERT_EQ(read.size(), 2u);

  const JoinTokenRecord* proven = must(check_join_token(read, token, kNow));
  EXPECT_EQ(proven->id, token.id);
  EXPECT_EQ(proven->node, "n1");
  EXPECT_TRUE(proven->replaces_nodes);
  EXPECT_TRUE(check_join_token(read, other, kNow + 1000 * kDay));
  EXPECT_FALSE(check_join_token(read, token, kNow + kDay));
  JoinToken mixed = token;
  mixed.secret = other.secret;
  const auto refused = check_join_token(read, mixed, kNow);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::unauthorized);
}

// A record file with wrong types is refused, not guessed at.
TEST(JoinToken, malformed_records) {
  for (const char* bad :
       {"", "[]", "{}", R"({"tokens":{}})", R"({"tokens":[1]})", R"({"tokens":[{}]})",
        R"({"tokens":[{"id":"abcdef","secretDigest":"x"}]})", R"({"tokens":[{"id":1}]})"})
    EXPECT_FALSE(decode_records(bad)) << bad;
}

// A node token speaks for its node until it expires, and any change to it is noticed.
TEST(NodeToken, is_bound_and_signed) {
  const std::string key(43, 'k');
  const std::string token = make_node_token(key, "n1.example", kNow + kDay);
  EXPECT_TRUE(looks_like_node_token(token));
  EXPECT_EQ(must(check_node_token(key, token, kNow)), "n1.example");
  EXPECT_FALSE(check_node_token(key, token, kNow + kDay));
  EXPECT_FALSE(check_node_token(std::string(43, 'x'), token, kNow));
  EXPECT_FALSE(check_node_token("", token, kNow));
  for (std::size_t i = 0; i < token.size(); ++i) {
    std::string changed = token;
    changed[i] = changed[i] == 'A' ? 'B' : 'A';
    EXPECT_FALSE(check_node_token(key, changed, kNow)) << i;
    EXPECT_FALSE(check_node_token(key, token.substr(0, i), kNow)) << i;
  }
}

}  // namespace
}  // namespace fairlead::identity
