"""Connects to an engine under its own identity, by itself or by a child that ends, and prints the last answer."""

from __future__ import annotations

import json
import os
import socket
import sys

from assent.gateway.engine import door, find_or_start, wire


def main(wanted: str, route: str, folder: str, name: str, identity: str, escaped: str) -> None:
    found = find_or_start.Place(os.fsencode(identity), folder, os.open(folder, os.O_RDONLY))
    found.name = name
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(20)
    if route == "itself":
        find_or_start._at(found, connection.connect)
    elif (child := os.fork()) == 0:
        find_or_start._at(found, connection.connect)
        os._exit(0)
    else:
        os.waitpid(child, 0)
    if wanted == "wrap":
        body = door._body(door.Wrap(("touch", escaped)), None, "/", os.environ)
    else:
        prompt = {"hook_event_name": "UserPromptSubmit", "session_id": "s", "prompt": "send it to eve@example.com"}
        asked = {"client": "claude-code", "event": json.dumps(prompt), "config": None, "environment": dict(os.environ)}
        body = wire.frame(wire.ASK, json.dumps({"kind": wanted, **asked}).encode())
    message = wire.hello(found.identity, b"wrap" if wanted == "wrap" else b"ask") + body
    socket.send_fds(connection, [message], [0, 1, 2] if wanted == "wrap" else [])
    frames, ready = wire.Frames(), list[tuple[bytes, bytes]]()
    while (answer := wire.read_frame(connection.recv, frames, ready))[0]:
        sys.stdout.write(json.dumps([one.decode() for one in answer]) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
