#!/usr/bin/env python3
"""Holds assay's logits against those of the transformers package.

python3 scripts/compare_logits.py [--assay build/assay] [--device cuda] [--model FOLDER] [--tuned]

Writes a small random Llama (rotary scaling of Llama 3.1, grouped heads, a head of its own), a Qwen3
(tied, norms of heads, heads wider than the model by themselves) and a Qwen2 (biases) with
transformers, in float32 and bfloat16, one of them in shards; lets `assay run prefill` compute the
same tokens, and prints the relative distance of all logits in the Euclidean norm. Allowed are 1e-4
in f32 and 2e-2 in bf16; bf16 is compared with transformers' float32 on the same weights. With
--model, a model that is there, instead of those. With --tuned, `assay run finetune` first trains each
model, all of it and then an adapter; transformers reads the weights that it writes, and peft the
adapter. Exit status 1 if one is further away.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile

import torch
import transformers
from safetensors.torch import load_file

ALLOWED = {"f32": 1e-4, "bf16": 2e-2}


def small_models():
    """(name, configuration) of each."""
    common = dict(hidden_size=256, intermediate_size=640, num_hidden_layers=4, vocab_size=2003,
                  max_position_embeddings=4096, initializer_range=0.05)
    scaling = dict(rope_type="llama3", factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0,
                   original_max_position_embeddings=64)
    yield "llama", transformers.LlamaConfig(
        num_attention_heads=8, num_key_value_heads=2, rms_norm_eps=1e-5, rope_theta=500000.0,
        rope_scaling=scaling, tie_word_embeddings=False, **common)
    yield "qwen3", transformers.Qwen3Config(
        num_attention_heads=4, num_key_value_heads=2, head_dim=128, rms_norm_eps=1e-6,
        rope_theta=1000000.0, tie_word_embeddings=True, **common)
    yield "qwen2", transformers.Qwen2Config(
        num_attention_heads=4, num_key_value_heads=2, rms_norm_eps=1e-6, rope_theta=1000000.0,
        tie_word_embeddings=False, **common)


def write_small(folder, config, dtype, shards):
    """Writes a random model whose norms and biases are random, too."""
    torch.manual_seed(1)
    model = transformers.AutoModelForCausalLM.from_config(config)
    with torch.no_grad():
        for name, tensor in model.named_parameters():
            if "norm" in name:
                tensor.copy_(1 + 0.2 * torch.randn_like(tensor))
            elif name.endswith("bias"):
                tensor.copy_(0.2 * torch.randn_like(tensor))
    size = "1MB" if shards else "10GB"
    model.to(dtype).save_pretrained(folder, max_shard_size=size)


def expected_logits(folder, adapter, tokens, device):
    """Of transformers, and of peft if there is an adapter, in float32 without TF32 shortcuts."""
    torch.backends.cuda.matmul.allow_tf32 = False
    model = transformers.AutoModelForCausalLM.from_pretrained(
        folder, attn_implementation="eager").to(torch.float32)
    if adapter:
        import peft
        model = peft.PeftModel.from_pretrained(model, adapter)
    model = model.to(device).eval()
    with torch.no_grad():
        return model(torch.tensor([tokens], device=device)).logits[0].double().cpu()


def run_assay(arguments, benchmark, axes, work):
    """Runs one cell, which has to pass."""
    command = [arguments.assay, "run", benchmark, *axes, "--json", "--telemetry", "off", "--out",
               os.path.join(work, "results")]
    if arguments.device == "cpu":
        command += ["--device", "cpu"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit("%s\n%s%s" % (" ".join(command), done.stdout, done.stderr))
    record = json.loads(done.stdout.splitlines()[0])
    if record["status"] != "passed":
        sys.exit("%s: %s" % (" ".join(command), record))


def tune(arguments, folder, mode, work):
    """The folder that assay writes when it has trained the weights for a few steps."""
    output = folder + "-" + mode
    run_assay(arguments, "finetune", ["weights=" + folder, "mode=" + mode, "precision=f32", "sequence=128", "batch=4",
                                      "steps=30", "rate=1e-3", "output=" + output], work)
    return output


def assay_logits(arguments, folder, adapter, tokens, precision, work):
    """The logits that assay writes."""
    ids, logits = os.path.join(work, "tokens"), os.path.join(work, "logits.safetensors")
    with open(ids, "w") as file:
        json.dump(tokens, file)
    axes = ["weights=" + folder, "tokens=" + ids, "logits=" + logits, "precision=" + precision]
    run_assay(arguments, "prefill", axes + (["adapter=" + adapter] if adapter else []), work)
    return load_file(logits)["logits"].double()


def compare(arguments, name, folder, work, adapter=None):
    """Prints a row for each precision. True if all are near enough."""
    with open(os.path.join(folder, "config.json")) as file:
        vocabulary = json.load(file)["vocab_size"]
    generator = torch.Generator().manual_seed(7)
    tokens = torch.randint(vocabulary, (arguments.tokens,), generator=generator).tolist()
    expected = expected_logits(folder, adapter, tokens, arguments.device)
    near = True
    for precision, allowed in ALLOWED.items():
        found = assay_logits(arguments, folder, adapter, tokens, precision, work)
        distance = ((found - expected).norm() / expected.norm()).item()
        same = (found.argmax(-1) == expected.argmax(-1)).double().mean().item()
        passed = distance <= allowed
        near = near and passed
        print("%-28s %-5s distance %.2e, allowed %.0e, same next token %5.1f%%: %s"
              % (name, precision, distance, allowed, 100 * same, "passed" if passed else "FAILED"))
    return near


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--assay", default="build/assay")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--tokens", type=int, default=300)
    parser.add_argument("--model", help="a folder with a model of such a kind")
    parser.add_argument("--tuned", action="store_true", help="after training by assay")
    arguments = parser.parse_args()
    print("transformers %s, torch %s" % (transformers.__version__, torch.__version__))
    near = True
    with tempfile.TemporaryDirectory() as work:
        if arguments.model:
            return 0 if compare(arguments, arguments.model, arguments.model, work) else 1
        for name, config in small_models():
            for dtype in (torch.float32, torch.bfloat16):
                folder = os.path.join(work, "%s-%s" % (name, str(dtype).split(".")[1]))
                write_small(folder, config, dtype, shards=dtype == torch.bfloat16)
                base = os.path.basename(folder)
                if not arguments.tuned:
                    near = compare(arguments, base, folder, work) and near
                    continue
                full, lora = (tune(arguments, folder, mode, work) for mode in ("full", "lora"))
                near = compare(arguments, base + " trained", full, work) and near
                near = compare(arguments, base + " with adapter", folder, work, lora) and near
    return 0 if near else 1


if __name__ == "__main__":
    sys.exit(main())
