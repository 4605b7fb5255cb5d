//! Prints a plan as text: one operation a line, with the operations inside of it indented.

use super::parts::{Part, Visitor};
use super::{Arrays, Assembly, Block, Body, Level, Marks, Op, Plan, Room, Split, Statement, Step, Table, Turns};
use crate::choose::symbol::{Array, Meaning, Name, Sym, Symbols};
use fiberloom_core::algebra::{Op as Fn, Type};
use fiberloom_core::notation::concrete::{AccessId, Carried, Place, Program};
use fiberloom_core::notation::typed::Fun;
use fiberloom_core::text::{Printing, literal};
use rustc_hash::{FxHashMap, FxHashSet};
use std::fmt::{self, Write};

impl Plan {
    /// The plan as text, with the names of a program.
    pub fn show(&self, program: &Program) -> String {
        let mut printer = Printer {
            plan: self,
            program,
            symbols: FxHashMap::default(),
            given: Given::default(),
            names: FxHashMap::default(),
            depth: 0,
            hinted: false,
            out: String::new(),
        };
        self.extents.iter().for_each(|s| drop(printer.give(*s)));
        self.steps.iter().for_each(|step| printer.step(step));
        printer.out
    }
}

/// The names that are given to symbols.
#[derive(Default)]
pub(super) struct Given {
    taken: FxHashSet<String>,
}

impl Given {
    /// A distinct name for a symbol: its own, with a number behind a dot if it is not the first of that name.
    pub fn give(&mut self, symbols: &Symbols, s: Sym) -> String {
        let named = symbols.named(s).map_or("value".to_string(), |(name, _)| name);
        // What begins with `_` is the name of something else.
        let named = if named.starts_with('_') { format!("v{named}") } else { named };
        let numbered = (2..).map(|n| format!("{named}.{n}"));
        let name = std::iter::once(named.clone()).chain(numbered).find(|name| !self.taken.contains(name));
        let name = name.expect("there are names enough");
        self.taken.insert(name.clone());
        name
    }
}

struct Printer<'p> {
    plan: &'p Plan,
    program: &'p Program,
    /// The printed names of symbols.
    symbols: FxHashMap<Sym, String>,
    given: Given,
    /// The numbers of names, in the order in which they are defined.
    names: FxHashMap<Name, usize>,
    depth: usize,
    /// Whether something is asked of a loop around.
    hinted: bool,
    out: String,
}

impl Printer<'_> {
    /// A name for a symbol.
    fn give(&mut self, s: Sym) -> String {
        let name = self.given.give(&self.plan.symbols, s);
        self.symbols.insert(s, name.clone());
        name
    }

    fn line(&mut self) {
        while self.out.ends_with(' ') {
            self.out.pop();
        }
        if !self.out.is_empty() {
            self.out.push('\n');
        }
        self.out.push_str(&"  ".repeat(self.depth));
    }

    fn inside(&mut self, f: impl FnOnce(&mut Self)) {
        self.depth += 1;
        f(self);
        self.depth -= 1;
    }

    fn step(&mut self, step: &Step) {
        self.line();
        match step {
            Step::Whole { target, operand } => {
                self.words(&["result"]);
                self.place(*target);
                self.words(&["is"]);
                self.place(*operand);
            }
            Step::Nest(of) => self.statement(of),
            Step::Repeat { turns, steps, carried } => {
                match turns {
                    Turns::Count(count) => {
                        self.words(&["repeat"]);
                        self.value(*count);
                    }
                    Turns::While { go, condition } => {
                        self.words(&["while"]);
                        self.define(*go);
                        self.block(condition);
                    }
                }
                self.words(&["do", "{"]);
                self.inside(|p| {
                    steps.iter().for_each(|step| p.step(step));
                    for Carried { tensor, last } in carried {
                        p.line();
                        p.word("next");
                        p.place(*tensor);
                        p.word("=");
                        p.place(*last);
                    }
                });
                self.line();
                self.word("}");
            }
        }
        if self.depth == 0 {
            self.line();
        }
    }

    fn words(&mut self, words: &[&str]) {
        words.iter().for_each(|word| self.word(word));
    }

    fn statement(&mut self, of: &Statement) {
        let Statement { nest, tables, marks, bucket_indices, assembly, output, root, body } = of;
        self.words(&["result"]);
        self.place(nest.target.tensor);
        self.name(*output);
        self.name(*root);
        self.assembly(assembly);
        self.inside(|p| {
            for Table { list, by_value, flagged } in tables {
                p.line();
                p.words(&["table"]);
                p.level(*list);
                p.words(&[if *by_value { "values" } else { "positions" }]);
                p.words(if *flagged { &["flagged"] } else { &[] });
            }
            for Marks { list, by } in marks {
                p.line();
                p.words(&["marks"]);
                p.level(*list);
                by.iter().for_each(|v| p.words(&["by", &format!("{}@{}", p.program.vars[v.0].name, v.0)]));
            }
            for (a, list, most) in bucket_indices {
                p.line();
                p.words(&["index"]);
                p.access(*a);
                p.word("of");
                list.show(p);
                p.word("most");
                p.value(*most);
            }
        });
        match body {
            Body::Loops(block) => self.ops(block),
            Body::Counted([count, place]) => {
                self.named_block("count", count);
                self.named_block("place", place);
            }
            Body::Split { split: Split { of, rows, columns }, otherwise } => {
                self.inside(|p| {
                    p.line();
                    p.words(&["split"]);
                    p.access(*of);
                    p.words(&["rows"]);
                    p.value(*rows);
                    p.words(&["columns"]);
                    p.value(*columns);
                });
                otherwise.iter().for_each(|block| self.named_block("else", block));
            }
        }
    }

    fn named_block(&mut self, name: &str, block: &Block) {
        self.inside(|p| {
            p.line();
            p.word(name);
            p.block(block);
        });
    }

    fn ops(&mut self, block: &Block) {
        self.inside(|p| p.lines(block));
    }

    /// Operations line by line. A range of which nothing is asked is its operations, unless something is asked of a range around it; one
    /// without operations is nothing.
    fn lines(&mut self, Block(ops): &Block) {
        for op in ops {
            match op {
                Op::Range { body, .. } if body.is_empty() => {}
                Op::Range { hints: None, body, .. } if !self.hinted => self.lines(body),
                Op::Range { hints, .. } => {
                    let around = std::mem::replace(&mut self.hinted, hints.is_some());
                    self.line();
                    op.show(self);
                    self.hinted = around;
                }
                _ => {
                    self.line();
                    op.show(self);
                }
            }
        }
    }

    /// The name of an array, as loops have it.
    fn array(&self, array: Array) -> String {
        match array {
            Array::Values(place) => format!("{}_vals", self.program.tensors[place.0].name),
            Array::Level(place, level, holds) => {
                let tensor = &self.program.tensors[place.0];
                let arrays = tensor.format.levels[level].arrays();
                let name = arrays.iter().find(|(_, h)| *h == holds).map_or("array", |(name, _)| name);
                format!("{}{level}_{name}", tensor.name)
            }
        }
    }
}

/// The signs before which, and behind which, there is no blank.
const CLOSE: [&str; 4] = [",", ")", "]", ":"];
const OPEN: [char; 3] = ['(', '[', ':'];

impl Visitor for Printer<'_> {
    fn word(&mut self, word: &str) {
        if CLOSE.contains(&word) || word.starts_with(':') || matches!(word, "(" | "[") {
            while self.out.ends_with(' ') && !matches!(word, "(") {
                self.out.pop();
            }
        }
        self.out.push_str(word);
        if !self.out.ends_with(OPEN) {
            self.out.push(' ');
        }
    }

    fn define(&mut self, s: Sym) {
        let Some((_, ty)) = self.plan.symbols.named(s) else { return self.word("_") };
        let name = self.give(s);
        if ty == Type::I64 { self.word(&name) } else { self.word(&format!("{name}: {ty}")) }
    }

    fn value(&mut self, s: Sym) {
        self.expr(&s, 0).expect("strings take everything");
        self.out.push(' ');
    }

    fn name(&mut self, n: Name) {
        let number = self.names.len();
        self.names.insert(n, number);
        self.named(n);
    }

    fn named(&mut self, n: Name) {
        let number = self.names.get(&n).copied();
        self.word(&number.map_or("_?".to_string(), |n| format!("_{n}")));
    }

    fn access(&mut self, a: AccessId) {
        self.word(&format!("{}@{}", self.program.tensor(a).name, a.0));
    }

    fn place(&mut self, place: Place) {
        self.word(&self.program.tensors[place.0].name);
    }

    fn fun(&mut self, fun: Fun) {
        match fun {
            Fun::Op(op) => self.word(op.name()),
            Fun::User(f) => self.word(&self.program.functions[f.index()].name),
        }
    }

    fn level(&mut self, (a, level): Level) {
        self.word(&format!("{}@{}.{level}", self.program.tensor(a).name, a.0));
    }

    fn assembly(&mut self, Assembly { arrays, filled, carried, room }: &Assembly) {
        self.word(":");
        self.out.push(' ');
        match arrays {
            Arrays::Own => self.word("own"),
            Arrays::Counted => self.word("counted"),
            Arrays::Taken(place) => {
                self.word("taken");
                self.place(*place);
            }
            Arrays::Levels(a) => {
                self.word("levels");
                self.access(*a);
            }
            Arrays::Entries(a) => {
                self.word("entries");
                self.access(*a);
            }
        }
        if *filled {
            self.word("filled");
        }
        carried.iter().for_each(|l| self.words(&["carry", &l.to_string()]));
        if let Some(Room { leaders, spare }) = room {
            self.word("room");
            leaders.iter().for_each(|list| self.level(*list));
            self.words(if *spare { &["spare"] } else { &[] });
        }
    }

    fn block(&mut self, block: &Block) {
        self.word("{");
        self.ops(block);
        self.line();
        self.word("}");
    }

    fn scope(&mut self, define: &mut dyn FnMut(&mut dyn Visitor), block: &Block) {
        define(self);
        self.block(block);
    }
}

impl Printing for Printer<'_> {
    type Expr = Sym;

    fn out(&mut self) -> &mut dyn Write {
        &mut self.out
    }

    fn is_literal(_: &Sym) -> bool {
        false
    }

    fn expr(&mut self, s: &Sym, least: u8) -> fmt::Result {
        match self.plan.symbols.meaning(*s) {
            Meaning::Constant(x) => write!(self.out, "{}", literal(x)),
            Meaning::Held(_) | Meaning::Read(_) => {
                let name = self.symbols.get(s).map_or("undefined", String::as_str);
                write!(self.out, "{name}")
            }
            Meaning::Load(array, at) => {
                write!(self.out, "{}[", self.array(array))?;
                self.expr(&at, 0)?;
                write!(self.out, "]")
            }
            Meaning::Length(array) => write!(self.out, "capacity({})", self.array(array)),
            Meaning::Of(Fn::Select, args) => self.list("select", &args.iter().collect::<Vec<_>>()),
            Meaning::Of(op, args) => self.applied(op, &args.iter().collect::<Vec<_>>(), least),
        }
    }
}
