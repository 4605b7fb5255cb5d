//! The parts of operations, as a visitor is shown them: symbols and names that an operation defines or uses, levels, blocks, words.

use super::{
    Assembly, Block, Counted, Directory, Driven, Entry, Flags, Found, Gap, Kind, Level, List, Made, There, View, Visit,
    Work,
};
use crate::iteration::Sequence;
use crate::loops::choose::cut::Weight;
use crate::loops::choose::scope::Run;
use crate::loops::choose::symbol::{Name, Sym};
use crate::loops::{Asked, Failure};
use crate::notation::concrete::{AccessId, Place};
use crate::notation::typed::Fun;
use crate::stream::Shift;

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
}

/// A part of an operation.
pub(super) trait Part {
    /// Shows it to a visitor.
    fn show(&self, v: &mut dyn Visitor);

    /// Whether there is nothing to show.
    fn is_absent(&self) -> bool {
        false
    }
}

/// Shows a part behind words, unless there is nothing to show.
pub(super) fn behind(words: &[&str], part: &impl Part, v: &mut dyn Visitor) {
    if !part.is_absent() {
        words.iter().for_each(|word| v.word(word));
        part.show(v);
    }
}

/// A part that an operation defines.
pub(super) trait New {
    /// Shows it to a visitor.
    fn show_new(&self, v: &mut dyn Visitor);
}

impl Part for Sym {
    fn show(&self, v: &mut dyn Visitor) {
        v.value(*self);
    }
}

impl New for Sym {
    fn show_new(&self, v: &mut dyn Visitor) {
        v.define(*self);
    }
}

impl Part for Name {
    fn show(&self, v: &mut dyn Visitor) {
        v.named(*self);
    }
}

impl New for Name {
    fn show_new(&self, v: &mut dyn Visitor) {
        v.name(*self);
    }
}

impl Part for AccessId {
    fn show(&self, v: &mut dyn Visitor) {
        v.access(*self);
    }
}

impl Part for Place {
    fn show(&self, v: &mut dyn Visitor) {
        v.place(*self);
    }
}

impl Part for Fun {
    fn show(&self, v: &mut dyn Visitor) {
        v.fun(*self);
    }
}

impl Part for Block {
    fn show(&self, v: &mut dyn Visitor) {
        v.block(self);
    }

    fn is_absent(&self) -> bool {
        self.0.is_empty()
    }
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

    fn is_absent(&self) -> bool {
        self.is_empty()
    }
}

impl<T: New> New for Vec<T> {
    fn show_new(&self, v: &mut dyn Visitor) {
        all(v, self, T::show_new);
    }
}

impl<T: Part, const N: usize> Part for [T; N] {
    fn show(&self, v: &mut dyn Visitor) {
        all(v, self, T::show);
    }
}

impl<T: New, const N: usize> New for [T; N] {
    fn show_new(&self, v: &mut dyn Visitor) {
        all(v, self, T::show_new);
    }
}

impl<A: Part, B: Part> Part for (A, B) {
    fn show(&self, v: &mut dyn Visitor) {
        self.0.show(v);
        v.word(":");
        self.1.show(v);
    }
}

impl<T: Part> Part for Option<T> {
    fn show(&self, v: &mut dyn Visitor) {
        self.iter().for_each(|part| part.show(v));
    }

    fn is_absent(&self) -> bool {
        self.is_none()
    }
}

impl<T: Part> Part for Box<T> {
    fn show(&self, v: &mut dyn Visitor) {
        (**self).show(v);
    }
}

/// A flag is shown by the word before it.
impl Part for bool {
    fn show(&self, _: &mut dyn Visitor) {}

    fn is_absent(&self) -> bool {
        !self
    }
}

impl Part for Failure {
    fn show(&self, v: &mut dyn Visitor) {
        v.word(self.name());
    }
}

impl Part for Asked {
    fn show(&self, v: &mut dyn Visitor) {
        v.word(&format!("unroll {}", self.unroll));
        maybe(v, "lanes", &self.lanes);
    }
}

impl Part for Driven {
    fn show(&self, v: &mut dyn Visitor) {
        v.word(match self {
            Driven::Stored => "stored",
            Driven::Counted => "counted",
            Driven::Guarded => "guarded",
        });
    }
}

impl Part for Kind {
    fn show(&self, v: &mut dyn Visitor) {
        v.word(match self {
            Kind::Runs => "runs",
            Kind::Blocks => "blocks",
            Kind::Packed => "packed",
        });
    }
}

impl Part for Run {
    fn show(&self, v: &mut dyn Visitor) {
        self.name.show(v);
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
}

impl New for There {
    fn show_new(&self, v: &mut dyn Visitor) {
        self.entry.show_new(v);
        if let Some(found) = self.found {
            v.word("if");
            v.define(found);
        }
    }
}

impl Part for Level {
    fn show(&self, v: &mut dyn Visitor) {
        v.level(*self);
    }
}

/// A part behind a word, unless there is nothing to show.
fn maybe(v: &mut dyn Visitor, word: &str, part: &impl Part) {
    behind(&[word], part, v);
}

impl Part for List {
    fn show(&self, v: &mut dyn Visitor) {
        let List { of, begin, end, repeats, view, run, directory } = self;
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
        if let Some(Directory { extent }) = directory {
            v.word("indexed");
            maybe(v, "up_to", extent);
        }
        view.show(v);
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
        let values = [("stride", stride), ("blocks", blocks), ("extent", extent), ("start", start), ("stop", stop)];
        values.into_iter().for_each(|(word, value)| maybe(v, word, value));
        maybe(v, "finger", finger);
        maybe(v, "mark", mark);
    }
}

impl Part for Visit {
    fn show(&self, v: &mut dyn Visitor) {
        v.word("at");
        v.define(self.at);
        v.word("position");
        self.entry.show_new(v);
        v.block(&self.body);
    }
}

impl Part for Gap {
    fn show(&self, v: &mut dyn Visitor) {
        v.define(self.begin);
        v.word("..");
        v.define(self.end);
        v.block(&self.body);
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
}

impl Part for Weight {
    fn show(&self, v: &mut dyn Visitor) {
        v.level(self.list);
        [("from", self.begin), ("to", self.end), ("behind", self.before)]
            .into_iter()
            .for_each(|(word, value)| maybe(v, word, &Some(value)));
    }
}

impl Part for Counted {
    fn show(&self, v: &mut dyn Visitor) {
        match self {
            Counted::Nothing => v.word("nothing"),
            Counted::Coordinates => v.word("coordinates"),
            Counted::Weight(lists) => {
                v.word("weights");
                lists.show(v);
            }
            Counted::Entries { access, first, begin, ends } => {
                v.word("entries");
                v.level((*access, *first));
                maybe(v, "from", begin);
                maybe(v, "ends", ends);
            }
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
}

impl Part for Made {
    fn show(&self, v: &mut dyn Visitor) {
        v.place(self.nest.target.tensor);
        v.name(self.output);
        v.name(self.root);
        v.assembly(&self.assembly);
        v.block(&self.body);
    }
}

impl Part for Work {
    fn show(&self, v: &mut dyn Visitor) {
        let Work { nest, it, output, within, most, few } = self;
        v.name(*it);
        v.word("of");
        v.place(nest.target.tensor);
        v.word(&nest.workspace.map_or(String::new(), |w| format!("{:?}", w.kind).to_lowercase()));
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
}
