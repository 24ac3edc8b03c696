#include "node/agent/pages.h"

#include "foundation/base/check.h"

namespace fairlead::agent {

void Pages::add(std::string path, Make make) {
  CHECK(pages_.emplace(std::move(path), std::move(make)).second);
}

void Pages::add_text(std::string path, std::function<std::string()> body) {
  add(std::move(path), [body = std::move(body)](std::string_view) { return Page{.body = body()}; });
}

Pages::Page Pages::page(std::string_view target) const {
  const std::size_t question = target.find('?');
  const auto at = pages_.find(target.substr(0, question));
  if (at != pages_.end())
    return at->second(question == std::string_view::npos ? "" : target.substr(question + 1));
  std::string known;
  for (const auto& [path, make] : pages_) known += (known.empty() ? "" : ", ") + path;
  return {.status = 404, .body = known + "\n"};
}

Task<void> Pages::serve(http::Exchange& exchange) {
  const http::Request& request = exchange.request();
  const bool reading = request.method == "GET" || request.method == "HEAD";
  Page page = reading ? this->page(request.target) : Page{.status = 405, .body = "only GET\n"};
  http::Response response;
  response.status = page.status;
  response.headers.add("Content-Type", page.type);
  response.body.push_back(Bytes(std::move(page.body)));
  (void)co_await exchange.respond(std::move(response));
}

}  // namespace fairlead::agent
