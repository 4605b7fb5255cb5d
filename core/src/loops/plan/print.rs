//! Prints a plan as text: one line per step, with the steps inside of it indented.

use super::{
    Arm, Arrays, Assembly, Blocks, By, Choices, Cut, Decision, Directory, Fiber, Finger, Forall, How, Leap, Level,
    Marks, Node, Pass, Plan, Point, Range, Room, Seek, Sought, Spread, Statement, Step, Stepped, Table, Walk,
};
use crate::iteration::Shape;
use crate::notation::concrete::{AccessId, Expr, Index, Place, Program};
use std::fmt::Write;

/// The names of the accesses and index variables of a statement, distinct within it.
pub(super) struct Names<'p> {
    pub program: &'p Program,
    accesses: Vec<(AccessId, String)>,
    vars: Vec<(Index, String)>,
}

impl<'p> Names<'p> {
    /// The names of the statement that defines a tensor; without a tensor, those of the conditions of blocks.
    pub fn of(program: &'p Program, target: Option<Place>) -> Names<'p> {
        let mut names = Names { program, accesses: vec![], vars: vec![] };
        for nest in program.all_nests().into_iter().filter(|nest| Some(nest.target.tensor) == target) {
            nest.order.iter().for_each(|v| names.give_var(*v));
            let both = nest.both.iter().map(|both| &both.rhs);
            both.chain(nest.places.iter().flatten()).chain([&nest.rhs]).for_each(|e| names.expr(e));
            if let Some(a) = nest.before {
                program.accesses[a.0].vars.iter().for_each(|v| names.give_var(*v));
                names.give(a);
            }
        }
        if target.is_none() {
            program.conditions().into_iter().for_each(|e| names.expr(e));
        }
        names
    }

    fn expr(&mut self, e: &Expr) {
        e.fold_vars().into_iter().for_each(|v| self.give_var(v));
        e.each(&mut |e| {
            if let Expr::Where(made, _) = e {
                made.nest.order.iter().for_each(|v| self.give_var(*v));
                self.give(made.read);
            }
        });
        self.program.reads(e).into_iter().for_each(|a| self.give(a));
    }

    /// Names an access: `A[i,j]`, or `A[i,j:gallop]` with a protocol. Accesses that would have the same name are numbered: `A[i,j]'2`.
    fn give(&mut self, a: AccessId) {
        if self.accesses.iter().any(|(known, _)| *known == a) {
            return;
        }
        let access = &self.program.accesses[a.0];
        let mode = |(m, v): (usize, &Index)| {
            let protocol = access.protocols.get(&m).map(|how| format!(":{how}"));
            format!("{}{}", self.program.vars[v.0].name, protocol.unwrap_or_default())
        };
        let vars: Vec<String> = access.vars.iter().enumerate().map(mode).collect();
        let name = format!("{}[{}]", self.program.tensors[access.tensor.0].name, vars.join(","));
        let name = unlike(name, self.accesses.iter().map(|(_, name)| name));
        self.accesses.push((a, name));
    }

    fn give_var(&mut self, v: Index) {
        if self.vars.iter().all(|(known, _)| *known != v) {
            let name = unlike(self.program.vars[v.0].name.clone(), self.vars.iter().map(|(_, name)| name));
            self.vars.push((v, name));
        }
    }

    pub fn access(&self, a: AccessId) -> String {
        let known = self.accesses.iter().find(|(known, _)| *known == a);
        known.map_or_else(|| format!("access {}", a.0), |(_, name)| name.clone())
    }

    /// The access with this name.
    pub fn access_of(&self, name: &str) -> Option<AccessId> {
        self.accesses.iter().find(|(_, known)| known == name).map(|(a, _)| *a)
    }

    /// The index variable with this name.
    pub fn var_of(&self, name: &str) -> Option<Index> {
        self.vars.iter().find(|(_, known)| known == name).map(|(v, _)| *v)
    }

    fn all(&self, all: &[AccessId]) -> String {
        all.iter().map(|a| format!(" {}", self.access(*a))).collect()
    }

    pub fn level(&self, (a, l): Level) -> String {
        format!("{}.{l}", self.access(a))
    }

    fn var(&self, v: Index) -> &str {
        let known = self.vars.iter().find(|(known, _)| *known == v);
        known.map_or(&self.program.vars[v.0].name, |(_, name)| name)
    }

    fn statement(&self, Statement { target, assembly }: &Statement) -> String {
        let Assembly { arrays, filled, carried, room } = assembly;
        let mut text = format!("result {}: ", self.program.tensors[target.0].name);
        text += &match arrays {
            Arrays::Own => "own".to_string(),
            Arrays::Counted => "counted".to_string(),
            Arrays::Operand(place) => format!("arrays {}", self.program.tensors[place.0].name),
            Arrays::Taken(place) => format!("taken {}", self.program.tensors[place.0].name),
            Arrays::Levels(a) => format!("levels {}", self.access(*a)),
            Arrays::Entries(a) => format!("entries {}", self.access(*a)),
        };
        if *filled {
            text += "; filled";
        }
        if !carried.is_empty() {
            text += "; carry";
            carried.iter().for_each(|l| text += &format!(" {l}"));
        }
        if let Some(Room { leaders, spare }) = room {
            text += "; room";
            leaders.iter().for_each(|list| text += &format!(" {}", self.level(*list)));
            text += if *spare { " spare" } else { "" };
        }
        text
    }

    fn point(&self, n: usize, point: &Point) -> String {
        let Point { sequence, leaders, followers, beside, shape, edges } = point;
        let name = |a: AccessId| self.access(a);
        let mut text = format!("point {n}: {} {}", SHAPES.word(*shape), sequence.show(&name));
        for (word, lists) in [("lead", leaders), ("follow", followers)].into_iter().filter(|(_, l)| !l.is_empty()) {
            text += &format!("; {word}{}", self.all(lists));
        }
        if !beside.lists().is_empty() {
            text += &format!("; beside {}", beside.show(&name));
        }
        edges.iter().for_each(|(a, to)| text += &format!("; without {} {to}", self.access(*a)));
        text
    }

    /// The text of a step, the nth of its siblings.
    fn step(&self, n: usize, step: &Step) -> String {
        match step {
            Step::Statement(statement) => self.statement(statement),
            Step::Table(Table { list, by_value, flagged }) => {
                let of = if *by_value { "values" } else { "positions" };
                format!("table {} {of}{}", self.level(*list), if *flagged { " flagged" } else { "" })
            }
            Step::Marks(Marks { list, by }) => {
                let by = by.map(|v| format!(" {}", self.var(v))).unwrap_or_default();
                format!("marks {}{by}", self.level(*list))
            }
            Step::Directory(Directory(a)) => format!("directory {}", self.access(*a)),
            Step::Pass(pass) => format!("pass {}", PASSES.word(*pass)),
            Step::Forall(Forall(v)) => format!("forall {}", self.var(*v)),
            Step::Blocks(Blocks(a)) => format!("blocks {}", self.access(*a)),
            Step::Finger(Finger { list, through }) => {
                let through: Vec<&str> = through.iter().map(|v| self.var(*v)).collect();
                format!("finger {} {}", self.level(*list), through.join(" "))
            }
            Step::Spread(Spread(list)) => format!("spread {}", self.level(*list)),
            Step::Leap(Leap { far, near }) => format!("leap {} {}", self.access(*far), self.access(*near)),
            Step::Choices(choices) => format!("choices {}", CHOICES.word(*choices)),
            Step::Cut(cut) => format!("cut {}", CUTS.word(*cut)),
            Step::Range(Range) => "range".to_string(),
            Step::Fiber(Fiber { level, looplet }) => format!("fiber {} {looplet}", self.level(*level)),
            Step::Point(point) => self.point(n, point),
            Step::Walk(Walk { point, how }) => format!("walk {point} {}", HOWS.word(*how)),
            Step::Stepped(Stepped { accesses, by }) => {
                let by = match by {
                    By::Search => "search".to_string(),
                    By::Presence(a) => format!("presence {}", self.access(*a)),
                    By::Block => "block".to_string(),
                    By::Piece(switches) => format!("piece {switches}"),
                };
                format!("stepped{} by {by}", self.all(accesses))
            }
            Step::Arm(Arm(all)) => format!("arm{}", self.all(all)),
            Step::Seek(Seek { level, by }) => format!("seek {} {}", self.level(*level), SOUGHT.word(*by)),
        }
    }

    fn nodes(&self, nodes: &[Node], depth: usize, text: &mut String) {
        let mut points = 0;
        for Node { step, inside } in nodes {
            let own = Statement::of(step).map(|statement| Names::of(self.program, Some(statement.target)));
            let names = own.as_ref().unwrap_or(self);
            writeln!(text, "{}{}", "  ".repeat(depth), names.step(points, step)).expect("strings take everything");
            points += matches!(step, Step::Point(_)) as usize;
            names.nodes(inside, depth + 1, text);
        }
    }
}

/// A name distinct from the others: the nth of equal names has `'n` behind it.
fn unlike<'n>(name: String, others: impl Iterator<Item = &'n String>) -> String {
    let alike = others.filter(|other| other.split('\'').next() == Some(&name)).count();
    if alike == 0 { name } else { format!("{name}'{}", alike + 1) }
}

impl Plan {
    /// The plan as text, with the names of its program.
    pub fn show(&self, program: &Program) -> String {
        let mut text = String::new();
        Names::of(program, None).nodes(&self.steps, 0, &mut text);
        text
    }
}

/// The distinct words of a kind of step.
pub(super) struct Words<T: 'static>(&'static [(T, &'static str)]);

impl<T: Copy + PartialEq> Words<T> {
    fn word(&self, of: T) -> &'static str {
        self.0.iter().find(|(it, _)| *it == of).map_or("?", |(_, word)| word)
    }

    /// The step with this word.
    pub fn read(&self, word: &str) -> Option<T> {
        self.0.iter().find(|(_, w)| *w == word).map(|(it, _)| *it)
    }
}

pub(super) const PASSES: Words<Pass> = Words(&[
    (Pass::Condition, "condition"),
    (Pass::Counting, "counting"),
    (Pass::Bounding, "bounding"),
    (Pass::Short, "short"),
    (Pass::Leaping, "leaping"),
    (Pass::Sifting, "sifting"),
    (Pass::Gapless, "gapless"),
]);

pub(super) const CHOICES: Words<Choices> = Words(&[
    (Choices::Split, "split"),
    (Choices::Asked, "asked"),
    (Choices::Around, "around"),
    (Choices::Everywhere, "everywhere"),
]);

pub(super) const CUTS: Words<Cut> = Words(&[
    (Cut::Choice, "choice"),
    (Cut::Comparison, "comparison"),
    (Cut::Phases, "phases"),
    (Cut::Hull, "hull"),
    (Cut::Tested, "tested"),
    (Cut::Whole, "whole"),
]);

pub(super) const SHAPES: Words<Shape> = Words(&[
    (Shape::Nothing, "nothing"),
    (Shape::Dense, "dense"),
    (Shape::Each, "each"),
    (Shape::Intersect, "intersect"),
    (Shape::Tree, "tree"),
    (Shape::Wide, "wide"),
]);

pub(super) const HOWS: Words<How> = Words(&[
    (How::Nothing, "nothing"),
    (How::Every, "every"),
    (How::Constant, "constant"),
    (How::Gaps, "gaps"),
    (How::CountedGaps, "counted"),
    (How::Between, "between"),
    (How::Each, "each"),
    (How::Sift, "sift"),
    (How::Gapless, "gapless"),
    (How::Decided, "decided"),
    (How::Lanes, "lanes"),
    (How::Tentative, "tentative"),
    (How::Leap, "leap"),
    (How::Flat, "flat"),
    (How::Meet, "meet"),
    (How::Tree, "tree"),
    (How::FlatTree, "flattree"),
    (How::Wide, "wide"),
]);

pub(super) const SOUGHT: Words<Sought> = Words(&[
    (Sought::Flag, "flag"),
    (Sought::Locate, "locate"),
    (Sought::Piece, "piece"),
    (Sought::Table, "table"),
    (Sought::Hash, "hash"),
    (Sought::Directory, "directory"),
    (Sought::Search, "search"),
]);
