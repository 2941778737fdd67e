"""Redis, or a Cluster of it, and instances of `lingua serve` on it: started, asked and ended."""
import pathlib
import shutil
import signal
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
LINGUA = ROOT / "target/release/lingua"
# Places of the ports: instances first, then whatever stands before Redis, then Redis.
PROXY, REDIS = 9, 10


class House:
    """All processes that serve. `near`: the port of Redis for some instances, if not its own."""

    def __init__(self, out, ports, instances, cluster=False, near=None):
        self.out, self.ports, self.count, self.cluster = out, ports, instances, cluster
        self.near = near or {}
        self.redis, self.instances = {}, []
        shutil.rmtree(out, ignore_errors=True)
        out.mkdir(parents=True)

    def port(self, place):
        return self.ports + place

    def start(self):
        self.start_store()
        self.start_instances()

    def start_store(self):
        if not self.cluster:
            self.start_redis(self.port(REDIS))
            return
        ports = [self.port(REDIS + n) for n in range(6)]
        for port in ports:
            self.start_redis(port)
        hosts = [f"127.0.0.1:{port}" for port in ports]
        create = ["redis-cli", "--cluster", "create", *hosts, "--cluster-replicas", "1",
                  "--cluster-yes"]
        subprocess.run(create, check=True, stdout=subprocess.DEVNULL)
        wait_for(lambda: all(cluster_is_well(port) for port in ports), "the Cluster")

    def start_instances(self):
        self.instances = [self.start_instance(n) for n in range(self.count)]
        wait_for(lambda: all(ready(self.port(n)) for n in range(self.count)), "the instances")
        # Until every instance has copied who is there.
        time.sleep(1)

    def start_redis(self, port):
        folder = self.out / f"redis-{port}"
        folder.mkdir(exist_ok=True)
        command = ["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--dir", folder,
                   "--save", "", "--appendonly", "yes", "--logfile", folder / "log"]
        if self.cluster:
            command += ["--cluster-enabled", "yes", "--cluster-node-timeout", "5000"]
        self.redis[port] = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        wait_for(lambda: ask(port, "PING") == "PONG", f"redis-server at {port}")

    def start_instance(self, n):
        ports = sorted(self.redis) if self.cluster else [self.near.get(n, self.port(REDIS))]
        urls = ",".join(f"redis://127.0.0.1:{port}" for port in ports)
        command = [LINGUA, "serve", "--listen", f"127.0.0.1:{self.port(n)}", "--redis", urls]
        command += ["--redis-cluster"] if self.cluster else []
        log = open(self.out / f"instance-{n}.log", "a", encoding="utf-8")
        return subprocess.Popen(command, cwd=ROOT, stdout=log, stderr=log)

    def targets(self, instances=None):
        places = range(self.count) if instances is None else instances
        return ",".join(f"ws://127.0.0.1:{self.port(n)}" for n in places)

    def load(self, scenario, *more, targets=None):
        """The judge, over all instances or those that are named."""
        command = [LINGUA, "load", scenario, "--target", targets or self.targets(), "--out",
                   self.out / "load", *more]
        log = open(self.out / "load.log", "w", encoding="utf-8")
        return subprocess.Popen(command, cwd=ROOT, stdout=log, stderr=log)

    def stop(self):
        for process in [*self.instances, *self.redis.values()]:
            if process.poll() is None:
                process.send_signal(signal.SIGCONT)
                process.kill()
            process.wait()


def ask(port, *command):
    said = subprocess.run(["redis-cli", "-p", str(port), *command], capture_output=True, text=True,
                          check=False)
    return said.stdout.strip()


def cluster_is_well(port):
    said = ask(port, "CLUSTER", "INFO")
    return "cluster_state:ok" in said and "cluster_known_nodes:6" in said


def ready(port):
    curl = ["curl", "-sf", "-o", "/dev/null", f"http://127.0.0.1:{port}/ready"]
    return subprocess.run(curl, check=False).returncode == 0


def wait_for(holds, what, patience=60):
    since = time.monotonic()
    while not holds():
        if time.monotonic() - since > patience:
            sys.exit(f"{what}: not there after {patience} s")
        time.sleep(0.1)
