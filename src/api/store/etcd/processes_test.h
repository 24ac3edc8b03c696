// Real etcd members for tests: started in a fresh folder on free ports of 127.0.0.1, stopped,
// frozen and killed as the test wishes, and gone with it. Needs `etcd` on the PATH (Debian:
// etcd-server).
#pragma once

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "api/store/free_ports_test.h"
#include "foundation/base/check.h"
#include "foundation/runtime/stream.h"

namespace fairlead::store {

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = std::filesystem::temp_directory_path() / "etcd-test-XXXXXX";
    CHECK(::mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

class EtcdProcess {
 public:
  explicit EtcdProcess(std::vector<std::string> command) : command_(std::move(command)) { start(); }
  EtcdProcess(const EtcdProcess&) = delete;
  EtcdProcess& operator=(const EtcdProcess&) = delete;
  ~EtcdProcess() { kill(); }

  void start() {
    CHECK(pid_ == 0);
    pid_ = ::fork();
    CHECK(pid_ >= 0);
    if (pid_ == 0) run();
  }
  void kill() {
    if (pid_ == 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(std::exchange(pid_, 0), nullptr, 0);
  }
  void freeze() { ::kill(pid_, SIGSTOP); }
  void thaw() { ::kill(pid_, SIGCONT); }

 private:
  [[noreturn]] void run() {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    const int nowhere = ::open("/dev/null", O_RDWR);
    ::dup2(nowhere, 0);
    ::dup2(nowhere, 1);
    ::dup2(nowhere, 2);
    std::vector<char*> arguments;
    for (std::string& word : command_) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    ::execvp(arguments[0], arguments.data());
    ::_exit(127);
  }
  std::vector<std::string> command_;
  pid_t pid_ = 0;
};

// A cluster of members in one folder. With `tls_flags` clients must speak TLS.
class EtcdCluster {
 public:
  explicit EtcdCluster(std::size_t members, std::vector<std::string> tls_flags = {}) {
    const std::string scheme = tls_flags.empty() ? "http://127.0.0.1:" : "https://127.0.0.1:";
    for (std::size_t i = 0; i < members; ++i) {
      runtime::Endpoint endpoint;
      endpoint.host = "127.0.0.1";
      endpoint.port = ports_.take();
      endpoints_.push_back(endpoint);
      peers_.push_back("http://127.0.0.1:" + std::to_string(ports_.take()));
      initial_ += (i ? ",m" : "m") + std::to_string(i) + "=" + peers_[i];
    }
    for (std::size_t i = 0; i < members; ++i) {
      const std::string name = "m" + std::to_string(i);
      const std::string client = scheme + std::to_string(endpoints_[i].port);
      std::vector<std::string> command = {"etcd",
                                          "--name",
                                          name,
                                          "--data-dir",
                                          folder_.path() / name,
                                          "--listen-client-urls",
                                          client,
                                          "--advertise-client-urls",
                                          client,
                                          "--listen-peer-urls",
                                          peers_[i],
                                          "--initial-advertise-peer-urls",
                                          peers_[i],
                                          "--initial-cluster",
                                          initial_,
                                          "--heartbeat-interval",
                                          "50",
                                          "--election-timeout",
                                          "500",
                                          "--log-level",
                                          "error"};
      command.insert(command.end(), tls_flags.begin(), tls_flags.end());
      processes_.push_back(std::make_unique<EtcdProcess>(std::move(command)));
    }
  }

  const std::vector<runtime::Endpoint>& endpoints() const { return endpoints_; }
  EtcdProcess& member(std::size_t i) { return *processes_[i]; }
  // What a killed member knew is lost.
  void wipe(std::size_t i) { std::filesystem::remove_all(data(i)); }
  // Its folder, for those who put its files back by hand.
  std::filesystem::path data(std::size_t i) const {
    return folder_.path() / ("m" + std::to_string(i));
  }
  std::filesystem::path folder() const { return folder_.path(); }

  // As the operators of etcd do it, with the same names and addresses before and after.
  void save_snapshot() const {
    run_etcdctl("--endpoints http://" + endpoints_[0].to_string() + " snapshot save " +
                snapshot().string());
  }
  // Kills every member and brings back a cluster of the same name from the snapshot.
  void restore_snapshot() {
    for (const auto& process : processes_) process->kill();
    for (std::size_t i = 0; i < size(); ++i) {
      wipe(i);
      run_etcdctl("snapshot restore " + snapshot().string() + " --name m" + std::to_string(i) +
                  " --data-dir " + data(i).string() + " --initial-cluster " + initial_ +
                  " --initial-advertise-peer-urls " + peers_[i]);
    }
    for (const auto& process : processes_) process->start();
  }
  std::size_t size() const { return processes_.size(); }
  std::size_t index_of(const runtime::Endpoint& endpoint) const {
    return static_cast<std::size_t>(std::ranges::find(endpoints_, endpoint) - endpoints_.begin());
  }

 private:
  std::filesystem::path snapshot() const { return folder_.path() / "snapshot"; }
  static void run_etcdctl(const std::string& arguments) {
    CHECK(std::system(("ETCDCTL_API=3 etcdctl " + arguments + " >/dev/null 2>&1").c_str()) == 0);
  }

  TemporaryFolder folder_;
  FreePorts ports_;
  std::vector<std::string> peers_;
  std::string initial_;
  std::vector<runtime::Endpoint> endpoints_;
  std::vector<std::unique_ptr<EtcdProcess>> processes_;
};

}  // namespace fairlead::store
