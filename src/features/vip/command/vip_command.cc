#include "features/vip/command/vip_command.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

#include "features/vip/config/vip_texts.h"
#include "foundation/command/exit_status.h"

namespace fairlead::vip {
namespace {

int print(const std::string& text) {
  std::fputs(text.c_str(), stdout);
  return command::kDone;
}

void add_sample(CLI::App& vip, int& exit_status) {
  CLI::App* sample =
      vip.add_subcommand("sample", "Prints a configuration file for the agent, with comments.");
  sample->footer("Examples:\n  fairlead vip sample");
  sample->callback([&exit_status] { exit_status = print(vip_sample()); });
}

void add_manifest(CLI::App& vip, int& exit_status) {
  CLI::App* manifest = vip.add_subcommand(
      "manifest", "Prints a static Pod that runs the agent on a control plane node of kubeadm.");
  auto options = std::make_shared<ManifestOptions>();
  manifest->add_option("--image", options->image, "The agent's image")->capture_default_str();
  manifest->add_option("--config", options->config, "The agent's file on the node")
      ->capture_default_str();
  manifest->add_option("--state", options->state, "Folder on the node for term, vote and members")
      ->capture_default_str();
  manifest->footer(
      "Examples:\n  fairlead vip manifest --image registry.example/net/fairlead:latest");
  manifest->callback([options, &exit_status] {
    const Result<std::string> text = vip_manifest(*options);
    exit_status = text ? print(*text) : command::report("fairlead vip manifest", text.error());
  });
}

}  // namespace

void add_vip_command(CLI::App& app, int& exit_status) {
  CLI::App* vip = app.add_subcommand("vip", "Virtual IPs: files to begin with.");
  vip->require_subcommand(1);
  vip->footer(
      "Examples:\n"
      "  fairlead vip sample\n"
      "  fairlead vip manifest --image registry.example/net/fairlead:latest");
  add_sample(*vip, exit_status);
  add_manifest(*vip, exit_status);
}

}  // namespace fairlead::vip
