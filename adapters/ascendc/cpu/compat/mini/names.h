// Mini torch, part 5: which operations exist by forwarding to Python, and which are named only to be refused clearly.
//
// Forwarded operations take the same arguments in the same order as in Python. Computing operations are among them on
// purpose: a binding that computes with ATen must run, so that the dispatch spy can report it.
#ifndef OPMEND_MINI_NAMES_H
#define OPMEND_MINI_NAMES_H

#define OPMEND_MINI_FORWARDED_METHODS(X)                                                                                        \
    X(clone) X(detach) X(alias) X(transpose) X(t) X(unsqueeze) X(squeeze) X(flatten) X(unflatten) X(narrow) X(select)           \
    X(index_select) X(movedim) X(swapaxes) X(view_as) X(reshape_as) X(expand_as) X(type_as) X(flip) X(roll)                     \
    X(zero_) X(fill_) X(copy_) X(add_) X(sub_) X(mul_) X(div_) X(neg_) X(abs_) X(exp_) X(sqrt_) X(rsqrt_) X(relu_) X(sigmoid_)  \
    X(tanh_) X(clamp_) X(pow_) X(masked_fill_) X(squeeze_) X(unsqueeze_) X(resize_)                                             \
    X(add) X(sub) X(mul) X(div) X(neg) X(abs) X(exp) X(log) X(sqrt) X(rsqrt) X(reciprocal) X(square) X(pow) X(floor) X(ceil)    \
    X(round) X(trunc) X(sum) X(mean) X(prod) X(var) X(std) X(amax) X(amin) X(argmax) X(argmin) X(cumsum) X(softmax)             \
    X(log_softmax) X(sigmoid) X(tanh) X(relu) X(clamp) X(clamp_min) X(clamp_max) X(maximum) X(minimum) X(matmul) X(mm) X(bmm)   \
    X(addmm) X(gather) X(scatter) X(masked_fill) X(where) X(eq) X(ne) X(lt) X(le) X(gt) X(ge) X(isnan) X(any) X(all) X(bitwise_not) X(logical_not)

#define OPMEND_MINI_UNSUPPORTED_METHODS(X)                                                                              \
    X(packed_accessor32) X(packed_accessor64) X(index) X(index_put_) X(sort) X(topk) X(max) X(min) X(split) \
    X(chunk) X(unbind) X(set_) X(unsafeGetTensorImpl) X(getIntrusivePtr) X(grad) X(backward) X(register_hook) X(is_sparse) X(names)

#define OPMEND_MINI_FORWARDED_FUNCTIONS(X)                                                                                      \
    X(add) X(sub) X(mul) X(div) X(neg) X(abs) X(exp) X(log) X(sqrt) X(rsqrt) X(reciprocal) X(square) X(pow) X(floor) X(ceil)    \
    X(round) X(trunc) X(sum) X(mean) X(prod) X(var) X(std) X(amax) X(amin) X(argmax) X(argmin) X(cumsum) X(softmax)             \
    X(log_softmax) X(sigmoid) X(tanh) X(relu) X(clamp) X(maximum) X(minimum) X(matmul) X(mm) X(bmm) X(addmm) X(gather)          \
    X(scatter) X(masked_fill) X(where) X(transpose) X(permute) X(reshape) X(squeeze) X(unsqueeze) X(flatten) X(narrow) X(clone) \
    X(index_select) X(layer_norm) X(rms_norm) X(group_norm) X(eq) X(ne) X(lt) X(le) X(gt) X(ge) X(isnan)

#define OPMEND_MINI_UNSUPPORTED_FUNCTIONS(X)                                                                                    \
    X(empty_strided) X(linspace) X(rand) X(randn) X(randint) X(eye) X(max) X(min)       \
    X(sort) X(topk) X(split) X(chunk) X(einsum) X(convolution) X(conv2d) X(conv3d) X(avg_pool3d) X(max_pool2d) X(embedding)     \
    X(native_layer_norm) X(native_batch_norm) X(scaled_dot_product_attention) X(upsample_nearest2d) X(index) X(arange_out)

#endif
