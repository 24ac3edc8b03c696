// `fairlead bench attachments`: virtual networks whose attachments come and go, and how long each
// takes from the create to its address, its interface and its test.
//
// The stages are seen through a watch, as a remote host sees them: a host learns of an attachment
// elsewhere by the very event that shows its interface (status.ifcName with status.hostIP).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "bench/connection.h"
#include "bench/histogram.h"
#include "bench/network_plan.h"
#include "http/client.h"
#include "runtime/channel.h"
#include "runtime/runtime.h"

namespace fairlead::bench {

class AttachmentLoad {
 public:
  // REQUIRES: settings went through check_settings; `target` outlives the load.
  AttachmentLoad(runtime::Runtime& runtime, const Target& target, AttachmentSettings settings,
                 std::string run);

  Task<Result<>> prepare();
  Task<Result<>> measure();
  Task<Result<>> clean_up();
  void stop() { stopped_ = true; }

  std::string text() const;
  Json json() const;

 private:
  // When an attachment reached each stage; the epoch stands for "not yet".
  struct Life {
    Instant due, created, addressed, ready, tested, removed;
    std::string ip;
    int test_status = 0;
    bool broken = false;
  };
  struct Stage {
    const char* name;  // "createToAddressed"
    const char* words;
    Histogram histogram;
  };

  std::string name_of(std::uint64_t attachment) const;
  Json subnet_object(std::size_t network) const;
  Json attachment_object(const Step& step);
  Task<Result<std::vector<std::string>>> list_nodes();
  Task<Result<>> make_subnets();
  Task<Result<std::string>> list_version();
  Task<void> follow(std::string version);
  Task<Result<>> follow_stream(std::string version);
  void take_event(std::string_view line);
  Task<void> work(std::size_t worker);
  Task<void> carry_out(Connection& connection, const Step& step, Instant due);
  Task<void> show_progress();
  Task<void> wait_for_stages();
  std::uint64_t still_waiting() const;
  void collect();
  Result<> write_files() const;

  runtime::Runtime& runtime_;
  const Target& target_;
  AttachmentSettings settings_;
  std::string run_;
  std::string subnets_path_, attachments_path_;
  std::unique_ptr<Connection> control_;
  std::vector<std::unique_ptr<Connection>> workers_;
  std::unique_ptr<http::Client> watcher_;

  std::vector<PlannedNetwork> networks_;
  std::vector<Step> steps_;
  std::vector<Duration> times_;
  std::vector<std::string> ping_peer_;  // by network: the address tested last
  Instant start_{};
  std::size_t next_step_ = 0;
  std::size_t cool_down_ = 0;  // the first step after the last create
  Instant cool_down_at_{};     // not before; set when the first step of it comes up
  std::vector<Life> lives_;
  std::uint64_t created_ = 0, removed_ = 0, addressed_ = 0, ready_ = 0, late_ = 0;
  std::uint64_t create_errors_ = 0, remove_errors_ = 0;
  std::string first_failure_;
  bool watching_ = false;
  bool made_namespace_ = false;
  bool stopped_ = false;
  runtime::Signal changed_;
  Duration took_{0};
  std::vector<Stage> stages_;
};

}  // namespace fairlead::bench
