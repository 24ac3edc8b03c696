// How the store's keys and values lie in etcd. Pure.
//
//   <root>data/<key>     the store's keys; every value in an envelope
//   <root>meta/tick      written only to be seen by watches (EtcdStore::nudge)
//   <root>meta/epoch     how etcd's revisions become the store's (EtcdEpoch)
//   <root>meta/compact   whose turn it is to compact (EtcdStore::compact_in_turn)
//
//   envelope:  01 | varint position | value
//
// etcd knows the revision of a value but not its position among the changes of that revision; the
// envelope does, so a plain read shows the whole Place. The first byte is the format's version.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "api/store/etcd/epoch.h"
#include "api/store/store.h"
#include "foundation/base/result.h"
#include "foundation/wire/etcd.h"

namespace fairlead::store {

class EtcdKeys {
 public:
  explicit EtcdKeys(std::string_view root);

  const std::string& root() const { return root_; }
  const std::string& root_end() const { return root_end_; }
  const std::string& tick() const { return tick_; }
  const std::string& compaction() const { return compaction_; }
  const std::string& epoch() const { return epoch_; }

  std::string data(std::string_view key) const { return std::string(data_).append(key); }
  // The end of the range of keys with the store's `prefix`.
  std::string data_end(std::string_view prefix) const;
  // The store's key, if this is one of data().
  std::optional<std::string_view> key_of(std::string_view etcd_key) const;

 private:
  std::string root_;
  std::string root_end_;
  std::string data_;
  std::string tick_;
  std::string compaction_;
  std::string epoch_;
};

std::string seal_value(std::uint32_t position, std::string_view value);

struct OpenedValue {
  std::uint32_t position = 0;
  std::string_view value;
};
// Fails with corrupt on what seal_value cannot have made.
Result<OpenedValue> open_value(std::string_view sealed);

// A key and value of etcd as the store shows it; corrupt if the value is not in an envelope.
Result<KeyValue> open_key_value(std::string_view key, const wire::etcd::KeyValue& kv);

// Revisions of etcd become the store's.
void show(KeyValue& item, const EtcdEpoch& epoch);

}  // namespace fairlead::store
