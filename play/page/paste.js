// What to paste elsewhere: the program with its formats, schedule and data, as other doors of Fiberloom take it.

/** Whoever made a link wrote what is pasted: nothing of it ends the quotes that it stands in. */
const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;

/** A file of these lines, as a shell writes it. */
function written(name, text) {
  const lines = text.replace(/\n?$/, "\n");
  let end = "END";
  while (lines.split("\n").includes(end)) end += "_";
  return `cat > ${quoted(name)} <<'${end}'\n${lines}${end}`;
}

/** A text as Rust writes it. */
function raw(text) {
  let hashes = "#";
  while (text.includes(`"${hashes}`)) hashes += "#";
  return `r${hashes}"\n${text.trim()}\n"${hashes}`;
}

/** The state as a shell, Python, Rust and C have it; `look` is what is known of the program. */
const PASTED = {
  Shell(state) {
    const lines = [];
    for (const datum of Object.values(state.data)) {
      if (datum.text !== undefined) lines.push(written(datum.from, datum.text));
    }
    lines.push(written("program.loom", state.program));
    const words = ["fiberloom run program.loom"];
    for (const [name, datum] of Object.entries(state.data)) words.push(`--in ${quoted(`${name}=${datum.from}`)}`);
    for (const [name, format] of Object.entries(state.formats)) words.push(`--format ${quoted(`${name}=${format}`)}`);
    if (state.schedule !== null) words.push(state.schedule.trim() ? `--schedule ${quoted(state.schedule)}` : "--no-schedule");
    for (const [name, by] of Object.entries(state.order)) words.push(`--order ${quoted(`${name}=${by}`)}`);
    for (const [name, most] of Object.entries(state.limit)) words.push(`--limit ${quoted(`${name}=${most}`)}`);
    if (state.strict) words.push("--mode strict");
    words.push("--check");
    lines.push(words.join(" \\\n  "));
    return lines.join("\n");
  },

  Python(state, look) {
    const operands = look.tensors.filter((tensor) => tensor.needed);
    const lines = ["import fiberloom as fl", ""];
    lines.push(`program = r'''${scheduled(state).replaceAll("'''", '"""').replace(/\n?$/, "\n")}'''`, "");
    for (const tensor of operands) lines.push(`${tensor.name} = …  # ${described(tensor)}: an array of NumPy or SciPy, ${from(state, tensor.name)}`);
    for (const table of look.tables) lines.push(`${table} = …  # a data frame of pandas or polars, or a table of pyarrow, ${from(state, table)}`);
    const named = [...operands.map((tensor) => tensor.name), ...look.tables, ...look.sizes].map((name) => `${name}=${name}`);
    for (const size of look.sizes) lines.push(`${size} = ${state.data[size]?.from ?? 100}`);
    lines.push(`kernel = fl.compile(program)`, `results = kernel(${named.join(", ")})`);
    for (const tensor of look.tensors.filter((tensor) => tensor.role === "result")) lines.push(`print(results["${tensor.name}"])`);
    return lines.join("\n");
  },

  Rust(state, look) {
    const files = Object.entries(state.data).filter(([name]) => !look.tables.includes(name));
    const sources = files.map(([name, datum]) => `        (${JSON.stringify(name)}, Source::of(Path::new(${JSON.stringify(datum.from)}))?, Default::default()),`);
    const formats = Object.entries(state.formats).map(([name, format]) => `(${JSON.stringify(name)}, ${JSON.stringify(format)})`);
    return `use fiberloom::data::Source;
use fiberloom::{Options, Program};
use std::path::Path;

const PROGRAM: &str = ${raw(scheduled(state))};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let program = Program::named_with("program", PROGRAM, &[${formats.join(", ")}])?;
    let kernel = program.compile(&Options::default())?;
    let operands = program.operands(&[
${sources.join("\n")}
    ])?;
    let operands: Vec<_> = operands.iter().map(|(name, tensor)| (*name, tensor)).collect();
    let outcome = kernel.run(&operands)?;
    for (name, tensor) in &outcome.results {
        println!("{}", fiberloom::show::tensor(name, tensor));
    }
    Ok(())
}`;
  },

  C(state) {
    const formats = Object.entries(state.formats).map(([name, format]) => ` --format ${quoted(`${name}=${format}`)}`).join("");
    return `${written("program.loom", scheduled(state))}
fiberloom build program.loom -o kernel.o --header kernel.h${formats}
# kernel.h declares the function, each buffer that it takes, and what it gives back; docs/c.md has a main.c.
cc main.c kernel.o -o main`;
  },
};

/** The program with the schedule that stands in the place of its last statement's. */
function scheduled(state) {
  return state.schedule && state.schedule.trim() ? `${state.program.trimEnd()}\nschedule { ${state.schedule.trim().replace(/;?$/, ";")} }\n` : state.program;
}

function described(tensor) {
  return `${tensor.type}[${tensor.sizes.map((size) => size ?? "…").join(", ")}] ${tensor.format}`;
}

function from(state, name) {
  return state.data[name] ? `here ${state.data[name].from}` : "yours";
}
