"""A pre-norm GPT in PyTorch, trained from assay's initial weights and tokens: its losses as JSON.

python3 train_golden.py FOLDER, with f32.safetensors, f32.tokens, f32.targets and the same of bf16
(scripts/train-golden). Needs torch alone.
"""
import json
import struct
import sys

import torch
import torch.nn.functional as F

BATCH, SEQUENCE, HEADS, VOCABULARY, STEPS = 4, 32, 2, 101, 100
RATE, BETAS, EPSILON, DECAY, CLIP = 1e-3, (0.9, 0.999), 1e-8, 0.01, 1.0


def read_tensors(path):
    """The tensors "weights.NAME" of a safetensors file, by NAME."""
    with open(path, "rb") as file:
        data = file.read()
    length = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8 : 8 + length])
    types = {"F32": torch.float32, "BF16": torch.bfloat16}
    tensors = {}
    for name, entry in header.items():
        if not name.startswith("weights."):
            continue
        begin, end = (8 + length + offset for offset in entry["data_offsets"])
        flat = torch.frombuffer(bytearray(data[begin:end]), dtype=types[entry["dtype"]])
        tensor = flat.reshape(entry["shape"]).clone()
        tensors[name[len("weights.") :]] = tensor.squeeze(0) if tensor.shape[0] == 1 else tensor
    return tensors


def read_tokens(path):
    with open(path, "rb") as file:
        flat = torch.frombuffer(bytearray(file.read()), dtype=torch.int32)
    return flat.reshape(STEPS, BATCH, SEQUENCE).long()


def loss_of(w, tokens, targets):
    width = w["positions"].shape[1]

    def norm(x, name):
        return F.layer_norm(x, (width,), w[name + "_weight"], w[name + "_bias"])

    x = w["embedding"][tokens] + w["positions"]
    for i in range(sum(name.endswith(".qkv") for name in w)):
        p = "layers.%d." % i
        q, k, v = F.linear(norm(x, p + "norm1"), w[p + "qkv"], w[p + "qkv_bias"]).split(width, 2)
        q, k, v = (t.view(BATCH, SEQUENCE, HEADS, -1).transpose(1, 2) for t in (q, k, v))
        scores = (q @ k.transpose(2, 3)).float() / (width // HEADS) ** 0.5
        unseen = torch.triu(torch.ones(SEQUENCE, SEQUENCE, dtype=torch.bool), 1)
        probabilities = scores.masked_fill(unseen, float("-inf")).softmax(3).to(x.dtype)
        attended = (probabilities @ v).transpose(1, 2).reshape(BATCH, SEQUENCE, width)
        x = x + F.linear(attended, w[p + "proj"], w[p + "proj_bias"])
        hidden = F.linear(norm(x, p + "norm2"), w[p + "fc"], w[p + "fc_bias"])
        x = x + F.linear(F.gelu(hidden, approximate="tanh"), w[p + "fc2"], w[p + "fc2_bias"])
    logits = F.linear(norm(x, "norm"), w["embedding"])[..., :VOCABULARY]
    return F.cross_entropy(logits.float().view(-1, VOCABULARY), targets.reshape(-1))


def train(folder, precision):
    """Losses of all steps; AdamW on f32 masters, from which the weights are rounded."""
    weights = read_tensors("%s/%s.safetensors" % (folder, precision))
    tokens = read_tokens("%s/%s.tokens" % (folder, precision))
    targets = read_tokens("%s/%s.targets" % (folder, precision))
    for tensor in weights.values():
        tensor.requires_grad_()
    masters = {name: tensor.detach().float().clone() for name, tensor in weights.items()}
    optimizer = torch.optim.AdamW(masters.values(), lr=RATE, betas=BETAS, eps=EPSILON, weight_decay=DECAY)
    losses = []
    for step in range(STEPS):
        loss = loss_of(weights, tokens[step], targets[step])
        loss.backward()
        for name, tensor in weights.items():
            masters[name].grad = tensor.grad.float()
            tensor.grad = None
        norm = torch.sqrt(sum((m.grad**2).sum() for m in masters.values()))
        for master in masters.values():
            master.grad *= min(1.0, CLIP / norm.item())
        optimizer.step()
        with torch.no_grad():
            for name, tensor in weights.items():
                tensor.copy_(masters[name])
        losses.append(round(loss.item(), 6))
    return losses


if __name__ == "__main__":
    torch.manual_seed(1)
    print(json.dumps({p: train(sys.argv[1], p) for p in ("f32", "bf16")}))
