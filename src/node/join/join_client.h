// The node's side of joining (api/identity/join.h): proves to one of several servers that it may be
// a node, and keeps what it gets.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "node/join/join_files.h"

namespace fairlead::join {

struct JoinPlan {
  std::vector<runtime::Endpoint> servers;  // tried in order
  std::string token;                       // as given; empty: none
  std::string node;                        // empty: what it joined as, or default_node
  std::string default_node;
  std::string folder;
  bool renew = false;
};

struct JoinOutcome {
  enum class Kind { unchanged, renewed, joined };
  Kind kind = Kind::unchanged;
  std::string node;
  std::string server;  // that answered
  WallTime valid_until;
};

class JoinClient {
 public:
  // `tell` is given lines for people: which server was tried in vain, and why.
  JoinClient(runtime::Runtime& runtime, JoinPlan plan, std::function<void(std::string)> tell);
  Task<Result<JoinOutcome>> run();

 private:
  struct Attempt {
    runtime::Endpoint server;
    std::string token;                 // empty: renewal
    runtime::TlsCredentials identity;  // certificate and key to show, the authority to trust
  };
  Task<Result<JoinOutcome>> renew(Membership membership, identity::PrivateKey key);
  Task<Result<JoinOutcome>> join(identity::PrivateKey key);
  Task<Result<std::string>> fetch_ca(runtime::Endpoint server, std::string pin);
  Task<Result<JoinOutcome>> post(Attempt attempt, identity::PrivateKey key);
  Task<Result<std::string>> exchange(runtime::Endpoint server, runtime::TlsCredentials tls,
                                     std::string method, std::string_view path, std::string body);

  runtime::Runtime& runtime_;
  JoinPlan plan_;
  std::function<void(std::string)> tell_;
  JoinFiles files_;
};

}  // namespace fairlead::join
