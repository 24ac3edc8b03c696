// Why a NetworkAttachment is, or is not, implemented: `fairlead why attachment NS/NAME`.
//
// Pure: facts in, explanation out. There are two witnesses. The API knows the object, its Subnet,
// whether the node's agent is heard of, and what happened (Events); the node's agent knows what its
// fabric does. Each tells what it knows; neither asks the other.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/client/rest_client.h"
#include "foundation/wire/json.h"
#include "node/agent/explanation.h"
#include "node/agent/why_kind.h"

namespace fairlead::networks {

struct AttachmentName {
  std::string namespace_name;
  std::string name;
  std::string key() const { return namespace_name + "/" + name; }
};
// "web" is default/web. Fails with invalid.
Result<AttachmentName> parse_attachment_name(std::string_view text);

// ---- what the API says

struct ApiFacts {
  AttachmentName name;
  std::optional<Json> attachment;
  std::optional<Json> subnet;       // the one that it names
  std::optional<Json> node_report;  // of its node
  // Not known to be absent: they could not be read.
  bool subnet_unread = false;
  bool node_report_unread = false;
  std::string lease_renewed;        // RFC 3339: when its agent was heard last; empty: not known
  std::vector<Json> events;         // about it
  std::vector<std::string> unread;  // what could not be read and why, a sentence each
};
agent::Explanation explain_from_api(const ApiFacts& facts);

// What does not exist is left out; what cannot be read is told as such. Fails if the attachment
// cannot be read.
Task<Result<ApiFacts>> gather_facts(client::RestClient& api, AttachmentName name);

// ---- what the node's agent says

struct NodeFacts {
  std::string node;
  std::string key;
  bool complete = false;      // the agent knows everything that concerns its node
  std::string refusal;        // why the API refuses the node
  bool watches_fail = false;  // the API is not reached at present
  std::vector<std::string> addresses;
  bool desired = false;               // the fabric is to carry it
  std::vector<std::string> problems;  // why not, though it has addresses
  std::string interface;              // that the fabric carries; empty: none
  std::string fabric_error;
  std::string since;  // of interface or error, RFC 3339
  std::vector<std::string> forbidden_hooks;
  bool has_hook = false;                    // it has a postCreateExec
  std::optional<std::string> hook_failure;  // how it ended, if not well
  bool hook_reported = false;
};
agent::Explanation explain_on_node(const NodeFacts& facts);

// `fairlead why attachment`.
agent::WhyKind attachment_why_kind();

}  // namespace fairlead::networks
