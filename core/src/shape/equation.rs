//! Shape operators as equations between extents, solved in every direction that is determined.
//!
//! ```text
//!  collapse, split   whole = part₀ · part₁ · …
//!  concat            whole = part₀ + part₁ + …
//!  slice             to = ⌈(end − start) / step⌉,   end ≤ from,   end = from if it is not written
//! ```

use super::classes::Classes;
use crate::map::{ClassId, Size};
use crate::notation::typed::{self, Bound, Command, CommandKind, Expr, Kind, Parts, Program, SizeId, VarId};
use crate::notation::{Diagnostic, Span};

/// One operator's equation, over nodes of [`Classes`].
#[derive(Clone, Debug)]
pub(super) struct Equation {
    form: Form,
    operator: &'static str,
    span: Span,
}

#[derive(Clone, Debug)]
enum Form {
    Product { parts: Vec<usize>, whole: usize },
    Sum { parts: Vec<usize>, whole: usize },
    Slice { from: usize, to: usize, start: Bound, end: Option<Bound>, step: u64 },
}

/// An extent as a function of others.
#[derive(Clone, Debug, PartialEq)]
pub enum Formula {
    /// a · b · …
    Product(Vec<ClassId>),
    /// a + b + …
    Sum(Vec<ClassId>),
    /// A whole divided by the other parts, whose product the program says, and is not nothing.
    Quotient(ClassId, i64),
    /// That of this index variable, by solving the equations with all others: a whole divided by other parts, which may be
    /// nothing. Then so is the whole, and something else says it.
    Solved(VarId),
    /// The whole without the other parts.
    Difference(ClassId, Vec<ClassId>),
    /// ⌈(constant + Σ factor · extent) / step⌉
    Steps {
        /// What is added.
        constant: i64,
        /// Extents, each with its factor.
        terms: Vec<(i64, ClassId)>,
        /// At least 1.
        step: u64,
    },
}

impl Formula {
    /// The extents that it is a function of.
    pub fn sources(&self) -> Vec<ClassId> {
        match self {
            Formula::Product(of) | Formula::Sum(of) => of.clone(),
            Formula::Difference(whole, of) => of.iter().chain([whole]).copied().collect(),
            Formula::Steps { terms, .. } => terms.iter().map(|(_, of)| *of).collect(),
            Formula::Quotient(of, _) => vec![*of],
            Formula::Solved(_) => vec![],
        }
    }
}

/// The equations of all shape operators; index variable v is node `sizes + v`.
pub(super) fn equations(program: &Program, sizes: usize) -> Vec<Equation> {
    let node = |v: &VarId| sizes + v.index();
    let mut found = Vec::new();
    let mut each = |e: &Expr| {
        let (form, operator) = match &e.kind {
            Kind::Collapse { from, to, .. } => {
                (Form::Product { parts: from.iter().map(node).collect(), whole: node(to) }, "collapse")
            }
            Kind::Split { from, to, .. } => {
                (Form::Product { parts: vec![node(&to.0), node(&to.1)], whole: node(from) }, "split")
            }
            Kind::Concat { from, to, .. } => {
                (Form::Sum { parts: from.iter().map(node).collect(), whole: node(to) }, "concat")
            }
            Kind::Slice { from, to, start, end, step, .. } => {
                let (start, end) = (start.clone(), end.clone());
                (Form::Slice { from: node(from), to: node(to), start, end, step: *step }, "slice")
            }
            _ => return,
        };
        found.push(Equation { form, operator, span: e.span });
    };
    program.statements.iter().for_each(|s| s.rhs.walk(&mut each));
    for s in &program.statements {
        found.extend(s.cuts.iter().map(|cut| {
            let typed::Cut { mode, var, start, end, step, span } = cut.clone();
            let from = program.tensors[s.tensor.index()].sizes[mode].index();
            Equation { form: Form::Slice { from, to: node(&var), start, end, step }, operator: "slice", span }
        }));
    }
    let counted = program.counted();
    let derives = |command: &Command| derived(command, sizes, |v| counted.contains(&v));
    found.extend(program.commands().filter_map(derives));
    found
}

/// The equation of a command that derives index variables.
fn derived(command: &Command, sizes: usize, counts: impl Fn(VarId) -> bool) -> Option<Equation> {
    let node = |v: &VarId| sizes + v.index();
    let zero = || Bound { constant: 0, terms: vec![] };
    let (form, operator) = match &command.kind {
        CommandKind::Split { from, to: (outer, inner), parts } if !counts(*outer) => {
            let (to, step) = match parts {
                Parts::Of(n) => (outer, *n),
                Parts::Into(n) => (inner, *n),
            };
            (Form::Slice { from: node(from), to: node(to), start: zero(), end: None, step }, "split")
        }
        CommandKind::Collapse { from: (outer, inner), to } if !counts(*to) => {
            (Form::Product { parts: vec![node(outer), node(inner)], whole: node(to) }, "collapse")
        }
        _ => return None,
    };
    Some(Equation { form, operator, span: command.span })
}

/// The arithmetic by which parts make a whole.
struct Whole<'f> {
    /// The whole of no parts.
    unit: u64,
    /// The sign between parts.
    symbol: &'static str,
    /// The whole of two parts; `None` if it is not below 2⁶³.
    fold: &'f dyn Fn(u64, u64) -> Option<u64>,
    /// The part that is left over beside the others: `Some(None)` if there is none, `None` if it may be any.
    rest: &'f dyn Fn(u64, u64) -> Option<Option<u64>>,
}

impl Equation {
    /// Learns what follows from what is known. Returns whether something was new.
    pub(super) fn propagate(&self, classes: &mut Classes, errors: &mut Vec<Diagnostic>) -> bool {
        match &self.form {
            Form::Product { parts, whole } => {
                let product = |a: u64, b: u64| a.checked_mul(b).filter(|p| *p <= i64::MAX as u64);
                let rest = |whole: u64, others: u64| match others {
                    0 => None,
                    _ => Some(whole.is_multiple_of(others).then_some(whole / others)),
                };
                let whole_of = Whole { unit: 1, symbol: "·", fold: &product, rest: &rest };
                self.fold((classes, errors), parts, *whole, &whole_of)
            }
            Form::Sum { parts, whole } => {
                let sum = |a: u64, b: u64| a.checked_add(b).filter(|s| *s <= i64::MAX as u64);
                let rest = |whole: u64, others: u64| Some(whole.checked_sub(others));
                self.fold((classes, errors), parts, *whole, &Whole { unit: 0, symbol: "+", fold: &sum, rest: &rest })
            }
            Form::Slice { from, to, start, end, step } => {
                self.slice(classes, errors, [*from, *to], (start, end.as_ref(), *step))
            }
        }
    }

    /// `whole` is the fold of `parts`.
    fn fold(
        &self,
        (classes, errors): (&mut Classes, &mut Vec<Diagnostic>),
        parts: &[usize],
        whole: usize,
        Whole { unit, symbol, fold, rest }: &Whole,
    ) -> bool {
        let unknown: Vec<usize> = parts.iter().copied().filter(|p| classes.extent(*p).is_none()).collect();
        let known: Vec<u64> = parts.iter().filter_map(|p| classes.extent(*p)).collect();
        let written = known.iter().map(u64::to_string).collect::<Vec<_>>().join(&format!(" {symbol} "));
        let Some(folded) = known.iter().try_fold(*unit, |a, b| fold(a, *b)) else {
            let message = format!("the extent {written} of `{}` is not below 2⁶³", self.operator);
            errors.push(Diagnostic::new(self.span, message).help("extents are below 2⁶³"));
            return false;
        };
        if unknown.is_empty() {
            if let Some(extent) = classes.extent(whole).filter(|e| *e != folded && self.operator == "split") {
                let message = format!("`split` of extent {extent} into parts of {written}, which is {folded}");
                let help = format!("the two extents have to multiply to {extent}");
                errors.push(self.at(classes, whole, message).help(help));
                return false;
            }
            return classes.learn(whole, folded, &format!("`{}`: {written}", self.operator), self.span, errors);
        }
        if *unit == 1 && folded == 0 && classes.extent(whole).is_none() {
            // Nothing times whatever.
            return classes.learn(whole, 0, &format!("`{}`: {written}", self.operator), self.span, errors);
        }
        if let ([part], None, true) = (&unknown[..], classes.extent(whole), folded == *unit) {
            // The known parts are units of the fold, so the unknown part has the whole's extent.
            return classes.equal(*part, whole, &format!("`{}`", self.operator), self.span, errors);
        }
        let ([part], Some(extent)) = (&unknown[..], classes.extent(whole)) else { return false };
        match rest(extent, folded) {
            None => false,
            Some(Some(left)) => {
                classes.learn(*part, left, &format!("`{}` of {extent}", self.operator), self.span, errors)
            }
            Some(None) => {
                let what = classes.called(*part);
                let message = format!("`{}`: no extent of {what} makes {written} into {extent}", self.operator);
                errors.push(
                    self.at(classes, whole, message)
                        .help("a split has to divide, and parts are not longer than the whole"),
                );
                false
            }
        }
    }

    fn at(&self, classes: &Classes, node: usize, message: String) -> Diagnostic {
        Diagnostic::new(self.span, message).label(classes.span(node), classes.called(node))
    }

    fn slice(
        &self,
        classes: &mut Classes,
        errors: &mut Vec<Diagnostic>,
        [from, to]: [usize; 2],
        (start, end, step): (&Bound, Option<&Bound>, u64),
    ) -> bool {
        let value = |bound: &Bound| bound.value(|size| classes.extent(size.index()));
        let extent = classes.extent(from).map(i128::from);
        let (begins, ends) = (value(start), end.map_or(extent, value));
        if let Some(wrong) = self.leaves(classes, from, (begins, end.and(ends), extent)) {
            errors.push(wrong);
            return false;
        }
        let shown = |bound: &Bound| value(bound).map_or("…".to_string(), |n| n.to_string());
        let by = format!("`slice` {}:{}:{step}", shown(start), end.map_or(String::new(), shown));
        let held = |n: i128| u64::try_from(n).ok().filter(|n| *n <= i64::MAX as u64);
        match (begins, ends, classes.extent(to)) {
            (Some(start), Some(end), _) => match held(end - start) {
                Some(length) => classes.learn(to, length.div_ceil(step), &by, self.span, errors),
                None => false,
            },
            (Some(start), None, Some(length)) if step == 1 && end.is_none() => match held(start + length as i128) {
                Some(extent) => classes.learn(from, extent, &by, self.span, errors),
                None => {
                    errors.push(self.at(classes, from, "the extent under this slice is not below 2⁶³".to_string()));
                    false
                }
            },
            _ => false,
        }
    }

    /// What is wrong with a slice whose start, written end and extent beneath are these, as far as they are known.
    fn leaves(
        &self,
        classes: &Classes,
        from: usize,
        (start, end, extent): (Option<i128>, Option<i128>, Option<i128>),
    ) -> Option<Diagnostic> {
        if let Some(n) = start.into_iter().chain(end).find(|n| *n < 0) {
            let message = format!("the slice reaches {n}, before the first coordinate");
            return Some(Diagnostic::new(self.span, message).help("start the slice at 0 or behind"));
        }
        if let (Some(start), Some(end)) = (start, end.filter(|end| start.is_some_and(|s| s > *end))) {
            let message = format!("the slice starts at {start}, behind its end {end}");
            return Some(Diagnostic::new(self.span, message).help("a slice that begins where it ends is empty"));
        }
        let extent = extent?;
        let past = end.or(start).filter(|past| *past > extent)?;
        let message = format!("the slice reaches {past}, past the extent {extent} of {}", classes.called(from));
        Some(self.at(classes, from, message).help(format!("end the slice at {extent} or before")))
    }

    /// The extent that follows when others are known, and how.
    pub(super) fn formula(&self, classes: &Classes, known: impl Fn(ClassId) -> bool) -> Option<(ClassId, Formula)> {
        let class = |n: &usize| classes.class_of(*n);
        let open = |n: &&usize| !known(class(n));
        let (parts, whole, product) = match &self.form {
            Form::Product { parts, whole } => (parts, whole, true),
            Form::Sum { parts, whole } => (parts, whole, false),
            Form::Slice { from, to, start, end, step } => {
                let bounds = [Some(start), end.as_ref()].into_iter().flatten();
                let of_sizes = |sign: i64, b: &Bound| {
                    let term = |(factor, size): &(i64, SizeId)| (sign * factor, class(&size.index()));
                    (sign * b.constant, b.terms.iter().map(term).collect::<Vec<_>>())
                };
                if bounds.flat_map(|b| &b.terms).any(|(_, size)| !known(class(&size.index()))) {
                    return None;
                }
                let steps = |(constant, terms): (i64, Vec<(i64, ClassId)>), more: Vec<(i64, ClassId)>, step: u64| {
                    Formula::Steps { constant, terms: [more, terms].concat(), step }
                };
                // A slice that ends before the end says nothing of what is behind.
                return match (end, open(&from), open(&to), step) {
                    (Some(end), _, true, _) => {
                        let (constant, terms) = of_sizes(1, end);
                        let (less, taken) = of_sizes(-1, start);
                        Some((class(to), steps((constant + less, taken), terms, *step)))
                    }
                    (None, false, true, _) => {
                        Some((class(to), steps(of_sizes(-1, start), vec![(1, class(from))], *step)))
                    }
                    (None, true, false, 1) => Some((class(from), steps(of_sizes(1, start), vec![(1, class(to))], 1))),
                    _ => None,
                };
            }
        };
        let unknown: Vec<usize> = (0..parts.len()).filter(|n| open(&&parts[*n])).collect();
        match (&unknown[..], open(&whole)) {
            ([], true) => {
                let parts = parts.iter().map(class).collect();
                Some((class(whole), if product { Formula::Product(parts) } else { Formula::Sum(parts) }))
            }
            ([one], false) => {
                let others = parts.iter().enumerate().filter(|(n, _)| n != one).map(|(_, p)| class(p));
                let (whole, others): (_, Vec<ClassId>) = (class(whole), others.collect());
                let values: Vec<Option<u64>> = others.iter().map(|c| classes.value(*c)).collect();
                let by = values.iter().try_fold(1, |by: i64, n| by.checked_mul(i64::try_from((*n)?).ok()?));
                let own = || classes.var_of(class(&parts[*one]));
                let rest = match by {
                    _ if !product => Formula::Difference(whole, others),
                    _ if values.contains(&Some(0)) => return None,
                    Some(by) => Formula::Quotient(whole, by),
                    None => Formula::Solved(own()?),
                };
                Some((class(&parts[*one]), rest))
            }
            _ => None,
        }
    }

    /// An extent that is a polynomial in others whatever they are: a whole in its parts, what is sliced in the slice.
    pub(super) fn whole(&self, classes: &Classes) -> Option<(ClassId, Size)> {
        let size = |n: &usize| classes.size(classes.class_of(*n));
        let (whole, size) = match &self.form {
            Form::Product { parts, whole } => (whole, parts.iter().fold(Size::number(1), |p, n| p.times(&size(n)))),
            Form::Sum { parts, whole } => (whole, parts.iter().fold(Size::default(), |s, n| s.plus(&size(n)))),
            Form::Slice { from, to, start, end: None, step: 1 } => (from, size(to).plus(&classes.bound(start))),
            Form::Slice { to, start, end: Some(end), step: 1, .. } => {
                (to, classes.bound(end).plus(&classes.bound(start).negative()))
            }
            Form::Slice { .. } => return None,
        };
        Some((classes.class_of(*whole), size))
    }

    /// As text, of nodes that are called so; nothing of one whose extents are all known, or said by the program.
    pub(super) fn text(&self, classes: &Classes, name: &dyn Fn(usize) -> String) -> Option<String> {
        let fold = |parts: &[usize], symbol: &str| parts.iter().map(|p| name(*p)).collect::<Vec<_>>().join(symbol);
        let (nodes, text) = match &self.form {
            Form::Product { parts, whole } => {
                ([&parts[..], &[*whole]].concat(), format!("{} = {}", name(*whole), fold(parts, " * ")))
            }
            Form::Sum { parts, whole } => {
                ([&parts[..], &[*whole]].concat(), format!("{} = {}", name(*whole), fold(parts, " + ")))
            }
            Form::Slice { from, to, start, end: Some(end), step } => {
                let (from_name, start_text, end_text) = (name(*from), shown(start, name), shown(end, name));
                let reaches = format!("{from_name} >= {end_text}");
                match start.terms.is_empty() && end.terms.is_empty() {
                    true => (vec![*from], reaches),
                    false => {
                        let length = format!("{} = ({end_text} - ({start_text})) / {step}, rounded up", name(*to));
                        (vec![*from, *to], format!("{reaches} >= {start_text} >= 0, {length}"))
                    }
                }
            }
            Form::Slice { from, to, start, step: 1, .. } => {
                (vec![*from, *to], format!("{} = {} + {}", name(*from), name(*to), shown(start, name)))
            }
            Form::Slice { from, to, start, step, .. } => {
                let (from_name, to, start) = (name(*from), name(*to), shown(start, name));
                (vec![*from], format!("{from_name} >= {start}, {to} = ({from_name} - {start}) / {step}, rounded up"))
            }
        };
        nodes.into_iter().any(|n| classes.extent(n).is_none()).then_some(text)
    }

    /// Marks what is known once what is marked is known. Returns whether something was new.
    pub(super) fn determines(&self, classes: &Classes, known: &mut [bool]) -> bool {
        let (sources, targets): (Vec<usize>, Vec<usize>) = match &self.form {
            Form::Product { parts, whole } | Form::Sum { parts, whole } => {
                let all: Vec<usize> = parts.iter().chain([whole]).copied().collect();
                let open: Vec<usize> = all.iter().copied().filter(|n| !known[classes.find(*n)]).collect();
                // Nothing times whatever is nothing.
                let product = matches!(self.form, Form::Product { .. });
                let nothing = product && parts.iter().any(|n| classes.extent(*n) == Some(0));
                (Vec::new(), if open.len() == 1 && (!nothing || open[0] == *whole) { open } else { Vec::new() })
            }
            Form::Slice { to, start, end: Some(end), .. } => ([nodes(start), nodes(end)].concat(), vec![*to]),
            Form::Slice { from, to, start, step, .. } => {
                match (known[classes.find(*from)], known[classes.find(*to)], step) {
                    (true, ..) => ([nodes(start), vec![*from]].concat(), vec![*to]),
                    (false, true, 1) => ([nodes(start), vec![*to]].concat(), vec![*from]),
                    _ => (Vec::new(), Vec::new()),
                }
            }
        };
        let ready = sources.iter().all(|n| known[classes.find(*n)]);
        let mut new = false;
        for node in targets.into_iter().filter(|_| ready) {
            new |= !std::mem::replace(&mut known[classes.find(node)], true);
        }
        new
    }
}

/// The sizes of a bound, as nodes.
fn nodes(bound: &Bound) -> Vec<usize> {
    bound.terms.iter().map(|(_, size)| size.index()).collect()
}

/// A bound as text, its sizes called so.
fn shown(bound: &Bound, name: &dyn Fn(usize) -> String) -> String {
    let mut text = String::new();
    for (factor, size) in &bound.terms {
        let sign = match (text.is_empty(), *factor < 0) {
            (true, false) => "",
            (true, true) => "-",
            (false, false) => " + ",
            (false, true) => " - ",
        };
        let times = if factor.unsigned_abs() == 1 { String::new() } else { format!("{} * ", factor.unsigned_abs()) };
        text += &format!("{sign}{times}{}", name(size.index()));
    }
    match (text.is_empty(), bound.constant) {
        (true, n) => n.to_string(),
        (false, 0) => text,
        (false, n) if n < 0 => format!("{text} - {}", n.unsigned_abs()),
        (false, n) => format!("{text} + {n}"),
    }
}
