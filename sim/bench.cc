// How fast the virtual world turns: events per second and virtual seconds per real one.
//
//   sim_bench [virtual seconds]
#include <fmt/format.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <string>

#include "foundation/runtime/runtime.h"
#include "sim/world/world.h"

namespace fairlead::sim {
namespace {

Task<void> tick(Machine& machine, Duration every) {
  while (co_await runtime::sleep(machine, every)) {
  }
}

Task<void> echo(Machine& machine) {
  auto listener = machine.listen({.host = "0.0.0.0", .port = 7}, nullptr);
  auto stream = co_await (*listener)->accept();
  std::array<char, 256> buffer;
  for (;;) {
    const Result<std::size_t> n = co_await (*stream)->read(buffer);
    if (!n || *n == 0) co_return;
    if (!co_await (*stream)->write(std::string_view(buffer.data(), *n))) co_return;
  }
}

Task<void> ping(Machine& machine) {
  auto stream = co_await machine.connect({.host = "server", .port = 7}, nullptr);
  std::array<char, 256> buffer;
  const std::string message(100, 'x');
  for (;;) {
    if (!co_await (*stream)->write(message)) co_return;
    for (std::size_t have = 0; have < message.size();) {
      const Result<std::size_t> n = co_await (*stream)->read(buffer);
      if (!n || *n == 0) co_return;
      have += *n;
    }
  }
}

void measure(std::string_view what, World& world, Duration virtual_time) {
  const auto begin = std::chrono::steady_clock::now();
  world.run_for(virtual_time);
  const std::chrono::duration<double> real = std::chrono::steady_clock::now() - begin;
  const double seconds = std::chrono::duration<double>(virtual_time).count();
  fmt::print("{:<28} {:>12} events  {:>6.2f} M events/s  {:>10.0f} × real time\n", what,
             world.events(), static_cast<double>(world.events()) / real.count() / 1e6,
             seconds / real.count());
}

void run(Duration virtual_time) {
  {
    World world(1);
    for (int i = 0; i < 5; ++i)
      world.add_machine(fmt::format("m{}", i)).start([](Machine& m) { return tick(m, 500ms); });
    measure("5 machines, 2 timers/s each", world, virtual_time * 100);
  }
  {
    World world(1);
    for (int i = 0; i < 1'000; ++i)
      world.add_machine(fmt::format("m{}", i)).start([](Machine& m) { return tick(m, 1s); });
    measure("1,000 machines, 1 timer/s", world, virtual_time);
  }
  {
    World world(1);
    world.add_machine("server").start(echo);
    world.add_machine("client").start(ping);
    measure("request and reply, one stream", world, virtual_time);
  }
}

}  // namespace
}  // namespace fairlead::sim

int main(int argc, char** argv) {
  const long seconds = argc > 1 ? std::atol(argv[1]) : 1'000;
  fairlead::sim::run(std::chrono::seconds(seconds));
}
