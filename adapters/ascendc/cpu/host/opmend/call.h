// What passes between the binding and the operator's host library: the arguments of one EXEC_NPU_CMD.
//
// Both sides are compiled with the same compiler in one build; the binding knows torch, the host library does not.
#ifndef OPMEND_HOST_CALL_H
#define OPMEND_HOST_CALL_H

#include <cstdint>
#include <string>
#include <vector>

namespace opmend_call {

/// One contiguous tensor: `type` is the graph engine's DataType, `storage_bytes` what lies behind `data`.
struct Tensor {
    void *data = nullptr;
    int type = 28;
    std::vector<int64_t> dims;
    bool defined = false;
};

/// One argument as the binding passed it.
struct Argument {
    enum class Kind { Tensor, TensorList, Int, Real, Bool, Text, IntList, RealList, Scalar, ScalarList } kind = Kind::Int;
    std::vector<Tensor> tensors;
    int64_t integer = 0;
    double real = 0;
    bool whole = true;  // Scalar: an integer or bool
    std::string text;
    std::vector<int64_t> integers;
    std::vector<double> reals;
    bool is_tensor() const { return kind == Kind::Tensor || kind == Kind::TensorList; }
};

}  // namespace opmend_call

/// Binds the arguments to the operator, tiles, and runs the kernel. Throws std::runtime_error.
void opmend_host_run(const char *aclnn, const std::vector<opmend_call::Argument> &arguments);

#endif
