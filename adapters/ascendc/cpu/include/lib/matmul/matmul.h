// The high-level Matmul object: C = A * B + bias, from global memory to global memory, row-major.
//
// A vector core that calls Iterate or IterateAll does the cube core's work itself, at once: results of the asynchronous
// forms are there before anybody waits for them, and the order of its copies against the caller's is not checked. The
// cube cores of a mixed launch go home at REGIST_MATMUL_OBJ. Products are added in float (int32_t for int8_t) by groups
// of 16 steps of k, as Mmad does, and rounded once: approximate in the last bits. Not modelled, and said so at build or
// launch: matrices outside global memory or in formats other than ND, quantisation, batches, HF32, sparse and shared
// operands. Semantics: vendor's pages of the Matmul kernel interface ("Iterate", "GetTensorC", "SetOrgShape" ...).
#ifndef OPMEND_LIB_MATMUL_MATMUL_H
#define OPMEND_LIB_MATMUL_MATMUL_H

#include "lib/matmul/config.h"
#include "lib/matmul/operands.h"

namespace AscendC {

template <class A_TYPE, class B_TYPE, class C_TYPE, class BIAS_TYPE = C_TYPE, const auto &MM_CFG = CFG_NORM,
          class MM_CB = MatmulCallBackFunc<>>
class MatmulImpl {
    using SrcA = typename A_TYPE::T;
    using SrcB = typename B_TYPE::T;
    using Dst = typename C_TYPE::T;
    using Bias = typename BIAS_TYPE::T;
    using Sum = std::conditional_t<std::is_same_v<SrcA, int8_t>, int32_t, float>;
    static constexpr bool floating = std::is_same_v<Sum, float>;
    static_assert(opmend::plain_matrix<A_TYPE> && opmend::plain_matrix<B_TYPE> && opmend::plain_matrix<C_TYPE>,
                  "unsupported: Matmul (a matrix outside global memory, or not ND)");
    static_assert(A_TYPE::layout == LayoutMode::NONE && B_TYPE::layout == LayoutMode::NONE, "unsupported: Matmul (batches)");
    static_assert(!A_TYPE::ibShare && !B_TYPE::ibShare, "unsupported: Matmul (IBSHARE)");
    static_assert(opmend::plain_config(MM_CFG), "unsupported: Matmul (an option of MatmulConfig that changes results)");
    static_assert(!MM_CB::own, "unsupported: Matmul (MatmulCallBackFunc)");
    static_assert(std::is_same_v<SrcA, SrcB> && (opmend::is_any_float<SrcA> || !floating),
                  "unsupported: Matmul (these types of A and B)");
    static_assert(floating ? opmend::is_any_float<Dst> : std::is_same_v<Dst, int32_t>,
                  "unsupported: Matmul (this type of C: no quantisation)");

public:
    MatmulImpl() = default;

    void Init(const TCubeTiling *tiling, TPipe * = nullptr)
    {
        tiling_ = *tiling;
        SetOrgShape(tiling_.M, tiling_.N, tiling_.Ka, tiling_.Kb);
        SetSingleShape(tiling_.singleCoreM, tiling_.singleCoreN, tiling_.singleCoreK);
        if (tiling_.baseM <= 0 || tiling_.baseN <= 0) {
            opmend::rt::abort_launch("api-misuse", "Matmul", "the tiling has no baseM or baseN (was GetTiling called?)");
        }
        ready_ = true;
    }

    void SetOrgShape(int orgM, int orgN, int orgK) { SetOrgShape(orgM, orgN, orgK, orgK); }
    void SetOrgShape(int orgM, int orgN, int orgKa, int orgKb, int orgKc = 0)
    {
        m_ = orgM;
        n_ = orgN;
        ka_ = orgKa;
        kb_ = orgKb;
        c_pitch_ = orgKc != 0 ? orgKc : orgN;
    }
    void SetSingleShape(int singleM, int singleN, int singleK) { SetTail(singleM, singleN, singleK); }
    void SetTail(int tailM = -1, int tailN = -1, int tailK = -1)
    {
        single_m_ = tailM != -1 ? tailM : single_m_;
        single_n_ = tailN != -1 ? tailN : single_n_;
        single_k_ = tailK != -1 ? tailK : single_k_;
        restart();
    }

    void SetTensorA(const GlobalTensor<SrcA> &gm, bool isTransposeA = false)
    {
        a_ = {const_cast<SrcA *>(gm.GetPhyAddr()), transposed<A_TYPE>("SetTensorA", isTransposeA)};
        restart();
    }
    void SetTensorB(const GlobalTensor<SrcB> &gm, bool isTransposeB = false)
    {
        b_ = {const_cast<SrcB *>(gm.GetPhyAddr()), transposed<B_TYPE>("SetTensorB", isTransposeB)};
        restart();
    }
    void SetTensorA(const LocalTensor<SrcA> &, bool = false) { opmend::no_matmul("A in the Unified Buffer or L1"); }
    void SetTensorB(const LocalTensor<SrcB> &, bool = false) { opmend::no_matmul("B in the Unified Buffer or L1"); }
    void SetTensorA(SrcA) { opmend::no_matmul("a number as A"); }
    void SetTensorB(SrcB) { opmend::no_matmul("a number as B"); }
    void SetBias(const GlobalTensor<Bias> &gm)
    {
        static_assert(floating ? std::is_same_v<Bias, float> || std::is_same_v<Bias, half> : std::is_same_v<Bias, int32_t>,
                      "unsupported: Matmul (Atlas A2 takes a bias of float, half, or for int8_t matrices int32_t)");
        if (tiling_.isBias == 0) {
            opmend::rt::abort_launch("api-misuse", "SetBias", "the tiling was made without a bias (isBias is 0)");
        }
        bias_ = const_cast<Bias *>(gm.GetPhyAddr());
    }
    void SetBias(const LocalTensor<Bias> &) { opmend::no_matmul("a bias in the Unified Buffer"); }
    void ClearBias() { bias_ = nullptr; }
    void DisableBias() { bias_ = nullptr; }

    /// The next tile of baseM x baseN; false when all were computed.
    template <bool sync = true>
    bool Iterate(bool enPartialSum = false)
    {
        if (!works()) {
            return false;
        }
        check();
        if (enPartialSum && (single_m_ > tiling_.baseM || single_n_ > tiling_.baseN)) {
            opmend::rt::abort_launch("api-misuse", "Iterate", "enPartialSum needs a single tile: singleCoreM x N = baseM x N");
        }
        if (enPartialSum) {
            next_ = 0;
        }
        const int rows = tiles(single_m_, tiling_.baseM), columns = tiles(single_n_, tiling_.baseN);
        if (next_ >= rows * columns) {
            restart();
            return false;
        }
        const bool m_first = tiling_.iterateOrder == 0;
        row_ = (m_first ? next_ % rows : next_ / columns) * tiling_.baseM;
        column_ = (m_first ? next_ / rows : next_ % columns) * tiling_.baseN;
        ++next_;
        compute(std::min(tiling_.baseM, single_m_ - row_), std::min(tiling_.baseN, single_n_ - column_), enPartialSum);
        return true;
    }
    template <bool sync = true, class T>
    bool Iterate(bool, const LocalTensor<T> &)
    {
        static_assert(opmend::always_false<T>, "unsupported: Matmul (Iterate into a CO1 tensor)");
        return false;
    }

    /// The tile of the last Iterate: at its place in C, or (enSequentialWrite) row after row at `gm`.
    template <bool sync = true>
    void GetTensorC(const GlobalTensor<Dst> &gm, uint8_t enAtomic = 0, bool enSequentialWrite = false)
    {
        if (!works()) {
            return;
        }
        if (tile_.empty()) {
            opmend::rt::abort_launch("api-misuse", "GetTensorC", "no tile was computed: call Iterate first");
        }
        const size_t pitch = enSequentialWrite ? tile_columns_ : static_cast<size_t>(c_pitch_);
        const size_t skip = enSequentialWrite ? 0 : static_cast<size_t>(row_) * pitch + column_;
        store(gm, skip, pitch, enAtomic);
    }
    template <bool sync = true, bool doPad = false>
    void GetTensorC(const LocalTensor<Dst> &, uint8_t = 0, bool = false, uint32_t = 0, uint32_t = 0, uint32_t = 0,
                    uint32_t = 0)
    {
        opmend::no_matmul("C to the Unified Buffer");
    }

    template <bool sync = true>
    void IterateAll(const GlobalTensor<Dst> &gm, uint8_t enAtomic = 0, bool enSequentialWrite = false,
                    bool waitIterateAll = false, bool fakeMsg = false)
    {
        if (enSequentialWrite || fakeMsg) {
            opmend::no_matmul("IterateAll with enSequentialWrite or fakeMsg");
        }
        (void)waitIterateAll;
        while (Iterate<sync>()) {
            GetTensorC<sync>(gm, enAtomic);
        }
    }
    template <bool sync = true>
    void IterateAll(const LocalTensor<Dst> &, uint8_t = 0)
    {
        opmend::no_matmul("C to the Unified Buffer");
    }
    void WaitIterateAll() {}
    void WaitGetTensorC() {}

    void End() { restart(); }
    template <class T>
    void SetWorkspace(GlobalTensor<T> &)
    {}
    template <class T>
    void SetWorkspace(__gm__ const T *, int)
    {}
    void SetLocalWorkspace(const LocalTensor<uint8_t> &) {}
    void SetSubBlockIdx(uint8_t) {}
    uint8_t GetSubBlockIdx() { return static_cast<uint8_t>(opmend::g_core->sub); }
    void SetHF32(bool enable, int = 0)
    {
        if (enable) {
            opmend::no_matmul("HF32");
        }
    }
    void SetQuantScalar(uint64_t) { opmend::no_matmul("quantisation"); }
    void SetQuantVector(const GlobalTensor<uint64_t> &) { opmend::no_matmul("quantisation"); }

private:
    static constexpr int tiles(int length, int base) { return (length + base - 1) / base; }
    /// Iteration begins anew, and what was read of A and B is read again.
    void restart()
    {
        next_ = 0;
        left_.values.clear();
        right_.values.clear();
    }

    /// Whether this core drives the object: with ASCENDC_CUBE_ONLY the cube cores, else the vector cores.
    static bool works()
    {
#ifdef ASCENDC_CUBE_ONLY
        return !opmend::g_core->aiv;
#else
        return opmend::g_core->aiv;
#endif
    }

    template <class Type>
    static bool transposed(const char *api, bool wanted)
    {
        if (wanted && !Type::isTrans) {
            opmend::rt::abort_launch("api-misuse", api, "transposed, but the matrix's MatmulType has ISTRANS = false");
        }
        return wanted;
    }

    void check() const
    {
        if (!ready_) {
            opmend::rt::abort_launch("api-misuse", "Matmul", "no tiling: REGIST_MATMUL_OBJ with a tiling, or Init, comes first");
        }
        if (a_.base == nullptr || b_.base == nullptr) {
            opmend::rt::abort_launch("api-misuse", "Matmul", "A or B is not set");
        }
        if (single_m_ <= 0 || single_n_ <= 0 || single_k_ <= 0) {
            opmend::rt::abort_launch("api-misuse", "Matmul",
                                     opmend::rt::format("the shape is %d x %d x %d", single_m_, single_n_, single_k_));
        }
    }

    void compute(size_t rows, size_t columns, bool partial)
    {
        const auto k = static_cast<size_t>(single_k_);
        if (left_.first != row_ || left_.values.empty()) {
            left_ = {row_, opmend::fetch<SrcA, Sum>(a_, a_.transposed ? m_ : ka_, row_, rows, 0, k)};
        }
        if (right_.first != column_ || right_.values.empty()) {
            right_ = {column_, opmend::fetch<SrcB, Sum>(b_, b_.transposed ? kb_ : n_, 0, k, column_, columns)};
        }
        if (!partial || tile_.size() != rows * columns) {
            tile_.assign(rows * columns, Sum(0));
            add_bias(rows, columns);
        }
        tile_columns_ = columns;
        opmend::rt::multiply(left_.values.data(), right_.values.data(), tile_.data(), rows, columns, k);
    }

    void add_bias(size_t rows, size_t columns)
    {
        if (bias_ == nullptr) {
            return;
        }
        const auto bias = opmend::fetch<Bias, Sum>(opmend::Matrix<Bias>{bias_, false}, 0, 0, 1, column_, columns);
        for (size_t row = 0; row < rows; ++row) {
            std::copy(bias.begin(), bias.end(), tile_.begin() + static_cast<ptrdiff_t>(row * columns));
        }
    }

    void store(const GlobalTensor<Dst> &gm, size_t skip, size_t pitch, uint8_t atomic)
    {
        const opmend::AtomicScope scope(atomic);
        std::vector<Dst> line(tile_columns_);
        for (size_t row = 0; row * tile_columns_ < tile_.size(); ++row) {
            for (size_t column = 0; column < tile_columns_; ++column) {
                line[column] = opmend::narrow<Dst>(tile_[row * tile_columns_ + column]);
            }
            opmend::put_line("Matmul", reinterpret_cast<uint8_t *>(gm.GetPhyAddr(skip + row * pitch)), line.data(), line.size());
        }
    }

    struct Operand {
        int first = -1;
        std::vector<Sum> values;
    };

    TCubeTiling tiling_{};
    bool ready_ = false;
    int m_ = 0, n_ = 0, ka_ = 0, kb_ = 0, c_pitch_ = 0, single_m_ = 0, single_n_ = 0, single_k_ = 0;
    opmend::Matrix<SrcA> a_;
    opmend::Matrix<SrcB> b_;
    Bias *bias_ = nullptr;
    int next_ = 0, row_ = 0, column_ = 0;
    size_t tile_columns_ = 0;
    Operand left_, right_;
    std::vector<Sum> tile_;
};

}  // namespace AscendC

#endif
