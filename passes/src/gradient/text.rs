//! The program that is written: declarations, functions, statements of the original that are needed, and those of the gradient.

use super::draft::Draft;
use super::turns::Made;
use super::versions::Piece;
use super::{forward, versions};
use fiberloom_core::algebra::Op;
use fiberloom_core::format::Format;
use fiberloom_core::notation::spell;
use fiberloom_core::notation::syntax::{self, Dim, Ident, Item, Size};
use fiberloom_core::notation::typed::{Expr, FnId, Fun, Kind, Program, Role, SizeId, Statement, TensorId, Turns};
use fiberloom_core::notation::{Diagnostic, Span};
use rustc_hash::FxHashSet;

/// What is written, beside the statements of the original.
pub(super) struct Parts<'s> {
    /// The original.
    pub(super) source: &'s syntax::Program,
    /// Its statements and blocks.
    pub(super) pieces: Vec<Piece<'s>>,
    /// What the gradient takes, in order.
    pub(super) made: Vec<Made>,
    /// Tensors that have declarations: the original's by theirs, others as they are.
    pub(super) declared: Vec<TensorId>,
    /// Tensors whose values are wanted.
    pub(super) wanted: Vec<TensorId>,
}

impl Parts<'_> {
    /// The program as syntax.
    ///
    /// # Errors
    /// A tensor that has to be declared, and has a mode whose extent no declaration names.
    pub(super) fn program(self, draft: &mut Draft) -> Result<syntax::Program, Diagnostic> {
        let needed = self.needed();
        let mut lines = vec![];
        self.lines(draft, (&self.pieces, &self.made), &needed, &mut lines);
        let statements: Vec<_> = lines.iter().flat_map(|line| line.statements()).collect();
        let mut items = self.heads(&draft.program, &statements);
        items.extend(self.declarations(draft, &statements)?);
        items.extend(lines.iter().map(|line| line.item(&draft.program)));
        Ok(said(draft, self.anchored(&draft.program, items)))
    }

    /// A program of tangents as syntax, which `begun` begins; `declared` and `wanted` are of this, pieces and what was made are none.
    ///
    /// # Errors
    /// As of [`Parts::program`].
    pub(super) fn forward(
        self,
        draft: &mut Draft,
        (begun, steps): (Vec<Statement>, &[forward::Written]),
    ) -> Result<syntax::Program, Diagnostic> {
        let mut all: Vec<Statement> = begun.clone();
        gathered(&draft.program, steps, &mut all);
        let mut open = self.wanted.clone();
        conditions(steps, &mut |t| open.push(t));
        let mut needed = FxHashSet::default();
        while let Some(t) = open.pop() {
            if needed.insert(t) {
                all.iter().filter(|s| s.tensor == t).for_each(|s| s.accesses(&mut |t, _, _| open.push(t)));
            }
        }
        let kept: Vec<(Statement, _)> =
            all.into_iter().filter(|s| needed.contains(&s.tensor)).map(|s| (s, None)).collect();
        let mut items = self.heads(&draft.program, &kept);
        items.extend(self.declarations(draft, &kept)?);
        let begun = begun.iter().filter(|s| needed.contains(&s.tensor));
        items.extend(begun.map(|s| Item::Statement(spell::statement(&draft.program, &short(s)))));
        items.extend(self.blocks(&draft.program, steps, &needed));
        Ok(said(draft, self.anchored(&draft.program, items)))
    }

    /// Items with declarations of operands that say the sizes which nothing else does, read or not; where those of the original do not, of what
    /// it begins with as the caller gives it.
    fn anchored(&self, program: &Program, items: Vec<Item>) -> Vec<Item> {
        let defined: Vec<&str> = defined(&items);
        // Of a tensor that a function gives there are no data, which would say its extents.
        let is_computed =
            |name: &str| program.tensors.iter().any(|t| t.name == name && matches!(t.role, Role::Computed(_)));
        let named = |item: &Item| match item {
            Item::Tensor(t) if !is_computed(&t.name.name) => {
                t.sizes.iter().filter_map(named_size).map(str::to_string).collect()
            }
            _ => vec![],
        };
        let is_result = |item: &Item| matches!(item, Item::Tensor(t) if defined.contains(&t.name.name.as_str()));
        let given = items.iter().filter(|item| !is_result(item)).flat_map(named);
        let dims =
            items.iter().filter_map(|item| if let Item::Dim(dim) = item { Some(dim.name.name.clone()) } else { None });
        let given: FxHashSet<String> = given.chain(dims).collect();
        let wanted = words(&items);
        let tensor = |id: TensorId| &program.tensors[id.index()];
        let inputs = program.ids().filter(|id| tensor(*id).role == Role::Input).collect();
        let brought = [inputs, program.inputs(), program.starts()];
        let mut further: Vec<Item> = vec![];
        let mut said = given;
        for (item, id) in brought.iter().flatten().flat_map(|id| {
            let is = |item: &&Item| matches!(item, Item::Tensor(t) if t.name.name == tensor(*id).name);
            self.source.items.iter().find(is).map(|item| (item, *id))
        }) {
            let sizes: Vec<String> = named(item);
            let says = sizes.iter().any(|size| wanted.contains(size) && !said.contains(size));
            if says && !items.contains(item) && !defined.contains(&tensor(id).name.as_str()) {
                said.extend(sizes);
                further.push(item.clone());
            }
        }
        let place = items.iter().position(|item| matches!(item, Item::Tensor(_))).unwrap_or(items.len());
        let mut items = items;
        items.splice(place..place, further);
        items
    }

    fn blocks(&self, program: &Program, steps: &[forward::Written], needed: &FxHashSet<TensorId>) -> Vec<Item> {
        let items = steps.iter().filter_map(|step| match step {
            forward::Written::Original(n) => {
                let s = &program.statements[*n];
                let written = versions::find(&self.source.items, s).filter(|w| w.locals.is_empty());
                let written = written.filter(|_| program.tensors[s.tensor.index()].role != Role::Local);
                let own = |s: &Statement| written.map_or_else(|| spell::statement(program, &short(s)), Clone::clone);
                needed.contains(&s.tensor).then(|| Item::Statement(own(s)))
            }
            forward::Written::Made(s) => {
                needed.contains(&s.tensor).then(|| Item::Statement(spell::statement(program, &short(s))))
            }
            forward::Written::Block(block, inner) => {
                let body = self.blocks(program, inner, needed);
                let turns = versions::turns(&self.source.items, block)?.clone();
                (!body.is_empty()).then(|| Item::Repeat(syntax::Repeat { turns, body, span: Span::default() }))
            }
        });
        items.collect()
    }

    /// Sizes, and the functions that statements call.
    fn heads(&self, program: &Program, statements: &[(Statement, Option<&syntax::Statement>)]) -> Vec<Item> {
        let mut called: Vec<FnId> = vec![];
        statements.iter().for_each(|(s, _)| {
            let folds = s.fold.filter(|fun| !matches!(fun, Fun::User(f) if program.functions[f.index()].is_latest()));
            folds.into_iter().for_each(|fun| seen(fun, &mut called));
            calls(&s.rhs, &mut called);
            s.accesses(&mut |t, _, _| {
                if let Role::Computed(f) = program.tensors[t.index()].role {
                    seen(Fun::User(f), &mut called);
                }
            });
        });
        let mut at = 0;
        while let Some(f) = called.get(at).copied() {
            inner(program, f, &mut called);
            at += 1;
        }
        called.sort();
        let dims = self.source.items.iter().filter(|item| matches!(item, Item::Dim(_))).cloned();
        let functions = called.into_iter().map(|f| {
            let name = &program.functions[f.index()].name;
            let written =
                self.source.items.iter().find(|item| matches!(item, Item::Function(w) if w.name.name == *name));
            written.cloned().unwrap_or_else(|| Item::Function(spell::function(program, &program.functions[f.index()])))
        });
        dims.chain(functions).collect()
    }

    /// Declarations of the original's tensors that statements name, and of those that are asked for.
    fn declarations(
        &self,
        draft: &Draft,
        statements: &[(Statement, Option<&syntax::Statement>)],
    ) -> Result<Vec<Item>, Diagnostic> {
        let mut named: Vec<TensorId> = self.declared.clone();
        statements.iter().for_each(|(s, _)| s.accesses(&mut |t, _, _| named.push(t)));
        let program = &draft.program;
        let mut done = FxHashSet::default();
        let mut items = vec![];
        for item in &self.source.items {
            let Item::Tensor(written) = item else { continue };
            if named.iter().any(|t| program.tensors[t.index()].name == written.name.name)
                && done.insert(written.name.name.clone())
            {
                items.push(item.clone());
            }
        }
        for t in named {
            let tensor = &program.tensors[t.index()];
            if tensor.format.is_some() && done.insert(tensor.name.clone()) {
                items.push(Item::Tensor(self.declaration(draft, t)?));
            }
        }
        Ok(items)
    }

    /// The declaration of a tensor that the original has not.
    fn declaration(&self, draft: &Draft, t: TensorId) -> Result<syntax::Tensor, Diagnostic> {
        let tensor = &draft.program.tensors[t.index()];
        let sizes = tensor.sizes.iter().enumerate().map(|(mode, size)| {
            let same = draft.same(*size).map(|same| &draft.program.sizes[same.index()]);
            match (same.and_then(|size| size.name.as_ref()), draft.value(*size)) {
                (Some(name), _) => Ok(Size::Name(ident(name))),
                (None, Some(value)) => Ok(Size::Int(value, Span::default())),
                (None, None) => {
                    let message = format!(
                        "no declaration names the extent of mode {mode} of `{}`, which the gradient declares",
                        tensor.name
                    );
                    Err(Diagnostic::new(tensor.span, message).help("declare the tensor that it is the gradient of"))
                }
            }
        });
        let sizes = sizes.collect::<Result<Vec<Size>, Diagnostic>>()?;
        let format = tensor.format.as_ref().filter(|format| **format != Format::dense(format.rank()));
        let format = format.map(|format| self.format(draft, t).unwrap_or_else(|| spell::format(format)));
        let fill = tensor.fill.filter(|fill| fill.is_true()).map(|fill| (spell::literal(fill), Span::default()));
        Ok(syntax::Tensor { name: ident(&tensor.name), sort: syntax::Sort::Plain(tensor.ty), sizes, fill, format })
    }

    /// The format as the original's declaration of a tensor with the same levels has it.
    fn format(&self, draft: &Draft, t: TensorId) -> Option<syntax::Format> {
        let format = &draft.program.tensors[t.index()].format;
        self.source.items.iter().find_map(|item| match item {
            Item::Tensor(w) => {
                let of = draft.program.tensors.iter().find(|of| of.name == w.name.name)?;
                w.format.clone().filter(|_| of.format == *format)
            }
            _ => None,
        })
    }
}

/// The names of the tensors that items define.
fn defined(items: &[Item]) -> Vec<&str> {
    let mut all = vec![];
    for item in items {
        match item {
            Item::Statement(s) => all.push(s.lhs.tensor.name.as_str()),
            Item::Repeat(block) => all.extend(defined(&block.body)),
            _ => {}
        }
    }
    all
}

fn named_size(size: &Size) -> Option<&str> {
    match size {
        Size::Name(name) => Some(&name.name),
        Size::Int(..) => None,
    }
}

/// The words of the text of items.
fn words(items: &[Item]) -> FxHashSet<String> {
    let text: String = items.iter().map(|item| format!("{item}\n")).collect();
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    text.split(|c| !is_word(c)).map(str::to_string).collect()
}

/// A program that says the sizes that the original's equations said, as far as it names them.
fn said(draft: &Draft, items: Vec<Item>) -> syntax::Program {
    let words = words(&items);
    let declared = |name: &str| items.iter().any(|item| matches!(item, Item::Dim(dim) if dim.name.name == name));
    let known = (0..draft.program.sizes.len() as u32).map(SizeId).filter_map(|size| {
        let name = draft.program.sizes[size.index()].name.as_deref()?;
        let value = draft.value(size).filter(|_| words.contains(name) && !declared(name))?;
        Some((name, value))
    });
    let mut known: Vec<(&str, u64)> = known.collect();
    known.dedup();
    let dims = known.into_iter().map(|(name, value)| Item::Dim(Dim { name: ident(name), value: Some(value) }));
    let items = dims.chain(items.iter().cloned()).collect();
    syntax::Program { items }
}

/// The statements of steps, those of blocks too.
fn gathered(program: &Program, steps: &[forward::Written], all: &mut Vec<Statement>) {
    for step in steps {
        match step {
            forward::Written::Original(n) => all.push(program.statements[*n].clone()),
            forward::Written::Made(s) => all.push(s.clone()),
            forward::Written::Block(_, inner) => gathered(program, inner, all),
        }
    }
}

/// Gives `each` the tensors that conditions of blocks read.
fn conditions(steps: &[forward::Written], each: &mut impl FnMut(TensorId)) {
    for step in steps {
        if let forward::Written::Block(block, inner) = step {
            if let Turns::While(condition) = &block.turns {
                condition.reads(each);
            }
            conditions(inner, each);
        }
    }
}

fn ident(name: &str) -> Ident {
    Ident { name: name.to_string(), span: Span::default() }
}

fn seen(fun: Fun, called: &mut Vec<FnId>) {
    if let Fun::User(f) = fun
        && !called.contains(&f)
    {
        called.push(f);
    }
}

/// The declared functions that an expression calls.
fn calls(e: &Expr, called: &mut Vec<FnId>) {
    e.walk(&mut |e| match &e.kind {
        Kind::Call(fun, _) | Kind::Reduce { fun, .. } => seen(*fun, called),
        _ => {}
    });
}

/// The declared functions that a function calls.
fn inner(program: &Program, f: FnId, called: &mut Vec<FnId>) {
    let function = &program.functions[f.index()];
    calls(&function.value, called);
    function.each_expr(&mut |e| calls(e, called));
}

/// A statement in the short form, where that says the same: a sum of products is its body.
pub(super) fn short(s: &Statement) -> Statement {
    let Kind::Reduce { fun: Fun::Op(Op::Add), vars, body, start: None } = &s.rhs.kind else { return s.clone() };
    let product = matches!(body.kind, Kind::Access(..) | Kind::Call(Fun::Op(Op::Mul), _));
    let mut count = 0;
    let mut twice = vec![0; vars.len()];
    let mut plain = true;
    body.walk(&mut |e| match &e.kind {
        Kind::Access(_, indices) => {
            count += 1;
            let under = super::expr::distinct(indices);
            plain &= under.is_some();
            let under = under.unwrap_or_default();
            vars.iter().zip(&mut twice).for_each(|(v, n)| *n += under.contains(v) as usize);
        }
        Kind::Call(Fun::Op(Op::Mul), _) | Kind::Literal(_) => {}
        _ => plain = false,
    });
    let known = plain && product && count > 1 && twice.iter().all(|n| *n > 1);
    if known { Statement { rhs: (**body).clone(), ..s.clone() } } else { s.clone() }
}
