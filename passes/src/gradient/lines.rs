//! What is written, in order: statements and blocks of the original as far as they are needed, and those of the gradient.

use super::draft::Draft;
use super::expr::read;
use super::forward;
use super::pull::{Part, set};
use super::text::{Parts, short};
use super::turns::{Loop, Made, statements};
use super::versions::{self, Piece, Version};
use fiberloom_core::notation::syntax::{self, Item};
use fiberloom_core::notation::typed::{Expr, Kind, Program, Statement, TensorId};
use fiberloom_core::notation::{Span, spell};
use rustc_hash::{FxHashMap, FxHashSet};

/// A statement, as the user wrote it if it is the same, or a block.
pub(super) enum Line<'s> {
    One(Statement, Option<&'s syntax::Statement>),
    Block(syntax::Turns, Vec<Line<'s>>),
}

impl<'s> Line<'s> {
    /// It as syntax.
    pub(super) fn item(&self, program: &Program) -> Item {
        match self {
            Line::One(s, written) => {
                Item::Statement(written.map_or_else(|| spell::statement(program, &short(s)), Clone::clone))
            }
            Line::Block(turns, lines) => {
                let body = lines.iter().map(|line| line.item(program)).collect();
                Item::Repeat(syntax::Repeat { turns: turns.clone(), body, span: Span::default() })
            }
        }
    }

    /// Its statements, those of blocks too.
    pub(super) fn statements(&self) -> Vec<(Statement, Option<&'s syntax::Statement>)> {
        match self {
            Line::One(s, written) => vec![(s.clone(), *written)],
            Line::Block(_, lines) => lines.iter().flat_map(Line::statements).collect(),
        }
    }
}

impl Parts<'_> {
    /// Pieces, as far as they are needed, and then what was made of them.
    pub(super) fn lines<'p>(
        &'p self,
        draft: &mut Draft,
        (pieces, made): (&'p [Piece<'p>], &'p [Made]),
        needed: &FxHashSet<TensorId>,
        lines: &mut Vec<Line<'p>>,
    ) {
        for (n, piece) in pieces.iter().enumerate() {
            match piece {
                Piece::One(version) => {
                    if let Some(before) = version.before.filter(|_| needed.contains(&version.statement.tensor)) {
                        let later = (&pieces[n + 1..], made);
                        lines.extend(self.begun(draft, (version, before), later, needed).map(|s| Line::One(s, None)));
                    }
                    lines.extend(version.parts.iter().map(|part| Line::One(part.statement.clone(), None)));
                    if needed.contains(&version.statement.tensor) {
                        lines.push(self.line(&draft.program, version));
                    }
                }
                Piece::Loop(block) => {
                    let begin = block.begin.iter().filter(|s| needed.contains(&s.tensor));
                    lines.extend(begin.map(|s| Line::One(s.clone(), None)));
                    let body = self.written(&block.body, needed);
                    lines.extend((!body.is_empty()).then(|| Line::Block(block.turns.clone(), body)));
                }
            }
        }
        for made in made {
            match made {
                Made::One(s) => lines.push(Line::One((**s).clone(), None)),
                Made::Back(counter) => {
                    let Some(block) = found(&self.pieces, *counter) else { continue };
                    let back = block.back.iter().filter(|s| needed.contains(&s.tensor));
                    let mut body: Vec<Line> = back.map(|s| Line::One(s.clone(), None)).collect();
                    self.lines(draft, (&block.turn, &block.made), needed, &mut body);
                    lines.extend((!body.is_empty()).then(|| Line::Block(block.turns.clone(), body)));
                }
            }
        }
    }

    /// A statement of the original, as it is written there if it is the same.
    fn line<'p>(&self, program: &Program, version: &'p Version) -> Line<'p> {
        let original = &program.statements[version.original];
        let same = names(program, original) == names(program, &version.statement);
        let written = version.written.filter(|_| same && version.parts.is_empty());
        let rhs = version.parts.iter().fold(version.statement.rhs.clone(), |rhs, part| replaced(&rhs, part));
        Line::One(Statement { rhs, ..version.statement.clone() }, written)
    }

    /// Steps of a block, as far as they are needed.
    fn written(&self, steps: &[forward::Written], needed: &FxHashSet<TensorId>) -> Vec<Line<'_>> {
        let steps = steps.iter().filter_map(|step| match step {
            forward::Written::Made(s) => needed.contains(&s.tensor).then(|| Line::One(s.clone(), None)),
            forward::Written::Block(block, inner) => {
                let body = self.written(inner, needed);
                let turns = versions::turns(&self.source.items, block)?.clone();
                (!body.is_empty()).then_some(Line::Block(turns, body))
            }
            forward::Written::Original(_) => None,
        });
        steps.collect()
    }

    /// The tensors that are wanted, or that what is written is computed of.
    pub(super) fn needed(&self) -> FxHashSet<TensorId> {
        let mut known = Uses::default();
        known.pieces(&self.pieces);
        known.made(&self.made);
        let mut open = [self.wanted.clone(), known.written].concat();
        let mut needed = FxHashSet::default();
        while let Some(t) = open.pop() {
            if needed.insert(t) {
                open.extend(known.of.get(&t).into_iter().flatten());
            }
        }
        needed
    }

    /// Lets a version that accumulates, or defines a part, begin as the version before: under its name, unless something else reads that
    /// afterwards; then as a copy.
    fn begun(
        &self,
        draft: &mut Draft,
        (version, before): (&Version, TensorId),
        (pieces, made): (&[Piece], &[Made]),
        needed: &FxHashSet<TensorId>,
    ) -> Option<Statement> {
        let own = version.statement.tensor;
        let mut later = Uses::default();
        later.pieces(pieces);
        later.made(made);
        let back = made.iter().filter_map(|made| if let Made::Back(counter) = made { Some(*counter) } else { None });
        back.filter_map(|counter| found(&self.pieces, counter)).for_each(|block| later.back(block));
        let goes_on = |(t, of): (&TensorId, &Vec<TensorId>)| needed.contains(t) && of.contains(&before);
        if !later.of.iter().any(goes_on) && !self.wanted.contains(&before) {
            draft.program.tensors[own.index()].name = draft.program.tensors[before.index()].name.clone();
            return None;
        }
        let vars = draft.modes(own);
        let ty = draft.program.tensors[own.index()].ty;
        Some(set(own, &vars, read(before, &vars, ty), version.statement.span))
    }
}

/// What statements read, by what they define.
#[derive(Default)]
struct Uses {
    of: FxHashMap<TensorId, Vec<TensorId>>,
    /// What the gradient defines.
    written: Vec<TensorId>,
}

impl Uses {
    fn statement(&mut self, s: &Statement) {
        let reads = self.of.entry(s.tensor).or_default();
        s.accesses(&mut |t, _, _| reads.push(t));
    }

    fn pieces(&mut self, pieces: &[Piece]) {
        for piece in pieces {
            match piece {
                Piece::One(version) => {
                    self.statement(&version.statement);
                    self.of.entry(version.statement.tensor).or_default().extend(version.before);
                    for part in &version.parts {
                        self.statement(&part.statement);
                        self.written.push(part.statement.tensor);
                    }
                }
                Piece::Loop(block) => {
                    block.begin.iter().chain(statements(&block.body)).for_each(|s| self.statement(s));
                    self.back(block);
                }
            }
        }
    }

    /// The way back through a block.
    fn back(&mut self, block: &Loop) {
        block.back.iter().for_each(|s| self.statement(s));
        self.pieces(&block.turn);
        self.made(&block.made);
    }

    fn made(&mut self, made: &[Made]) {
        for made in made {
            if let Made::One(s) = made {
                self.statement(s);
                self.written.push(s.tensor);
            }
        }
    }
}

/// The block with this counter.
fn found<'p, 's>(pieces: &'p [Piece<'s>], counter: TensorId) -> Option<&'p Loop<'s>> {
    pieces.iter().find_map(|piece| match piece {
        Piece::Loop(block) if block.counter == counter => Some(&**block),
        Piece::Loop(block) => found(&block.turn, counter),
        Piece::One(_) => None,
    })
}

/// An expression in which a part is read from the tensor that it is now.
fn replaced(e: &Expr, part: &Part) -> Expr {
    if *e == part.of {
        return part.known.clone();
    }
    let Kind::Call(fun, args) = &e.kind else { return e.clone() };
    Expr { kind: Kind::Call(*fun, args.iter().map(|a| replaced(a, part)).collect()), ..e.clone() }
}

/// The names of the tensors of a statement, in order.
fn names<'p>(program: &'p Program, s: &Statement) -> Vec<&'p str> {
    let mut names = vec![];
    s.accesses(&mut |t, _, _| names.push(program.tensors[t.index()].name.as_str()));
    names
}
