// Stands for CANN's <tiling/platform/platform_ascendc.h>: what host code asks about the modelled device (an Atlas A2
// with OPMEND_AIV_CORES vector cores and half as many cube cores; the build defines it).
#ifndef OPMEND_PLATFORM_ASCENDC_H
#define OPMEND_PLATFORM_ASCENDC_H

#include <cstdint>

namespace platform_ascendc {

enum class CoreMemType { L0_A, L0_B, L0_C, L1, L2, UB, HBM, RESERVED };
enum class SocVersion { ASCEND910 = 0, ASCEND910B, ASCEND310P, ASCEND310B, RESERVED_VERSION };

class PlatformAscendC {
public:
    uint32_t GetCoreNum() const { return OPMEND_AIV_CORES; }
    uint32_t GetCoreNumAic() const { return OPMEND_AIV_CORES / 2; }
    uint32_t GetCoreNumAiv() const { return OPMEND_AIV_CORES; }
    uint32_t GetCoreNumVector() const { return 0; }
    uint32_t GetLibApiWorkSpaceSize() const { return 16U << 20; }
    SocVersion GetSocVersion() const { return SocVersion::ASCEND910B; }
    void GetCoreMemSize(const CoreMemType &type, uint64_t &size) const
    {
        switch (type) {
            case CoreMemType::L0_A:
            case CoreMemType::L0_B: size = 64ULL << 10; break;
            case CoreMemType::L0_C: size = 128ULL << 10; break;
            case CoreMemType::L1: size = 512ULL << 10; break;
            case CoreMemType::L2: size = 192ULL << 20; break;
            case CoreMemType::UB: size = 192ULL << 10; break;
            case CoreMemType::HBM: size = 64ULL << 30; break;
            default: size = 0; break;
        }
    }
};

class PlatformAscendCManager {
public:
    static PlatformAscendC *GetInstance()
    {
        static PlatformAscendC platform;
        return &platform;
    }
    static PlatformAscendC *GetInstance(const char *) { return GetInstance(); }
};

}  // namespace platform_ascendc

#endif
