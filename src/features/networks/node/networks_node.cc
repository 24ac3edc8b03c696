#include "features/networks/node/networks_node.h"

#include <algorithm>

#include "features/networks/node/host_status.h"
#include "features/networks/node/unready.h"
#include "features/networks/why/attachment_why.h"
#include "foundation/base/log.h"
#include "foundation/base/time_text.h"
#include "foundation/runtime/scope.h"

namespace fairlead::networks {

NetworksNode::NetworksNode(const agent::NodeContext& context, Parts parts, NetworksOptions options)
    : owned_(std::move(parts.owned)),
      fabric_(parts.fabric),
      context_(context),
      runtime_(context.runtime),
      heartbeat_(context.api->heartbeat),
      metrics_(context.metrics),
      options_(std::move(options)),
      statuses_(
          runtime_, context.api->client, metrics_,
          [this](const std::string& uid) { return plan_status(uid); },
          [this](const Json& object) { status_written(object); }),
      hooks_(runtime_, parts.processes, metrics_, options_.hooks,
             [this](const std::string& uid, ExecReport report) {
               if (own_.hook_ended(uid, std::move(report))) statuses_.add(uid);
             }),
      carrier_(runtime_, parts.fabric, view_, metrics_, options_.audit_interval, *this),
      node_report_(runtime_, context.api->client, metrics_, context.node, applied_),
      informers_(runtime_, context.api->client, context.node, options_.host, *this) {
  heartbeat_.keep(node_report_);
  add_metrics(context.metrics, parts.fabric.name());
  context.pages.add_text("/unreachable", [this] {
    std::string lines;
    for (const std::string& line : unreachable()) lines += line + "\n";
    return lines;
  });
}

NetworksNode::~NetworksNode() = default;

void NetworksNode::add_metrics(metrics::Registry& registry, std::string_view fabric) {
  registry.gauges("fairlead_agent_info", "1, with what this agent is.", {"node", "fabric"})
      .with({context_.node, std::string(fabric)})
      .set(1);
  registry.gauge_of(
      "fairlead_agent_unreachable_attachments",
      "Attachments of others behind hosts of another address family; /unreachable names them.",
      [this] { return static_cast<double>(view_.out_of_reach().size()); });
  registry.gauge_of("fairlead_agent_watches", "Watches that this agent keeps on the API.",
                    [this] { return static_cast<double>(informers_.count()); });
  registry.gauge_of("fairlead_agent_watches_failing", "Those that do not get through at present.",
                    [this] { return static_cast<double>(failing_watches()); });
}

Task<void> NetworksNode::run() {
  runtime::Scope scope(runtime_);
  scope.spawn(carrier_.run());
  scope.spawn(hooks_.run());
  scope.spawn(statuses_.run());
  scope.spawn(follow_and_report());
  co_await scope.join();
  co_await informers_.close();
}

agent::Readiness NetworksNode::readiness() const {
  if (ready_) return {.ready = true, .reason = {}};
  return {.ready = false,
          .reason = why_unready({.refusal = heartbeat_.refusal(),
                                 .watches = informers_.count(),
                                 .failing_watches = failing_watches(),
                                 .complete = complete_,
                                 .fabric = std::string(fabric_.name())})};
}

agent::Summary NetworksNode::summary() const {
  const std::string fabric(fabric_.name());
  const std::size_t attachments = view_.local_count();
  return {.sentence = "fabric " + fabric + ", " + std::to_string(attachments) + " attachments here",
          .fields = {{"fabric", fabric}, {"attachments", attachments}}};
}

Result<agent::Explanation> NetworksNode::why(std::string_view, std::string_view object) const {
  FL_TRY(const AttachmentName name, parse_attachment_name(object));
  const OwnAttachments::Own* own = own_.find_by_key(name.key());
  if (!own)
    return fail(Code::not_found, "attachment " + name.key() + " is not one of node " +
                                     context_.node + (complete_ ? "" : ", as far as it knows"));
  const OwnAttachments::Surroundings around = surroundings(*own);
  NodeFacts facts{.node = context_.node, .key = name.key(), .complete = complete_};
  facts.refusal = heartbeat_.refusal();
  facts.watches_fail = failing_watches() > 0;
  for (const Ip& address : own->attachment.addresses)
    facts.addresses.push_back(address.to_string());
  facts.desired = around.desired;
  facts.problems = around.problems;
  if (own->made) facts.interface = own->made->interface;
  facts.fabric_error = own->error;
  if (own->since) facts.since = rfc3339(*own->since);
  const Local& local = *own->attachment.local;
  if (!around.create_hook_allowed)
    facts.forbidden_hooks.push_back(
        hook_not_allowed("postCreateExec", local.post_create_exec.front()));
  if (!around.delete_hook_allowed)
    facts.forbidden_hooks.push_back(
        hook_not_allowed("postDeleteExec", local.post_delete_exec.front()));
  facts.has_hook = !local.post_create_exec.empty();
  const auto& report = own->report ? own->report : own->known.report;
  facts.hook_reported = report != nullptr;
  if (report) facts.hook_failure = describe_failure(*report);
  return explain_on_node(facts);
}

agent::FeaturePlan networks_feature(NetworksOptions options, NetworksNode::Parts parts) {
  return {.name = "networks",
          .needs_api = true,
          .make = [options = std::move(options), parts](const agent::NodeContext& context)
              -> Result<std::unique_ptr<agent::NodeFeature>> {
            return std::make_unique<NetworksNode>(context, parts, options);
          }};
}

// ---- what informers tell

void NetworksNode::put(const Source& source, Attachment attachment) {
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

void NetworksNode::erased(const Source& source, Attachment last) {
  const std::uint64_t version = last.version;
  view_.reached(source, version);
  if (source) {
    note_outdated(source->vni, version, carried_of({last.uid}));
  } else {
    applied_.known(version);
    note_outdated(AppliedVersions::kOwn, version, carried_of({last.uid}));
    own_.deleted(last);
    lose_own(last.uid);
  }
  view_.erase(source, last.key);
  follow_view(version);
}

void NetworksNode::replaced(const Source& source, std::vector<Attachment> all,
                            std::uint64_t version) {
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
    std::vector<std::string> stale;
    for (const Attachment& attachment : all)
      if (outdated(attachment.uid, attachment.station())) stale.push_back(attachment.uid);
    const std::vector<std::string> gone = own_.missing_in(all);
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
void NetworksNode::warn_of_reach(const Attachment& attachment) const {
  if (!attachment.out_of_reach || own_.contains(attachment.uid)) return;
  const Attachment* before = view_.find(attachment.uid);
  if (before && before->out_of_reach) return;
  log::warning("attachment out of reach: its host is of another address family than this one",
               {{"attachment", attachment.key},
                {"node", attachment.node},
                {"host", attachment.host->to_string()},
                {"own", options_.host.to_string()}});
}

std::vector<std::string> NetworksNode::unreachable() const {
  std::vector<std::string> lines;
  for (const Attachment* attachment : view_.out_of_reach())
    lines.push_back(attachment->key + " on node " + attachment->node + ": its host " +
                    attachment->host->to_string() +
                    " is of another address family than this one, " + options_.host.to_string());
  return lines;
}

void NetworksNode::reached(const Source& source, std::uint64_t version) {
  view_.reached(source, version);
  // What one informer asked for may have waited for another to get that far.
  for (const std::string& id : applied_.waiting()) carrier_.changed(id);
}

void NetworksNode::put_own(const Attachment& attachment) {
  // The one before goes for good once the fabric has dropped it, also if it never had it.
  if (const std::optional<std::string> replaced = own_.put(attachment)) carrier_.changed(*replaced);
  statuses_.add(attachment.uid);
  if (applied_.waits_for(attachment.uid)) carrier_.changed(attachment.uid);
}

void NetworksNode::lose_own(const std::string& uid) {
  if (own_.lose(uid)) carrier_.changed(uid);
}

void NetworksNode::follow_view(std::uint64_t version) {
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

void NetworksNode::follow_relevance(std::uint64_t version) {
  for (const Network& network : informers_.networks())
    if (!view_.is_relevant(network)) leave(network, version);
  for (const Network& network : view_.relevant()) {
    if (informers_.running(network)) continue;
    applied_.entered(network.vni);
    informers_.start(network);
  }
  metrics_.relevant_networks.set(static_cast<double>(informers_.networks().size()));
}

void NetworksNode::leave(const Network& network, std::uint64_t version) {
  informers_.stop(network);
  const bool elsewhere = std::ranges::any_of(
      view_.relevant(), [&](const Network& other) { return other.vni == network.vni; });
  for (const fabric::Vni count : {AppliedVersions::kOwn, network.vni})
    note_outdated(count, version, carrier_.carried_in(network.vni));
  if (!elsewhere) applied_.left(network.vni);
}

// Told also of what the fabric never had: whoever waits for this node cannot know that.
void NetworksNode::note_change_of_own(const Attachment& attachment) {
  if (const std::optional<std::string> before = own_.outdated_by(attachment))
    note_outdated(AppliedVersions::kOwn, attachment.version, carried_of({*before}));
}

std::vector<std::string> NetworksNode::carried_of(const std::vector<std::string>& ids) const {
  std::vector<std::string> carried;
  for (const std::string& id : ids)
    if (carrier_.may_carry(id)) carried.push_back(id);
  return carried;
}

bool NetworksNode::outdated(const std::string& id,
                            const std::optional<fabric::Station>& station) const {
  if (!carrier_.may_carry(id)) return false;
  const fabric::Station* target = carrier_.target(id);
  return !target || !station || *target != *station;
}

void NetworksNode::note_outdated(fabric::Vni vni, std::uint64_t version,
                                 std::vector<std::string> ids) {
  applied_.changed(vni, version, ids);
  for (const std::string& id : ids) carrier_.changed(id);
}

// ---- what became of it

void NetworksNode::settled(const Carrier::Settled& settled) {
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
  settled_own(settled);
}

void NetworksNode::settled_own(const Carrier::Settled& settled) {
  const OwnAttachments::Settled own =
      own_.settled({.uid = settled.id,
                    .station = settled.station,
                    .error = settled.result ? nullptr : &settled.result.error().message,
                    .made_interface = settled.made_interface,
                    .now = runtime_.wall_now()});
  if (own.hook)
    hooks_.start(own.hook->created ? Hooks::Kind::post_create : Hooks::Kind::post_delete,
                 settled.id, own.hook->command, own.hook->station);
  if (own.known && !own.forgotten) statuses_.add(settled.id);
}

void NetworksNode::auditing() { context_.make_room(); }

void NetworksNode::audited(bool clean) {
  context_.make_room();
  if (clean && !std::exchange(clean_, true)) clean_signal_.notify();
  for (const auto& [uid, own] : own_.all()) statuses_.add(uid);
  context_.work_ended();
  if (std::exchange(ready_, true)) return;
  log::info("networks ready", {{"node", context_.node},
                               {"local", view_.local_count()},
                               {"desired", view_.desired().size()},
                               {"networks", view_.relevant().size()}});
  context_.readiness_changed();
}

// ---- statuses

OwnAttachments::Surroundings NetworksNode::surroundings(const OwnAttachments::Own& own) const {
  const std::string& uid = own.attachment.uid;
  const Local& local = *own.attachment.local;
  return {.host = options_.host.to_string(),
          .desired = view_.desired().contains(uid),
          .may_carry = carrier_.may_carry(uid),
          .problems = view_.problems(uid),
          .create_hook_allowed = hooks_.allowed(local.post_create_exec),
          .delete_hook_allowed = hooks_.allowed(local.post_delete_exec)};
}

std::optional<StatusWrite> NetworksNode::plan_status(const std::string& uid) const {
  const OwnAttachments::Own* own = own_.find(uid);
  // Before all is known a conflict may only seem to be one.
  if (!own || own->gone || !complete_) return std::nullopt;
  const HostStatus wanted = own_.wanted_status(*own, surroundings(*own));
  std::optional<Json> patch = plan_status_patch(uid, own->known, wanted);
  if (!patch) return std::nullopt;
  return StatusWrite{
      .subject = own->attachment, .patch = std::move(*patch), .news = news_of(own->known, wanted)};
}

void NetworksNode::status_written(const Json& object) {
  const Result<Attachment> answer = parse_attachment(object, context_.node, options_.host);
  if (answer && answer->local) own_.written(*answer);
}

// ---- the report

// Nobody waits for a node without a report: nothing is followed, and so nothing carried, before
// there is one.
Task<void> NetworksNode::follow_and_report() {
  const Result<std::vector<fabric::Vni>> told = co_await node_report_.establish();
  if (!told) co_return;
  informers_.start(kLocal);
  while (!clean_) {
    if (Result<> changed = co_await clean_signal_.wait(); !changed) co_return;
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

}  // namespace fairlead::networks
