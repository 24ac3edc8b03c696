#include "features/networks/node/status_writer.h"

namespace fairlead::networks {
namespace {

// The second keeps going while the first waits for an answer; more would only make smaller batches.
constexpr int kWorkers = 2;
constexpr std::size_t kBatch = 40;
constexpr Duration kAlone = 1min;
constexpr runtime::BackOff::Limits kRetries{.first = 200ms, .longest = 30s};
const client::ResourceName kAttachments{std::string(resource::kFairleadGroup),
                                        std::string(resource::kFairleadVersion),
                                        "networkattachments", true};

Json operation_of(const StatusWrite& write) {
  return JsonObject{{"verb", "patchStatus"},
                    {"apiVersion", std::string(resource::kFairleadGroup) + "/" +
                                       std::string(resource::kFairleadVersion)},
                    {"kind", "NetworkAttachment"},
                    {"namespace", write.subject.namespace_name()},
                    {"name", write.subject.name()},
                    {"patch", write.patch}};
}

// The server was not reached, or not in time: nothing is wrong with what was to be written.
bool is_about_the_server(Code code) {
  return code == Code::unavailable || code == Code::timeout || code == Code::io ||
         code == Code::exhausted || code == Code::cancelled;
}

}  // namespace

StatusWriter::StatusWriter(runtime::Runtime& runtime, client::RestClient& client,
                           NetworksMetrics& metrics, Plan plan, Written written)
    : runtime_(runtime),
      client_(client),
      metrics_(metrics),
      plan_(std::move(plan)),
      written_(std::move(written)),
      queue_(runtime, metrics.queues.of("status"), kRetries) {}

Task<void> StatusWriter::run() {
  co_await control::run_batches<std::string>(
      runtime_, queue_, {.name = "status", .workers = kWorkers, .batch = kBatch},
      [this](Batch& batch) { return work(batch); });
}

Task<void> StatusWriter::work(Batch& batch) {
  std::vector<Item> items;
  // Many keys need no write: their status came back as it was written. Others take their places, so
  // that the batches stay large.
  for (std::size_t i = 0; i < batch.keys().size(); ++i) {
    const std::string uid = batch.keys()[i];
    if (std::optional<StatusWrite> write = plan_(uid)) {
      items.push_back({uid, std::move(*write)});
    } else {
      batch.finish(uid, {});
      batch.take_another();
    }
  }
  co_await write_all(batch, std::move(items));
}

Task<void> StatusWriter::write_all(Batch& batch, std::vector<Item> items) {
  if (items.size() > 1 && runtime_.now() >= alone_until_) {
    const Instant start = runtime_.now();
    const Result<Json> result = co_await write_together(items);
    const Json* objects = result ? wire::find(*result, "results") : nullptr;
    if (objects && objects->is_array() && objects->get_array().size() == items.size()) {
      for (std::size_t i = 0; i < items.size(); ++i) {
        written_(objects->get_array()[i]);
        finish(batch, items[i], {}, "ok", start);
      }
      co_return;
    }
    // A refusal may be about one of them, or about transactions.
    const Code code = result ? Code::unsupported : result.error().code;
    if (is_about_the_server(code)) {
      for (const Item& item : items) finish(batch, item, fail(result.error()), "err", start);
      co_return;
    }
    if (code == Code::unsupported || code == Code::forbidden)
      alone_until_ = runtime_.now() + kAlone;
  }
  for (Item& item : items) co_await write_alone(batch, std::move(item));
}

Task<Result<Json>> StatusWriter::write_together(const std::vector<Item>& items) {
  JsonArray operations;
  for (const Item& item : items) operations.push_back(operation_of(item.write));
  co_return co_await client_.transact(std::move(operations));
}

Task<void> StatusWriter::write_alone(Batch& batch, Item item) {
  const Attachment& subject = item.write.subject;
  const Instant start = runtime_.now();
  const Result<Json> written = co_await client_.patch(
      kAttachments, std::string(subject.namespace_name()), std::string(subject.name()),
      client::PatchKind::merge, std::move(item.write.patch), "status");
  if (written) {
    written_(*written);
    finish(batch, item, {}, "ok", start);
  } else if (written.error().code == Code::not_found) {
    finish(batch, item, {}, "nf", start);  // deleted: its informer says so, too
  } else {
    // A conflict is another object of the same name, about which the informer has not said anything
    // yet.
    finish(batch, item, fail(written.error()), "err", start);
  }
}

void StatusWriter::finish(Batch& batch, const Item& item, const Result<>& outcome,
                          std::string_view told, Instant start) {
  if (outcome || outcome.error().code != Code::cancelled)
    metrics_.status_written(item.write.subject, item.write.news, told, runtime_.now() - start,
                            runtime_.wall_now());
  if (outcome) return batch.finish(item.uid, {});
  batch.finish(item.uid, fail(outcome.error().context("status of " + item.write.subject.key)));
}

}  // namespace fairlead::networks
