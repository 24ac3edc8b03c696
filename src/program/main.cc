// fairlead: one program, a subcommand for each role. This file only names them.
#include <CLI/CLI.hpp>

#include "program/build_info.h"
#include "program/commands.h"

int main(int argc, char** argv) {
  CLI::App app("The network tier of a bare-metal Kubernetes cluster.", "fairlead");
  app.set_version_flag("--version", fairlead::program::version_line());
  app.require_subcommand(1);
  app.footer(
      "Examples:\n"
      "  fairlead server --data /var/lib/fairlead --listen 0.0.0.0:6443\n"
      "  kubectl --kubeconfig /var/lib/fairlead/admin.kubeconfig get subnets\n"
      "Each command has its own --help.");

  int exit_status = 0;
  fairlead::program::add_server_command(app, exit_status);
  fairlead::program::add_join_command(app, exit_status);
  fairlead::program::add_lab_command(app, exit_status);
  fairlead::program::add_agent_command(app, exit_status);
  fairlead::program::add_bench_command(app, exit_status);
  CLI11_PARSE(app, argc, argv);
  return exit_status;
}
