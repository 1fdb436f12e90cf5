"""A column as plain values: `None` where it is unknown."""

import math

import numpy as np

from kafka_warden.history.column import Coded, Values
from kafka_warden.history.shapes import Plain
from kafka_warden.model import UNKNOWN


def plain(values: Values) -> list[Plain]:
    """Turn a column into a list of plain values."""
    if isinstance(values, list):
        return values
    if isinstance(values, Coded):
        return [values.values[code] if code >= 0 else None for code in values.codes.tolist()]
    listed: list[Plain] = values.tolist()
    if values.dtype.kind == "f":
        return [None if math.isnan(value) else value for value in listed] if np.isnan(values).any() else listed
    if values.dtype.kind == "i":
        return [None if value == UNKNOWN else value for value in listed] if (values == UNKNOWN).any() else listed
    return listed
