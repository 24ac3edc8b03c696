// What the tests of this folder share: a fixed time, repeatable randomness, files in memory, and
// authorities that issue the certificates a test needs.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "api/identity/certificate.h"
#include "foundation/base/check.h"
#include "foundation/runtime/runtime.h"

namespace fairlead::identity::testing {

inline constexpr WallTime kNow{std::chrono::sys_days{std::chrono::year{2030} / 6 / 1}};
inline constexpr Duration kDay = 24h;

inline Random seeded(std::uint64_t seed) {
  return [state = seed]() mutable {
    state += 0x9e3779b97f4a7c15;
    std::uint64_t z = state;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  };
}

// For steps of a test that cannot fail unless the code before them is broken.
template <class T>
T must(Result<T> result) {
  if (!result) check_failed(result.error().message.c_str(), __FILE__, __LINE__);
  return std::move(*result);
}

inline Validity around_now(Duration before = kDay, Duration after = 30 * kDay) {
  return {kNow - before, kNow + after};
}

inline KeyPair make_ca(const std::string& name = "test-ca", std::uint64_t seed = 1) {
  return must(make_authority(name, around_now(365 * kDay, 3650 * kDay), seeded(seed)));
}

inline KeyPair client_of(const KeyPair& ca, std::string user, std::vector<std::string> groups = {},
                         Validity validity = around_now()) {
  return must(issue(ca,
                    {.subject = {std::move(user), std::move(groups)},
                     .names = {},
                     .purposes = {Purpose::client},
                     .validity = validity},
                    seeded(7)));
}

inline KeyPair server_of(const KeyPair& ca, Names names, Validity validity = around_now()) {
  return must(issue(ca,
                    {.subject = {"server", {}},
                     .names = std::move(names),
                     .purposes = {Purpose::server},
                     .validity = validity},
                    seeded(8)));
}

// Files as the real ones answer: absent is not_found, modes are remembered.
class MemoryFiles final : public runtime::Files {
 public:
  struct File {
    std::string bytes;
    int mode = 0;
  };
  Result<std::string> read(const std::string& path) override {
    const auto found = files.find(path);
    if (found == files.end()) return fail(Code::not_found, path + ": no such file");
    return found->second.bytes;
  }
  Result<> write_atomically(const std::string& path, std::string_view bytes, int mode) override {
    if (writes_left == 0) return fail(Code::io, path + ": disk full");
    --writes_left;
    files[path] = {std::string(bytes), mode};
    return {};
  }
  Result<> remove(const std::string& path) override {
    files.erase(path);
    return {};
  }
  Result<> make_directories(const std::string&, int) override { return {}; }
  Result<std::vector<std::string>> list(const std::string&) override {
    std::vector<std::string> names;
    for (const auto& [name, file] : files) names.push_back(name);
    return names;
  }
  std::map<std::string, File> files;
  int writes_left = 1'000'000;
};

}  // namespace fairlead::identity::testing
