// VipNode: virtual IPs in the agent. It starts the guard (which starts the engine), tells the
// engine what this node offers, follows what it reports, and keeps what others ask for: status,
// why, history, metrics, health gates, notify commands.
//
//   file → VipPlan ─┐
//   VirtualIPs ─────┤
//   PeerKeys ───────┤
//   Gates ──────────┴→ Order ─→ engine ─→ Report ─→ history, metrics, status, why, Notifier
//                   └→ Routes: BGP, and virtual IPs that nobody is elected for
//
// VirtualIPs are objects of the API (api_vips.h), where the file asks for them; nothing else here
// needs an API.
//
// Stopping the agent gives this node's VIPs up in order: the others take them within the margin.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "features/vip/config/vip_plan.h"
#include "features/vip/control/engine_client.h"
#include "features/vip/gates/gates.h"
#include "features/vip/gates/notifier.h"
#include "features/vip/guard/guard_handle.h"
#include "features/vip/keys/peer_keys.h"
#include "features/vip/node/api_vip_list.h"
#include "features/vip/node/api_vips.h"
#include "features/vip/node/vip_history.h"
#include "features/vip/node/vip_metrics.h"
#include "features/vip/node/vip_status_writer.h"
#include "features/vip/routes/routes.h"
#include "node/agent/node_feature.h"

namespace fairlead::vip {

class VipNode final : public agent::NodeFeature {
 public:
  using StartGuard = std::function<Result<GuardHandle>(const std::string& state)>;
  // REQUIRES: plan.node is this node's name.
  static Result<std::unique_ptr<VipNode>> open(const agent::NodeContext& context, VipPlan plan,
                                               StartGuard start_guard);

  // Goes on by another plan: VIPs, gates and commands at once; what concerns the election itself by
  // an engine that is begun anew, in order. Fails, and changes nothing, if the state folder is
  // another, VirtualIPs are to be followed now or no longer, or the secret, the certificates or a
  // password cannot be read.
  Result<> follow(VipPlan plan);

  std::string_view name() const override { return "vip"; }
  Task<void> run() override;
  // Ready when the engine works by the current order.
  agent::Readiness readiness() const override;
  agent::Summary summary() const override;
  JsonObject status() const override;
  std::vector<std::string_view> kinds() const override { return {"vip"}; }
  Result<agent::Explanation> why(std::string_view kind, std::string_view object) const override;

 private:
  using Passwords = std::map<Ip, std::string>;  // of BGP's neighbors
  VipNode(const agent::NodeContext& context, VipPlan plan, std::string secret, Passwords passwords,
          StartGuard start_guard);
  void add_pages();
  Task<void> keep_guard();
  Task<void> keep_order();
  Task<void> follow_reports();
  Task<void> keep_history();
  std::string history_path() const { return file_.state_dir + "/history.json"; }
  void take_report(Report report);
  void passed(const Passage& passage);
  void tell_notifier();
  void follow_members();
  void plan_anew();
  void follow_api(ApiVipList::News news);
  void look_at_status();
  StatusFacts status_facts(const ApiVip& vip) const;
  Order current_order() const;
  const VipReport* report_of(const Ip& vip) const;
  JsonObject election_status() const;
  JsonObject unelected_status(const VipEntry& entry) const;
  const VipEntry* entry_of(const Ip& vip) const;
  std::vector<std::string> sick_gates(const Ip& vip) const;

  agent::NodeContext context_;
  runtime::Runtime& runtime_;
  VipPlan file_;
  VipPlan plan_;       // the file's, with what the API says beside it
  MergedVips merged_;  // how it came about
  std::string secret_;
  Passwords passwords_;
  StartGuard start_guard_;
  EngineClient engine_;
  VipHistory history_;
  bool history_stale_ = false;  // its file
  runtime::Signal history_changed_;
  Report report_;
  bool engine_answers_ = false;
  std::string problem_;              // why there is no guard, or the order was not taken
  std::optional<Order> ordered_;     // that the engine has taken
  std::int64_t ordered_engine_ = 0;  // its incarnation then; 0: it waited for its first order
  runtime::Signal order_changed_;
  std::map<Ip, Epoch> notified_;
  VipMetrics metrics_;
  PeerKeys peer_keys_;
  Routes routes_;
  Gates gates_;
  Notifier notifier_;
  std::unique_ptr<ApiVipList> api_vips_;  // null: only the file counts
  std::unique_ptr<VipStatusWriter> status_writer_;
};

}  // namespace fairlead::vip
