"""The embedded AscendC device: a candidate\x27s own sources compiled with the host compiler and run on this CPU."""
