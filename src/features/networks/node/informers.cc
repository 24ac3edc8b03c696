#include "features/networks/node/informers.h"

#include "foundation/base/log.h"

namespace fairlead::networks {
namespace {

client::ReflectorOptions options_of(const Source& source, const std::string& node) {
  client::ReflectorOptions options{.resource = {.group = std::string(resource::kFairleadGroup),
                                                .version = std::string(resource::kFairleadVersion),
                                                .plural = "networkattachments"},
                                   .page = 200,
                                   .newest = true};
  if (source) {
    options.namespace_name = source->namespace_name;
    options.field_selector =
        "status.addressVNI=" + std::to_string(source->vni) + ",spec.node!=" + node;
  } else {
    options.field_selector = "spec.node=" + node;
  }
  return options;
}

}  // namespace

class Informers::Watch final : client::ObjectSink {
 public:
  Watch(runtime::Runtime& runtime, client::RestClient& client, Source source,
        const std::string& node, const Ip& host, AttachmentEvents& events)
      : source_(std::move(source)),
        node_(node),
        host_(host),
        events_(events),
        started_(runtime.now()),
        wall_started_(runtime.wall_now()),
        reflector_(runtime, client, options_of(source_, node), *this),
        scope_(runtime) {
    scope_.spawn(reflector_.run());
  }

  bool synced() const { return synced_; }
  bool failing() const { return reflector_.failing(); }
  Instant started() const { return started_; }
  WallTime wall_started() const { return wall_started_; }
  void stop() {
    stopped_ = true;
    scope_.cancel();
  }
  Task<void> join() { return scope_.join(); }

 private:
  void replace(std::vector<Json> objects, const std::string& version) override {
    if (stopped_) return;
    std::vector<Attachment> all;
    for (const Json& object : objects)
      if (std::optional<Attachment> attachment = parse(object))
        all.push_back(std::move(*attachment));
    objects.clear();
    synced_ = true;
    events_.replaced(source_, std::move(all), parse_version(version));
  }
  void put(const Json& object) override {
    if (stopped_) return;
    if (std::optional<Attachment> attachment = parse(object))
      events_.put(source_, std::move(*attachment));
  }
  void erase(const Json& last_state) override {
    if (stopped_) return;
    if (std::optional<Attachment> attachment = parse(last_state))
      events_.erased(source_, std::move(*attachment));
  }
  void reached(const std::string& version) override {
    if (!stopped_) events_.reached(source_, parse_version(version));
  }
  std::optional<Attachment> parse(const Json& object) const {
    Result<Attachment> attachment = parse_attachment(object, node_, host_);
    if (attachment) return std::move(*attachment);
    log::warning("attachment skipped", {{"error", attachment.error().message}});
    return std::nullopt;
  }

  Source source_;
  const std::string& node_;
  const Ip& host_;
  AttachmentEvents& events_;
  Instant started_;
  WallTime wall_started_;
  bool synced_ = false;
  bool stopped_ = false;
  client::Reflector reflector_;
  runtime::Scope scope_;
};

Informers::Informers(runtime::Runtime& runtime, client::RestClient& client, std::string node,
                     Ip host, AttachmentEvents& events)
    : runtime_(runtime),
      client_(client),
      node_(std::move(node)),
      host_(host),
      events_(events),
      ending_(runtime) {}

Informers::~Informers() = default;

void Informers::start(const Source& source) {
  auto watch = std::make_unique<Watch>(runtime_, client_, source, node_, host_, events_);
  if (source) {
    networks_[*source] = std::move(watch);
  } else {
    local_ = std::move(watch);
  }
}

void Informers::stop(const Network& network) {
  const auto at = networks_.find(network);
  if (at == networks_.end()) return;
  at->second->stop();
  ending_.spawn(end(std::move(at->second)));
  networks_.erase(at);
}

Task<void> Informers::end(std::unique_ptr<Watch> watch) { co_await watch->join(); }

std::vector<Network> Informers::networks() const {
  std::vector<Network> networks;
  for (const auto& [network, watch] : networks_) networks.push_back(network);
  return networks;
}

bool Informers::all_synced() const {
  if (!local_ || !local_->synced()) return false;
  for (const auto& [network, watch] : networks_)
    if (!watch->synced()) return false;
  return true;
}

std::size_t Informers::count() const { return networks_.size() + (local_ ? 1 : 0); }

std::size_t Informers::failing() const {
  std::size_t count = local_ && local_->failing() ? 1 : 0;
  for (const auto& [network, watch] : networks_) count += watch->failing() ? 1 : 0;
  return count;
}

Instant Informers::started(const Network& network) const {
  const auto at = networks_.find(network);
  return at == networks_.end() ? Instant{} : at->second->started();
}

WallTime Informers::wall_started(const Network& network) const {
  const auto at = networks_.find(network);
  return at == networks_.end() ? WallTime::max() : at->second->wall_started();
}

Task<void> Informers::close() {
  for (const Network& network : networks()) stop(network);
  if (local_) {
    local_->stop();
    ending_.spawn(end(std::move(local_)));
  }
  co_await ending_.join();
}

}  // namespace fairlead::networks
