// Serves one text at /metrics, over plain HTTP, for as long as a load runs.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "foundation/http/server.h"
#include "foundation/runtime/runtime.h"

namespace fairlead::bench {

class MetricsPage {
 public:
  // Fails if nothing can be served there.
  static Result<std::unique_ptr<MetricsPage>> open(runtime::Runtime& runtime,
                                                   const runtime::Endpoint& at,
                                                   std::function<std::string()> text);
  ~MetricsPage();

  runtime::Endpoint address() const { return address_; }
  Task<void> serve();  // until stop()
  Task<void> stop();

 private:
  class Page;
  MetricsPage() = default;

  std::unique_ptr<Page> page_;
  std::unique_ptr<http::Server> server_;
  std::unique_ptr<runtime::Listener> listener_;
  runtime::Endpoint address_;
};

}  // namespace fairlead::bench
