"""Prints what golden_reader.py reads of each file, as all listings do: see test_readers.py."""
import os
import sys

import numpy

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir))
import golden_reader  # noqa: E402

for path in sys.argv[1:]:
    try:
        tensors, metadata = golden_reader.read(path)
    except ValueError as error:
        print("error", error)
        continue
    print("file", path)
    for key, text in sorted(metadata.items()):
        print("metadata", key, text)
    for name, (dtype, values) in sorted(tensors.items()):
        exact = values.astype("f8").ravel()
        bits = numpy.where(numpy.isnan(exact), numpy.uint64(0x7FF8000000000000), exact.view("u8"))
        odd = 2 * numpy.arange(exact.size, dtype="u8") + numpy.uint64(1)
        print("tensor", name, dtype, list(values.shape), exact.size, f"{int((bits * odd).sum(dtype='u8')):016x}")
