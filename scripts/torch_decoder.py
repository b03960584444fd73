"""Llamas and Qwens in plain PyTorch, to train beside assay: blocks, adapters, FP8 products and a loss in chunks.

A model is described by a dictionary with the names of Hugging Face's config.json, and its parameters have the names of
Hugging Face's files. Needs torch alone; on a CPU torch 1.13 is enough.
"""
import functools
import itertools
import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint

LOGITS_IN_A_CHUNK = 1 << 28  # elements: half a gigabyte in bf16

TARGETS = ("q", "k", "v", "o", "gate", "up", "down")


def rotary_angles(config, length, device):
    """Angles [length, head / 2] in f32, with Llama 3's scaling of frequencies if the model has it."""
    head = head_width(config)
    frequencies = config["rope_theta"] ** (-torch.arange(0, head, 2, device=device, dtype=torch.float64) / head)
    scaling = config.get("rope_scaling")
    if scaling:
        low, high = scaling["low_freq_factor"], scaling["high_freq_factor"]
        turns = scaling["original_max_position_embeddings"] * frequencies / (2 * math.pi)
        kept = ((turns - low) / (high - low)).clamp(0, 1)
        frequencies = kept * frequencies + (1 - kept) * frequencies / scaling["factor"]
    return torch.outer(torch.arange(length, device=device, dtype=torch.float64), frequencies).float()


def head_width(config):
    return config.get("head_dim") or config["hidden_size"] // config["num_attention_heads"]


def rotate(x, cos, sin):
    """x: [batch, heads, tokens, head]. Pairs are elements i and i + head / 2."""
    a, b = x.float().chunk(2, -1)
    return torch.cat((a * cos - b * sin, b * cos + a * sin), -1).to(x.dtype)


def plain_attention(q, k, v):
    """Causal attention without kernels of its own, for CPUs."""
    k, v = (t.repeat_interleave(q.shape[1] // k.shape[1], 1) for t in (k, v))
    unseen = torch.triu(torch.ones(q.shape[2], q.shape[2], dtype=torch.bool, device=q.device), 1)
    scores = (q @ k.transpose(2, 3)).float() / q.shape[3] ** 0.5
    return scores.masked_fill(unseen, float("-inf")).softmax(3).to(q.dtype) @ v


def sequence_attentions(heads, key_heads):
    """Ways of causal attention in whole rows: name, what has to be done before it is called, and the function."""
    def grouped(q, k, v):
        return F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)

    def repeated(q, k, v):
        k, v = (t.repeat_interleave(heads // key_heads, 1) for t in (k, v))
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)

    def enable(backend):
        for name in ("flash", "cudnn", "mem_efficient", "math"):
            getattr(torch.backends.cuda, "enable_%s_sdp" % name)(name == backend)

    for backend in ("cudnn", "flash"):
        for way in (grouped, repeated):
            yield "%s %s" % (backend, way.__name__), functools.partial(enable, backend), way


def document_attentions(heads, key_heads, batch, documents):
    """Ways of causal attention within documents, whose lengths fill a row. Each row has the same documents."""
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention
    from torch.nn.attention.varlen import varlen_attn

    length = sum(documents)
    ends = torch.tensor([0, *itertools.accumulate(documents * batch)], dtype=torch.int32, device="cuda")
    number = torch.repeat_interleave(torch.arange(len(documents), device="cuda"),
                                     torch.tensor(documents, device="cuda"))
    mask = create_block_mask(lambda b, h, q, k: (q >= k) & (number[q] == number[k]), None, None, length, length,
                             device="cuda")
    compiled = torch.compile(flex_attention)

    def flex(q, k, v):
        return compiled(q, k, v, block_mask=mask, enable_gqa=True)

    def varlen(q, k, v):
        q, k, v = (t.transpose(1, 2).flatten(0, 1) for t in (q, k, v))
        y = varlen_attn(q, k, v, ends, ends, max(documents), max(documents), window_size=(-1, 0))
        return y.unflatten(0, (batch, length)).transpose(1, 2)

    def varlen_repeated(q, k, v):
        return varlen(q, *(t.repeat_interleave(heads // key_heads, 1) for t in (k, v)))

    for way in (flex, varlen, varlen_repeated):
        yield way.__name__, lambda: None, way


def check_attention(name, way, q, k, v, documents):
    """Raises an exception if `way` does not compute attention within documents."""
    with torch.no_grad():
        y, first = way(q, k, v), 0
        for length in documents:
            own = slice(first, first + length)
            expected = plain_attention(*(t[:, :, own].float() for t in (q, k, v)))
            if (y[:, :, own].float() - expected).norm() > 0.02 * expected.norm():
                raise SystemExit("attention by %s is wrong for the document at token %d" % (name, first))
            first += length


def fastest_attention(config, batch, length, documents=None):
    """PyTorch's fastest causal attention on this GPU, its name, and the milliseconds of each way, or why it failed: in
    whole rows, or within the documents whose lengths fill each row. Where backends can be chosen, only the fastest
    one's stays enabled."""
    heads, key_heads, head = config["num_attention_heads"], config["num_key_value_heads"], head_width(config)
    q = torch.randn(batch, heads, length, head, device="cuda", dtype=torch.bfloat16, requires_grad=True)
    k, v = (torch.randn(batch, key_heads, length, head, device="cuda", dtype=torch.bfloat16, requires_grad=True)
            for _ in range(2))
    best, tried = None, {}
    count = 20
    if documents:
        ways = document_attentions(heads, key_heads, batch, documents)
    else:
        ways = sequence_attentions(heads, key_heads)
    for name, prepare, way in ways:
        prepare()
        try:
            run = lambda: way(q, k, v).sum().backward()
            for _ in range(3):
                run()
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            begin.record()
            for _ in range(count):
                run()
            end.record()
            torch.cuda.synchronize()
        except (RuntimeError, ValueError) as error:  # this PyTorch cannot
            tried[name] = str(error)[:200]
            continue
        if documents:
            check_attention(name, way, q, k, v, documents)
        tried[name] = begin.elapsed_time(end) / count
        if best is None or tried[name] < tried[best[0]]:
            best = (name, prepare, way)
    if best is None:
        raise RuntimeError("PyTorch has no attention that works here: %s" % tried)
    name, prepare, way = best
    prepare()
    return way, name, tried


# The largest number of a format, the bits of its mantissas, and the least exponent of a full mantissa.
E4M3, E5M2 = ("float8_e4m3fn", 448.0, 3, -6), ("float8_e5m2", 57344.0, 2, -14)


def to_float8(x, form):
    """`x` in FP8 and the factor that gives it back: torchao's tensorwise recipe. On a CPU the numbers are f32 that the
    format has, because older PyTorchs have no type of 8 bits."""
    name, most, mantissa, least = form
    scale = most / x.abs().amax().float().clamp(min=1e-12)
    y = (x.float() * scale).clamp(-most, most)
    if x.is_cuda:
        return y.to(getattr(torch, name)), scale.reciprocal()
    spacing = torch.ldexp(torch.ones_like(y), (torch.frexp(y)[1] - 1).clamp(min=least) - mantissa)
    return torch.round(y / spacing) * spacing, scale.reciprocal()


def float8_product(a, of_a, b, of_b, kind, fast=False):
    """a b and the factors of both, in `kind`. On a GPU b has to lie column by column; `fast` sums with fewer bits."""
    if not a.is_cuda:
        return ((a @ b) * (of_a * of_b)).to(kind)
    return torch._scaled_mm(a, b, scale_a=of_a, scale_b=of_b, out_dtype=kind, use_fast_accum=fast)


class Float8Product(torch.autograd.Function):
    """x W^T by torchao's tensorwise recipe: E4M3 forward, E5M2 gradients, fast accumulation forward only."""

    @staticmethod
    def forward(ctx, x, weight):
        ctx.save_for_backward(x, weight)
        (a, of_a), (b, of_b) = to_float8(x, E4M3), to_float8(weight, E4M3)
        return float8_product(a, of_a, b.t(), of_b, x.dtype, fast=True)

    @staticmethod
    def backward(ctx, gradient):
        x, weight = ctx.saved_tensors
        (d, of_d), (a, of_a), (b, of_b) = to_float8(gradient, E5M2), to_float8(x, E4M3), to_float8(weight, E4M3)
        dx = float8_product(d, of_d, b.t().contiguous().t(), of_b, x.dtype)
        dw = float8_product(d.t().contiguous(), of_d, a.t().contiguous().t(), of_a, x.dtype)
        return dx, dw


class Matrix(nn.Module):
    """y = x W^T + bias, and beside a frozen W the adapter + scale (x A^T) B^T."""

    def __init__(self, inputs, outputs, kind, bias=False, rank=0, scale=1.0, fp8=False):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(outputs, inputs, **kind))
        self.bias = nn.Parameter(torch.empty(outputs, **kind)) if bias else None
        self.scale, self.fp8, self.rank = scale, fp8, rank
        if rank:
            self.lora_A = nn.Parameter(torch.empty(rank, inputs, **kind))
            self.lora_B = nn.Parameter(torch.empty(outputs, rank, **kind))

    def forward(self, x):
        if self.fp8:
            y = Float8Product.apply(x.reshape(-1, x.shape[-1]), self.weight).view(*x.shape[:-1], -1)
            y = y if self.bias is None else y + self.bias
        else:
            y = F.linear(x, self.weight, self.bias)
        return y + self.scale * F.linear(F.linear(x, self.lora_A), self.lora_B) if self.rank else y


class Norm(nn.Module):
    def __init__(self, width, epsilon, kind):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(width, **kind))
        self.epsilon = epsilon

    def forward(self, x):
        y = x.float()
        return self.weight * (y * torch.rsqrt(y.pow(2).mean(-1, keepdim=True) + self.epsilon)).to(x.dtype)


class Attention(nn.Module):
    def __init__(self, config, kind, attend, adapters, fp8):
        super().__init__()
        width, head = config["hidden_size"], head_width(config)
        self.head, self.attend = head, attend
        queries, keys = config["num_attention_heads"] * head, config["num_key_value_heads"] * head
        biases = config["model_type"] == "qwen2"
        self.q_proj = Matrix(width, queries, kind, biases, fp8=fp8, **adapters("q"))
        self.k_proj = Matrix(width, keys, kind, biases, fp8=fp8, **adapters("k"))
        self.v_proj = Matrix(width, keys, kind, biases, fp8=fp8, **adapters("v"))
        self.o_proj = Matrix(queries, width, kind, fp8=fp8, **adapters("o"))
        if config["model_type"] == "qwen3":
            self.q_norm = Norm(head, config["rms_norm_eps"], kind)
            self.k_norm = Norm(head, config["rms_norm_eps"], kind)
        else:
            self.q_norm = self.k_norm = None

    def forward(self, x, cos, sin):
        batch, length, _ = x.shape
        q, k, v = (matrix(x).view(batch, length, -1, self.head) for matrix in (self.q_proj, self.k_proj, self.v_proj))
        if self.q_norm is not None:
            q, k = self.q_norm(q), self.k_norm(k)
        q, k, v = (t.transpose(1, 2) for t in (q, k, v))
        y = self.attend(rotate(q, cos, sin), rotate(k, cos, sin), v)
        return self.o_proj(y.transpose(1, 2).reshape(batch, length, -1))


class Perceptron(nn.Module):
    def __init__(self, config, kind, adapters, fp8):
        super().__init__()
        width, hidden = config["hidden_size"], config["intermediate_size"]
        self.gate_proj = Matrix(width, hidden, kind, fp8=fp8, **adapters("gate"))
        self.up_proj = Matrix(width, hidden, kind, fp8=fp8, **adapters("up"))
        self.down_proj = Matrix(hidden, width, kind, fp8=fp8, **adapters("down"))

    def forward(self, x):
        return self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))


class Block(nn.Module):
    def __init__(self, config, kind, attend, adapters, fp8):
        super().__init__()
        self.input_layernorm = Norm(config["hidden_size"], config["rms_norm_eps"], kind)
        self.self_attn = Attention(config, kind, attend, adapters, fp8)
        self.post_attention_layernorm = Norm(config["hidden_size"], config["rms_norm_eps"], kind)
        self.mlp = Perceptron(config, kind, adapters, fp8)

    def forward(self, x, cos, sin):
        x = x + self.self_attn(self.input_layernorm(x), cos, sin)
        return x + self.mlp(self.post_attention_layernorm(x))


def loss_and_gradient(logits, targets, counted):
    """Of rows of logits: their part of the mean over `counted` targets, and its gradient. Targets below 0 are none."""
    z = logits.float()
    kept, at = (targets >= 0).float() / counted, targets.clamp(min=0)[:, None]
    log_sum = z.logsumexp(1, keepdim=True)
    loss = ((log_sum - z.gather(1, at))[:, 0] * kept).sum()
    hit = torch.arange(z.shape[1], device=z.device)[None, :] == at
    return loss, (((z - log_sum).exp() - hit.float()) * kept[:, None]).to(logits.dtype)


class ChunkedLoss(torch.autograd.Function):
    """Cross-entropy of x head^T, computed with its gradients in chunks of rows, whose logits are not kept. The gradient
    that comes from behind must be 1."""

    @staticmethod
    def forward(ctx, x, head, targets, counted, chunk):
        most = max(1, LOGITS_IN_A_CHUNK // head.shape[0])
        rows = 1 << (most.bit_length() - 1)  # chunks of one shape are compiled once
        loss, dx = torch.zeros((), device=x.device), torch.empty_like(x)
        dw = torch.zeros_like(head) if ctx.needs_input_grad[1] else None
        for first in range(0, len(x), rows):
            own = slice(first, first + rows)
            part, gradient = chunk(x[own] @ head.t(), targets[own], counted)
            loss += part
            torch.mm(gradient, head, out=dx[own])
            if dw is not None:
                dw.addmm_(gradient.t(), x[own])
        ctx.gradients = dx, dw
        return loss

    @staticmethod
    def backward(ctx, _):
        dx, dw = ctx.gradients
        ctx.gradients = None
        return dx, dw, None, None, None


class Decoder(nn.Module):
    """`lora`: None, or rank, alpha and the targets of adapters; then all else is frozen."""

    def __init__(self, config, device, dtype, attend=plain_attention, lora=None, fp8=False, compiled=False,
                 recompute=False):
        super().__init__()
        kind = {"device": device, "dtype": dtype}

        def adapters(name):
            return {"rank": lora[0], "scale": lora[1] / lora[0]} if lora and name in lora[2] else {}

        self.config, self.recompute = config, recompute
        self.embed_tokens = nn.Embedding(config["vocab_size"], config["hidden_size"], **kind)
        self.layers = nn.ModuleList(Block(config, kind, attend, adapters, fp8)
                                    for _ in range(config["num_hidden_layers"]))
        self.norm = Norm(config["hidden_size"], config["rms_norm_eps"], kind)
        tied = config.get("tie_word_embeddings", False)
        self.lm_head = None if tied else nn.Parameter(torch.empty(config["vocab_size"], config["hidden_size"], **kind))
        if lora:
            for name, parameter in self.named_parameters():
                parameter.requires_grad_("lora_" in name)
        self.begin()
        self.chunk = torch.compile(loss_and_gradient) if compiled else loss_and_gradient
        # A list that is no module: the compiled blocks share the parameters of self.layers.
        self.called = [[torch.compile(layer) if compiled else layer for layer in self.layers]]

    @torch.no_grad()
    def begin(self):
        """Random weights, norms of 1, no biases, and adapters that change nothing."""
        for name, parameter in self.named_parameters():
            if name.endswith("lora_B") or name.endswith("bias"):
                parameter.zero_()
            elif parameter.dim() > 1:
                parameter.normal_(0, 0.02)
            else:
                parameter.fill_(1)

    def files_parameters(self):
        """Parameters by their names in Hugging Face's files, or in PEFT's for adapters."""
        names = {}
        for name, parameter in self.named_parameters():
            if "lora_" in name:
                names["base_model.model.model.%s.weight" % name] = parameter
            else:
                names["lm_head.weight" if name == "lm_head" else "model." + name] = parameter
        return names

    def forward(self, tokens, targets, passes=1, positions=None):
        """The mean loss of targets, [batch, tokens] as `tokens`, divided by `passes` that make one step. `positions`,
        [tokens], are those of tokens in their documents."""
        angles = rotary_angles(self.config, tokens.shape[1], tokens.device)
        if positions is not None:
            angles = angles[positions]
        cos, sin = angles.cos(), angles.sin()
        x = self.embed_tokens(tokens)
        for block in self.called[0]:
            if self.recompute:
                x = checkpoint(block, x, cos, sin, use_reentrant=False)
            else:
                x = block(x, cos, sin)
        head = self.embed_tokens.weight if self.lm_head is None else self.lm_head
        counted = (targets >= 0).sum() * passes
        return ChunkedLoss.apply(self.norm(x).flatten(0, 1), head, targets.flatten(), counted, self.chunk)
