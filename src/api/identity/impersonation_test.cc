#include "api/identity/impersonation.h"

#include <gtest/gtest.h>

#include "api/identity/test_support.h"

namespace fairlead::identity {
namespace {

using namespace testing;
using Fields = std::vector<std::pair<std::string, std::string>>;
using Rights = std::vector<ImpersonationRight>;

constexpr const char* kAuthentication = "authentication.k8s.io";

// Without such headers there is nothing to do; parts of them without a user are an error.
TEST(Impersonation, needs_a_user) {
  EXPECT_FALSE(must(requested_impersonation(Fields{{"Accept", "*/*"}})).has_value());
  for (const char* part : {"Impersonate-Group", "impersonate-uid", "Impersonate-Extra-scopes"})
    EXPECT_FALSE(requested_impersonation(Fields{{part, "x"}})) << part;
}

// Everything that is taken on needs a right of its own; what follows by itself does not.
TEST(Impersonation, every_part_needs_a_right) {
  const Fields headers{{"Impersonate-User", "jane"},
                       {"Impersonate-Group", "dev"},
                       {"Impersonate-Group", "system:masters"},
                       {"Impersonate-Uid", "u-1"},
                       {"Impersonate-Extra-scopes", "view"},
                       {"Impersonate-Extra-scopes", "edit"},
                       {"Impersonate-Extra-acme.com%2fteam", "net"}};
  const auto wanted = must(requested_impersonation(headers));
  ASSERT_TRUE(wanted.has_value());
  EXPECT_EQ(wanted->user.name, "jane");
  EXPECT_EQ(wanted->user.uid, "u-1");
  EXPECT_EQ(wanted->user.groups,
            (std::vector<std::string>{"dev", "system:masters", "system:authenticated"}));
  EXPECT_EQ(wanted->rights, (Rights{{"", "users", "", "", "jane"},
                                    {"", "groups", "", "", "dev"},
                                    {"", "groups", "", "", "system:masters"},
                                    {kAuthentication, "userextras", "acme.com/team", "", "net"},
                                    {kAuthentication, "userextras", "scopes", "", "view"},
                                    {kAuthentication, "userextras", "scopes", "", "edit"},
                                    {kAuthentication, "uids", "", "", "u-1"}}));
}

// A service account is asked for as such, in its namespace, and has its groups by itself. Something
// that only looks like one is a user.
TEST(Impersonation, service_accounts) {
  const auto account = must(
      requested_impersonation(Fields{{"Impersonate-User", "system:serviceaccount:apps:builder"}}));
  ASSERT_TRUE(account.has_value());
  EXPECT_EQ(account->rights, (Rights{{"", "serviceaccounts", "", "apps", "builder"}}));
  EXPECT_EQ(account->user.groups,
            (std::vector<std::string>{"system:serviceaccounts", "system:serviceaccounts:apps",
                                      "system:authenticated"}));
  for (const char* user : {"system:serviceaccount:apps", "system:serviceaccount::x",
                           "system:serviceaccount:a:b:c", "system:serviceaccount:a:"}) {
    const auto other = must(requested_impersonation(Fields{{"Impersonate-User", user}}));
    EXPECT_EQ(other->rights, (Rights{{"", "users", "", "", user}}));
  }
}

// Nobody becomes authenticated by it who is not.
TEST(Impersonation, anonymous_stays_unauthenticated) {
  const auto wanted =
      must(requested_impersonation(Fields{{"Impersonate-User", std::string(kAnonymousUser)}}));
  EXPECT_EQ(wanted->user.groups, std::vector<std::string>{std::string(kUnauthenticatedGroup)});
}

}  // namespace
}  // namespace fairlead::identity
