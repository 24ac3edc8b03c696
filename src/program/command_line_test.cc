#include "program/command_line.h"

#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <functional>
#include <sstream>

#include "foundation/command/exit_status.h"
#include "program/build_info.h"

namespace fairlead::program {
namespace {

struct Said {
  int status = 0;
  std::string out, err;
};

std::vector<std::string> words_of(const std::string& line) {
  std::istringstream in(line);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

Said run(const std::string& line) {
  std::ostringstream out;
  std::ostringstream err;
  testing::internal::CaptureStderr();
  testing::internal::CaptureStdout();
  const int status = run_command_line(words_of(line), out, err);
  Said said{.status = status};
  said.out = testing::internal::GetCapturedStdout() + out.str();
  said.err = testing::internal::GetCapturedStderr() + err.str();
  return said;
}

void each_command(CLI::App& app, const std::string& path,
                  const std::function<void(CLI::App&, const std::string&)>& visit) {
  visit(app, path);
  for (CLI::App* command : app.get_subcommands([](CLI::App*) { return true; }))
    each_command(*command, path + " " + command->get_name(), visit);
}

// Every way to type a wrong line: exit status 2, what is wrong in the first line, and where to go.
TEST(CommandLine, WrongUsage) {
  struct Case {
    const char* line;
    const char* first;  // line of what is said
    const char* also;
  };
  const Case cases[] = {
      {"", "fairlead: a command is missing",
       "Commands: server, join, agent, status, why, vip, lab, bench, version"},
      {"bogus", "fairlead: there is no command \"bogus\"",
       "Commands: server, join, agent, status, why, vip, lab"},
      {"--bogus", "fairlead: there is no flag --bogus", "See fairlead --help."},
      {"help bogus", "fairlead: there is no command \"bogus\"", "See fairlead --help."},
      {"version extra", "fairlead version: \"extra\" is one word too many", ""},
      {"server bogus", "fairlead server: there is no command \"bogus\"",
       "Commands: backup, restore, token"},
      {"server --data", "fairlead server: --data: 1 required TEXT missing", ""},
      {"server", "fairlead server: --data: a folder must be given", "See fairlead server --help."},
      {"server --data d --store x", "fairlead server: --store x: must be sqlite", ""},
      {"server --data d --log-level loud", "fairlead server: --log-level: loud not in", ""},
      {"server --data d --audit-level all", "fairlead server: --audit-level: all not in", ""},
      {"server --data d --max-reads many",
       "fairlead server: --max-reads many: is not a value that it can have", ""},
      {"server token", "fairlead server token: a command is missing",
       "Commands: create, list, delete"},
      {"server token create --data d --ttl soon", "fairlead server token: --ttl soon: must look",
       ""},
      {"server token create --data d --ttl 0s", "fairlead server token: --ttl 0s: must look", ""},
      {"server token create --data d --ttl 3651d", "fairlead server token: --ttl 3651d: must look",
       ""},
      {"server token delete --data d", "fairlead server token delete: ID is required", ""},
      {"server backup", "fairlead server backup: FILE is required", ""},
      {"server restore f", "fairlead server restore: --data: a folder must be given", ""},
      {"join", "fairlead join: --data: a folder must be given", "See fairlead join --help."},
      {"join --data d --node -", "fairlead join: --node -: is not a valid node name", ""},
      {"agent", "fairlead agent: --host-ip: must be given", "See fairlead agent --help."},
      {"agent --host-ip 10.0.0.1", "fairlead agent: --kubeconfig or --join-dir: exactly one", ""},
      {"agent --fabric string", "fairlead agent: --fabric: string not in {vxlan,ovs,log}", ""},
      {"agent extra", "fairlead agent: \"extra\" is one word too many", ""},
      {"agent --host-ip 10.0.0.1 --hooks-at-once 0 --join-dir d",
       "fairlead agent: --hooks-at-once 0: ", ""},
      {"agent --host-ip 10.0.0.1 --audit-interval soon --join-dir d",
       "fairlead agent: --audit-interval soon: \"soon\" is no duration", ""},
      {"why", "fairlead why: KIND is required", ""},
      {"why thing x", "fairlead why: KIND: thing not in {attachment,vip}", ""},
      {"why attachment a/b/c", "fairlead why: NAME \"a/b/c\" is not the name of an attachment", ""},
      {"vip", "fairlead vip: a command is missing",
       "Commands: sample, manifest, move, member, history, tune, fence"},
      {"vip manifest --state here", "fairlead vip manifest: --state here: must be an absolute path",
       ""},
      {"lab", "fairlead lab: a command is missing", "Commands: up, down, status, exec"},
      {"lab stop", "fairlead lab: there is no command \"stop\"", "Commands: up, down, status"},
      {"lab up --hosts 0", "fairlead lab: --hosts 0: must be", "See fairlead lab --help."},
      {"lab exec", "fairlead lab exec: HOST is required", ""},
      {"bench", "fairlead bench: a command is missing", "Commands: api, watch, attachments"},
      {"bench api --verb fly", "fairlead bench api: --verb fly: must be create, get",
       "See fairlead bench api --help."},
      {"bench watch --events 0", "fairlead bench watch: --events: must be positive", ""},
      {"bench attachments --networks 0", "fairlead bench attachments: --networks: must be", ""},
      {"bench attachments --rates 5", "fairlead bench attachments: there is no flag --rates", ""},
  };
  for (const Case& wrong : cases) {
    SCOPED_TRACE(wrong.line);
    const Said said = run(wrong.line);
    EXPECT_EQ(said.status, command::kWrongUsage);
    EXPECT_EQ(said.out, "");
    EXPECT_TRUE(said.err.starts_with(wrong.first)) << said.err;
    EXPECT_NE(said.err.find(wrong.also), std::string::npos) << said.err;
    EXPECT_NE(said.err.find("--help.\n"), std::string::npos) << said.err;
  }
}

// What was asked for in good words and could not be done is another matter.
TEST(CommandLine, Failures) {
  for (const char* line :
       {"server token list --data /nonexistent", "server backup --data /nonexistent f",
        "agent --host-ip 10.0.0.1 --join-dir /nonexistent",
        "bench api --kubeconfig /nonexistent"}) {
    const Said said = run(line);
    EXPECT_EQ(said.status, command::kFailed) << line;
    EXPECT_TRUE(said.err.starts_with("fairlead ")) << said.err;
  }
}

TEST(CommandLine, VersionAndHelp) {
  for (const char* line : {"version", "--version"}) {
    EXPECT_EQ(run(line).status, command::kDone);
    EXPECT_EQ(run(line).out, version_line() + "\n");
  }
  EXPECT_EQ(run("help").out, run("--help").out);
  EXPECT_EQ(run("help lab up").out, run("lab up --help").out);
  EXPECT_EQ(run("lab up --help").status, command::kDone);
  EXPECT_NE(run("agent --help").out.find("=vxlan"), std::string::npos) << run("agent --help").out;
}

// Each help has examples of that command, and nobody else's.
TEST(CommandLine, EveryHelpHasItsOwnExamples) {
  int exit_status = 0;
  CLI::App app;
  build_commands(app, exit_status);
  each_command(app, "fairlead", [](CLI::App& command, const std::string& path) {
    std::istringstream footer(command.get_footer());
    int examples = 0;
    for (std::string line; std::getline(footer, line);) {
      const std::size_t at = line.find("fairlead ");
      if (!line.starts_with("  ") || line.starts_with("    ") || at == std::string::npos) continue;
      if (line.find("kubectl") != std::string::npos) continue;
      EXPECT_EQ(line.compare(at, path.size(), path), 0) << path << " --help shows: " << line;
      ++examples;
    }
    EXPECT_GT(examples, 0) << path << " --help has no examples";
  });
}

// Examples are lines that can be typed.
TEST(CommandLine, ExamplesAreAccepted) {
  int exit_status = 0;
  CLI::App listed;
  build_commands(listed, exit_status);
  each_command(listed, "fairlead", [](CLI::App& command, const std::string&) {
    std::string text = command.get_footer();
    for (std::size_t at = 0; (at = text.find("\\\n", at)) != std::string::npos;) text.erase(at, 2);
    std::istringstream footer(text);
    for (std::string line; std::getline(footer, line);) {
      const std::size_t begin = line.find("fairlead ");
      if (!line.starts_with("  ") || begin == std::string::npos) continue;
      if (line.find("kubectl") != std::string::npos) continue;
      std::string words = line.substr(begin + 9);
      words.erase(std::min(words.find(" && "), words.size()));
      int ignored = 0;
      CLI::App app;
      build_commands(app, ignored);
      // After everything was checked, before any command runs.
      app.parse_complete_callback([] { throw CLI::Success(); });
      std::vector<std::string> reversed = words_of(words);
      std::ranges::reverse(reversed);
      EXPECT_THROW(app.parse(std::move(reversed)), CLI::Success) << line;
    }
  });
}

// Every flag and every command says what it is for.
TEST(CommandLine, EverythingIsDescribed) {
  int exit_status = 0;
  CLI::App app;
  build_commands(app, exit_status);
  each_command(app, "fairlead", [](CLI::App& command, const std::string& path) {
    EXPECT_NE(command.get_description(), "") << path;
    for (const CLI::Option* option : command.get_options())
      EXPECT_NE(option->get_description(), "") << path << " " << option->get_name();
  });
}

}  // namespace
}  // namespace fairlead::program
