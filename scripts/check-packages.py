#!/usr/bin/env python3
"""Everything the build and the scripts use comes from a package that scripts/bootstrap installs.

A developer's machine has more installed than a fresh one, so a package missing from bootstrap's list goes unnoticed there
and fails for every new user. Two answers:

  scripts/check-packages.py
      fails on a header, library or CMake file that the builds under build/ used (ninja's records of what was included,
      configured and linked) and that belongs to no package of bootstrap's list, nor to what those depend on.

  scripts/check-packages.py --commands FOLDER
      fills FOLDER with links to the commands of those packages and to nothing else. scripts/test runs everything
      with FOLDER as its PATH, so that a script that calls another command fails here as it would on a fresh machine.

A minimal Debian (its essential and required packages) counts as there; so does what bootstrap's list names.
"""
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
STATUS = pathlib.Path("/var/lib/dpkg/status")
INFO = pathlib.Path("/var/lib/dpkg/info")
COMMAND_FOLDERS = ("/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin")
# What README asks for before the first command can be run at all.
ASSUMED = {"apt", "git", "make", "ca-certificates"}


def installed_packages():
    """Name → fields, for every installed package."""
    packages = {}
    for paragraph in STATUS.read_text(errors="replace").split("\n\n"):
        fields = dict(re.findall(r"^([A-Za-z-]+): (.*)$", paragraph, re.MULTILINE))
        if fields.get("Status", "").endswith(" installed"):
            packages[fields["Package"]] = fields
    return packages


def names(dependencies):
    """'a (>= 1), b | c' → [['a'], ['b', 'c']]"""
    groups = [group.split("|") for group in dependencies.split(",") if group.strip()]
    return [[re.match(r"\s*([^\s:(\[]+)", choice).group(1) for choice in group] for group in groups]


def closure(wanted, packages):
    """The wanted packages and everything they depend on, as installed here."""
    providers = {}
    for name, fields in packages.items():
        for group in names(fields.get("Provides", "")):
            providers.setdefault(group[0], set()).add(name)
    reached, todo = set(), [name for name in wanted if name in packages]
    while todo:
        name = todo.pop()
        if name in reached:
            continue
        reached.add(name)
        fields = packages[name]
        for choices in names(fields.get("Depends", "")) + names(fields.get("Pre-Depends", "")):
            # apt takes the first choice that it can have; a virtual package is what provides it.
            for choice in choices:
                found = {choice} if choice in packages else providers.get(choice, set())
                if found:
                    todo.extend(found)
                    break
    return reached


def bootstrap(option):
    answer = subprocess.run([ROOT / "scripts/bootstrap", option], check=True, capture_output=True, text=True)
    return answer.stdout.split()


def allowed_packages(packages):
    minimal = {name for name, fields in packages.items()
               if fields.get("Essential") == "yes" or fields.get("Priority") == "required"}
    return closure(minimal | ASSUMED | set(bootstrap("--list")), packages)


def merged(path):
    """/bin, /sbin and /lib are links into /usr; some packages still name the former."""
    return re.sub(r"^/(bin|sbin|lib|lib64)/", r"/usr/\1/", path)


def owned_files(packages):
    """Path → the packages that own it."""
    owners = {}
    for listing in INFO.glob("*.list"):
        package = listing.stem.split(":")[0]
        if package in packages:
            for path in listing.read_text(errors="replace").splitlines():
                owners.setdefault(merged(path), set()).add(package)
    return owners


def build_folders():
    return [path.parent for path in sorted(ROOT.glob("build/*/build.ninja"))]


def used_headers(folder):
    deps = subprocess.run(["ninja", "-C", folder, "-t", "deps"], check=True, capture_output=True, text=True)
    return set(re.findall(r"^ +(/\S+)$", deps.stdout, re.MULTILINE))


def used_by_configuring(folder):
    """What CMake read: its own modules and those that libraries bring."""
    inputs = subprocess.run(["ninja", "-C", folder, "-t", "query", "build.ninja"], check=True,
                            capture_output=True, text=True)
    return set(re.findall(r"^ +(?:\|+ )?(/\S+)$", inputs.stdout.split("outputs:")[0], re.MULTILINE))


def used_libraries(folder):
    """What the link lines name, by path or with -l."""
    used = set()
    for line in (folder / "build.ninja").read_text().splitlines():
        if line.startswith("  LINK_LIBRARIES = "):
            for word in line.split()[2:]:
                if word.startswith("/"):
                    used.add(word)
                elif word.startswith("-l"):
                    where = subprocess.run(["clang-19", f"-print-file-name=lib{word[2:]}.so"], check=True,
                                           capture_output=True, text=True).stdout.strip()
                    if where.startswith("/"):
                        used.add(where)
    return used


def outside(paths):
    """What is neither in this clone nor in the one that it is a work tree of."""
    git = subprocess.run(["git", "-C", ROOT, "rev-parse", "--path-format=absolute", "--git-common-dir"],
                         capture_output=True, text=True)
    ours = tuple(f"{folder}/" for folder in (ROOT, git.stdout.strip()) if str(folder))
    real = {str(pathlib.Path(path).resolve()) for path in paths}
    return sorted(path for path in real if not path.startswith(ours))


def check_builds():
    packages = installed_packages()
    allowed, owners = allowed_packages(packages), owned_files(packages)
    wrong, seen = {}, 0
    for folder in build_folders():
        for path in outside(used_headers(folder) | used_by_configuring(folder) | used_libraries(folder)):
            seen += 1
            owning = owners.get(merged(path), set())
            if not owning & allowed:
                wrong.setdefault(", ".join(sorted(owning)) or "no package", set()).add(path)
    for package, paths in sorted(wrong.items()):
        example = sorted(paths)[0]
        print(f"{package}: used by the build ({example} and {len(paths) - 1} more) but not in scripts/bootstrap")
    if seen == 0:
        print("nothing is built under build/: build first")
        return 1
    print(f"{seen} files of others used by {len(build_folders())} builds, {len(wrong)} packages missing")
    return 1 if wrong else 0


def fill_commands(folder):
    packages = installed_packages()
    allowed, owners = allowed_packages(packages), owned_files(packages)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for path, owning in owners.items():
        directory, _, name = path.rpartition("/")
        if directory in COMMAND_FOLDERS and owning & allowed and pathlib.Path(path).exists():
            link(folder / name, path)
    # awk, nc and others are links that update-alternatives keeps: allowed when what they lead to is.
    for entry in pathlib.Path("/etc/alternatives").iterdir():
        if owners.get(merged(str(entry.resolve())), set()) & allowed:
            for directory in ("/usr/bin", "/usr/sbin"):
                command = pathlib.Path(directory, entry.name)
                if command.is_symlink():
                    link(folder / entry.name, str(command))
    # What a machine may bring in a version of its own.
    for name in bootstrap("--commands"):
        if where := shutil.which(name):
            link(folder / name, where)
    print(f"{len(list(folder.iterdir()))} commands of {len(allowed)} packages")
    return 0


def link(path, target):
    path.unlink(missing_ok=True)
    path.symlink_to(target)


def main(arguments):
    if not arguments:
        return check_builds()
    if len(arguments) == 2 and arguments[0] == "--commands":
        return fill_commands(pathlib.Path(arguments[1]))
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
