#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Cost of monitoring: CPU time of `braid metrics --listen` and `braid top` with many subflows.

    sudo bench/monitor.py [--subflows N] [--seconds S] [--cc NAME] [--braid PATH]

Connections of two subflows each run between two network namespaces, and each sends a few bytes twice a second. The
monitor sees one of the two only, as on a router. `--cc` is a congestion control that the kernel has; with one of
Braid's that has a detector (`braid load weave`) group labels are read as well. Prints a table, and exits with 1 if a
bound is broken: 50 ms of CPU for a scrape, 1 % of a core for `metrics` scraped every 15 s and for `top` in a terminal
that refreshes every second."""

import argparse
import ctypes
import os
import pathlib
import pty
import selectors
import signal
import socket
import subprocess
import sys
import termios
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
IPPROTO_MPTCP = 262
NETWORK_NAMESPACE = 0x40000000  # CLONE_NEWNET
TICKS = os.sysconf("SC_CLK_TCK")
SERVER, PORT = "10.77.1.2", 5001
SCRAPE_MS, CORE_PERCENT, EVERY_S = 50, 1, 15


def shell(*commands):
    for command in commands:
        subprocess.run(command.split(), check=True)


def network(ends):
    one, other = ends
    shell(f"ip netns add {one}", f"ip netns add {other}")
    for path in (1, 2):
        shell(
            f"ip -n {one} link add p{path} type veth peer name p{path} netns {other}",
            f"ip -n {one} addr add 10.77.{path}.1/24 dev p{path}",
            f"ip -n {other} addr add 10.77.{path}.2/24 dev p{path}",
            f"ip -n {one} link set p{path} up",
            f"ip -n {other} link set p{path} up",
        )
    for end in ends:
        shell(f"ip -n {end} link set lo up", f"ip -n {end} mptcp limits set subflows 2")
    shell(
        f"ip -n {one} route add default via 10.77.2.2 table 102",
        f"ip -n {one} rule add from 10.77.2.1 table 102",
        f"ip -n {one} mptcp endpoint add 10.77.2.1 subflow",
    )


def enter(end):
    with open(f"/run/netns/{end}") as file:
        if ctypes.CDLL(None, use_errno=True).setns(file.fileno(), NETWORK_NAMESPACE) != 0:
            raise OSError(ctypes.get_errno(), "setns")


def child(end, work):
    pid = os.fork()
    if pid == 0:
        try:
            enter(end)
            work()
        finally:
            os._exit(1)
    return pid


def serve():
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, IPPROTO_MPTCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind((SERVER, PORT))
    listener.listen(1024)
    waiting = selectors.DefaultSelector()
    waiting.register(listener, selectors.EVENT_READ)
    while True:
        for key, _ in waiting.select():
            if key.fileobj is listener:
                connection, _ = listener.accept()
                waiting.register(connection, selectors.EVENT_READ)
            elif not key.fileobj.recv(1 << 16):
                waiting.unregister(key.fileobj)


def send(count, cc):
    connections = []
    for _ in range(count):
        connection = socket.socket(socket.AF_INET, socket.SOCK_STREAM, IPPROTO_MPTCP)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, cc.encode())
        connection.connect((SERVER, PORT))
        connections.append(connection)
    while True:
        for connection in connections:
            connection.send(bytes(3000))
        time.sleep(0.5)


def inside(end, *command):
    """The command in a mount namespace where no other network namespace is visible."""
    hidden = 'mount -t tmpfs run /run && exec "$@"'
    return [
        *["nsenter", f"--net=/run/netns/{end}", "unshare", "--pid", "--fork", "--kill-child", "--mount-proc"],
        *["sh", "-c", hidden, "sh", *command],
    ]


def cpu_s(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def of(braid, pid):
    """The process of braid below this process."""
    for _ in range(100):
        below = [pid]
        for process in below:
            path = pathlib.Path(f"/proc/{process}/task/{process}/children")
            below += [int(number) for number in path.read_text().split()] if path.exists() else []
        for process in below:
            if os.path.realpath(f"/proc/{process}/exe") == braid:
                return process
        time.sleep(0.1)
    raise RuntimeError("braid did not start")


def get(end):
    """Time of one scrape, from a process inside the namespace."""
    code = "import urllib.request as u; print(u.urlopen('http://127.0.0.1:9724/metrics').read().decode())"
    command = ["nsenter", f"--net=/run/netns/{end}", sys.executable, "-c", code]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def subflows(text):
    return sum(int(line.split()[-1]) for line in text.splitlines() if line.startswith("braid_subflows{"))


def scrapes(end, braid, count):
    process = subprocess.Popen(inside(end, braid, "metrics", "--listen", "9724"), stderr=subprocess.DEVNULL)
    try:
        pid = of(braid, process.pid)
        time.sleep(1)
        seen = subflows(get(end))
        before = cpu_s(pid)
        for _ in range(count):
            get(end)
        return seen, 1000 * (cpu_s(pid) - before) / count
    finally:
        process.kill()
        process.wait()


def top(end, braid, seconds):
    """CPU seconds per second."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ["TERM"] = "xterm"
        termios.tcsetwinsize(0, (50, 120))
        command = inside(end, braid, "top", "--all")
        os.execvp(command[0], command)
    try:
        found = of(braid, pid)
        os.set_blocking(terminal, False)
        drawn = 0

        def drain(until):
            nonlocal drawn
            while time.monotonic() < until:
                try:
                    drawn += len(os.read(terminal, 1 << 16))
                except BlockingIOError:
                    time.sleep(0.02)

        drain(time.monotonic() + 3)
        before, began = cpu_s(found), time.monotonic()
        drain(began + seconds)
        used = (cpu_s(found) - before) / (time.monotonic() - began)
        if drawn < 1000:
            raise RuntimeError("top drew nothing")
        return used
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--subflows", type=int, default=1000)
    parser.add_argument("--seconds", type=int, default=30, help="how long to look at top")
    parser.add_argument("--cc", default="cubic")
    parser.add_argument("--braid", default=os.environ.get("BRAID", ROOT / "target/release/braid"))
    arguments = parser.parse_args()
    braid = os.path.realpath(arguments.braid)
    ends = [f"braid-monitor-{os.getpid()}-{end}" for end in ("a", "b")]
    children = []
    try:
        network(ends)
        children.append(child(ends[1], serve))
        time.sleep(0.5)
        children.append(child(ends[0], lambda: send(arguments.subflows // 2, arguments.cc)))
        time.sleep(5)
        count, scrape_ms = scrapes(ends[0], braid, 40)
        used = 100 * top(ends[0], braid, arguments.seconds)
    finally:
        for pid in children:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        for end in ends:
            subprocess.run(["ip", "netns", "del", end], check=False)
    metrics = scrape_ms / EVERY_S / 10
    print(f"| subflows, on {arguments.cc} | a scrape, ms of CPU | metrics, scraped every 15 s, % of a core | top, % of a core |")
    print("|--:|--:|--:|--:|")
    print(f"| {count} | {scrape_ms:.1f} | {metrics:.2f} | {used:.2f} |")
    if count < arguments.subflows:
        print(f"only {count} of {arguments.subflows} subflows came to be", file=sys.stderr)
        return 1
    return int(scrape_ms >= SCRAPE_MS or metrics >= CORE_PERCENT or used >= CORE_PERCENT)


if __name__ == "__main__":
    sys.exit(main())
