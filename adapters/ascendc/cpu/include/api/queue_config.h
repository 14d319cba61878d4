// TQueConfig: the record that `TQue<position, depth, &config>` names instead of a number. What it says beyond the depth
// (layouts converted on the way, static events) concerns how the device synchronises, which is not simulated.
#ifndef OPMEND_API_QUEUE_CONFIG_H
#define OPMEND_API_QUEUE_CONFIG_H

#include "api/enums.h"

namespace AscendC {

struct TQueConfig {
    bool nd2nz = false;
    bool nz2nd = false;
    bool scmBlockGroup = false;
    uint32_t bufferLen = 0;
    uint32_t bufferNumber = 0;
    uint32_t consumerSize = 0;
    TPosition consumer[8] = {};
    bool enableStaticEvtId = false;
    bool enableLoopQueue = false;
};

constexpr TQueConfig GetTQueConfig(bool nd2nzIn, bool nz2ndIn, bool scmBlockGroupIn, uint32_t bufferLenIn,
                                   uint32_t bufferNumberIn, uint32_t consumerSizeIn, const TPosition consumerIn[],
                                   bool enableStaticEvtIdIn, bool enableLoopQueueIn)
{
    TQueConfig config{nd2nzIn, nz2ndIn, scmBlockGroupIn, bufferLenIn, bufferNumberIn, consumerSizeIn};
    for (int i = 0; i < 8; ++i) {
        config.consumer[i] = consumerIn[i];
    }
    config.enableStaticEvtId = enableStaticEvtIdIn;
    config.enableLoopQueue = enableLoopQueueIn;
    return config;
}
constexpr TQueConfig GetTQueConfig(const int32_t mask)
{
    return {(mask & 1) != 0, (mask & 2) != 0, (mask & 4) != 0};
}
constexpr TQueConfig GetTQueConfig(const TQueConfig *config) { return *config; }

}  // namespace AscendC

#endif
