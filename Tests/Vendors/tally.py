"""Counts what agreed and says what did not."""

import sys


class Tally:
    def __init__(self):
        self.passed = 0
        self.failed = 0

    def check(self, what, holds, detail=""):
        if holds:
            self.passed += 1
        else:
            self.failed += 1
            print(f"DIFFERENCE {what}: {detail}", file=sys.stderr)

    def same(self, what, got, wanted):
        self.check(what, got == wanted, f"{got!r} instead of {wanted!r}")

    def run(self, what, steps):
        """Runs steps, so that an error in one of them is a difference and not the end."""
        try:
            steps()
        except Exception as error:  # whatever a client of the vendor raises
            self.check(what, False, f"{type(error).__name__}: {error}")
