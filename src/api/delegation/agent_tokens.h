// Agents that prove their node by the token of their pod, for clusters whose kubelets have no
// certificate that the cluster vouches for. Pure.
//
// The kubelet gets such a token for one pod of its own node and for one audience: us. TokenReview
// says whose it is and to which pod it is bound; the pod runs on one node, which the review names
// (Kubernetes 1.30 on) or the pod itself does. So the token opens what that node may do, and as
// long as the pod is there.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "api/identity/user.h"
#include "foundation/base/result.h"
#include "foundation/wire/json.h"

namespace fairlead::delegation {

struct AgentTokens {
  std::string audience;
  std::string namespace_name;  // of the agents' service account and pods
  std::string account;

  // Its name for RBAC: system:serviceaccount:NAMESPACE:NAME.
  std::string user_name() const;
};
// "NAMESPACE/NAME" of the service account. Fails with invalid.
Result<AgentTokens> parse_agent_tokens(std::string audience, std::string_view account);

// Whether the token says of itself that it is for that audience. Proves nothing: it decides which
// question to ask about the token, and the answer must confirm it.
bool claims_audience(std::string_view token, std::string_view audience);

// What a review of a token for this audience proved.
struct AgentPod {
  std::string name, uid;
  std::string node;  // empty: ask for the pod
};
// Fails with unauthorized, saying why, when the review does not confirm the audience, when the user
// is another one than the agents', or when its token is not bound to a pod.
Result<AgentPod> agent_pod(const AgentTokens& rules, const Json& review,
                           const identity::User& user);
// The node that the pod, read by name, runs on. Fails with unauthorized when it is another pod or
// on no node.
Result<std::string> node_of_pod(const AgentPod& wanted, const Json& pod);

}  // namespace fairlead::delegation
