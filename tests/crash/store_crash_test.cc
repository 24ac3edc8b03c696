// What a SqliteStore has acknowledged is there after kill -9, at whatever point it strikes.
#include <gtest/gtest.h>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <map>
#include <random>
#include <sstream>
#include <string>

#include "api/store/sqlite/database.h"
#include "api/store/sqlite/sqlite_store.h"
#include "api/store/temporary_directory.h"
#include "api/store/test_loop.h"

namespace fairlead::store {
namespace {

struct Acknowledged {
  std::string value;
  Revision revision = 0;
};

// What was acknowledged by all victims so far.
struct Record {
  std::map<std::string, Acknowledged> created;
  std::map<std::string, int> counts;
  Revision highest = 0;
  Revision opened = -1;  // of the last victim

  void take(const std::string& line) {
    std::istringstream words(line);
    std::string kind, key, value;
    Revision revision = 0;
    words >> kind;
    if (kind == "opened") {
      words >> opened;
      return;
    }
    words >> key >> value >> revision;
    ASSERT_TRUE(words) << line;
    highest = std::max(highest, revision);
    if (kind == "new") created[key] = {value, revision};
    if (kind == "count") counts[key] = std::stoi(value);
  }
};

// A store_crash_child with its standard output.
class Victim {
 public:
  Victim(const std::string& directory, int run) {
    int pipe_ends[2];
    CHECK(::pipe(pipe_ends) == 0);
    pid_ = ::fork();
    if (pid_ == 0) {
      ::dup2(pipe_ends[1], STDOUT_FILENO);
      ::close(pipe_ends[0]);
      ::close(pipe_ends[1]);
      ::execl(FAIRLEAD_STORE_CRASH_CHILD, "store_crash_child", directory.c_str(),
              std::to_string(run).c_str(), nullptr);
      ::_exit(127);
    }
    ::close(pipe_ends[1]);
    output_ = pipe_ends[0];
  }
  ~Victim() {
    kill();
    ::close(output_);
  }
  void kill() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    int status = 0;
    ::waitpid(pid_, &status, 0);
    EXPECT_TRUE(WIFSIGNALED(status)) << "it ended by itself with status " << WEXITSTATUS(status);
    pid_ = 0;
  }
  // Nothing at the end. What was printed before a kill can still be read.
  std::optional<std::string> read_line() {
    for (;;) {
      const std::size_t end = buffer_.find('\n');
      if (end != std::string::npos) {
        std::string line = buffer_.substr(0, end);
        buffer_.erase(0, end + 1);
        return line;
      }
      char piece[4'096];
      const ssize_t got = ::read(output_, piece, sizeof piece);
      if (got <= 0) return std::nullopt;
      buffer_.append(piece, static_cast<std::size_t>(got));
    }
  }

 private:
  pid_t pid_ = 0;
  int output_ = -1;
  std::string buffer_;
};

void expect_everything_is_there(const std::string& directory, const Record& record,
                                Revision& last_revision) {
  TestLoop loop;
  Result<std::unique_ptr<SqliteStore>> opened = SqliteStore::open(loop, {.directory = directory});
  ASSERT_TRUE(opened) << opened.error().to_string();
  SqliteStore& store = **opened;
  const Result<Listing> listing = loop.await(store.list("", {}));
  ASSERT_TRUE(listing) << listing.error().to_string();
  EXPECT_GE(listing->revision, record.highest) << "an acknowledged revision is lost";
  EXPECT_GE(listing->revision, last_revision) << "the revision went backwards";
  last_revision = listing->revision;

  std::map<std::string, const KeyValue*> present;
  for (const KeyValue& item : listing->items) present[item.key] = &item;
  for (const auto& [key, acknowledged] : record.created) {
    const auto found = present.find(key);
    ASSERT_NE(found, present.end())
        << key << " of revision " << acknowledged.revision << " is lost";
    EXPECT_EQ(found->second->value.view(), acknowledged.value);
    EXPECT_EQ(found->second->modified.revision, acknowledged.revision);
  }
  for (const auto& [key, least] : record.counts) {
    const auto found = present.find(key);
    ASSERT_NE(found, present.end()) << key << " is lost";
    EXPECT_GE(std::stoi(std::string(found->second->value.view())), least);
    const std::string twin = key.substr(0, key.rfind('/')) + "/second";
    ASSERT_TRUE(present.contains(twin));
    EXPECT_EQ(present[twin]->value.view(), found->second->value.view()) << "half a transaction";
  }
}

// Sixty times on one database: write, kill, look.
TEST(StoreCrash, KillsLoseNothingThatWasAcknowledged) {
  TemporaryDirectory directory;
  std::mt19937 random(20'240'601);
  Record record;
  Revision last_revision = 0;
  for (int run = 0; run < 60; ++run) {
    SCOPED_TRACE("run " + std::to_string(run));
    // Every tenth is killed while it opens the store, the others after some writes.
    const unsigned lines = run % 10 == 9 ? 0 : 1 + random() % 300;
    Victim victim(directory.path(), run);
    for (unsigned i = 0; i < lines; ++i) {
      const std::optional<std::string> line = victim.read_line();
      ASSERT_TRUE(line) << "the victim ended by itself";
      record.take(*line);
      if (i == 0) EXPECT_GE(record.opened, last_revision);
    }
    victim.kill();
    while (const std::optional<std::string> line = victim.read_line()) record.take(*line);
    expect_everything_is_there(directory.path(), record, last_revision);
    if (testing::Test::HasFailure()) return;
  }
  EXPECT_GT(record.created.size(), 3'000u);
  Result<Database> database = Database::open({.path = directory.path() + "/fairlead.db"});
  ASSERT_TRUE(database);
  EXPECT_EQ(database->query_text("PRAGMA integrity_check"), "ok");
}

}  // namespace
}  // namespace fairlead::store
