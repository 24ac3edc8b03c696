// The objects that a load of attachments creates. Pure.
#pragma once

#include <string>
#include <vector>

#include "foundation/wire/json.h"
#include "tools/bench/network_plan.h"

namespace fairlead::bench {

class AttachmentObjects {
 public:
  // REQUIRES: settings and networks outlive it.
  AttachmentObjects(std::string run, const AttachmentSettings& settings,
                    const std::vector<PlannedNetwork>& networks)
      : run_(std::move(run)), settings_(settings), networks_(networks) {}

  std::string name(std::uint64_t attachment) const;
  std::string subnet_name(std::size_t network, std::size_t subnet) const;
  Json subnet(std::size_t network, std::size_t subnet) const;
  // `peer`: whom a tested one pings; empty: nobody.
  Json attachment(const Step& step, const std::string& node, const std::string& peer) const;

 private:
  std::string run_;
  const AttachmentSettings& settings_;
  const std::vector<PlannedNetwork>& networks_;
};

}  // namespace fairlead::bench
