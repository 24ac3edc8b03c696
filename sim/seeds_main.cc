#include <gtest/gtest.h>

#include "sim/seeds.h"

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  fairlead::sim::parse_seed_arguments(argc, argv);
  return RUN_ALL_TESTS();
}
