//! Programs over labels, against the meaning over labels, and as the plain programs that they become.
//!
//! ```text
//!  bytes ─▶ domains, tables with rows, statements ─┬─ as any program: coordinates, on each engine, against the meaning
//!                                                  └─ bind, run, decode = semantics::relation, which knows no coordinates
//! ```
//!
//! Labels are drawn from few, so that tables meet; keys dangle, nulls stand where they may, literals are labels that no data have.
mod draw;

use super::engines::{self, Engine, Finding, Outcome, Stop};
use super::subject::{Operands, Subject};
use super::work::{Stage, Work};
use arbitrary::Unstructured;
use fiberloom::relation::{self, Bound, Dictionary, Fitted, Frame, Given, Relations};
use fiberloom::{Kernel, Program};
use fiberloom_core::algebra::{Mode, Type, Value};
use fiberloom_core::format::{Array, Tensor};
use fiberloom_core::notation::syntax::{Item, Sort};
use fiberloom_core::notation::typed;
use fiberloom_loops::Options;
use fiberloom_semantics::relation::{self as labelled, Cell, Function, Key, Moment, Of, Rows};
use std::collections::BTreeMap;
use std::fmt::{self, Display};

/// The most bytes that a tensor may take.
const LIMIT: u64 = 1 << 28;

/// A program over labels, and its data.
#[derive(Clone, Debug)]
pub struct Labelled {
    /// Its declarations.
    declared: Vec<String>,
    /// Its statements, each with its declaration.
    statements: Vec<(String, String)>,
    /// The data of each table, by its name.
    tables: BTreeMap<String, Rows>,
    /// Words for what stands in it.
    words: Vec<String>,
}

/// The program of these bytes.
///
/// # Panics
/// If an engine does not give the meaning's answer: with the program, shrunk.
pub fn attack(bytes: &[u8], engine: Engine) {
    let program = Labelled::any(&mut Unstructured::new(bytes));
    if let Err(finding) = program.run_on(engine, &[]) {
        let (program, finding) = super::shrink::shrink(program, finding, engine);
        panic!("{}: {}\n{program}\n{}", finding.kind, finding.what, program.data())
    }
}

impl Display for Labelled {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        self.declared.iter().try_for_each(|line| writeln!(f, "{line}"))?;
        self.statements.iter().try_for_each(|(declared, s)| writeln!(f, "{declared}\n{s}"))
    }
}

impl Labelled {
    /// The columns of each table as a reader gives them.
    fn frames(&self) -> Vec<(&str, Frame<'static>)> {
        let (syntax, _) = fiberloom_front::parse(&self.to_string());
        let syntax = syntax.expect("it was checked");
        let domains: BTreeMap<&str, &Sort> = syntax.items.iter().filter_map(domain).collect();
        let sorts = |name: &str| -> BTreeMap<String, Sort> {
            let tables = syntax.items.iter().filter_map(|item| match item {
                Item::Table(table) if table.name.name == name => Some(table),
                _ => None,
            });
            let labels = |sort: &Sort| match sort {
                Sort::Domain(d) => domains[d.name.as_str()].clone(),
                sort => sort.clone(),
            };
            let table = tables.into_iter().next().expect("it is declared");
            let modes = table.modes.iter().map(|m| {
                let size = m.size.to_string();
                (m.name.name.clone(), domains.get(size.as_str()).map_or(Sort::Plain(Type::I64), |s| (*s).clone()))
            });
            modes.chain(table.columns.iter().map(|c| (c.name.name.clone(), labels(&c.sort)))).collect()
        };
        let frame = |(name, rows): (&String, &Rows)| {
            let sorts = sorts(name);
            let columns = rows.columns.iter().enumerate().map(|(n, column)| {
                let cells: Vec<&Cell> = rows.rows.iter().map(|row| &row[n]).collect();
                frame_column(column, &sorts[column], &cells)
            });
            Frame { origin: format!("{name}.csv"), rows: rows.rows.len(), columns: columns.collect() }
        };
        self.tables.iter().map(|(name, rows)| (name.as_str(), frame((name, rows)))).collect()
    }

    fn bound(&self, relations: &Relations, typed: &typed::Program) -> Result<Bound, fiberloom::Error> {
        let frames = self.frames();
        relation::bind(relations, typed, &Given { frames: &frames, sizes: &[], limit: LIMIT })
    }

    /// Compares results, with their labels, with the meaning over labels.
    fn by_labels(&self, engine: Engine, work: &mut Work) -> Result<(), Stop> {
        let text = self.to_string();
        let syntax = fiberloom_front::parse(&text).0.expect("it was checked");
        let meant = work.time(Stage::Meaning, || labelled::evaluate(&syntax, &self.tables));
        let meant = meant.map_err(|what| Finding::new("meaning over labels", what))?;
        let library = |e: fiberloom::Error| Finding::new("library", e);
        let program = Program::parse(&text).map_err(library)?;
        let bound = self.bound(program.relations(), program.typed()).map_err(library)?;
        // Columns in the narrowest integers mean the same.
        let narrow = relation::narrow(&program, bound.clone()).map_err(library)?;
        let options = fiberloom::Options { engine: library_engine(engine), verify: true, ..Default::default() };
        let too_large = meant.values().any(|function| function.at.values().any(is_too_large));
        for (fitted, (program, Bound { operands, labels })) in [(false, (program, bound)), (true, narrow)] {
            let kernel: Kernel = program.compile(&options).map_err(library)?;
            let given: Vec<(&str, &Tensor)> = operands.iter().map(|(name, tensor)| (name.as_str(), tensor)).collect();
            let outcome = work.time(Stage::Run, || kernel.run(&given));
            // Fitted to its data, a program refuses a sum that 64 bits do not hold.
            match (too_large, fitted, &outcome) {
                (true, false, _) | (true, true, Err(fiberloom::Error::Operand { .. })) => continue,
                (true, true, Ok(_)) => return Err(Finding::new("labels", "a result does not fit 64 bits").into()),
                _ => {}
            }
            let outcome = outcome.map_err(library)?;
            work.time(Stage::Compare, || {
                meant.iter().try_for_each(|(name, meant)| {
                    let made = decoded(&program, name, &outcome[name.as_str()], &labels)?;
                    agrees(name, meant, &made)
                })
            })?;
        }
        Ok(())
    }
}

/// Whether 64 bits do not hold it, or nearly.
fn is_too_large(of: &Of) -> bool {
    matches!(of, Of::Decimal(n, _) if n.magnitude() >= &9_220_000_000_000_000_000u64.into())
}

/// A label as what it is.
fn unlabelled(of: &Of) -> Of {
    match of.clone() {
        Of::Label(Some(Key::Number(n))) => Of::Integer(n),
        Of::Label(Some(Key::Decimal(n, digits))) => Of::Decimal(n.into(), digits),
        Of::Label(Some(Key::Date(y, m, d))) => Of::Date(y, m, d),
        Of::Label(Some(Key::Moment(moment))) => Of::Moment(moment),
        Of::Label(Some(Key::Text(text))) => Of::Text(text),
        of => of,
    }
}

fn domain(item: &Item) -> Option<(&str, &Sort)> {
    match item {
        Item::Domain(domain) => Some((domain.name.name.as_str(), &domain.labels)),
        _ => None,
    }
}

/// Cells as a column of a frame.
fn frame_column(name: &str, sort: &Sort, cells: &[&Cell]) -> relation::Column<'static> {
    let nulls: Vec<bool> = cells.iter().map(|c| **c == Cell::Null).collect();
    let number = |c: &&Cell| match c {
        Cell::Number(n) => *n,
        Cell::Bool(b) => i64::from(*b),
        Cell::Date(y, m, d) => relation::days(&format!("{y:04}-{m:02}-{d:02}")).expect("a date of the calendar"),
        Cell::Moment(moment) => micros(moment),
        Cell::Text(_) | Cell::Null => 0,
    };
    let numbers: Vec<i64> = cells.iter().map(number).collect();
    let values = match sort {
        Sort::Text => {
            let text = |c: &&Cell| if let Cell::Text(text) = c { text.clone() } else { String::new() };
            let texts: Vec<String> = cells.iter().map(text).collect();
            let texts = relation::Texts::of(texts.iter().map(String::as_str)).expect("they are few");
            relation::Values::Texts(texts)
        }
        Sort::Date => relation::Values::Dates(Array::from(numbers)),
        Sort::Timestamp => relation::Values::Timestamps(Array::from(numbers)),
        Sort::Decimal(digits) => relation::Values::Decimals(Array::from(numbers), *digits),
        Sort::Plain(ty) => {
            let values = numbers.iter().map(|n| Value::from_i128(*ty, (*n).into()));
            relation::Values::Plain(Array::from_values(*ty, values))
        }
        Sort::Domain(_) => unreachable!("labels stand in data"),
    };
    let column = relation::Column::new(name, values);
    if nulls.contains(&true) { column.with_nulls(nulls) } else { column }
}

/// The microseconds of a moment.
fn micros(moment: &Moment) -> i64 {
    let (y, m, d) = moment.date;
    let days = relation::days(&format!("{y:04}-{m:02}-{d:02}")).expect("a date of the calendar");
    days * relation::DAY + moment.micros
}

/// The moment of these microseconds.
fn moment(micros: i64) -> Moment {
    Moment { date: ymd(micros.div_euclid(relation::DAY)), micros: micros.rem_euclid(relation::DAY) }
}

fn library_engine(engine: Engine) -> fiberloom::Engine {
    match engine {
        Engine::Llvm(_) => fiberloom::Engine::Llvm,
        Engine::Meaning => fiberloom::Engine::Meaning,
        Engine::Ptx => fiberloom::Engine::Ptx,
        Engine::Loops | Engine::Rewrites => fiberloom::Engine::Loops,
    }
}

/// What a result is at its labels, where it is not its fill.
fn decoded(
    program: &Program,
    name: &str,
    result: &Tensor,
    labels: &[Dictionary],
) -> Result<BTreeMap<Vec<Key>, Of>, Finding> {
    let relations = program.relations();
    let shown = relations.results.get(name).ok_or_else(|| Finding::new("labels", format!("`{name}` is not shown")))?;
    let frame = relation::decode(relations, name, result, shown, labels).map_err(|e| Finding::new("decode", e))?;
    let (values, keys) = frame.columns.split_last().expect("there are values");
    let rows = (0..frame.rows).map(|row| {
        let key = keys.iter().map(|column| key(column.cell(row)));
        Ok((
            key.collect::<Option<Vec<Key>>>().ok_or_else(|| Finding::new("decode", "a key is null"))?,
            of(values.cell(row)),
        ))
    });
    rows.collect()
}

fn ymd(days: i64) -> (i64, u8, u8) {
    let text = relation::date(days);
    let mut parts = text.splitn(3, '-');
    let mut next = || parts.next().unwrap_or_default();
    (next().parse().unwrap_or(0), next().parse().unwrap_or(0), next().parse().unwrap_or(0))
}

fn key(cell: Option<relation::Cell>) -> Option<Key> {
    Some(match cell? {
        relation::Cell::Plain(value) => Key::Number(value.as_i64()?),
        relation::Cell::Decimal(n, digits) => Key::Decimal(n as i64, digits),
        relation::Cell::Date(days) => {
            let (y, m, d) = ymd(days);
            Key::Date(y, m, d)
        }
        relation::Cell::Timestamp(micros) => Key::Moment(moment(micros)),
        relation::Cell::Text(text) => Key::Text(text.to_string()),
    })
}

fn of(cell: Option<relation::Cell>) -> Of {
    match cell {
        None => Of::Label(None),
        Some(relation::Cell::Decimal(n, digits)) => Of::Decimal(n.into(), digits),
        Some(relation::Cell::Date(days)) => {
            let (y, m, d) = ymd(days);
            Of::Date(y, m, d)
        }
        Some(relation::Cell::Timestamp(micros)) => Of::Moment(moment(micros)),
        Some(relation::Cell::Text(text)) => Of::Text(text.to_string()),
        Some(relation::Cell::Plain(value)) => match value.ty() {
            Type::Bool => Of::Bool(value.is_true()),
            ty if ty.is_float() => Of::Float(value.as_f64()),
            _ => Of::Integer(value.as_i64().unwrap_or(0)),
        },
    }
}

fn agrees(name: &str, meant: &Function, made: &BTreeMap<Vec<Key>, Of>) -> Result<(), Finding> {
    let held: BTreeMap<&Vec<Key>, &Of> = meant.at.iter().filter(|(_, value)| **value != meant.fill).collect();
    let same = |a: &Of, b: &Of| match (a, b) {
        (Of::Float(a), Of::Float(b)) => (a - b).abs() <= 1e-9 * a.abs().max(b.abs()) || a.is_nan() && b.is_nan(),
        (a, b) => unlabelled(a) == *b,
    };
    for (key, value) in made {
        let wanted = held.get(key).copied().unwrap_or(&meant.fill);
        if !same(wanted, value) {
            return Err(Finding::new("labels", format!("{name}{key:?} is {value:?}, and its meaning {wanted:?}")));
        }
    }
    match held.keys().find(|key| !made.contains_key(**key)) {
        Some(key) => {
            let what = format!("{name}{key:?} is the fill, and its meaning {:?}", held[*key]);
            Err(Finding::new("labels", what))
        }
        None => Ok(()),
    }
}

impl Subject for Labelled {
    fn mode(&self) -> Mode {
        Mode::Algebraic
    }

    fn options(&self, _typed: &typed::Program) -> Options {
        Options::default()
    }

    fn operands(&self, typed: &typed::Program) -> Option<Operands> {
        let syntax = fiberloom_front::parse(&self.to_string()).0?;
        let (_, relations) = relation::check_fitted(&syntax, &Fitted::default()).ok()?;
        Some(self.bound(&relations, typed).ok()?.operands.into_iter().collect())
    }

    fn shortened(&self, extent: u64) -> Option<Self> {
        let mut short = self.clone();
        short.tables.values_mut().for_each(|rows| rows.rows.truncate(extent as usize));
        Some(short)
    }

    fn redrawn(&self, _u: &mut Unstructured) -> Self {
        self.clone()
    }

    fn left_out(&self, _kind: &str, _words: &str) -> Option<&'static str> {
        None
    }

    fn run_on(&self, engine: Engine, others: &[u64]) -> Result<Outcome, Finding> {
        let ran = engines::run_on(self, engine, others)?;
        let Outcome::Ran(plain) = ran else { return Ok(ran) };
        engines::guarded(&mut |_| {
            let mut work = plain;
            self.by_labels(engine, &mut work)?;
            Ok(work)
        })
    }

    fn smaller(&self) -> Vec<Self> {
        let mut all = vec![];
        for n in 0..self.statements.len() {
            let mut fewer = self.clone();
            fewer.statements.remove(n);
            all.extend((!fewer.statements.is_empty()).then_some(fewer));
        }
        for (name, rows) in &self.tables {
            for n in 0..rows.rows.len() {
                let mut fewer = self.clone();
                fewer.tables.get_mut(name).expect("it is one").rows.remove(n);
                all.push(fewer);
            }
        }
        all
    }

    fn constructs(&self) -> Vec<String> {
        self.words.clone()
    }

    fn data(&self) -> String {
        let table = |(name, rows): (&String, &Rows)| {
            let lines: Vec<String> = rows.rows.iter().map(|row| format!("  {row:?}")).collect();
            format!("{name}: {:?}\n{}", rows.columns, lines.join("\n"))
        };
        self.tables.iter().map(table).collect::<Vec<_>>().join("\n")
    }
}
