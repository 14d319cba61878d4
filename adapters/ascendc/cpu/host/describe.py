"""Prints what a host library says about its operators; run in a process of its own, under limits (see host build)."""

import ctypes
import sys

if __name__ == "__main__":
    library = ctypes.CDLL(sys.argv[1])
    library.opmend_host_describe.restype = ctypes.c_char_p
    print("OPMEND-DESCRIPTION " + library.opmend_host_describe().decode("utf-8", "replace"))
