// Informer<T>: a local, indexed, read-only copy of some of an API's objects, with notifications.
//
//   Informer<resource::Subnet> subnets(runtime, client, {.resource = …});
//   subnets.add_index("vni", [](const Subnet& s) { return std::vector{std::to_string(s.spec.vni)};
//   }); subnets.on_change([&](const auto& before, const auto& after) { queue.add(key_of(after));
//   }); scope.spawn(subnets.run());
//
// T is Json, or a struct with a description (api/resource/schema/describe.h). Objects are shared
// and never changed. Handlers run on the loop, in order, and must not wait; `before` is null for a
// new object, `after` null for one that is gone. After a reconnection intermediate states may be
// missing, and an object deleted and made again meanwhile appears as a change with another uid.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "api/client/reflector.h"
#include "api/resource/schema/describe.h"
#include "foundation/base/log.h"
#include "foundation/runtime/channel.h"

namespace fairlead::client {

// "namespace/name", or the name alone.
inline std::string object_key(const Json& object) {
  const std::string_view namespace_name = wire::find_string(object, "metadata.namespace");
  std::string key(namespace_name);
  if (!key.empty()) key.push_back('/');
  return key.append(wire::find_string(object, "metadata.name"));
}

template <class T = Json>
class Informer final : private ObjectSink {
 public:
  using Ref = std::shared_ptr<const T>;
  using IndexFunction = std::function<std::vector<std::string>(const T&)>;
  using Handler = std::function<void(const Ref& before, const Ref& after)>;

  Informer(runtime::Runtime& runtime, RestClient& client, ReflectorOptions options)
      : reflector_(runtime, client, std::move(options), *this) {}

  // REQUIRES: before run().
  void add_index(std::string name, IndexFunction values) {
    indexes_[std::move(name)].values = std::move(values);
  }
  void on_change(Handler handler) { handlers_.push_back(std::move(handler)); }

  Task<void> run() { return reflector_.run(); }

  bool synced() const { return synced_; }
  Task<Result<>> wait_synced() {
    while (!synced_) {
      FL_CO_CHECKED(co_await synced_signal_.wait());
    }
    co_return Result<>{};
  }

  Ref find(std::string_view key) const {
    const auto at = objects_.find(key);
    return at == objects_.end() ? nullptr : at->second;
  }
  const std::map<std::string, Ref, std::less<>>& objects() const { return objects_; }
  // Keys of the objects that have `value` in that index.
  std::vector<std::string> keys_with(std::string_view index, const std::string& value) const {
    const auto at = indexes_.find(index);
    CHECK(at != indexes_.end());
    const auto entry = at->second.keys.find(value);
    if (entry == at->second.keys.end()) return {};
    return {entry->second.begin(), entry->second.end()};
  }
  const Reflector& reflector() const { return reflector_; }

 private:
  struct Index {
    IndexFunction values;
    std::map<std::string, std::set<std::string>> keys;
  };

  static Ref decode(const Json& object, const std::string& key) {
    if constexpr (std::is_same_v<T, Json>) {
      return std::make_shared<const Json>(object);
    } else {
      Result<T> decoded = resource::decode<T>(object);
      if (decoded) return std::make_shared<const T>(std::move(*decoded));
      log::warning("object skipped", {{"key", key}, {"error", decoded.error().message}});
      return nullptr;
    }
  }

  void replace(std::vector<Json> list, const std::string&) override {
    std::set<std::string, std::less<>> present;
    for (const Json& object : list) {
      present.insert(object_key(object));
      put(object);
    }
    std::vector<std::string> gone;
    for (const auto& [key, object] : objects_)
      if (!present.contains(key)) gone.push_back(key);
    for (const std::string& key : gone) set(key, nullptr);
    if (!std::exchange(synced_, true)) synced_signal_.notify();
  }
  void put(const Json& object) override {
    std::string key = object_key(object);
    Ref decoded = decode(object, key);
    if (decoded) set(key, std::move(decoded));
  }
  void erase(const Json& last_state) override { set(object_key(last_state), nullptr); }

  void set(const std::string& key, Ref after) {
    Ref before = find(key);
    if (!before && !after) return;
    for (auto& [name, index] : indexes_) {
      if (before) {
        for (const std::string& value : index.values(*before)) {
          const auto entry = index.keys.find(value);
          if (entry == index.keys.end()) continue;
          entry->second.erase(key);
          if (entry->second.empty()) index.keys.erase(entry);
        }
      }
      if (after)
        for (const std::string& value : index.values(*after)) index.keys[value].insert(key);
    }
    if (after) {
      objects_.insert_or_assign(key, after);
    } else {
      objects_.erase(key);
    }
    for (const Handler& handler : handlers_) handler(before, after);
  }

  std::map<std::string, Ref, std::less<>> objects_;
  std::map<std::string, Index, std::less<>> indexes_;
  std::vector<Handler> handlers_;
  bool synced_ = false;
  runtime::Signal synced_signal_;
  Reflector reflector_;
};

}  // namespace fairlead::client
