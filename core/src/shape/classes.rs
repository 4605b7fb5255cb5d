//! Classes of equal extents.

use super::bounds;
use super::equation::{Equation, Formula, equations};
use crate::map::{ClassId, Size};
use crate::notation::typed::{
    self, Bound, CommandKind, Expr, Index, Kind, Map, Parts, Program, Repeat, Role, SizeId, Step, Tensor,
    TensorCommand, TensorId, Turns, VarId,
};
use crate::notation::{Diagnostic, Span};
use std::collections::{BTreeMap, BTreeSet};

/// The extent of what a function gives at every coordinate: extents are below 2⁶³.
const INFINITE: u64 = i64::MAX as u64;

/// An extent, and what says so.
#[derive(Clone, Debug)]
struct Known {
    extent: u64,
    span: Span,
    by: String,
}

/// Which extents are equal, by bare indices and equal names, and which are known.
///
/// A union-find forest over nodes: the program's sizes, then its index variables. A root is the least of its class.
#[derive(Clone, Debug)]
pub struct Classes {
    parent: Vec<usize>,
    /// Where the index variables begin.
    sizes: usize,
    /// The sizes that the caller says.
    given: Vec<SizeId>,
    /// What a node is called: a size's name if it has one, a variable's.
    names: Vec<Option<String>>,
    /// Of sizes whose names no declaration has, since data alone declare their tensor: the mode.
    unwritten: Vec<Option<String>>,
    spans: Vec<Span>,
    /// Of roots: what is known of the class.
    known: Vec<Option<Known>>,
    equations: Vec<Equation>,
}

impl Classes {
    /// The classes of a program, with every extent that it says or that follows.
    ///
    /// # Errors
    /// Contradictions, indices that can leave their tensors, extents that nothing will ever say: all that the program
    /// decides without data.
    pub fn of(program: &Program) -> Result<Classes, Vec<Diagnostic>> {
        let mut errors = Vec::new();
        let mut classes = Classes::new(program, &mut errors);
        classes.propagate(&mut errors);
        if errors.is_empty() {
            errors.extend(bounds::check(program, &classes));
            errors.extend(classes.undetermined(program));
        }
        if errors.is_empty() { Ok(classes) } else { Err(errors) }
    }

    fn new(program: &Program, errors: &mut Vec<Diagnostic>) -> Classes {
        let sizes = program.sizes.len();
        let mut names: Vec<Option<String>> = program.sizes.iter().map(|s| s.name.clone()).collect();
        names.extend(program.vars.iter().map(|v| Some(v.name.clone())));
        let mut spans: Vec<Span> = program.sizes.iter().map(|s| s.span).collect();
        spans.extend(program.vars.iter().map(|v| v.span));
        let count = names.len();
        let mut classes = Classes {
            parent: (0..count).collect(),
            sizes,
            given: program.given_sizes().collect(),
            names,
            unwritten: vec![None; count],
            spans,
            known: vec![None; count],
            equations: Vec::new(),
        };
        for tensor in &program.tensors {
            for (mode, size) in tensor.sizes.iter().enumerate() {
                let by = format!("mode {mode} of `{}`", tensor.name);
                // A size that a declaration names stands at its name, not at the tensor's.
                let size_span = program.sizes[size.index()].span;
                if (size_span.start, size_span.end) == (tensor.span.start, tensor.span.end) {
                    classes.unwritten[size.index()] = Some(by.clone());
                }
                classes.said(program, *size, by);
            }
        }
        for (place, size) in program.sizes.iter().enumerate() {
            if let Some(name) = &size.name {
                classes.said(program, SizeId(place as u32), format!("size `{name}`"));
            }
        }
        classes.triangles(program, errors);
        for statement in &program.statements {
            statement.accesses(&mut |tensor, indices, _| classes.access(program, tensor, indices, errors));
        }
        program.each_step(&mut |step| {
            if let Step::Repeat(Repeat { turns: Turns::Extent(size, var), span, .. }) = step {
                classes.unite(sizes + var.index(), size.index(), "the number of turns", *span, errors);
            }
        });
        for command in program.commands() {
            let CommandKind::Tensor(TensorCommand::Stage(stage)) = &command.kind else { continue };
            for (own, of) in &stage.loops {
                classes.unite(sizes + own.index(), sizes + of.index(), "what is precomputed", command.span, errors);
            }
        }
        classes.equations = equations(program, sizes);
        classes.derived(program);
        for command in program.commands() {
            if let CommandKind::Bound(v, n) = &command.kind
                && !program.counted().contains(v)
            {
                let name = &program.vars[v.index()].name;
                classes.learn(sizes + v.index(), *n, &format!("`bound({name}, {n})`"), command.span, errors);
            }
        }
        classes.infinite(program);
        classes
    }

    /// The extents of derived index variables: in coordinates they follow by equations; of those that count entries data decide.
    fn derived(&mut self, program: &Program) {
        for v in program.counted() {
            let by = format!("what data say of `{}`", program.vars[v.index()].name);
            let span = program.vars[v.index()].span;
            self.known[self.sizes + v.index()] = Some(Known { extent: INFINITE, span, by });
        }
        for command in program.commands() {
            if let CommandKind::Split { to: (outer, inner), parts, .. } = &command.kind {
                let (v, extent) = match parts {
                    Parts::Of(n) => (inner, *n),
                    Parts::Into(n) => (outer, *n),
                };
                let by = "`split`".to_string();
                self.known[self.sizes + v.index()] = Some(Known { extent, span: command.span, by });
            }
        }
    }

    /// Sets the extent of functions' modes to [`INFINITE`] where no index variable, stored tensor, use as a value or call determines it.
    fn infinite(&mut self, program: &Program) {
        let mut finite: Vec<bool> = self.known.iter().map(Option::is_some).collect();
        let values = values(program).into_iter().map(|(size, _)| size.index());
        let stored = program.tensors.iter().filter(|t| !is_function(t)).flat_map(|t| t.sizes.iter().map(|s| s.index()));
        let given: Vec<usize> = self.given.iter().map(|size| size.index()).collect();
        for node in values.chain(stored).chain(given).chain(self.sizes..self.parent.len()) {
            finite[self.find(node)] = true;
        }
        for tensor in program.tensors.iter().filter(|t| is_function(t)) {
            for size in &tensor.sizes {
                let root = self.find(size.index());
                if !finite[root] {
                    let by = format!("`{}`, a function", tensor.name);
                    self.known[root] = Some(Known { extent: INFINITE, span: tensor.span, by });
                }
            }
        }
    }

    /// The function in whose modes alone an index variable stands.
    fn function_of<'p>(&self, program: &'p Program, root: usize) -> Option<&'p Tensor> {
        let mut over = program.tensors.iter().filter(|t| t.sizes.iter().any(|s| self.find(s.index()) == root));
        let first = over.next()?;
        (is_function(first) && over.all(is_function)).then_some(first)
    }

    /// Learns the value of a size, if the program says it.
    fn said(&mut self, program: &Program, size: SizeId, by: String) {
        let typed::Size { value, span, .. } = program.sizes[size.index()];
        self.known[size.index()] = value.map(|extent| Known { extent, span, by });
    }

    /// Triangular and symmetric levels make two extents equal.
    fn triangles(&mut self, program: &Program, errors: &mut Vec<Diagnostic>) {
        for tensor in &program.tensors {
            let Some(format) = &tensor.format else { continue };
            for (l, kind) in format.levels.iter().enumerate().skip(1) {
                if kind.is_triangle() {
                    let sizes = [l - 1, l].map(|l| tensor.sizes[format.order[l]].index());
                    let what = format!("level `{}` of `{}`", kind.name(), tensor.name);
                    self.unite(sizes[0], sizes[1], &what, tensor.span, errors);
                }
            }
        }
    }

    fn access(&mut self, program: &Program, tensor: TensorId, indices: &[Index], errors: &mut Vec<Diagnostic>) {
        for (index, size) in indices.iter().zip(&program.tensors[tensor.index()].sizes) {
            if let Some(var) = index.bare() {
                let what = format!("index variable `{}`", program.vars[var.index()].name);
                self.unite(self.sizes + var.index(), size.index(), &what, index.span, errors);
            }
        }
    }

    pub(super) fn find(&self, mut node: usize) -> usize {
        while self.parent[node] != node {
            node = self.parent[node];
        }
        node
    }

    /// Makes two extents equal; a contradiction is said of `what`.
    fn unite(&mut self, a: usize, b: usize, what: &str, span: Span, errors: &mut Vec<Diagnostic>) {
        let (a, b) = (self.find(a), self.find(b));
        if a == b {
            return;
        }
        let (root, child) = (a.min(b), a.max(b));
        match (self.known[a].clone(), self.known[b].clone()) {
            (Some(one), Some(other)) if one.extent != other.extent => {
                errors.push(contradiction(what, span, &one, &other));
                return;
            }
            (one, other) => self.known[root] = one.or(other),
        }
        self.parent[child] = root;
    }

    /// Unites two extents, and returns whether they were apart before.
    pub(super) fn equal(&mut self, a: usize, b: usize, what: &str, span: Span, errors: &mut Vec<Diagnostic>) -> bool {
        let news = self.find(a) != self.find(b);
        self.unite(a, b, what, span, errors);
        news
    }

    /// Learns an extent.
    pub(super) fn learn(
        &mut self,
        node: usize,
        extent: u64,
        by: &str,
        span: Span,
        errors: &mut Vec<Diagnostic>,
    ) -> bool {
        let new = Known { extent, span, by: by.to_string() };
        let root = self.find(node);
        match &self.known[root] {
            None => {
                self.known[root] = Some(new);
                true
            }
            Some(old) => {
                if old.extent != extent {
                    errors.push(contradiction(&self.called(node), span, old, &new));
                }
                false
            }
        }
    }

    /// Solves the equations of shape operators as far as they can be; each wrong one is said once.
    pub(super) fn propagate(&mut self, errors: &mut Vec<Diagnostic>) {
        let mut wrong = vec![false; self.equations.len()];
        loop {
            let mut changed = false;
            for (place, wrong) in wrong.iter_mut().enumerate().filter(|(_, wrong)| !**wrong) {
                let before = errors.len();
                let equation = self.equations[place].clone();
                changed |= equation.propagate(self, errors);
                *wrong = errors.len() > before;
            }
            if !changed {
                return;
            }
        }
    }

    /// Of each root, whether its extent is known once those of these tensors are, if none is 0 that need not be.
    fn determined(&self, program: &Program, tensors: impl IntoIterator<Item = TensorId>) -> Vec<bool> {
        let mut known: Vec<bool> = self.known.iter().map(Option::is_some).collect();
        self.given.iter().for_each(|size| known[self.find(size.index())] = true);
        for id in tensors {
            let sizes = &program.tensors[id.index()].sizes;
            sizes.iter().for_each(|s| known[self.find(s.index())] = true);
        }
        while self.equations.iter().filter(|e| e.determines(self, &mut known)).count() > 0 {}
        known
    }

    /// Whether these tensors say the extents of all index variables, if none is 0 that need not be.
    pub(super) fn says_all(&self, program: &Program, tensors: impl IntoIterator<Item = TensorId>) -> bool {
        let known = self.determined(program, tensors);
        (0..program.vars.len()).all(|v| known[self.find(self.sizes + v)])
    }

    /// An error each for the extents that neither the program nor its inputs will say.
    fn undetermined(&self, program: &Program) -> Vec<Diagnostic> {
        // What the caller must bring, and what it may.
        let brought = [program.inputs(), program.starts(), program.unread()].concat();
        let mut known = self.determined(program, brought);
        let mut errors = Vec::new();
        let unvalued = |size: SizeId, span: Span| {
            let message = format!("the extent of {} is unknown", self.called(size.index()));
            let help = "a size is known where a tensor that is given has it, or by `dim N = …`";
            Diagnostic::new(span, message).help(help)
        };
        // The variable of a block is no name of the program's: its size is.
        for (size, span) in turns(program) {
            if !std::mem::replace(&mut known[self.find(size.index())], true) {
                errors.push(unvalued(size, span));
            }
        }
        for (place, var) in program.vars.iter().enumerate() {
            let root = self.find(self.sizes + place);
            let unbound = program.unbound.contains(&typed::VarId(place as u32));
            if !unbound && !std::mem::replace(&mut known[root], true) {
                errors.push(match self.function_of(program, root) {
                    Some(f) => {
                        let message = format!(
                            "index variable `{}` runs over `{}` alone, a function, whose extent is infinite",
                            var.name, f.name
                        );
                        let help = "use it as a bare index of stored data, too, or give the size a value: `dim N = …`";
                        Diagnostic::new(var.span, message).label(f.span, "the function").help(help)
                    }
                    None => {
                        let message = format!("the extent of index variable `{}` is unknown", var.name);
                        let help =
                            "use it as a bare index of a tensor whose size is known, or give that size a value: `dim N = …`";
                        Diagnostic::new(var.span, message).help(help)
                    }
                });
            }
        }
        for (size, span) in values(program) {
            if !std::mem::replace(&mut known[self.find(size.index())], true) {
                errors.push(unvalued(size, span));
            }
        }
        let mut said = |tensor: &Tensor| {
            for (mode, size) in tensor.sizes.iter().enumerate() {
                if !std::mem::replace(&mut known[self.find(size.index())], true) {
                    let message = format!("the extent of mode {mode} of `{}` is unknown", tensor.name);
                    let help = format!("declare it: `tensor {}: {}[…]` with its sizes", tensor.name, tensor.ty);
                    errors.push(Diagnostic::new(tensor.span, message).help(help));
                }
            }
        };
        for statement in &program.statements {
            said(&program.tensors[statement.tensor.index()]);
            // No data say those of what a function gives.
            statement.accesses(&mut |t, _, _| {
                let tensor = &program.tensors[t.index()];
                if is_function(tensor) {
                    said(tensor);
                }
            });
        }
        errors
    }

    /// The first index variable of a class, if it has one: the program's own before those that stages add.
    pub fn var_of(&self, class: ClassId) -> Option<VarId> {
        let vars = self.sizes..self.parent.len();
        vars.into_iter().find(|node| self.find(*node) == class.0 as usize).map(|node| self.var(node))
    }

    /// Of a size.
    pub fn class_of_size(&self, size: SizeId) -> ClassId {
        ClassId(self.find(size.index()) as u32)
    }

    /// The first size of a class, if it has one.
    pub fn size_in(&self, class: ClassId) -> Option<SizeId> {
        (0..self.sizes as u32).map(SizeId).find(|size| self.class_of_size(*size) == class)
    }

    /// Of an index variable; alone if nothing makes its extent equal to another.
    pub fn class_of_var(&self, var: VarId) -> ClassId {
        ClassId(self.find(self.sizes + var.index()) as u32)
    }

    /// The extent, if the program says it.
    pub fn value(&self, class: ClassId) -> Option<u64> {
        self.extent(class.0 as usize)
    }

    /// The extent of a class: a number, if the program says it.
    pub fn size(&self, class: ClassId) -> Size {
        let known = self.value(class).and_then(|n| i64::try_from(n).ok());
        known.map_or_else(|| Size::unknown(class), Size::number)
    }

    /// A bound of a slice.
    pub fn bound(&self, bound: &Bound) -> Size {
        let term = |(factor, size): &(i64, SizeId)| self.size(self.class_of_size(*size)).times(&Size::number(*factor));
        bound.terms.iter().map(term).fold(Size::number(bound.constant), |sum, term| sum.plus(&term))
    }

    /// The extents that follow from these, each with how, in an order in which each follows from those before.
    ///
    /// One that is a quotient by what may turn out to be nothing is [`Formula::Solved`]: it is there where nothing else says the
    /// extent.
    pub fn formulas(&self, known: BTreeSet<ClassId>) -> Vec<(ClassId, Formula)> {
        let says = |all: &BTreeMap<ClassId, Formula>, c: ClassId| {
            known.contains(&c) || all.contains_key(&c) || self.value(c).is_some()
        };
        let mut all = BTreeMap::new();
        loop {
            let follows = |e: &Equation| e.formula(self, |c| says(&all, c));
            let found: Vec<(ClassId, Formula)> = self.equations.iter().filter_map(follows).collect();
            let by = found.iter().find(|(_, f)| !matches!(f, Formula::Solved(_))).or(found.first());
            let Some((class, formula)) = by.cloned() else { return sorted(all) };
            all.insert(class, formula);
        }
    }

    /// What holds between extents whatever the data, as text: the values that the program says, then the equations.
    /// `params` are the names of some; others follow from these.
    pub fn equations(&self, params: &BTreeMap<ClassId, String>) -> Vec<String> {
        let name = |node: usize| {
            let class = self.class_of(node);
            let other = || params.get(&class).cloned().unwrap_or_else(|| format!("n_{}", self.name(class)));
            self.value(class).map_or_else(other, |value| value.to_string())
        };
        let said = params.iter().filter_map(|(c, name)| Some(format!("{name} = {}", self.value(*c)?)));
        let mut all: Vec<String> = said.collect();
        for text in self.equations.iter().filter_map(|e| e.text(self, &name)) {
            if !all.contains(&text) {
                all.push(text);
            }
        }
        all
    }

    /// The extents that the caller says, each once, with the first size that is it.
    pub fn given(&self) -> BTreeMap<ClassId, SizeId> {
        let unsaid = self.given.iter().rev().map(|size| (self.class_of_size(*size), *size));
        unsaid.filter(|(class, _)| self.value(*class).is_none()).collect()
    }

    /// The extents that are polynomials in others whatever those are, none of which is one itself.
    pub fn sizes(&self) -> BTreeMap<ClassId, Size> {
        let mut all: BTreeMap<ClassId, Size> = BTreeMap::new();
        for (class, size) in self.equations.iter().filter_map(|e| e.whole(self)) {
            let size = size.within(&|c| all.get(&c).cloned());
            if self.value(class).is_some() || all.contains_key(&class) || size.mentions(class) {
                continue;
            }
            let put = |c: ClassId| (c == class).then(|| size.clone());
            all.values_mut().for_each(|s| *s = s.within(&put));
            all.insert(class, size);
        }
        all
    }

    pub(super) fn class_of(&self, node: usize) -> ClassId {
        ClassId(self.find(node) as u32)
    }

    /// For people, and for the names of parameters: a size's name, else an index variable's, else the value.
    pub fn name(&self, class: ClassId) -> String {
        let root = self.find(class.0 as usize);
        let named = (0..self.parent.len()).find(|n| self.names[*n].is_some() && self.find(*n) == root);
        let value = || self.value(class).map_or(format!("e{root}"), |v| v.to_string());
        named.and_then(|n| self.names[n].clone()).unwrap_or_else(value)
    }

    /// The extent of a node's class.
    pub(super) fn extent(&self, node: usize) -> Option<u64> {
        self.known[self.find(node)].as_ref().map(|k| k.extent)
    }

    /// The extent of an index variable.
    pub(super) fn extent_of_var(&self, var: VarId) -> Option<u64> {
        self.extent(self.sizes + var.index())
    }

    /// The index variable of a node that is one.
    pub(super) fn var(&self, node: usize) -> VarId {
        VarId((node - self.sizes) as u32)
    }

    /// What a message calls a node.
    pub(super) fn called(&self, node: usize) -> String {
        let kind = if node < self.sizes { "size" } else { "index variable" };
        if let Some(mode) = &self.unwritten[node] {
            return mode.clone();
        }
        match (&self.names[node], &self.known[node]) {
            (Some(name), _) => format!("{kind} `{name}`"),
            (None, Some(known)) => known.by.clone(),
            (None, None) => "an extent".to_string(),
        }
    }

    /// Where a node first stands.
    pub(super) fn span(&self, node: usize) -> Span {
        self.spans[node]
    }
}

/// Whether a function gives a tensor's values.
fn is_function(tensor: &Tensor) -> bool {
    matches!(tensor.role, Role::Computed(_))
}

/// The sizes that a program uses as values, in indices, or as bounds of slices, each with where.
pub(super) fn values(program: &Program) -> Vec<(SizeId, Span)> {
    let mut all = Vec::new();
    for cut in program.statements.iter().flat_map(|s| &s.cuts) {
        let bounds = [Some(&cut.start), cut.end.as_ref()].into_iter().flatten();
        all.extend(bounds.flat_map(|b| &b.terms).map(|(_, size)| (*size, cut.span)));
    }
    for s in &program.statements {
        s.indices.iter().for_each(|index| in_map(&index.map, index.span, &mut all));
        in_expr(&s.rhs, &mut all);
    }
    program.each_step(&mut |step| {
        if let Step::Repeat(Repeat { turns: Turns::While(condition), .. }) = step {
            in_expr(condition, &mut all);
        }
    });
    all
}

fn in_expr(e: &Expr, all: &mut Vec<(SizeId, Span)>) {
    e.walk(&mut |e| match &e.kind {
        Kind::Size(size) => all.push((*size, e.span)),
        Kind::Access(_, indices) => indices.iter().for_each(|index| in_map(&index.map, index.span, all)),
        Kind::Slice { start, end, .. } => {
            let bounds = [Some(start), end.as_ref()].into_iter().flatten();
            all.extend(bounds.flat_map(|b| &b.terms).map(|(_, size)| (*size, e.span)));
        }
        _ => {}
    });
}

fn in_map(map: &Map, place: Span, all: &mut Vec<(SizeId, Span)>) {
    match map {
        Map::Var(_) | Map::Const(_) => {}
        Map::Bound(bound) => all.extend(bound.terms.iter().map(|(_, size)| (*size, place))),
        Map::Add(a, b) => [a, b].into_iter().for_each(|part| in_map(part, place, all)),
        Map::Mul(_, a) | Map::Div(a, _) | Map::Mod(a, _) => in_map(a, place, all),
        Map::Gather(_, indices) => indices.iter().for_each(|index| in_map(&index.map, index.span, all)),
        Map::Computed(e) => in_expr(e, all),
    }
}

/// The sizes whose extents say how often blocks are repeated, and where.
fn turns(program: &Program) -> Vec<(SizeId, Span)> {
    let mut all = Vec::new();
    program.each_step(&mut |step| {
        if let Step::Repeat(Repeat { turns: Turns::Extent(size, var), .. }) = step {
            all.push((*size, program.vars[var.index()].span));
        }
    });
    all
}

/// Formulas, each behind those that it follows from.
fn sorted(mut all: BTreeMap<ClassId, Formula>) -> Vec<(ClassId, Formula)> {
    let mut sorted = Vec::new();
    while let Some(next) = all.iter().find(|(_, f)| f.sources().iter().all(|c| !all.contains_key(c))) {
        let class = *next.0;
        sorted.extend(all.remove_entry(&class));
    }
    sorted
}

fn contradiction(what: &str, span: Span, one: &Known, other: &Known) -> Diagnostic {
    let message = format!("{what} has extent {} ({}) and extent {} ({})", one.extent, one.by, other.extent, other.by);
    Diagnostic::new(span, message)
        .label(one.span, format!("extent {}", one.extent))
        .label(other.span, format!("extent {}", other.extent))
        .help("equal names and shared index variables mean equal extents: change one, or use another index variable")
}
