//! Programs over labels beside databases: TPC-H's queries, joins on graphs, a product with a filter.
//!
//! ```text
//!  tpchgen, R-MAT ──▶ FOLDER/NAME.csv ──relations.py──▶ NAME.parquet ──┬──▶ bound once ──▶ a kernel's calls ──┐
//!                                                                      └──▶ loaded once ──▶ DuckDB, SQLite ───┴──▶ the same rows? ──▶ pairs
//! ```
//!
//! Both sides have their data in memory and their queries prepared, and run on one thread. A call of DuckDB's includes planning.

use crate::generate::{Kind, dense};
use crate::measure::{Measured, geometric_mean, measure};
use crate::peer::Peers;
use fiberloom::relation::{self, Cell, Frame, Given};
use fiberloom::{Call, Options, Program, Tensor, data};
use std::collections::BTreeMap;
use std::fmt::Display;
use std::fs::File;
use std::hint::black_box;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tpchgen::csv::*;
use tpchgen::generators::*;

/// How to call it.
pub const USAGE: &str = "\
usage: cargo xtask bench relations [--only NAME,…] [--scale S] [--edges N] [--folder DIR] [--python PROGRAM]

  --only NAME,…      queries (q05), triangles, filtered; all unless given
  --scale S          of TPC-H's data; 1 unless given, which takes 3 GB of memory
  --edges N          of the graphs; 1000000 unless given
  --folder DIR       where data are made, and kept for the next run; a folder of the system's for temporary files unless given
  --python PROGRAM   a Python that has duckdb; python3 unless given";

/// A program, its result that is compared, and whether it reads graphs.
struct Query {
    name: &'static str,
    result: &'static str,
}

const TPCH: [Query; 16] = [
    Query { name: "q01", result: "sum_charge" },
    Query { name: "q03", result: "revenue" },
    Query { name: "q04", result: "order_count" },
    Query { name: "q05", result: "revenue" },
    Query { name: "q06", result: "revenue" },
    Query { name: "q07", result: "revenue" },
    Query { name: "q09", result: "profit" },
    Query { name: "q10", result: "revenue" },
    Query { name: "q12", result: "high_line_count" },
    Query { name: "q13", result: "custdist" },
    Query { name: "q14", result: "promo_revenue" },
    Query { name: "q15", result: "total_revenue" },
    Query { name: "q16", result: "supplier_cnt" },
    Query { name: "q18", result: "sum_qty" },
    Query { name: "q19", result: "revenue" },
    Query { name: "q21", result: "numwait" },
];

const GRAPHS: [Query; 2] =
    [Query { name: "triangles", result: "triangles" }, Query { name: "filtered", result: "into" }];

struct Args {
    only: Vec<String>,
    scale: f64,
    edges: usize,
    folder: PathBuf,
    python: String,
}

fn parse(mut args: impl Iterator<Item = String>) -> Result<Option<Args>, String> {
    let folder = std::env::temp_dir().join("fiberloom-bench-relations");
    let mut parsed = Args { only: Vec::new(), scale: 1.0, edges: 1_000_000, folder, python: "python3".to_string() };
    while let Some(name) = args.next() {
        if name == "--help" {
            println!("{USAGE}");
            return Ok(None);
        }
        let value = args.next().ok_or(USAGE)?;
        let wrong = || format!("{name}: `{value}` is no number that is meant here\n{USAGE}");
        match name.as_str() {
            "--only" => parsed.only.extend(value.split(',').map(str::to_string)),
            "--scale" => {
                parsed.scale = value.parse().ok().filter(|s| (0.001..=100.0).contains(s)).ok_or_else(wrong)?;
            }
            "--edges" => parsed.edges = value.parse().ok().filter(|n| *n > 0).ok_or_else(wrong)?,
            "--folder" => parsed.folder = PathBuf::from(value),
            "--python" => parsed.python = value,
            _ => return Err(USAGE.to_string()),
        }
    }
    let known = || TPCH.iter().chain(&GRAPHS).map(|q| q.name);
    match parsed.only.iter().find(|name| !known().any(|k| k == **name)) {
        Some(name) => Err(format!("`{name}` is no query: {}", known().collect::<Vec<_>>().join(", "))),
        None => Ok(Some(parsed)),
    }
}

/// Measures what the arguments name, and prints a line for each.
///
/// # Errors
/// No such Python; data that cannot be made or read; rows that are not the same.
pub fn run(args: impl Iterator<Item = String>) -> Result<(), String> {
    let Some(args) = parse(args)? else { return Ok(()) };
    let wanted = |q: &&Query| args.only.is_empty() || args.only.iter().any(|name| name == q.name);
    let (tpch, graphs): (Vec<_>, Vec<_>) =
        (TPCH.iter().filter(wanted).collect(), GRAPHS.iter().filter(wanted).collect());
    let folder = args.folder.join(format!("scale-{}-edges-{}", args.scale, args.edges));
    std::fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    eprintln!("making data in {}", folder.display());
    if !tpch.is_empty() {
        make_tables(&folder, args.scale)?;
    }
    if !graphs.is_empty() {
        make_graph(&folder, args.edges)?;
    }
    let mut peers = Peers::of_script(&args.python, "relations.py", "no DuckDB", 1)?;
    fiberloom::set_threads(1);
    eprintln!("loading them into databases");
    peers.ask(&format!("load {}", folder.display()))?;
    println!(
        "scale {}, {} edges; one thread, prepared, ms: median of alternating pairs; ratios are database : fiberloom, above 1 \
         fiberloom is faster\n{}\n",
        args.scale, args.edges, peers.libraries
    );
    println!("{:<12}{:>12}{:>12}{:>10}   others", "query", "fiberloom", "duckdb", "ratio");
    let mut ratios = Vec::new();
    for query in tpch.into_iter().chain(graphs) {
        eprintln!("{}", query.name);
        let measured = compare(query, &folder, &mut peers).map_err(|e| format!("{}: {e}", query.name))?;
        println!("{}", line(query, &measured));
        // The better of the layouts that DuckDB has.
        let layouts = measured.peers.iter().filter(|p| p.name.starts_with("duckdb")).map(|p| 1.0 / p.ratio);
        ratios.push(layouts.fold(1.0 / measured.ratio, f64::min));
    }
    println!("{:<12}{:>34.2}", "mean", geometric_mean(&ratios));
    Ok(())
}

fn line(query: &Query, m: &Measured) -> String {
    let ms = |time: Duration| time.as_secs_f64() * 1e3;
    let mut line = format!("{:<12}{:>12.3}{:>12.3}{:>10.2}  ", query.name, ms(m.kernel), ms(m.by_hand), 1.0 / m.ratio);
    for peer in &m.peers {
        line += &format!(" {} {:.3} ({:.2})", peer.name, ms(peer.time), 1.0 / peer.ratio);
    }
    line
}

/// Compares the rows of both sides, then times calls in turn.
fn compare(query: &Query, folder: &Path, peers: &mut Peers) -> Result<Measured, String> {
    let text = |e: fiberloom::Error| e.to_string();
    let group = if query.name.starts_with('q') { "tpch" } else { "graphs" };
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../examples/{group}/{}.loom", query.name));
    let source = std::fs::read_to_string(&file).map_err(|e| format!("{}: {e}", file.display()))?;
    let program = Program::parse(&source).map_err(text)?;
    let relations = program.relations();
    let mut frames = Vec::new();
    for table in &relations.tables {
        let path = folder.join(format!("{}.parquet", table.name));
        let frame = relation::read(&path, relations, table, &data::Options::default());
        frames.push((table.name.as_str(), frame.map_err(|e| e.to_string())?));
    }
    let bound = relation::bind(relations, program.typed(), &Given { frames: &frames, sizes: &[], limit: 1 << 34 });
    drop(frames);
    let (program, bound) = relation::narrow(&program, bound.map_err(text)?).map_err(text)?;
    let relations = program.relations();
    let operands: Vec<(&str, &Tensor)> = bound.operands.iter().map(|(name, t)| (name.as_str(), t)).collect();
    let kernel = program.compile(&Options::default()).map_err(text)?;
    let mut call = kernel.bind(&operands).map_err(text)?;
    let outcome = call.run().map_err(text)?;
    let shown = &relations.results[query.result];
    let ours = relation::decode(relations, query.result, &outcome[query.result], shown, &bound.labels).map_err(text)?;
    drop(outcome);
    peers.ask(&format!("rows {}", query.name))?;
    same(&rows(&ours), &folder.join(format!("{}.rows", query.name)))?;
    let libraries = peers.ask(&format!("libraries {}", query.name))?;
    let mut libraries: Vec<String> = libraries.split_whitespace().map(str::to_string).collect();
    libraries.retain(|library| library != "duckdb");
    let peers = std::cell::RefCell::new(peers);
    let asked = |library: &str, n: usize| peers.borrow_mut().times(&format!("time {library} {} {n}", query.name));
    let duck = |_| asked("duckdb", 1).map(|times| times.first().copied().unwrap_or_default());
    measure(|_| timed(&mut call), duck, &libraries, asked)
}

fn timed(call: &mut Call) -> Result<Duration, String> {
    let begin = Instant::now();
    let outcome = call.run().map_err(|e| e.to_string())?;
    let time = begin.elapsed();
    drop(black_box(outcome));
    Ok(time)
}

/// Rows of a result, by their keys, as text: what is none of a key is empty.
fn rows(frame: &Frame) -> BTreeMap<Vec<String>, String> {
    let shown = |cell: Option<Cell>| cell.map_or(String::new(), |cell| cell.to_string());
    let row = |n| {
        let mut cells: Vec<String> = frame.columns.iter().map(|column| shown(column.cell(n))).collect();
        let value = cells.pop().unwrap_or_default();
        (cells, value)
    };
    (0..frame.rows).map(row).collect()
}

/// Whether these are the rows that a database wrote, floats but for rounding.
fn same(ours: &BTreeMap<Vec<String>, String>, file: &Path) -> Result<(), String> {
    let text = std::fs::read_to_string(file).map_err(|e| format!("{}: {e}", file.display()))?;
    let mut count = 0;
    for line in text.lines() {
        let mut cells = line.split('\x1f').map(str::to_string);
        let value = cells.next().unwrap_or_default();
        let key: Vec<String> = cells.collect();
        let found = ours.get(&key).ok_or_else(|| format!("no row {key:?}, which has {value}"))?;
        let (a, b) = (number(found), number(&value));
        let near = matches!((a, b), (Some(a), Some(b)) if (a - b).abs() <= 1e-9 * b.abs().max(1.0));
        if found != &value && !near {
            return Err(format!("row {key:?} has {found}, and in DuckDB {value}"));
        }
        count += 1;
    }
    if count != ours.len() {
        return Err(format!("{} rows, and in DuckDB {count}", ours.len()));
    }
    Ok(())
}

fn number(text: &str) -> Option<f64> {
    text.parse().ok()
}

/// TPC-H's tables as comma-separated values, those that are not there yet.
fn make_tables(folder: &Path, scale: f64) -> Result<(), String> {
    let table = |name: &str, header: &str, rows: &mut dyn Iterator<Item = Box<dyn Display>>| {
        write(&folder.join(format!("{name}.csv")), header, rows)
    };
    macro_rules! make {
        ($name:literal, $generator:expr, $csv:ident) => {
            table(
                $name,
                $csv::header(),
                &mut $generator.iter().map(|row| Box::new($csv::new(row)) as Box<dyn Display>),
            )?;
        };
    }
    make!("region", RegionGenerator::default(), RegionCsv);
    make!("nation", NationGenerator::default(), NationCsv);
    make!("part", PartGenerator::new(scale, 1, 1), PartCsv);
    make!("supplier", SupplierGenerator::new(scale, 1, 1), SupplierCsv);
    make!("partsupp", PartSuppGenerator::new(scale, 1, 1), PartSuppCsv);
    make!("customer", CustomerGenerator::new(scale, 1, 1), CustomerCsv);
    make!("orders", OrderGenerator::new(scale, 1, 1), OrderCsv);
    make!("lineitem", LineItemGenerator::new(scale, 1, 1), LineItemCsv);
    Ok(())
}

/// A graph (R-MAT) of so many edges with weights, and a score for each of its nodes.
fn make_graph(folder: &Path, edges: usize) -> Result<(), String> {
    let graph = Kind::PowerLaw.matrix(edges, 1)?;
    let nodes = graph.extents[0];
    let level = graph.levels[1].as_ref().ok_or("a graph in compressed rows")?;
    let row = |a: usize| (level.pos[a] as usize..level.pos[a + 1] as usize).map(move |p| (a, p));
    let edge =
        |(a, p): (usize, usize)| Box::new(format!("{a},{},{}", level.crd[p], graph.values[p])) as Box<dyn Display>;
    write(&folder.join("edge.csv"), "a,b,weight", &mut (0..nodes).flat_map(row).map(edge))?;
    let scores = dense(&[nodes], 2);
    let score = |v: usize| Box::new(format!("{v},{}", scores.values[v].abs().fract())) as Box<dyn Display>;
    write(&folder.join("score.csv"), "v,rank", &mut (0..nodes).map(score))
}

/// A file of a line each, unless it is there, whole or not at all.
fn write(path: &Path, header: &str, rows: &mut dyn Iterator<Item = Box<dyn Display>>) -> Result<(), String> {
    let failed = |e: std::io::Error| format!("{}: {e}", path.display());
    if path.exists() {
        return Ok(());
    }
    let part = path.with_extension("part");
    let mut file = BufWriter::new(File::create(&part).map_err(failed)?);
    writeln!(file, "{header}").map_err(failed)?;
    for row in rows {
        writeln!(file, "{row}").map_err(failed)?;
    }
    file.flush().map_err(failed)?;
    std::fs::rename(&part, path).map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where there is a Python with DuckDB: `FIBERLOOM_PYTHON`, or `python3`.
    #[test]
    fn queries_have_the_rows_of_databases() {
        let folder = std::env::temp_dir().join(format!("fiberloom-bench-relations-{}", std::process::id()));
        let python = std::env::var("FIBERLOOM_PYTHON").unwrap_or_else(|_| "python3".to_string());
        if let Err(why) = Peers::of_script(&python, "relations.py", "no DuckDB", 1) {
            assert!(std::env::var_os("FIBERLOOM_PYTHON").is_none(), "{why}");
            return;
        }
        let folder_of_data = folder.to_str().unwrap();
        let args = ["--scale", "0.01", "--edges", "2000", "--folder", folder_of_data, "--python", &python];
        run(args.iter().map(|a| a.to_string())).unwrap();
        std::fs::remove_dir_all(folder).unwrap();
    }
}
