// Probe: asks the question of one health gate: connects, gets a page, or runs a program.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "features/vip/config/vip_plan.h"
#include "foundation/runtime/processes.h"
#include "foundation/runtime/runtime.h"

namespace fairlead::vip {

class Probe {
 public:
  // `processes` may be null: commands then fail. All outlive it.
  Probe(runtime::Runtime& runtime, runtime::Processes* processes, GateConfig gate)
      : runtime_(runtime), processes_(processes), gate_(std::move(gate)) {}

  // Success is a good answer; a failure says what was wrong with it. Takes no longer than the
  // gate's timeout, apart from a name that its resolver is slow to look up.
  Task<Result<>> ask();

  const GateConfig& gate() const { return gate_; }

 private:
  Task<Result<>> connect();
  Task<Result<>> get();
  Task<Result<>> run_command();
  // Those of an https gate. A CA file that changed is read anew.
  Result<std::shared_ptr<const runtime::TlsCredentials>> credentials();

  runtime::Runtime& runtime_;
  runtime::Processes* processes_;
  GateConfig gate_;
  std::shared_ptr<const runtime::TlsCredentials> tls_;
};

// What a program wrote, for a log line: at most `limit` bytes, valid UTF-8, without the end of the
// last line.
std::string shown_output(std::string_view output, std::size_t limit);

}  // namespace fairlead::vip
