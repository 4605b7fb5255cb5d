//! Programs whose last statement has commands about its loops, each of which is legal where it stands.
//!
//! ```text
//!  Case ──text──▶ syntax ──a command that is drawn──▶ check, legal? ──the next──▶ …
//!  R0[i] = sum(j: A0[i,j]) schedule { split(i -> d0, d1, 3); pos(j -> d2, A0); split(d2 -> d3, d4, 2); reorder(d0, d1, d4, d3); }
//! ```
//!
//! What is drawn names loops as they are after the commands before it, so that most of it is legal; the rest is dropped. Some statements
//! begin with a run of commands about one another's loops, which are rarely drawn one by one.

use super::case::{Case, case, contraction, products};
use super::statistics::Statistics;
use super::subject::{Operands, Subject};
use arbitrary::Unstructured;
use fiberloom_core::Options;
use fiberloom_core::algebra::Mode;
use fiberloom_core::check::check;
use fiberloom_core::notation::syntax::{Item, Program};
use fiberloom_core::notation::typed;
use fiberloom_core::schedule::loops::Loops;
use std::fmt::{self, Display};

/// A case with commands.
#[derive(Clone, Debug)]
pub struct Looped {
    case: Case,
    /// The commands of its last statement.
    commands: Vec<String>,
}

/// Commands that are drawn for a statement.
const DRAWN: usize = 6;

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
const RUNS: [&[&str]; 4] = [
    &["split", "collapse", "pos", "split"],
    &["split_up", "collapse", "pos", "split"],
    &["split_up", "weigh", "split"],
    &["collapse", "pos", "split"],
];

impl Looped {
    /// Any.
    pub fn any(u: &mut Unstructured) -> Looped {
        let words: Vec<usize> = (0..8 * DRAWN).map(|_| u.int_in_range(0..=9999).unwrap_or(0)).collect();
        let case = match words[0] % 3 {
            0 => contraction(u),
            1 => products(u),
            _ => case(u),
        };
        let run = RUNS.get(words[0] / 3 % (2 * RUNS.len())).copied().unwrap_or_default();
        let mut looped = Looped { case, commands: vec![] };
        for (n, words) in words.chunks_exact(8).enumerate() {
            looped.command(words, n, run.get(n).copied());
        }
        looped
    }

    /// The program, if its commands are legal.
    fn typed(&self) -> Option<typed::Program> {
        let typed = check(&self.program()?).ok()?;
        let legal = Loops::of(&typed, typed.statements.last()?, self.case.mode).is_ok();
        legal.then_some(typed)
    }

    fn program(&self) -> Option<Program> {
        let (mut program, wrong) = fiberloom_front::parse(&self.case.to_string());
        let wanted = format!("y[i] = x[i] schedule {{ {} }}", self.commands.join(" "));
        let (commands, refused) = fiberloom_front::parse(&wanted);
        let Some(Item::Statement(with)) = commands.filter(|_| refused.is_empty())?.items.pop() else { return None };
        let program = program.as_mut().filter(|_| wrong.is_empty())?;
        let Some(Item::Statement(last)) = program.items.last_mut() else { return None };
        match &mut last.schedule {
            Some(own) => own.commands.extend(with.schedule?.commands),
            none => *none = with.schedule,
        }
        Some(program.clone())
    }

    /// Adds a command that is drawn, if it is legal: of a run, with the first tensor of which it is.
    fn command(&mut self, words: &[usize], n: usize, of_run: Option<&str>) {
        let tensors = if of_run.is_some() { TENSORS } else { 1 };
        for turn in 0..tensors {
            let drawn = self.typed().and_then(|typed| self.drawn(&typed, words, n, of_run.map(|kind| (kind, turn))));
            let Some(drawn) = drawn else { return };
            self.commands.push(drawn);
            if self.typed().is_some() {
                return;
            }
            self.commands.pop();
        }
    }

    /// A command over the loops that there are now; one of a run with the tensor of its turn.
    fn drawn(
        &self,
        typed: &typed::Program,
        words: &[usize],
        n: usize,
        of_run: Option<(&str, usize)>,
    ) -> Option<String> {
        let statement = typed.statements.last()?;
        let loops = Loops::of(typed, statement, self.case.mode).ok()?.order;
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
            "weigh" => format!("weigh({v}, {});", tensor()?),
            "unroll" => format!("unroll({v}, {size});"),
            "coord" => format!("coord({v} -> {a});"),
            _ => {
                let unit = ["cpu_thread", "cpu_vector", "gpu_block"][words[3] % 3];
                let race = ["no_races", "atomics", "temporary", "parallel_reduction"][words[4] % 4];
                format!("parallelize({v}, {unit}, {race});")
            }
        })
    }
}

impl Display for Looped {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self.program().filter(|_| !self.commands.is_empty()) {
            Some(program) => program.fmt(f),
            None => self.case.fmt(f),
        }
    }
}

impl Subject for Looped {
    fn mode(&self) -> Mode {
        self.case.mode
    }

    fn options(&self, typed: &typed::Program) -> Options {
        self.case.options(typed)
    }

    fn operands(&self, typed: &typed::Program) -> Option<Operands> {
        self.case.operands(typed)
    }

    fn shortened(&self, extent: u64) -> Option<Looped> {
        Some(Looped { case: self.case.shortened(extent)?, ..self.clone() })
    }

    fn redrawn(&self, u: &mut Unstructured) -> Looped {
        Looped { case: self.case.redrawn(u), ..self.clone() }
    }

    fn left_out(&self, kind: &str, words: &str) -> Option<&'static str> {
        self.case.left_out(kind, words)
    }

    fn smaller(&self) -> Vec<Looped> {
        let without = |n: usize| {
            let mut smaller = self.clone();
            smaller.commands.remove(n);
            smaller
        };
        let fewer = (0..self.commands.len()).map(without);
        let smaller = self.case.smaller().into_iter().map(|case| Looped { case, ..self.clone() });
        fewer.chain(smaller).filter(|looped| looped.typed().is_some()).collect()
    }

    fn constructs(&self) -> Vec<String> {
        let word = |c: &String| format!("command {}", c.split('(').next().unwrap_or_default());
        self.commands.iter().map(word).chain(self.case.constructs()).collect()
    }

    fn count(&self, statistics: &mut Statistics) {
        self.case.count(statistics);
    }

    fn data(&self) -> String {
        self.case.data()
    }
}
