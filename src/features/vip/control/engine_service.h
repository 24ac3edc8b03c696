// EngineService: an Engine as a process of its own. It waits for its first Order, opens what the
// engine needs of the host, runs it, and answers the agent on a unix socket:
//
//   PUT  /order           from now on; 200, or 400 and why not
//   GET  /report?after=V  at once if the report's version is not V, else when it changes, at the
//                         latest after a second
//   POST /wish            200, or 400 and why not
//   POST /measure         what is seen within the next two seconds (`fairlead vip tune`)
//
// An order that the running engine cannot follow (another name, address, secret) ends the process
// in order; the guard starts it anew.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "features/vip/control/messages.h"
#include "features/vip/engine/engine.h"
#include "foundation/http/server.h"
#include "foundation/runtime/channel.h"
#include "foundation/runtime/runtime.h"

namespace fairlead::vip {

// What the engine works with on its host.
struct EngineHost {
  std::unique_ptr<Fence> fence;
  std::unique_ptr<Interfaces> interfaces;
  std::function<Task<void>()> keep;  // what looks after them, until cancelled
  // What is going to be offered. Null: the interfaces need not know.
  std::function<void(const std::vector<VipConfig>&)> follow;
  std::string fence_description;
  bool unfenced = false;  // VIPs are held without a fence
};

class EngineService final : public http::Handler, EngineEvents {
 public:
  struct Options {
    std::string state;  // folder, with the socket engine.sock
    std::function<Result<EngineHost>(const Order& order)> open_host;
    // Called whenever the farewells are others, for the guard.
    std::function<void(Duration margin, const std::vector<Engine::Farewell>&)> farewells_changed;
  };
  EngineService(runtime::Runtime& runtime, Options options);
  ~EngineService() override;

  // Until stop() was called, or an order wants another engine; the engine has retired then. Fails
  // if the socket cannot be opened.
  Task<Result<>> run();
  void stop();

  Report report() const;

 private:
  struct Since {
    std::string holder;
    std::int64_t epoch = 0;
    bool here = false;
    std::string at;
  };

  Task<void> serve(http::Exchange& exchange) override;
  http::Response take_order(const std::string& body);
  Task<http::Response> answer_report(std::string target);
  Task<http::Response> answer_wish(const std::string& body);
  Task<http::Response> answer_measure();
  Task<Result<Duration>> measure_disk();
  Result<> begin();
  void follow_order();
  // Counts the version on if the report is another.
  const Report& refreshed();
  VipReport report_of(const Ip& vip, const std::map<Ip, HoldReport>& held) const;
  static void add_offers(const PlacementView& view, Report& report);
  Task<void> tell_farewells();
  Task<void> run_engine();
  Task<void> tell_arrivals();

  void held(const TakeOver& take_over) override;
  void given_up(const Claim& claim) override;
  void expired(const Claim& claim) override;
  void record(Passage passage);
  std::string wall_text() const;

  runtime::Runtime& runtime_;
  Options options_;
  std::optional<Order> order_;
  std::optional<Order> running_;  // that the engine was begun with
  std::optional<EngineHost> host_;
  std::unique_ptr<Engine> engine_;
  std::string problem_;  // why there is no engine
  bool measuring_ = false;
  bool stopping_ = false;
  Report last_;
  std::map<Ip, Since> since_;
  struct Awaited {
    Epoch epoch = 0;
    Instant until{};
  };
  std::map<Ip, Awaited> awaited_;  // VIPs whose first packet has not come
  std::deque<Passage> passages_;
  std::int64_t passage_count_ = 0;
  runtime::Signal changed_;  // order, stop, or something to report
};

// Where the engine of a state folder listens.
runtime::Endpoint engine_socket(const std::string& state);

}  // namespace fairlead::vip
