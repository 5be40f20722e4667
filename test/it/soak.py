#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A project's year in minutes: hosts of every kind, admins, kill -9, and a clock that goes in steps.

The clock (lib/clock.h) is set ahead step by step.  In each step some hosts make their requests, real ones to the real
services; then the daemons finish what is due.  Work is added as long as the year lasts; afterwards the hosts finish what
they have.  Samples of what the project occupies go to OUT/samples, what happened to OUT/facts, one "NAME VALUE" a line.
"""
import argparse, hashlib, http.client, json, mmap, os, random, re, signal, struct, subprocess, sys, time
from urllib.parse import urlparse

DAY = 86400
STEPS = 65536
SAMPLE_DAYS = 5


class Clock:
    def __init__(self, path):
        with open(path, "r+b") as f:
            self.map = mmap.mmap(f.fileno(), 8 + 16 * STEPS)
        self.n, self.ahead = 0, 0

    def now(self):
        return int(time.time()) + self.ahead

    def step_to(self, t):
        if t <= self.now() or self.n == STEPS:
            return
        self.ahead = t - int(time.time())
        struct.pack_into("=qq", self.map, 8 + 16 * self.n, int(time.time()), self.ahead)
        self.n += 1
        struct.pack_into("=Q", self.map, 0, self.n)


class Database:
    """A client that is started again when the server was killed."""

    def __init__(self, command):
        self.command, self.client = command, None

    def ask(self, sql):
        for _ in range(600):
            try:
                if self.client is None:
                    self.client = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                                   stderr=subprocess.DEVNULL, text=True)
                self.client.stdin.write(sql + ";\nSELECT 'that is all';\n")
                self.client.stdin.flush()
                rows = []
                for line in self.client.stdout:
                    if line == "that is all\n":
                        return rows
                    rows.append(line.rstrip("\n").split("\t"))
            except OSError:
                pass
            self.client.kill()
            self.client.wait()
            self.client = None
            time.sleep(0.2)
        sys.exit("soak: the database does not answer")

    def number(self, sql):
        return float(self.ask(sql)[0][0])


# Kinds of hosts: how many of ten thousand, and how likely each end of a job is; the rest succeeds.
KINDS = {
    "good": (6600, {"error": 0.01, "silent": 0.005}),
    "failing": (800, {"error": 0.4}),
    "silent": (600, {"silent": 0.4}),
    "garbage": (500, {"garbage": 0.5}),
    "disagreeing": (500, {"disagree": 0.5}),
    "late": (600, {"late": 0.4}),
    "forgetful": (400, {"forgotten": 0.3}),
}


VICTIMS = ("scheduler", "web", "file_upload_han", "transitioner", "working_set_man", "validator", "assimilator", "file_deleter",
           "db_purge", "trickle_handler")


POISONED = ("7", "77")  # jobs of each week that fail nearly everywhere


class Host:
    def __init__(self, number, key, rng, number_of_cpid=0):
        self.number, self.key = number, key
        self.id, self.seqno, self.jobs, self.files = 0, 0, {}, {}
        self.cpid = hashlib.md5(b"%d.%d" % (number, number_of_cpid)).hexdigest()
        self.lives = number_of_cpid
        draw = rng.random() * 10000
        for i, (self.kind, (share, self.ends)) in enumerate(KINDS.items()):
            draw -= share
            if i == number or (draw < 0 and number >= len(KINDS)):  # the first hosts are one of each kind
                break

    def draw(self, rng):
        luck = rng.random()
        for end, chance in self.ends.items():
            luck -= chance
            if luck < 0:
                return end
        return "ok"


class Soak:
    def __init__(self, o):
        self.o, self.rng = o, random.Random(o.seed)
        self.clock = Clock(o.clock)
        self.db = Database(o.mariadb.split("\x1f"))
        self.scheduler, self.uploads = urlparse(o.scheduler), urlparse(o.uploads)
        self.facts = {}
        self.samples = open(os.path.join(o.out, "samples"), "w")
        self.keys = open(o.keys).read().split()
        self.hosts = [Host(i, self.keys[i % len(self.keys)], self.rng) for i in range(o.hosts)]
        self.gone, self.to_merge, self.banned = [], [], []
        self.made, self.weeks = 0, 0
        self.started = time.monotonic()
        self.began = self.clock.now()
        self.log = open(os.path.join(o.out, "log"), "w")

    def note(self, text):
        self.log.write(text + "\n")
        self.log.flush()

    def count(self, what, n=1):
        self.facts[what] = self.facts.get(what, 0) + n

    # --- hosts

    def post(self, to, body):
        try:
            c = http.client.HTTPConnection(to.hostname, to.port, timeout=60)
            c.request("POST", to.path, body.encode(), {"Content-Type": "text/xml"})
            r = c.getresponse()
            text = r.read().decode("latin-1")
            c.close()
            return text if r.status == 200 else None
        except (OSError, http.client.HTTPException):
            return None

    def fetch(self, url, size):
        """Is the file there, as long as the scheduler says?"""
        to = urlparse(url)
        try:
            c = http.client.HTTPConnection(to.hostname, to.port, timeout=60)
            c.request("GET", to.path)
            r = c.getresponse()
            good = r.status == 200 and len(r.read()) == size
            c.close()
            return good
        except (OSError, http.client.HTTPException):
            return False

    def upload(self, name, text):
        md5 = hashlib.md5(text.encode()).hexdigest()
        reply = self.post(self.uploads, f"""<data_server_request>
<core_client_major_version>7</core_client_major_version>
<core_client_minor_version>20</core_client_minor_version>
<core_client_release>5</core_client_release>
<file_upload>
<file_info>
<name>{name}</name>
<xml_signature>
</xml_signature>
<max_nbytes>65536</max_nbytes>
</file_info>
<nbytes>{len(text)}</nbytes>
<md5_cksum>{md5}</md5_cksum>
<offset>0</offset>
<data>
{text}""")
        self.count("uploads")
        return reply is not None and "<status>0<" in reply

    def finish(self, job):
        """Uploads what a job has made; False: not now."""
        if job["end"] == "error":
            return True
        text = job["name"].rsplit("_", 1)[0] + "\n"
        if job["end"] == "garbage":
            text = "garbage %d\n" % self.rng.randrange(1 << 60)
        elif job["end"] == "disagree":
            text = text[:-1] + "?" + str(self.rng.randrange(3)) + "\n"
        job["md5"], job["size"] = hashlib.md5(text.encode()).hexdigest(), len(text)
        return all(self.upload(out, text) for out in job["outputs"])

    def reports(self, h):
        now, out = self.clock.now(), []
        for job in h.jobs.values():
            if job["ready"] > now or not (job.get("done") or self.finish(job)):
                continue
            job["done"] = True
            bad = job["end"] == "error"
            files = "" if bad else "".join(
                f"<file_info>\n<name>{name}</name>\n<nbytes>{job['size']}</nbytes>\n<md5_cksum>{job['md5']}</md5_cksum>\n</file_info>\n"
                for name in job["outputs"])
            out.append(f"""<result>
<name>{job['name']}</name>
<final_cpu_time>1000</final_cpu_time>
<final_elapsed_time>1100</final_elapsed_time>
<exit_status>{1 if bad else 0}</exit_status>
<state>{3 if bad else 5}</state>
<app_version_num>100</app_version_num>
{files}<stderr_out>
<core_client_version>7.20.5</core_client_version>
</stderr_out>
</result>
""")
        return "".join(out)

    def request(self, h, work):
        reports = self.reports(h)
        others = "".join(f"<other_result><name>{j['name']}</name></other_result>\n" for j in h.jobs.values() if not j.get("done"))
        seconds = 100000 if work else 0
        files = "".join(f"<file_info>\n<name>{name}</name>\n<nbytes>{size}</nbytes>\n<status>1</status>\n</file_info>\n"
                        for name, size in h.files.items())
        trickle = ""
        if self.rng.random() < 0.05:
            trickle = f"<msg_from_host>\n<result_name>x</result_name>\n<time>{self.clock.now()}</time>\n<variety>v</variety>\n<a>1</a>\n</msg_from_host>\n"
        return f"""<scheduler_request>
<authenticator>{h.key}</authenticator>
<hostid>{h.id}</hostid>
<rpc_seqno>{h.seqno}</rpc_seqno>
<core_client_major_version>7</core_client_major_version>
<core_client_minor_version>20</core_client_minor_version>
<core_client_release>5</core_client_release>
<work_req_seconds>{seconds}</work_req_seconds>
<cpu_req_secs>{seconds}</cpu_req_secs>
<cpu_req_instances>{1 if work else 0}</cpu_req_instances>
<client_cap_plan_class>1</client_cap_plan_class>
<platform_name>x86_64-pc-linux-gnu</platform_name>
<host_info>
<domain_name>soak{h.number}.{h.lives}</domain_name><ip_addr>127.0.0.1</ip_addr>
<host_cpid>{h.cpid}</host_cpid><p_ncpus>1</p_ncpus>
<p_vendor>GenuineIntel</p_vendor><p_model>x</p_model>
<p_fpops>1000000000</p_fpops><m_nbytes>8000000000</m_nbytes>
<d_total>100000000000</d_total><d_free>90000000000</d_free>
<os_name>Linux</os_name><os_version>6</os_version>
</host_info>
<time_stats><on_frac>1</on_frac><connected_frac>1</connected_frac><active_frac>1</active_frac></time_stats>
{files}{reports}{trickle}<other_results>
{others}</other_results>
</scheduler_request>
"""

    def contact(self, h, work=True):
        text = self.request(h, work)
        self.count("requests")
        reply = self.post(self.scheduler, text)
        if reply is None or "</scheduler_reply>" not in reply:
            self.count("requests_failed")
            return
        h.seqno += 1
        got = re.search(r"<hostid>(\d+)</hostid>", reply)
        if got and got[1] != "0":
            h.id = int(got[1])
        for ack in re.findall(r"<result_ack>\s*<name>([^<]+)", reply):
            h.jobs.pop(ack, None)
        for gone in re.findall(r"<result_abort(?:_if_not_started)?>\s*<name>([^<]+)", reply):
            if gone in h.jobs and not h.jobs[gone].get("done"):
                h.jobs[gone].update(end="error", ready=0)
        for name in re.findall(r"<delete_file_info>([^<]+)", reply):
            if h.files.pop(name, None) is not None:
                self.count("files_ordered_deleted")
        blocks = re.findall(r"<result>\n(.*?)</result>", reply, re.S)
        if blocks:
            self.fetch_inputs(h, reply)
        for block in blocks:
            self.receive(h, block)

    def fetch_inputs(self, h, reply):
        inputs = {}
        for block in re.findall(r"<file_info>(.*?)</file_info>", reply, re.S):
            name, url, size = (re.search(f"<{tag}>([^<]+)", block) for tag in ("name", "url", "nbytes"))
            if "<generated_locally/>" not in block and name and url and size:
                inputs[name[1]] = (url[1], int(float(size[1])), "<sticky/>" in block)
        for block in re.findall(r"<workunit>(.*?)</workunit>", reply, re.S):
            for name in re.findall(r"<file_name>([^<]+)", block):
                if name in h.files:
                    self.count("files_held_already")
                    continue
                url, size, sticky = inputs[name]
                self.count("fetches")
                if not self.fetch(url, size):
                    self.count("fetches_failed")
                    self.note(f"{name} is not there: host {h.id}")
                elif sticky:
                    h.files[name] = size

    def receive(self, h, block):
        name = re.search(r"<name>([^<]+)", block)[1]
        if name in h.jobs:
            return
        end, now = h.draw(self.rng), self.clock.now()
        if name.split("_")[2] in POISONED and self.rng.random() < 0.8:
            end = "error"
        if end == "forgotten":
            self.count("forgotten")
            return
        ready = now + int(self.rng.uniform(0.2, 4) * DAY)
        if end == "silent":
            ready = now + 40 * DAY
        elif end == "late":
            ready = now + int(self.rng.uniform(7.5, 12) * DAY)
        self.count("job_" + end)
        h.jobs[name] = {"name": name, "end": end, "ready": ready, "outputs": re.findall(r"<file_name>([^<]+)", block)}

    def some_hosts(self, work):
        for h in self.hosts:
            if self.rng.random() < self.o.step_hours / 24 / self.o.contact_days:
                self.contact(h, work)

    def hosts_disappear(self):
        """The computers of some accounts are set up anew, and the admins merge the two hosts."""
        for i, h in enumerate(self.hosts):
            if self.rng.random() < 0.5 / len(self.hosts) and h.id:
                self.hosts[i] = Host(h.number, h.key, self.rng, h.lives + 1)
                self.to_merge.append((h, self.hosts[i], self.clock.now()))
                self.count("disappeared")

    # --- admins

    def locus(self, *args):
        done = subprocess.run([self.o.locus, "-p", self.o.project, *args], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              env=dict(os.environ, LOCUS_RUN=self.o.project))
        if done.returncode != 0:
            self.note(f"locus {' '.join(args)}: {done.returncode}\n{done.stdout}{done.stderr}")
            self.count("commands_failed")
        return done.returncode == 0

    def insist(self, *args):
        """The database may be down; what is there is not added again."""
        for _ in range(60):
            if self.locus(*args):
                return
            time.sleep(0.5)
        sys.exit("soak: %s does not succeed" % " ".join(args[:2]))

    def retry(self):
        if self.db.number("SELECT COUNT(*) FROM workunit WHERE error_mask & 2 AND file_delete_state = 0") > 0 and \
                self.locus("work", "retry", "--state", "failed"):
            self.count("retried")

    def add_work(self, n):
        self.weeks += 1
        inputs = os.path.join(self.o.out, "inputs")
        os.makedirs(inputs, exist_ok=True)
        jobs = os.path.join(self.o.out, "jobs")
        with open(jobs, "w") as f:
            for i in range(n):
                path = os.path.join(inputs, f"soak_in_{self.weeks}_{i}")
                with open(path, "w") as p:
                    p.write(f"{self.weeks} {i}\n")
                f.write(json.dumps({"name": f"soak_{self.weeks}_{i}", "inputs": [path]}) + "\n")
        self.insist("work", "add", "soak", "--jobs", jobs)
        self.made += n
        large = []
        for i in range(max(1, n // 25)):
            large.append(os.path.join(inputs, f"sky{self.weeks}.{i}"))
            with open(large[-1], "w") as p:
                p.write(f"sky {self.weeks} {i}\n" * 100)
        self.insist("file", "add", "--app", "sky", "--ranges", "6", *large)
        self.made += 6 * len(large)
        for name in os.listdir(inputs):
            os.unlink(os.path.join(inputs, name))

    def a_week_of_admins(self, day):
        for old, new, since in list(self.to_merge):
            if new.id and new.id != old.id and self.clock.now() > since + 10 * DAY:
                if self.locus("host", "merge", str(old.id), str(new.id), "--yes"):
                    self.count("merged")
                self.to_merge.remove((old, new, since))
        if self.weeks % 3 == 1:
            h = self.rng.choice(self.hosts)
            if h.id and self.locus("host", "ban", str(h.id), "--for", "10d", "--reason", "soak"):
                self.count("banned")
        if self.weeks % 4 == 2:
            name = f"soak_{self.weeks}_{self.rng.randrange(10)}"
            if self.locus("work", "cancel", "--name", name, "--yes"):
                self.count("cancelled")
        logs = os.path.join(self.o.project, "log")
        for name in os.listdir(logs):  # what logrotate does; nobody is told
            path = os.path.join(logs, name)
            if name.endswith(".log") and os.path.getsize(path) > 0:
                os.rename(path, path + ".1")
        try:  # but Apache
            with open(os.path.join(self.o.project, "run", "apache.pid")) as f:
                os.kill(int(f.read()), signal.SIGUSR1)
        except (OSError, ValueError):
            pass
        results = os.path.join(self.o.project, "results")
        if os.path.isdir(results):  # the project's scientists fetch their data
            for name in os.listdir(results):
                self.count("collected")
                os.unlink(os.path.join(results, name))

    # --- kill -9

    def processes(self):
        """Yields pid and name of the project's processes."""
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/environ", "rb") as f:
                    if f"LOCUS_RUN={self.o.project}\0".encode() not in f.read() + b"\0":
                        continue
                with open(f"/proc/{pid}/comm") as f:
                    yield int(pid), f.read().strip()
            except OSError:
                pass

    def supervisor(self):
        try:
            with open(os.path.join(self.o.project, "run", "state.json")) as f:
                return json.load(f)["supervisor"]["pid"]
        except (OSError, ValueError, KeyError):
            return 0

    def kill_one(self):
        victims = [(p, n) for p, n in self.processes()
                   if n in VICTIMS or n in ("mariadbd", "mysqld") and self.rng.random() < 0.3]
        supervisor = self.supervisor()
        if supervisor and self.rng.random() < 0.3:
            victims.append((supervisor, "supervisor"))
        if not victims:
            return
        pid, name = self.rng.choice(sorted(victims, key=lambda v: v[1]))
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            return
        self.count("killed_" + name)
        self.count("killed")
        if name == "supervisor":  # it would be started again by the machine
            for _ in range(20):
                time.sleep(0.1)
                if self.locus("start"):
                    break

    # --- figures

    def put(self, day, name, value):
        self.samples.write(f"{day} {name} {value:.0f}\n")

    def occupied(self, path):
        total = files = 0
        for where, _, names in os.walk(path):
            for name in names:
                try:
                    total += os.lstat(os.path.join(where, name)).st_size
                    files += 1
                except OSError:
                    pass
        return files, total

    def sample(self, day, calm):
        for (table,) in self.db.ask("SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE() AND table_type = 'BASE TABLE'"):
            self.put(day, "rows." + table, self.db.number(f"SELECT COUNT(*) FROM `{table}`"))
        # The ledger keeps a row for each host, as the project keeps the hosts.
        self.put(day, "rows.ledger_of_files", self.db.number("SELECT COUNT(*) FROM ledger WHERE fileset_id > 0"))
        for part in ("upload", "download", "log", "run", "results", "archives", "mysql"):
            files, size = self.occupied(os.path.join(self.o.project, part))
            self.put(day, f"files.{part}", files)
            self.put(day, f"bytes.{part}", size)
        most, fds = {}, {}
        for pid, name in self.processes():
            try:
                with open(f"/proc/{pid}/status") as f:
                    text = f.read()
                n = len(os.listdir(f"/proc/{pid}/fd"))
            except OSError:
                continue
            rss = re.search(r"RssAnon:\s+(\d+) kB", text)
            most[name] = max(most.get(name, 0), int(rss[1]) * 1024 if rss else 0)
            fds[name] = max(fds.get(name, 0), n)
        for name in most:
            if name in ("apache2", "httpd") or "sh" == name:
                continue
            self.put(day, "memory." + name, most[name])
            if calm:
                self.put(day, "calm-memory." + name, most[name])
            self.put(day, "descriptors." + name, fds[name])
        self.samples.flush()

    # --- time

    DUE = ("SELECT (SELECT COUNT(*) FROM workunit WHERE transition_time <= {now}) + (SELECT COUNT(*) FROM workunit WHERE need_validate > 0)"
           " + (SELECT COUNT(*) FROM workunit WHERE assimilate_state = 1) + (SELECT COUNT(*) FROM workunit WHERE file_delete_state = 1)"
           " + (SELECT COUNT(*) FROM result WHERE file_delete_state = 1)")

    def settle(self, limit_s):
        end = time.monotonic() + limit_s
        while time.monotonic() < end:
            if self.db.number(self.DUE.format(now=self.clock.now())) == 0:
                return
            time.sleep(0.01)
        self.count("unsettled_steps")

    def step(self, day, work):
        self.clock.step_to(self.began + int(day * DAY))
        self.some_hosts(work)
        self.settle(3)

    def year(self):
        o, end = self.o, time.monotonic() + self.o.seconds
        per_day = 24 / o.step_hours
        step, sampled, week, killed = 0, -SAMPLE_DAYS, -7, 0
        while step < o.days * per_day and (o.seconds == 0 or time.monotonic() < end or step < 60 * per_day):
            day = step / per_day
            if day >= week + 7:
                week = day
                self.add_work(o.work)
                self.a_week_of_admins(day)
            if step % per_day < 1:
                self.hosts_disappear()
                self.retry()
            self.step(day, True)
            calm = o.seconds == 0 and day > o.days * 2 / 3  # a process that is killed again and again cannot grow
            if day >= killed + o.kill_days and not calm:
                killed = day
                self.kill_one()
            if day >= sampled + SAMPLE_DAYS:
                sampled = day
                self.sample(int(day), calm)
            step += 1
        self.facts["days"] = int(step / per_day)
        self.finish_work(step, per_day)

    def finish_work(self, step, per_day):
        """No new work and no kills: all that there is comes to its end, is purged, and what came too late expires."""
        self.facts["unfinished"] = int(self.db.number("SELECT COUNT(*) FROM workunit WHERE assimilate_state <> 2"))
        last = step + 150 * per_day
        uploads = os.path.join(self.o.project, "upload")
        while step < last and (self.db.number("SELECT (SELECT COUNT(*) FROM workunit) + (SELECT COUNT(*) FROM file)") > 0
                               or self.occupied(uploads)[0] > 0 or any(h.files for h in self.hosts if h.kind != "silent")):
            step += 1
            for h in self.hosts:  # those that never finish a job have left
                if h.kind != "silent" and self.rng.random() < 0.5:
                    self.contact(h, True)
            self.clock.step_to(self.began + int(step / per_day * DAY))
            self.settle(20)
            time.sleep(0.1)
        self.facts["days_to_finish"] = int(step / per_day) - self.facts["days"]
        self.facts["made"] = self.made
        self.facts["seconds"] = int(time.monotonic() - self.started)
        self.facts["files_held_at_end"] = sum(len(h.files) for h in self.hosts if h.kind != "silent")


def main():
    p = argparse.ArgumentParser()
    for name in ("project", "locus", "clock", "mariadb", "scheduler", "uploads", "keys", "out"):
        p.add_argument("--" + name, required=True)
    for name, default in (("hosts", 300), ("days", 365), ("seed", 1), ("work", 300), ("step-hours", 6)):
        p.add_argument("--" + name, type=int, default=default)
    p.add_argument("--seconds", type=float, default=0, help="ends the year early, after two months at the earliest")
    p.add_argument("--contact-days", type=float, default=2)
    p.add_argument("--kill-days", type=float, default=3)
    soak = Soak(p.parse_args())
    soak.year()
    with open(os.path.join(soak.o.out, "facts"), "w") as f:
        for name, value in sorted(soak.facts.items()):
            f.write(f"{name} {value}\n")


main()
