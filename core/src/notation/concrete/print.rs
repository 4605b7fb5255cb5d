//! The text of concrete programs.
//!
//! ```text
//!  extents I@0, J@1                                 # names, with the numbers of their classes
//!  fn twice(x: f64): f64 { x + x } where annihilator(0.0)      # `concrete/print/function.rs`
//!  operand A@0: f64[I, J] {dense, compressed}       # name and number, type, extents, fill if it is not 0, levels
//!  temporary s: f64[J] {compressed}
//!  result y@2: f64[I] {dense}
//!
//!  (forall j: s[j] = w[j]) where dense (forall i: forall j: w[j] += A[i, j])
//!  forall i: y[i] = sum(j: A[i, j] * s[j])
//!  forall i: z[i] = twice(j: A[i, j] start y[i])              # a fold in order
//!  forall i: z[i] = sum(j: A[i, j] in order)        # the same, of a built-in of which there are others
//!  forall j: y[m0 = j / 2] max= s[j]                # a scatter: its own variable m0, and the place
//!  forall j: y[m0 = j / 2] twice= s[j] from y_in    # a scatter into what was there
//!  forall k: t[k] = x[i = 2*k + 3]                  # a mapped variable i
//!  forall i: r[] += x[i gallop] * y[i]              # a protocol
//!  forall i: t[i] = sum(j: sum(k: A[j, k] * A[i, k spread]))    # a list that stays while others move
//!  forall k: t[k] = x[i from p[k]] + x[m within 3 - k]       # computed ones; m may leave x
//!  forall l: z[l] = concat(l; i: x[i], k: y[k])     # parts, each with its own variable
//!  forall i: forall k: M[i, k] = (W[k] where (forall kw: W[kw] = A[i, kw]))      # a temporary that is made inside of loops
//!
//!  while e[] > 1.0e-6 {                             # a block; also `repeat 20 {`, and `repeat |N| {` of an extent
//!    forall i: x_2[i] = 0.5 * x[i]
//!    next x = x_2                                   # what the next iteration takes for x
//!  }
//! ```
//!
//! What is cut into pieces stands behind the tensors, and at its loops (`concrete/cut.rs`).
//! A loop that goes as far as a coordinate that it is a part of says so: `forall i1 in J while 16*i0 + i1 < |I|:`.
//! A mapped or computed variable is written with what it is wherever it stands, as a value in `index(i = …)`, on the left side
//! `c[k: |J|*i + j]`. A map is a sum of products
//! of one number at most, extents, and one variable at most: `|J|*i + j`.
//!
//! One line a function, one line a tensor, one line a nest, and one where a block begins, for what it carries, and where it ends. A variable runs over the extent of the first mode under which it stands in its
//! nest, the target's first; where it does not, the loop says so: `forall i in J:`. A workspace is called `w`, whatever
//! else is: it stands alone on the right of what drains it and on the left of what fills it, under its coordinates in
//! the order in which it is drained.
//!
//! Literals and operators are those of loops. What is read from a print is the program, provided that its variables and
//! accesses are numbered in order of appearance, as [`Program::numbered`] does.

mod function;

use super::{
    Access, Also, Carried, Claim, Cut, Expr, Index, Keys, Length, Limit, Nest, Origin, Place, Program, Repeat, Role,
    Step, Tensor, Terms, Turns, Within, Workspace, reduction_name,
};
use crate::algebra::{Op, Value};
use crate::map::{ClassId, Map, Size};
use crate::notation::typed::Fun;
use crate::stack::with_room;
use crate::text::{DEPTH, Printing, literal};
use std::fmt::{self, Write};

/// A part of a program, as text.
pub(super) struct Shown<'a>(pub &'a Program, pub &'a Nest);

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        with_room(|| self.print(f))
    }
}

impl Program {
    fn print(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.extents.is_empty() {
            let extents: Vec<String> = self.extents.iter().map(|(class, name)| format!("{name}@{}", class.0)).collect();
            writeln!(f, "extents {}", extents.join(", "))?;
        }
        self.functions.iter().try_for_each(|fun| writeln!(f, "{}", function::Shown(&self.functions, fun)))?;
        self.tensors.iter().try_for_each(|t| self.declare(t, f))?;
        for Cut { counted, tensors, extents } in &self.cuts {
            let tensors: Vec<&str> = tensors.iter().map(|t| self.tensors[t.0].name.as_str()).collect();
            let extents: Vec<String> = extents.iter().map(|e| self.extent_name(*e)).collect();
            let space = if tensors.is_empty() { "" } else { " " };
            writeln!(f, "cut {}{space}{} over {}", counted.name(), tensors.join(", "), extents.join(", "))?;
        }
        writeln!(f)?;
        self.steps.iter().try_for_each(|step| self.step(step, 0, f))
    }
}

/// An expression that stands in no nest, as text.
struct Condition<'a>(&'a Program, &'a Expr);

impl fmt::Display for Condition<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Printer { program: self.0, nest: None, depth: DEPTH, out: f }.expr(self.1, 0)
    }
}

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Printer { program: self.0, nest: Some(self.1), depth: DEPTH, out: f }.nest(self.1)
    }
}

impl Program {
    /// A step, `depth` blocks deep.
    fn step(&self, step: &Step, depth: usize, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let margin = "  ".repeat(depth);
        let Repeat { turns, steps, carried } = match step {
            Step::Nest(nest) => return writeln!(f, "{margin}{}", Shown(self, nest)),
            Step::Repeat(block) => block,
        };
        match turns {
            Turns::Count(n) => writeln!(f, "{margin}repeat {n} {{")?,
            Turns::Extent(class) => writeln!(f, "{margin}repeat |{}| {{", self.extent_name(*class))?,
            Turns::While(condition) => writeln!(f, "{margin}while {} {{", Condition(self, condition))?,
        }
        steps.iter().try_for_each(|step| self.step(step, depth + 1, f))?;
        let name = |place: Place| &self.tensors[place.0].name;
        for Carried { tensor, last } in carried {
            writeln!(f, "{margin}  next {} = {}", name(*tensor), name(*last))?;
        }
        writeln!(f, "{margin}}}")
    }

    fn extent_name(&self, class: ClassId) -> String {
        self.extents.get(&class).cloned().unwrap_or_else(|| format!("extent{}?", class.0))
    }

    fn declare(&self, t: &Tensor, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match t.role {
            Role::Operand(id) => write!(f, "operand {}@{}", t.name, id.0)?,
            Role::Result(id) => write!(f, "result {}@{}", t.name, id.0)?,
            Role::Temporary => write!(f, "temporary {}", t.name)?,
        }
        let extents: Vec<String> = t.extents.iter().map(|e| self.extent_name(*e)).collect();
        write!(f, ": {}[{}]", t.ty, extents.join(", "))?;
        if t.fill != Value::zero(t.ty) {
            write!(f, " fill {}", literal(t.fill))?;
        }
        writeln!(f, " {}", t.format)
    }

    /// The extent of the first mode under which a variable stands in a nest.
    fn evident(&self, nest: &Nest, v: Index) -> Option<ClassId> {
        let at = |a: &Access| {
            let m = a.vars.iter().position(|u| *u == v)?;
            self.tensors[a.tensor.0].extents.get(m).copied()
        };
        let accesses = |e: &Expr| self.reads(e).into_iter().find_map(|a| at(&self.accesses[a.0]));
        let places = || {
            let places = nest.places();
            self.written(nest).into_iter().find_map(|m| accesses(places.get(m)?))
        };
        // What is made inside of loops is read under loops, too.
        let made = || {
            let mut found = None;
            nest.rhs.each(&mut |e| {
                if let Expr::Where(made, _) = e {
                    found = found.or_else(|| at(&self.accesses[made.read.0]));
                }
            });
            found
        };
        at(&nest.target).or_else(places).or_else(|| accesses(&nest.rhs)).or_else(made)
    }
}

/// Writes one nest, or a condition.
struct Printer<'a, 'f, 'g> {
    program: &'a Program,
    nest: Option<&'a Nest>,
    /// How much deeper an expression may be.
    depth: usize,
    out: &'f mut fmt::Formatter<'g>,
}

impl Printer<'_, '_, '_> {
    fn bare(&self, v: Index) -> String {
        self.program.vars[v.0].name.clone()
    }

    /// A variable on the left side, with its map if it is mapped.
    fn written(&self, v: Index) -> String {
        match &self.program.vars[v.0].origin {
            Origin::Mapped(map) => format!("{}: {}", self.bare(v), self.map(map)),
            Origin::Loop | Origin::Part(_) | Origin::Computed(_) => self.bare(v),
        }
    }

    /// A variable, with what it is if no loop binds it.
    fn named(&mut self, v: Index) -> fmt::Result {
        let program = self.program;
        match &program.vars[v.0].origin {
            Origin::Mapped(map) => write!(self.out, "{} = {}", self.binding(v), self.map(map)),
            Origin::Loop | Origin::Part(_) => write!(self.out, "{}", self.bare(v)),
            Origin::Computed(c) => {
                let how = if c.permit { "within" } else { "from" };
                write!(self.out, "{} {}{how} ", self.binding(v), if c.caught { "caught " } else { "" })?;
                self.expr(&c.of, 0)
            }
        }
    }

    fn map(&self, map: &Map<Index>) -> String {
        let variables = map.factors.iter().flat_map(|(v, f)| self.terms(f, Some(&self.program.vars[v.0].name)));
        let terms: Vec<(i64, String)> = variables.chain(self.terms(&map.constant, None)).collect();
        let mut text = String::new();
        for (n, (factor, product)) in terms.iter().enumerate() {
            text += match (n, *factor < 0) {
                (0, false) => "",
                (0, true) => "-",
                (_, false) => " + ",
                (_, true) => " - ",
            };
            text += &match (factor.unsigned_abs(), product.as_str()) {
                (n, "") => n.to_string(),
                (1, product) => product.to_string(),
                (n, product) => format!("{n}*{product}"),
            };
        }
        if terms.is_empty() { "0".to_string() } else { text }
    }

    /// The terms of a size, each its number and the rest of the product.
    fn terms(&self, size: &Size, variable: Option<&str>) -> Vec<(i64, String)> {
        let term = |(n, extents): (i64, &[ClassId])| {
            let extents = extents.iter().map(|e| format!("|{}|", self.program.extent_name(*e)));
            let product: Vec<String> = extents.chain(variable.map(str::to_string)).collect();
            (n, product.join("*"))
        };
        size.terms().map(term).collect()
    }

    /// A variable where it is bound.
    fn binding(&self, v: Index) -> String {
        let var = &self.program.vars[v.0];
        let unroll = if var.hints.unroll > 0 { format!(" unroll {}", var.hints.unroll) } else { String::new() };
        let lanes = if var.hints.lanes { " lanes" } else { "" };
        let limits: String = var.limits.iter().map(|limit| self.limit(limit)).collect();
        let deal = var.hints.deal.map(|deal| format!(" {}", deal.name())).unwrap_or_default();
        let claim = Claim::ALL.into_iter().find(|claim| var.hints.claim == *claim);
        let claim = claim.map_or(String::new(), |claim| format!(" {}", claim.name()));
        let seamed = if var.hints.seamed { " seamed" } else { "" };
        let limits = format!("{unroll}{lanes}{deal}{claim}{seamed}{limits}");
        match self.nest.and_then(|nest| self.program.evident(nest, v)) {
            Some(extent) if extent == var.extent => format!("{}{limits}", var.name),
            _ => format!("{} in {}{limits}", var.name, self.program.extent_name(var.extent)),
        }
    }

    /// What ends a loop, behind its variable.
    fn limit(&self, limit: &Limit) -> String {
        let term = |(v, by): &(Index, Vec<Length>)| {
            let by: String = by.iter().map(|length| format!(" by {length}")).collect();
            format!("{}{by}", self.bare(*v))
        };
        let terms = |all: &Terms| all.iter().map(term).collect::<Vec<_>>().join(" + ");
        match limit {
            Limit::Below { at, extent } => format!(" while {} < |{}|", self.map(at), self.program.extent_name(*extent)),
            Limit::Pieces { cut, turns } => format!(" pieces {cut} of {turns}"),
            Limit::Within(Within { cut, place, from, unit, ends, beyond }) => {
                let ends: String = ends.iter().map(|(end, n)| format!(" to {} for {n}", terms(end))).collect();
                let beyond: String = beyond.iter().map(|(part, n)| format!(" below {} for {n}", terms(part))).collect();
                format!(" within {cut} at {place} from {} for {unit}{ends}{beyond}", terms(from))
            }
        }
    }

    fn foralls(&mut self, vars: &[Index]) -> fmt::Result {
        vars.iter().try_for_each(|v| {
            let binding = self.binding(*v);
            write!(self.out, "forall {binding}: ")
        })
    }

    fn nest(&mut self, nest: &Nest) -> fmt::Result {
        let name = self.program.tensors[nest.target.tensor.0].name.as_str();
        self.foralls(&nest.loops)?;
        let Some(Workspace { kind, loops }) = nest.workspace() else { return self.assign(name, nest) };
        let drained = self.program.drained(nest);
        write!(self.out, "(")?;
        for v in &drained {
            write!(self.out, "forall {}: ", self.program.vars[v.0].name)?;
        }
        let left = |v: &Index| if drained.contains(v) { self.bare(*v) } else { self.written(*v) };
        let vars: Vec<String> = nest.target.vars.iter().map(left).collect();
        let own: Vec<String> = drained.iter().map(|v| self.bare(*v)).collect();
        let (vars, own) = (vars.join(", "), own.join(", "));
        let apart = if kind.keys() == Some(Keys::Apart) { " apart" } else { "" };
        write!(self.out, "{name}[{vars}] = w[{own}]) where {}{apart} (", kind.name())?;
        self.foralls(loops)?;
        self.assign("w", nest)?;
        write!(self.out, ")")
    }

    /// The name of a function that folds.
    fn folding(&self, fun: Fun) -> String {
        match fun {
            Fun::Op(op) => reduction_name(op).to_string(),
            Fun::User(f) => function::name(&self.program.functions, f),
        }
    }

    /// What stands before `=` where something is joined with what is there.
    fn joining(&self, fun: Fun) -> String {
        match fun {
            Fun::Op(Op::Add) => "+".to_string(),
            fun => self.folding(fun),
        }
    }

    /// `name[…] op= rhs`, and ` also` elsewhere, of a scatter ` from` what was there
    fn assign(&mut self, name: &str, nest: &Nest) -> fmt::Result {
        write!(self.out, "{name}[")?;
        for (n, m) in self.program.written(nest).into_iter().enumerate() {
            let own = self.written(nest.target.vars[m]);
            write!(self.out, "{}{own}", if n > 0 { ", " } else { "" })?;
            if let Some(place) = nest.places().get(m) {
                write!(self.out, " = ")?;
                self.expr(place, 0)?;
            }
        }
        write!(self.out, "] {}= ", nest.assign().fold().map_or(String::new(), |fun| self.joining(fun)))?;
        self.expr(&nest.rhs, 0)?;
        if let Some(Also { at, fun, rhs }) = nest.also() {
            write!(self.out, " also {name}[{}] {}= ", self.bare(*at), self.joining(*fun))?;
            self.expr(rhs, 0)?;
        }
        let was = nest.assign().before().map(|a| &self.program.tensor(a).name);
        was.map_or(Ok(()), |name| write!(self.out, " from {name}"))
    }
}

impl Printing for Printer<'_, '_, '_> {
    type Expr = Expr;

    fn out(&mut self) -> &mut dyn Write {
        self.out
    }

    fn is_literal(e: &Expr) -> bool {
        matches!(e, Expr::Literal(_))
    }

    fn expr(&mut self, e: &Expr, least: u8) -> fmt::Result {
        let Some(depth) = self.depth.checked_sub(1) else { return write!(self.out, "…") };
        let depth = std::mem::replace(&mut self.depth, depth);
        match e {
            Expr::Literal(v) => write!(self.out, "{}", literal(*v))?,
            Expr::Index(v) if matches!(self.program.vars[v.0].origin, Origin::Mapped(_) | Origin::Computed(_)) => {
                write!(self.out, "index(")?;
                self.named(*v)?;
                write!(self.out, ")")?;
            }
            Expr::Index(v) => write!(self.out, "{}", self.program.vars[v.0].name)?,
            Expr::Access(..) | Expr::Column(_) => {
                let (program, a) = (self.program, e.access().expect("it reads one"));
                if let Expr::Column(column) = e {
                    write!(self.out, "{} of ", program.tensors[column.tensor.0].name)?;
                }
                write!(self.out, "{}[", program.tensor(a).name)?;
                let access = &program.accesses[a.0];
                for (m, v) in access.vars.iter().enumerate() {
                    write!(self.out, "{}", if m > 0 { ", " } else { "" })?;
                    self.named(*v)?;
                    access.protocols.get(&m).map_or(Ok(()), |protocol| write!(self.out, " {protocol}"))?;
                }
                write!(self.out, "]")?;
            }
            Expr::Call(Fun::Op(op), args, _) => self.applied(*op, &args.iter().collect::<Vec<_>>(), least)?,
            Expr::Call(Fun::User(f), args, _) => {
                self.list(&function::name(&self.program.functions, *f), &args.iter().collect::<Vec<_>>())?;
            }
            Expr::Reduce(fun, vars, body, _) => {
                let vars: Vec<String> = vars.iter().map(|v| self.binding(*v)).collect();
                write!(self.out, "{}({}: ", self.folding(*fun), vars.join(", "))?;
                self.expr(body, 0)?;
                write!(self.out, ")")?;
            }
            Expr::Fold(fold, _) => {
                let vars: Vec<String> = fold.vars.iter().map(|v| self.binding(*v)).collect();
                let name = self.folding(fold.fun);
                write!(self.out, "{name}({}: ", vars.join(", "))?;
                self.expr(&fold.body, 0)?;
                if let Some(start) = &fold.start {
                    write!(self.out, " start ")?;
                    self.expr(start, 0)?;
                } else if self.program.unordered(fold.fun, fold.body.ty()).is_some() {
                    write!(self.out, " in order")?;
                }
                write!(self.out, ")")?;
            }
            Expr::Where(made, ty) => {
                write!(self.out, "(")?;
                self.expr(&Expr::Access(made.read, *ty), 0)?;
                write!(self.out, " where (")?;
                let mut inner = Printer { program: self.program, nest: Some(&made.nest), depth, out: self.out };
                inner.nest(&made.nest)?;
                write!(self.out, "))")?;
            }
            Expr::Concat(c, _) => {
                write!(self.out, "concat({}", self.map(&c.of))?;
                for (n, (v, part)) in c.parts.iter().enumerate() {
                    write!(self.out, "{} {}: ", if n == 0 { ";" } else { "," }, self.binding(*v))?;
                    self.expr(part, 0)?;
                }
                if let Some(outside) = &c.outside {
                    write!(self.out, ", else ")?;
                    self.expr(outside, 0)?;
                }
                write!(self.out, ")")?;
            }
        }
        self.depth = depth;
        Ok(())
    }
}
