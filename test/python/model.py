# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""What the model tests share: one chip, one table, cuts, mounts, a run."""

import os
from abc import abstractmethod
from typing import Any

from hypothesis import HealthCheck, Phase, note, seed, settings
from hypothesis.stateful import (
    RuleBasedStateMachine,
    run_state_machine_as_test,
)

from eskerdb import DeviceError, Simulator, Volume
from eskerdb.opened import OpenTable


class ChipModel(RuleBasedStateMachine):
    """A table on a chip whose power may go at any operation."""

    chip: Simulator
    volume: Volume
    table: OpenTable

    @abstractmethod
    def open_table(self, volume: Volume) -> OpenTable:
        """Opens the table of a volume just mounted."""

    @abstractmethod
    def read_table(self) -> Any:
        """Reads every row of the table."""

    def teardown(self) -> None:
        if hasattr(self, "chip"):
            note(f"chip: {self.chip.describe()}")
            assert self.chip.violations == []
        if hasattr(self, "table"):
            self.close()
            self.chip.close()

    def close(self) -> None:
        """Closes table and volume; what is not synced is lost."""
        self.table.close(sync=False)
        self.volume.close()

    def mount(self) -> Any:
        """Mounts, cut short any number of times; returns what is there."""
        while True:
            volume = None
            try:
                volume = Volume.mount(self.chip)
                self.table = self.open_table(volume)
                self.volume = volume
                return self.read_table()
            except DeviceError:
                if volume is not None:
                    volume.close()
                if self.chip.is_on:
                    raise
                self.chip.power_on()


def run(
    machine: type[ChipModel], examples: int, steps: int, is_deep: bool
) -> None:
    """Runs draws of the machine; ESK_SEED=n, ESK_EXAMPLES=n choose others.

    Without ESK_DEEP half of the examples are drawn, and a sixth where tests are
    not deep.
    """
    if "ESK_DEEP" not in os.environ:
        examples //= 2 if is_deep else 6
    chosen = os.environ.get("ESK_SEED")
    if chosen is not None:
        machine = seed(int(chosen))(type(machine.__name__, (machine,), {}))
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=int(os.environ.get("ESK_EXAMPLES", examples)),
            stateful_step_count=steps,
            derandomize=chosen is None,
            database=None,
            deadline=None,
            print_blob=True,
            phases=(Phase.generate, Phase.shrink),
            suppress_health_check=list(HealthCheck),
        ),
    )
