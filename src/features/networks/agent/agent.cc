#include "features/networks/agent/agent.h"

#include <algorithm>

#include "features/networks/agent/host_status.h"
#include "foundation/base/log.h"
#include "foundation/runtime/scope.h"

namespace fairlead::agent {

Agent::Agent(Parts parts, AgentOptions options)
    : runtime_(parts.runtime),
      metrics_(parts.metrics),
      options_(std::move(options)),
      statuses_(
          parts.runtime, parts.client, parts.metrics,
          [this](const std::string& uid) { return plan_status(uid); },
          [this](const Json& object) { status_written(object); }),
      hooks_(parts.runtime, parts.processes, parts.metrics, options_.hooks,
             [this](const std::string& uid, networks::ExecReport report) {
               const auto own = own_.find(uid);
               if (own == own_.end()) return;
               own->second.report = std::make_shared<const networks::ExecReport>(std::move(report));
               statuses_.add(uid);
             }),
      carrier_(parts.runtime, parts.fabric, view_, parts.metrics, options_.audit_interval, *this),
      node_report_(parts.runtime, parts.client, parts.metrics, options_.node, applied_),
      heartbeat_(parts.runtime, parts.client, parts.metrics,
                 {.node = options_.node, .host = options_.host, .info = options_.info},
                 [this] { node_report_.lost(); }),
      informers_(parts.runtime, parts.client, options_.node, options_.host, *this) {}

Agent::~Agent() = default;

Task<void> Agent::run() {
  runtime::Scope scope(runtime_);
  scope.spawn(carrier_.run());
  scope.spawn(hooks_.run());
  scope.spawn(statuses_.run());
  scope.spawn(heartbeat_.run());
  scope.spawn(follow_and_report());
  co_await scope.join();
  co_await informers_.close();
}

Task<Result<>> Agent::wait_ready() {
  while (!ready_) {
    FL_CO_CHECKED(co_await ready_signal_.wait());
  }
  co_return Result<>{};
}

// ---- what informers tell

void Agent::put(const Source& source, Attachment attachment) {
  const std::uint64_t version = attachment.version;
  view_.reached(source, version);
  if (source) {
    warn_of_reach(attachment);
    const bool stale = outdated(attachment.uid, attachment.station());
    if (stale) note_outdated(source->vni, version, {attachment.uid});
  } else {
    applied_.known(version);
    note_change_of_own(attachment);
    put_own(attachment);
  }
  view_.put(source, std::move(attachment));
  follow_view(version);
}

void Agent::erased(const Source& source, Attachment last) {
  const std::uint64_t version = last.version;
  view_.reached(source, version);
  if (source) {
    note_outdated(source->vni, version, carried_of({last.uid}));
  } else {
    applied_.known(version);
    note_outdated(AppliedVersions::kOwn, version, carried_of({last.uid}));
    // Its last state has the current postDeleteExec.
    if (const auto own = own_.find(last.uid); own != own_.end()) own->second.attachment = last;
    lose_own(last.uid);
  }
  view_.erase(source, last.key);
  follow_view(version);
}

void Agent::replaced(const Source& source, std::vector<Attachment> all, std::uint64_t version) {
  view_.reached(source, version);
  if (source) {
    std::map<std::string_view, const Attachment*> listed;
    for (const Attachment& attachment : all) {
      listed[attachment.uid] = &attachment;
      warn_of_reach(attachment);
    }
    std::vector<std::string> ids;
    for (const std::string& id : carrier_.carried_in(source->vni)) {
      if (own_.contains(id)) continue;
      const auto at = listed.find(id);
      const bool stale = at == listed.end() || outdated(id, at->second->station());
      if (stale) ids.push_back(id);
    }
    note_outdated(source->vni, version, std::move(ids));
    metrics_.network_sync.observe(
        std::chrono::duration<double>(runtime_.now() - informers_.started(*source)).count());
  } else {
    if (first_version_ == 0) first_version_ = version;
    applied_.surveyed(version);
    std::set<std::string_view> listed;
    std::vector<std::string> stale;
    for (const Attachment& attachment : all) {
      listed.insert(attachment.uid);
      if (outdated(attachment.uid, attachment.station())) stale.push_back(attachment.uid);
    }
    std::vector<std::string> gone;
    for (const auto& [uid, own] : own_)
      if (!own.gone && !listed.contains(uid)) gone.push_back(uid);
    std::ranges::move(carried_of(gone), std::back_inserter(stale));
    note_outdated(AppliedVersions::kOwn, version, std::move(stale));
    for (const Attachment& attachment : all) put_own(attachment);
    for (const std::string& uid : gone) lose_own(uid);
  }
  view_.replace(source, std::move(all));
  follow_view(version);
}

// Once, when it gets out of reach. It is then not desired, so the fabric drops it, and nobody waits
// for more.
void Agent::warn_of_reach(const Attachment& attachment) const {
  if (!attachment.out_of_reach || own_.contains(attachment.uid)) return;
  const Attachment* before = view_.find(attachment.uid);
  if (before && before->out_of_reach) return;
  log::warning("attachment out of reach: its host is of another address family than this one",
               {{"attachment", attachment.key},
                {"node", attachment.node},
                {"host", attachment.host->to_string()},
                {"own", options_.host.to_string()}});
}

std::vector<std::string> Agent::unreachable() const {
  std::vector<std::string> lines;
  for (const Attachment* attachment : view_.out_of_reach())
    lines.push_back(attachment->key + " on node " + attachment->node + ": its host " +
                    attachment->host->to_string() +
                    " is of another address family than this one, " + options_.host.to_string());
  return lines;
}

void Agent::reached(const Source& source, std::uint64_t version) {
  view_.reached(source, version);
  // What one informer asked for may have waited for another to get that far.
  for (const std::string& id : applied_.waiting()) carrier_.changed(id);
}

void Agent::put_own(const Attachment& attachment) {
  std::string& uid = own_uids_[attachment.key];
  if (!uid.empty() && uid != attachment.uid) lose_own(std::exchange(uid, attachment.uid));
  own_uids_[attachment.key] = attachment.uid;
  Own& own = own_[attachment.uid];
  own.attachment = attachment;
  own.gone = false;
  if (attachment.version >= own.known_version) {
    own.known = attachment.local->status;
    own.known_version = attachment.version;
  }
  statuses_.add(attachment.uid);
  if (applied_.waits_for(attachment.uid)) carrier_.changed(attachment.uid);
}

void Agent::lose_own(const std::string& uid) {
  const auto at = own_.find(uid);
  if (at == own_.end()) return;
  at->second.gone = true;
  const auto key = own_uids_.find(at->second.attachment.key);
  if (key != own_uids_.end() && key->second == uid) own_uids_.erase(key);
  // It goes for good once the fabric has dropped it, also if it never had it.
  carrier_.changed(uid);
}

void Agent::follow_view(std::uint64_t version) {
  for (const std::string& id : view_.take_changed()) {
    carrier_.changed(id);
    if (own_.contains(id)) statuses_.add(id);
  }
  if (std::exchange(followed_, view_.relevance()) != view_.relevance()) follow_relevance(version);
  if (!complete_ && informers_.all_synced()) {
    complete_ = true;
    carrier_.allow_audits();
  }
  node_report_.notify();
}

void Agent::follow_relevance(std::uint64_t version) {
  for (const Network& network : informers_.networks())
    if (!view_.is_relevant(network)) leave(network, version);
  for (const Network& network : view_.relevant()) {
    if (informers_.running(network)) continue;
    applied_.entered(network.vni);
    informers_.start(network);
  }
  metrics_.relevant_networks.set(static_cast<double>(informers_.networks().size()));
}

void Agent::leave(const Network& network, std::uint64_t version) {
  informers_.stop(network);
  const bool elsewhere = std::ranges::any_of(
      view_.relevant(), [&](const Network& other) { return other.vni == network.vni; });
  for (const fabric::Vni count : {AppliedVersions::kOwn, network.vni})
    note_outdated(count, version, carrier_.carried_in(network.vni));
  if (!elsewhere) applied_.left(network.vni);
}

// Told also of what the fabric never had: whoever waits for this node cannot know that.
void Agent::note_change_of_own(const Attachment& attachment) {
  const auto uid = own_uids_.find(attachment.key);
  const auto known = uid == own_uids_.end() ? own_.end() : own_.find(uid->second);
  if (known == own_.end()) return;
  const Attachment& before = known->second.attachment;
  const bool same = before.vni == attachment.vni && before.mac == attachment.mac &&
                    before.addresses == attachment.addresses;
  if (!same) note_outdated(AppliedVersions::kOwn, attachment.version, carried_of({before.uid}));
}

std::vector<std::string> Agent::carried_of(const std::vector<std::string>& ids) const {
  std::vector<std::string> carried;
  for (const std::string& id : ids)
    if (carrier_.may_carry(id)) carried.push_back(id);
  return carried;
}

bool Agent::outdated(const std::string& id, const std::optional<fabric::Station>& station) const {
  if (!carrier_.may_carry(id)) return false;
  const fabric::Station* target = carrier_.target(id);
  return !target || !station || *target != *station;
}

void Agent::note_outdated(fabric::Vni vni, std::uint64_t version, std::vector<std::string> ids) {
  applied_.changed(vni, version, ids);
  for (const std::string& id : ids) carrier_.changed(id);
}

// ---- what became of it

void Agent::settled(const Carrier::Settled& settled) {
  const auto own = own_.find(settled.id);
  if (settled.result) {
    applied_.settled(settled.id, settled.version);
    node_report_.notify();
    const Attachment* attachment = view_.find(settled.id);
    // Those that were there before their network became relevant here say nothing about latency.
    const bool told =
        attachment && (attachment->local || (attachment->implemented &&
                                             *attachment->implemented >=
                                                 informers_.wall_started(attachment->network())));
    if (settled.station && settled.first && told) {
      metrics_.carried(*attachment, runtime_.wall_now());
      if (options_.carried) options_.carried(*attachment);
    }
  }
  if (own != own_.end()) settled_own(own->second, settled);
}

void Agent::settled_own(Own& own, const Carrier::Settled& settled) {
  const std::string uid = settled.id;
  own.hook_due |= settled.made_interface;
  if (!settled.result) {
    own.error = settled.result.error().message;
  } else {
    own.error.clear();
    const Local& local = *own.attachment.local;
    if (settled.station) {
      const bool unreported = !own.known.report && !own.report;
      own.hook_due |= !own.made && unreported;  // adopted: nobody knows that it has run
      own.made = *settled.station;
      if (std::exchange(own.hook_due, false))
        hooks_.start(Hooks::Kind::post_create, uid, local.post_create_exec, *own.made);
    } else if (own.made) {
      hooks_.start(Hooks::Kind::post_delete, uid, local.post_delete_exec, *own.made);
      own.made.reset();
    }
    if (own.gone && !settled.station) {
      own_.erase(uid);
      return;
    }
  }
  statuses_.add(uid);
}

void Agent::auditing() {
  if (options_.make_room) options_.make_room();
}

void Agent::audited(bool clean) {
  if (options_.make_room) options_.make_room();
  if (clean && !std::exchange(clean_, true)) ready_signal_.notify();
  for (const auto& [uid, own] : own_) statuses_.add(uid);
  if (options_.audited) options_.audited();
  if (std::exchange(ready_, true)) return;
  log::info("agent ready", {{"node", options_.node},
                            {"local", view_.local_count()},
                            {"desired", view_.desired().size()},
                            {"networks", view_.relevant().size()}});
  ready_signal_.notify();
}

// ---- statuses

HostStatus Agent::wanted_status(const Own& own) const {
  const std::string& uid = own.attachment.uid;
  HostStatus wanted = own.known;
  if (own.report) wanted.report = own.report;
  const bool desired = view_.desired().contains(uid);
  if (own.made) {
    wanted.interface = own.made->interface;
    wanted.host = options_.host.to_string();
  } else if (!carrier_.may_carry(uid) || (desired && !own.error.empty())) {
    wanted.interface.clear();
    wanted.host.clear();
  }
  wanted.errors = view_.problems(uid);
  if (!own.error.empty()) wanted.errors.push_back(own.error);
  const Local& local = *own.attachment.local;
  for (const auto& [hook, command] : {std::pair("postCreateExec", &local.post_create_exec),
                                      std::pair("postDeleteExec", &local.post_delete_exec)})
    if (!hooks_.allowed(*command))
      wanted.errors.push_back(networks::hook_not_allowed(hook, command->front()));
  return wanted;
}

std::optional<StatusWrite> Agent::plan_status(const std::string& uid) const {
  const auto at = own_.find(uid);
  // Before all is known a conflict may only seem to be one.
  if (at == own_.end() || at->second.gone || !complete_) return std::nullopt;
  const HostStatus& known = at->second.known;
  const HostStatus wanted = wanted_status(at->second);
  std::optional<Json> patch = plan_status_patch(uid, known, wanted);
  if (!patch) return std::nullopt;
  return StatusWrite{
      .subject = at->second.attachment, .patch = std::move(*patch), .news = news_of(known, wanted)};
}

void Agent::status_written(const Json& object) {
  const Result<Attachment> answer = parse_attachment(object, options_.node, options_.host);
  if (!answer || !answer->local) return;
  const auto own = own_.find(answer->uid);
  if (own == own_.end() || answer->version < own->second.known_version) return;
  own->second.known = answer->local->status;
  own->second.known_version = answer->version;
}

// ---- the report

// Nobody waits for a node without a report: nothing is followed, and so nothing carried, before
// there is one.
Task<void> Agent::follow_and_report() {
  const Result<std::vector<fabric::Vni>> told = co_await node_report_.establish();
  if (!told) co_return;
  informers_.start(kLocal);
  while (!clean_) {
    if (Result<> changed = co_await ready_signal_.wait(); !changed) co_return;
  }
  // What was left while no agent ran: the audit has removed all of it.
  for (const fabric::Vni vni : *told) {
    const bool relevant = std::ranges::any_of(
        view_.relevant(), [&](const Network& network) { return network.vni == vni; });
    if (relevant) continue;
    applied_.changed(vni, first_version_, {});
    applied_.left(vni);
  }
  co_await node_report_.run();
}

}  // namespace fairlead::agent
