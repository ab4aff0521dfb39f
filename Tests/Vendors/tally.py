"""Counts matches and prints differences."""

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
        """Runs steps and reports an exception as a difference instead of ending the run."""
        try:
            steps()
        except Exception as error:  # any exception of a vendor's client
            self.check(what, False, f"{type(error).__name__}: {error}")
