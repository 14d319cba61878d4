#error "OpCommand is not supported by the CPU binding yet: launch a kernel of the candidate instead"
