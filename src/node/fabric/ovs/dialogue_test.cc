#include "node/fabric/ovs/dialogue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "foundation/runtime/manual_runtime.h"
#include "foundation/runtime/scope.h"

namespace fairlead::fabric::ovs {
namespace {

// A daemon's end: what was written to it, what it says, and whether it is gone.
struct Daemon {
  std::string heard;
  std::string says;
  bool gone = false;
  bool hung_up = false;  // by us
  runtime::Signal changed;

  void say(std::string_view text) {
    says += text;
    changed.notify();
  }
  void die() {
    gone = true;
    changed.notify();
  }
};

class DaemonStream final : public runtime::Stream {
 public:
  explicit DaemonStream(Daemon& daemon) : daemon_(daemon) {}

  Task<Result<>> handshake() override { co_return Result<>{}; }
  Task<Result<std::size_t>> read(std::span<char> into) override {
    while (daemon_.says.empty() && !daemon_.gone && !daemon_.hung_up) {
      FL_CO_CHECKED(co_await daemon_.changed.wait());
    }
    if (daemon_.hung_up) co_return fail(Code::unavailable, "connection closed");
    const std::size_t count = std::min(into.size(), daemon_.says.size());
    std::ranges::copy_n(daemon_.says.begin(), static_cast<std::ptrdiff_t>(count), into.begin());
    daemon_.says.erase(0, count);
    co_return count;
  }
  Task<Result<>> write(std::string_view bytes) override {
    if (daemon_.gone) co_return fail(Code::unavailable, "broken pipe");
    daemon_.heard += bytes;
    co_return Result<>{};
  }
  Task<Result<>> shutdown_write() override { co_return Result<>{}; }
  void close() override {
    daemon_.hung_up = true;
    daemon_.changed.notify();
  }
  const runtime::PeerInfo& peer() const override { return peer_; }

 private:
  Daemon& daemon_;
  runtime::PeerInfo peer_;
};

// Questions are numbers; the daemon answers number n with the digit n.
class DialogueTest : public testing::Test {
 protected:
  DialogueTest() { connect(first_); }

  void connect(Daemon& daemon) { dialogue_.open(std::make_unique<DaemonStream>(daemon)); }
  void ask(int number) { scope_.spawn(ask_and_keep(number)); }
  Task<void> ask_and_keep(int number) {
    Result<bool> answer = co_await dialogue_.ask(number, std::to_string(number));
    answers_.insert_or_assign(number, std::move(answer));
  }
  Result<> take(std::string_view piece) {
    for (const char digit : piece) {
      if (digit == '?') return fail(Code::corrupt, "not a digit");
      dialogue_.answer(digit - '0', true);
    }
    return {};
  }
  std::optional<Code> failure(int number) const {
    const auto found = answers_.find(number);
    if (found == answers_.end() || found->second) return std::nullopt;
    return found->second.error().code;
  }

  static constexpr Duration kPatience = 20s;
  runtime::ManualRuntime runtime_;
  Daemon first_;
  Daemon second_;
  std::map<int, Result<bool>> answers_;
  std::vector<Error> ends_;
  Dialogue<int, bool> dialogue_{runtime_,
                                {.name = "daemon", .patience = kPatience},
                                [this](std::string_view piece) { return take(piece); },
                                [this](const Error& error) { ends_.push_back(error); }};
  runtime::Scope scope_{runtime_};
};

// Answers may come in any order, and go to those who asked.
TEST_F(DialogueTest, AnswersFindTheirQuestions) {
  ask(1);
  ask(2);
  runtime_.settle();
  EXPECT_EQ(first_.heard, "12");
  first_.say("2");
  runtime_.settle();
  ASSERT_TRUE(answers_.contains(2));
  EXPECT_TRUE(answers_.at(2));
  EXPECT_FALSE(answers_.contains(1));
  first_.say("1");
  runtime_.settle();
  EXPECT_TRUE(answers_.contains(1) && answers_.at(1));
}

// A daemon that says nothing is dead, even if its connection stands: nobody who asked waits on.
TEST_F(DialogueTest, SilenceEndsTheConnection) {
  ask(1);
  runtime_.advance(kPatience - 1s);
  ask(2);
  runtime_.settle();
  EXPECT_TRUE(dialogue_.connected());
  runtime_.advance(1s);
  EXPECT_EQ(failure(1), Code::timeout);
  EXPECT_EQ(failure(2), Code::unavailable);
  EXPECT_FALSE(dialogue_.connected());
  EXPECT_TRUE(first_.hung_up);
  EXPECT_EQ(ends_.size(), 1u);
}

// The connection's end is everybody's answer, and of those who ask when it has ended.
TEST_F(DialogueTest, EndFailsEveryQuestion) {
  ask(1);
  ask(2);
  runtime_.settle();
  first_.die();
  runtime_.settle();
  EXPECT_EQ(failure(1), Code::unavailable);
  EXPECT_EQ(failure(2), Code::unavailable);
  ask(3);
  runtime_.settle();
  EXPECT_EQ(failure(3), Code::unavailable);
  EXPECT_EQ(ends_.size(), 1u);
}

// The daemon died before anybody noticed: what is asked then fails when it is noticed.
TEST_F(DialogueTest, AskedOfTheDead) {
  first_.gone = true;
  ask(1);
  runtime_.settle();
  EXPECT_EQ(failure(1), Code::unavailable);
  EXPECT_FALSE(dialogue_.connected());
}

// What cannot be understood ends the connection like its loss.
TEST_F(DialogueTest, NonsenseEndsTheConnection) {
  ask(1);
  runtime_.settle();
  first_.say("?");
  runtime_.settle();
  EXPECT_EQ(failure(1), Code::unavailable);
  EXPECT_TRUE(first_.hung_up);
}

// A question to the former connection does not wait for an answer of the next, nor end that.
TEST_F(DialogueTest, TheNextConnectionStartsAnew) {
  ask(1);
  runtime_.settle();
  connect(second_);
  runtime_.settle();
  EXPECT_EQ(failure(1), Code::unavailable);
  runtime_.advance(2 * kPatience);
  EXPECT_TRUE(dialogue_.connected());
  ask(2);
  runtime_.settle();
  EXPECT_EQ(second_.heard, "2");
  second_.say("2");
  runtime_.settle();
  EXPECT_TRUE(answers_.contains(2) && answers_.at(2));
}

// An answer that comes too late is nobody's.
TEST_F(DialogueTest, LateAnswersAreIgnored) {
  ask(1);
  runtime_.advance(kPatience);
  EXPECT_EQ(failure(1), Code::timeout);
  dialogue_.answer(1, true);
  EXPECT_FALSE(dialogue_.awaits(1));
}

}  // namespace
}  // namespace fairlead::fabric::ovs
