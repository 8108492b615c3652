#!/usr/bin/env python3
"""Bulk data over one TCP or MPTCP connection, with minimal work per socket.

traffic.py serve PORT                                  accepts one connection after the other, reads and drops
traffic.py visit ADDRESS PORT                          opens a TCP connection and closes it
traffic.py send ADDRESS PORT SECONDS [--mptcp] [--cc NAME] [--subflows N]
                                                       prints the payload bytes that were sent per second
traffic.py pairs ADDRESS PORT PAIRS SECONDS NAME NAME  sends over PAIRS TCP connections with each congestion control, one
                                                       after the other; prints a line for each pair: bytes per second with the first
                                                       and with the second
traffic.py alternate ADDRESS PORT SLICES SECONDS NAME NAME
                                                       sends over one TCP connection that changes between the congestion
                                                       controls, with SLICES time slices for each; prints the bytes per
                                                       second with the first and with the second
"""

import argparse
import contextlib
import socket
import struct
import sys
import time

MPTCP_INFO = 1  # of level SOL_MPTCP
SOL_MPTCP = 284


def make(is_mptcp: bool) -> socket.socket:
    return socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_MPTCP if is_mptcp else 0)


def serve(port: int) -> None:
    # An MPTCP socket accepts plain TCP, too.
    with make(True) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("", port))
        listener.listen(64)
        buffer = bytearray(1 << 20)
        while True:
            connection, _ = listener.accept()
            # A client that has finished measuring resets the connection.
            with connection, contextlib.suppress(ConnectionResetError):
                while connection.recv_into(buffer):
                    pass


def subflows(connection: socket.socket) -> int:
    """Number of subflows besides the first."""
    return connection.getsockopt(SOL_MPTCP, MPTCP_INFO, 256)[0]


def send(arguments: argparse.Namespace) -> None:
    with make(arguments.mptcp) as connection:
        if arguments.cc:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, arguments.cc.encode())
        connection.connect((arguments.address, arguments.port))
        data = bytes(1 << 18)
        connection.sendall(data)
        deadline = time.monotonic() + 5
        while arguments.subflows > 1 and subflows(connection) < arguments.subflows - 1:
            if time.monotonic() > deadline:
                sys.exit(f"only {subflows(connection) + 1} of {arguments.subflows} subflows after 5 s")
            time.sleep(0.01)
        began = time.monotonic()
        sent = 0
        while time.monotonic() - began < arguments.seconds:
            sent += connection.send(data)
        print(sent / (time.monotonic() - began))
        # Discards buffered data.
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def pairs(arguments: argparse.Namespace) -> None:
    data = bytes(1 << 18)
    for number in range(arguments.pairs):
        rates = {}
        # Order A B B A, so that a steady drift favours neither.
        for name in arguments.names if number % 2 == 0 else arguments.names[::-1]:
            with make(False) as connection:
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, name.encode())
                connection.connect((arguments.address, arguments.port))
                began = time.monotonic()
                sent = 0
                while time.monotonic() - began < arguments.seconds:
                    sent += connection.send(data)
                rates[name] = sent / (time.monotonic() - began)
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        print(*(rates[name] for name in arguments.names))


def alternate(arguments: argparse.Namespace) -> None:
    data = bytes(1 << 18)
    with make(False) as connection:
        connection.connect((arguments.address, arguments.port))
        totals = dict.fromkeys(arguments.names, 0)
        # Order A B B A, so that a steady drift favours neither. The first round does not count.
        order = (arguments.names + arguments.names[::-1]) * ((arguments.slices + 1) // 2)
        for number, name in enumerate(arguments.names + order):
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, name.encode())
            began = time.monotonic()
            sent = 0
            while time.monotonic() - began < arguments.seconds:
                sent += connection.send(data)
            if number >= len(arguments.names):
                totals[name] += sent / (time.monotonic() - began)
        print(*(total / (len(order) / 2) for total in totals.values()))
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    command = commands.add_parser("serve")
    command.add_argument("port", type=int)
    command = commands.add_parser("visit")
    command.add_argument("address")
    command.add_argument("port", type=int)
    command = commands.add_parser("send")
    command.add_argument("address")
    command.add_argument("port", type=int)
    command.add_argument("seconds", type=float)
    command.add_argument("--mptcp", action="store_true")
    command.add_argument("--cc", default="")
    command.add_argument("--subflows", type=int, default=1)
    command = commands.add_parser("pairs")
    command.add_argument("address")
    command.add_argument("port", type=int)
    command.add_argument("pairs", type=int)
    command.add_argument("seconds", type=float)
    command.add_argument("names", nargs=2)
    command = commands.add_parser("alternate")
    command.add_argument("address")
    command.add_argument("port", type=int)
    command.add_argument("slices", type=int)
    command.add_argument("seconds", type=float)
    command.add_argument("names", nargs=2)
    arguments = parser.parse_args()
    if arguments.command == "serve":
        serve(arguments.port)
    elif arguments.command == "visit":
        socket.create_connection((arguments.address, arguments.port)).close()
    elif arguments.command == "pairs":
        pairs(arguments)
    elif arguments.command == "alternate":
        alternate(arguments)
    else:
        send(arguments)


if __name__ == "__main__":
    main()
