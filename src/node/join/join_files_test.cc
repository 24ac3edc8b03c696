#include "node/join/join_files.h"

#include <gtest/gtest.h>

#include "api/identity/test_support.h"

namespace fairlead::join {
namespace {

using namespace identity::testing;

identity::JoinResponse response_for(const identity::PrivateKey& key, const identity::KeyPair& ca) {
  const identity::User user = identity::node_user("n1");
  const auto request = must(identity::SigningRequest::make(key, {user.name, user.groups}));
  const auto certificate = must(identity::sign(ca, request,
                                               {.subject = {user.name, user.groups},
                                                .names = {},
                                                .purposes = {identity::Purpose::client},
                                                .validity = around_now()},
                                               seeded(3)));
  return {.node = "n1",
          .certificate = certificate.pem(),
          .ca = ca.certificate.pem(),
          .servers = {"https://10.0.0.1:6443"}};
}

// A key is made once, private, and is the same ever after.
TEST(JoinFiles, KeepsItsKey) {
  MemoryFiles files;
  JoinFiles first(files, "node");
  const std::string made = must(must(first.key()).pem());
  EXPECT_EQ(files.files.at("node/node.key").mode, 0600);
  EXPECT_EQ(must(must(JoinFiles(files, "node").key()).pem()), made);
  files.files.at("node/node.key").bytes = "rubbish";
  const auto damaged = first.key();
  ASSERT_FALSE(damaged);
  EXPECT_NE(damaged.error().message.find("node/node.key"), std::string::npos);
}

// What was written is read back; secrets are the owner's alone.
TEST(JoinFiles, RemembersMembership) {
  MemoryFiles files;
  JoinFiles folder(files, "node");
  const identity::KeyPair ca = make_ca();
  const identity::PrivateKey key = must(folder.key());
  EXPECT_FALSE(must(folder.read(key)));
  const auto response = response_for(key, ca);
  ASSERT_TRUE(folder.write(response, key, {"https://10.0.0.2:6443", "https://10.0.0.1:6443"}));
  const std::optional<Membership> known = must(folder.read(key));
  ASSERT_TRUE(known);
  EXPECT_EQ(known->node, "n1");
  EXPECT_EQ(known->ca, ca.certificate.pem());
  EXPECT_EQ(known->servers,
            (std::vector<std::string>{"https://10.0.0.2:6443", "https://10.0.0.1:6443"}));
  EXPECT_EQ(files.files.at("node/node.kubeconfig").mode, 0600);
  EXPECT_EQ(files.files.at("node/node.crt").mode, 0644);
  EXPECT_EQ(files.files.at("node/node.crt").bytes.find("PRIVATE"), std::string::npos);
}

// Cut short at any write, there is no membership, and the next attempt completes it.
TEST(JoinFiles, HalfAMembershipIsNone) {
  const identity::KeyPair ca = make_ca();
  for (int writes = 0; writes < 4; ++writes) {
    MemoryFiles files;
    JoinFiles folder(files, "node");
    const identity::PrivateKey key = must(folder.key());
    const auto response = response_for(key, ca);
    files.writes_left = writes;
    EXPECT_FALSE(folder.write(response, key, response.servers));
    EXPECT_FALSE(must(folder.read(key))) << writes;
    files.writes_left = 100;
    ASSERT_TRUE(folder.write(response, key, response.servers));
    EXPECT_TRUE(must(folder.read(key)));
  }
}

// A certificate for another key is none; one that cannot be read is an error that names the file.
TEST(JoinFiles, FilesMustFit) {
  MemoryFiles files;
  JoinFiles folder(files, "node");
  const identity::PrivateKey key = must(folder.key());
  const auto response = response_for(key, make_ca());
  ASSERT_TRUE(folder.write(response, key, response.servers));
  const identity::PrivateKey other = must(identity::PrivateKey::generate());
  EXPECT_FALSE(must(folder.read(other)));
  files.files.at("node/node.crt").bytes = "rubbish";
  const auto damaged = folder.read(key);
  ASSERT_FALSE(damaged);
  EXPECT_NE(damaged.error().message.find("node/node.crt"), std::string::npos);
}

}  // namespace
}  // namespace fairlead::join
