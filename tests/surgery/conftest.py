"""Fixtures of the surgery tests."""

from pathlib import Path

import pytest
from tests.golden.shared import golden
from tests.surgery.desk import Desk
from tests.surgery.patient import PatientOf, Treated
from tests.surgery.small_fleet import Fleet
from tests.surgery.small_fleet import small as cut_out


@pytest.fixture
def processes() -> None:
    """For tests of what other processes do: they are looked for as always."""


@pytest.fixture(autouse=True)
def alone(request: pytest.FixtureRequest) -> None:
    """All others leave out the look at other processes."""
    if "processes" not in request.fixturenames:
        request.getfixturevalue("no_other_processes")


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two brokers of the golden fleet with a few partitions, each in the log dir where it was."""
    root = tmp_path_factory.mktemp("small")
    cut_out(golden("4.3.1-fleet"), root)
    return root


@pytest.fixture
def fleet(small: Path, tmp_path: Path) -> Fleet:
    """Two brokers that a test may hurt."""
    return Fleet.copied(small, tmp_path)


@pytest.fixture
def whole(small: Path, tmp_path: Path) -> Fleet:
    """The same for tests that only read: all share it."""
    return Fleet(small, tmp_path)


@pytest.fixture
def clean(tmp_path: Path) -> Desk:
    """A broker that was stopped in order."""
    return Desk(golden("4.3.1-clean") / "b1", tmp_path)


@pytest.fixture
def killed(tmp_path: Path) -> Desk:
    """One that was killed."""
    return Desk(golden("4.3.1-killed") / "b1", tmp_path)


@pytest.fixture
def shelf(tmp_path: Path) -> Desk:
    """The same, to be looked at only."""
    return Desk(golden("4.3.1-killed") / "b1", tmp_path, copy=False)


@pytest.fixture
def patient_of(tmp_path: Path) -> PatientOf:
    """`patient_of(case)`, or of what hurts a patient: the hurt log dirs."""
    return lambda given, **more: Treated(given, tmp_path, **more)
