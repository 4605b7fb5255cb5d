"""Collects the licences of the crates that the extension module may hold into ``crates.txt``: ``python python/licenses/collect.py``.

Which crates these are says ``Cargo.lock``: all that the package's crate needs, those that build it among them. Where a crate is
to be had under several licences, the MIT licence is taken if it carries that; crates with the same text share it.
"""

from __future__ import annotations

import os
import pathlib
import re
import tomllib

HERE = pathlib.Path(__file__).parent
REGISTRY = pathlib.Path(os.environ.get("CARGO_HOME", pathlib.Path.home() / ".cargo")) / "registry/src"

#: Crates of other systems and processors, which no wheel for Linux holds: cargo does not fetch them here.
ELSEWHERE = re.compile(
    r"android_system_properties|bumpalo|cfg_aliases|core-foundation-sys|futures-.*|iana-time-zone-haiku|js-sys|nix|"
    r"pin-project-lite|portable-atomic.*|r-efi|rustversion|slab|wasi|wasip2|wasm-bindgen.*|windows-.*|wit-bindgen"
)


def needed() -> list[tuple[str, str]]:
    """Names and versions of the crates from the registry that the package's crate needs, in order."""
    lock = tomllib.loads((HERE / "../../Cargo.lock").read_text("utf-8"))
    packages: dict[str, list[dict]] = {}
    for package in lock["package"]:
        packages.setdefault(package["name"], []).append(package)
    found: dict[tuple[str, str], dict] = {}
    waiting = list(packages["fiberloom-python"])
    while waiting:
        package = waiting.pop()
        key = package["name"], package["version"]
        if key in found:
            continue
        found[key] = package
        for dependency in package.get("dependencies", []):
            name, *version = dependency.split(" ")
            waiting += [p for p in packages[name] if not version or p["version"] == version[0]]
    return sorted(key for key, package in found.items() if "source" in package and not ELSEWHERE.fullmatch(key[0]))


def text_of(folder: pathlib.Path) -> str | None:
    """The licence that a crate carries, the MIT licence if that is one of several, and its notice."""
    files = sorted(f for f in folder.iterdir() if f.is_file())
    carried = [f for f in files if re.match(r"(?i)(licen[cs]e|copying|unlicense)", f.name)]
    carried.sort(key=lambda f: ("mit" not in f.name.lower(), not f.name.lower().startswith("licen"), f.stat().st_size))
    notices = [f for f in files if f.name.lower().startswith("notice")]
    return "\n\n".join(f.read_text("utf-8", errors="replace").strip() for f in carried[:1] + notices) or None


def main() -> None:
    """Writes the file."""
    groups: dict[str, list[str]] = {}
    for name, version in needed():
        folder = next(REGISTRY.glob(f"*/{name}-{version}"), None)
        if folder is None:
            raise SystemExit(f"{name} {version} is not under {REGISTRY}: build the package first")
        manifest = tomllib.loads((folder / "Cargo.toml").read_text("utf-8"))["package"]
        said = manifest.get("license", "see its text")
        text = text_of(folder) or f"{said}; its authors: {', '.join(manifest.get('authors', [])) or 'not named'}"
        groups.setdefault(text, []).append(f"{name} {version}, {said}: {manifest.get('repository', '')}")
    parts = ["\n".join([*crates, "", text]) for text, crates in sorted(groups.items(), key=lambda group: group[1])]
    (HERE / "crates.txt").write_text(f"\n\n{'=' * 80}\n\n".join(parts) + "\n", "utf-8")
    print(f"{sum(map(len, groups.values()))} crates, {len(groups)} texts")


if __name__ == "__main__":
    main()
