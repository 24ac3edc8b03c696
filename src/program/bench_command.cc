#include <CLI/CLI.hpp>

#include "program/commands.h"

namespace fairlead::program {

void add_bench_command(CLI::App&, int&) {}

}  // namespace fairlead::program
