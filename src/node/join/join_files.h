// What a node keeps of its membership, in its own folder:
//
//   node.key         its key, made here and never sent (0600)
//   node.crt         its certificate
//   ca.crt           the authority it believes
//   servers          the API servers' URLs, one a line
//   node.kubeconfig  all of that for clients (0600)
//
// node.crt is written last: with it the rest is there.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "api/identity/certificate.h"
#include "api/identity/join.h"
#include "foundation/runtime/runtime.h"

namespace fairlead::join {

struct Membership {
  identity::Certificate certificate;
  std::string node;
  std::string ca;                    // PEM
  std::vector<std::string> servers;  // URLs
};

class JoinFiles {
 public:
  JoinFiles(runtime::Files& files, std::string folder)
      : files_(files), folder_(std::move(folder)) {}

  std::string path(std::string_view name) const { return folder_ + "/" + std::string(name); }

  // The key that is there, or a new one, on disk before it is used: a join whose answer was lost
  // can be tried again with the same key.
  Result<identity::PrivateKey> key();

  // Nothing unless all files are there and fit together. Fails, naming the file, if one cannot be
  // read.
  Result<std::optional<Membership>> read(const identity::PrivateKey& key);
  Result<> write(const identity::JoinResponse& response, const identity::PrivateKey& key,
                 const std::vector<std::string>& servers);

 private:
  Result<std::optional<std::string>> read_file(std::string_view name);
  runtime::Files& files_;
  std::string folder_;
};

}  // namespace fairlead::join
