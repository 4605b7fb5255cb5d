//! Reads plans as they are printed.
//!
//! A plan is of a program: tensors, accesses and nests are the program's. Symbols have the names with which they are printed; the names
//! of extents are known beforehand. What an operation defines may be used by all behind it: [`Plan::check`] says where it is seen.

use super::parts::read_behind;
use super::print::Given;
use super::{Arrays, Assembly, Block, Body, Level, Marks, Op, Plan, Room, Split, Statement, Step, Table, Turns};
use crate::choose::Facts;
use crate::choose::symbol::{Array, Meaning, Name, Sym};
use fiberloom_core::algebra::{Op as Fn, Type, Value};
use fiberloom_core::notation::concrete::{self, AccessId, Carried, Index, Nest, Place};
use fiberloom_core::notation::typed::{FnId, Fun};
use fiberloom_core::text::{Operators, Read, Reading, Text, Token};
use rustc_hash::FxHashMap;

impl Plan {
    /// Reads a plan of a program.
    ///
    /// # Errors
    /// It cannot be read, or the checker refuses it.
    pub(crate) fn read(text: &str, facts: &Facts) -> Result<Plan, Refused> {
        let mut given = Given::default();
        let extents = facts.symbols.all_named();
        let symbols = extents.iter().map(|s| (given.give(&facts.symbols, *s), *s)).collect();
        let tokens = Text::of(text).map_err(|what| Refused { line: 0, what })?;
        let text = tokens.without_comments();
        let mut reader = Reader { text, facts, symbols, names: FxHashMap::default(), lines: vec![], at: 1 };
        let steps = reader.steps(&Token::End).map_err(|what| Refused { line: reader.at, what })?;
        let plan = Plan::new(steps);
        plan.check(facts, &extents).map_err(|wrong| {
            let line = wrong.op.checked_sub(1).map_or(0, |op| reader.lines[op]);
            Refused { line, what: wrong.what }
        })?;
        Ok(plan)
    }
}

/// Why the text of a plan is refused.
pub struct Refused {
    /// The line, from 1; 0 if it is none in particular.
    pub line: usize,
    /// What is wrong.
    pub what: String,
}

/// A text that is read, and what its names stand for.
pub(super) struct Reader<'t> {
    text: Text<'t>,
    facts: &'t Facts<'t>,
    symbols: FxHashMap<String, Sym>,
    names: FxHashMap<&'t str, Name>,
    /// The lines on which steps and operations begin.
    lines: Vec<usize>,
    /// The line on which the last step or operation begins.
    at: usize,
}

impl<'t> Reading<'t> for Reader<'t> {
    fn text(&self) -> &Text<'t> {
        &self.text
    }

    fn text_mut(&mut self) -> &mut Text<'t> {
        &mut self.text
    }
}

impl<'t> Reader<'t> {
    /// Whether a word or a sign stands here.
    pub fn is_at(&self, word: &str) -> bool {
        matches!(self.peek(), Token::Word(found) | Token::Sign(found) if found == word)
    }

    /// Takes a word or a sign, if it stands here.
    pub fn found(&mut self, word: &str) -> bool {
        let found = self.is_at(word);
        if found {
            self.skip();
        }
        found
    }

    /// Takes a word or a sign.
    pub fn the(&mut self, word: &str) -> Read<()> {
        if self.found(word) { Ok(()) } else { Err(format!("expected `{word}`, found {}", self.peek())) }
    }

    /// The one of these that has the name that stands here.
    pub fn one_of<T: Copy, const N: usize>(
        &mut self,
        what: &str,
        all: [T; N],
        name: impl std::ops::Fn(&T) -> &'static str,
    ) -> Read<T> {
        let word = self.word()?;
        let found = all.iter().find(|x| name(x) == word);
        found.copied().ok_or_else(|| {
            let names: Vec<_> = all.iter().map(&name).collect();
            format!("`{word}` is no {what}: {}", names.join(", "))
        })
    }

    /// A symbol that is defined: its name, and its type if it is not an integer. `_` is a symbol that is known already.
    pub fn define(&mut self) -> Read<Sym> {
        let own = self.word()?;
        if own == "_" {
            return Ok(Sym::ZERO);
        }
        let name = self.distinct(own)?;
        let ty = if self.eat(Token::Sign(":")) { self.ty()? } else { Type::I64 };
        let s = self.facts.symbols.held(own, ty);
        self.symbols.insert(name, s);
        Ok(s)
    }

    /// A symbol's name: its own, and perhaps a number.
    fn distinct(&mut self, own: &str) -> Read<String> {
        if self.eat(Token::Sign(".")) { Ok(format!("{own}.{}", self.number::<usize>()?)) } else { Ok(own.to_string()) }
    }

    /// A name that is defined.
    pub fn new_name(&mut self) -> Read<Name> {
        let (word, name) = (self.word()?, self.facts.symbols.name());
        self.names.insert(word, name);
        Ok(name)
    }

    /// A name that is used.
    pub fn name(&mut self) -> Read<Name> {
        let word = self.word()?;
        self.names.get(word).copied().ok_or_else(|| format!("nothing is called `{word}`"))
    }

    /// A tensor of the program.
    pub fn place(&mut self) -> Read<Place> {
        let word = self.word()?;
        let found = self.facts.program.tensors.iter().position(|tensor| tensor.name == word);
        found.map(Place).ok_or_else(|| format!("there is no tensor `{word}`"))
    }

    /// An access of the program: the tensor's name and the access's number.
    pub fn access(&mut self) -> Read<AccessId> {
        let (place, number) = (self.place()?, self.numbered()?);
        let a = number.parse().ok().filter(|a| *a < self.facts.program.accesses.len()).map(AccessId);
        self.accessed(a, place, number)
    }

    /// A level of an access.
    pub fn level(&mut self) -> Read<Level> {
        let (place, number) = (self.place()?, self.numbered()?);
        let parts = number.split_once('.').and_then(|(a, level)| Some((a.parse().ok()?, level.parse().ok()?)));
        let program = self.facts.program;
        let found = parts.filter(|(a, _)| *a < program.accesses.len()).map(|(a, level)| (AccessId(a), level));
        let rank = program.tensors[place.0].format.rank();
        let (a, level) = found.filter(|(_, level)| *level < rank).unzip();
        self.accessed(a, place, number).map(|a| (a, level.unwrap_or_default()))
    }

    /// The number behind an access's sign.
    fn numbered(&mut self) -> Read<&'t str> {
        self.sign("@")?;
        let token = self.peek();
        self.skip();
        if let Token::Number(number) = token { Ok(number) } else { Err(format!("expected a number, found {token}")) }
    }

    fn accessed(&self, a: Option<AccessId>, place: Place, number: &str) -> Read<AccessId> {
        let program = self.facts.program;
        let found = a.filter(|a| program.accesses[a.0].tensor == place);
        found.ok_or_else(|| format!("`{}` has no access or level {number}", program.tensors[place.0].name))
    }

    /// A function: a built-in one, or one of the program.
    pub fn fun(&mut self) -> Read<Fun> {
        let token = self.peek();
        self.skip();
        let (Token::Word(word) | Token::Sign(word)) = token else {
            return Err(format!("expected a function, found {token}"));
        };
        let built = Fn::all().find(|op| op.name() == word).map(Fun::Op);
        let own = || self.facts.program.functions.iter().position(|f| f.name == word);
        let own = || own().map(|f| Fun::User(FnId(f as u32)));
        built.or_else(own).ok_or_else(|| format!("there is no function `{word}`"))
    }

    /// The nest that fills a tensor of the program.
    pub fn nest(&mut self) -> Read<Nest> {
        let place = self.place()?;
        let found = nest_of(&self.facts.program.steps, place);
        found.ok_or_else(|| format!("no statement defines `{}`", self.facts.program.tensors[place.0].name))
    }

    /// An index variable of the program: its name and its number.
    fn variable(&mut self) -> Read<Index> {
        let (word, number) = (self.word()?, self.numbered()?);
        let vars = &self.facts.program.vars;
        let found = number.parse::<usize>().ok().filter(|v| vars.get(*v).is_some_and(|v| v.name == word));
        found.map(Index).ok_or_else(|| format!("there is no index variable `{word}` with the number {number}"))
    }

    /// An array of a tensor, by the name that loops have for it.
    fn array(&mut self) -> Read<Array> {
        let word = self.word()?;
        let mut tensors = self.facts.program.tensors.iter().enumerate();
        let found = tensors.find_map(|(place, tensor)| {
            let rest = word.strip_prefix(&tensor.name)?;
            if rest == "_vals" {
                return Some(Array::Values(Place(place)));
            }
            let kinds = tensor.format.levels.iter().enumerate();
            kinds
                .flat_map(|(level, kind)| kind.arrays().iter().map(move |(name, holds)| (level, name, *holds)))
                .find_map(|(level, name, holds)| {
                    (rest == format!("{level}_{name}")).then_some(Array::Level(Place(place), level, holds))
                })
        });
        found.ok_or_else(|| format!("there is no array `{word}`"))
    }

    /// Steps, up to a token.
    fn steps(&mut self, end: &Token) -> Read<Vec<Step>> {
        let mut steps = vec![];
        while self.peek() != *end {
            steps.push(self.step()?);
        }
        Ok(steps)
    }

    fn step(&mut self) -> Read<Step> {
        self.at = self.line();
        self.lines.push(self.at);
        match self.word()? {
            "result" if self.ahead(1) == Token::Word("is") => {
                let target = self.place()?;
                self.the("is")?;
                Ok(Step::Whole { target, operand: self.place()? })
            }
            "result" => self.statement().map(|of| Step::Nest(Box::new(of))),
            "repeat" => {
                let count = self.expr()?;
                self.repeated(Turns::Count(count))
            }
            "while" => {
                let turns = Turns::While { go: self.define()?, condition: self.block()? };
                self.repeated(turns)
            }
            other => Err(format!("expected `result`, `repeat` or `while`, found `{other}`")),
        }
    }

    fn repeated(&mut self, turns: Turns) -> Read<Step> {
        self.the("do")?;
        self.sign("{")?;
        let (mut steps, mut carried) = (vec![], vec![]);
        while !self.found("}") {
            if self.found("next") {
                let tensor = self.place()?;
                self.the("=")?;
                carried.push(Carried { tensor, last: self.place()? });
            } else {
                steps.push(self.step()?);
            }
        }
        Ok(Step::Repeat { turns, steps, carried })
    }

    fn statement(&mut self) -> Read<Statement> {
        let nest = self.nest()?;
        let (output, root, assembly) = (self.new_name()?, self.new_name()?, self.assembly()?);
        let (mut tables, mut marks, mut bucket_indices) = (vec![], vec![], vec![]);
        loop {
            if self.found("table") {
                let list = self.level()?;
                let by_value =
                    self.one_of("kind of table", [true, false], |v| if *v { "values" } else { "positions" })?;
                tables.push(Table { list, by_value, flagged: self.found("flagged") });
            } else if self.found("marks") {
                let list = self.level()?;
                marks.push(Marks { list, by: if self.found("by") { Some(self.variable()?) } else { None } });
            } else if self.found("index") {
                let a = self.access()?;
                let list = read_behind(&["of"], self)?;
                bucket_indices.push((a, list, read_behind(&["most"], self)?));
            } else {
                break;
            }
        }
        let body = self.body()?;
        Ok(Statement { nest, tables, marks, bucket_indices, assembly, output, root, body })
    }

    fn body(&mut self) -> Read<Body> {
        if self.found("count") {
            let count = self.block()?;
            self.the("place")?;
            return Ok(Body::Counted([count, self.block()?]));
        }
        if self.found("split") {
            let of = self.access()?;
            let split = Split { of, rows: read_behind(&["rows"], self)?, columns: read_behind(&["columns"], self)? };
            let otherwise = if self.found("else") { Some(self.block()?) } else { None };
            return Ok(Body::Split { split, otherwise });
        }
        let mut ops = vec![];
        while !matches!(
            self.peek(),
            Token::End | Token::Sign("}") | Token::Word("result" | "repeat" | "while" | "next")
        ) {
            ops.push(self.op()?);
        }
        Ok(Body::Loops(Block(ops)))
    }

    /// The assembly of a result's arrays.
    pub fn assembly(&mut self) -> Read<Assembly> {
        self.sign(":")?;
        let arrays = match self.word()? {
            "own" => Arrays::Own,
            "counted" => Arrays::Counted,
            "taken" => Arrays::Taken(self.place()?),
            "levels" => Arrays::Levels(self.access()?),
            "entries" => Arrays::Entries(self.access()?),
            other => return Err(format!("`{other}` does not say whose arrays these are")),
        };
        let filled = self.found("filled");
        let mut carried = vec![];
        while self.found("carry") {
            carried.push(self.number()?);
        }
        let room = if self.found("room") { Some(self.room()?) } else { None };
        Ok(Assembly { arrays, filled, carried, room })
    }

    fn room(&mut self) -> Read<Room> {
        let mut leaders = vec![];
        while matches!(self.peek(), Token::Word(_)) && self.ahead(1) == Token::Sign("@") {
            leaders.push(self.level()?);
        }
        Ok(Room { leaders, spare: self.found("spare") })
    }

    fn op(&mut self) -> Read<Op> {
        self.at = self.line();
        self.lines.push(self.at);
        Op::read(self)
    }

    /// Operations in braces.
    pub fn block(&mut self) -> Read<Block> {
        self.sign("{")?;
        let mut ops = vec![];
        while !self.found("}") {
            ops.push(self.op()?);
        }
        Ok(Block(ops))
    }
}

/// The nest among these steps, or inside of them, that fills a tensor.
pub(super) fn nest_of(steps: &[concrete::Step], place: Place) -> Option<Nest> {
    steps.iter().find_map(|step| match step {
        concrete::Step::Repeat(block) => nest_of(&block.steps, place),
        concrete::Step::Nest(nest) => {
            let mut found = (nest.target.tensor == place).then(|| nest.clone());
            nest.rhs
                .inside(&mut |inner| found = found.take().or((inner.target.tensor == place).then(|| inner.clone())));
            found
        }
    })
}

impl<'t> Operators<'t> for Reader<'t> {
    type Term = Sym;

    fn literal(&mut self, value: Value) -> Sym {
        self.facts.symbols.value(value)
    }

    fn apply(&mut self, op: Fn, args: Vec<Sym>) -> Read<Sym> {
        Ok(self.facts.symbols.op(op, args))
    }

    fn named(&mut self, word: &'t str) -> Read<Sym> {
        match self.ahead(1) {
            Token::Sign("[") => {
                let array = self.array()?;
                self.sign("[")?;
                let at = self.expr()?;
                self.sign("]")?;
                Ok(self.facts.symbols.load(array, at))
            }
            Token::Sign("(") if word == "capacity" => {
                self.skip();
                self.sign("(")?;
                let array = self.array()?;
                self.sign(")")?;
                Ok(self.facts.symbols.of(Meaning::Length(array)))
            }
            Token::Sign("(") => self.call(word),
            Token::Sign(".") => {
                self.skip();
                let name = self.distinct(word)?;
                self.symbols.get(&name).copied().ok_or_else(|| format!("there is no `{name}` before this line"))
            }
            _ => match self.symbols.get(word).copied() {
                Some(s) => {
                    self.skip();
                    Ok(s)
                }
                None => self.constant_term(),
            },
        }
    }
}
