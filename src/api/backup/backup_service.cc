#include "api/backup/backup_service.h"

#include "api/store/backup/format.h"
#include "foundation/base/log.h"

namespace fairlead::backup {
namespace {

constexpr std::size_t kPageItems = 200;

}  // namespace

// A failure on the way ends the stream without the last line: whoever reads it notices.
Task<Result<>> BackupService::serve(apiserver::Request& request) {
  if (request.exchange.request().method != "GET") {
    const Error wrong{Code::unsupported, "only GET is possible on this path"};
    co_return co_await send_status(request, apimachinery::status_of(wrong));
  }
  store::ListOptions options{.limit = kPageItems};
  Result<store::Listing> page = co_await store_.list("", options);
  if (!page) co_return co_await send_status(request, apimachinery::status_of(page.error()));
  store::BackupEncoder encoder(page->revision);
  FL_CO_CHECKED(
      co_await request.exchange.start(apiserver::stream_head(request, "application/octet-stream")));
  FL_CO_CHECKED(co_await request.exchange.write(Bytes(encoder.begin())));
  for (;;) {
    std::string text;
    for (const store::KeyValue& item : page->items) text += encoder.item(item);
    if (!text.empty()) {
      FL_CO_CHECKED(co_await request.exchange.write(Bytes(std::move(text))));
    }
    if (!page->more) break;
    options.at = page->revision;
    options.after = page->items.back().key;
    page = co_await store_.list("", options);
    if (!page) {
      log::warning("backup broken off", {{"error", page.error().to_string()}});
      co_return fail(std::move(page).error());
    }
  }
  FL_CO_CHECKED(co_await request.exchange.write(Bytes(encoder.end())));
  log::info("backup sent",
            {{"revision", encoder.summary().revision}, {"items", encoder.summary().items}});
  co_return co_await request.exchange.finish();
}

}  // namespace fairlead::backup
