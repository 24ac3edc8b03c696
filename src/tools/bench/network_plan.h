// The workload of `fairlead bench attachments`, after KOS's driver: many small virtual networks and
// few large ones, attachments that come and go in them. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "foundation/base/ids.h"
#include "foundation/base/ip.h"
#include "foundation/base/result.h"
#include "foundation/runtime/time.h"

namespace fairlead::bench {

struct AttachmentSettings {
  std::string namespace_name;  // empty: the run's name
  std::size_t networks = 10;   // how many virtual networks
  double top_size = 100;       // attachments in the largest
  double exponent = 1;         // network i has (1 + bias) * top / (i + bias)^exponent
  double bias = 0;
  std::uint64_t attachments = 450;  // created in all; each is deleted again in the end
  double rate = 10;  // creates and deletes per second, together; 0: as fast as it goes
  std::optional<double> fill_rate;        // of the warm-up and the cool-down; nothing: the same
  bool poisson = false;                   // times between them: exponential instead of equal
  double subnet_size_factor = 1;          // blocks have room for so many times the network's size
  std::string base_address = "10.0.0.0";  // where every network's first block begins
  std::size_t subnets_per_network = 1;    // the places are shared out among them
  std::size_t connections = 8;
  std::vector<std::string> nodes;  // empty: every Node of the API
  std::string node_selector;       // of labels, for those of the API
  bool round_robin = false;        // nodes in turn, not by chance
  bool ping = false;  // each new attachment pings one before it (needs fabric and agents)
  std::string ping_program = "/usr/local/libexec/fairlead/ping-test";  // where make install puts it
  double test_fraction = 1;         // of the attachments; the others have no test
  std::uint32_t ping_count = 20;    // attempts of a test before it fails
  bool stop_on_failure = false;     // the first one of any kind ends the run
  Duration wait_after_create{0};    // with everything there, before the deletes begin
  Duration settle{10'000'000'000};  // for what is still to come, at the end of each part
  bool keep = false;
  int server_pid = 0;      // 0: unknown
  std::string csv;         // file: one line for each attachment
  std::string sizes_csv;   // file: one line for each network
  std::string prometheus;  // file: the figures in Prometheus' text format
  std::string report;      // file: plots of the run as HTML
};

// Fails with invalid and names the flag.
Result<AttachmentSettings> check_settings(AttachmentSettings settings);

struct PlannedNetwork {
  std::uint32_t vni = 0;
  std::vector<Cidr> blocks;  // of its subnets; disjoint
  std::size_t slots = 0;     // attachments at the same time, at most
};

// Largest first. The blocks overlap between networks, as tenants' do. `first_vni` is drawn.
std::vector<PlannedNetwork> plan_networks(const AttachmentSettings& settings,
                                          const RandomBits& random);

// "network,vni,places,blocks", a line for each.
std::string sizes_csv(const std::vector<PlannedNetwork>& networks);

// How many other attachments an attachment meets in its network, on average.
double average_peers(const std::vector<PlannedNetwork>& networks);

// One step of the load.
struct Step {
  enum class Kind { create, remove };
  Kind kind = Kind::create;
  std::uint64_t attachment = 0;  // its number
  std::size_t network = 0;
  std::size_t subnet = 0;  // of the network's
  bool tested = false;
};

// Warm-up (creates until every slot is taken), cruise (a delete makes room for each create), then
// cool-down (deletes), `attachments` creates in all. Which slots come first is drawn.
std::vector<Step> plan_steps(const AttachmentSettings& settings,
                             const std::vector<PlannedNetwork>& networks, const RandomBits& random);

// When each step is due, from the start, at that rate.
std::vector<Duration> plan_times(double rate, bool poisson, std::size_t steps,
                                 const RandomBits& random);

// Steps of one kind: [begin, end), each at its own rate.
struct Phase {
  const char* name;
  std::size_t begin = 0, end = 0;
  double rate = 0;
};

// Warm-up, cruise and cool-down of those steps; what has no steps is left out.
std::vector<Phase> plan_phases(const AttachmentSettings& settings, const std::vector<Step>& steps);

// What a run would do and how long it would take if everything answered at once, for people.
// `nodes`: how many there are; 0: not known.
std::string estimate_text(const AttachmentSettings& settings, std::size_t nodes,
                          const RandomBits& random);

}  // namespace fairlead::bench
