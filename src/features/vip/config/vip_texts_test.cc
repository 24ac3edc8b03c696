// What the program prints as a beginning is right as it is.
#include "features/vip/config/vip_texts.h"

#include <gtest/gtest.h>

#include <sstream>

#include "features/vip/config/test_vip_file.h"
#include "foundation/wire/yaml.h"

namespace fairlead::vip {
namespace {

TEST(VipTexts, SampleIsAccepted) {
  const Result<VipPlan> plan = plan_of(vip_sample());
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_EQ(plan->node, "a");
  EXPECT_EQ(plan->election.settings.members.size(), 3U);
  EXPECT_EQ(plan->vips.size(), 1U);
}

// Also with all that is commented out, but for what excludes something else.
TEST(VipTexts, SampleIsRightInItsComments) {
  std::istringstream lines(vip_sample());
  std::string text;
  for (std::string line; std::getline(lines, line);) {
    const std::size_t mark = line.find("  # ");
    const bool excluded = line.contains("# tls:") || line.contains("# witness:");
    const bool field = mark != std::string::npos && line.find_first_not_of(' ') == mark + 2;
    if (field && !excluded) line.erase(mark + 2, 2);
    text += line + "\n";
  }
  const Result<VipPlan> plan = plan_of(text);
  ASSERT_TRUE(plan) << plan.error().message << "\n" << text;
  EXPECT_EQ(plan->vips[0].gates.size(), 3U);
  EXPECT_EQ(plan->election.secret_file, "/etc/fairlead/vip.secret");
}

TEST(VipTexts, Manifest) {
  const Result<std::string> text =
      vip_manifest({.image = "registry.example/net/fairlead:1", .config = "/etc/v.yaml"});
  ASSERT_TRUE(text) << text.error().message;
  const Result<wire::ParsedJson> parsed = wire::parse_yaml(*text);
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_TRUE(parsed->duplicates.empty());
  const Json& pod = parsed->value;
  EXPECT_EQ(wire::find_string(pod, "kind"), "Pod");
  EXPECT_EQ(wire::find_string(pod, "metadata.namespace"), "kube-system");
  EXPECT_EQ(*wire::find(pod, "spec.hostNetwork"), Json(true));
  const Json& container = wire::find(pod, "spec.containers")->get_array()[0];
  EXPECT_EQ(wire::find_string(container, "image"), "registry.example/net/fairlead:1");
  // Every mount has its volume, and those of the host are where the flags say.
  const JsonArray& volumes = wire::find(pod, "spec.volumes")->get_array();
  std::string paths;
  for (const Json& mount : wire::find(container, "volumeMounts")->get_array())
    for (const Json& volume : volumes)
      if (wire::find_string(volume, "name") == wire::find_string(mount, "name"))
        paths += std::string(wire::find_string(volume, "hostPath.path")) + " ";
  EXPECT_EQ(paths, "/etc/v.yaml /var/lib/fairlead-vip /run/fairlead /sys/fs/bpf ");
}

TEST(VipTexts, ManifestRefuses) {
  EXPECT_EQ(vip_manifest({.image = ""}).error().message, "--image : must be an image's name");
  EXPECT_EQ(vip_manifest({.config = "a.yaml"}).error().message,
            "--config a.yaml: must be an absolute path");
  EXPECT_EQ(vip_manifest({.state = "/a b"}).error().message,
            "--state /a b: must be an absolute path");
}

}  // namespace
}  // namespace fairlead::vip
