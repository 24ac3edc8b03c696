#include "features/vip/node/vip_history.h"

#include <gtest/gtest.h>

#include <map>

namespace fairlead::vip {
namespace {

// Files in memory.
class Shelf final : public runtime::Files {
 public:
  Result<std::string> read(const std::string& path) override {
    const auto at = texts.find(path);
    if (at == texts.end()) return fail(Code::not_found, path);
    return at->second;
  }
  Result<> write_atomically(const std::string& path, std::string_view bytes, int) override {
    texts[path] = bytes;
    return {};
  }
  Result<> remove(const std::string& path) override {
    texts.erase(path);
    return {};
  }
  Result<> make_directories(const std::string&, int) override { return {}; }
  Result<std::vector<std::string>> list(const std::string&) override {
    return std::vector<std::string>{};
  }
  std::map<std::string, std::string> texts;
};

Report report(std::int64_t incarnation, std::int64_t passages) {
  Report report{.incarnation = incarnation};
  for (std::int64_t i = 1; i <= passages; ++i)
    report.passages.push_back({.number = i, .vip = "10.0.0.75", .what = "held", .epoch = i});
  return report;
}

std::size_t take(VipHistory& history, const Report& report) {
  std::size_t told = 0;
  history.take(report, [&](const Passage&) { ++told; });
  return told;
}

// An agent that was killed and finds the old engine still running takes only what is new; those of
// another engine count from the beginning.
TEST(VipHistory, TakesNothingTwice) {
  Shelf shelf;
  VipHistory first(shelf, "h");
  EXPECT_EQ(take(first, report(7, 2)), 2U);
  EXPECT_EQ(take(first, report(7, 3)), 1U);
  shelf.texts["h"] = first.text();
  VipHistory second(shelf, "h");
  EXPECT_EQ(second.passages().size(), 3U);
  EXPECT_EQ(take(second, report(7, 3)), 0U);
  EXPECT_EQ(take(second, report(7, 4)), 1U);
  EXPECT_EQ(take(second, report(8, 1)), 1U);
  EXPECT_EQ(take(second, report(0, 1)), 0U);
  EXPECT_EQ(second.passages().size(), 5U);
}

// A file that is no history begins a new one, and a history does not grow for ever.
TEST(VipHistory, Bounds) {
  Shelf shelf;
  for (const char* wrong : {"", "{", "[]", "7", R"({"passages":7})"}) {
    shelf.texts["h"] = wrong;
    EXPECT_TRUE(VipHistory(shelf, "h").passages().empty()) << wrong;
  }
  shelf.texts["h"].clear();
  VipHistory history(shelf, "h");
  EXPECT_EQ(take(history, report(7, 700)), 700U);
  EXPECT_EQ(history.passages().size(), VipHistory::kKept);
  EXPECT_EQ(history.passages().back().epoch, 700);
}

}  // namespace
}  // namespace fairlead::vip
