// What is decided about a node's own attachments, as tables: promises 3, 4 and 6 of
// networks_node.h.
#include "features/networks/node/own_attachments.h"

#include <gtest/gtest.h>

namespace fairlead::networks {
namespace {

using Strings = std::vector<std::string>;

struct Spec {
  std::string name = "a";
  std::string uid = "u1";
  std::uint64_t version = 10;
  int address = 1;
  bool reported = false;  // its status has a report of postCreateExec
};

Attachment attachment(const Spec& spec) {
  Local local;
  local.post_create_exec = {"/bin/up"};
  local.post_delete_exec = {"/bin/down"};
  if (spec.reported) local.status.report = std::make_shared<const ExecReport>();
  Attachment made;
  made.key = "default/" + spec.name;
  made.uid = spec.uid;
  made.version = spec.version;
  made.vni = 5;
  made.addresses = {*Ip::parse("10.0.0." + std::to_string(spec.address))};
  made.local = std::make_shared<const Local>(std::move(local));
  return made;
}

fabric::Station station() {
  fabric::Station made;
  made.interface = "fl-u1";
  return made;
}

// One thing that happens to attachment u1, and the hook that is due after it.
struct Step {
  enum class What { seen, made, adopted, failed, failed_after_making, dropped, deleted, reported };
  What what;
  std::string due{};  // "create", "delete" or none
};

struct HookCase {
  const char* name;
  bool reported;  // in the API, when it is first seen
  std::vector<Step> steps;
};

using enum Step::What;

class OwnHooks : public testing::TestWithParam<HookCase> {};

TEST_P(OwnHooks, AreDueOnceForEachInterface) {
  OwnAttachments own;
  const fabric::Station carried = station();
  const std::string uid = "u1", error = "no room";
  Spec spec{.reported = GetParam().reported};
  for (std::size_t i = 0; i < GetParam().steps.size(); ++i) {
    const Step& step = GetParam().steps[i];
    std::optional<OwnAttachments::Settled> settled;
    switch (step.what) {
      case seen:
        own.put(attachment(spec));
        break;
      case made:
        settled = own.settled({.uid = uid, .station = &carried, .made_interface = true});
        break;
      case adopted:
        settled = own.settled({.uid = uid, .station = &carried});
        break;
      case failed:
        settled = own.settled({.uid = uid, .error = &error});
        break;
      case failed_after_making:
        settled = own.settled({.uid = uid, .error = &error, .made_interface = true});
        break;
      case dropped:
        settled = own.settled({.uid = uid});
        break;
      case deleted:
        own.deleted(attachment(spec));
        own.lose(uid);
        break;
      case reported:
        EXPECT_TRUE(own.hook_ended(uid, {}));
        break;
    }
    std::string due;
    if (settled && settled->hook) due = settled->hook->created ? "create" : "delete";
    EXPECT_EQ(due, step.due) << "step " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Table, OwnHooks,
    testing::Values(
        HookCase{"new interface", false, {{seen}, {made, "create"}, {adopted}}},
        HookCase{"adopted, never reported", false, {{seen}, {adopted, "create"}, {adopted}}},
        HookCase{"adopted, reported", true, {{seen}, {adopted}, {adopted}}},
        HookCase{"made again by an audit", true, {{seen}, {adopted}, {made, "create"}, {adopted}}},
        HookCase{"reported here, made again",
                 false,
                 {{seen}, {made, "create"}, {reported}, {adopted}, {made, "create"}}},
        HookCase{"made, but the rest failed: due when it is carried",
                 true,
                 {{seen}, {failed_after_making}, {failed}, {adopted, "create"}}},
        HookCase{"failed only", false, {{seen}, {failed}, {made, "create"}}},
        HookCase{"dropped", false, {{seen}, {made, "create"}, {dropped, "delete"}, {dropped}}},
        HookCase{"never carried: nothing to undo", false, {{seen}, {deleted}, {dropped}}},
        HookCase{"deleted",
                 false,
                 {{seen}, {made, "create"}, {deleted}, {failed}, {dropped, "delete"}, {dropped}}},
        HookCase{"not one of ours", false, {{made}}}),
    [](const auto& test) {
      std::string name = test.param.name;
      std::erase_if(name, [](char c) { return !std::isalnum(static_cast<unsigned char>(c)); });
      return name;
    });

struct StatusCase {
  const char* name;
  bool known_interface;  // the API says that it is there
  bool made;
  std::string error;
  bool desired, may_carry;
  Strings problems;
  bool hook_allowed;
  std::string interface;  // wanted
  Strings errors;         // wanted
};

class OwnStatus : public testing::TestWithParam<StatusCase> {};

TEST_P(OwnStatus, SaysWhatIsKnownAndNoMore) {
  const StatusCase& row = GetParam();
  OwnAttachments::Own own;
  own.attachment = attachment({});
  if (row.known_interface) own.known = {.interface = "old", .host = "192.0.2.1"};
  if (row.made) own.made = station();
  own.error = row.error;
  const HostStatus wanted =
      OwnAttachments().wanted_status(own, {.host = "192.0.2.1",
                                           .desired = row.desired,
                                           .may_carry = row.may_carry,
                                           .problems = row.problems,
                                           .create_hook_allowed = row.hook_allowed});
  EXPECT_EQ(wanted.interface, row.interface);
  EXPECT_EQ(wanted.host, row.interface.empty() ? "" : "192.0.2.1");
  EXPECT_EQ(wanted.errors, row.errors);
}

INSTANTIATE_TEST_SUITE_P(
    Table, OwnStatus,
    testing::Values(
        StatusCase{"carried", false, true, "", true, true, {}, true, "fl-u1", {}},
        StatusCase{
            "not known yet whether carried", true, false, "", true, true, {}, true, "old", {}},
        StatusCase{"surely absent", true, false, "", false, false, {}, true, "", {}},
        StatusCase{"cannot be made", true, false, "no room", true, true, {}, true, "", {"no room"}},
        StatusCase{
            "cannot be removed", true, false, "stuck", false, true, {}, true, "old", {"stuck"}},
        StatusCase{"carried, an update failed",
                   true,
                   true,
                   "no room",
                   true,
                   true,
                   {},
                   true,
                   "fl-u1",
                   {"no room"}},
        StatusCase{"in conflict", false, false, "", false, false, {"taken"}, true, "", {"taken"}},
        StatusCase{"a hook that may not run",
                   false,
                   true,
                   "",
                   true,
                   true,
                   {},
                   false,
                   "fl-u1",
                   {"postCreateExec: /bin/up is not an allowed program on this node"}}),
    [](const auto& test) {
      std::string name = test.param.name;
      std::erase_if(name, [](char c) { return !std::isalnum(static_cast<unsigned char>(c)); });
      return name;
    });

// VNI, MAC and addresses outdate what is carried; nothing else does.
TEST(OwnAttachments, OutdatedByOtherAddressesOnly) {
  OwnAttachments own;
  EXPECT_EQ(own.outdated_by(attachment({})), std::nullopt);
  own.put(attachment({}));
  EXPECT_EQ(own.outdated_by(attachment({.version = 11})), std::nullopt);
  EXPECT_EQ(own.outdated_by(attachment({.version = 11, .address = 2})), "u1");
  EXPECT_EQ(own.outdated_by(attachment({.uid = "u2", .address = 2})), "u1");
  EXPECT_EQ(own.outdated_by(attachment({.name = "b", .uid = "u2"})), std::nullopt);
}

// An object of the same name ends the one before, which is forgotten when the fabric dropped it.
TEST(OwnAttachments, OneOfAName) {
  OwnAttachments own;
  EXPECT_EQ(own.put(attachment({})), std::nullopt);
  EXPECT_EQ(own.put(attachment({.version = 11})), std::nullopt);
  EXPECT_EQ(own.put(attachment({.uid = "u2", .version = 12})), "u1");
  EXPECT_EQ(own.find_by_key("default/a")->attachment.uid, "u2");
  EXPECT_TRUE(own.find("u1")->gone);
  const std::string uid = "u1";
  EXPECT_TRUE(own.settled({.uid = uid}).forgotten);
  EXPECT_FALSE(own.contains("u1"));
  EXPECT_EQ(own.missing_in({}), Strings{"u2"});
  EXPECT_EQ(own.missing_in({attachment({.uid = "u2"})}), Strings{});
}

// The answer to a write counts only if nothing newer was seen meanwhile.
TEST(OwnAttachments, AnOldAnswerChangesNothing) {
  OwnAttachments own;
  own.put(attachment({.version = 10}));
  own.written(attachment({.version = 9, .reported = true}));
  EXPECT_FALSE(own.find("u1")->known.report);
  own.written(attachment({.version = 11, .reported = true}));
  EXPECT_TRUE(own.find("u1")->known.report);
  own.put(attachment({.version = 10}));
  EXPECT_TRUE(own.find("u1")->known.report);
}

}  // namespace
}  // namespace fairlead::networks
