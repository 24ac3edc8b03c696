#!/usr/bin/env python3
"""Checks that the folders of src/ use one another only as declared.

Reads the fairlead_module(name DEPENDS …) lines and every #include "folder/…" and fails, naming file and
line, on
  - an #include along an arrow that is not declared (tests, *_test.* and test_*, may also use
    TEST_DEPENDS),
  - an arrow that points up, or from one feature to another,
  - a cycle,
  - a clock, socket or thread used outside the runtime.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src"

# From the bottom up. A folder that is not named here is a feature: above all of these, below program,
# and unknown to every other feature.
LAYERS = [
    {"base"},
    {"wire", "resource", "runtime", "http", "identity", "apimachinery"},
    {"store", "watchcache", "client", "apiserver", "fabric"},
]
FEATURE = len(LAYERS)
PROGRAM = FEATURE + 1

# What only the runtime may touch, and who else is excused, with the reason.
SEAM = re.compile(
    r"std::this_thread|std::j?thread\b|(?:steady|system|high_resolution)_clock::now\b|\bclock_gettime\s*\("
    r"|\bgettimeofday\s*\(|\bnanosleep\s*\(|\busleep\s*\(|::socket\s*\(|\bgetaddrinfo\s*\(|\bepoll_wait\s*\("
    r"|std::random_device|#include <(?:thread|sys/socket\.h|sys/epoll\.h|netdb\.h)>"
)
SEAM_EXCUSED = {
    "src/runtime": "is the seam",
    "src/program": "starts threads, one loop each",
    "src/base/log.cc": "stamps its lines",
    "src/base/metrics.cc": "reads the process' own figures",
}

MODULE = re.compile(r"^\s*fairlead_module\s*\(([^)]*)\)", re.MULTILINE)
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"/]+)/[^"]*"')
KEYWORDS = {"DEPENDS", "LIBRARIES", "TEST_DEPENDS"}


class Module:
    def __init__(self, name, file, line):
        self.name, self.file, self.line = name, file, line
        self.depends, self.test_depends = [], []


def layer_of(name):
    if name == "program":
        return PROGRAM
    for rank, names in enumerate(LAYERS):
        if name in names:
            return rank
    return FEATURE


def relative(path):
    return path.relative_to(ROOT)


def read_modules(complain):
    modules = {}
    for file in sorted(SOURCE.glob("*/CMakeLists.txt")):
        text = re.sub(r"#.*", "", file.read_text())
        for match in MODULE.finditer(text):
            words = match.group(1).split()
            line = text.count("\n", 0, match.start(1)) + 1
            module = Module(words[0], file, line)
            if module.name != file.parent.name:
                complain(file, line, f"module {module.name} must be called {file.parent.name}")
            keyword = ""
            for word in words[1:]:
                if word in KEYWORDS:
                    keyword = word
                elif keyword == "DEPENDS":
                    module.depends.append(word)
                elif keyword == "TEST_DEPENDS":
                    module.test_depends.append(word)
            modules[file.parent.name] = module
    return modules


def check_arrows(modules, complain):
    for module in modules.values():
        for target in module.depends:
            if target not in modules:
                complain(module.file, module.line, f"{module.name} depends on {target}, which is no folder")
            elif layer_of(target) > layer_of(module.name):
                complain(module.file, module.line, f"{module.name} → {target} points up")
            elif layer_of(target) == layer_of(module.name) == FEATURE:
                complain(module.file, module.line, f"feature {module.name} may not use feature {target}")


def check_cycles(modules, complain):
    state = {}

    def visit(name, path):
        if state.get(name) == "done" or name not in modules:
            return
        if name in path:
            module = modules[name]
            complain(module.file, module.line, "cycle: " + " → ".join(path[path.index(name):] + [name]))
            return
        for target in modules[name].depends:
            visit(target, path + [name])
        state[name] = "done"

    for name in modules:
        visit(name, [])


def check_file(file, modules, complain):
    folder = file.relative_to(SOURCE).parts[0]
    module = modules.get(folder)
    test = file.name.endswith(("_test.cc", "_test.h")) or file.name.startswith("test_")
    path = str(relative(file))
    excused = test or any(path == p or path.startswith(p + "/") for p in SEAM_EXCUSED)
    for number, line in enumerate(file.read_text(errors="replace").splitlines(), 1):
        include = INCLUDE.match(line)
        if include and (SOURCE / include.group(1)).is_dir():
            target = include.group(1)
            allowed = target == folder
            if module:
                allowed |= target in module.depends or (test and target in module.test_depends)
            else:
                allowed |= layer_of(target) <= layer_of(folder)
            if not allowed:
                complain(file, number, f"{folder} includes {target}, an arrow it does not declare")
        code = line.split("//")[0]
        if not excused and (found := SEAM.search(code)):
            complain(file, number, f"{found.group(0).strip()} belongs behind the runtime")


def main():
    complaints = []

    def complain(file, line, text):
        complaints.append(f"{relative(file)}:{line}: {text}")

    modules = read_modules(complain)
    check_arrows(modules, complain)
    check_cycles(modules, complain)
    for file in sorted(SOURCE.rglob("*")):
        if file.suffix in (".h", ".cc") and len(file.relative_to(SOURCE).parts) > 1:
            check_file(file, modules, complain)
    for complaint in complaints:
        print(complaint, file=sys.stderr)
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
