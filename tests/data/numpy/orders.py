"""Writes `orders.zip` and `columns-*.npy` with NumPy and SciPy: arrays of no to five modes in both orders, of every type in
both byte orders.

python3 orders.py   (numpy 2.4, scipy 1.17)

What an array holds follows from its coordinates: the digits of the number at (i, j, k, l, m) are m l k j i where 16 bits
hold that; of one byte it is the number of the element in the order of rows, less 72 where there is a sign; a bool says
whether 3 divides the digits' number. Archives hold the entries whose digits' numbers 4 does not divide.
"""

import io
import zipfile

import numpy
import scipy.sparse

EXTENTS = (2, 3, 4, 2, 3)
TYPES = ["?", "i1", "u1"] + [order + kind for kind in ["i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8"] for order in "<>"]


def digits(rank):
    number = numpy.zeros(EXTENTS[:rank], dtype="i8")
    for mode, coordinate in enumerate(numpy.indices(EXTENTS[:rank])):
        number += coordinate * 10**mode
    return number


def dense(rank, kind):
    number = digits(rank)
    if kind == "?":
        return number % 3 == 0
    if kind in ["i1", "u1"]:
        return (numpy.arange(number.size) - (72 if kind == "i1" else 0)).reshape(number.shape).astype(kind)
    return number.astype(kind)


def npy(array):
    out = io.BytesIO()
    numpy.save(out, array)
    return out.getvalue()


def columns(name, member):
    """The same member, in the order of columns if it has two modes, with the other byte order."""
    array = numpy.load(io.BytesIO(member))
    return npy(numpy.asfortranarray(array.astype(array.dtype.newbyteorder())) if array.dtype.kind in "if" else array)


with zipfile.ZipFile("orders.zip", "w", zipfile.ZIP_DEFLATED) as out:

    def add(name, content):
        out.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)

    for rank in range(6):
        for kind in TYPES:
            name = kind.replace("<", "little-").replace(">", "big-").replace("?", "bool")
            array = dense(rank, kind)
            add(f"{rank}-rows-{name}.npy", npy(array))
            if rank > 1:
                add(f"{rank}-columns-{name}.npy", npy(numpy.asfortranarray(array)))
    for rank in range(1, 6):
        number = digits(rank)
        kept = io.BytesIO()
        scipy.sparse.save_npz(kept, scipy.sparse.coo_array(numpy.where(number % 4 == 0, 0, number)), compressed=False)
        add(f"{rank}-rows.npz", kept.getvalue())
        turned = io.BytesIO()
        with zipfile.ZipFile(kept) as members, zipfile.ZipFile(turned, "w") as other:
            for name in members.namelist():
                other.writestr(zipfile.ZipInfo(name), columns(name, members.read(name)))
        add(f"{rank}-columns.npz", turned.getvalue())

for rank, kind in [(2, ">f4"), (3, "<i4"), (4, ">u2"), (5, "<f8")]:
    numpy.save(f"columns-{rank}.npy", numpy.asfortranarray(dense(rank, kind)))
