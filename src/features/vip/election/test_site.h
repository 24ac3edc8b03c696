// For tests: nodes with Electors and the fences that they move, on clocks that differ, with guards,
// disks, and a network that loses, delays and cuts; and a judge that counts instants with two that
// answer.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "features/vip/election/elector.h"

namespace fairlead::vip {

inline Ip vip(int number) { return Ip::v4(0x0a000000u + static_cast<std::uint32_t>(number)); }

struct Faults {
  double loss = 0;
  Duration latency = 2ms;
  bool disorder = false;  // some messages come late or twice
};

class Site {
 public:
  Site(std::vector<std::string> names, int vips, std::uint64_t seed, Timing timing = {})
      : random_(seed), vips_(vips), timing_(timing) {
    Settings settings{.members = {}, .timing = timing};
    for (const std::string& name : names)
      settings.members.push_back({.name = name, .address = name + ":1"});
    for (const std::string& name : names) {
      Host& host = hosts_[name];
      host.name = name;
      // Two clocks differ in pace by at most the drift.
      const std::int64_t half = timing.drift_ppm / 2;
      host.rate = 1.0 + static_cast<double>(pick(2 * half + 1) - half) / 1e6;
      host.offset = Duration(pick(3'600'000'000'000));
      host.disk = {.reserved_term = 0, .log = {{.version = {}, .settings = settings}}};
      host.instance = random_() | 1;
      start(host);
    }
    first_ = settings;
  }

  struct Host {
    std::string name;
    double rate = 1;
    Duration offset{};
    std::optional<Elector> engine;
    std::uint64_t incarnation = 0;
    std::uint64_t instance = 0;  // of the disk
    Raft::Durable disk;
    std::optional<std::pair<std::int64_t, Raft::Write>> writing;
    std::map<Ip, Instant> fence;                          // deadlines in the kernel
    std::map<Ip, std::int64_t> queued_until;              // packets that passed it, in real time
    std::vector<std::pair<std::int64_t, Claim>> closing;  // when the margin has passed
    bool stopped = false;                                 // SIGSTOP
    bool dead = false;                                    // no power
    std::optional<std::int64_t> guard_at;                 // when the guard has waited its margin
    std::optional<Message> farewell;
  };

  void run(Duration time) {
    const std::int64_t until = now_ + time / 1us;
    for (; now_ < until; now_ += kStep) step();
  }

  Host& host(const std::string& name) { return hosts_.at(name); }
  // Of a machine without power: it comes back with its file only.
  void lose_disk(Host& host) {
    host.disk = {.reserved_term = 0, .log = {{.version = {}, .settings = first_}}};
    host.instance = random_() | 1;
  }
  // A machine that is to become a member: its file names those that there are, and itself.
  void join(const std::string& name) {
    Settings settings = hosts_.begin()->second.disk.log.back().settings;
    settings.members.push_back({.name = name, .address = name + ":1"});
    std::ranges::sort(settings.members);
    Host& host = hosts_[name];
    host.name = name;
    host.offset = Duration(pick(3'600'000'000'000));
    host.disk = {.reserved_term = 0, .log = {{.version = {}, .settings = settings}}};
    host.instance = random_() | 1;
    start(host);
  }
  // Asked of any node, until it is done.
  void insist(const std::string& at, const Wish& wish) {
    std::string last;
    for (int tries = 0; tries < 20; ++tries) {
      Host& asked = host(at);
      if (!asked.engine) {
        run(100ms);
        continue;
      }
      const std::uint64_t number = asked.engine->wish(clock(asked), wish);
      for (int i = 0; i < 60; ++i) {
        run(100ms);
        if (!asked.engine) break;
        const std::optional<Result<>> answer = asked.engine->take_answer(number);
        if (answer && *answer) return;
        if (answer) last = answer->error().message;
        if (answer) break;
      }
    }
    std::string told;
    for (auto& [name, one] : hosts_)
      if (one.engine)
        told +=
            "\n" + name +
            (one.engine->raft().leads() ? " leads" : " follows " + one.engine->raft().leader()) +
            " in term " + std::to_string(one.engine->raft().term()) + " of " +
            std::to_string(one.engine->raft().latest().settings.members.size()) +
            (one.engine->raft().settled() ? "" : ", not settled");
    FAIL() << "never granted: " << wish.node << ", " << last << told;
  }
  std::map<std::string, Host>& hosts() { return hosts_; }
  void kill(Host& host) {  // the guard sees it at once
    if (host.dead || !host.engine) return;
    host.farewell = host.engine->farewell();
    host.engine.reset();
    host.writing.reset();
    host.closing.clear();
    host.stopped = false;
    close_fences(host);
    host.guard_at = now_ + timing_.margin / 1us;
  }
  void power_off(Host& host) {
    host.engine.reset();
    host.writing.reset();
    host.closing.clear();
    host.fence.clear();
    host.queued_until.clear();
    host.guard_at.reset();
    host.stopped = false;
    host.dead = true;
  }
  void power_on(Host& host) {
    if (!host.dead) return;
    host.dead = false;
    host.offset += 1h;  // boot time is another one; it may be any
    start(host);
  }
  bool answers(const Host& host, const Ip& address) const {
    if (host.dead) return false;
    const auto deadline = host.fence.find(address);
    if (deadline != host.fence.end() && clock(host) < deadline->second) return true;
    const auto queued = host.queued_until.find(address);
    return queued != host.queued_until.end() && now_ < queued->second;
  }
  std::string holder(int number) const {
    std::string names;
    for (const auto& [name, host] : hosts_)
      if (answers(host, vip(number))) names += name;
    return names;
  }
  std::string leader() {
    for (auto& [name, host] : hosts_)
      if (host.engine && host.engine->raft().leads()) return name;
    return {};
  }
  Instant clock(const Host& host) const {
    return Instant(host.offset + Duration(static_cast<std::int64_t>(static_cast<double>(now_) *
                                                                    1e3 * host.rate)));
  }
  std::int64_t now() const { return now_; }
  std::int64_t pick(std::int64_t below) {
    return std::uniform_int_distribution<std::int64_t>(0, below - 1)(random_);
  }

  Faults faults;
  std::set<std::pair<std::string, std::string>> cut;  // pairs, in order
  bool disks_stall = false;
  bool fence_off = false;  // a test of the test
  int two = 0, changes = 0;
  std::map<std::string, std::set<int>> sick;
  std::function<void(Host&)> on_restart;

 private:
  static constexpr std::int64_t kStep = 500;  // µs

  void start(Host& host) {
    host.incarnation = random_() | 1;
    host.engine.emplace(ElectorOptions{.self = host.name,
                                       .incarnation = host.incarnation,
                                       .instance = host.instance,
                                       .durable = host.disk},
                        clock(host), [this] { return random_(); });
    offer(host);
  }
  void close_fences(Host& host) {
    for (auto& [address, deadline] : host.fence) {
      if (clock(host) < deadline)  // what is in the queue still leaves, within the margin
        host.queued_until[address] = now_ + pick(timing_.margin / 1us);
      deadline = {};
    }
  }

 public:
  void offer(Host& host) {
    std::vector<Offer> offers;
    for (int i = 1; i <= vips_; ++i)
      offers.push_back({.vip = vip(i), .healthy = !sick[host.name].contains(i)});
    if (host.engine) host.engine->offer(clock(host), std::move(offers));
  }

 private:
  void step() {
    for (auto& [name, host] : hosts_) {
      if (host.dead) continue;
      if (host.guard_at && now_ >= *host.guard_at) {
        for (auto& [other, to] : hosts_)
          if (other != name) send(name, other, *host.farewell);
        host.guard_at.reset();
        start(host);
      }
      if (host.engine && !host.stopped) work(host);
    }
    std::vector<Flying> due;
    std::erase_if(flying_, [&](Flying& one) {
      const auto to = hosts_.find(one.to);
      if (one.due > now_ || to == hosts_.end() || to->second.stopped) return false;
      due.push_back(std::move(one));
      return true;
    });
    for (Flying& one : due) {
      Host& to = hosts_.at(one.to);
      if (to.dead || !to.engine) continue;
      to.engine->receive(clock(to), one.from, one.message);
      carry_out(to);
    }
    judge();
  }
  void work(Host& host) {
    const Instant now = clock(host);
    if (now >= host.engine->next_tick()) host.engine->tick(now);
    if (!host.writing && !disks_stall)
      if (auto write = host.engine->take_write())
        host.writing.emplace(now_ + pick(20'000), std::move(*write));
    if (host.writing && host.writing->first <= now_ && !disks_stall) {
      host.disk = host.writing->second.durable;
      host.engine->written(now, host.writing->second.number);
      host.writing.reset();
    }
    std::vector<Claim> done;
    std::erase_if(host.closing, [&](const auto& one) {
      if (one.first > now_) return false;
      done.push_back(one.second);
      return true;
    });
    for (const Claim& claim : done) host.engine->closed(now, claim);
    carry_out(host);
  }
  // What the engine does: fences first, then messages.
  void carry_out(Host& host) {
    for (const Claim& claim : host.engine->closing()) {
      const bool begun =
          std::ranges::any_of(host.closing, [&](const auto& one) { return one.second == claim; });
      if (begun) continue;
      Instant& deadline = host.fence[claim.vip];
      if (clock(host) < deadline) host.queued_until[claim.vip] = now_ + pick(timing_.margin / 1us);
      deadline = {};
      host.closing.emplace_back(now_ + timing_.margin / 1us, claim);
    }
    for (const Claim& claim : host.engine->wanted())
      if (const auto deadline = host.engine->deadline(claim.vip)) {
        host.fence[claim.vip] = fence_off ? Instant::max() : *deadline;
        // What passes the fence in its last moment leaves up to a margin later.
        host.queued_until[claim.vip] = 0;
      }
    for (Elector::Envelope& envelope : host.engine->take_messages())
      send(host.name, envelope.to, std::move(envelope.message));
  }
  void send(const std::string& from, const std::string& to, const Message& message) {
    const auto pair = std::minmax(from, to);
    if (cut.contains({pair.first, pair.second})) return;
    if (std::uniform_real_distribution<>(0, 1)(random_) < faults.loss) return;
    const std::int64_t times = faults.disorder && pick(20) == 0 ? 2 : 1;
    for (std::int64_t i = 0; i < times; ++i) {
      const std::int64_t late = faults.disorder && pick(50) == 0 ? pick(200'000) : 0;
      flying_.push_back({now_ + pick(faults.latency / 1us) + late, from, to, message});
    }
  }
  void judge() {
    for (int i = 1; i <= vips_; ++i) {
      const std::string names = holder(i);
      if (names.size() > 1) ++two;
      if (names.size() == 1 && last_[i] != names) {
        last_[i] = names;
        ++changes;
      }
    }
  }
  struct Flying {
    std::int64_t due;
    std::string from, to;
    Message message;
  };
  std::mt19937_64 random_;
  int vips_;
  Timing timing_;
  Settings first_;  // as the files have them
  std::int64_t now_ = 0;
  std::map<std::string, Host> hosts_;
  std::vector<Flying> flying_;
  std::map<int, std::string> last_;
};

}  // namespace fairlead::vip
