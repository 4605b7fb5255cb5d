// Pictures: places of entries, levels as a tree, texts as trees, differences, growth.

const SVG = "http://www.w3.org/2000/svg";

/** An element with attributes and children. */
function make(name, attributes = {}, ...children) {
  const svg = ["svg", "rect", "line", "text", "circle", "path", "g", "title", "polyline"].includes(name);
  const element = svg ? document.createElementNS(SVG, name) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (value !== null && value !== undefined && value !== false) element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

/** The entries of a drawn tensor: coordinates by mode, and a value. */
function entries(tensor) {
  const rank = tensor.extents.length;
  return tensor.values.map((value, n) => ({ at: tensor.coordinates.slice(n * rank, (n + 1) * rank), value }));
}

/** Where a tensor of up to two modes has entries; of more modes, a picture for each of the first coordinates of those before. */
function spy(tensor) {
  const rank = tensor.extents.length;
  const all = entries(tensor);
  if (rank <= 2) return [spyOf(tensor, all, rank === 2 ? 0 : -1, rank - 1)];
  const slices = new Map();
  for (const entry of all) {
    const key = entry.at.slice(0, rank - 2).join(", ");
    if (!slices.has(key)) slices.set(key, []);
    slices.get(key).push(entry);
  }
  return [...slices].slice(0, 8).map(([key, slice]) =>
    make("figure", {}, spyOf(tensor, slice, rank - 2, rank - 1), make("figcaption", {}, `${tensor.name}[${key}, ·, ·]`)));
}

function spyOf(tensor, all, rowMode, columnMode) {
  const rows = rowMode < 0 ? 1 : Math.max(1, tensor.extents[rowMode]);
  const columns = columnMode < 0 ? 1 : Math.max(1, tensor.extents[columnMode]);
  const cell = Math.max(1, Math.min(18, Math.floor(260 / Math.max(rows, columns))));
  const [width, height] = [Math.max(cell * columns, 1), Math.max(cell * rows, 1)];
  const scale = Math.min(1, 260 / Math.max(width, height));
  const sizes = all.map((e) => Math.abs(Number(e.value))).filter(Number.isFinite);
  const most = Math.max(...sizes, 0);
  const label = `${tensor.name}: ${tensor.stored} stored of ${tensor.extents.join(" × ") || "1"}`;
  const picture = make("svg", {
    class: "spy", viewBox: `-0.5 -0.5 ${width + 1} ${height + 1}`, width: Math.max(24, width * scale), height: Math.max(24, height * scale),
    role: "img", "aria-label": label, preserveAspectRatio: "none",
  }, make("rect", { class: "frame", x: 0, y: 0, width, height }));
  for (const { at, value } of all) {
    const [row, column] = [rowMode < 0 ? 0 : at[rowMode], columnMode < 0 ? 0 : at[columnMode]];
    const size = Number(value);
    const shade = !Number.isFinite(size) || most === 0 ? 1 : 0.25 + 0.75 * Math.abs(size) / most;
    const is = value === tensor.fill ? "fill" : size < 0 ? "below" : "above";
    picture.append(make("rect", { class: is, x: column * cell, y: row * cell, width: cell, height: cell, "fill-opacity": shade },
      make("title", {}, `${tensor.name}[${at.join(", ")}] = ${value}`)));
  }
  return picture;
}

/** The levels of a tensor as a tree: coordinates below coordinates, values at the leaves. */
function levelTree(tensor, most = 48) {
  const order = tensor.order;
  if (order.length === 0) return make("p", {}, `${tensor.name} = ${tensor.values[0]}`);
  const root = { below: new Map(), label: tensor.name };
  for (const { at, value } of entries(tensor).slice(0, most)) {
    let node = root;
    for (const mode of order) {
      const key = at[mode];
      if (!node.below.has(key)) node.below.set(key, { below: new Map(), label: String(key) });
      node = node.below.get(key);
    }
    node.below.set("value", { below: new Map(), label: short(value), leaf: true });
  }
  let next = 0;
  const place = (node, depth) => {
    node.depth = depth;
    const children = [...node.below.values()];
    children.forEach((child) => place(child, depth + 1));
    node.x = children.length ? (children[0].x + children[children.length - 1].x) / 2 : next++;
  };
  place(root, 0);
  const [dx, dy] = [44, 46];
  const names = ["root", ...tensor.levels.map((level) => `mode ${level.mode}: ${level.kind}`), "values"];
  const width = 130 + dx * Math.max(next, 1);
  const picture = make("svg", {
    class: "tree", width, height: dy * names.length, viewBox: `0 0 ${width} ${dy * names.length}`,
    role: "img", "aria-label": `The levels of ${tensor.name} as a tree`,
  });
  names.forEach((name, depth) => picture.append(make("text", { class: "side", x: 4, y: dy * depth + 26 }, name)));
  const at = (node) => [130 + dx * node.x + dx / 2, dy * node.depth + 22];
  const draw = (node) => {
    const [x, y] = at(node);
    for (const child of node.below.values()) {
      const [x2, y2] = at(child);
      picture.append(make("line", { x1: x, y1: y + 9, x2, y2: y2 - 10 }));
      draw(child);
    }
    if (!node.leaf) picture.append(make("circle", { cx: x, cy: y, r: 11 }));
    picture.append(make("text", { class: node.leaf ? "leaf" : "node", x, y: y + 4, "text-anchor": "middle" }, node.label));
  };
  draw(root);
  return picture;
}

function short(value) {
  return value.length <= 6 ? value : Number.isFinite(Number(value)) ? String(Number(Number(value).toPrecision(3))) : `${value.slice(0, 5)}…`;
}

/** The arrays of a tensor's levels, and its values. */
function arrays(tensor) {
  const row = (name, elements, length) => make("tr", {}, make("th", { scope: "row" }, name),
    make("td", {}, make("code", {}, elements.slice(0, 60).join(" ") + (length > 60 ? ` … (${length})` : ""))));
  const rows = tensor.levels.flatMap((level, l) => level.arrays.map((a) => row(`${tensor.name}${l + 1}_${a.name}`, a.elements, a.length)));
  return make("table", { class: "arrays" }, ...rows, row(`${tensor.name}_vals`, tensor.values.map(short), tensor.stored));
}

/** A text whose lines are indented, as a tree that can be folded. */
function textTree(text) {
  const root = { depth: -1, line: "", below: [] };
  let path = [root];
  for (const line of text.split("\n").filter((line) => line.trim())) {
    const depth = line.length - line.trimStart().length;
    path = path.filter((node) => node.depth < depth);
    const node = { depth, line: line.trim(), below: [] };
    path[path.length - 1].below.push(node);
    path.push(node);
  }
  const shown = (node) => node.below.length
    ? make("li", {}, make("details", { open: true }, make("summary", {}, make("code", {}, node.line)), make("ul", {}, ...node.below.map(shown))))
    : make("li", {}, make("code", {}, node.line));
  return make("ul", { class: "text-tree" }, ...root.below.map(shown));
}

/** The longest common subsequence of lines: pairs of what stays, and what is only on one side. */
function difference(before, after) {
  const [a, b] = [before.split("\n"), after.split("\n")];
  const length = Array.from({ length: a.length + 1 }, () => new Uint32Array(b.length + 1));
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      length[i][j] = a[i] === b[j] ? length[i + 1][j + 1] + 1 : Math.max(length[i + 1][j], length[i][j + 1]);
    }
  }
  const rows = [];
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) rows.push([a[i++], b[j++]]);
    else if (j >= b.length || (i < a.length && length[i + 1][j] >= length[i][j + 1])) rows.push([a[i++], null]);
    else rows.push([null, b[j++]]);
  }
  // What goes and what comes at one place stand side by side.
  const aligned = [];
  for (let n = 0; n < rows.length; ) {
    if (rows[n][0] !== null && rows[n][1] !== null) { aligned.push(rows[n++]); continue; }
    const [gone, come] = [[], []];
    for (; n < rows.length && (rows[n][0] === null || rows[n][1] === null); n++) rows[n][0] === null ? come.push(rows[n][1]) : gone.push(rows[n][0]);
    for (let k = 0; k < Math.max(gone.length, come.length); k++) aligned.push([gone[k] ?? null, come[k] ?? null, true]);
  }
  return aligned;
}

/** Two texts side by side, their differences marked. */
function sideBySide(before, after) {
  const rows = difference(before, after);
  const changed = rows.filter((row) => row[2]).length;
  const side = (n, is) => make("pre", { class: "side", tabindex: 0, "aria-label": is === "gone" ? "before" : "after" },
    ...rows.map((row) => make("span", { class: row[2] ? (row[n] === null ? "gap" : is) : "same" }, `${row[n] ?? ""}\n`)));
  return make("div", { class: "difference", "data-changed": changed }, side(0, "gone"), side(1, "come"));
}

/** Operations at three sizes, on axes of logarithms, beside lines of slopes 1 and 2. */
function growth(grown) {
  const points = grown.points.filter((p) => p.n > 0 && p.ops > 0);
  const [w, h, pad] = [320, 220, 40];
  const picture = make("svg", { class: "growth", width: w, height: h, viewBox: `0 0 ${w} ${h}`, role: "img",
    "aria-label": points.map((p) => `${p.ops} operations at ${p.n}`).join(", ") });
  if (points.length === 0) return picture;
  const [x0, y0] = [Math.log2(points[0].n), Math.log2(points[0].ops)];
  const top = Math.max(2, ...points.map((p) => Math.log2(p.ops) - y0), 4);
  const at = (x, y) => [pad + (x / 2) * (w - pad - 14), h - pad - (y / top) * (h - pad - 14)];
  const line = (slope) => { const [[x1, y1], [x2, y2]] = [at(0, 0), at(2, 2 * slope)]; return make("line", { class: "slope", x1, y1, x2, y2 }); };
  picture.append(line(1), line(2),
    make("text", { x: w - 14, y: at(2, 2)[1] - 4, "text-anchor": "end", class: "side" }, "∝ n"),
    make("text", { x: w - 14, y: at(2, 4)[1] + 12, "text-anchor": "end", class: "side" }, "∝ n²"),
    make("polyline", { points: points.map((p) => at(Math.log2(p.n) - x0, Math.log2(p.ops) - y0).join(",")).join(" ") }));
  for (const p of points) {
    const [cx, cy] = at(Math.log2(p.n) - x0, Math.log2(p.ops) - y0);
    picture.append(make("circle", { cx, cy, r: 4 }), make("text", { x: cx, y: h - 20, "text-anchor": "middle", class: "side" }, String(p.n)));
  }
  picture.append(make("text", { x: w / 2, y: h - 4, "text-anchor": "middle", class: "side" }, grown.what),
    make("text", { x: 4, y: 12, class: "side" }, "operations"));
  return picture;
}
