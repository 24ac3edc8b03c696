// TLS in the virtual world: the same certificates, names, dates and ALPN are checked as in
// production, with the same outcomes; the bytes that follow are not encrypted.
//
// A handshake is three small records of fixed size on the stream itself, so it takes its round
// trips, can be cut at any point, and fails on both sides when plain meets TLS. What a record
// stands for (the credentials) is kept beside the stream: certificates made freshly for each run
// would otherwise make runs differ.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "foundation/runtime/runtime.h"

namespace fairlead::sim {

class Machine;

class TlsLayer {
 public:
  // The client's side, handshake included. `host` is checked unless the credentials name another.
  Task<Result<std::unique_ptr<runtime::Stream>>> connect(
      Machine& machine, std::unique_ptr<runtime::Stream> plain,
      std::shared_ptr<const runtime::TlsCredentials> credentials, std::string host);

  // The server's side: what it accepts still has its handshake to do.
  std::unique_ptr<runtime::Listener> listen(Machine& machine,
                                            std::unique_ptr<runtime::Listener> plain,
                                            std::shared_ptr<const runtime::TlsSource> source);

  // What one side said in its first record.
  struct Hello {
    std::shared_ptr<const runtime::TlsCredentials> credentials;
    std::string alpn;  // server: the protocol it chose
  };
  std::uint64_t say(Hello hello);
  // Each record is heard once; unknown numbers are what strangers send.
  bool hear(std::uint64_t number, Hello& hello);

 private:
  std::uint64_t next_ = 1;
  std::map<std::uint64_t, Hello> hellos_;
};

}  // namespace fairlead::sim
