"""What `deploy/` and `scripts/` have for who runs it for long: they say what the program takes, and let in little."""

from __future__ import annotations

import functools
import json
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from mud_assistant.assistant.command_line import parser
from mud_assistant.assistant.config.schema import Config

ROOT = Path(__file__).parents[1]
UNITS = ROOT / "deploy/systemd"
COMPOSE = ROOT / "deploy/compose"
CONTAINERFILE = (ROOT / "deploy/Containerfile").read_text()
PROGRAM = "/opt/mud-assistant/bin/mud-assistant"
#: The exposure that `systemd-analyze security` may find, in tenths: it is 1.2.
EXPOSURE = 20
SYSTEMD, BASH, SHELLCHECK = (shutil.which(name) or "" for name in ("systemd-analyze", "bash", "shellcheck"))
needs_systemd = pytest.mark.skipif(not SYSTEMD, reason="apt-get install systemd")


@pytest.fixture(scope="module")
def units(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The units beside their drop-in, with a program that is there; of the worker an instance."""
    folder = tmp_path_factory.mktemp("units") / "systemd"
    shutil.copytree(UNITS, folder)
    for unit in folder.glob("*.service"):
        unit.write_text(unit.read_text().replace(PROGRAM, sys.executable))
    worker = folder / "mud-assistant-worker@.service"
    worker.rename(folder / "mud-assistant-worker@8411.service")
    return sorted(folder.glob("*.service"))


def command_of(unit: Path) -> list[str]:
    [line] = re.findall(r"^ExecStart=(.*)$", unit.read_text(), re.MULTILINE)
    program, *arguments = shlex.split(line.replace("%i", "8411"))
    assert program == PROGRAM
    return arguments


@needs_systemd
def test_systemd_has_nothing_to_say_against_the_units(units: list[Path]) -> None:
    assert len({unit.name for unit in units}) == 3
    done = subprocess.run([SYSTEMD, "verify", *units], check=False, timeout=60, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


@needs_systemd
def test_the_units_are_exposed_to_little(units: list[Path]) -> None:
    judge = [SYSTEMD, "security", "--offline=true", f"--threshold={EXPOSURE}", "--no-pager"]
    if (
        "--offline"
        not in subprocess.run([judge[0], "--help"], check=True, timeout=60, capture_output=True, text=True).stdout
    ):
        pytest.skip("systemd 250 or later looks at units that are not loaded")
    for unit in units:
        done = subprocess.run([*judge, unit], check=False, timeout=60, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout.splitlines()[-1:]


@pytest.mark.parametrize("unit", sorted(UNITS.glob("*.service")), ids=lambda unit: unit.stem)
def test_a_unit_starts_a_command_that_there_is(unit: Path) -> None:
    options = parser().parse_args(command_of(unit))
    assert options.command == re.sub(r"mud-assistant-|@", "", unit.stem)
    assert options.log == Path("-")


def instruction(name: str) -> list[str]:
    """Return what an instruction of the Containerfile holds in the form of JSON."""
    [found] = re.findall(rf"^(?:HEALTHCHECK .*)?{name} (\[.*\])$", CONTAINERFILE, re.MULTILINE)[-1:]
    return list(json.loads(found))


def test_the_image_starts_and_looks_after_a_command_that_there_is() -> None:
    assert instruction("ENTRYPOINT") == ["mud-assistant"]
    assert parser().parse_args(instruction("CMD")).command == "serve"
    [health] = re.findall(r"^HEALTHCHECK .* CMD (\[.*\])$", CONTAINERFILE, re.MULTILINE)
    program, *arguments = json.loads(health)
    assert (program, parser().parse_args(arguments).command) == ("mud-assistant", "health")


def test_the_image_gets_all_that_its_build_needs_and_nothing_else() -> None:
    let_in = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    assert [name for name in let_in if not (ROOT / name).exists()] == []
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert {project["readme"], *project["license-files"], "pyproject.toml"} <= let_in
    assert {link.resolve().name for link in (ROOT / "mud_assistant").iterdir() if link.is_symlink()} <= let_in
    assert set(re.findall(r"requirements-[\w-]+\.lock", CONTAINERFILE)) <= let_in
    assert not {"tests", ".git", "shared"} & let_in


@functools.cache
def compose() -> dict[str, Any]:
    yaml = pytest.importorskip("yaml", reason="the environment of Evennia has it")
    read: dict[str, Any] = yaml.safe_load((COMPOSE / "compose.yaml").read_text())
    return read


def test_the_services_start_commands_that_there_are() -> None:
    services = compose()["services"]
    for name in ("worker-1", "worker-2"):
        options = parser().parse_args(services[name]["command"])
        assert (options.command, options.process) == ("worker", name)
    program, *arguments = services["game"]["healthcheck"]["test"][1:]
    assert (program, parser().parse_args(arguments).command) == ("mud-assistant", "health")


def test_the_services_are_closed_and_their_password_is_a_file() -> None:
    services = compose()["services"]
    assert set(services) == {"database", "game", "worker-1", "worker-2"}
    for service in services.values():
        assert service["read_only"] is True
        assert service["cap_drop"] == ["ALL"]
        assert service["user"].split(":") != ["0", "0"]
        assert service["secrets"] == ["database"]
    ports = {name: service.get("ports", []) for name, service in services.items()}
    assert (ports["database"], ports["worker-2"]) == ([], [])
    to_all = [port for each in ports.values() for port in each if not port.startswith("127.0.0.1:")]
    assert to_all == ["4000:4000"]
    assert compose()["networks"]["inside"] == {"internal": True}


@pytest.mark.parametrize("name", ["worker.toml", "game.toml"])
def test_the_settings_beside_the_compose_file_are_taken(name: str) -> None:
    config = Config.model_validate(tomllib.loads((COMPOSE / name).read_text()))
    assert "@database/" in config.journal.url
    assert config.journal.password == "file:$CREDENTIALS_DIRECTORY/database"


SCRIPTS = sorted((ROOT / "scripts").glob("*.sh"))


def test_the_scripts_are_scripts() -> None:
    for script in SCRIPTS:
        subprocess.run([BASH, "-n", script], check=True, timeout=60)


@pytest.mark.skipif(not SHELLCHECK, reason="apt-get install shellcheck")
def test_shellcheck_has_nothing_to_say_against_the_scripts_of_the_image() -> None:
    scripts = [script for script in SCRIPTS if script.name.startswith("image")]
    done = subprocess.run([SHELLCHECK, *scripts], check=False, timeout=60, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "")
