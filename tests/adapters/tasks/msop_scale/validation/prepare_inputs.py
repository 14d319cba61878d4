import torch


def get_inputs(param, device=None):
    shape = eval(param.get("shape", "[1]"))
    return (torch.rand(shape, device=device, dtype=getattr(torch, param["dtype"])) + 1,)


def get_init_inputs(param, device=None):
    return [float(param.factor)]
