// For tests: nodes with LeaseElectors and the fences that they move, on clocks that differ, around
// a store that compares and swaps, loses answers, is slow and is cut off.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "features/vip/lease/lease_elector.h"

namespace fairlead::vip {

inline Ip test_vip(int number) { return Ip::v4(0x0a000000u + static_cast<std::uint32_t>(number)); }

class LeaseSite {
 public:
  static constexpr Timing kTiming{.lease = 400ms, .renew = 100ms};

  LeaseSite(const std::vector<std::string>& names, int vips, std::uint64_t seed)
      : random_(seed), vips_(vips) {
    for (const std::string& name : names) {
      Host& host = hosts_[name];
      host.name = name;
      host.instance = random_() | 1;
      const std::int64_t half = kTiming.drift_ppm / 2;  // two clocks differ by at most the drift
      host.rate = 1.0 + static_cast<double>(pick(2 * half + 1) - half) / 1e6;
      host.offset = Duration(1s) + Duration(pick(3'600'000'000'000));
      start(host);
    }
  }

  struct Host {
    std::string name;
    std::string uses_name;  // empty: its own
    double rate = 1;
    Duration offset{};
    std::uint64_t instance = 0;
    std::uint64_t run = 0;
    std::optional<LeaseElector> engine;
    std::map<std::uint64_t, std::pair<Instant, bool>> asked;  // number: given up when; a put
    std::map<Ip, Instant> fence;                              // deadlines in the kernel
    std::map<Ip, std::int64_t> queued_until;                  // packets that passed it
    std::vector<std::pair<std::int64_t, Claim>> closing;      // when the margin has passed
    bool stopped = false;                                     // SIGSTOP
    bool dead = false;                                        // no power
    bool cut = false;                                         // from the store
    bool keep = false;
    std::optional<std::int64_t> guard_at;  // when the guard has waited its margin
    std::optional<std::int64_t> retire_at;
  };

  void run(Duration time) {
    const std::int64_t until = now_ + time / 1us;
    for (; now_ < until; now_ += kStep) step();
  }
  Host& host(const std::string& name) { return hosts_.at(name); }
  std::map<std::string, Host>& hosts() { return hosts_; }

  void kill(Host& host) {  // the guard sees it at once
    if (host.dead || !host.engine) return;
    end(host);
    close_fences(host);
    host.guard_at = now_ + kTiming.margin / 1us;
  }
  // In order: closed, the margin, farewell; nobody starts it again.
  void retire(Host& host) {
    close_fences(host);
    host.retire_at = now_ + kTiming.margin / 1us;
  }
  void power_off(Host& host) {
    end(host);
    host.fence.clear();
    host.queued_until.clear();
    host.guard_at.reset();
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
    // What passed in the last moment before the deadline is in the queue for less than the margin.
    if (deadline != host.fence.end() && deadline->second != Instant{} &&
        clock(host) < deadline->second + kTiming.margin * 9 / 10)
      return true;
    const auto queued = host.queued_until.find(address);
    return queued != host.queued_until.end() && now_ < queued->second;
  }
  std::string holder(int number) const {
    std::string names;
    for (const auto& [name, host] : hosts_)
      if (answers(host, test_vip(number))) names += name;
    return names;
  }
  std::string assigner() const {
    const auto table = store_.find("table");
    return table == store_.end() ? std::string()
                                 : decode_table_record(table->second.value)->assigner;
  }
  // How long nobody answered, at most.
  Duration gap(int number, Duration limit) {
    const std::int64_t began = now_;
    while ((now_ - began) * 1us < limit) {
      run(1ms);
      if (!holder(number).empty()) break;
    }
    return (now_ - began) * 1us;
  }
  Instant clock(const Host& host) const {
    return Instant(host.offset + Duration(static_cast<std::int64_t>(static_cast<double>(now_) *
                                                                    1e3 * host.rate)));
  }
  std::int64_t pick(std::int64_t below) {
    return std::uniform_int_distribution<std::int64_t>(0, below - 1)(random_);
  }
  Result<> move(Host& host, int number, const std::string& to) {
    const std::uint64_t wish = host.engine->wish(
        clock(host),
        {.kind = Wish::Kind::move, .vip = test_vip(number), .node = to, .address = {}});
    return *host.engine->take_answer(wish);
  }
  void offer(Host& host) {
    std::vector<Offer> offers;
    for (int i = 1; i <= vips_; ++i)
      if (!withdrawn[host.name].contains(i))
        offers.push_back({.vip = test_vip(i), .healthy = !sick[host.name].contains(i)});
    if (host.engine) host.engine->offer(clock(host), std::move(offers));
  }

  struct Stored {
    std::string value;
    std::uint64_t version = 0;
  };
  using Contents = std::map<std::string, Stored>;
  Contents& contents() { return store_; }
  std::string what_is_stored() const {
    std::string text;
    for (const auto& [name, stored] : store_) text += name + " " + stored.value + "\n";
    return text;
  }

  // What goes wrong.
  int lost_answers = 0;          // of a hundred
  int late = 0;                  // requests of a hundred that arrive up to a second later
  std::int64_t latency = 2'000;  // µs, each way, at most
  bool store_away = false;
  bool store_compares = true;  // a test of the test
  std::map<std::string, std::set<int>> sick, withdrawn;

  // What happened.
  int two = 0, changes = 0, bars = 0, conflicts = 0, late_puts = 0;
  std::set<std::string> assigners;

 private:
  static constexpr std::int64_t kStep = 500;  // µs

  struct Flying {
    std::int64_t due = 0;
    std::string host;
    std::uint64_t run = 0;
    StoreRequest request;
    bool is_late = false;
  };
  struct Answer {
    std::int64_t due = 0;
    std::string host;
    std::uint64_t run = 0;
    std::uint64_t number = 0;
    std::optional<Result<std::string>> stored;
    Result<std::vector<StoredRecord>> listed;
  };

  void start(Host& host) {
    host.run = random_() | 1;
    host.engine.emplace(
        LeaseElectorOptions{.self = host.uses_name.empty() ? host.name : host.uses_name,
                            .instance = host.instance,
                            .incarnation = host.run,
                            .timing = kTiming,
                            .keep_without_store = host.keep},
        clock(host), [this] { return random_(); });
    offer(host);
  }
  void end(Host& host) {
    host.engine.reset();
    host.asked.clear();
    host.closing.clear();
    host.stopped = false;
    host.retire_at.reset();
  }
  void close_fences(Host& host) {
    for (auto& [address, deadline] : host.fence) {
      if (clock(host) < deadline)  // what is in the queue still leaves, within the margin
        host.queued_until[address] = now_ + pick(kTiming.margin / 1us);
      deadline = {};
    }
  }

  void step() {
    std::vector<Flying> arrived;
    std::erase_if(flying_, [&](Flying& one) {
      if (one.due > now_) return false;
      arrived.push_back(std::move(one));
      return true;
    });
    for (const Flying& one : arrived) serve(one);
    std::vector<Answer> answers;
    std::erase_if(answers_, [&](Answer& one) {
      if (one.due > now_ || hosts_.at(one.host).stopped) return false;
      answers.push_back(std::move(one));
      return true;
    });
    // What arrived while a host was stopped is read before it looks at the time.
    for (const Answer& one : answers) deliver(one);
    for (auto& [name, host] : hosts_) {
      if (host.dead) continue;
      if (host.guard_at && now_ >= *host.guard_at) {
        host.guard_at.reset();
        start(host);
      }
      if (host.engine && !host.stopped) work(host);
    }
    judge();
  }
  void work(Host& host) {
    const Instant now = clock(host);
    std::vector<Claim> done;
    std::erase_if(host.closing, [&](const auto& one) {
      if (one.first > now_) return false;
      done.push_back(one.second);
      return true;
    });
    for (const Claim& claim : done) host.engine->closed(now, claim);
    if (host.retire_at && now_ >= *host.retire_at) {
      host.engine->retire();
      host.retire_at.reset();
    }
    std::vector<std::pair<std::uint64_t, bool>> given_up;
    for (const auto& [number, asked] : host.asked)
      if (now >= asked.first) given_up.emplace_back(number, asked.second);
    for (const auto& [number, is_put] : given_up) {
      host.asked.erase(number);
      if (is_put) {
        host.engine->stored(now, number, fail(Code::timeout, "no answer"));
      } else {
        host.engine->listed(now, number, fail(Code::timeout, "no answer"));
      }
    }
    if (now >= host.engine->next_tick()) host.engine->tick(now);
    carry_out(host);
  }
  // What the engine does: fences first, then requests.
  void carry_out(Host& host) {
    for (const Claim& claim : host.engine->closing()) {
      const bool begun =
          std::ranges::any_of(host.closing, [&](const auto& one) { return one.second == claim; });
      if (begun) continue;
      Instant& deadline = host.fence[claim.vip];
      if (clock(host) < deadline) host.queued_until[claim.vip] = now_ + pick(kTiming.margin / 1us);
      deadline = {};
      host.closing.emplace_back(now_ + kTiming.margin / 1us, claim);
    }
    for (const Claim& claim : host.engine->wanted())
      if (const auto deadline = host.engine->deadline(claim.vip); deadline && !host.retire_at)
        host.fence[claim.vip] = *deadline;
    for (StoreRequest& request : host.engine->take_requests(clock(host))) {
      host.asked[request.number] = {clock(host) + kTiming.renew, request.put.has_value()};
      if (host.cut || store_away) continue;
      const bool is_late = pick(100) < late;
      const std::int64_t delay = pick(latency) + (is_late ? pick(1'000'000) : 0);
      flying_.push_back({now_ + delay, host.name, host.run, std::move(request), is_late});
    }
  }
  void serve(const Flying& one) {
    Answer answer{.due = now_ + pick(latency),
                  .host = one.host,
                  .run = one.run,
                  .number = one.request.number,
                  .stored = {},
                  .listed = {}};
    if (one.request.put) {
      answer.stored = put(*one.request.put, one.is_late);
    } else {
      std::vector<StoredRecord> list;
      for (const auto& [name, stored] : store_)
        list.push_back({name, stored.value, std::to_string(stored.version)});
      answer.listed = std::move(list);
    }
    if (pick(100) < lost_answers || hosts_.at(one.host).cut || store_away) return;
    answers_.push_back(std::move(answer));
  }
  Result<std::string> put(const RecordPut& put, bool is_late) {
    const auto at = store_.find(put.name);
    const std::string known = at == store_.end() ? "" : std::to_string(at->second.version);
    if (store_compares && known != put.version) {
      ++conflicts;
      return fail(Code::conflict, put.name + " was changed");
    }
    late_puts += is_late;
    if (put.name != "table" && at != store_.end()) {
      const auto before = decode_node_record(at->second.value);
      const auto after = decode_node_record(put.value);
      if (before && after && before->renewal() == after->renewal()) ++bars;
    }
    store_[put.name] = {put.value, ++version_};
    if (put.name == "table") assigners.insert(decode_table_record(put.value)->assigner);
    return std::to_string(version_);
  }
  void deliver(const Answer& one) {
    Host& host = hosts_.at(one.host);
    if (host.dead || !host.engine || host.run != one.run || host.asked.erase(one.number) == 0)
      return;
    if (one.stored) {
      host.engine->stored(clock(host), one.number, *one.stored);
    } else {
      host.engine->listed(clock(host), one.number, one.listed);
    }
    carry_out(host);
  }
  void judge() {
    for (int i = 1; i <= vips_; ++i) {
      std::vector<std::string> names;
      for (const auto& [name, host] : hosts_)
        if (answers(host, test_vip(i))) names.push_back(name);
      if (names.size() > 1) ++two;
      if (names.size() == 1 && last_[i] != names.front()) {
        last_[i] = names.front();
        ++changes;
      }
    }
  }

  std::mt19937_64 random_;
  int vips_;
  std::int64_t now_ = 0;
  std::map<std::string, Host> hosts_;
  Contents store_;
  std::uint64_t version_ = 0;
  std::vector<Flying> flying_;
  std::vector<Answer> answers_;
  std::map<int, std::string> last_;
};

}  // namespace fairlead::vip
