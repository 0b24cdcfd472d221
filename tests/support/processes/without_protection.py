"""Runs a command on a kernel that lacks something: `without_protection.py SYSTEM_CALL[,SYSTEM_CALL] COMMAND...`.

The named system calls answer ENOSYS, as on a kernel that does not have them.
"""

import ctypes
import os
import sys

ALLOW, ERRNO = 0x7FFF0000, 0x00050000
ENOSYS = 38

lib = ctypes.CDLL("libseccomp.so.2")
lib.seccomp_init.restype = ctypes.c_void_p
context = ctypes.c_void_p(lib.seccomp_init(ALLOW))
for name in sys.argv[1].split(","):
    number = lib.seccomp_syscall_resolve_name(name.encode())
    assert lib.seccomp_rule_add_array(context, ERRNO | ENOSYS, number, 0, None) == 0
assert lib.seccomp_load(context) == 0
os.execvp(sys.argv[2], sys.argv[2:])
