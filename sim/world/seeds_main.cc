#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "sim/world/seeds.h"

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  fairlead::sim::parse_seed_arguments(argc, argv);
  const std::string program = argv[0];
  fairlead::sim::set_rerun_command([program](std::uint64_t seed) {
    const ::testing::TestInfo* test = ::testing::UnitTest::GetInstance()->current_test_info();
    if (!test) return fmt::format("{} --seed={}", program, seed);
    return fmt::format("{} --gtest_filter={}.{} --seed={}", program, test->test_suite_name(),
                       test->name(), seed);
  });
  return RUN_ALL_TESTS();
}
