// SimFabric: the data plane of one host of the virtual world, behind the seam of
// node/fabric/fabric.h.
//
// HostPlane is what a kernel keeps: it outlives the agent that made it, whatever becomes of that,
// is lost with the machine's power, and is disturbed by others. SimFabric is one agent process'
// hand on it. Every change takes a while, and an agent that dies in the middle of a list of changes
// leaves it half done; an audit acts on what it observed a little earlier, as real ones do. Now and
// then a call fails: before it had an effect, or after.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "foundation/runtime/processes.h"
#include "node/fabric/fabric.h"
#include "sim/world/machine.h"
#include "sim/world/random.h"

namespace fairlead::sim {

class HostPlane {
 public:
  // An interface of this host: `made` numbers those made here, one after the other.
  struct Interface {
    std::string id;
    std::uint64_t made = 0;
    std::uint32_t boot = 0;  // of the machine, when it was made: by which agent process
  };
  struct Troubles {
    std::uint32_t failures_per_million = 0;  // of one change, of an audit, of opening
  };
  struct Counts {
    std::size_t adopted = 0;   // interfaces that a new agent found
    std::size_t failures = 0;  // that an agent was told of
    std::size_t mended = 0;    // differences that audits found
    std::size_t disturbances = 0;
  };

  // `changed` is called after every change, with the station as it is now or (null) its id's end.
  using Changed = std::function<void(const std::string& id, const fabric::Station* now)>;
  HostPlane(Machine& machine, Changed changed);

  Machine& machine() { return machine_; }
  const Machine& machine() const { return machine_; }
  const std::string& node() const { return machine_.name(); }
  // What would carry traffic now.
  const fabric::Desired& stations() const { return stations_; }
  // By the name of a local station's interface; null: there is none.
  const Interface* interface(const std::string& name) const;

  void set_troubles(Troubles troubles) { troubles_ = troubles; }
  // The machine lost its power: all is gone.
  void lose_power();
  // Somebody else takes a station away, spoils one, or leaves what nobody asked for.
  void disturb();

  const Counts& counts() const { return counts_; }
  std::string violation;  // what no agent may ask of a fabric was asked

 private:
  friend class SimFabric;
  void put(const fabric::Station& station);
  void remove(const std::string& id);
  bool fails() { return random_.chance(troubles_.failures_per_million); }

  Machine& machine_;
  Changed changed_;
  Random random_;
  Troubles troubles_;
  Counts counts_;
  fabric::Desired stations_;
  std::map<std::string, Interface> interfaces_;
  std::uint64_t interfaces_made_ = 0;
  runtime::Signal* process_ = nullptr;  // of the agent that runs, if one does
};

class SimFabric final : public fabric::Fabric {
 public:
  explicit SimFabric(HostPlane& plane);
  ~SimFabric() override;

  std::string_view name() const override { return "sim"; }
  Task<Result<>> open() override;
  std::vector<fabric::Station> local_stations() const override { return found_; }
  Task<std::vector<fabric::Outcome>> apply(const fabric::Desired& desired,
                                           std::span<const std::string> ids) override;
  Task<Result<fabric::Audit>> audit(const fabric::Desired& desired) override;
  runtime::Signal& disturbed() override { return disturbed_; }
  std::uint32_t mtu() const override { return 1450; }

 private:
  Task<fabric::Outcome> bring(const fabric::Desired& desired, std::string id);
  void check_request(const fabric::Desired& desired);
  Task<Result<>> take_a_while(Duration most);

  HostPlane& plane_;
  runtime::Signal disturbed_;
  std::vector<fabric::Station> found_;
};

// Programs that hooks run on a host: each takes a while, and is remembered with the interface that
// it was run for (its first argument), once it has ended.
class SimProcesses final : public runtime::Processes {
 public:
  explicit SimProcesses(HostPlane& plane) : plane_(plane) {}
  Task<Result<runtime::ProcessEnd>> run(runtime::Command command) override;
  // Whether one has ended for the interface of that name as it is now.
  bool ran_for(const std::string& interface) const;
  std::size_t runs() const { return runs_; }

 private:
  HostPlane& plane_;
  std::set<std::uint64_t> done_;
  std::size_t runs_ = 0;
};

}  // namespace fairlead::sim
