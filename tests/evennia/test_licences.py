"""The packages that come with Evennia are under the licences that THIRD_PARTY_NOTICES.md gives."""

from __future__ import annotations

from tests.notices import brought_by, contradicted, rows


def test_each_package_of_a_game_is_named_under_its_own_licence() -> None:
    packages = brought_by(["evennia"])
    assert len(packages) > 20
    assert packages - rows().keys() == set()
    assert [wrong for name in packages if (wrong := contradicted(name, rows()[name]))] == []
