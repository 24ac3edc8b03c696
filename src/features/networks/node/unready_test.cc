#include "features/networks/node/unready.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fairlead::networks {
namespace {

TEST(Unready, NamesTheFirstCause) {
  const std::pair<Progress, const char*> rows[] = {
      {{}, "this node has no NodeReport in the API yet"},
      {{.refusal = "Node n1 does not exist", .watches = 1, .failing_watches = 1},
       "the API does not know this node: Node n1 does not exist"},
      {{.watches = 3, .failing_watches = 2}, "the API is not reached: 2 of 3 watches fail"},
      {{.watches = 3}, "not every watch has delivered its first list yet"},
      {{.watches = 3, .failing_watches = 3, .complete = true, .fabric = "ovs"},
       "fabric ovs has not been compared yet with what it should carry"},
  };
  for (const auto& [progress, sentence] : rows)
    EXPECT_THAT(why_unready(progress), testing::StartsWith(sentence));
}

}  // namespace
}  // namespace fairlead::networks
