"""The measured figures, for the page and the targets."""

import statistics

import sending


def median(values):
    return statistics.median(values)


class Spread:
    """The median, minimum and maximum of figures."""

    def __init__(self, values):
        self.values = list(values)
        self.middle, self.least, self.most = median(self.values), min(self.values), max(self.values)

    def text(self, form="%.2f"):
        return "%s (%s–%s)" % (form % self.middle, form % self.least, form % self.most)


class Figures:
    """All figures of one run of the benchmark, as stored in its file."""

    def __init__(self, stored):
        self.stored = stored
        self.sending = stored.get("sending", {})

    def runs(self, kind, driver, at_once=1, is_secure=False):
        return (self.sending.get(sending.key(kind, at_once, is_secure)) or {}).get(driver) or []

    def of(self, runs, what):
        """Returns a figure of each run; counts are per form."""
        if not runs or runs[0].get(what) is None:
            return None
        share = {"cpu": True, "instructions": True}.get(what, False)
        return Spread(run[what] / (run["count"] if share else 1) for run in runs)

    def ratio(self, what, mine, theirs):
        """Returns the ratio of medians, and the spread of the ratios of consecutive runs."""
        if not mine or not theirs:
            return None
        ours, others = self.of(mine, what), self.of(theirs, what)
        rounds = Spread(a / b for a, b in zip(ours.values, others.values))
        rounds.middle = ours.middle / others.middle
        return rounds
