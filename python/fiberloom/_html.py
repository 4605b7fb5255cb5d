"""Tensors and kernels in notebooks: tables and tabs, without scripts."""

from __future__ import annotations

from html import escape
from itertools import count

__all__ = ["kernel", "table", "tensor"]

_STAGES = ("syntax", "schedule", "loops", "lattice", "asm")
_NUMBERS = count()


#: Of a picture's longer side at most.
_CELLS = 64


def tensor(of) -> str:
    """What a tensor is, as a table; of two modes, where its entries are, as a picture."""
    rows = [("shape", of.shape), ("dtype", of.dtype), ("format", of.format), ("stored", of.nnz), ("elsewhere", of.fill_value)]
    rows.append(("bytes", of.nbytes))
    cells = "".join(f"<tr><th>{escape(name)}</th><td>{escape(str(value))}</td></tr>" for name, value in rows)
    return f"<table>{cells}</table>{_spy(of) if of.ndim == 2 and of.size else ''}"


def _spy(of) -> str:
    """Where a matrix differs from its fill value, of a dense one from 0: a cell for each place, or for several."""
    rows, columns = of.shape
    by = max(rows, columns, _CELLS) / _CELLS
    width, height = (max(round(extent / by), 1) for extent in (columns, rows))
    lines: dict[int, list[int]] = {}
    for place in _marked(of, width, height):
        lines.setdefault(place // width, []).append(place % width)
    path = "".join(f"M{begin} {y}h{count}" for y, marked in lines.items() for begin, count in _runs(marked))
    return (
        f'<svg viewBox="-.5 -1 {width + 1} {height + 1}" width="{width * 4 + 4}" height="{height * 4 + 4}" '
        f'stroke="currentColor"><rect x="0" y="-.5" width="{width}" height="{height}" fill="none" stroke-width=".1"/>'
        f'<path d="{path}"/></svg>'
    )


def _marked(of, width: int, height: int) -> list[int]:
    """The cells in which something is, in order: ``y * height // rows`` is the cell of row `y`."""
    import numpy as np

    (rows, columns), view = of.shape, of.dense_view()
    if view is not None:
        begins = [-(-np.arange(cells) * extent // cells) for cells, extent in ((height, rows), (width, columns))]
        by_rows = np.logical_or.reduceat(view != 0, begins[0], axis=0)
        return np.flatnonzero(np.logical_or.reduceat(by_rows, begins[1], axis=1)).tolist()
    arrays = of.to("coo").arrays()
    kept = arrays["values"] != of.fill_value
    y, x = (arrays[name][kept].astype(np.int64) for name in ("crd0", "crd1"))
    return np.unique((y * height // rows) * width + x * width // columns).tolist()


def _runs(marked: list[int]) -> list[tuple[int, int]]:
    """Where cells that stand side by side begin, and how many they are."""
    runs: list[tuple[int, int]] = []
    for x in marked:
        if runs and sum(runs[-1]) == x:
            runs[-1] = runs[-1][0], runs[-1][1] + 1
        else:
            runs.append((x, 1))
    return runs


#: As many rows of a table are shown at most.
_ROWS = 12


def table(of) -> str:
    """A table's first rows under names and types."""
    shown = of[:_ROWS]
    head = "".join(
        f"<th>{escape(name)}<br><small>{escape(kind)}</small></th>" for name, kind in zip(of.names, of.types, strict=True)
    )
    columns = [shown[name].tolist() for name in of.names]
    rows = ("".join(f"<td>{escape('' if value is None else str(value))}</td>" for value in row) for row in zip(*columns))
    body = "".join(f"<tr>{row}</tr>" for row in rows)
    more = f"<p>{len(of)} rows</p>" if len(of) > _ROWS else ""
    return f"<table><tr>{head}</tr>{body}</table>{more}"


def kernel(of) -> str:
    """A kernel's stages as tabs; the lattice is drawn."""
    group = f"fiberloom{next(_NUMBERS)}"
    tabs = []
    for n, stage in enumerate(_STAGES):
        shown = of.stage("lattice.svg") if stage == "lattice" else f"<pre>{escape(of.stage(stage))}</pre>"
        checked = " checked" if stage == "loops" else ""
        tabs.append(
            f'<input type="radio" name="{group}" id="{group}-{n}"{checked}><label for="{group}-{n}">{stage}</label>'
            f"<div>{shown}</div>"
        )
    style = (
        f".{group}{{display:flex;flex-wrap:wrap}}.{group}>input{{display:none}}"
        f".{group}>label{{order:0;padding:2px 10px;cursor:pointer;border-bottom:2px solid transparent}}"
        f".{group}>input:checked+label{{border-color:currentColor}}"
        f".{group}>div{{order:1;width:100%;display:none;overflow:auto;max-height:30em}}"
        f".{group}>input:checked+label+div{{display:block}}"
    )
    return f'<style>{style}</style><div>{escape(repr(of))}</div><div class="{group}">{"".join(tabs)}</div>'
