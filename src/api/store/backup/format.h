// The backup format: the state of a store at one revision, as a stream. Pure.
//
//   fairlead backup 1
//   revision 1234
//   item 1263617 1200 17 5            place, created, bytes of the key, bytes of the value
//   /registry/x/a/b…value…
//   …
//   end 1 9f86d081884c7d65…           number of items, SHA-256 of everything before this line
//
// Items come in byte order of their keys, each followed by its key, its value and a line end. The
// first line names the version; a reader refuses versions that it does not know. There is one
// format for all stores: a backup of one kind of store can be loaded into another.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "api/store/store.h"
#include "foundation/base/result.h"

namespace fairlead::store {

struct BackupSummary {
  Revision revision = 0;  // what the backup shows
  std::uint64_t items = 0;
  bool operator==(const BackupSummary&) const = default;
};

// SHA-256 of a stream.
class Digest {
 public:
  Digest();
  Digest(Digest&&) noexcept;
  ~Digest();
  void add(std::string_view bytes);
  std::string finish();  // hex

 private:
  struct State;
  std::unique_ptr<State> state_;
};

class BackupEncoder {
 public:
  explicit BackupEncoder(Revision revision) : revision_(revision) {}
  // What to write next, in this order.
  std::string begin();
  std::string item(const KeyValue& item);
  std::string end();
  BackupSummary summary() const { return {revision_, items_}; }

 private:
  std::string counted(std::string text);
  Revision revision_;
  std::uint64_t items_ = 0;
  Digest digest_;
};

// Feed it pieces of any size, take items until it has none.
class BackupDecoder {
 public:
  void feed(std::string_view bytes) { buffer_.append(bytes); }
  // Nothing: more bytes are needed, or the end was reached. Fails with corrupt, or with unsupported
  // for a version that it does not know.
  Result<std::optional<KeyValue>> next();
  // When there are no more bytes: fails with corrupt unless the backup was complete and correct.
  Result<BackupSummary> finish() const;
  // REQUIRES: an item was taken. What finish() will say the backup shows.
  Revision revision() const { return revision_; }

 private:
  enum class Expect { title, revision, item, nothing };
  struct ItemLine {
    std::uint64_t place = 0, created = 0, key_size = 0, value_size = 0;
  };
  Result<std::optional<std::string_view>> peek_line() const;
  Result<std::optional<KeyValue>> take_item(std::string_view line);
  Result<> check_item(const ItemLine& item, std::string_view key) const;
  Result<> take_end(std::string_view line);
  void consume(std::size_t bytes);

  Expect expect_ = Expect::title;
  std::string buffer_;
  std::size_t start_ = 0;  // what lies before it in the buffer was taken
  Revision revision_ = 0;
  std::uint64_t items_ = 0;
  std::string last_key_;
  Digest digest_;
};

}  // namespace fairlead::store
