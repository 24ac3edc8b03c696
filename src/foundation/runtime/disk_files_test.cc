#include "foundation/runtime/disk_files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <string>
#include <thread>

namespace fairlead::runtime {
namespace {

class DiskFilesTest : public testing::Test {
 protected:
  DiskFilesTest() {
    std::string name = testing::TempDir() + "fairlead-XXXXXX";
    folder_ = ::mkdtemp(name.data());
  }
  ~DiskFilesTest() override { std::filesystem::remove_all(folder_); }
  std::string at(std::string_view name) const { return folder_ + "/" + std::string(name); }

  DiskFiles files_;
  std::string folder_;
};

int mode_of(const std::string& path) {
  struct stat status{};
  ::stat(path.c_str(), &status);
  return static_cast<int>(status.st_mode & 07777);
}

// What was written is read back, replaced, listed and removed.
TEST_F(DiskFilesTest, WriteReadListRemove) {
  const std::string bytes("a\0b\n", 4);
  ASSERT_TRUE(files_.write_atomically(at("one"), bytes, 0600).has_value());
  ASSERT_TRUE(files_.write_atomically(at("two"), std::string(100'000, 'x'), 0644).has_value());
  EXPECT_EQ(files_.read(at("one")), bytes);
  EXPECT_EQ(files_.read(at("two"))->size(), 100'000U);
  EXPECT_EQ(mode_of(at("one")), 0600);
  EXPECT_EQ(mode_of(at("two")), 0644);
  ASSERT_TRUE(files_.write_atomically(at("one"), "", 0640).has_value());
  EXPECT_EQ(files_.read(at("one")), "");
  EXPECT_EQ(mode_of(at("one")), 0640);
  EXPECT_EQ(files_.list(folder_), (std::vector<std::string>{"one", "two"}));
  ASSERT_TRUE(files_.remove(at("one")).has_value());
  EXPECT_EQ(files_.list(folder_), (std::vector<std::string>{"two"}));
}

// Folders are made as deep as needed; one that exists is fine, a file in the way is not.
TEST_F(DiskFilesTest, MakesFolders) {
  ASSERT_TRUE(files_.make_directories(at("a/b/c"), 0700).has_value());
  ASSERT_TRUE(files_.make_directories(at("a/b/c"), 0700).has_value());
  ASSERT_TRUE(files_.make_directories(at("a/b/d/"), 0700).has_value());
  EXPECT_EQ(mode_of(at("a/b")), 0700);
  ASSERT_TRUE(files_.write_atomically(at("a/file"), "x", 0600).has_value());
  EXPECT_EQ(files_.make_directories(at("a/file"), 0700).error().message,
            "make directory " + at("a/file") + ": Not a directory");
  EXPECT_FALSE(files_.make_directories(at("a/file/x"), 0700).has_value());
}

// Errors say what was attempted on which path, and failed writes leave nothing behind.
TEST_F(DiskFilesTest, Errors) {
  EXPECT_EQ(files_.read(at("none")).error().code, Code::not_found);
  EXPECT_EQ(files_.read(at("none")).error().message,
            "open " + at("none") + ": No such file or directory");
  EXPECT_EQ(files_.remove(at("none")).error().code, Code::not_found);
  EXPECT_EQ(files_.list(at("none")).error().code, Code::not_found);
  EXPECT_FALSE(files_.write_atomically(at("none/file"), "x", 0600).has_value());
  ASSERT_TRUE(files_.make_directories(at("folder/inner"), 0700).has_value());
  EXPECT_FALSE(files_.write_atomically(at("folder"), "x", 0600).has_value());
  EXPECT_EQ(files_.list(folder_), (std::vector<std::string>{"folder"}));
}

// A reader beside a writer sees one whole version or another, never a part.
TEST_F(DiskFilesTest, ReadersSeeWholeVersions) {
  const std::string path = at("file");
  ASSERT_TRUE(files_.write_atomically(path, std::string(50'000, 'a'), 0600).has_value());
  std::atomic<bool> stop = false;
  std::thread writer([&] {
    DiskFiles files;
    for (int i = 0; i < 200; ++i) {
      const char letter = i % 2 ? 'a' : 'b';
      ASSERT_TRUE(files.write_atomically(path, std::string(i % 2 ? 50'000 : 90'000, letter), 0600)
                      .has_value());
    }
    stop = true;
  });
  long reads = 0;
  while (!stop || reads == 0) {
    const Result<std::string> bytes = files_.read(path);
    ASSERT_TRUE(bytes.has_value());
    ASSERT_EQ(bytes->size(), bytes->front() == 'a' ? 50'000U : 90'000U);
    ASSERT_EQ(bytes->find_first_not_of(bytes->front()), std::string::npos);
    ++reads;
  }
  writer.join();
}

}  // namespace
}  // namespace fairlead::runtime
