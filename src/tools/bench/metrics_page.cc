#include "tools/bench/metrics_page.h"

#include <utility>

namespace fairlead::bench {

class MetricsPage::Page final : public http::Handler {
 public:
  explicit Page(std::function<std::string()> text) : text_(std::move(text)) {}

  Task<void> serve(http::Exchange& exchange) override {
    const http::Request& request = exchange.request();
    http::Response response;
    response.headers.add("Content-Type", "text/plain; version=0.0.4; charset=utf-8");
    std::string body;
    if (request.method != "GET" && request.method != "HEAD") {
      response.status = 405;
      body = "only GET\n";
    } else if (request.target.substr(0, request.target.find('?')) == "/metrics") {
      body = text_();
    } else {
      response.status = 404;
      body = "/metrics\n";
    }
    response.body.push_back(Bytes(std::move(body)));
    (void)co_await exchange.respond(std::move(response));
  }

 private:
  std::function<std::string()> text_;
};

Result<std::unique_ptr<MetricsPage>> MetricsPage::open(runtime::Runtime& runtime,
                                                       const runtime::Endpoint& at,
                                                       std::function<std::string()> text) {
  std::unique_ptr<MetricsPage> served(new MetricsPage);
  served->page_ = std::make_unique<Page>(std::move(text));
  served->server_ = std::make_unique<http::Server>(
      runtime, *served->page_, http::Limits{.body_bytes = 1 << 10, .connections = 64});
  FL_TRY(served->listener_, runtime.listen(at, nullptr));
  served->address_ = served->listener_->local();
  return served;
}

MetricsPage::~MetricsPage() = default;

Task<void> MetricsPage::serve() { return server_->serve(std::move(listener_)); }
Task<void> MetricsPage::stop() { return server_->stop(Duration::zero()); }

}  // namespace fairlead::bench
