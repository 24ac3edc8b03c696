#include <CLI/CLI.hpp>

#include "program/commands.h"

namespace fairlead::program {

void add_join_command(CLI::App&, int&) {}

}  // namespace fairlead::program
