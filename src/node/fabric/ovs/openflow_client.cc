#include "node/fabric/ovs/openflow_client.h"

#include <chrono>
#include <utility>

namespace fairlead::fabric::ovs {
namespace {

namespace of = wire::openflow;
constexpr std::chrono::seconds kPatience{30};
constexpr std::uint32_t kHello = 0;  // awaited under the number that no request has

}  // namespace

OpenFlowClient::OpenFlowClient(runtime::Runtime& runtime, runtime::Endpoint bridge, OnEnd on_end)
    : runtime_(runtime),
      bridge_(std::move(bridge)),
      dialogue_(
          runtime, {.name = "openflow", .patience = kPatience},
          [this](std::string_view piece) { return consume(piece); }, std::move(on_end)) {}

Task<Result<>> OpenFlowClient::connect() {
  auto stream = co_await runtime_.connect(bridge_, nullptr);
  if (!stream)
    co_return fail(std::move(stream).error().context("openflow: " + bridge_.to_string()));
  reader_ = {};
  greeted_ = false;
  dialogue_.open(std::move(*stream));
  auto hello = co_await dialogue_.ask(kHello, of::encode_hello(++last_xid_));
  if (!hello) co_return fail(std::move(hello).error().context("hello"));
  greeted_ = true;
  co_return Result<>{};
}

Task<std::optional<OpenFlowClient::Refusal>> OpenFlowClient::commit(
    std::vector<of::FlowMod> changes) {
  if (!connected()) co_return Refusal{{Code::unavailable, "openflow: not connected"}, std::nullopt};
  const std::uint32_t bundle = ++last_bundle_;
  refusal_.reset();
  std::string bytes =
      of::encode_bundle_control(++last_xid_, {bundle, of::BundleStep::open_request});
  first_change_ = last_xid_ + 1;
  changes_ = changes.size();
  for (const of::FlowMod& change : changes) {
    const std::uint32_t xid = ++last_xid_;
    bytes += of::encode_bundle_add(xid, bundle, of::encode_flow_mod(xid, change));
  }
  // A change that is refused now is not in the bundle, and the switch would commit the others.
  const std::uint32_t barrier = ++last_xid_;
  bytes += of::encode_barrier_request(barrier);
  Result<bool> done = co_await dialogue_.ask(barrier, std::move(bytes));
  if (done) {
    const auto step = refusal_ ? of::BundleStep::discard_request : of::BundleStep::commit_request;
    const std::uint32_t xid = ++last_xid_;
    done = co_await dialogue_.ask(xid, of::encode_bundle_control(xid, {bundle, step}));
  }
  changes_ = 0;
  if (refusal_) co_return std::move(refusal_);
  if (done) co_return std::nullopt;
  co_return Refusal{done.error().context("openflow: bundle"), std::nullopt};
}

Task<Result<>> OpenFlowClient::barrier() {
  const std::uint32_t xid = ++last_xid_;
  const auto done = co_await dialogue_.ask(xid, of::encode_barrier_request(xid));
  if (!done) co_return fail(done.error().context("openflow: barrier"));
  co_return Result<>{};
}

Task<Result<>> OpenFlowClient::dump(std::function<void(const of::Flow&)> each) {
  const std::uint32_t xid = ++last_xid_;
  dumped_ = std::move(each);
  const auto done = co_await dialogue_.ask(xid, of::encode_flow_stats_request(xid, 0, 0));
  dumped_ = nullptr;
  if (!done) co_return fail(done.error().context("openflow: dump"));
  co_return Result<>{};
}

Result<> OpenFlowClient::consume(std::string_view piece) {
  reader_.append(piece);
  for (;;) {
    FL_TRY(const std::optional<of::Message> message, reader_.next());
    if (!message) return {};
    FL_CHECKED(receive(*message));
  }
}

Result<> OpenFlowClient::receive(const of::Message& message) {
  switch (message.type) {
    case of::Type::hello:
      if (!of::offers_version(message))
        return fail(Code::unsupported, "the bridge does not speak OpenFlow 1.4");
      dialogue_.answer(kHello, true);
      return {};
    case of::Type::echo_request:
      dialogue_.send(of::encode_echo_reply(message.xid, message.body));
      return {};
    case of::Type::error:
      refused(message.xid, message.body);
      return {};
    case of::Type::bundle_control:
    case of::Type::barrier_reply:
      dialogue_.answer(message.xid, true);
      return {};
    case of::Type::multipart_reply: {
      if (!dialogue_.awaits(message.xid) || !dumped_) return {};
      FL_TRY(const of::FlowStats stats, of::decode_flow_stats_reply(message.body));
      for (const of::Flow& flow : stats.flows) dumped_(flow);
      if (!stats.more) dialogue_.answer(message.xid, true);
      return {};
    }
    default:
      return {};  // what a switch tells unasked
  }
}

void OpenFlowClient::refused(std::uint32_t xid, std::string_view body) {
  const auto failure = of::decode_error(body);
  const Error error{Code::internal, "openflow: " + (failure ? failure->text() : "refused")};
  const std::uint32_t change = xid - first_change_;
  if (change < changes_ && !refusal_) refusal_ = Refusal{error, change};
  dialogue_.answer(xid, fail(error));
}

}  // namespace fairlead::fabric::ovs
