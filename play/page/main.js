// The page: its state, what is asked of the compiler when it changes, and what is shown of the answers.

const FACTS = JSON.parse(document.getElementById("facts").textContent);
const by = (id) => document.getElementById(id);
let STAGES = [];
const VIEWS = ["Answer", "Stages", "Tensors", "Iteration", "Schedule", "Growth", "Paste"];

const empty = () => ({ program: "", formats: {}, schedule: null, strict: false, data: {}, order: {}, limit: {} });
let state = empty();
let look = { tensors: [], tables: [], sizes: [], stages: [], marks: [] };
let ran = null;
let view = "Answer";
let wanted = ["loops", "schedule", "concrete"];
let looking = null;
let running = null;
let shownAt = 0;

// ── asking ──────────────────────────────────────────────────────────────────────────────────────────────────────────

/** A request about the state, and the bytes of its files. */
function request(ask, stages = []) {
  const files = [];
  let place = 0;
  const known = new Set([...look.tensors.filter((t) => t.needed || !t.declared).map((t) => t.name), ...look.tables, ...look.sizes]);
  const data = Object.entries(state.data).filter(([name]) => ask === "look" || known.has(name)).map(([name, datum]) => {
    const bytes = datum.bytes ?? (datum.text === undefined ? null : new TextEncoder().encode(datum.text));
    if (bytes === null) return { name, from: datum.from };
    files.push(bytes);
    place += bytes.byteLength;
    return { name, from: datum.from, bytes: [place - bytes.byteLength, place] };
  });
  const { program, strict } = state;
  const declared = (name) => look.tensors.length === 0 || look.tensors.some((t) => t.name === name);
  const formats = Object.entries(state.formats).filter(([name]) => declared(name));
  const schedule = state.schedule === null || state.schedule.trim() === "" ? null : state.schedule;
  const pairs = (of) => Object.entries(of);
  return [{ ask, program, formats, schedule, no_schedule: state.schedule !== null && schedule === null, strict, data,
    order: pairs(state.order), limit: pairs(state.limit).map(([name, most]) => [name, Number(most)]), stages }, files];
}

let again = false;
let settled = Promise.resolve();
/** Looks at the program; while that goes on, the last edit waits. Settles when what is known is of the last edit. */
function edited() {
  paint();
  if (looking === null) return settled;
  if (looking.busy) again = true;
  else settled = looked();
  return settled;
}

async function looked() {
  do {
    again = false;
    const late = setTimeout(() => { if (again) looking.stop(); }, 1500);
    const outcome = await looking.ask(...request("look", stagesInView()));
    clearTimeout(late);
    if (outcome.stopped) continue;
    if (outcome.broken) {
      look = { ...look, stages: [], marks: [], rendered: outcome.broken, error: { message: outcome.broken } };
    } else {
      const last = look;
      look = outcome.answer;
      // What is wrong with a program says nothing of its tensors: those that were known stay.
      if (look.error && look.tensors.length === 0) ({ tensors: look.tensors, tables: look.tables, sizes: look.sizes } = last);
    }
    shown();
  } while (again);
}

function stagesInView() {
  if (view === "Stages") return wanted;
  return { Iteration: ["lattice", "looplets", "plan"], Answer: ["loops"] }[view] ?? [];
}

function shown() {
  paint();
  messages();
  formats();
  data();
  panel();
  shownAt = performance.now();
  document.body.dataset.looked = String(Number(document.body.dataset.looked ?? 0) + 1);
}

/** Asks what may take long; the button ends it. */
async function long(ask, stages, what) {
  by("stop").disabled = false;
  by("status").textContent = `${what}…`;
  const begin = performance.now();
  const outcome = await running.ask(...request(ask, stages));
  by("stop").disabled = !running.busy;
  const ms = Math.round(performance.now() - begin);
  by("status").textContent = outcome.stopped ? "Stopped." : outcome.broken ? "" : outcome.answer.error ? "Refused." : `Done in ${ms} ms.`;
  return outcome;
}

async function run() {
  choose("Answer");
  await settled;
  const asJson = JSON.stringify(state);
  const outcome = await long("run", ["loops"], "Running");
  if (outcome.stopped) ran = { stopped: true };
  else if (outcome.broken) ran = { failed: outcome.broken };
  else if (outcome.answer.error) ran = { failed: outcome.answer.rendered, marks: outcome.answer.marks };
  else ran = outcome.answer;
  ran.of = asJson;
  if (!ran.failed && !ran.stopped) by("status").textContent += ran.wrong ? ", and the answer is wrong" : "";
  panel();
  document.body.dataset.ran = String(Number(document.body.dataset.ran ?? 0) + 1);
}

/** Runs, and goes to the answer where it stands below the program. */
async function askedToRun() {
  await run();
  if (innerWidth <= 960) by("tabs").scrollIntoView();
}

// ── the editor ──────────────────────────────────────────────────────────────────────────────────────────────────────

const WORDS = new Set(["dim", "tensor", "table", "fn", "where", "schedule", "repeat", "while", "if", "then", "else", "let", "fill", "order", "start", "infinite"]);

/** The program with colors and marks, behind the letters that are typed. */
function paint() {
  const text = by("program").value;
  const classes = [];
  const span = (from, to, name) => classes.push([from, to, name]);
  for (const token of text.matchAll(/#[^\n]*|\b\d[\w.]*\b|\b[A-Za-z_]\w*\b/g)) {
    const [word] = token;
    const name = word[0] === "#" ? "c" : /\d/.test(word[0]) ? "n" : WORDS.has(word) ? "k" : null;
    if (name) span(token.index, token.index + word.length, name);
  }
  if (look.marks && state.program === text) {
    for (const mark of look.marks) {
      span(mark.from, Math.max(mark.to, mark.from + 1), `m-${mark.severity}`);
      mark.labels.forEach((label) => span(label.from, Math.max(label.to, label.from + 1), "m-label"));
    }
  }
  const cuts = [...new Set([0, text.length, ...classes.flatMap(([from, to]) => [from, to])])].filter((n) => n <= text.length).sort((a, b) => a - b);
  const painted = by("painted");
  painted.replaceChildren();
  for (let n = 0; n + 1 < cuts.length; n++) {
    const names = classes.filter(([from, to]) => from <= cuts[n] && cuts[n + 1] <= to).map(([, , name]) => name);
    const part = text.slice(cuts[n], cuts[n + 1]);
    painted.append(names.length ? make("span", { class: names.join(" ") }, part) : part);
  }
  painted.append("\n");
  scrolled();
}

function scrolled() {
  by("painted").scrollTop = by("program").scrollTop;
  by("painted").scrollLeft = by("program").scrollLeft;
}

/** Messages below the program; each leads to its place. */
function messages() {
  const list = by("messages");
  list.replaceChildren();
  const go = (mark) => () => {
    by("program").focus();
    by("program").setSelectionRange(mark.from, Math.max(mark.to, mark.from));
  };
  for (const mark of look.marks ?? []) {
    const said = [`${mark.line}:${mark.column}: ${mark.severity}: ${mark.message}`];
    for (const label of mark.labels) said.push(make("span", { class: "help" }, label.text));
    if (mark.help) said.push(make("span", { class: "help" }, `help: ${mark.help}`));
    list.append(make("li", { class: mark.severity }, make("button", { onclick: go(mark) }, ...said)));
  }
  if (look.error && !(look.marks ?? []).length) list.append(make("li", { class: "error" }, make("button", {}, look.error.message)));
  by("program").setAttribute("aria-invalid", look.error ? "true" : "false");
}

// ── formats and data ────────────────────────────────────────────────────────────────────────────────────────────────

function named(rank) {
  return FACTS.formats.filter((name) => ["dense", "csf", "coo"].includes(name) || (name === "sparse" ? rank === 1 : rank === 2));
}

/** A row of fields behind a name; the same row stays while its fields are typed in. */
function field(name, small, ...children) {
  return make("div", { class: "row", "data-name": name }, make("div", { class: "name" }, name, make("small", {}, small)), make("div", { class: "field" }, ...children));
}

/** Replaces what a part of the page holds; the focus stays on the field of the same label. */
function replace(part, children) {
  const active = document.activeElement;
  const label = part.contains(active) ? active.getAttribute("aria-label") : null;
  const cursor = label && active.selectionStart !== undefined ? active.selectionStart : null;
  part.replaceChildren(...children);
  if (label === null) return;
  const same = [...part.querySelectorAll("[aria-label]")].find((element) => element.getAttribute("aria-label") === label);
  same?.focus();
  if (same && cursor !== null && same.setSelectionRange) same.setSelectionRange(cursor, cursor);
}

function formats() {
  const rows = look.tensors.filter((t) => t.declared && t.role !== "function" && t.role !== "local" && t.sizes.length > 0).map((tensor) => {
    const own = state.formats[tensor.name];
    const set = (format) => () => {
      if (format === null) delete state.formats[tensor.name];
      else state.formats[tensor.name] = format;
      edited();
    };
    const names = named(tensor.sizes.length);
    const select = make("select", { "aria-label": `Format of ${tensor.name}`, onchange: (event) => set(event.target.value || null)() },
      make("option", { value: "", selected: own === undefined }, "as declared"),
      ...names.map((name) => make("option", { value: name, selected: own === name }, name)),
      own !== undefined && !names.includes(own) ? make("option", { value: own, selected: true }, "levels by hand") : null);
    return field(tensor.name, `${tensor.type}[${tensor.sizes.map((s) => s ?? "·").join(", ")}]`, select, levels(tensor, set));
  });
  replace(by("formats"), rows);
}

/** The levels of a tensor, outermost first: their kinds, and buttons that change their order. */
function levels(tensor, set) {
  const spelled = (kinds, order) => `{${kinds.join(", ")}} order(${order.join(", ")})`;
  const swapped = (list, l) => { const other = [...list]; [other[l - 1], other[l]] = [other[l], other[l - 1]]; return other; };
  return make("div", { class: "levels" }, ...tensor.levels.map((kind, l) => {
    const changed = (event) => set(spelled(tensor.levels.map((k, n) => (n === l ? event.target.value : k)), tensor.order))();
    return make("span", { class: "level" }, `mode ${tensor.order[l]}`,
      make("select", { "aria-label": `Level ${l} of ${tensor.name}`, onchange: changed },
        ...FACTS.levels.map((name) => make("option", { value: name, selected: name === kind }, name))),
      l > 0 ? make("button", { "aria-label": `Move level ${l} of ${tensor.name} outward`, title: "outward", onclick: set(spelled(swapped(tensor.levels, l), swapped(tensor.order, l))) }, "◀") : null);
  }));
}

/** What the program asks for: tensors, tables, values of sizes; what is not given yet is drawn. */
function wants() {
  const tensors = look.tensors.filter((t) => t.needed).map((t) => ({ name: t.name, small: t.format, tensor: t }));
  const undeclared = Object.keys(state.data).filter((name) => look.tensors.length === 0 || look.tensors.some((t) => t.name === name && !t.needed && t.role !== "result"));
  return [...tensors, ...look.tables.map((name) => ({ name, small: "table", table: true })), ...look.sizes.map((name) => ({ name, small: "size", size: true })),
    ...undeclared.map((name) => ({ name, small: "" }))];
}

function drawn(want) {
  if (want.size) return { from: "16" };
  if (want.table) return { from: `${want.name}.csv`, text: "" };
  const { tensor } = want;
  if (!tensor || tensor.sizes.length === 0) return { from: tensor?.type === "bool" ? "true" : "1" };
  const extents = tensor.extents.map((n) => n ?? 16).join("x");
  const dense = tensor.levels.every((kind) => kind === "dense");
  return { from: dense ? `random:${extents}` : `random:${extents}:0.2` };
}

function data() {
  const rows = wants().map((want) => {
    state.data[want.name] ??= drawn(want);
    const datum = state.data[want.name];
    const held = datum.text !== undefined || datum.bytes !== undefined;
    const input = make("input", { type: "text", value: datum.from, "aria-label": `Data of ${want.name}`,
      oninput: (event) => { datum.from = event.target.value; edited(); } });
    const take = async (file) => {
      const bytes = await file.arrayBuffer();
      const isText = /\.(mtx|ttx|tns|csv)$/.test(file.name);
      state.data[want.name] = isText ? { from: file.name, text: new TextDecoder().decode(bytes) } : { from: file.name, bytes };
      edited();
    };
    const row = field(want.name, want.small, input,
      make("button", { "aria-label": `Type data of ${want.name}`, onclick: () => typed(want.name) }, held ? "Drop it" : "Type…"),
      make("button", { "aria-label": `Take a file for ${want.name}`, onclick: () => asked(take) }, "File…"),
      datum.text !== undefined ? make("textarea", { class: "text", "aria-label": `Text of ${want.name}`, wrap: "off", spellcheck: "false",
        oninput: (event) => { datum.text = event.target.value; } }, datum.text) : null,
      datum.bytes !== undefined ? make("small", {}, `${datum.bytes.byteLength} bytes, in no link`) : null);
    row.addEventListener("dragover", (event) => { event.preventDefault(); row.classList.add("over"); });
    row.addEventListener("dragleave", () => row.classList.remove("over"));
    row.addEventListener("drop", (event) => { event.preventDefault(); row.classList.remove("over"); if (event.dataTransfer.files[0]) take(event.dataTransfer.files[0]); });
    return row;
  });
  const other = make("input", { type: "text", placeholder: "name", "aria-label": "Name of an undeclared tensor", size: 8 });
  const add = () => { if (/^[A-Za-z_]\w*$/.test(other.value)) { state.data[other.value] ??= { from: "random:16x16:0.2" }; edited(); } };
  const more = make("div", { class: "row" }, make("div", { class: "name" }, make("small", {}, "undeclared")), make("div", { class: "field" }, other, make("button", { onclick: add }, "Give data for it")));
  replace(by("data"), [...rows, more]);
}

/** Between a text that is typed, and data that are drawn. */
function typed(name) {
  const datum = state.data[name];
  const want = wants().find((want) => want.name === name);
  const rank = want.tensor?.sizes.length ?? 0;
  if (datum.text !== undefined || datum.bytes !== undefined) state.data[name] = want.table ? { from: `${name}.csv`, text: "" } : drawn(want);
  else state.data[name] = { from: want.table ? `${name}.csv` : `${name}.tns`, text: `# extents ${Array(rank).fill(4).join(" ")}\n${Array(rank).fill(1).join(" ")} 1.5\n` };
  edited();
}

/** Asks for a file. */
function asked(take) {
  const input = by("file");
  input.value = "";
  input.onchange = () => { if (input.files[0]) take(input.files[0]); };
  input.click();
}

// ── views ───────────────────────────────────────────────────────────────────────────────────────────────────────────

function tabs() {
  const tab = (name, n) => make("button", { role: "tab", id: `tab-${name}`, "aria-controls": `panel-${name}`, onclick: () => choose(name),
    onkeydown: (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (step) { const next = VIEWS[(n + step + VIEWS.length) % VIEWS.length]; choose(next); by(`tab-${next}`).focus(); }
    } }, name);
  by("tabs").replaceChildren(...VIEWS.map(tab));
  by("panels").replaceChildren(...VIEWS.map((name) => make("div", { role: "tabpanel", id: `panel-${name}`, "aria-labelledby": `tab-${name}`, hidden: true })));
}

function choose(name) {
  view = name;
  for (const other of VIEWS) {
    by(`tab-${other}`).setAttribute("aria-selected", String(other === name));
    by(`tab-${other}`).tabIndex = other === name ? 0 : -1;
    by(`panel-${other}`).hidden = other !== name;
  }
  if (name === "Schedule") steps();
  if (stagesInView().some((stage) => !(look.stages ?? []).some((shown) => shown.stage === stage))) edited();
  else panel();
}

function panel() {
  const part = by(`panel-${view}`);
  const draw = { Answer: answerPanel, Stages: stagesPanel, Tensors: tensorsPanel, Iteration: iterationPanel, Schedule: schedulePanel, Growth: growthPanel, Paste: pastePanel }[view];
  replace(part, draw().filter((child) => child !== null));
}

function code(text, id = null) {
  return make("pre", { tabindex: 0, id }, text);
}

function stageText(name) {
  const found = (look.stages ?? []).find((shown) => shown.stage === name);
  return found?.text ?? found?.error ?? (look.error ? look.rendered || look.error.message : "");
}

function answerPanel() {
  const loops = [make("h3", {}, "loops"), code(stageText("loops"), "loops")];
  if (ran === null) return [make("p", { class: "hint" }, "Run: Ctrl+Enter."), ...loops];
  if (ran.stopped) return [make("p", { id: "printed" }, "Stopped. The compiler was started anew."), ...loops];
  if (ran.failed) return [code(ran.failed, "printed"), ...loops];
  const fresh = ran.of === JSON.stringify(state);
  const old = fresh ? null : make("p", { class: "hint" }, "Something has changed since this ran: Ctrl+Enter runs it again.");
  const ops = make("table", {}, ...ran.ops.map(([name, count]) => make("tr", {}, make("th", { scope: "row" }, name), make("td", {}, String(count)))));
  return [
    old, code(ran.printed, "printed"),
    make("p", { id: "checked", class: ran.wrong ? "bad" : "good" }, ran.checked),
    ...ran.tables.map(rowsOf),
    make("h3", {}, "operations"), ops,
    ...(fresh ? [make("h3", {}, "loops for these data"), code(ran.made.stages.find((s) => s.stage === "loops")?.text ?? "", "loops")] : loops),
  ];
}

function rowsOf(table) {
  const cells = (row) => make("tr", {}, ...table.columns.map((column) => make("td", {}, column.cells[row])));
  const n = table.columns[0]?.cells.length ?? 0;
  return make("div", { class: "scroll" }, make("table", { class: "rows" }, make("caption", {}, `${table.name}: ${table.rows} rows`),
    make("tr", {}, ...table.columns.map((column) => make("th", { scope: "col" }, column.name))), ...Array.from({ length: Math.min(n, 50) }, (_, row) => cells(row))));
}

function stagesPanel() {
  const box = (name) => make("label", {}, make("input", { type: "checkbox", "aria-label": `Show ${name}`, checked: wanted.includes(name), onchange: (event) => {
    wanted = STAGES.filter((stage) => (stage === name ? event.target.checked : wanted.includes(stage)));
    edited();
  } }), ` ${name}`);
  return [make("div", { class: "chosen" }, ...STAGES.map(box)),
    make("div", { class: "panes" }, ...wanted.map((name) => make("section", { "aria-label": name }, make("h3", {}, name), code(stageText(name) || (name === "schedule" ? "(the planner adds no command)" : "(nothing)"), `stage-${name}`))))];
}

function tensorsPanel() {
  if (!ran?.operands) return [make("p", { class: "hint" }, "Run the program: its operands and results are drawn here.")];
  const one = (tensor) => make("div", {}, make("h3", {}, `${tensor.name}: ${tensor.type}[${tensor.extents.join(", ")}]`),
    make("p", { class: "hint" }, `${tensor.format}, ${tensor.stored} stored, fill ${tensor.fill}`),
    tensor.extents.length ? make("div", { class: "scroll" }, ...spy(tensor)) : null,
    make("details", {}, make("summary", {}, "levels as a tree"), make("div", { class: "scroll" }, levelTree(tensor))),
    make("details", {}, make("summary", {}, "arrays"), make("div", { class: "scroll" }, arrays(tensor))));
  return [make("div", { class: "tensors" }, ...[...ran.operands, ...ran.results].map(one))];
}

function iterationPanel() {
  const tree = (name) => make("details", { open: true }, make("summary", {}, name), make("div", { class: "scroll", id: `tree-${name}` }, textTree(stageText(name))));
  const picture = make("div", { class: "picture", id: "lattice" });
  if (look.picture) picture.append(...new DOMParser().parseFromString(look.picture, "image/svg+xml").children);
  return [make("p", { class: "hint" }, "How each loop iterates: looplets of the levels, the lattice of what is exhausted, and the plan of the loops."),
    tree("looplets"), make("details", { open: true }, make("summary", {}, "lattice"), picture, make("div", { id: "tree-lattice" }, textTree(stageText("lattice")))), tree("plan")];
}

let stepped = null;
let step = null;
async function steps() {
  if (running.busy) return;
  const outcome = await long("steps", [], "Commands");
  stepped = outcome.answer ?? { steps: [], error: { message: outcome.broken ?? "stopped" } };
  const count = stepped.steps?.length ?? 0;
  step = count > 1 ? Math.min(step ?? count - 1, count - 1) || count - 1 : null;
  panel();
}

function schedulePanel() {
  const own = make("textarea", { class: "text schedule", "aria-label": "Schedule in the place of the last statement's", spellcheck: "false",
    placeholder: "Commands in the place of the last statement's: split(i -> i0, i1, 8); parallelize(i0, cpu_thread, no_races);",
    oninput: (event) => { state.schedule = event.target.value === "" ? null : event.target.value; edited(); },
    onchange: () => steps() }, state.schedule ?? "");
  const bar = make("div", { class: "chosen" },
    make("button", { onclick: () => { state.schedule = null; edited(); steps(); } }, "As in the program"),
    make("button", { onclick: () => { state.schedule = "none"; edited(); steps(); } }, "No commands at all"),
    make("button", { onclick: () => steps() }, "Show again"));
  if (!stepped) return [own, bar];
  if (stepped.error) return [own, bar, code(stepped.rendered ?? stepped.error.message)];
  const list = make("ol", { start: 0, id: "commands" }, ...stepped.steps.map((one, n) => make("li", {},
    n === 0 ? (stepped.own ? "without commands" : "in the order of the meaning") : make("button", { "aria-pressed": String(n === step), onclick: () => { step = n; panel(); } }, one.command),
    one.refused ? " (refused)" : "")));
  const title = stepped.own ? "What each command of the program changes" : "What the planner decided, as commands, and what each changes";
  const text = (n) => stepped.steps[n].loops ?? stepped.steps[n].refused;
  return [own, bar, make("h3", {}, title), list, step === null ? make("p", {}, "No command is left to look at.") : sideBySide(text(step - 1), text(step))];
}

let grown = null;
function growthPanel() {
  const count = make("button", { id: "grow", onclick: async () => { grown = await long("grow", [], "Counting"); panel(); } }, "Count operations at n, 2n, 4n");
  if (!grown) return [count];
  if (!grown.answer || grown.answer.error) return [count, code(grown.answer?.rendered ?? grown.broken ?? "Stopped.", "grown")];
  const { points, what } = grown.answer;
  const row = (p, n) => make("tr", {}, make("td", {}, String(p.n)), make("td", {}, String(p.stored)), make("td", {}, String(p.ops)),
    make("td", {}, n ? `× ${(p.ops / points[n - 1].ops).toFixed(2)}` : ""));
  return [count, make("table", { id: "grown" }, make("tr", {}, ...[what, "stored values", "operations", ""].map((t) => make("th", { scope: "col" }, t))), ...points.map(row)), growth(grown.answer)];
}

let pasted = "Shell";
function pastePanel() {
  const text = PASTED[pasted](state, look);
  const bar = make("div", { class: "chosen" }, ...Object.keys(PASTED).map((name) => make("button", { "aria-pressed": String(name === pasted), "aria-label": `For ${name}`, onclick: () => { pasted = name; panel(); } }, name)),
    make("button", { onclick: () => copied(text, "Copied.") }, "Copy"));
  return [bar, code(text, "pasted")];
}

async function copied(text, said) {
  try {
    await navigator.clipboard.writeText(text);
    by("status").textContent = said;
  } catch {
    by("status").textContent = "The browser does not let the page copy: select the text.";
  }
}

// ── beginning ───────────────────────────────────────────────────────────────────────────────────────────────────────

/** Opens a state: that of a link, or an example's. */
function opened(next, about = "") {
  state = { ...empty(), ...structuredClone(next) };
  by("program").value = state.program;
  by("strict").checked = state.strict;
  by("about").textContent = about;
  [ran, stepped, step, grown] = [null, null, null, null];
  look = { tensors: [], tables: [], sizes: [], stages: [], marks: [] };
}

async function example(name) {
  const found = FACTS.examples.find((one) => one.name === name);
  if (!found) throw new Error(`there is no example \`${name}\``);
  by("examples").value = name;
  opened(found.state, found.about);
  await edited();
  await run();
}

async function fromAddress() {
  try {
    const told = await unpacked(location.hash);
    if (told === null) return await example(FACTS.examples[0].name);
    if (told.example) return await example(told.example);
    opened(told, told.version && told.version !== FACTS.version ? `This link was made by version ${told.version}; this page is ${FACTS.version}.` : "");
    by("examples").value = "";
    await edited();
    await run();
  } catch (wrong) {
    opened(empty());
    await edited();
    by("status").textContent = `${wrong.message}.`;
  }
}

async function link() {
  const data = Object.fromEntries(Object.entries(state.data).filter(([, datum]) => datum.bytes === undefined));
  const address = `${location.href.split("#")[0]}${await packed({ version: FACTS.version, ...state, data })}`;
  history.replaceState(null, "", address);
  await copied(address, "The link is in the address, and copied.");
}

async function begin() {
  by("examples").append(make("option", { value: "" }, "(yours)"), ...FACTS.examples.map((one) => make("option", { value: one.name }, one.title)));
  tabs();
  choose("Answer");
  by("program").addEventListener("input", () => { state.program = by("program").value; edited(); });
  by("program").addEventListener("scroll", scrolled);
  new ResizeObserver(scrolled).observe(by("program"));
  by("examples").addEventListener("change", (event) => { if (event.target.value) location.hash = `example=${event.target.value}`; });
  by("strict").addEventListener("change", (event) => { state.strict = event.target.checked; edited(); });
  by("run").addEventListener("click", askedToRun);
  by("stop").addEventListener("click", () => running.stop());
  by("link").addEventListener("click", link);
  addEventListener("hashchange", fromAddress);
  addEventListener("dragover", (event) => event.preventDefault());
  addEventListener("drop", (event) => event.preventDefault());
  addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); askedToRun(); }
    if (event.key === "Escape") running.stop();
  });
  const module = await compiledModule();
  const source = by("worker").textContent;
  [looking, running] = [new Engine(module, source), new Engine(module, source)];
  Object.assign(FACTS, (await looking.ask({ ask: "facts" }, [])).answer);
  STAGES = FACTS.stages;
  by("version").textContent = FACTS.version;
  await fromAddress();
  document.body.dataset.ready = String(Math.round(performance.now()));
}

begin().catch((wrong) => { by("status").textContent = `The page does not run here: ${wrong.message}`; });
