#include "api/store/etcd/keys.h"

#include "api/store/transaction.h"
#include "foundation/base/check.h"
#include "foundation/wire/protobuf.h"

namespace fairlead::store {
namespace {

constexpr char kFormat = 1;

}  // namespace

EtcdKeys::EtcdKeys(std::string_view root)
    : root_(root),
      data_(root_ + "data/"),
      tick_(root_ + "meta/tick"),
      compaction_(root_ + "meta/compact"),
      epoch_(root_ + "meta/epoch") {
  const auto end = prefix_end(root_);
  CHECK(end.has_value());  // a root is readable text, never empty
  root_end_ = *end;
}

std::string EtcdKeys::data_end(std::string_view prefix) const {
  const auto end = prefix_end(data(prefix));
  CHECK(end.has_value());
  return *end;
}

std::optional<std::string_view> EtcdKeys::key_of(std::string_view etcd_key) const {
  if (!etcd_key.starts_with(data_)) return std::nullopt;
  return etcd_key.substr(data_.size());
}

std::string seal_value(std::uint32_t position, std::string_view value) {
  std::string sealed;
  sealed.reserve(3 + value.size());
  sealed.push_back(kFormat);
  wire::append_varint(sealed, position);
  sealed.append(value);
  return sealed;
}

Result<OpenedValue> open_value(std::string_view sealed) {
  if (sealed.empty() || sealed.front() != kFormat)
    return fail(Code::corrupt, "value in a format that this version does not know");
  sealed.remove_prefix(1);
  std::uint64_t position = 0;
  if (!wire::take_varint(sealed, position) || position >= Place::kEnd)
    return fail(Code::corrupt, "value with a broken envelope");
  return OpenedValue{static_cast<std::uint32_t>(position), sealed};
}

Result<KeyValue> open_key_value(std::string_view key, const wire::etcd::KeyValue& kv) {
  const auto opened = open_value(kv.value);
  if (!opened) return fail(opened.error().context("etcd key " + printable(kv.key)));
  return KeyValue{.key = std::string(key),
                  .value = Bytes(std::string(opened->value)),
                  .modified = {kv.mod_revision, opened->position},
                  .created = kv.create_revision};
}

void show(KeyValue& item, const EtcdEpoch& epoch) {
  item.modified.revision = epoch.shown(item.modified.revision);
  if (item.created != 0) item.created = epoch.shown(item.created);
}

}  // namespace fairlead::store
