#!/usr/bin/env python3
"""Checks that the folders of src/ use one another only as declared.

Reads the fairlead_module(name DEPENDS …) lines and every #include "group/folder/…" and fails, naming file
and line, on
  - an #include along an arrow that is not declared (tests, *_test.* and test_*, may also use
    TEST_DEPENDS),
  - an arrow that points up to another group, or from one feature to another,
  - a cycle,
  - a kind of a feature named below the features,
  - a feature that src/program includes elsewhere than in features.h and features.cc,
  - a clock, socket or thread used outside the runtime.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src"

# The groups, from the bottom up: the first folder below src/. A folder with a CMakeLists.txt is a module.
GROUPS = ["foundation", "api", "node", "features", "tools", "program"]

# What only the runtime may touch, and who else is excused, with the reason.
SEAM = re.compile(
    r"std::this_thread|std::j?thread\b|(?:steady|system|high_resolution)_clock::now\b|\bclock_gettime\s*\("
    r"|\bgettimeofday\s*\(|\bnanosleep\s*\(|\busleep\s*\(|::socket\s*\(|\bgetaddrinfo\s*\(|\bepoll_wait\s*\("
    r"|std::random_device|#include <(?:thread|sys/socket\.h|sys/epoll\.h|netdb\.h)>"
)
SEAM_EXCUSED = {
    "src/foundation/runtime": "is the seam",
    "src/tools/bench/bench_attachments.cc": "draws a plan before there is a runtime",
    "src/tools/bench/agent_fleet.cc": "forks before there is a runtime",
    "src/tools/lab": "starts processes and waits for them",
    "src/features/vip/guard": "processes that must work when the loop of another has failed",
    "src/program": "starts threads, one loop each",
    "src/foundation/base/log.cc": "stamps its lines",
    "src/foundation/base/metrics.cc": "reads the process' own figures",
}

MODULE = re.compile(r"^\s*fairlead_module\s*\(([^)]*)\)", re.MULTILINE)
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)/[^"/]*"')
# How a feature describes a kind of its own: fairlead_kind("Kind", "plural", …).
KIND = re.compile(r'\bfairlead_kind\(\s*"(\w+)",\s*"(\w+)"')
CORE_KIND = re.compile(r'\bkind\.kind = "(\w+)"')
KEYWORDS = {"DEPENDS", "LIBRARIES", "TEST_DEPENDS"}


class Module:
    def __init__(self, name, file, line):
        self.name, self.file, self.line = name, file, line
        self.depends, self.test_depends = [], []
        parts = file.parent.relative_to(SOURCE).parts
        self.group = parts[0]
        self.feature = parts[1] if parts[0] == "features" else ""


def relative(path):
    return path.relative_to(ROOT)


def read_modules(complain):
    modules = {}
    for file in sorted(SOURCE.glob("*/**/CMakeLists.txt")):
        text = re.sub(r"#.*", "", file.read_text())
        for match in MODULE.finditer(text):
            words = match.group(1).split()
            line = text.count("\n", 0, match.start(1)) + 1
            module = Module(words[0], file, line)
            # Every feature may have folders such as kinds: their modules are told apart by its name.
            names = [file.parent.name] + ([f"{module.feature}_{file.parent.name}"] if module.feature else [])
            if module.name not in names:
                complain(file, line, f"module {module.name} must be called {' or '.join(names)}")
            keyword = ""
            for word in words[1:]:
                if word in KEYWORDS:
                    keyword = word
                elif keyword == "DEPENDS":
                    module.depends.append(word)
                elif keyword == "TEST_DEPENDS":
                    module.test_depends.append(word)
            if module.name in modules:
                complain(file, line, f"there is another module {module.name}")
            if module.group not in GROUPS:
                complain(file, line, f"{module.group} is none of the groups: {', '.join(GROUPS)}")
            modules[module.name] = module
    return modules


def check_arrows(modules, complain):
    for module in modules.values():
        for name in module.depends:
            target = modules.get(name)
            if not target:
                complain(module.file, module.line, f"{module.name} depends on {name}, which is no folder")
            elif GROUPS.index(target.group) > GROUPS.index(module.group):
                complain(module.file, module.line, f"{module.name} → {name} points up, from {module.group} to {target.group}")
            elif target.feature and module.feature and target.feature != module.feature:
                complain(module.file, module.line, f"feature {module.feature} may not use feature {target.feature}")


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


def module_of(folder, modules):
    """The module that a folder below src/ belongs to: that of the nearest CMakeLists.txt."""
    for above in [folder, *folder.parents]:
        if above in modules:
            return modules[above]
    return None


def feature_kinds():
    """The names of the kinds that features describe, taken from their sources: a pattern, and name → file."""
    kinds, plurals = {}, {}
    for file in sorted(SOURCE.glob("features/*/kinds/*.cc")):
        for match in KIND.finditer(file.read_text()):
            kinds[match.group(1)] = plurals[match.group(2)] = relative(file)
    if not kinds:
        return None, {}
    # A kind also inside a longer name (SubnetSpec), a plural as a word.
    pattern = rf"{'|'.join(kinds)}|(?<![A-Za-z])(?:{'|'.join(plurals)})(?![A-Za-z])"
    return re.compile(pattern), kinds | plurals


def core_kinds():
    """Names of kinds that api itself describes, which may contain that of a feature's kind."""
    sources = (file.read_text() for file in (SOURCE / "api/resource/core").glob("*.cc"))
    return re.compile("|".join(name for text in sources for name in CORE_KIND.findall(text)) or "(?!)")


def check_kinds(complain):
    """What lies below the features names none of their kinds, not in comments and not in tests either."""
    for folder in sorted(SOURCE.glob("features/*/kinds")):
        if not any(KIND.search(file.read_text()) for file in folder.glob("*.cc")):
            complain(folder / "CMakeLists.txt", 1, "describes no kind by fairlead_kind(\"Kind\", \"plural\", …)")
    pattern, kinds = feature_kinds()
    if not pattern:
        return
    core = core_kinds()
    for group in GROUPS[: GROUPS.index("features")]:
        for file in sorted((SOURCE / group).rglob("*")):
            if file.suffix not in (".h", ".cc"):
                continue
            for number, line in enumerate(file.read_text(errors="replace").splitlines(), 1):
                for name in pattern.findall(core.sub("", line)):
                    complain(file, number, f"{group} names {name}, a kind of {kinds[name]}")


def check_file(file, modules, complain):
    folders = {module.file.parent.relative_to(SOURCE): module for module in modules.values()}
    module = module_of(file.parent.relative_to(SOURCE), folders)
    test = file.name.endswith(("_test.cc", "_test.h")) or file.name.startswith("test_")
    path = str(relative(file))
    excused = test or any(path == p or path.startswith(p + "/") for p in SEAM_EXCUSED)
    for number, line in enumerate(file.read_text(errors="replace").splitlines(), 1):
        include = INCLUDE.match(line)
        if include and include.group(1).startswith("features/") and file.parent == SOURCE / "program" and file.stem != "features":
            complain(file, number, "in src/program only features.h and features.cc know the features")
        if include and module:
            target = module_of(pathlib.PurePosixPath(include.group(1)), folders)
            if not target and (SOURCE / include.group(1)).is_dir() and include.group(1) != "program":
                complain(file, number, f"{include.group(1)} belongs to no module")
            allowed = not target or target is module or target.name in module.depends
            if not allowed and not (test and target.name in module.test_depends):
                complain(file, number, f"{module.name} includes {target.name}, an arrow it does not declare")
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
    check_kinds(complain)
    for file in sorted(SOURCE.rglob("*")):
        if file.suffix in (".h", ".cc") and len(file.relative_to(SOURCE).parts) > 1:
            check_file(file, modules, complain)
    for complaint in complaints:
        print(complaint, file=sys.stderr)
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
