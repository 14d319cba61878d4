#pragma once

#include <cstdint>

struct LogitsShiftTiling {
    uint32_t rows;
    uint32_t cols;
    uint32_t colsAligned;
    uint32_t rowsPerCore;
    uint32_t rowsPerTile;
};
