"""Stands for a server that starts slowly: it runs the command after it only once `initialize` has arrived.

Everything that arrived before is handed over in order, as it is when a process reads its input late.
"""

import os
import subprocess
import sys
import threading

held = b""
while b'"initialize"' not in held:
    piece = os.read(0, 65536)
    if not piece:
        sys.exit(0)
    held += piece
server = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE)
assert server.stdin is not None


def pump() -> None:
    assert server.stdin is not None
    piece = held
    while piece:
        server.stdin.write(piece)
        server.stdin.flush()
        piece = os.read(0, 65536)
    server.stdin.close()


threading.Thread(target=pump, daemon=True).start()
sys.exit(server.wait())
