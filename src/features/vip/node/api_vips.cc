#include "features/vip/node/api_vips.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "features/vip/config/virtual_ip_check.h"
#include "features/vip/kinds/virtual_ip.h"

namespace fairlead::vip {
namespace {

constexpr std::size_t kMostGatesFromApi = 256;

// Takes the objects one after the other, and remembers what is taken.
class Merger {
 public:
  Merger(const VipPlan& file, const FromApi& rules) : file_(file), rules_(rules) {
    merged_.vips = file.vips;
    for (const VipEntry& entry : file.vips) of_file_.insert(entry.vip.address);
  }

  void take(const ApiVip& object) {
    if (!takes_part(object.spec, file_.node)) return;
    FieldErrors errors;
    const Result<VirtualIpSettings> settings = settings_for(object.spec, file_.node);
    if (!settings) return refuse_it(object, settings.error().message);
    std::optional<VipEntry> entry = check_virtual_ip("spec", *settings, errors);
    if (!entry) return refuse_it(object, resource::join_errors(errors));
    if (std::string problem = problem_of(*entry); !problem.empty())
      return refuse_it(object, std::move(problem));
    gates_ += entry->gates.size();
    merged_.names[entry->vip.address] = object.name;
    merged_.vips.push_back(std::move(*entry));
  }

  MergedVips merged() { return std::move(merged_); }

 private:
  void refuse_it(const ApiVip& object, std::string why) {
    merged_.refused[object.name] = std::move(why);
  }

  std::string problem_of(const VipEntry& entry) const {
    const Ip& address = entry.vip.address;
    if (of_file_.contains(address)) return "this node's file has the address, and counts";
    if (const auto other = merged_.names.find(address); other != merged_.names.end())
      return "VirtualIP " + other->second + " has the address, too, and is older";
    if (!rules_.addresses.empty() && std::ranges::none_of(rules_.addresses, [&](const Cidr& block) {
          return block.contains(address);
        }))
      return "the address is in none of virtualIPsFromAPI.addresses of this node's file";
    if (std::string own = own_address(address); !own.empty()) return own;
    if (!entry.elected()) return "anycast, and announce: external, are only for the agents' files";
    if (entry.announce == Announce::bgp && !file_.bgp)
      return "this node's file has no bgp: it has no routers to tell";
    if (std::string program = program_problem(entry); !program.empty()) return program;
    if (merged_.names.size() >= rules_.limit)
      return "this node follows " + std::to_string(rules_.limit) +
             " VirtualIPs already, which is virtualIPsFromAPI.limit of its file";
    if (gates_ + entry.gates.size() > kMostGatesFromApi)
      return "its health gates would be more than " + std::to_string(kMostGatesFromApi) +
             " of VirtualIPs on this node";
    return {};
  }

  std::string own_address(const Ip& address) const {
    for (const Member& member : file_.election.settings.members) {
      const Result<runtime::Endpoint> at = runtime::Endpoint::parse(member.address);
      if (at && at->host == address.to_string())
        return "the address is that of member " + member.name + ": a virtual IP is nobody's own";
    }
    return {};
  }

  bool may_run(const std::vector<std::string>& command) const {
    return command.empty() ||
           std::ranges::find(rules_.programs, command[0]) != rules_.programs.end();
  }
  std::string program_problem(const VipEntry& entry) const {
    const auto refused = [](const std::vector<std::string>& command) {
      return command[0] + " is not among virtualIPsFromAPI.allowedPrograms of this node's file";
    };
    if (!may_run(entry.notify)) return refused(entry.notify);
    for (const GateConfig& gate : entry.gates) {
      if (!may_run(gate.command)) return refused(gate.command);
      if (!gate.ca_file.empty()) return "health: caFile is a file of this node";
    }
    return {};
  }

  const VipPlan& file_;
  const FromApi& rules_;
  std::set<Ip> of_file_;
  MergedVips merged_;
  std::size_t gates_ = 0;
};

}  // namespace

Result<ApiVip> parse_api_vip(const Json& object) {
  ApiVip vip{.name = std::string(wire::find_string(object, "metadata.name")),
             .uid = std::string(wire::find_string(object, "metadata.uid")),
             .created = std::string(wire::find_string(object, "metadata.creationTimestamp")),
             .spec = {},
             .status = {}};
  const Json* spec = wire::find(object, "spec");
  if (vip.name.empty() || !spec || !spec->is_object())
    return fail(Code::invalid, "no name, or no spec");
  vip.spec = *spec;
  if (const Json* generation = wire::find(object, "metadata.generation");
      generation && generation->is_int64())
    vip.generation = generation->get_int64();
  if (const Json* status = wire::find(object, "status")) vip.status = *status;
  return vip;
}

Json to_json(const ApiVip& vip) {
  return JsonObject{{"metadata", JsonObject{{"name", vip.name},
                                            {"uid", vip.uid},
                                            {"creationTimestamp", vip.created},
                                            {"generation", vip.generation}}},
                    {"spec", vip.spec}};
}

MergedVips merge_vips(const VipPlan& file, std::vector<ApiVip> objects) {
  const FromApi none{.addresses = {}, .programs = {}, .limit = 0};
  Merger merger(file, file.from_api ? *file.from_api : none);
  std::ranges::sort(objects, {}, [](const ApiVip& vip) { return std::tie(vip.created, vip.name); });
  for (const ApiVip& object : objects) merger.take(object);
  return merger.merged();
}

}  // namespace fairlead::vip
