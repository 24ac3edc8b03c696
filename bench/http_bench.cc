// A server with nothing behind it, to measure src/foundation/http alone:
//   http_bench PORT [tls]
//   wrk -t1 -c16 https://127.0.0.1:PORT/small      one object of 700 bytes
//   wrk -t1 -c4 https://127.0.0.1:PORT/list        8,000 shared pieces of 940 bytes
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>

#include "foundation/http/server.h"
#include "foundation/runtime/epoll_runtime.h"

namespace {

using namespace fairlead;

class BenchHandler final : public http::Handler {
 public:
  BenchHandler() {
    for (int i = 0; i < 8000; ++i)
      list_.emplace_back(std::string(940, static_cast<char>('a' + i % 26)));
  }
  Task<void> serve(http::Exchange& exchange) override {
    http::Response response;
    response.headers.add("content-type", "application/json");
    if (exchange.request().target == "/list") {
      response.body = list_;
    } else {
      response.body.push_back(small_);
    }
    (void)co_await exchange.respond(std::move(response));
  }

 private:
  Bytes small_ = Bytes(std::string(700, 's'));
  std::vector<Bytes> list_;
};

std::string take_pem(BIO* bio) {
  char* text = nullptr;
  const long length = BIO_get_mem_data(bio, &text);
  std::string pem(text, static_cast<std::size_t>(length));
  BIO_free(bio);
  return pem;
}

class BenchTls final : public runtime::TlsSource {
 public:
  BenchTls() {
    EVP_PKEY* key = EVP_EC_gen("P-256");
    X509* certificate = X509_new();
    X509_set_version(certificate, 2);
    X509_gmtime_adj(X509_getm_notBefore(certificate), -3600);
    X509_gmtime_adj(X509_getm_notAfter(certificate), 86400);
    X509_set_pubkey(certificate, key);
    X509_sign(certificate, key, EVP_sha256());
    auto credentials = std::make_shared<runtime::TlsCredentials>();
    BIO* bio = BIO_new(BIO_s_mem());
    PEM_write_bio_X509(bio, certificate);
    credentials->certificate_chain = take_pem(bio);
    bio = BIO_new(BIO_s_mem());
    PEM_write_bio_PrivateKey(bio, key, nullptr, nullptr, 0, nullptr, nullptr);
    credentials->private_key = take_pem(bio);
    X509_free(certificate);
    EVP_PKEY_free(key);
    credentials->alpn = {"h2", "http/1.1"};
    credentials_ = std::move(credentials);
  }
  std::shared_ptr<const runtime::TlsCredentials> current() const override { return credentials_; }

 private:
  std::shared_ptr<const runtime::TlsCredentials> credentials_;
};

Task<int> serve(runtime::EpollRuntime& runtime, std::uint16_t port, bool tls) {
  BenchHandler handler;
  http::Server server(runtime, handler);
  std::shared_ptr<const runtime::TlsSource> source;
  if (tls) source = std::make_shared<BenchTls>();
  const runtime::Endpoint at{runtime::Endpoint::Kind::tcp, "127.0.0.1", port};
  auto listener = runtime.listen(at, source);
  if (!listener) {
    std::fprintf(stderr, "%s\n", listener.error().to_string().c_str());
    co_return 1;
  }
  runtime::Scope scope(runtime);
  scope.spawn(server.serve(std::move(*listener)));
  (void)co_await runtime.next_signal();
  co_await server.stop(1s);
  co_await scope.close();
  std::printf("requests %llu\n", static_cast<unsigned long long>(server.counters().requests));
  co_return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  runtime::EpollRuntime runtime;
  if (!runtime.catch_signals({SIGTERM, SIGINT})) return 1;
  return runtime.run_until_complete(
      serve(runtime, static_cast<std::uint16_t>(std::atoi(argv[1])), argc > 2));
}
