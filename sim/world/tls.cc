#include "sim/world/tls.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "sim/world/certificates.h"
#include "sim/world/machine.h"

namespace fairlead::sim {
namespace {

using runtime::Stream;
using runtime::TlsCredentials;

// Looks like the beginning of a TLS record, so that parsers of plain protocols refuse it at once.
constexpr std::string_view kRecordStart("\x16\x03\x03", 3);
enum class Record : char { client_hello = 1, server_hello = 2, finished = 20, alert = 21 };
constexpr std::size_t kRecordSize = 12;  // start, kind, number

std::array<char, kRecordSize> encode_record(Record kind, std::uint64_t number) {
  std::array<char, kRecordSize> record;
  std::copy(kRecordStart.begin(), kRecordStart.end(), record.begin());
  record[3] = static_cast<char>(kind);
  std::memcpy(record.data() + 4, &number, 8);
  return record;
}

class TlsStream final : public Stream {
 public:
  TlsStream(TlsLayer& layer, Machine& machine, std::unique_ptr<Stream> plain)
      : layer_(layer), machine_(machine), plain_(std::move(plain)) {
    peer_.address = plain_->peer().address;
    peer_.tls = true;
  }

  void serve_with(std::shared_ptr<const TlsCredentials> credentials) {
    credentials_ = std::move(credentials);
  }

  Task<Result<>> handshake() override {
    if (established_ || !credentials_) co_return Result<>{};
    Result<> done = co_await serve();
    if (!done) co_return refuse(std::move(done).error());
    established_ = true;
    co_return Result<>{};
  }

  Task<Result<>> connect(std::shared_ptr<const TlsCredentials> credentials, std::string host) {
    Result<> done = co_await call(std::move(credentials), std::move(host));
    if (!done) co_return refuse(std::move(done).error());
    established_ = true;
    co_return Result<>{};
  }

  Task<Result<std::size_t>> read(std::span<char> into) override {
    if (Result<> ready = co_await handshake(); !ready) co_return fail(std::move(ready).error());
    co_return co_await plain_->read(into);
  }
  Task<Result<>> write(std::string_view bytes) override {
    if (Result<> ready = co_await handshake(); !ready) co_return fail(std::move(ready).error());
    co_return co_await plain_->write(bytes);
  }
  Task<Result<>> shutdown_write() override { return plain_->shutdown_write(); }
  void close() override { plain_->close(); }
  const runtime::PeerInfo& peer() const override { return peer_; }

 private:
  // As in production, a failed handshake is `unavailable` whatever its reason; cancelled stays
  // that.
  std::unexpected<Error> refuse(Error error) {
    plain_->close();
    if (error.code == Code::unauthorized || error.code == Code::corrupt)
      error.code = Code::unavailable;
    return fail(std::move(error).context("TLS handshake with " + peer_.address));
  }

  Task<Result<>> serve() {
    FL_CO_CHECKED(check_own_credentials(*credentials_));
    TlsLayer::Hello client;
    FL_CO_CHECKED(co_await receive(Record::client_hello, client));
    const std::vector<std::string>& own = credentials_->alpn;
    const std::vector<std::string>& offered = client.credentials->alpn;
    if (!own.empty() && !offered.empty()) {
      const auto chosen = std::ranges::find_first_of(own, offered);
      if (chosen == own.end()) co_return fail(Code::unavailable, "no application protocol");
      peer_.alpn = *chosen;
    }
    const bool asks = !credentials_->trusted_ca.empty();
    TlsLayer::Hello hello{.credentials = credentials_, .alpn = peer_.alpn};
    FL_CO_CHECKED(co_await send(Record::server_hello, std::move(hello)));
    TlsLayer::Hello finished;
    FL_CO_CHECKED(co_await receive(Record::finished, finished));
    if (asks && !client.credentials->certificate_chain.empty()) {
      const std::string& chain = client.credentials->certificate_chain;
      peer_.certificate = leaf_certificate(chain);
      peer_.certificate_bytes = chain.size() * 3 / 4;  // it is base64
      peer_.certificate_trusted = check_certificate(chain, credentials_->trusted_ca,
                                                    CertificateUse::client, {}, machine_.wall_now())
                                      .has_value();
    }
    co_return Result<>{};
  }

  Task<Result<>> call(std::shared_ptr<const TlsCredentials> credentials, std::string host) {
    if (!credentials->certificate_chain.empty()) {
      FL_CO_CHECKED(check_own_credentials(*credentials));
    }
    TlsLayer::Hello hello{.credentials = credentials, .alpn = {}};
    FL_CO_CHECKED(co_await send(Record::client_hello, std::move(hello)));
    TlsLayer::Hello server;
    FL_CO_CHECKED(co_await receive(Record::server_hello, server));
    const std::string& chain = server.credentials->certificate_chain;
    if (!credentials->skip_verify) {
      const std::string& name = credentials->server_name.empty() ? host : credentials->server_name;
      const Result<> verdict = check_certificate(chain, credentials->trusted_ca,
                                                 CertificateUse::server, name, machine_.wall_now());
      if (!verdict) {
        TlsLayer::Hello nothing;
        FL_CO_CHECKED(co_await send(Record::alert, std::move(nothing)));
        co_return verdict;
      }
    }
    TlsLayer::Hello finished;
    FL_CO_CHECKED(co_await send(Record::finished, std::move(finished)));
    peer_.alpn = server.alpn;
    peer_.certificate = leaf_certificate(chain);
    peer_.certificate_bytes = chain.size() * 3 / 4;
    peer_.certificate_trusted = !credentials->skip_verify;
    co_return Result<>{};
  }

  Task<Result<>> send(Record kind, TlsLayer::Hello hello) {
    const std::array<char, kRecordSize> record = encode_record(kind, layer_.say(std::move(hello)));
    co_return co_await plain_->write(std::string_view(record.data(), record.size()));
  }

  // Judges every byte as it comes: a plain peer may send few and then wait.
  Task<Result<>> receive(Record expected, TlsLayer::Hello& hello) {
    std::array<char, kRecordSize> record{};
    const std::array<char, kRecordSize> pattern = encode_record(expected, 0);
    for (std::size_t have = 0; have < kRecordSize;) {
      const std::span<char> rest = std::span(record).subspan(have);
      FL_CO_TRY(const std::size_t n, co_await plain_->read(rest));
      if (n == 0) co_return fail(Code::unavailable, "connection cut by the peer");
      have += n;
      if (!std::equal(record.begin(), record.begin() + std::min<std::size_t>(have, 3),
                      pattern.begin()))
        co_return fail(Code::corrupt, "the peer does not speak TLS");
    }
    std::uint64_t number = 0;
    std::memcpy(&number, record.data() + 4, 8);
    if (!layer_.hear(number, hello)) co_return fail(Code::corrupt, "unknown record");
    if (record[3] == static_cast<char>(Record::alert))
      co_return fail(Code::unavailable, "the peer refused the certificate");
    if (record[3] != pattern[3]) co_return fail(Code::corrupt, "unexpected record");
    co_return Result<>{};
  }

  TlsLayer& layer_;
  Machine& machine_;
  std::unique_ptr<Stream> plain_;
  std::shared_ptr<const TlsCredentials> credentials_;  // server only
  runtime::PeerInfo peer_;
  bool established_ = false;
};

class TlsListener final : public runtime::Listener {
 public:
  TlsListener(TlsLayer& layer, Machine& machine, std::unique_ptr<Listener> plain,
              std::shared_ptr<const runtime::TlsSource> source)
      : layer_(layer), machine_(machine), plain_(std::move(plain)), source_(std::move(source)) {}
  Task<Result<std::unique_ptr<Stream>>> accept() override {
    FL_CO_TRY(std::unique_ptr<Stream> plain, co_await plain_->accept());
    auto stream = std::make_unique<TlsStream>(layer_, machine_, std::move(plain));
    stream->serve_with(source_->current());
    co_return stream;
  }
  runtime::Endpoint local() const override { return plain_->local(); }
  void close() override { plain_->close(); }

 private:
  TlsLayer& layer_;
  Machine& machine_;
  std::unique_ptr<Listener> plain_;
  std::shared_ptr<const runtime::TlsSource> source_;
};

}  // namespace

std::uint64_t TlsLayer::say(Hello hello) {
  hellos_.emplace(next_, std::move(hello));
  return next_++;
}

bool TlsLayer::hear(std::uint64_t number, Hello& hello) {
  const auto found = hellos_.find(number);
  if (found == hellos_.end()) return false;
  hello = std::move(found->second);
  hellos_.erase(found);
  return true;
}

Task<Result<std::unique_ptr<Stream>>> TlsLayer::connect(
    Machine& machine, std::unique_ptr<Stream> plain,
    std::shared_ptr<const TlsCredentials> credentials, std::string host) {
  auto stream = std::make_unique<TlsStream>(*this, machine, std::move(plain));
  FL_CO_CHECKED(co_await stream->connect(std::move(credentials), std::move(host)));
  co_return stream;
}

std::unique_ptr<runtime::Listener> TlsLayer::listen(
    Machine& machine, std::unique_ptr<runtime::Listener> plain,
    std::shared_ptr<const runtime::TlsSource> source) {
  return std::make_unique<TlsListener>(*this, machine, std::move(plain), std::move(source));
}

}  // namespace fairlead::sim
