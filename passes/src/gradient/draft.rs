//! A program that is being written: the original with further tensors, variables and functions.

use super::expr::{add_kept, call, distinct, made, nothing_of, number};
use super::pull::{anchor, says, set};
use fiberloom_core::algebra::{Op, Type, Value};
use fiberloom_core::format::Format;
use fiberloom_core::map::ClassId;
use fiberloom_core::notation::typed::{
    Bound, Expr, FnId, Fun, Function, Kind, LocalId, Program, Property, Repeat, Role, Set, Size, SizeId, Statement,
    Step, Tensor, TensorId, Var, VarId,
};
use fiberloom_core::notation::{Diagnostic, Span};
use fiberloom_core::shape::Classes;
use rustc_hash::{FxHashMap, FxHashSet};

/// The place of what the original has not.
const NOWHERE: Span = Span { start: u32::MAX, end: u32::MAX };

/// The program, and what is known of its names and extents.
pub(super) struct Draft {
    /// The original's tensors, variables and functions first.
    pub(super) program: Program,
    /// Extents of the original.
    classes: Classes,
    /// How many of the sizes are the original's.
    known: u32,
    /// The class of each variable's extent.
    extents: Vec<ClassId>,
    /// Names of tensors and functions.
    taken: FxHashSet<String>,
    /// Functions that were made of others.
    pub(super) slopes: FxHashMap<(u32, usize), u32>,
}

impl Draft {
    /// Nothing is added to the program yet.
    ///
    /// # Errors
    /// What its extents contradict.
    pub(super) fn new(program: Program) -> Result<Draft, Vec<Diagnostic>> {
        let classes = Classes::of(&program)?;
        let extents = (0..program.vars.len() as u32).map(|v| classes.class_of_var(VarId(v))).collect();
        let tensors = program.tensors.iter().map(|t| t.name.clone());
        let sizes = program.sizes.iter().filter_map(|s| s.name.clone());
        let taken = tensors.chain(program.functions.iter().map(|f| f.name.clone())).chain(sizes).collect();
        let mut draft =
            Draft { known: program.sizes.len() as u32, program, classes, extents, taken, slopes: FxHashMap::default() };
        draft.told_apart();
        draft.program.statements.iter_mut().for_each(|s| {
            summed(s);
            let whole = s.rhs.clone();
            grounded(&mut s.rhs, &whole);
        });
        let steps = std::mem::take(&mut draft.program.order);
        draft.program.order = draft.begun(steps, &mut FxHashSet::default());
        Ok(draft)
    }

    /// Steps in which locals begin by statements, since what is written has no `where` blocks: those that are declared as their fill, and
    /// others with what is folded into them first.
    fn begun(&mut self, steps: Vec<Step>, seen: &mut FxHashSet<TensorId>) -> Vec<Step> {
        let mut all = vec![];
        for step in steps {
            match step {
                Step::Statement(n) => {
                    let (id, tensor) = self.of(n);
                    let is_first = tensor.role == Role::Local && seen.insert(id);
                    match tensor.fill.filter(|_| is_first && self.goes_on(n)) {
                        Some(fill) => all.push(self.filled(id, fill)),
                        None if is_first => self.defined(n),
                        None => {}
                    }
                    all.push(Step::Statement(n));
                }
                Step::Repeat(block) => {
                    let body = self.begun(block.body, seen);
                    all.push(Step::Repeat(Repeat { body, ..block }));
                }
            }
        }
        all
    }

    /// The tensor that a statement defines.
    fn of(&self, n: usize) -> (TensorId, &Tensor) {
        let id = self.program.statements[n].tensor;
        (id, &self.program.tensors[id.index()])
    }

    /// Whether a statement goes on with values of its tensor.
    fn goes_on(&self, n: usize) -> bool {
        let s = &self.program.statements[n];
        s.fold.is_some() || s.is_part()
    }

    /// A further statement, `T[i…] = fill`.
    fn filled(&mut self, t: TensorId, fill: Value) -> Step {
        let vars = self.modes(t);
        self.program.statements.push(set(t, &vars, made(Kind::Literal(fill), fill.ty()), NOWHERE));
        Step::Statement(self.program.statements.len() - 1)
    }

    /// `T[i…] f= e`, the first of a tensor that begins with the identity of `f`, becomes `T[i…] = e`, or a fold of `e`. A `gcd` of one value is
    /// its magnitude, and a scatter has no other form.
    fn defined(&mut self, n: usize) {
        let s = &mut self.program.statements[n];
        let Some(fun) = s.fold.filter(|fun| *fun != Fun::Op(Op::Gcd) && distinct(&s.indices).is_some()) else { return };
        s.fold = None;
        let vars = std::mem::take(&mut s.folded);
        if !vars.is_empty() {
            let body = Box::new(s.rhs.clone());
            s.rhs = Expr { kind: Kind::Reduce { fun, vars, body, start: None }, ..s.rhs.clone() };
        }
    }

    /// Gives locals of several `where` blocks, which stand side by side now, names of their own.
    fn told_apart(&mut self) {
        let mut seen = FxHashSet::default();
        for n in 0..self.program.tensors.len() {
            let name = self.program.tensors[n].name.clone();
            if !seen.insert(name.clone()) {
                self.program.tensors[n].name = self.name(&name);
            }
        }
    }

    /// A name that nothing has yet: this one, or it with a number.
    pub(super) fn name(&mut self, wanted: &str) -> String {
        let numbered = (2..).map(|n| format!("{wanted}_{n}"));
        let mut names = std::iter::once(wanted.to_string()).chain(numbered);
        let free = names.find(|name| !self.taken.contains(name)).unwrap_or_default();
        self.taken.insert(free.clone());
        free
    }

    /// A variable with the extent, and the name, of another.
    pub(super) fn var(&mut self, like: VarId) -> VarId {
        let name = self.program.vars[like.index()].name.clone();
        self.named_var(name, self.extents[like.index()])
    }

    fn named_var(&mut self, name: String, extent: ClassId) -> VarId {
        self.program.vars.push(Var { name, span: Span::default() });
        self.extents.push(extent);
        VarId(self.program.vars.len() as u32 - 1)
    }

    /// Variables with these names and extents.
    pub(super) fn vars(&mut self, like: &[VarId]) -> Vec<VarId> {
        like.iter().map(|v| self.var(*v)).collect()
    }

    /// Variables for the modes of a tensor, named as where it is defined or read under bare variables.
    pub(super) fn modes(&mut self, of: TensorId) -> Vec<VarId> {
        let sizes = self.program.tensors[of.index()].sizes.clone();
        let mut names: Option<Vec<VarId>> = None;
        for s in &self.program.statements {
            s.accesses(&mut |t, indices, _| {
                if t == of && names.is_none() {
                    names = distinct(indices);
                }
            });
        }
        let standard = ["i", "j", "k", "l", "m"];
        let mut taken: Vec<String> = vec![];
        let vars = sizes.iter().enumerate().map(|(mode, size)| {
            let own = names.as_ref().map(|names| self.program.vars[names[mode].index()].name.clone());
            let name = own.unwrap_or_else(|| standard.get(mode).map_or(format!("i{mode}"), |name| name.to_string()));
            let mut free = std::iter::once(name.clone()).chain((2..).map(|n| format!("{name}_{n}")));
            // `i8` is a type.
            let is_free =
                |name: &String| !taken.contains(name) && !self.taken.contains(name) && Type::from_name(name).is_none();
            let name = free.find(is_free).unwrap_or(name);
            taken.push(name.clone());
            self.named_var(name, self.classes.class_of_size(*size))
        });
        vars.collect()
    }

    /// A tensor with the modes of another.
    pub(super) fn like(&mut self, wanted: &str, of: TensorId, ty: Type, format: Option<Format>) -> TensorId {
        let sizes = self.program.tensors[of.index()].sizes.clone();
        self.tensor(wanted, ty, sizes, format)
    }

    /// A tensor with these modes.
    pub(super) fn tensor(&mut self, wanted: &str, ty: Type, sizes: Vec<SizeId>, format: Option<Format>) -> TensorId {
        let name = self.name(wanted);
        let fill = format.is_some().then(|| Value::zero(ty));
        self.program.tensors.push(Tensor { name, ty, sizes, fill, format, role: Role::Result, span: Span::default() });
        TensorId(self.program.tensors.len() as u32 - 1)
    }

    /// A tensor without declaration, under these variables.
    pub(super) fn temporary(&mut self, wanted: &str, ty: Type, vars: &[VarId]) -> TensorId {
        let sizes = vars.iter().map(|v| self.unnamed(*v)).collect();
        self.tensor(wanted, ty, sizes, None)
    }

    /// A function that is computed wherever its first argument holds, whatever the second is there: `fn stored(p, v) { select(p, v, 0) } where
    /// iterate(p)`.
    pub(super) fn stored(&mut self, ty: Type) -> FnId {
        let name = self.name("stored");
        let locals = vec![("p".to_string(), Type::Bool), ("v".to_string(), ty)];
        let local = |n: u32, ty: Type| made(Kind::Local(LocalId(n)), ty);
        let value = call(Op::Select, vec![local(0, Type::Bool), local(1, ty), number(0.0, ty)]);
        let properties = vec![(Property::Iterate(Set::Param(0)), Span::default())];
        let span = Span::default();
        self.program.functions.push(Function {
            name,
            locals,
            arity: 2,
            result: ty,
            stmts: vec![],
            value,
            properties,
            span,
        });
        FnId(self.program.functions.len() as u32 - 1)
    }

    /// A size for a mode that a variable runs over.
    fn unnamed(&mut self, v: VarId) -> SizeId {
        self.size(v).unwrap_or_else(|| {
            self.program.sizes.push(Size { name: None, value: None, given: false, span: Span::default() });
            SizeId(self.program.sizes.len() as u32 - 1)
        })
    }

    /// A size with a name, or a number, that a variable runs over.
    pub(super) fn size(&self, v: VarId) -> Option<SizeId> {
        self.written(|size| self.classes.class_of_size(size) == self.extents[v.index()])
    }

    /// The extent of a size, if the program says it.
    pub(super) fn value(&self, of: SizeId) -> Option<u64> {
        match of.0 < self.known {
            true => self.classes.value(self.classes.class_of_size(of)),
            false => self.program.sizes[of.index()].value,
        }
    }

    /// A size with a name, or a number, that is another's: itself, if it has a name. What is known of another with the same extent may be dropped.
    pub(super) fn same(&self, of: SizeId) -> Option<SizeId> {
        let is_known = of.0 < self.known;
        if is_known && self.program.sizes[of.index()].name.is_some() {
            return Some(of);
        }
        self.written(|size| is_known && self.classes.class_of_size(size) == self.classes.class_of_size(of))
    }

    fn written(&self, is: impl Fn(SizeId) -> bool) -> Option<SizeId> {
        let sizes = || (0..self.known).map(SizeId).filter(|size| is(*size));
        let named = sizes().find(|size| self.program.sizes[size.index()].name.is_some());
        named.or_else(|| sizes().find(|size| self.program.sizes[size.index()].value.is_some()))
    }

    /// The extent of a variable, as a bound.
    ///
    /// # Errors
    /// No declaration names it.
    pub(super) fn extent(&self, v: VarId, span: Span) -> Result<Bound, Diagnostic> {
        let known = || self.classes.value(self.extents[v.index()]).and_then(|n| i64::try_from(n).ok());
        let named = self.size(v).map(|size| Bound { constant: 0, terms: vec![(1, size)] });
        named.or_else(|| known().map(Bound::number)).ok_or_else(|| {
            let name = &self.program.vars[v.index()].name;
            Diagnostic::new(
                span,
                format!("the gradient has to say the extent of `{name}`, and no declaration names it"),
            )
            .help("declare what is read under it, with a size that has a name")
        })
    }
}

/// Spells out the sum of `T[i] sum= e`, which folds the whole right side over what is absent on the left; `+=` sums its terms.
fn summed(s: &mut Statement) {
    if s.fold == Some(Fun::Op(Op::Add)) && !s.folded.is_empty() {
        let vars = std::mem::take(&mut s.folded);
        let (ty, span) = (s.rhs.ty, s.rhs.span);
        let body = Box::new(s.rhs.clone());
        s.rhs = Expr { kind: Kind::Reduce { fun: Fun::Op(Op::Add), vars, body, start: None }, ty, span };
    }
}

/// Lets each fold say how far its variables go. In the short form terms share a variable, of which one term may say that for all; folds that
/// are spelled out have variables of their own.
fn grounded(e: &mut Expr, whole: &Expr) {
    match &mut e.kind {
        Kind::Literal(_) | Kind::Index(_) | Kind::Size(_) | Kind::Local(_) | Kind::Access(..) => {}
        Kind::Call(_, parts) | Kind::Concat { parts, .. } => parts.iter_mut().for_each(|part| grounded(part, whole)),
        Kind::Collapse { body, .. } | Kind::Split { body, .. } | Kind::Slice { body, .. } => grounded(body, whole),
        Kind::Reduce { vars, body, start, .. } => {
            start.iter_mut().for_each(|start| grounded(start, whole));
            grounded(body, whole);
            for v in vars.iter().filter(|v| !says(body, **v)).copied().collect::<Vec<_>>() {
                if let Some(there) = anchor(whole, v) {
                    **body = add_kept(nothing_of(&there, body.ty), (**body).clone());
                }
            }
        }
    }
}
