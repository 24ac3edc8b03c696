// Facts in, explanation out: one row for each reason that an attachment can have.
#include "features/networks/why/attachment_why.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fairlead::networks {
namespace {

using testing::HasSubstr;

Json parsed(const std::string& text) {
  const Result<wire::ParsedJson> json = wire::parse_json(text);
  EXPECT_TRUE(json.has_value()) << text;
  return json ? json->value : Json();
}

Json attachment(const std::string& status) {
  return parsed(
      R"({"metadata": {"name": "web"}, "spec": {"node": "n1", "subnet": "main"}, "status": )" +
      status + "}");
}

std::string condition(const std::string& status, const std::string& reason,
                      const std::string& message) {
  return R"("conditions": [{"type": "Ready", "status": ")" + status + R"(", "reason": ")" + reason +
         R"(", "message": ")" + message + R"(", "lastTransitionTime": "2026-01-01T00:00:00Z"}])";
}

struct ApiCase {
  const char* name;
  std::optional<std::string> status;  // of the attachment; none: there is no attachment
  std::optional<std::string> subnet;  // the object
  std::optional<std::string> report;  // the node's
  bool fulfilled;
  // Of what is missing, in order: "what: why / remedy".
  std::vector<std::string> missing;
};

class WhyFromApi : public testing::TestWithParam<ApiCase> {};

std::vector<std::string> lines_of(const agent::Explanation& explanation) {
  std::vector<std::string> lines;
  for (const agent::Missing& missing : explanation.missing)
    lines.push_back(missing.what + ": " + missing.why +
                    (missing.since.empty() ? "" : " since " + missing.since) + " / " +
                    missing.remedy);
  return lines;
}

TEST_P(WhyFromApi, NamesTheFirstCauseFirst) {
  const ApiCase& row = GetParam();
  ApiFacts facts{.name = {"default", "web"}};
  if (row.status) facts.attachment = attachment(*row.status);
  if (row.subnet) facts.subnet = parsed(*row.subnet);
  if (row.report) facts.node_report = parsed(*row.report);
  const agent::Explanation told = explain_from_api(facts);
  EXPECT_EQ(told.subject, "attachment default/web");
  EXPECT_EQ(told.fulfilled, row.fulfilled);
  const std::vector<std::string> lines = lines_of(told);
  ASSERT_EQ(lines.size(), row.missing.size()) << agent::to_text(told);
  for (std::size_t i = 0; i < lines.size(); ++i) EXPECT_THAT(lines[i], HasSubstr(row.missing[i]));
}

const std::string kAlive = "{}";
const std::string kSubnet = "{}";
const std::string kAddress = R"("ipv4": "10.0.0.7", )";

INSTANTIATE_TEST_SUITE_P(
    Table, WhyFromApi,
    testing::Values(
        ApiCase{"NoObject",
                {},
                {},
                {},
                false,
                {"the NetworkAttachment: it does not exist in namespace default"}},
        ApiCase{"Implemented",
                "{" + kAddress + R"("ifcName": "fl1", "hostIP": "192.0.2.1", )" +
                    condition("True", "Implemented", "interface fl1 of node n1") + "}",
                kSubnet,
                kAlive,
                true,
                {}},
        ApiCase{"NoSubnet",
                "{" + condition("False", "NoAddress", "no such subnet") + "}",
                {},
                kAlive,
                false,
                {"an address: there is no Subnet main in namespace default / create it"}},
        ApiCase{"InvalidSubnet",
                "{" + condition("False", "NoAddress", "not valid") + "}",
                R"({"status": {"errors": ["overlaps with other"]}})",
                kAlive,
                false,
                {"an address: Subnet main is not valid: overlaps with other"}},
        ApiCase{"PoolExhausted",
                R"({"addressContention": true, )" + condition("False", "NoAddress", "full") + "}",
                kSubnet,
                kAlive,
                false,
                {"an address: all addresses of Subnet main are taken; it waits in line"}},
        ApiCase{"OtherAddressTrouble",
                "{" + condition("False", "NoAddress", "10.0.0.9 is taken by default/b") + "}",
                kSubnet,
                kAlive,
                false,
                {"an address: 10.0.0.9 is taken by default/b"}},
        ApiCase{"NoAddressAndNoNode",
                "{" + condition("False", "NoAddress", "full") + "}",
                kSubnet,
                {},
                false,
                {"an address: full", "its node: no agent has reported from n1 / join n1"}},
        ApiCase{"NoAddressAndSilentNode",
                "{" + condition("False", "AwaitsAddress", "no address was assigned yet") + "}",
                kSubnet,
                R"({"silentSince": "2026-01-02T00:00:00Z"})",
                false,
                {"an address: no address was assigned yet",
                 "the agent of its node: the agent of n1 is silent since 2026-01-02T00:00:00Z"}},
        ApiCase{"NodeUnknown",
                "{" + kAddress + condition("False", "NodeUnknown", "node n1 is not known") + "}",
                kSubnet,
                {},
                false,
                {"a node: node n1 is not known / join n1"}},
        ApiCase{"AgentSilent",
                "{" + kAddress +
                    condition("Unknown", "AgentSilent", "agent of n1 silent since then") + "}",
                kSubnet,
                R"({"silentSince": "2026-01-02T00:00:00Z"})",
                false,
                {"the agent of its node: agent of n1 silent since then since 2026-01-02T00:00:00Z "
                 "/ look at"}},
        ApiCase{"HostError",
                "{" + kAddress + condition("False", "HostError", "no room in the switch") + "}",
                kSubnet,
                kAlive,
                false,
                {"no room in the switch / look at the agent of n1"}},
        ApiCase{"HookNotAllowed",
                "{" + kAddress +
                    condition("False", "HostError",
                              "postCreateExec: /bin/x is not an allowed program on this node") +
                    "}",
                kSubnet,
                kAlive,
                false,
                {"not an allowed program on this node / allow the program on n1"}},
        ApiCase{"AwaitsNode",
                "{" + kAddress + condition("False", "AwaitsNode", "not made yet") + "}",
                kSubnet,
                kAlive,
                false,
                {"an interface: not made yet / ask its agent: `fairlead why attachment "
                 "default/web` on n1"}},
        ApiCase{"HookPending",
                "{" + kAddress + condition("False", "HookPending", "has not ended yet") + "}",
                kSubnet,
                kAlive,
                false,
                {"the end of postCreateExec: has not ended yet"}},
        ApiCase{"HookFailed",
                "{" + kAddress +
                    R"("postCreateExecReport": {"stopTime": "2026-01-03T00:00:00Z"}, )" +
                    condition("False", "HookFailed", "ended with status 7") + "}",
                kSubnet,
                kAlive,
                false,
                {"ended well: ended with status 7 since 2026-01-03T00:00:00Z / its output"}},
        ApiCase{"NotJudged",
                "{" + kAddress + R"("ifcName": ""})",
                kSubnet,
                kAlive,
                false,
                {"readiness: the server has not judged it"}},
        ApiCase{"AReasonOfANewerServer",
                "{" + condition("False", "Novel", "something new") + "}",
                kSubnet,
                kAlive,
                false,
                {"readiness: something new"}}),
    [](const auto& test) { return std::string(test.param.name); });

// What could not be read is not said to be absent.
TEST(WhyFromApi, WhatCouldNotBeReadIsUnknown) {
  ApiFacts facts{.name = {"default", "web"},
                 .attachment = attachment("{" + condition("False", "NoAddress", "full") + "}")};
  facts.subnet_unread = facts.node_report_unread = true;
  facts.unread = {"Subnet main could not be read: forbidden", "NodeReport n1 could not be read: x"};
  const agent::Explanation told = explain_from_api(facts);
  EXPECT_THAT(lines_of(told), testing::ElementsAre("an address: full / "));
  EXPECT_EQ(told.notes, facts.unread);
}

// The newest Events and the last heartbeat are told beside.
TEST(WhyFromApi, TellsWhatHappenedLast) {
  ApiFacts facts{.name = {"default", "web"}, .attachment = attachment("{}")};
  facts.lease_renewed = "2026-01-05T00:00:00Z";
  for (const char* day : {"1", "4", "2", "3"})
    facts.events.push_back(parsed(R"({"reason": "R", "message": "m", "lastTimestamp": "2026-01-0)" +
                                  std::string(day) + R"(T00:00:00Z"})"));
  EXPECT_THAT(explain_from_api(facts).notes,
              testing::ElementsAre(HasSubstr("last heard at 2026-01-05"), HasSubstr("2026-01-04"),
                                   HasSubstr("2026-01-03"), HasSubstr("2026-01-02")));
}

struct NodeCase {
  const char* name;
  NodeFacts facts;
  std::vector<std::string> missing;
};

class WhyOnNode : public testing::TestWithParam<NodeCase> {};

TEST_P(WhyOnNode, SaysWhatItsFabricDoes) {
  const agent::Explanation told = explain_on_node(GetParam().facts);
  EXPECT_EQ(told.fulfilled, GetParam().missing.empty());
  EXPECT_EQ(told.witness, "the agent of node n1");
  const std::vector<std::string> lines = lines_of(told);
  ASSERT_EQ(lines.size(), GetParam().missing.size()) << agent::to_text(told);
  for (std::size_t i = 0; i < lines.size(); ++i)
    EXPECT_THAT(lines[i], HasSubstr(GetParam().missing[i]));
}

// All is well, except what `change` changes.
template <class Change>
NodeFacts node_facts(Change change) {
  NodeFacts facts{.node = "n1", .key = "default/web", .complete = true};
  facts.addresses = {"10.0.0.7"};
  facts.desired = true;
  facts.interface = "fl1";
  change(facts);
  return facts;
}

INSTANTIATE_TEST_SUITE_P(
    Table, WhyOnNode,
    testing::Values(NodeCase{"Well", node_facts([](NodeFacts&) {}), {}},
                    NodeCase{"Refused",
                             node_facts([](NodeFacts& f) { f.refusal = "Node n1 does not exist"; }),
                             {"the API does not know this node: Node n1 does not exist"}},
                    NodeCase{"Incomplete",
                             node_facts([](NodeFacts& f) { f.complete = false; }),
                             {"not every watch has delivered"}},
                    NodeCase{"CutOff",
                             node_facts([](NodeFacts& f) {
                               f.complete = false;
                               f.watches_fail = true;
                             }),
                             {"the API is not reached"}},
                    NodeCase{"NoAddress",
                             node_facts([](NodeFacts& f) {
                               f.addresses.clear();
                               f.desired = false;
                               f.interface.clear();
                             }),
                             {"an address: the server has not assigned one"}},
                    NodeCase{"Rivals",
                             node_facts([](NodeFacts& f) {
                               f.desired = false;
                               f.interface.clear();
                               f.problems = {"10.0.0.7 is claimed by default/b, too"};
                             }),
                             {"10.0.0.7 is claimed by default/b, too"}},
                    NodeCase{"FabricFails",
                             node_facts([](NodeFacts& f) {
                               f.interface.clear();
                               f.fabric_error = "no room";
                               f.since = "2026-01-01T00:00:00Z";
                             }),
                             {"success of the fabric: no room since 2026-01-01T00:00:00Z"}},
                    NodeCase{"NotMadeYet",
                             node_facts([](NodeFacts& f) { f.interface.clear(); }),
                             {"the fabric has not made it yet"}},
                    NodeCase{"NotDesiredForNoReasonKnown",
                             node_facts([](NodeFacts& f) {
                               f.desired = false;
                               f.interface.clear();
                             }),
                             {"its interface: this node does not mean to carry it"}},
                    NodeCase{"HookForbidden",
                             node_facts([](NodeFacts& f) {
                               f.has_hook = true;
                               f.forbidden_hooks = {"postCreateExec: /bin/x is not allowed"};
                             }),
                             {"leave to run a hook: postCreateExec: /bin/x is not allowed"}},
                    NodeCase{"HookRuns",
                             node_facts([](NodeFacts& f) { f.has_hook = true; }),
                             {"the end of postCreateExec: it has not ended yet"}},
                    NodeCase{"HookFailed",
                             node_facts([](NodeFacts& f) {
                               f.has_hook = f.hook_reported = true;
                               f.hook_failure = "ended with status 7";
                             }),
                             {"ended with status 7"}},
                    NodeCase{"HookWell",
                             node_facts([](NodeFacts& f) { f.has_hook = f.hook_reported = true; }),
                             {}}),
    [](const auto& test) { return std::string(test.param.name); });

// An agent that is cut off later says that it tells what it knew.
TEST(WhyOnNode, ACutOffAgentSaysSo) {
  const NodeFacts facts = node_facts([](NodeFacts& f) { f.watches_fail = true; });
  EXPECT_TRUE(explain_on_node(facts).fulfilled);
  EXPECT_EQ(explain_on_node(facts).notes.size(), 1U);
}

TEST(AttachmentName, Parses) {
  EXPECT_EQ(parse_attachment_name("web")->key(), "default/web");
  EXPECT_EQ(parse_attachment_name("a/web.x")->key(), "a/web.x");
  for (const char* bad : {"", "a/", "/b", "a/b/c", "A/b", "a/b c"})
    EXPECT_FALSE(parse_attachment_name(bad)) << bad;
}

}  // namespace
}  // namespace fairlead::networks
