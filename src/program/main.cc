// fairlead: one program, a command for each role.
#include <iostream>

#include "program/command_line.h"

int main(int argc, char** argv) {
  return fairlead::program::run_command_line({argv + 1, argv + argc}, std::cout, std::cerr);
}
