"""Tensors and kernels in notebooks: tables and tabs, without scripts."""

from __future__ import annotations

from html import escape
from itertools import count

__all__ = ["kernel", "tensor"]

_STAGES = ("syntax", "schedule", "loops", "lattice", "asm")
_NUMBERS = count()


def tensor(of) -> str:
    """What a tensor is, as a table."""
    rows = [("shape", of.shape), ("dtype", of.dtype), ("format", of.format), ("stored", of.nnz), ("elsewhere", of.fill_value)]
    rows.append(("bytes", of.nbytes))
    cells = "".join(f"<tr><th>{escape(name)}</th><td>{escape(str(value))}</td></tr>" for name, value in rows)
    return f"<table>{cells}</table>"


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
