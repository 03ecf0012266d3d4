"""Makes a release, all but the upload: `make release VERSION=1.0.0`.

Into dist/: the sdist, the wheel with its bill of materials, and SHA256SUMS. Says what to do next. Whatever is wrong is
said before anything is built, with exit status 1.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from pathlib import Path

from packaging.version import InvalidVersion, Version

from scripts.release import archives, building, sbom

ROOT = Path(__file__).parents[2]

_NEXT = """
Built from commit {commit}, dated by it. Whoever builds the same commit gets the same bytes:
{sums}
Next (docs/releasing.md has the reasons):
  git tag --sign v{version} --message "mud-assistant {version}"
  git push origin v{version}
  gpg --armor --detach-sign dist/SHA256SUMS
and let the forge publish what is in dist/, or: python -m twine upload {files}
"""


def objections(root: Path, version: str) -> list[str]:
    """Return what keeps `version` from being released from the checkout at `root`, a sentence each. Blocks."""
    found = []
    try:
        if str(Version(version)) != version:
            found.append(f"{version} is written {Version(version)} by PEP 440.")
    except InvalidVersion:
        found.append(f"{version!r} is no version by PEP 440.")
    stated = tomllib.loads((root / "pyproject.toml").read_text())["project"]["version"]
    if stated != version:
        found.append(f"pyproject.toml says version {stated}: it is the only place that names it. Change it and commit.")
    if not entry(root, version):
        found.append(f"CHANGELOG.md has no entry that begins with `## {version}`.")
    if fragments := [path.name for path in (root / "changelog.d").glob("*.*.md")]:
        found.append(f"changelog.d/ still holds {len(fragments)} fragments: run `towncrier build --version {version}`.")
    if not building.is_clean(root):
        found.append("The tree differs from its last commit: see `git status`.")
    return found


def entry(root: Path, version: str) -> str:
    """Return what CHANGELOG.md of the checkout at `root` says of a version, empty when nothing. Blocks."""
    text = (root / "CHANGELOG.md").read_text()
    found = re.search(rf"^## {re.escape(version)}\b.*\n((?:(?!## ).*\n?)*)", text, re.MULTILINE)
    return found[1].strip() if found else ""


def check(files: list[Path]) -> None:
    """Let twine read the archives, and the schema of CycloneDX the bill in the wheel. Raises SystemExit."""
    from cyclonedx.schema import SchemaVersion  # noqa: PLC0415  (only the environment of a release has it)
    from cyclonedx.validation.json import JsonStrictValidator  # noqa: PLC0415  (the same)

    subprocess.run([sys.executable, "-m", "twine", "check", "--strict", *map(str, files)], check=True)
    [wheel] = (path for path in files if path.suffix == ".whl")
    with zipfile.ZipFile(wheel) as packed:
        [name] = (name for name in packed.namelist() if name.endswith(sbom.PLACE))
        text = packed.read(name).decode()
    if fault := JsonStrictValidator(SchemaVersion.V1_6).validate_str(text):
        raise SystemExit(f"{name} is not CycloneDX 1.6: {fault}")
    print(f"{name}: CycloneDX 1.6, {len(json.loads(text)['components'])} packages")


def main() -> None:
    """Make the release that the command line names."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("version", help="as in pyproject.toml, such as 1.0.0")
    version = parser.parse_args().version
    if wrong := objections(ROOT, version):
        raise SystemExit("\n".join(wrong))
    dist = ROOT / "dist"
    with tempfile.TemporaryDirectory(prefix="release-") as scratch:
        epoch = building.export(ROOT, Path(scratch, "tree"))
        files = building.build(Path(scratch, "tree"), dist, epoch)
    check(files)
    sums = archives.sha256sums(files)
    (dist / "SHA256SUMS").write_text(sums)
    commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    names = " ".join(f"dist/{path.name}" for path in files)
    if "urls" not in tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]:
        print("pyproject.toml has no [project.urls]: docs/releasing.md says what belongs there.")
    print(_NEXT.format(commit=commit.strip(), sums=sums, version=version, files=names))


if __name__ == "__main__":
    main()
