//! The parts of operations: symbols and names that an operation defines or uses, levels, blocks, words. A part is shown to a visitor, and
//! read from the text that a printer makes of it.

use super::read::Reader;
use super::{
    Assembly, Block, BucketIndex, Counted, Driver, Entry, Flags, Found, Gap, Kind, Leaping, Level, List, Made, Shown,
    There, View, Visit, Work,
};
use crate::choose::cut::Weight;
use crate::choose::scope::Run;
use crate::choose::symbol::{Name, Sym};
use crate::stream::Shift;
use crate::{Claim, Deal, Failure, Hints};
use fiberloom_core::iteration::Sequence;
use fiberloom_core::notation::concrete::{AccessId, Place};
use fiberloom_core::notation::typed::Fun;
use fiberloom_core::text::{Operators, Read, Reading, Token};

/// Who is shown operations: a printer, a checker.
pub(super) trait Visitor {
    /// A word of the text.
    fn word(&mut self, word: &str);
    /// A symbol that is defined.
    fn define(&mut self, s: Sym);
    /// A symbol that is used.
    fn value(&mut self, s: Sym);
    /// A name that is defined.
    fn name(&mut self, n: Name);
    /// A name that is used.
    fn named(&mut self, n: Name);
    /// An access.
    fn access(&mut self, a: AccessId);
    /// A tensor.
    fn place(&mut self, place: Place);
    /// A function.
    fn fun(&mut self, fun: Fun);
    /// A level of an access.
    fn level(&mut self, level: Level) {
        self.access(level.0);
        self.word(&format!(":{}", level.1));
    }
    /// The arrays of a result.
    fn assembly(&mut self, assembly: &Assembly);
    /// Operations inside of one.
    fn block(&mut self, block: &Block);
    /// A block that sees what `define` shows, and nothing else does.
    fn scope(&mut self, define: &mut dyn FnMut(&mut dyn Visitor), block: &Block);
}

/// A part of an operation.
pub(super) trait Part: Sized {
    /// Whether it has blocks, which see what the operation defines, and nothing behind the operation does.
    const SCOPE: bool = false;

    /// Shows it to a visitor.
    fn show(&self, v: &mut dyn Visitor);

    /// Reads it.
    fn read(r: &mut Reader) -> Read<Self>;

    /// Whether there is nothing to show.
    fn is_absent(&self) -> bool {
        false
    }

    /// The part that is not shown; `None` if every such part is shown.
    fn absent() -> Option<Self> {
        None
    }

    /// Whether it begins with this token: asked of a part that may be absent, and stands behind no word.
    fn begins(_: Token) -> bool {
        true
    }

    /// Adds its blocks, each with the coordinate that a loop has in it: `at`, unless the part has one of its own.
    fn blocks<'p>(&'p self, _at: Option<Sym>, _all: &mut Vec<Inner<'p>>) {}
}

/// A block of an operation, and the coordinate that the operation has in it if that is a loop.
pub(super) type Inner<'p> = (Option<Sym>, &'p Block);

/// Shows a part behind words, unless there is nothing to show.
pub(super) fn behind(words: &[&str], part: &impl Part, v: &mut dyn Visitor) {
    if !part.is_absent() {
        words.iter().for_each(|word| v.word(word));
        part.show(v);
    }
}

/// Reads a part that is defined, behind words.
pub(super) fn new_behind<T: New>(words: &[&str], r: &mut Reader) -> Read<T> {
    words.iter().try_for_each(|word| r.the(word))?;
    T::read_new(r)
}

/// Reads a part behind words, or the absent one where they do not stand.
pub(super) fn read_behind<T: Part>(words: &[&str], r: &mut Reader) -> Read<T> {
    let is_here = words.first().map_or_else(|| T::begins(r.peek()), |word| r.is_at(word));
    match T::absent() {
        Some(absent) if !is_here => Ok(absent),
        _ => {
            words.iter().try_for_each(|word| r.the(word))?;
            T::read(r)
        }
    }
}

/// A part that an operation defines.
pub(super) trait New: Sized {
    /// Shows it to a visitor.
    fn show_new(&self, v: &mut dyn Visitor);

    /// Reads it.
    fn read_new(r: &mut Reader) -> Read<Self>;
}

impl Part for Sym {
    fn show(&self, v: &mut dyn Visitor) {
        v.value(*self);
    }

    fn read(r: &mut Reader) -> Read<Sym> {
        r.expr()
    }
}

impl New for Sym {
    fn show_new(&self, v: &mut dyn Visitor) {
        v.define(*self);
    }

    fn read_new(r: &mut Reader) -> Read<Sym> {
        r.define()
    }
}

impl Part for Name {
    fn show(&self, v: &mut dyn Visitor) {
        v.named(*self);
    }

    fn read(r: &mut Reader) -> Read<Name> {
        r.name()
    }
}

impl New for Name {
    fn show_new(&self, v: &mut dyn Visitor) {
        v.name(*self);
    }

    fn read_new(r: &mut Reader) -> Read<Name> {
        r.new_name()
    }
}

impl Part for AccessId {
    fn show(&self, v: &mut dyn Visitor) {
        v.access(*self);
    }

    fn read(r: &mut Reader) -> Read<AccessId> {
        r.access()
    }
}

impl Part for Place {
    fn show(&self, v: &mut dyn Visitor) {
        v.place(*self);
    }

    fn read(r: &mut Reader) -> Read<Place> {
        r.place()
    }
}

impl Part for Fun {
    fn show(&self, v: &mut dyn Visitor) {
        v.fun(*self);
    }

    fn read(r: &mut Reader) -> Read<Fun> {
        r.fun()
    }
}

impl Part for Block {
    const SCOPE: bool = true;

    fn show(&self, v: &mut dyn Visitor) {
        v.block(self);
    }

    fn read(r: &mut Reader) -> Read<Block> {
        r.block()
    }

    fn absent() -> Option<Block> {
        Some(Block::default())
    }

    fn begins(token: Token) -> bool {
        token == Token::Sign("{")
    }

    fn is_absent(&self) -> bool {
        self.is_empty()
    }

    fn blocks<'p>(&'p self, at: Option<Sym>, all: &mut Vec<Inner<'p>>) {
        all.push((at, self));
    }
}

/// So many parts as there have to be.
fn exactly<T, const N: usize>(parts: Vec<T>) -> Read<[T; N]> {
    let found = parts.len();
    parts.try_into().map_err(|_| format!("expected {N} parts, found {found}"))
}

/// Parts behind each other, with signs around and between them.
fn all<T>(v: &mut dyn Visitor, parts: &[T], show: impl Fn(&T, &mut dyn Visitor)) {
    v.word("(");
    for (n, part) in parts.iter().enumerate() {
        if n > 0 {
            v.word(",");
        }
        show(part, v);
    }
    v.word(")");
}

impl<T: Part> Part for Vec<T> {
    fn show(&self, v: &mut dyn Visitor) {
        all(v, self, T::show);
    }

    fn read(r: &mut Reader) -> Read<Vec<T>> {
        r.enclosed("(", ")", T::read)
    }

    fn absent() -> Option<Vec<T>> {
        Some(vec![])
    }

    fn begins(token: Token) -> bool {
        token == Token::Sign("(")
    }

    fn is_absent(&self) -> bool {
        self.is_empty()
    }
}

impl<T: New> New for Vec<T> {
    fn show_new(&self, v: &mut dyn Visitor) {
        all(v, self, T::show_new);
    }

    fn read_new(r: &mut Reader) -> Read<Vec<T>> {
        r.enclosed("(", ")", T::read_new)
    }
}

impl<T: Part, const N: usize> Part for [T; N] {
    const SCOPE: bool = T::SCOPE;

    fn show(&self, v: &mut dyn Visitor) {
        all(v, self, T::show);
    }

    fn read(r: &mut Reader) -> Read<[T; N]> {
        exactly(r.enclosed("(", ")", T::read)?)
    }

    fn blocks<'p>(&'p self, at: Option<Sym>, all: &mut Vec<Inner<'p>>) {
        self.iter().for_each(|part| part.blocks(at, all));
    }
}

impl<T: New, const N: usize> New for [T; N] {
    fn show_new(&self, v: &mut dyn Visitor) {
        all(v, self, T::show_new);
    }

    fn read_new(r: &mut Reader) -> Read<[T; N]> {
        exactly(r.enclosed("(", ")", T::read_new)?)
    }
}

impl<A: Part, B: Part> Part for (A, B) {
    fn show(&self, v: &mut dyn Visitor) {
        self.0.show(v);
        v.word(":");
        self.1.show(v);
    }

    fn read(r: &mut Reader) -> Read<(A, B)> {
        let a = A::read(r)?;
        r.sign(":")?;
        Ok((a, B::read(r)?))
    }
}

impl<T: Part> Part for Option<T> {
    fn show(&self, v: &mut dyn Visitor) {
        self.iter().for_each(|part| part.show(v));
    }

    fn read(r: &mut Reader) -> Read<Option<T>> {
        T::read(r).map(Some)
    }

    fn absent() -> Option<Option<T>> {
        Some(None)
    }

    fn begins(token: Token) -> bool {
        T::begins(token)
    }

    fn is_absent(&self) -> bool {
        self.is_none()
    }

    fn blocks<'p>(&'p self, at: Option<Sym>, all: &mut Vec<Inner<'p>>) {
        self.iter().for_each(|part| part.blocks(at, all));
    }
}

impl<T: Part> Part for Box<T> {
    const SCOPE: bool = T::SCOPE;

    fn show(&self, v: &mut dyn Visitor) {
        (**self).show(v);
    }

    fn read(r: &mut Reader) -> Read<Box<T>> {
        T::read(r).map(Box::new)
    }

    fn blocks<'p>(&'p self, at: Option<Sym>, all: &mut Vec<Inner<'p>>) {
        (**self).blocks(at, all);
    }
}

/// A flag is shown by the word before it.
impl Part for bool {
    fn show(&self, _: &mut dyn Visitor) {}

    fn is_absent(&self) -> bool {
        !self
    }

    fn read(_: &mut Reader) -> Read<bool> {
        Ok(true)
    }

    fn absent() -> Option<bool> {
        Some(false)
    }
}

/// What is shown of a range is no text of the plan.
impl Part for Shown {
    fn show(&self, _: &mut dyn Visitor) {}

    fn read(_: &mut Reader) -> Read<Shown> {
        Ok(Shown::default())
    }

    fn absent() -> Option<Shown> {
        Some(Shown::default())
    }

    fn begins(_: Token) -> bool {
        false
    }

    fn is_absent(&self) -> bool {
        true
    }
}

impl Part for Failure {
    fn show(&self, v: &mut dyn Visitor) {
        v.word(self.name());
    }

    fn read(r: &mut Reader) -> Read<Failure> {
        r.one_of("failure", Failure::ALL, |why| why.name())
    }
}

impl Part for Hints {
    fn show(&self, v: &mut dyn Visitor) {
        v.word(&format!("unroll {}", self.unroll));
        maybe(v, "lanes", &self.lanes);
        Deal::ALL.into_iter().for_each(|deal| maybe(v, deal.name(), &(self.deal == Some(deal))));
        Claim::ALL.into_iter().for_each(|claim| maybe(v, claim.name(), &(self.claim == claim)));
        maybe(v, "seamed", &self.seamed);
    }

    fn read(r: &mut Reader) -> Read<Hints> {
        r.the("unroll")?;
        let (unroll, lanes) = (r.number()?, read_behind(&["lanes"], r)?);
        let mut deal = None;
        for each in Deal::ALL {
            deal = deal.or(read_behind::<bool>(&[each.name()], r)?.then_some(each));
        }
        let mut claim = Claim::Nothing;
        for named in Claim::ALL {
            if read_behind(&[named.name()], r)? {
                claim = named;
            }
        }
        Ok(Hints { unroll, lanes, deal, claim, seamed: read_behind(&["seamed"], r)? })
    }

    fn begins(token: Token) -> bool {
        token == Token::Word("unroll")
    }
}

impl Driver {
    fn name(&self) -> &'static str {
        match self {
            Driver::Stored => "stored",
            Driver::Counted => "counted",
            Driver::Guarded => "guarded",
        }
    }
}

impl Part for Driver {
    fn show(&self, v: &mut dyn Visitor) {
        v.word(self.name());
    }

    fn read(r: &mut Reader) -> Read<Driver> {
        r.one_of("way to a coordinate", [Driver::Stored, Driver::Counted, Driver::Guarded], Driver::name)
    }
}

impl Kind {
    fn name(&self) -> &'static str {
        match self {
            Kind::Runs => "runs",
            Kind::Blocks => "blocks",
            Kind::Packed => "packed",
        }
    }
}

impl Part for Kind {
    fn show(&self, v: &mut dyn Visitor) {
        v.word(self.name());
    }

    fn read(r: &mut Reader) -> Read<Kind> {
        r.one_of("kind of pieces", [Kind::Runs, Kind::Blocks, Kind::Packed], Kind::name)
    }
}

impl Part for Run {
    fn show(&self, v: &mut dyn Visitor) {
        self.name.show(v);
    }

    fn read(r: &mut Reader) -> Read<Run> {
        Ok(Run { name: r.name()?, open: None })
    }
}

impl New for Entry {
    fn show_new(&self, v: &mut dyn Visitor) {
        v.define(self.position);
        if let Some(run) = self.run {
            v.word("run");
            v.name(run.name);
        }
    }

    fn read_new(r: &mut Reader) -> Read<Entry> {
        let position = r.define()?;
        let run = if r.found("run") { Some(Run { name: r.new_name()?, open: None }) } else { None };
        Ok(Entry { position, run })
    }
}

impl New for There {
    fn show_new(&self, v: &mut dyn Visitor) {
        self.entry.show_new(v);
        if let Some(found) = self.found {
            v.word("if");
            v.define(found);
        }
    }

    fn read_new(r: &mut Reader) -> Read<There> {
        let entry = Entry::read_new(r)?;
        Ok(There { found: if r.found("if") { Some(r.define()?) } else { None }, entry })
    }
}

impl Part for Level {
    fn show(&self, v: &mut dyn Visitor) {
        v.level(*self);
    }

    fn read(r: &mut Reader) -> Read<Level> {
        r.level()
    }
}

impl Part for Leaping {
    fn show(&self, v: &mut dyn Visitor) {
        self.list.show(v);
        maybe(v, "gallops", &self.gallops);
    }

    fn read(r: &mut Reader) -> Read<Leaping> {
        Ok(Leaping { list: r.name()?, gallops: read_behind(&["gallops"], r)? })
    }
}

/// A part behind a word, unless there is nothing to show.
fn maybe(v: &mut dyn Visitor, word: &str, part: &impl Part) {
    behind(&[word], part, v);
}

impl Part for List {
    fn show(&self, v: &mut dyn Visitor) {
        let List { of, begin, end, repeats, view, run, bucket_index } = self;
        v.level(*of);
        v.word("[");
        begin.show(v);
        v.word("..");
        end.show(v);
        v.word("]");
        if *repeats {
            v.word("repeats");
        }
        maybe(v, "run", run);
        if let Some(BucketIndex { extent }) = bucket_index {
            v.word("indexed");
            maybe(v, "up_to", extent);
        }
        view.show(v);
    }

    fn read(r: &mut Reader) -> Read<List> {
        let of = r.level()?;
        r.sign("[")?;
        let begin = r.expr()?;
        r.sign("..")?;
        let end = r.expr()?;
        r.sign("]")?;
        let repeats = r.found("repeats");
        let run = read_behind(&["run"], r)?;
        let bucket_index = match r.found("indexed") {
            true => Some(BucketIndex { extent: read_behind(&["up_to"], r)? }),
            false => None,
        };
        Ok(List { of, begin, end, repeats, view: View::read(r)?, run, bucket_index })
    }
}

impl Part for View {
    fn show(&self, v: &mut dyn Visitor) {
        let View { shift, stride, blocks, extent, start, stop, finger, mark } = self;
        match shift {
            Some(Shift::Up(c)) => maybe(v, "shift", c),
            Some(Shift::Down(c)) => maybe(v, "shift_down", c),
            None => {}
        }
        let values = [("stride", stride), ("in_blocks", blocks), ("extent", extent), ("start", start), ("stop", stop)];
        values.into_iter().for_each(|(word, value)| maybe(v, word, value));
        maybe(v, "cursor", finger);
        maybe(v, "mark", mark);
    }

    fn read(r: &mut Reader) -> Read<View> {
        let shift = match (r.found("shift"), r.found("shift_down")) {
            (true, _) => Some(Shift::Up(r.expr()?)),
            (_, true) => Some(Shift::Down(r.expr()?)),
            _ => None,
        };
        Ok(View {
            shift,
            stride: read_behind(&["stride"], r)?,
            blocks: read_behind(&["in_blocks"], r)?,
            extent: read_behind(&["extent"], r)?,
            start: read_behind(&["start"], r)?,
            stop: read_behind(&["stop"], r)?,
            finger: read_behind(&["cursor"], r)?,
            mark: read_behind(&["mark"], r)?,
        })
    }
}

impl Part for Visit {
    const SCOPE: bool = true;

    fn show(&self, v: &mut dyn Visitor) {
        let define = &mut |v: &mut dyn Visitor| {
            v.word("at");
            v.define(self.at);
            v.word("position");
            self.entry.show_new(v);
        };
        v.scope(define, &self.body);
    }

    fn read(r: &mut Reader) -> Read<Visit> {
        r.the("at")?;
        let at = r.define()?;
        r.the("position")?;
        Ok(Visit { at, entry: Entry::read_new(r)?, body: r.block()? })
    }

    fn blocks<'p>(&'p self, _: Option<Sym>, all: &mut Vec<Inner<'p>>) {
        all.push((Some(self.at), &self.body));
    }
}

impl Part for Gap {
    const SCOPE: bool = true;

    fn show(&self, v: &mut dyn Visitor) {
        let define = &mut |v: &mut dyn Visitor| {
            v.define(self.begin);
            v.word("..");
            v.define(self.end);
        };
        v.scope(define, &self.body);
    }

    fn read(r: &mut Reader) -> Read<Gap> {
        let begin = r.define()?;
        r.sign("..")?;
        Ok(Gap { begin, end: r.define()?, body: r.block()? })
    }

    fn blocks<'p>(&'p self, _: Option<Sym>, all: &mut Vec<Inner<'p>>) {
        all.push((None, &self.body));
    }
}

impl Part for Sequence {
    fn show(&self, v: &mut dyn Visitor) {
        let joined = |v: &mut dyn Visitor, word: &str, parts: &[Sequence]| {
            v.word(word);
            all(v, parts, <Sequence as Part>::show);
        };
        match self {
            Sequence::Empty => v.word("never"),
            Sequence::Full => v.word("always"),
            Sequence::List(a) => v.access(*a),
            Sequence::And(parts) => joined(v, "all", parts),
            Sequence::Or(parts) => joined(v, "some", parts),
        }
    }

    fn read(r: &mut Reader) -> Read<Sequence> {
        let parts = r.ahead(1) == Token::Sign("(");
        match r.peek() {
            Token::Word(word @ ("all" | "some")) if parts => {
                r.skip();
                let parts = r.enclosed("(", ")", <Sequence as Part>::read)?;
                Ok(if word == "all" { Sequence::And(parts) } else { Sequence::Or(parts) })
            }
            _ if r.ahead(1) == Token::Sign("@") => r.access().map(Sequence::List),
            _ if r.found("never") => Ok(Sequence::Empty),
            _ => r.the("always").map(|()| Sequence::Full),
        }
    }
}

impl Part for Found {
    fn show(&self, v: &mut dyn Visitor) {
        match self {
            Found::Hash { list, parent } => {
                v.word("hash");
                list.show(v);
                maybe(v, "below", parent);
            }
            Found::Search { list } => {
                v.word("list");
                list.show(v);
            }
            Found::Pieces { list, kind, extent } => {
                kind.show(v);
                list.show(v);
                maybe(v, "up_to", extent);
            }
        }
    }

    fn read(r: &mut Reader) -> Read<Found> {
        if r.found("hash") {
            return Ok(Found::Hash { list: List::read(r)?, parent: read_behind(&["below"], r)? });
        }
        if r.found("list") {
            return Ok(Found::Search { list: List::read(r)? });
        }
        Ok(Found::Pieces { kind: Kind::read(r)?, list: List::read(r)?, extent: read_behind(&["up_to"], r)? })
    }
}

impl Part for Weight {
    fn show(&self, v: &mut dyn Visitor) {
        v.level(self.of);
        [("from", self.begin), ("to", self.end), ("behind", self.before)]
            .into_iter()
            .for_each(|(word, value)| maybe(v, word, &Some(value)));
    }

    fn read(r: &mut Reader) -> Read<Weight> {
        Ok(Weight {
            of: r.level()?,
            begin: read_behind(&["from"], r)?,
            end: read_behind(&["to"], r)?,
            before: read_behind(&["behind"], r)?,
        })
    }
}

impl Part for Counted {
    fn show(&self, v: &mut dyn Visitor) {
        match self {
            Counted::Nothing => v.word("nothing"),
            Counted::Coordinates => v.word("coordinates"),
            Counted::Weight(weights) => {
                v.word("weights");
                weights.show(v);
            }
            Counted::Entries { access, first, begin, ends } => {
                v.word("entries");
                v.level((*access, *first));
                maybe(v, "from", begin);
                maybe(v, "ends", ends);
            }
        }
    }

    fn read(r: &mut Reader) -> Read<Counted> {
        match r.word()? {
            "nothing" => Ok(Counted::Nothing),
            "coordinates" => Ok(Counted::Coordinates),
            "weights" => Ok(Counted::Weight(read_behind(&[], r)?)),
            "entries" => {
                let (access, first) = r.level()?;
                let (begin, ends) = (read_behind(&["from"], r)?, read_behind(&["ends"], r)?);
                Ok(Counted::Entries { access, first, begin, ends })
            }
            other => Err(format!("a cut does not count `{other}`")),
        }
    }
}

impl Part for Flags {
    fn show(&self, v: &mut dyn Visitor) {
        v.word("flags");
        v.define(self.position);
        v.block(&self.body);
        maybe(v, "if", &self.cond);
    }

    fn read(r: &mut Reader) -> Read<Flags> {
        r.the("flags")?;
        Ok(Flags { position: r.define()?, body: read_behind(&[], r)?, cond: read_behind(&["if"], r)? })
    }

    fn blocks<'p>(&'p self, at: Option<Sym>, all: &mut Vec<Inner<'p>>) {
        all.push((at, &self.body));
    }

    fn begins(token: Token) -> bool {
        token == Token::Word("flags")
    }
}

impl Part for Made {
    const SCOPE: bool = true;

    fn show(&self, v: &mut dyn Visitor) {
        v.place(self.nest.target.tensor);
        v.name(self.output);
        v.name(self.root);
        v.assembly(&self.assembly);
        v.block(&self.body);
    }

    fn read(r: &mut Reader) -> Read<Made> {
        let nest = r.nest()?;
        let (output, root) = (r.new_name()?, r.new_name()?);
        Ok(Made { nest, output, root, assembly: r.assembly()?, body: r.block()? })
    }

    fn blocks<'p>(&'p self, at: Option<Sym>, all: &mut Vec<Inner<'p>>) {
        all.push((at, &self.body));
    }
}

impl Part for Work {
    fn show(&self, v: &mut dyn Visitor) {
        let Work { nest, it, output, within, most, few } = self;
        v.name(*it);
        v.word("of");
        v.place(nest.target.tensor);
        v.word(nest.workspace().map_or("", |w| w.kind.name()));
        maybe(v, "for", output);
        maybe(v, "within", within);
        if let Some(most) = most {
            v.word("most");
            v.define(*most);
        }
        if let Some(few) = few {
            v.word("few");
            v.name(*few);
        }
    }

    fn read(r: &mut Reader) -> Read<Work> {
        let it = r.new_name()?;
        r.the("of")?;
        let nest = r.nest()?;
        nest.workspace().map_or(Ok(()), |w| r.the(w.kind.name()))?;
        let (output, within) = (read_behind(&["for"], r)?, read_behind(&["within"], r)?);
        let most = if r.found("most") { Some(r.define()?) } else { None };
        let few = if r.found("few") { Some(r.new_name()?) } else { None };
        Ok(Work { nest, it, output, within, most, few })
    }
}
