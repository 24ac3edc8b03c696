#include "api/store/etcd/assembler.h"

#include <string>
#include <utility>

#include "api/store/transaction.h"
#include "foundation/base/log.h"

namespace fairlead::store {

Result<std::vector<RevisionChanges>> EtcdAssembler::take(
    const wire::etcd::WatchResponse& response) {
  std::vector<RevisionChanges> whole;
  const auto complete = [&] {
    if (open_.revision == 0) return;
    position_ = open_.revision;
    whole.push_back(std::exchange(open_, {}));
    next_position_ = 0;
  };
  for (const wire::etcd::Event& event : response.events) {
    const Revision revision = event.kv.mod_revision;
    if (revision <= position_) {
      // The watch begins one revision early on purpose, see EtcdTail. Later than that, an event of
      // a revision that was complete breaks the order that everything above relies on.
      if (whole.empty() && open_.revision == 0) continue;
      return fail(Code::corrupt, "etcd watch went back to revision " + std::to_string(revision));
    }
    if (revision < open_.revision)
      return fail(Code::corrupt, "etcd watch went back to revision " + std::to_string(revision));
    if (revision > open_.revision) complete();
    open_.revision = revision;
    add(event);
  }
  // Only a fragment can end inside a revision; its rest is in the next response.
  if (!response.fragment) complete();
  return whole;
}

void EtcdAssembler::add(const wire::etcd::Event& event) {
  const std::uint32_t position = next_position_++;
  const auto key = keys_.key_of(event.kv.key);
  if (event.kv.key == keys_.epoch()) epoch_written_ = open_.revision;
  if (!key) return;
  if (event.erased) {
    Change change{.current = {.key = std::string(*key),
                              .value = {},
                              .modified = {open_.revision, position},
                              .created = 0},
                  .erased = true};
    open_.changes.push_back(std::move(change));
    return;
  }
  auto opened = open_key_value(*key, event.kv);
  if (!opened) {
    // Somebody else wrote below our root. Lists name the key and refuse; a watch that died of it
    // could never get past it.
    ++foreign_values_;
    log::error("foreign value in etcd", {{"key", printable(event.kv.key)}});
    return;
  }
  next_position_ = opened->modified.position + 1;
  open_.changes.push_back(Change{.current = std::move(*opened), .erased = false});
}

}  // namespace fairlead::store
