#error "unsupported: lib/matmul_intf.h (the Matmul objects) is not modelled by the CPU device yet"
