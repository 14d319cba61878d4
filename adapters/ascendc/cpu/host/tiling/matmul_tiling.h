// Stands for the vendor's <adv_api/matmul/...tiling.h>: TCubeTiling and the classes that fill it.
//
// The split is this device's own, a legal one found by trying: base tiles of at most 128 x 256 that fit L0, whole K per
// core, and for several cores the division of M and N that uses most of them with the smallest share each. The vendor's
// heuristics choose other numbers. Semantics: vendor's pages "TCubeTiling结构体", "Matmul-Tiling类". Batches, sparse and
// quantised matrices have no functions here.
#ifndef OPMEND_HOST_MATMUL_TILING_H
#define OPMEND_HOST_MATMUL_TILING_H

#include "../opmend/opdef.h"

namespace optiling {

// One macro per member would be 50 lines of the same; the order is the vendor's.
BEGIN_TILING_DATA_DEF(TCubeTiling)
#define OPMEND_HOST_CUBE_FIELD(name) TILING_DATA_FIELD_DEF(int32_t, name)
#define OPMEND_HOST_CUBE_FIELDS(X)                                                                                     \
    X(usedCoreNum) X(M) X(N) X(Ka) X(Kb) X(singleCoreM) X(singleCoreN) X(singleCoreK) X(baseM) X(baseN) X(baseK)        \
    X(depthA1) X(depthB1) X(stepM) X(stepN) X(isBias) X(transLength) X(iterateOrder) X(shareMode) X(shareL1Size)        \
    X(shareL0CSize) X(shareUbSize) X(batchM) X(batchN) X(singleBatchM) X(singleBatchN) X(stepKa) X(stepKb)              \
    X(depthAL1CacheUB) X(depthBL1CacheUB) X(dbL0A) X(dbL0B) X(dbL0C)                                                    \
    X(ALayoutInfoB) X(ALayoutInfoS) X(ALayoutInfoN) X(ALayoutInfoG) X(ALayoutInfoD)                                     \
    X(BLayoutInfoB) X(BLayoutInfoS) X(BLayoutInfoN) X(BLayoutInfoG) X(BLayoutInfoD)                                     \
    X(CLayoutInfoB) X(CLayoutInfoS1) X(CLayoutInfoN) X(CLayoutInfoG) X(CLayoutInfoS2) X(BatchNum) X(mxTypePara)
OPMEND_HOST_CUBE_FIELDS(OPMEND_HOST_CUBE_FIELD)
#undef OPMEND_HOST_CUBE_FIELDS
#undef OPMEND_HOST_CUBE_FIELD
END_TILING_DATA_DEF;

}  // namespace optiling

namespace matmul_tiling {

enum class DataType : int32_t {
    DT_FLOAT = 0, DT_FLOAT16 = 1, DT_INT8 = 2, DT_INT32 = 3, DT_UINT8 = 4, DT_INT16 = 6, DT_UINT16 = 7, DT_UINT32 = 8,
    DT_INT64 = 9, DT_UINT64 = 10, DT_BF16 = 27, DT_UNDEFINED = 28, DT_INT4 = 29, DT_BFLOAT16 = 33,
};
enum class TPosition : int32_t { GM, A1, A2, B1, B2, C1, C2, CO1, CO2, VECIN, VECOUT, VECCALC, LCM = VECCALC, SPM, SHM = SPM, TSCM, MAX };
enum class CubeFormat : int32_t { ND = 0, NZ, ZN, ZZ, NN, ND_ALIGN, SCALAR, VECTOR, ROW_MAJOR = ND, COLUMN_MAJOR = 8 };
enum class MatrixTraverse : int32_t { NOSET = 0, FIRSTM = 1, FIRSTN = 2 };
enum class MatrixMadType : int32_t { NORMAL = 0, HF32 = 1 };

inline int32_t bytes_of(DataType type)
{
    switch (type) {
        case DataType::DT_INT8: case DataType::DT_UINT8: return 1;
        case DataType::DT_FLOAT16: case DataType::DT_BF16: case DataType::DT_BFLOAT16: return 2;
        default: return 4;
    }
}

class MatmulApiTilingBase {
public:
    MatmulApiTilingBase() = default;
    explicit MatmulApiTilingBase(const platform_ascendc::PlatformAscendC &) {}
    virtual ~MatmulApiTilingBase() = default;

    int32_t SetAType(TPosition, CubeFormat, DataType type, bool = false) { return keep(width_, bytes_of(type)); }
    int32_t SetBType(TPosition, CubeFormat, DataType type, bool = false) { return keep(width_, bytes_of(type)); }
    int32_t SetCType(TPosition, CubeFormat, DataType) { return 0; }
    int32_t SetBiasType(TPosition, CubeFormat, DataType) { return 0; }
    int32_t SetOrgShape(int32_t m, int32_t n, int32_t k) { return SetOrgShape(m, n, k, k); }
    int32_t SetOrgShape(int32_t m, int32_t n, int32_t ka, int32_t kb)
    {
        org_m_ = m, org_n_ = n, org_ka_ = ka, org_kb_ = kb;
        return 0;
    }
    virtual int32_t SetShape(int32_t m, int32_t n, int32_t k)
    {
        m_ = m, n_ = n, k_ = k;
        return 0;
    }
    int32_t SetBias(bool with = false) { return keep(bias_, with ? 1 : 0); }
    int32_t EnableBias(bool with = false) { return SetBias(with); }
    int32_t SetFixSplit(int32_t m = -1, int32_t n = -1, int32_t k = -1)
    {
        fixed_m_ = m, fixed_n_ = n;
        return k == -1 ? 0 : -1;  // the vendor's takes no fixed baseK either
    }
    int32_t SetBufferSpace(int32_t = -1, int32_t = -1, int32_t = -1, int32_t = -1) { return 0; }
    int32_t SetTraverse(MatrixTraverse order) { return keep(order_, order == MatrixTraverse::FIRSTN ? 1 : 0); }
    int32_t SetMadType(MatrixMadType type) { return type == MatrixMadType::NORMAL ? 0 : -1; }
    int32_t SetSplitRange(int32_t = -1, int32_t = -1, int32_t = -1, int32_t = -1, int32_t = -1, int32_t = -1) { return 0; }
    int32_t SetDoubleBuffer(bool, bool, bool, bool, bool = true, bool = true) { return 0; }
    void SetMatmulConfigParams(int32_t = 1, bool = false) {}
    int32_t GetBaseM() const { return base_m_; }
    int32_t GetBaseN() const { return base_n_; }
    int32_t GetBaseK() const { return base_k_; }

    /// 0, or -1 when shapes are missing.
    int64_t GetTiling(optiling::TCubeTiling &tiling)
    {
        for (auto [shape, org] : {std::pair{&m_, org_m_}, std::pair{&n_, org_n_}, std::pair{&k_, org_ka_}}) {
            *shape = *shape == -1 ? org : *shape;
        }
        if (m_ <= 0 || n_ <= 0 || k_ <= 0 || !split()) {
            return -1;
        }
        base_m_ = fixed_m_ != -1 ? fixed_m_ : std::min(up(single_m_, 16), 128);
        base_n_ = fixed_n_ != -1 ? fixed_n_ : std::min(up(single_n_, 16), 256);
        const int32_t fits = (32 << 10) / width_ / std::max(base_m_, base_n_);  // half of L0A and of L0B
        base_k_ = std::max(16, std::min(up(single_k_, 16), fits / 16 * 16));
        fill(tiling);
        return 0;
    }

protected:
    /// Sets what one core computes.
    virtual bool split()
    {
        single_m_ = m_, single_n_ = n_, single_k_ = k_;
        return true;
    }
    static int32_t up(int32_t value, int32_t unit) { return (value + unit - 1) / unit * unit; }
    static int32_t keep(int32_t &place, int32_t value)
    {
        place = value;
        return 0;
    }

    int32_t m_ = -1, n_ = -1, k_ = -1, single_m_ = 0, single_n_ = 0, single_k_ = 0, cores_ = 1;

private:
    void fill(optiling::TCubeTiling &tiling) const
    {
        const int32_t steps = (single_k_ + base_k_ - 1) / base_k_;
        tiling.set_usedCoreNum(cores_);
        tiling.set_M(org_m_ ? org_m_ : m_), tiling.set_N(org_n_ ? org_n_ : n_);
        tiling.set_Ka(org_ka_ ? org_ka_ : k_), tiling.set_Kb(org_kb_ ? org_kb_ : k_);
        tiling.set_singleCoreM(single_m_), tiling.set_singleCoreN(single_n_), tiling.set_singleCoreK(single_k_);
        tiling.set_baseM(base_m_), tiling.set_baseN(base_n_), tiling.set_baseK(base_k_);
        tiling.set_stepM(1), tiling.set_stepN(1), tiling.set_stepKa(1), tiling.set_stepKb(1);
        tiling.set_depthA1(steps > 1 ? 2 : 1), tiling.set_depthB1(steps > 1 ? 2 : 1);
        tiling.set_isBias(bias_), tiling.set_iterateOrder(order_);
        tiling.set_dbL0A(2), tiling.set_dbL0B(2), tiling.set_dbL0C(1);
    }

    int32_t org_m_ = 0, org_n_ = 0, org_ka_ = 0, org_kb_ = 0, bias_ = 0, order_ = 0, width_ = 2;
    int32_t fixed_m_ = -1, fixed_n_ = -1, base_m_ = 0, base_n_ = 0, base_k_ = 0;
};

class MatmulApiTiling : public MatmulApiTilingBase {
public:
    using MatmulApiTilingBase::MatmulApiTilingBase;
};

class MultiCoreMatmulTiling : public MatmulApiTilingBase {
public:
    using MatmulApiTilingBase::MatmulApiTilingBase;
    int32_t SetDim(int32_t dim) { return keep(dim_, dim); }
    int32_t SetSingleShape(int32_t m = -1, int32_t n = -1, int32_t k = -1)
    {
        given_m_ = m, given_n_ = n, given_k_ = k;
        return 0;
    }
    int32_t SetSingleRange(int32_t = -1, int32_t = -1, int32_t = -1, int32_t = -1, int32_t = -1, int32_t = -1) { return 0; }
    int32_t SetAlignSplit(int32_t m, int32_t n, int32_t)
    {
        align_m_ = std::max(m, 1), align_n_ = std::max(n, 1);
        return 0;
    }
    int32_t GetSingleShape(int32_t &m, int32_t &n, int32_t &k) const
    {
        m = single_m_, n = single_n_, k = single_k_;
        return 0;
    }
    int32_t GetCoreNum(int32_t &dim, int32_t &m, int32_t &n) const
    {
        m = (m_ + single_m_ - 1) / single_m_, n = (n_ + single_n_ - 1) / single_n_;
        dim = cores_;
        return 0;
    }

protected:
    bool split() override
    {
        single_k_ = given_k_ != -1 ? given_k_ : k_;
        int64_t best = -1;
        for (int32_t parts = 1; parts <= dim_; ++parts) {
            const int32_t m = given_m_ != -1 ? given_m_ : share(m_, parts, align_m_);
            const int32_t n = given_n_ != -1 ? given_n_ : share(n_, dim_ / parts, align_n_);
            const int64_t used = static_cast<int64_t>((m_ + m - 1) / m) * ((n_ + n - 1) / n);
            if (used <= dim_ && (best == -1 || static_cast<int64_t>(m) * n < best)) {
                best = static_cast<int64_t>(m) * n;
                single_m_ = m, single_n_ = n, cores_ = static_cast<int32_t>(used);
            }
        }
        return best != -1;
    }

private:
    /// The longest of `parts` parts, in whole fractals so that no two cores write one.
    static int32_t share(int32_t length, int32_t parts, int32_t align)
    {
        return std::min(length, up(up((length + parts - 1) / parts, 16), align));
    }
    int32_t dim_ = 1, given_m_ = -1, given_n_ = -1, given_k_ = -1, align_m_ = 1, align_n_ = 1;
};

}  // namespace matmul_tiling

#endif
