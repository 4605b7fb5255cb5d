//! Programs of any walk, of which one statement has commands about its loops, each of which is legal where it stands.
//!
//! ```text
//!  subject ──text──▶ syntax ──a command that is drawn──▶ check, legal? ──the next──▶ …
//!  R0[i] = sum(j: A0[i,j]) schedule { split(i -> d0, d1, 3); pos(j -> d2, A0); split(d2 -> d3, d4, 2); reorder(d0, d1, d4, d3); }
//! ```
//!
//! What is drawn names loops as they are after the commands before it, so that most of it is legal; the rest is dropped. Some statements
//! begin with a run of commands about one another's loops, which are rarely drawn one by one.

use super::case::{Case, case, chain, compared, contraction, directed, nested, plain, products, symmetric};
use super::language::Written;
use super::long::Long;
use super::product;
use super::statistics::Statistics;
use super::subject::{Operands, Subject};
use arbitrary::Unstructured;
use fiberloom_core::algebra::Mode;
use fiberloom_core::format::Format;
use fiberloom_core::notation::syntax::{Item, Program, Statement};
use fiberloom_core::notation::typed;
use fiberloom_loops::Options;
use fiberloom_passes::check::check;
use fiberloom_passes::schedule::loops::Loops;
use fiberloom_semantics::machine;
use fiberloom_semantics::meaning::Limits;
use std::fmt::{self, Display};

/// A program with commands.
#[derive(Clone, Debug)]
pub struct Looped<S> {
    of: S,
    /// Which of its statements has them, counted from the last.
    behind: usize,
    /// The commands.
    commands: Vec<String>,
}

/// A program whose commands are legal, and which of its statements has them.
type Typed = (typed::Program, usize);

/// Commands that are drawn for a statement.
const DRAWN: usize = 6;

/// A part of the product of operators, levels, results and types that is spread over all of it.
const STRIDE: u64 = 37;

/// Tensors that a command of a run is tried with.
const TENSORS: usize = 4;

/// Commands about loops, as often as each is drawn.
const COMMANDS: [&str; 14] = [
    "split",
    "split",
    "split",
    "split_up",
    "split_up",
    "reorder",
    "reorder",
    "collapse",
    "pos",
    "pos",
    "weigh",
    "unroll",
    "coord",
    "parallelize",
];

/// Commands with which each second statement begins, each about the last loop that those before it have made: pieces of what a tile
/// has, and entries of loops that count as one.
const RUNS: [&[&str]; 6] = [
    &["split", "collapse", "pos", "split"],
    &["split_up", "collapse", "pos", "split"],
    &["split_up", "weigh", "split"],
    &["split_up", "collapse", "weigh", "split"],
    &["collapse", "weigh", "split"],
    &["collapse", "pos", "split"],
];

/// Commands with which statements begin whose loops blocks of a GPU run, with workspaces.
const BLOCKS: [&[&str]; 4] = [
    &["precompute", "inward", "block", "lanes"],
    &["precompute", "inward", "block", "lanes", "lanes"],
    &["precompute", "reorder", "block", "lanes"],
    &["precompute", "inward", "split", "block", "lanes"],
];

/// Commands with which statements begin whose loops a GPU's units run: warps whose lanes share rows, several rows a warp, pieces of entries, and
/// those of blocks.
const UNITS: [&[&str]; 11] = [
    &["rows", "warp", "part", "join"],
    &["rows", "warp", "part", "join"],
    &["rows", "block", "warps", "join"],
    &["rows", "rows", "block", "warps", "parts", "join"],
    &["warp", "join"],
    &["reorder", "warp", "join"],
    &["collapse", "pos", "split", "split", "warp", "part"],
    &["collapse", "pos", "split", "warp", "join"],
    &["collapse", "pos", "split", "split", "block", "warps", "join"],
    &["reorder", "rows", "block", "part"],
    BLOCKS[0],
];

/// What a command of such a run deals out: which loop, `None` for the last, and to which unit.
const DEALS: [(&str, Option<usize>, &str); 6] = [
    ("block", Some(0), "gpu_block"),
    ("warp", Some(0), "gpu_warp"),
    ("warps", Some(1), "gpu_warp"),
    ("part", Some(1), "gpu_thread"),
    ("parts", Some(2), "gpu_thread"),
    ("join", None, "gpu_thread"),
];

/// How racing iterations join what they fold.
const RACES: [&str; 4] = ["no_races", "atomics", "temporary", "parallel_reduction"];

impl Looped<Case> {
    /// A sum of products with extents that are said and most tensors dense, of which blocks of a GPU run loops, with workspaces.
    pub fn blocks(u: &mut Unstructured) -> Looped<Case> {
        Looped::of(u, (&BLOCKS, 1), |u, draw| {
            let mut case = contraction(u);
            let longer = draw / 10 % case.sizes.len().max(1);
            let size = |(n, (extent, _)): (usize, &(u64, bool))| (extent + if n == longer { 32 } else { 0 }, true);
            case.sizes = case.sizes.iter().enumerate().map(size).collect();
            // Each fourth operand is stored as it is drawn.
            let results: Vec<usize> = case.statements.iter().map(|s| s.tensor).collect();
            for (n, tensor) in case.tensors.iter_mut().enumerate() {
                if results.contains(&n) || !(n + draw).is_multiple_of(4) {
                    tensor.format = Some(Format::dense(tensor.sizes.len()));
                }
            }
            case
        })
    }

    /// A case of which a GPU's units run loops. Most have dense results, and each third contraction has a mode of more coordinates than a warp has
    /// lanes.
    pub fn units(u: &mut Unstructured) -> Looped<Case> {
        Looped::of(u, (&UNITS, 1), |u, draw| {
            let mut case = match draw % 10 {
                0 if draw / 10 % 4 == 0 => symmetric(u),
                0 => case(u),
                1 => compared(u),
                2 => plain(u),
                3 => products(u),
                _ => contraction(u),
            };
            let (longer, modes) = (draw / 40, case.sizes.len().max(1));
            if let Some((extent, _)) = case.sizes.get_mut(longer % (3 * modes)).filter(|_| draw % 10 > 3) {
                *extent += 40;
            }
            if draw % 10 > 2 {
                give_places(&mut case, draw / 10);
            }
            // Blocks have copies of what has a length that is said.
            if draw / 10 % 3 == 0 {
                case.sizes.iter_mut().for_each(|(_, is_said)| *is_said = true);
            }
            case
        })
    }

    /// Any case.
    pub fn any(u: &mut Unstructured) -> Looped<Case> {
        Looped::of(u, (&RUNS, 2), |u, draw| match draw % 10 {
            0 | 1 => contraction(u),
            2 => products(u),
            3 if draw / 10 % 4 == 0 => symmetric(u),
            3 => compared(u),
            4 | 5 => plain(u),
            6 => nested(u, &chain(draw as u64 / 10)),
            7 => directed(u, &product::nth(draw as u64 / 10 * STRIDE)),
            _ => case(u),
        })
    }
}

impl Looped<Written> {
    /// A program of the whole language.
    pub fn written(u: &mut Unstructured) -> Looped<Written> {
        Looped::of(u, (&RUNS, 2), |u, _| Written::lowered(u))
    }
}

impl Looped<Long> {
    /// One on long rows.
    pub fn long(u: &mut Unstructured) -> Looped<Long> {
        Looped::of(u, (&RUNS, 2), |u, _| Long::any(u))
    }
}

impl<S: Subject + Clone> Looped<S> {
    /// What `make` makes, with commands: each second one, or each one, begins with one of these runs. It is told a number that is drawn.
    fn of(
        u: &mut Unstructured,
        (runs, each): (&[&[&str]], usize),
        make: impl FnOnce(&mut Unstructured, usize) -> S,
    ) -> Looped<S> {
        let words: Vec<usize> = (0..8 * DRAWN).map(|_| u.int_in_range(0..=9999).unwrap_or(0)).collect();
        let of = make(u, words[0]);
        let run = runs.get(words[6] % (each * runs.len())).copied().unwrap_or_default();
        let behind = [0, 0, 1, 2][words[7] % 4];
        let mut looped = Looped { of, behind, commands: vec![] };
        if looped.typed().is_none() {
            looped.behind = 0;
        }
        let mut typed = looped.typed();
        for (n, words) in words.chunks_exact(8).enumerate() {
            let more = typed.as_ref().and_then(|typed| looped.command(typed, words, n, run.get(n).copied()));
            typed = more.or(typed);
        }
        looped
    }

    /// The program, if its commands are legal.
    fn typed(&self) -> Option<Typed> {
        let program = self.program()?;
        let place = places(&program.items).into_iter().rev().nth(self.behind)?;
        let typed = check(&program).ok()?;
        let legal = |s: &typed::Statement| Loops::of(&typed, s, self.of.mode()).is_ok();
        let legal = place < typed.statements.len() && typed.statements.iter().all(legal);
        legal.then_some((typed, place))
    }

    fn program(&self) -> Option<Program> {
        let (mut program, wrong) = fiberloom_front::parse(&self.of.to_string());
        let wanted = format!("y[i] = x[i] schedule {{ {} }}", self.commands.join(" "));
        let (commands, refused) = fiberloom_front::parse(&wanted);
        let Some(Item::Statement(with)) = commands.filter(|_| refused.is_empty())?.items.pop() else { return None };
        let program = program.as_mut().filter(|_| wrong.is_empty())?;
        let mut all = vec![];
        statements(&mut program.items, &mut all);
        let own = all.into_iter().rev().nth(self.behind)?;
        match &mut own.schedule {
            Some(own) => own.commands.extend(with.schedule?.commands),
            none => *none = with.schedule,
        }
        Some(program.clone())
    }

    /// Adds a command that is drawn, if it is legal, to a program: of a run, with the first tensor of which it is. The program with it.
    fn command(&mut self, typed: &Typed, words: &[usize], n: usize, of_run: Option<&str>) -> Option<Typed> {
        let tensors = if of_run.is_some() { TENSORS } else { 1 };
        for turn in 0..tensors {
            let drawn = self.drawn(typed, words, n, of_run.map(|kind| (kind, turn)))?;
            self.commands.push(drawn);
            if let Some(typed) = self.typed() {
                return Some(typed);
            }
            self.commands.pop();
        }
        None
    }

    /// A command over the loops that there are now; one of a run with the tensor of its turn.
    fn drawn(
        &self,
        (typed, place): &Typed,
        words: &[usize],
        n: usize,
        of_run: Option<(&str, usize)>,
    ) -> Option<String> {
        let statement = &typed.statements[*place];
        let loops = Loops::of(typed, statement, self.of.mode()).ok()?.order;
        let name = |v: &typed::VarId| typed.vars[v.index()].name.clone();
        let last = (0..n).rev().flat_map(|m| [format!("e{m}"), format!("d{m}")]);
        let last = last.filter_map(|made| loops.iter().position(|v| name(v) == made)).next();
        let first = last.filter(|_| of_run.is_some()).unwrap_or(words[1] % loops.len().max(1));
        let kind = of_run.map_or(COMMANDS[words[0] % COMMANDS.len()], |(kind, _)| kind);
        let mut read = vec![];
        statement.rhs.reads(&mut |t| read.push(typed.tensors[t.index()].name.clone()));
        let turn = of_run.map_or(0, |(_, turn)| turn);
        let tensor = || read.get((words[3] + turn) % read.len().max(1)).cloned();
        let (v, size) = (loops.get(first).map(name)?, [1, 2, 3, 5, 16][words[2] % 5]);
        let (a, b) = (format!("d{n}"), format!("e{n}"));
        // A workspace that is made before reads the tensor in the statement's place.
        if matches!(kind, "pos" | "weigh") && self.commands.iter().any(|made| made.starts_with("precompute")) {
            return None;
        }
        if let Some((_, place, unit)) = DEALS.iter().find(|(known, ..)| *known == kind) {
            let dealt = place.map_or(loops.last(), |place| loops.get(place)).map(name)?;
            // Lanes that share the last loop join what they folded, if they may; where iterations race, any other way is drawn.
            let joined = |turn: usize| 1 + (turn + words[6]) % (RACES.len() - 1);
            let race = match place {
                Some(_) if turn == 0 => 0,
                Some(_) => joined(turn),
                None => RACES.len() - 1 - turn % RACES.len(),
            };
            return Some(format!("parallelize({dealt}, {unit}, {});", RACES[race % RACES.len()]));
        }
        Some(match kind {
            "split" | "split_up" => format!("{kind}({v} -> {a}, {b}, {size});"),
            "reorder" => {
                let mut run: Vec<String> = loops[first..].iter().map(name).collect();
                run.truncate(2 + words[3] % 4);
                for k in 0..run.len() {
                    let other = k + words[4 + k % 4] % (run.len() - k);
                    run.swap(k, other);
                }
                format!("reorder({});", run.join(", "))
            }
            "collapse" => format!("collapse({v}, {} -> {a});", loops.get(first + 1).map(name)?),
            "pos" => format!("pos({v} -> {a}, {});", tensor()?),
            "weigh" => {
                let beside = read.get(words[4] % (2 * read.len().max(1))).map(|name| format!(", {name}"));
                format!("weigh({v}, {}{});", tensor()?, beside.unwrap_or_default())
            }
            "unroll" => format!("unroll({v}, {size});"),
            "coord" => format!("coord({v} -> {a});"),
            "precompute" => precompute(typed, statement, words[3] + turn, words[4])?,
            // The workspace is made inside of the loops over all other variables.
            "inward" => {
                let is_own = |v: &String| self.commands.iter().any(|made| made.contains(&format!("{v}_own")));
                let (own, others): (Vec<String>, Vec<String>) = loops.iter().map(name).partition(is_own);
                format!("reorder({});", [others, own].concat().join(", "))
            }
            "rows" => format!("split({} -> {a}, {b}, {size});", loops.first().map(name)?),
            "lanes" => {
                let (unit, inner) = (["gpu_thread", "gpu_warp"][words[5] % 2], loops.len().checked_sub(2 + turn / 2)?);
                format!("parallelize({}, {unit}, {});", name(&loops[1 + inner]), RACES[turn % 2])
            }
            _ => {
                let unit = ["cpu_thread", "cpu_vector", "gpu_block", "gpu_warp", "gpu_thread"][words[3] % 5];
                format!("parallelize({v}, {unit}, {});", RACES[words[4] % RACES.len()])
            }
        })
    }
}

/// Lets most results be dense, and of four operands one as it is drawn; one, if it is a matrix, compressed by rows; and two dense. Of some
/// programs all matrices are compressed by rows, results too: a result may have the levels of an operand.
fn give_places(case: &mut Case, draw: usize) {
    let results: Vec<usize> = case.statements.iter().map(|s| s.tensor).collect();
    for (n, tensor) in case.tensors.iter_mut().enumerate() {
        let rank = tensor.sizes.len();
        let by_rows = Format::named("csr", rank).filter(|_| rank == 2);
        match (n + draw) % 4 {
            _ if draw % 5 == 4 && rank == 2 => tensor.format = by_rows,
            0 => {}
            1 if !results.contains(&n) => tensor.format = by_rows.or(Some(Format::dense(rank))),
            _ => tensor.format = Some(Format::dense(rank)),
        }
    }
}

/// A workspace that holds what an access reads along one of its variables, or along two.
fn precompute(program: &typed::Program, s: &typed::Statement, access: usize, own: usize) -> Option<String> {
    let mut all: Vec<(String, Vec<String>)> = vec![];
    s.accesses(&mut |tensor, indices, is_left| {
        let vars: Option<Vec<String>> =
            indices.iter().map(|i| i.bare().map(|v| program.vars[v.index()].name.clone())).collect();
        all.extend(vars.filter(|_| !is_left).map(|vars| (program.tensors[tensor.index()].name.clone(), vars)));
    });
    let (tensor, vars) = all.get(access % all.len().max(1))?;
    let count = vars.len().min(1 + own % 2);
    let own: Vec<&String> = vars.iter().cycle().skip(own / 2 % vars.len().max(1)).take(count).collect();
    let made: Vec<String> = own.iter().map(|v| format!("{v}_own")).collect();
    let list =
        |names: Vec<&str>| if let [one] = names[..] { one.to_string() } else { format!("({})", names.join(", ")) };
    let (from, to) = (own.iter().map(|v| v.as_str()).collect(), made.iter().map(String::as_str).collect());
    let store = if access.is_multiple_of(3) { "" } else { " store(Wown, dense);" };
    Some(format!("precompute({tensor}[{}], {} -> {}, Wown);{store}", vars.join(", "), list(from), list(to)))
}

/// Which of a program's statements those of these items are: what is local stands before what it is local to.
fn places(items: &[Item]) -> Vec<usize> {
    fn with_locals(s: &Statement) -> usize {
        1 + s.locals.iter().map(with_locals).sum::<usize>()
    }
    fn within(items: &[Item], all: &mut Vec<usize>) {
        for item in items {
            match item {
                Item::Statement(s) => all.push(all.last().map_or(0, |last| last + 1) + with_locals(s) - 1),
                Item::Repeat(block) => within(&block.body, all),
                _ => {}
            }
        }
    }
    let mut all = vec![];
    within(items, &mut all);
    all
}

/// The statements of these items, in the order in which they stand.
fn statements<'p>(items: &'p mut [Item], all: &mut Vec<&'p mut Statement>) {
    for item in items {
        match item {
            Item::Statement(s) => all.push(s),
            Item::Repeat(block) => statements(&mut block.body, all),
            _ => {}
        }
    }
}

impl<S: Subject + Clone> Display for Looped<S> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self.program().filter(|_| !self.commands.is_empty()) {
            Some(program) => program.fmt(f),
            None => self.of.fmt(f),
        }
    }
}

impl<S: Subject + Clone> Subject for Looped<S> {
    fn mode(&self) -> Mode {
        self.of.mode()
    }

    fn options(&self, typed: &typed::Program) -> Options {
        self.of.options(typed)
    }

    fn limits(&self) -> Limits {
        self.of.limits()
    }

    fn machine_limits(&self) -> machine::Limits {
        self.of.machine_limits()
    }

    fn is_long(&self) -> bool {
        self.of.is_long()
    }

    fn operands(&self, typed: &typed::Program) -> Option<Operands> {
        self.of.operands(typed)
    }

    fn sizes(&self, typed: &typed::Program) -> Vec<(typed::SizeId, u64)> {
        self.of.sizes(typed)
    }

    fn shortened(&self, extent: u64) -> Option<Looped<S>> {
        Some(Looped { of: self.of.shortened(extent)?, ..self.clone() })
    }

    fn redrawn(&self, u: &mut Unstructured) -> Looped<S> {
        Looped { of: self.of.redrawn(u), ..self.clone() }
    }

    fn left_out(&self, kind: &str, words: &str) -> Option<&'static str> {
        let derived = kind == "extents" && words.contains("`collapse` is not below");
        self.of.left_out(kind, words).or(derived.then_some("an extent that a command derives is too large"))
    }

    fn smaller(&self) -> Vec<Looped<S>> {
        let without = |n: usize| {
            let mut smaller = self.clone();
            smaller.commands.remove(n);
            smaller
        };
        let fewer = (0..self.commands.len()).map(without);
        let smaller = self.of.smaller().into_iter().map(|of| Looped { of, ..self.clone() });
        fewer.chain(smaller).filter(|looped| looped.typed().is_some()).collect()
    }

    fn constructs(&self) -> Vec<String> {
        let word = |c: &String| format!("command {}", c.split('(').next().unwrap_or_default());
        self.commands.iter().map(word).chain(self.of.constructs()).collect()
    }

    fn count(&self, statistics: &mut Statistics) {
        self.of.count(statistics);
    }

    fn data(&self) -> String {
        self.of.data()
    }
}
