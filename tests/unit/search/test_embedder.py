import hashlib
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from prong.errors import Corrupt, ProngError, Unavailable
from prong.search.embedder import DIMENSIONS, MODEL_FOLDER, MODEL_ID, Embedder, _silence
from prong.testing.home import IsolatedHome

LIKE = ("limit how often a client may call the API", "throttle requests by their sender")
UNLIKE = "a recipe for apple cake"
# The nearness of five texts by the model with nothing rounded, as PyTorch computes it.
EXACT = [
    [1.000, 0.484, 0.017, 0.038, 0.028],
    [0.484, 1.000, 0.032, -0.036, 0.062],
    [0.017, 0.032, 1.000, 0.003, 0.015],
    [0.038, -0.036, 0.003, 1.000, 0.358],
    [0.028, 0.062, 0.015, 0.358, 1.000],
]


@pytest.fixture(scope="module")
def embedder() -> Embedder:
    return Embedder()


def test_texts_of_like_meaning_have_near_vectors(embedder: Embedder) -> None:
    one, other, third = embedder.embed([*LIKE, UNLIKE])
    assert one @ other > 0.4
    assert one @ third < 0.1


def test_a_vector_for_each_text_in_its_order(embedder: Embedder) -> None:
    vectors = embedder.embed([*LIKE, UNLIKE])
    assert vectors.shape == (3, DIMENSIONS)
    assert vectors.dtype == np.float32
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1, abs=1e-5)
    assert np.array_equal(embedder.embed([UNLIKE]), vectors[2:])


def test_other_texts_and_threads_change_nothing(embedder: Embedder) -> None:
    texts = [f"{LIKE[0]}, {number} times" * number for number in range(1, 9)]
    apart = np.concatenate([embedder.embed([text]) for text in texts])
    assert np.array_equal(Embedder(threads=3).embed(texts), apart)


def test_no_texts(embedder: Embedder) -> None:
    assert embedder.embed([]).shape == (0, DIMENSIONS)


@pytest.mark.parametrize(
    "text",
    ["", " \n", "\0", "half a pair: \ud83d", "\U0001f600" * 400, "[PAD] [SEP] [MASK]", "x" * 300],
)
def test_any_text_has_a_vector(embedder: Embedder, text: str) -> None:
    assert np.isfinite(embedder.embed([text])).all()


def test_of_a_long_text_the_beginning_counts(embedder: Embedder) -> None:
    words = "retry the upload when the connection is lost " * 60
    one, other = embedder.embed([words, words + UNLIKE * 10_000])
    assert np.array_equal(one, other)


def test_rounding_the_weights_changes_little(embedder: Embedder) -> None:
    texts = [*LIKE, UNLIKE, "Find the session in which the parser was written."]
    vectors = embedder.embed([*texts, "the tokenizer and grammar were done in that conversation"])
    assert vectors @ vectors.T == pytest.approx(np.array(EXACT), abs=0.04)


def test_the_model_is_read_at_the_first_call_and_given_back_when_idle() -> None:
    embedder = Embedder()
    assert not embedder.loaded
    before = embedder.embed([UNLIKE])
    embedder.unload_if_idle()
    assert embedder.loaded
    embedder.unload_if_idle(now=time.monotonic() + 601)
    assert not embedder.loaded
    assert np.array_equal(embedder.embed([UNLIKE]), before)
    embedder.unload()
    assert not embedder.loaded


def test_a_missing_model_is_unavailable(tmp_path: Path) -> None:
    with pytest.raises(Unavailable) as caught:
        Embedder(folder=tmp_path).embed([UNLIKE])
    assert "missing" in caught.value.message
    assert caught.value.hint


def _copy(folder: Path) -> Path:
    shutil.copytree(MODEL_FOLDER, folder)
    return folder


@pytest.mark.parametrize("name", ["model.onnx", "vocab.txt"])
def test_a_missing_file_is_unavailable(tmp_path: Path, name: str) -> None:
    folder = _copy(tmp_path / "model")
    (folder / name).unlink()
    with pytest.raises(Unavailable, match=name):
        Embedder(folder=folder).embed([UNLIKE])


@pytest.mark.parametrize("name", ["model.onnx", "vocab.txt", "manifest.json"])
def test_a_file_cut_short_is_corrupt(tmp_path: Path, name: str) -> None:
    folder = _copy(tmp_path / "model")
    path = folder / name
    os.truncate(path, path.stat().st_size // 2)
    with pytest.raises(Corrupt) as caught:
        Embedder(folder=folder).embed([UNLIKE])
    assert caught.value.hint


@pytest.mark.parametrize("name", ["model.onnx", "vocab.txt"])
def test_a_file_of_other_bytes_is_corrupt(tmp_path: Path, name: str) -> None:
    folder = _copy(tmp_path / "model")
    path = folder / name
    path.write_bytes(b"\xff" * path.stat().st_size)
    with pytest.raises(Corrupt):
        Embedder(folder=folder).embed([UNLIKE])


def test_a_model_that_fails_at_work_is_corrupt(tmp_path: Path) -> None:
    path = _copy(tmp_path / "model") / "vocab.txt"
    # All pieces have numbers that the model does not know.
    content = "\n" * 40_000 + "[UNK]\n[CLS]\n[SEP]\n"
    path.write_text(content.ljust(path.stat().st_size, "x"))
    with pytest.raises(Corrupt, match="does not work"):
        Embedder(folder=path.parent).embed([UNLIKE])


def test_after_an_error_it_can_be_tried_again(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    embedder = Embedder(folder=folder)
    with pytest.raises(ProngError):
        embedder.embed([UNLIKE])
    _copy(folder)
    assert embedder.embed([UNLIKE]).shape == (1, DIMENSIONS)


def test_the_files_are_those_of_the_manifest() -> None:
    manifest = json.loads((MODEL_FOLDER / "manifest.json").read_bytes())
    assert {"model.onnx", "vocab.txt", "LICENSE", "NOTICE"} == set(manifest["files"])
    for name, facts in manifest["files"].items():
        content = (MODEL_FOLDER / name).read_bytes()
        assert facts == {"size": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    assert MODEL_ID.split()[1] == manifest["files"]["model.onnx"]["sha256"][:12]


def test_nothing_is_sent_or_left_behind(isolated_home: IsolatedHome) -> None:
    """What onnxruntime has to report, it would keep in a folder of the user's."""
    before = sorted(isolated_home.root.rglob("*"))
    program = "from prong.search.embedder import Embedder; Embedder().embed(['a text'])"
    # Set by some who run tests; it would keep onnxruntime quiet as well.
    environ = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("CI", "GITHUB_", "TF_BUILD", "ORT_"))
    }
    done = subprocess.run(
        [sys.executable, "-c", program], env=environ, capture_output=True, text=True, check=True
    )
    assert (done.stdout, done.stderr) == ("", "")
    assert sorted(isolated_home.root.rglob("*")) == before


def test_what_is_silenced_says_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    with _silence():
        os.write(2, b"a graphics card that nobody asked for")
    os.write(2, b"an error")
    assert capfd.readouterr().err == "an error"


def test_several_that_load_at_once_give_standard_error_back(isolated_home: IsolatedHome) -> None:
    program = """if True:
        import os
        from threading import Barrier, Thread
        from prong.search.embedder import Embedder
        together = Barrier(4)
        def load():
            together.wait()
            Embedder().embed(["a text"])
        threads = [Thread(target=load) for _ in range(4)]
        for one in threads: one.start()
        for one in threads: one.join()
        os.write(2, b"an error")
    """
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stderr == "an error"


def test_it_works_without_standard_error(isolated_home: IsolatedHome) -> None:
    program = "from prong.search.embedder import Embedder; print(len(Embedder().embed(['a text'])))"
    command = 'exec "$0" -c "$1" 2>&-'
    done = subprocess.run(
        ["sh", "-c", command, sys.executable, program], capture_output=True, text=True, check=True
    )
    assert done.stdout == "1\n"
