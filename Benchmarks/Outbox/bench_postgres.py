"""Measures the store of an outbox in PostgreSQL beside pgbench on the same server.

In each round and for each number of workers, the store (`OutboxTestHelper rates`) and pgbench run in turn, on the same tables
with the same indexes. pgbench performs prepared statements that insert, lease and end items, and nothing else: no check of
keys, no lanes, no rates, no limits, no ages and no wake-ups.

Then it measures how long a lease of eight items takes beside 1,000 and beside 1,000,000 unfinished items, half of which are
ready, in turn, each on a server of its own (`OutboxTestHelper backlog`).
"""

import argparse
import glob
import os
import pwd
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

MILLISECONDS = "(extract(epoch FROM clock_timestamp()) * 1000)::bigint"

COLUMNS = "kind, lane, spec, idem_key, max_attempts, on_unknown, on_change, priority, rank, size, created_at"

INSERT = f"""
INSERT INTO waybill.item({COLUMNS}) SELECT 'form', 'backend.example:443', '{{"number":1}}', gen_random_uuid()::text, 10,
    'verify', 'fail', 0, {MILLISECONDS}, 1000, {MILLISECONDS} FROM generate_series(1, %d) RETURNING id;
"""

LEASE = """
WITH c AS MATERIALIZED (
    SELECT id FROM waybill.item WHERE lane = 'backend.example:443' AND state = 0 AND after IS NULL
    ORDER BY rank, id LIMIT %d FOR UPDATE SKIP LOCKED)
UPDATE waybill.item i SET state = 1, token = 'raw' || :client_id, lease_no = i.lease_no + 1, attempts = i.attempts + 1
WHERE i.id = ANY(ARRAY(SELECT id FROM c)) RETURNING i.id, i.spec, i.lease_no%s
"""

END = f"""
WITH d AS (DELETE FROM waybill.item WHERE %s RETURNING *)
INSERT INTO waybill.ended(day, seq, ended_at, id, state, attempts, lease_no, status, {COLUMNS})
SELECT ({MILLISECONDS} / 86400000)::int, nextval('raw_seq'), {MILLISECONDS}, id, 4, attempts, lease_no, 200, {COLUMNS} FROM d;
"""

ONE, MANY, LEASED = 1, 500, 512

# The name that the helper prints, the items of one transaction, and the statements.
ROWS = [
    ("enqueue, one at a time", ONE, INSERT % ONE),
    (f"enqueue, {MANY} at a time", MANY, INSERT % MANY),
    ("lease and done, one at a time", ONE, LEASE % (ONE, " \\gset") + END % "id = :id AND lease_no = :lease_no"),
    (f"lease and done, {LEASED} at a time", LEASED, LEASE % (LEASED, ";") + END % "token = 'raw' || :client_id"),
]

# What the store sets for its own sessions.
SETTINGS = "-c jit=off -c plan_cache_mode=force_generic_plan -c enable_seqscan=off"


class Server:
    """A PostgreSQL server on a socket in a temporary directory, with its default settings of durability."""

    def __init__(self):
        found = sorted(glob.glob("/usr/lib/postgresql/*/bin/postgres"))
        program = found[-1] if found else shutil.which("postgres")
        if not program:
            sys.exit("PostgreSQL is not installed. Run `make setup`.")
        self.bin = os.path.dirname(program)
        self.folder = tempfile.mkdtemp(prefix="waybill-postgres.", dir=os.environ.get("TMPDIR", "/var/tmp"))
        self.user = {}
        if os.geteuid() == 0:
            entry = pwd.getpwnam("postgres")
            os.chown(self.folder, entry.pw_uid, entry.pw_gid)
            self.user = {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}
        self._run("initdb", "-D", f"{self.folder}/data", "-U", "waybill", "--auth=trust", "--locale=C.UTF-8")
        self.process = subprocess.Popen(
            [f"{self.bin}/postgres", "-D", f"{self.folder}/data", "-k", self.folder, "-h", "", "-c", "shared_buffers=128MB"],
            cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **self.user)
        self.url = f"postgresql://waybill@/postgres?host={self.folder}"
        while subprocess.run([f"{self.bin}/pg_isready", "-q", "-h", self.folder]).returncode != 0:
            if self.process.poll() is not None:
                sys.exit("The PostgreSQL server did not start.")
            time.sleep(0.1)

    def _run(self, name, *arguments):
        subprocess.run([f"{self.bin}/{name}", *arguments], cwd=self.folder, check=True, stdout=subprocess.DEVNULL, **self.user)

    def sql(self, *statements):
        words = [word for statement in statements for word in ("-c", statement)]
        subprocess.run(
            ["psql", "-q", "-v", "ON_ERROR_STOP=1", *words, self.url], check=True, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)

    def pgbench(self, script, workers, transactions):
        """Returns transactions per second."""
        path = f"{self.folder}/script.sql"
        with open(path, "w") as file:
            file.write(script)
        run = subprocess.run(
            ["pgbench", "-n", "-M", "prepared", "-c", str(workers), "-j", str(workers), "-t", str(transactions), "-f", path,
             "-h", self.folder, "-U", "waybill", "postgres"],
            check=True, capture_output=True, text=True, env={**os.environ, "PGOPTIONS": SETTINGS})
        failed = re.search(r"number of failed transactions: (\d+)", run.stdout)
        if failed and int(failed[1]):
            sys.exit(f"pgbench: {failed[1]} transactions failed.")
        return float(re.search(r"^tps = ([0-9.]+)", run.stdout, re.M)[1])

    def close(self):
        self.process.terminate()
        self.process.wait()
        shutil.rmtree(self.folder)


def measure_store(server, helper, workers, count):
    """Returns items per second by row."""
    server.sql("DROP SCHEMA IF EXISTS waybill CASCADE")
    run = subprocess.run([helper, "rates", server.url, str(count), str(workers)], check=True, capture_output=True, text=True)
    return {name: int(rate) for name, rate in re.findall(r"^(.*): (\d+) /s$", run.stdout, re.M)}


def measure_raw(server, workers, count):
    server.sql(
        "DROP SEQUENCE IF EXISTS raw_seq", "CREATE SEQUENCE raw_seq CACHE 100",
        "TRUNCATE waybill.item, waybill.ended, waybill.tally_delta", "CHECKPOINT")
    single = min(count // 4, 5_000)
    rates = {}
    for name, items, script in ROWS:
        total = single if items == ONE else count - single
        rates[name] = items * server.pgbench(script, workers, max(1, total // items // workers))
    return rates


BACKLOGS = [1_000, 1_000_000]


def measure_backlogs(helper, rounds):
    servers = [Server() for _ in BACKLOGS]
    times = {count: [] for count in BACKLOGS}
    try:
        for _ in range(rounds):
            for server, count in zip(servers, BACKLOGS):
                run = subprocess.run([helper, "backlog", server.url, str(count)], check=True, capture_output=True, text=True)
                times[count].append([int(time) for time in re.findall(r"(\d+) us", run.stdout)])
    finally:
        for server in servers:
            server.close()
    print("\n| unfinished | lease of 8, median | p99 |\n| --- | --- | --- |")
    medians = {count: [statistics.median(column) for column in zip(*rows)] for count, rows in times.items()}
    for count, (median, p99) in medians.items():
        print(f"| {count:,} | {median / 1000:.2f} ms | {p99 / 1000:.2f} ms |")
    ratios = [large / small for small, large in zip(*(medians[count] for count in BACKLOGS))]
    print(f"| ratio | {ratios[0]:.2f} | **{ratios[1]:.2f}** |")


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--helper", required=True, help="the path of OutboxTestHelper, a release build")
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--count", type=int, default=20_000, help="items in each measurement")
    options.add_argument("--workers", type=int, nargs="+", default=[1, 4, 8])
    options = options.parse_args()
    server = Server()
    try:
        print("| workers | | store /s | pgbench /s | ratio | from | to |\n| --- | --- | --- | --- | --- | --- | --- |")
        rounds = {workers: [] for workers in options.workers}
        for _ in range(options.rounds):
            for workers in options.workers:
                store = measure_store(server, options.helper, workers, options.count)
                rounds[workers].append((store, measure_raw(server, workers, options.count)))
        for workers, results in rounds.items():
            for name, _, _ in ROWS:
                pairs = [(store[name], raw[name]) for store, raw in results]
                ratios = [store / raw for store, raw in pairs]
                store, raw = (statistics.median(values) for values in zip(*pairs))
                print(
                    f"| {workers} | {name} | {store:,.0f} | {raw:,.0f} | **{statistics.median(ratios):.2f}** "
                    f"| {min(ratios):.2f} | {max(ratios):.2f} |")
    finally:
        server.close()
    measure_backlogs(options.helper, options.rounds)


if __name__ == "__main__":
    main()
