"""The MLP of a transformer's block, compiled by TorchInductor; prints the time of one call without compiling.

inductor_block.py [TOKENS WIDTH HIDDEN]
"""
import copy
import sys
import time

import torch


class Block(torch.nn.Module):
    def __init__(self, width, hidden):
        super().__init__()
        self.norm = torch.nn.LayerNorm(width)
        self.up = torch.nn.Linear(width, hidden)
        self.down = torch.nn.Linear(hidden, width)

    def forward(self, x):
        return x + self.down(torch.nn.functional.gelu(self.up(self.norm(x))))


def main():
    tokens, width, hidden = (int(word) for word in sys.argv[1:4]) if len(sys.argv) > 3 else (4096, 4096, 16384)
    torch.manual_seed(1)
    block = Block(width, hidden).to("cuda", torch.bfloat16).eval()
    x = torch.randn(tokens, width, device="cuda", dtype=torch.bfloat16)
    with torch.no_grad():
        compiled = torch.compile(block)
        found = compiled(x)
        expected = copy.deepcopy(block).float()(x.float())
        distance = (torch.linalg.norm(found.float() - expected) / torch.linalg.norm(expected)).item()
        if not distance < 2e-2:
            sys.exit("wrong: relative distance %g" % distance)
        for _ in range(10):
            compiled(x)
        times = []
        for _ in range(50):
            torch.cuda.synchronize()
            begin = time.perf_counter()
            compiled(x)
            torch.cuda.synchronize()
            times.append(time.perf_counter() - begin)
    print("time: %.6f ms" % (1e3 * sorted(times)[len(times) // 2]))


main()
