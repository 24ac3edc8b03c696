#include "api/delegation/agent_tokens.h"

#include <algorithm>
#include <utility>

#include "api/apimachinery/request/continue_token.h"

namespace fairlead::delegation {
namespace {

constexpr std::string_view kPodName = "authentication.kubernetes.io/pod-name";
constexpr std::string_view kPodUid = "authentication.kubernetes.io/pod-uid";
constexpr std::string_view kNodeName = "authentication.kubernetes.io/node-name";

bool holds(const Json* list, std::string_view wanted) {
  const auto is_wanted = [wanted](const Json& entry) {
    return entry.is_string() && std::string_view(entry.get_string()) == wanted;
  };
  return list && list->is_array() && std::ranges::any_of(list->get_array(), is_wanted);
}

std::string_view single(const identity::User& user, std::string_view key) {
  const auto found = user.extra.find(std::string(key));
  return found != user.extra.end() && found->second.size() == 1 ? found->second.front()
                                                                : std::string_view();
}

}  // namespace

std::string AgentTokens::user_name() const {
  return "system:serviceaccount:" + namespace_name + ":" + account;
}

Result<AgentTokens> parse_agent_tokens(std::string audience, std::string_view account) {
  const std::size_t slash = account.find('/');
  AgentTokens tokens{.audience = std::move(audience), .namespace_name = {}, .account = {}};
  if (slash != std::string_view::npos) {
    tokens.namespace_name = account.substr(0, slash);
    tokens.account = account.substr(slash + 1);
  }
  // Its name is as restricted as a node's.
  if (!identity::is_node_name(tokens.namespace_name) || !identity::is_node_name(tokens.account))
    return fail(Code::invalid, "must look like NAMESPACE/NAME");
  return tokens;
}

bool claims_audience(std::string_view token, std::string_view audience) {
  const std::size_t first = token.find('.');
  const std::size_t second = first == std::string_view::npos ? first : token.find('.', first + 1);
  if (second == std::string_view::npos) return false;
  const Result<std::string> payload =
      apimachinery::decode_base64url(token.substr(first + 1, second - first - 1));
  if (!payload) return false;
  const auto claims = wire::parse_json(*payload);
  if (!claims || !claims->value.is_object()) return false;
  return wire::find_string(claims->value, "aud") == audience ||
         holds(wire::find(claims->value, "aud"), audience);
}

Result<AgentPod> agent_pod(const AgentTokens& rules, const Json& review,
                           const identity::User& user) {
  if (!holds(wire::find(review, "status.audiences"), rules.audience))
    return fail(Code::unauthorized,
                "the host cluster did not confirm the token's audience " + rules.audience);
  if (user.name != rules.user_name())
    return fail(Code::unauthorized, "a token for the audience " + rules.audience + " of " +
                                        user.name + ", not of " + rules.user_name());
  AgentPod pod{.name = std::string(single(user, kPodName)),
               .uid = std::string(single(user, kPodUid)),
               .node = std::string(single(user, kNodeName))};
  if (pod.name.empty() || pod.uid.empty())
    return fail(Code::unauthorized, "the agent's token is not bound to a pod");
  if (!pod.node.empty() && !identity::is_node_name(pod.node))
    return fail(Code::unauthorized, "the agent's token names no valid node");
  return pod;
}

Result<std::string> node_of_pod(const AgentPod& wanted, const Json& pod) {
  if (wire::find_string(pod, "metadata.uid") != wanted.uid)
    return fail(Code::unauthorized, "the agent's token is of an earlier pod " + wanted.name);
  const std::string_view node = wire::find_string(pod, "spec.nodeName");
  if (!identity::is_node_name(node))
    return fail(Code::unauthorized, "the agent's pod " + wanted.name + " is on no node");
  return std::string(node);
}

}  // namespace fairlead::delegation
