import os
from concurrent.futures import ThreadPoolExecutor
from hashlib import blake2b

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from scipy.stats import chisquare

from tacit import secure, seeded


def test_an_owner_draws_the_same_alone_in_a_block_and_on_another_worker():
    stream = seeded(5).child("query", b"digest")
    together = stream.words(np.arange(1000), 0, 7)
    np.testing.assert_array_equal(stream.words(np.array([999, 3]), 0, 7), together[[999, 3]])
    with ThreadPoolExecutor(4) as pool:
        parts = list(
            pool.map(lambda lo: stream.words(np.arange(lo, lo + 100), 0, 7), range(0, 1000, 100))
        )
    np.testing.assert_array_equal(np.vstack(parts), together)


@pytest.mark.parametrize(("start", "count"), [(0, 1), (1, 1), (1, 4), (2, 3), (5, 6)])
def test_a_tape_has_no_joints(start, count):
    stream = seeded(5)
    whole = stream.words(np.arange(9), 0, 20)
    np.testing.assert_array_equal(
        stream.words(np.arange(9), start, count), whole[:, start : start + count]
    )


def test_of_reorders_owners():
    stream = seeded(5)
    chosen = np.array([40, 7, 7_000_000_000])
    direct = stream.words(chosen, 0, 2)
    np.testing.assert_array_equal(stream.of(chosen).words(np.arange(3), 0, 2), direct)
    np.testing.assert_array_equal(
        stream.of(chosen).of(np.array([2])).words(np.array([0]), 0, 2), direct[2:]
    )


def test_seeded_words_are_aes_of_owner_and_position():
    key = blake2b(b"tacit seeded stream", digest_size=32, person=b"tacit.streams")
    key.update(b"i" + (1).to_bytes(8, "little") + b"7")
    block = (12).to_bytes(8, "little") + (3).to_bytes(8, "little")
    expected = Cipher(algorithms.AES(key.digest()), modes.ECB()).encryptor().update(block)
    words = seeded(7).words(np.array([12]), 6, 2)
    assert words.astype("<u8").tobytes() == expected


def test_seeded_words_stay_what_they_were():
    assert [hex(word) for word in seeded(7).words(np.array([12]), 0, 2)[0]] == [
        "0x427f249a8c832ada",
        "0xe3292d27126e7fff",
    ]


def test_children_differ_by_path_and_by_kind():
    rows = np.arange(1)
    paths: list[tuple[int | str | bytes, ...]] = [
        (),
        (1,),
        ("1",),
        (b"1",),
        (1, 2),
        (12,),
        ("1", "2"),
        ("12",),
        ("",),
    ]
    drawn = {bytes(seeded(1).child(*path).words(rows, 0, 2)) for path in paths}
    assert len(drawn) == len(paths)
    assert bytes(seeded(1).words(rows, 0, 2)) != bytes(seeded(2).words(rows, 0, 2))


@pytest.mark.parametrize("stream", [secure(), seeded(3)], ids=["secure", "seeded"])
def test_bytes_are_uniform(stream):
    words = stream.words(np.arange(40_000), 0, 3)
    assert words.shape == (40_000, 3)
    # False-alarm rate 1e-6 for each stream; the secure one is fresh at every run.
    assert (
        chisquare(
            np.bincount(np.ascontiguousarray(words).view(np.uint8).ravel(), minlength=256)
        ).pvalue
        > 1e-6
    )


def test_secure_never_repeats_and_keeps_nothing():
    stream = secure()
    assert vars(stream) == {}
    first, second = (stream.words(np.arange(1000), 0, 2) for _ in range(2))
    assert len(np.unique(np.concatenate([first.ravel(), second.ravel()]))) == 4000


def test_a_forked_process_draws_other_words():
    stream = secure()
    stream.words(np.arange(4), 0, 2)
    receive, send = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(send, stream.words(np.arange(4), 0, 2).tobytes())
        os._exit(0)
    os.waitpid(child, 0)
    assert os.read(receive, 1000) != stream.words(np.arange(4), 0, 2).tobytes()
    os.close(receive)
    os.close(send)


def test_labels_say_what_may_be_claimed():
    assert secure().label == "secure"
    assert seeded(1).label == "reproducible, not private"
    assert seeded(1).key.hex() not in repr(seeded(1))


@pytest.mark.parametrize("seed", [-1, 1.5, None, "a", True])
def test_bad_seed(seed):
    with pytest.raises(ValueError, match=r"^seed must be a whole number >= 0, got "):
        seeded(seed)
