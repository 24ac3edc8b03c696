#include "program/build_info.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fairlead::program {
namespace {

constexpr const char* kCommit = "([0-9a-f]{12}(-dirty)?|unknown)";

// What runs somewhere can be found again in the repository.
TEST(BuildInfo, NamesTheCommit) {
  EXPECT_THAT(std::string(commit()), testing::MatchesRegex(kCommit));
  EXPECT_THAT(version_line(),
              testing::MatchesRegex(std::string("fairlead [0-9.]+ \\(commit ") + kCommit + "\\)"));
  metrics::Registry registry;
  register_build_info(registry);
  EXPECT_THAT(
      registry.expose(),
      testing::HasSubstr("fairlead_build_info{version=\"" + std::string(apiserver::kVersion) +
                         "\",commit=\"" + std::string(commit()) + "\"} 1"));
}

}  // namespace
}  // namespace fairlead::program
