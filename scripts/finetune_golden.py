"""Fine-tuning in PyTorch from assay's weights, on assay's documents: the losses of 20 steps as JSON.

python3 finetune_golden.py FOLDER, with a folder of each family of models (scripts/train-golden). Needs torch alone; a
CPU is enough.
"""
import json
import os
import sys

import torch

from compare_finetune import COMPUTATIONS, read_into, torch_losses
from torch_decoder import TARGETS, Decoder

STEPS, RATE = 20, 3e-3


def documents(folder):
    """Tokens and targets, each packed document in a row of its own."""
    packed = json.load(open(os.path.join(folder, "documents.json")))
    length, starts = packed["length"], packed["document_starts"]
    begins = [i for i, start in enumerate(starts) if i % length == start]
    tokens = torch.zeros(len(begins), length, dtype=torch.long)
    targets = torch.full_like(tokens, -100)
    for row, (begin, end) in enumerate(zip(begins, [*begins[1:], len(starts)])):
        tokens[row, :end - begin] = torch.tensor(packed["tokens"][begin:end])
        targets[row, :end - begin] = torch.tensor(packed["targets"][begin:end])
    return tokens, targets


def losses(folder, lora, computation):
    config = json.load(open(os.path.join(folder, "config.json")))
    kind, fp8, _ = COMPUTATIONS[computation]
    model = Decoder(config, "cpu", kind, lora=(4, 8, TARGETS) if lora else None, fp8=fp8)
    files = [os.path.join(folder, "model.safetensors")]
    if lora:
        files.append(os.path.join(folder, "adapter", "adapter_model.safetensors"))
    read_into(model, *files)
    return [round(loss, 6) for loss in torch_losses(model, *documents(folder), [RATE] * STEPS)]


if __name__ == "__main__":
    torch.manual_seed(1)
    print(json.dumps({family: {mode: {name: losses(os.path.join(sys.argv[1], family), mode == "lora", name)
                                      for name in COMPUTATIONS} for mode in ("full", "lora")}
                      for family in sorted(os.listdir(sys.argv[1])) if os.path.isdir(os.path.join(sys.argv[1], family))}))
