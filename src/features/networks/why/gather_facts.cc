// The questions to the API behind explain_from_api().
#include "api/resource/fairlead_group.h"
#include "features/networks/why/attachment_why.h"

namespace fairlead::networks {
namespace {

client::ResourceName ours(std::string plural, bool namespaced) {
  return {std::string(resource::kFairleadGroup), std::string(resource::kFairleadVersion),
          std::move(plural), namespaced};
}
const client::ResourceName kLeases{"coordination.k8s.io", "v1", "leases", true};
const client::ResourceName kEvents{"", "v1", "events", true};
constexpr std::size_t kMostEvents = 50;

// The object, or nothing if there is none. That it could not be read is noted.
std::optional<Json> value_or_none(Result<Json> answer, const std::string& what, ApiFacts& facts) {
  if (answer) return std::move(*answer);
  if (answer.error().code != Code::not_found)
    facts.unread.push_back(what + " could not be read: " + answer.error().message);
  return std::nullopt;
}

Result<std::string> attachment_key(std::string_view text) {
  FL_TRY(const AttachmentName name, parse_attachment_name(text));
  return name.key();
}

Task<Result<agent::Explanation>> attachment_in_api(client::RestClient& api, std::string key) {
  FL_CO_TRY(AttachmentName name, parse_attachment_name(key));
  FL_CO_TRY(const ApiFacts facts, co_await gather_facts(api, std::move(name)));
  co_return explain_from_api(facts);
}

}  // namespace

agent::WhyKind attachment_why_kind() {
  return {.name = "attachment",
          .name_help = "NAMESPACE/NAME, or NAME in default",
          .check = attachment_key,
          .ask_api = attachment_in_api};
}

Task<Result<ApiFacts>> gather_facts(client::RestClient& api, AttachmentName name) {
  ApiFacts facts;
  facts.name = name;
  Result<Json> found =
      co_await api.get(ours("networkattachments", true), name.namespace_name, name.name);
  if (!found && found.error().code == Code::not_found) co_return facts;
  if (!found) co_return fail(std::move(found).error());
  facts.attachment = std::move(*found);
  const std::string subnet(wire::find_string(*facts.attachment, "spec.subnet"));
  const std::string node(wire::find_string(*facts.attachment, "spec.node"));
  const auto unread = [&facts] { return facts.unread.size(); };
  std::size_t before = unread();
  facts.subnet = value_or_none(co_await api.get(ours("subnets", true), name.namespace_name, subnet),
                               "Subnet " + subnet, facts);
  facts.subnet_unread = unread() > before;
  before = unread();
  facts.node_report = value_or_none(co_await api.get(ours("nodereports", false), "", node),
                                    "NodeReport " + node, facts);
  facts.node_report_unread = unread() > before;
  const std::optional<Json> lease =
      value_or_none(co_await api.get(kLeases, "kube-node-lease", node), "Lease " + node, facts);
  if (lease) facts.lease_renewed = wire::find_string(*lease, "spec.renewTime");
  if (facts.lease_renewed.empty() && facts.node_report)
    facts.lease_renewed = wire::find_string(*facts.node_report, "renewTime");
  client::ListQuery query{.namespace_name = name.namespace_name, .limit = kMostEvents};
  query.field_selector = "involvedObject.kind=NetworkAttachment,involvedObject.name=" + name.name;
  Result<client::ListResult> events = co_await api.list(kEvents, std::move(query));
  if (events) {
    facts.events = std::move(events->items);
  } else if (events.error().code != Code::not_found) {
    facts.unread.push_back("Events could not be read: " + events.error().message);
  }
  co_return facts;
}

}  // namespace fairlead::networks
