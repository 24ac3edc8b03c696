#include "api/backup/backup_download.h"

#include <memory>

#include "api/backup/backup_service.h"
#include "api/client/admin_access.h"
#include "api/client/rest_client.h"
#include "api/client/server_url.h"
#include "api/identity/authority.h"
#include "api/store/backup/file.h"
#include "foundation/http/client.h"

namespace fairlead::backup {
namespace {

constexpr Duration kAnswerTime = 30s;  // for the head and for every piece

Task<Result<Error>> read_refusal(http::ClientStream& stream, int status) {
  std::string text;
  while (text.size() < (64 << 10)) {
    FL_CO_TRY(const std::optional<Bytes> piece, co_await stream.read());
    if (!piece) break;
    text.append(piece->view());
  }
  const Result<wire::ParsedJson> parsed = wire::parse_json(text);
  const Json answer = parsed ? parsed->value : Json(JsonObject{{"message", text}});
  co_return client::error_of_status(status, answer);
}

// Checks and writes every piece as it comes.
Task<Result<store::BackupSummary>> receive(runtime::Runtime& runtime, http::ClientStream& stream,
                                           std::string path) {
  FL_CO_TRY(store::BackupFile file, store::BackupFile::create(path));
  store::BackupDecoder decoder;
  for (;;) {
    Task<Result<std::optional<Bytes>>> reading = stream.read();
    FL_CO_TRY(const std::optional<Bytes> piece,
              co_await runtime::with_timeout(runtime, kAnswerTime, std::move(reading)));
    if (!piece) break;
    FL_CO_CHECKED(file.append(piece->view()));
    decoder.feed(piece->view());
    for (;;) {
      FL_CO_TRY(const std::optional<store::KeyValue> item, decoder.next());
      if (!item) break;
    }
  }
  FL_CO_TRY(const store::BackupSummary summary, decoder.finish());
  FL_CO_CHECKED(file.commit());
  co_return summary;
}

}  // namespace

Task<Result<store::BackupSummary>> download_backup(runtime::Runtime& runtime, std::string folder,
                                                   std::string file) {
  FL_CO_TRY(const identity::ClientConfig config, client::read_admin_kubeconfig(runtime, folder));
  FL_CO_TRY(const client::ServerUrl url, client::parse_server_url(config.server));
  http::ClientOptions options{.endpoints = {url.endpoint}};
  options.tls = std::make_shared<identity::SwappableTls>(runtime::TlsCredentials{
      .trusted_ca = config.ca, .server_name = url.endpoint.host, .alpn = {"h2", "http/1.1"}});
  http::Client client(runtime, std::move(options));
  http::Request request{
      .target = std::string(kBackupPath),
      .authority = url.authority,
      .headers = {{"User-Agent", "fairlead-backup"}, {"Authorization", "Bearer " + config.token}}};
  Result<std::unique_ptr<http::ClientStream>> stream = co_await client.open(std::move(request));
  if (!stream) co_return fail(std::move(stream).error().context(config.server));
  Task<Result<http::ResponseHead>> waiting = (*stream)->head();
  Result<http::ResponseHead> head =
      co_await runtime::with_timeout(runtime, kAnswerTime, std::move(waiting));
  if (!head) co_return fail(std::move(head).error().context(config.server));
  if (head->status != 200) {
    FL_CO_TRY(const Error refusal, co_await read_refusal(**stream, head->status));
    co_return fail(refusal.context(config.server));
  }
  Result<store::BackupSummary> summary = co_await receive(runtime, **stream, std::move(file));
  stream->reset();
  client.close();
  if (!summary) co_return fail(std::move(summary).error().context("backup"));
  co_return summary;
}

}  // namespace fairlead::backup
