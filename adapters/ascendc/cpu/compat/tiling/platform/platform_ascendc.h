// Stands for CANN's <tiling/platform/platform_ascendc.h> in host code of both layouts: an Atlas A2. The parts of that series have
// 40 or 48 vector cores, and public operators exist that are right on one of them only: OPMEND_AIV_CORES says which.
#ifndef OPMEND_HOST_PLATFORM_ASCENDC_H
#define OPMEND_HOST_PLATFORM_ASCENDC_H

#include <cstdint>
#include <string>

#ifndef OPMEND_AIV_CORES
#define OPMEND_AIV_CORES 48
#endif

namespace fe {

enum class LocalMemType { L0_A, L0_B, L0_C, L1, L2, UB, HBM, RESERVED };

class PlatFormInfos {
public:
    static PlatFormInfos *only()
    {
        static PlatFormInfos info;
        return &info;
    }
    uint32_t GetCoreNum() const { return OPMEND_AIV_CORES; }
    void GetLocalMemSize(const LocalMemType &type, uint64_t &size) const
    {
        static constexpr uint64_t kBytes[] = {64ULL << 10, 64ULL << 10, 128ULL << 10, 512ULL << 10, 192ULL << 20,
                                              192ULL << 10, 64ULL << 30, 0};
        size = kBytes[static_cast<int>(type)];
    }
    bool GetPlatformRes(const std::string &, const std::string &, std::string &) const { return false; }
};
using PlatformInfo = PlatFormInfos;

}  // namespace fe

namespace platform_ascendc {

enum class CoreMemType { L0_A, L0_B, L0_C, L1, L2, UB, HBM, RESERVED };
enum class SocVersion { ASCEND910 = 0, ASCEND910B, ASCEND310P, ASCEND310B, ASCEND910_95, ASCEND910_93, RESERVED_VERSION };

class PlatformAscendC {
public:
    PlatformAscendC() = default;
    explicit PlatformAscendC(fe::PlatFormInfos *) {}
    uint32_t GetCoreNum() const { return OPMEND_AIV_CORES; }
    uint32_t GetCoreNumAic() const { return OPMEND_AIV_CORES / 2; }
    uint32_t GetCoreNumAiv() const { return OPMEND_AIV_CORES; }
    uint32_t GetCoreNumVector() const { return 0; }
    uint32_t GetLibApiWorkSpaceSize() const { return 16U << 20; }
    uint32_t CalcTschBlockDim(uint32_t slices, uint32_t cube, uint32_t vector) const
    {
        return cube == 0 || vector == 0 || vector <= cube ? slices : (slices + vector / cube - 1) / (vector / cube);
    }
    SocVersion GetSocVersion() const { return SocVersion::ASCEND910B; }
    void GetCoreMemSize(const CoreMemType &type, uint64_t &size) const
    {
        fe::PlatFormInfos().GetLocalMemSize(static_cast<fe::LocalMemType>(type), size);
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
