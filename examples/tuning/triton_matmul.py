"""A matrix product in Triton with the blocks, warps and stages of the command line; prints its time.

triton_matmul.py BLOCK_M BLOCK_N BLOCK_K GROUP_M WARPS STAGES [M N K]
"""
import sys

import torch
import triton
import triton.language as tl


@triton.jit
def multiply(a, b, c, M, N, K, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
             GROUP_M: tl.constexpr):
    tiles_m, tiles_n = tl.cdiv(M, BLOCK_M), tl.cdiv(N, BLOCK_N)
    tile, of_group = tl.program_id(0), GROUP_M * tl.cdiv(N, BLOCK_N)
    first = tile // of_group * GROUP_M
    rows = min(tiles_m - first, GROUP_M)
    m = (first + tile % of_group % rows) * BLOCK_M + tl.arange(0, BLOCK_M)
    n = tile % of_group // rows * BLOCK_N + tl.arange(0, BLOCK_N)
    sums = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for begin in range(0, K, BLOCK_K):
        k = begin + tl.arange(0, BLOCK_K)
        x = tl.load(a + m[:, None] * K + k[None, :], mask=(m[:, None] < M) & (k[None, :] < K), other=0.0)
        y = tl.load(b + n[None, :] * K + k[:, None], mask=(n[None, :] < N) & (k[:, None] < K), other=0.0)
        sums = tl.dot(x, y, sums)
    tl.store(c + m[:, None] * N + n[None, :], sums.to(tl.bfloat16), mask=(m[:, None] < M) & (n[None, :] < N))


def main():
    block_m, block_n, block_k, group_m, warps, stages = (int(word) for word in sys.argv[1:7])
    M, N, K = (int(word) for word in sys.argv[7:10]) if len(sys.argv) > 9 else (4096, 4096, 4096)
    a = torch.randn(M, K, device="cuda", dtype=torch.bfloat16)
    b = torch.randn(N, K, device="cuda", dtype=torch.bfloat16)
    c = torch.full((M, N), float("nan"), device="cuda", dtype=torch.bfloat16)
    grid = (triton.cdiv(M, block_m) * triton.cdiv(N, block_n),)

    def run():
        multiply[grid](a, b, c, M, N, K, block_m, block_n, block_k, group_m, num_warps=warps, num_stages=stages)

    run()
    expected = a.double() @ b.double().t()
    distance = (torch.linalg.norm(c.double() - expected) / torch.linalg.norm(expected)).item()
    if not distance < 1e-2:
        sys.exit("wrong: relative distance %g" % distance)
    print("time: %.6f ms" % triton.testing.do_bench(run, return_mode="median"))


main()
