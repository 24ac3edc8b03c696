#include "lab/lab_plan.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace fairlead::lab {
namespace {

LabSettings settings() { return {.folder = "/run/l", .program = "/bin/fairlead"}; }

TEST(LabPlan, RefusesWhatCannotBeMadeAndNamesTheFlag) {
  const auto problem = [](auto change) {
    LabSettings wrong = settings();
    change(wrong);
    const Result<> checked = check(wrong);
    return checked ? std::string() : checked.error().message;
  };
  EXPECT_EQ(problem([](LabSettings&) {}), "");
  EXPECT_TRUE(problem([](LabSettings& s) { s.hosts = 0; }).starts_with("--hosts 0"));
  EXPECT_TRUE(problem([](LabSettings& s) { s.hosts = 251; }).starts_with("--hosts 251"));
  EXPECT_TRUE(problem([](LabSettings& s) { s.name = "a/b"; }).starts_with("--name a/b"));
  EXPECT_TRUE(problem([](LabSettings& s) { s.fabric = "x"; }).starts_with("--fabric x"));
}

// A route out of a lab would carry packets for private addresses to the machine's own network.
TEST(LabPlan, NoNamespaceGetsARoute) {
  for (const auto& commands : {make_switch(settings()), make_host(settings(), 1)})
    for (const Arguments& command : commands)
      EXPECT_EQ(std::ranges::find(command, "route"), command.end());
}

// Everything that is made inside a namespace of the lab goes with it.
TEST(LabPlan, NothingIsMadeInTheMachinesOwnNamespace) {
  for (const auto& commands : {make_switch(settings()), make_host(settings(), 2)})
    for (const Arguments& command : commands)
      EXPECT_TRUE(command[1] == "netns" ||
                  (command[1] == "-n" && command[2].starts_with("fl-lab-")))
          << command[1];
}

TEST(LabPlan, TellsItsNamespacesFromThoseOfOthers) {
  EXPECT_EQ(namespaces_of(settings(), {"fl-lab-1", "fl-lab2-1", "blue", "fl-lab-switch"}),
            (std::vector<std::string>{"fl-lab-1", "fl-lab-switch"}));
}

}  // namespace
}  // namespace fairlead::lab
