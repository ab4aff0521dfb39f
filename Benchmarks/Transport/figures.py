"""What was measured, as the page and the targets ask for it."""

import statistics

import sending


def median(values):
    return statistics.median(values)


class Spread:
    """The middle of some figures, and the least and the most of them."""

    def __init__(self, values):
        self.values = list(values)
        self.middle, self.least, self.most = median(self.values), min(self.values), max(self.values)

    def text(self, form="%.2f"):
        return "%s (%s–%s)" % (form % self.middle, form % self.least, form % self.most)


class Figures:
    """All figures of one run of the benchmark, as they lie in its file."""

    def __init__(self, stored):
        self.stored = stored
        self.sending = stored.get("sending", {})

    def runs(self, kind, driver, at_once=1, is_secure=False):
        return (self.sending.get(sending.key(kind, at_once, is_secure)) or {}).get(driver) or []

    def of(self, runs, what):
        """A figure of each run: what has a count is for one form."""
        if not runs or runs[0].get(what) is None:
            return None
        share = {"cpu": True, "instructions": True}.get(what, False)
        return Spread(run[what] / (run["count"] if share else 1) for run in runs)

    def ratio(self, what, mine, theirs):
        """The medians' ratio, and the spread of the ratios of runs that came one after the other."""
        if not mine or not theirs:
            return None
        ours, others = self.of(mine, what), self.of(theirs, what)
        rounds = Spread(a / b for a, b in zip(ours.values, others.values))
        rounds.middle = ours.middle / others.middle
        return rounds
