#include "node/fabric/vxlan/vxlan_host.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <unordered_map>

#include "foundation/base/log.h"
#include "node/fabric/names.h"

namespace fairlead::fabric::vxlan {
namespace {

constexpr std::string_view kDeviceAlias = "fairlead";

}  // namespace

Result<> VxlanHost::observe_mtu() {
  const Result<Link> underlay = links_->with_address(options_.local);
  if (!underlay) return fail(underlay.error().context("tunnel end"));
  watch_->set_underlay(underlay->ifindex, underlay->mtu);
  const Result<std::uint32_t> mtu =
      plan_mtu(options_.underlay_mtu ? options_.underlay_mtu : underlay_mtu(*underlay),
               options_.local.is_v4());
  if (!mtu) return fail(mtu.error().context(underlay->name));
  mtu_ = *mtu;
  return {};
}

Result<> VxlanHost::open() {
  if (!links_) {
    FL_TRY(links_, Links::open());
  }
  if (!watch_) {
    FL_TRY(watch_, LinkWatch::open());
  }
  FL_CHECKED(observe());
  FL_CHECKED(ensure_tunnel());
  return {};
}

// Everything anew: underlay, ends, filters, maps.
Result<> VxlanHost::observe() {
  if (const Result<> observed = observe_mtu(); !observed) {
    if (mtu_ == 0) return observed;
    // An underlay that is being changed is no reason to leave the rest alone.
    log::warning("the MTU of virtual networks stays as it is",
                 {{"error", observed.error().to_string()}});
  }
  FL_CHECKED(observe_ends());
  if (!datapath_) {
    std::vector<std::uint32_t> ours;
    if (const Result<Link> device = links_->find(options_.device)) ours.push_back(device->ifindex);
    for (const auto& [id, end] : ends_) ours.push_back(end.ifindex);
    FL_TRY(datapath_, Datapath::open(ours, options_.sizes));
  }
  for (auto& [id, end] : ends_) {
    FL_TRY(end.guard, datapath_->guard_of(end.ifindex, Program::from_guest));
  }
  holdings_ = {};
  for (const Table table : kTables) {
    FL_CHECKED(datapath_->each(table, [&](Entry entry) { holdings_.put(std::move(entry)); }));
  }
  return {};
}

// Brings ends_ up to date in place, all but the guards: with a thousand of them a second list, of
// this host's interfaces or of ends, would be a good part of what the agent holds.
Result<> VxlanHost::observe_ends() {
  half_made_.clear();
  std::map<std::uint32_t, std::uint32_t> mtus;          // by ifindex
  std::unordered_map<const End*, std::uint32_t> peers;  // ifindex of the guest's half, of all seen
  FL_CHECKED(links_->each([&](Link link) {
    mtus.emplace(link.ifindex, link.mtu);
    std::optional<Station> station = parse_alias(options_.device, link.alias);
    // Somebody gave the alias to another interface, or the end another name: then it is not ours.
    if (!station || link.kind != "veth" || host_interface_name(station->interface) != link.name) {
      // Another fabric on this host may be at work on the like.
      if (is_half_made(link) && link.maker == Maker::vxlan) half_made_.push_back(link.ifindex);
      return;
    }
    const auto at = ends_.try_emplace(station->id).first;
    End& end = at->second;
    end.ifindex = link.ifindex;
    end.up = link.up;
    end.mtu = link.mtu;
    if (end.station != *station) end.station = *std::move(station);
    peers.emplace(&end, link.peer);
  }));
  std::erase_if(ends_, [&](const auto& end) { return !peers.contains(&end.second); });
  for (auto& [id, end] : ends_) {
    const auto guest = mtus.find(peers.at(&end));
    end.guest.reset();
    if (guest != mtus.end()) end.guest = GuestEnd{.ifindex = guest->first, .mtu = guest->second};
    watch_->add(end.ifindex);
  }
  return {};
}

// The VXLAN device as it must be. One that is ours but of another shape is made anew.
Result<Link> VxlanHost::ensure_device() {
  Result<Link> device = links_->find(options_.device);
  if (!device && device.error().code != Code::not_found) return device;
  if (device) {
    const bool shape =
        device->kind == "vxlan" && device->metadata && device->udp_port == options_.port;
    const bool ours = device->alias == kDeviceAlias || (device->alias.empty() && !device->up);
    if (shape && ours) return device;
    if (!ours)
      return fail(Code::already_exists,
                  "interface " + options_.device + " exists and is not of this fabric");
    const std::uint32_t ifindex = device->ifindex;
    FL_CHECKED(remove_links({&ifindex, 1}));
  }
  return links_->make_vxlan(options_.device, options_.port, mtu_);
}

// Gives whether something had to be mended. Order: nothing comes in before it is filtered.
Result<bool> VxlanHost::ensure_tunnel() {
  FL_TRY(const Link device, ensure_device());
  device_ = device.ifindex;
  bool mended = false;
  fl_tunnel wanted{.generation = FL_GENERATION,
                   .ifindex = device.ifindex,
                   .family = options_.local.is_v4() ? 4U : 6U};
  std::ranges::copy(address_bytes(options_.local), wanted.local);
  FL_TRY(const fl_tunnel held, datapath_->tunnel());
  if (std::memcmp(&held, &wanted, sizeof(wanted)) != 0) {
    FL_CHECKED(datapath_->set_tunnel(wanted));
    mended = true;
  }
  FL_TRY(const Guard guard, datapath_->guard_of(device.ifindex, Program::from_tunnel));
  // An older guard goes on with its own maps until an audit has filled ours.
  if (guard == Guard::none) {
    FL_CHECKED(datapath_->attach(device.ifindex, Program::from_tunnel));
    mended = true;
  }
  if (device.mtu != mtu_) {
    FL_CHECKED(links_->set_mtu(device.ifindex, mtu_));
    mended = true;
  }
  if (device.alias.empty()) {
    FL_CHECKED(links_->set_alias(device.ifindex, std::string(kDeviceAlias)));
  }
  if (!device.up) {
    // That is when the kernel takes the port.
    if (const Result<> raised = links_->raise(device.ifindex, {}); !raised)
      return fail(raised.error().context(options_.device + " on UDP port " +
                                         std::to_string(options_.port)));
    mended = true;
  }
  watch_->add(device.ifindex);
  return mended;
}

bool VxlanHost::complete(const End& end) const {
  if (!end.up || end.guard == Guard::none) return false;
  return plan_entries(entries_of(end.station, end.ifindex), owner_of(end.station.id), holdings_)
      .nothing();
}

std::vector<Station> VxlanHost::local_stations() const {
  std::vector<Station> stations;
  for (const auto& [id, end] : ends_)
    if (complete(end)) stations.push_back(end.station);
  return stations;
}

Result<> VxlanHost::check(const Station& station) const {
  FL_CHECKED(check_host(station));
  if (!station.local() && station.host.is_v4() != options_.local.is_v4())
    return fail(Code::unsupported,
                "host " + station.host.to_string() +
                    " is of another address family than this host's tunnel end " +
                    options_.local.to_string());
  return {};
}

Result<> VxlanHost::carry(const EntryPlan& plan) {
  for (const Entry& entry : plan.put) {
    FL_CHECKED(datapath_->put(entry));
    holdings_.put(entry);
  }
  for (const EntryKey& key : plan.drop) {
    FL_CHECKED(datapath_->drop(key));
    holdings_.drop(key);
  }
  return {};
}

Result<> VxlanHost::make_end(const Station& station) {
  FL_TRY(const std::string alias, encode_alias(options_.device, station));
  const Links::Veth veth{.host_end = host_interface_name(station.interface),
                         .guest_end = station.interface,
                         .guest_mac = station.mac,
                         .mtu = mtu_,
                         .maker = Maker::vxlan};
  FL_TRY(const Link made, links_->make_veth(veth));
  ends_.insert_or_assign(station.id,
                         End{.ifindex = made.ifindex, .station = station, .mtu = made.mtu});
  return links_->set_alias(made.ifindex, alias);
}

// Order: the host end always takes what the guest's may send.
Result<> VxlanHost::resize(End& end, const EndPlan& plan) {
  const std::uint32_t mtu = mtu_;
  if (plan.resize && end.mtu < mtu) {
    FL_CHECKED(links_->set_mtu(end.ifindex, mtu));
  }
  if (plan.resize_guest) {
    const Result<> set = links_->set_mtu(end.guest->ifindex, mtu);
    if (!set && set.error().code != Code::not_found) return set;  // just moved away: the guest's
    end.guest->mtu = mtu;
  }
  if (plan.resize && end.mtu > mtu) {
    FL_CHECKED(links_->set_mtu(end.ifindex, mtu));
  }
  if (plan.resize) end.mtu = mtu;
  return {};
}

// Order: an end is up only with a filter, and filtered only with its entries.
Result<> VxlanHost::bring_end(const Station& station, const EndPlan& plan,
                              const EntryPlan& entries) {
  End& end = ends_.at(station.id);
  if (plan.describe) {
    FL_TRY(const std::string alias, encode_alias(options_.device, station));
    FL_CHECKED(links_->set_alias(end.ifindex, alias));
    end.station = station;
  }
  FL_CHECKED(carry(entries));
  FL_CHECKED(resize(end, plan));
  if (plan.make || plan.guard) {
    FL_CHECKED(datapath_->attach(end.ifindex, Program::from_guest));
    end.guard = Guard::current;
  }
  if (plan.make || plan.raise) {
    FL_CHECKED(links_->raise(end.ifindex, {}));
    end.up = true;
  }
  watch_->add(end.ifindex);
  return {};
}

Outcome VxlanHost::bring(const Desired& wanted, const std::string& id, Extent extent,
                         std::vector<std::uint32_t>& leaving, bool& changed) {
  Outcome outcome{.id = id, .result = {}};
  const auto station = wanted.find(id);
  const Station* should = station == wanted.end() ? nullptr : &station->second;
  if (should) {
    outcome.result = check(*should);
    if (!outcome.result) {  // and nothing goes where it was before
      [[maybe_unused]] const Result<> dropped = carry(plan_entries({}, owner_of(id), holdings_));
      return outcome;
    }
  }
  const auto end = ends_.find(id);
  const EndPlan plan = plan_end(should, end == ends_.end() ? nullptr : &end->second, mtu_, extent);
  changed = !plan.nothing();
  const Owner owner = owner_of(id);
  if (plan.remove) {
    outcome.result = carry(plan_entries({}, owner, holdings_));
    if (!outcome.result) return outcome;
    // A name that is needed again at once cannot wait for the others.
    watch_->forget(end->second.ifindex);
    if (plan.make)
      outcome.result = remove_links({&end->second.ifindex, 1});
    else
      leaving.push_back(end->second.ifindex);
    if (!outcome.result) return outcome;
    ends_.erase(end);
  }
  if (plan.make) {
    outcome.result = make_end(*should);
    outcome.made_interface = outcome.result.has_value();
  }
  if (outcome.result) {
    const bool local = should && should->local();
    std::vector<Entry> entries;
    if (should) entries = entries_of(*should, local ? ends_.at(id).ifindex : 0);
    const EntryPlan entry_plan = plan_entries(entries, owner, holdings_);
    changed |= !entry_plan.nothing();
    outcome.result = local ? bring_end(*should, plan, entry_plan) : carry(entry_plan);
  }
  if (!outcome.result && plan.make && ends_.contains(id)) {  // nothing half made stays
    [[maybe_unused]] const Result<> dropped = carry(plan_entries({}, owner, holdings_));
    [[maybe_unused]] const Result<> removed = remove_links({&ends_.at(id).ifindex, 1});
    ends_.erase(id);
    outcome.made_interface = false;
  }
  if (!outcome.result) outcome.result = fail(outcome.result.error().context("station " + id));
  return outcome;
}

Result<> VxlanHost::remove_links(std::span<const std::uint32_t> ifindexes) {
  if (ifindexes.empty()) return {};
  for (const std::uint32_t ifindex : ifindexes) watch_->forget(ifindex);
  return links_->remove(ifindexes);
}

std::vector<Outcome> VxlanHost::apply(const Desired& wanted, std::span<const std::string> ids) {
  std::vector<Outcome> outcomes;
  std::vector<std::uint32_t> leaving;
  std::vector<std::size_t> leavers;
  for (const std::string& id : ids) {
    const std::size_t before = leaving.size();
    bool changed = false;
    outcomes.push_back(bring(wanted, id, Extent::station, leaving, changed));
    if (leaving.size() > before) leavers.push_back(outcomes.size() - 1);
  }
  if (const Result<> removed = remove_links(leaving); !removed)
    for (const std::size_t leaver : leavers) outcomes[leaver].result = removed;
  return outcomes;
}

Result<VxlanHost::Auditing> VxlanHost::begin_audit() {
  Auditing auditing;
  FL_CHECKED(observe());
  FL_TRY(const bool mended, ensure_tunnel());
  auditing.found.missing += mended ? 1 : 0;
  auditing.leaving = half_made_;
  auditing.found.unexpected += half_made_.size();
  return auditing;
}

// The entries of every station that exists, before any filter is replaced by one with other maps:
// it must find all of them there. What fails here fails again when the station is brought.
void VxlanHost::fill(const Desired& part, Auditing& auditing) {
  for (const std::string& id : ids_of(part)) {
    auditing.known.push_back(owner_of(id));
    const Station& station = part.find(id)->second;
    const auto end = ends_.find(id);
    if (!check(station) || (station.local() && end == ends_.end())) continue;
    if (station.local() && plan_end(&station, &end->second, mtu_, Extent::host).remove) continue;
    const EntryPlan plan = plan_entries(
        entries_of(station, station.local() ? end->second.ifindex : 0), owner_of(id), holdings_);
    if (!plan.nothing()) auditing.missing.insert(id);
    [[maybe_unused]] const Result<> carried = carry(plan);
  }
}

void VxlanHost::mend(const Desired& part, std::span<const std::string> ids, Auditing& auditing) {
  for (const std::string& id : ids) {
    bool changed = false;
    Outcome outcome = bring(part, id, Extent::host, auditing.leaving, changed);
    if (changed && part.contains(id)) auditing.missing.insert(id);
    if (outcome.result && outcome.made_interface) auditing.found.made.push_back(id);
    if (!outcome.result) auditing.found.failed.push_back(std::move(outcome));
  }
}

void VxlanHost::remove_surplus(Auditing& auditing) {
  std::ranges::sort(auditing.known);
  std::vector<std::string> surplus;
  for (const auto& [id, end] : ends_)
    if (!std::ranges::binary_search(auditing.known, owner_of(id))) surplus.push_back(id);
  auditing.found.unexpected += surplus.size();
  mend({}, surplus, auditing);
}

Result<Audit> VxlanHost::end_audit(Auditing& auditing) {
  Audit& found = auditing.found;
  found.missing += auditing.missing.size();
  for (const Owner owner : holdings_.owners()) {
    if (std::ranges::binary_search(auditing.known, owner)) continue;
    ++found.unexpected;
    FL_CHECKED(carry(plan_entries({}, owner, holdings_)));
  }
  FL_TRY(const Guard guard, datapath_->guard_of(device_, Program::from_tunnel));
  if (guard != Guard::current) {
    FL_CHECKED(datapath_->attach(device_, Program::from_tunnel));
    ++found.missing;
  }
  FL_CHECKED(remove_links(auditing.leaving));
  return std::move(found);
}

Result<> VxlanHost::dismantle() {
  FL_CHECKED(observe());
  std::vector<std::uint32_t> leaving = half_made_;
  for (const auto& [id, end] : ends_) leaving.push_back(end.ifindex);
  const Result<Link> device = links_->find(options_.device);
  if (device && device->alias == kDeviceAlias) leaving.push_back(device->ifindex);
  FL_CHECKED(remove_links(leaving));
  ends_.clear();
  half_made_.clear();
  holdings_ = {};
  datapath_.reset();
  return {};
}

Result<Counters> VxlanHost::counters() const {
  if (!datapath_) return fail(Code::unavailable, "not open");
  return datapath_->counters();
}

}  // namespace fairlead::fabric::vxlan
