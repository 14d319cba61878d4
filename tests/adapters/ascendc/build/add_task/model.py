import torch
import torch.nn as nn

SCALES = {(8, 64): 1.0, (3, 37): 1.0}


class Model(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return x + y
