//! Derivatives of declared functions, as functions.
//!
//! ```text
//!  fn f(x, y) { let a = e; … v }   ─▶   fn f_x(x, y) { let a_x = ∂e; let a = e; … ∂v }
//! ```
//!
//! `∂e` is how `e` moves if `x` moves by 1: the tangents of locals are locals beside them. Branches and loops are taken as the function takes
//! them. A function that declares `derivative(x) = e` has that one.

use super::draft::Draft;
use super::expr::{call, is_zero, made, mul, number};
use fiberloom_core::algebra::{Derivative, Op, Slope, Type};
use fiberloom_core::notation::typed::{Expr, FnId, Fun, Function, Kind, LocalId, Property, Stmt};
use fiberloom_core::notation::{Diagnostic, Span};
use rustc_hash::FxHashMap;

/// The function that is the derivative of `f` by its parameter `n`; none if that moves nothing.
///
/// # Errors
/// A function without derivative in its body, by name.
pub(super) fn slope(draft: &mut Draft, f: FnId, n: usize, span: Span) -> Result<Option<FnId>, Diagnostic> {
    if let Some(made) = draft.slopes.get(&(f.0, n)) {
        return Ok(Some(FnId(*made)));
    }
    let function = draft.program.functions[f.index()].clone();
    if !function.locals[n].1.is_float() || !function.result.is_float() {
        return Ok(None);
    }
    let declared = function.properties.iter().find_map(|(p, _)| match p {
        Property::Derivative(at, value) if *at == n => Some(value.clone()),
        _ => None,
    });
    let name = draft.name(&format!("{}_{}", function.name, function.locals[n].0));
    let by = Tangents { draft, by: LocalId(n as u32), dots: FxHashMap::default(), span, name: function.name.clone() };
    let Some(made) = by.function(&function, declared, name)? else { return Ok(None) };
    draft.program.functions.push(made);
    let id = draft.program.functions.len() as u32 - 1;
    draft.slopes.insert((f.0, n), id);
    Ok(Some(FnId(id)))
}

/// The tangents of a function's locals.
struct Tangents<'d> {
    draft: &'d mut Draft,
    /// The parameter that moves.
    by: LocalId,
    /// Locals that move, with the locals that hold their tangents.
    dots: FxHashMap<LocalId, LocalId>,
    span: Span,
    name: String,
}

impl Tangents<'_> {
    fn function(mut self, of: &Function, declared: Option<Expr>, name: String) -> Result<Option<Function>, Diagnostic> {
        let mut locals = of.locals.clone();
        if let Some(value) = declared {
            locals.truncate(of.arity);
            return Ok(Some(Function { name, locals, stmts: vec![], value, properties: vec![], ..of.clone() }));
        }
        while self.spread(&of.stmts, &mut locals) {}
        let assigned = assigns(&of.stmts, self.by);
        let mut stmts = vec![];
        if assigned {
            let (own, ty) = locals[self.by.index()].clone();
            let dot = self.dot(self.by, format!("{own}_dot"), ty, &mut locals);
            stmts.push(Stmt::Set(dot, number(1.0, ty)));
        }
        stmts.extend(self.stmts(&of.stmts)?);
        let value = self.tangent(&of.value)?;
        if is_zero(&value) {
            return Ok(None);
        }
        Ok(Some(used(Function { name, locals, stmts, value, properties: vec![], ..of.clone() })))
    }

    fn dot(&mut self, of: LocalId, name: String, ty: Type, locals: &mut Vec<(String, Type)>) -> LocalId {
        let taken = |name: &String| locals.iter().any(|(other, _)| other == name);
        let mut names = std::iter::once(name.clone()).chain((2..).map(|n| format!("{name}_{n}")));
        let free = names.find(|name| !taken(name)).unwrap_or(name);
        locals.push((free, ty));
        let id = LocalId(locals.len() as u32 - 1);
        self.dots.insert(of, id);
        id
    }

    /// Gives locals that are set to what moves a tangent; whether there was a further one.
    fn spread(&mut self, stmts: &[Stmt], locals: &mut Vec<(String, Type)>) -> bool {
        stmts.iter().fold(false, |further, stmt| {
            further
                | match stmt {
                    Stmt::Set(l, e) if !self.dots.contains_key(l) && *l != self.by && self.moves(e) => {
                        let (own, ty) = locals[l.index()].clone();
                        self.dot(*l, format!("{own}_dot"), ty, locals);
                        true
                    }
                    Stmt::Set(..) => false,
                    Stmt::While(_, body) => self.spread(body, locals),
                    Stmt::If(_, yes, no) => self.spread(yes, locals) | self.spread(no, locals),
                }
        })
    }

    fn moves(&self, e: &Expr) -> bool {
        let own = |l: &LocalId| *l == self.by || self.dots.contains_key(l);
        e.ty.is_float()
            && match &e.kind {
                Kind::Local(l) => own(l),
                _ => e.children().any(|part| self.moves(part)),
            }
    }

    fn stmts(&mut self, stmts: &[Stmt]) -> Result<Vec<Stmt>, Diagnostic> {
        let mut all = vec![];
        for stmt in stmts {
            match stmt {
                Stmt::Set(l, e) => {
                    if let Some(dot) = self.dots.get(l).copied() {
                        all.push(Stmt::Set(dot, self.tangent(e)?));
                    }
                    all.push(stmt.clone());
                }
                Stmt::While(c, body) => all.push(Stmt::While(c.clone(), self.stmts(body)?)),
                Stmt::If(c, yes, no) => all.push(Stmt::If(c.clone(), self.stmts(yes)?, self.stmts(no)?)),
            }
        }
        Ok(all)
    }

    /// How an expression moves.
    fn tangent(&mut self, e: &Expr) -> Result<Expr, Diagnostic> {
        if !self.moves(e) {
            return Ok(number(0.0, e.ty));
        }
        match &e.kind {
            Kind::Local(l) => Ok(match self.dots.get(l) {
                Some(dot) => made(Kind::Local(*dot), e.ty),
                None => number(1.0, e.ty),
            }),
            Kind::Call(Fun::Op(op), args) => self.built_in(e, *op, args),
            Kind::Call(Fun::User(f), args) => {
                let mut sum = number(0.0, e.ty);
                for (n, arg) in args.iter().enumerate() {
                    if !self.moves(arg) {
                        continue;
                    }
                    let along = self.tangent(arg)?;
                    if is_zero(&along) {
                        continue;
                    }
                    let Some(slope) = slope(self.draft, *f, n, self.span)? else { continue };
                    let along = if along.ty == e.ty { along } else { call(Op::Convert(e.ty), vec![along]) };
                    let term = mul(along, made(Kind::Call(Fun::User(slope), args.clone()), e.ty));
                    sum = call(Op::Add, vec![sum, term]);
                }
                Ok(sum)
            }
            _ => Ok(number(0.0, e.ty)),
        }
    }

    fn built_in(&mut self, e: &Expr, op: Op, args: &[Expr]) -> Result<Expr, Diagnostic> {
        match (op, op.derivative()) {
            (Op::Select, _) => {
                let (yes, no) = (self.tangent(&args[1])?, self.tangent(&args[2])?);
                Ok(if yes == no { yes } else { call(op, vec![args[0].clone(), yes, no]) })
            }
            (Op::Convert(ty), _) => {
                let along = self.tangent(&args[0])?;
                Ok(if along.ty == ty { along } else { call(op, vec![along]) })
            }
            (Op::Coalesce, _) => self.tangent(&args[0]),
            (_, Derivative::Along(slopes)) => {
                let mut sum = number(0.0, e.ty);
                for (arg, slope) in args.iter().zip(slopes) {
                    let Some(slope) = slope.filter(|_| self.moves(arg)) else { continue };
                    let along = self.tangent(arg)?;
                    if is_zero(&along) {
                        continue;
                    }
                    sum = call(Op::Add, vec![sum, written(&slope(), (e, args), &along)]);
                }
                Ok(sum)
            }
            (_, Derivative::Missing) => {
                let message = format!("`{}`, which `{}` calls, has no derivative", op.name(), self.name);
                Err(Diagnostic::new(self.span, message)
                    .help("declare one: `derivative(x) = …` behind the function's `where`"))
            }
            _ => Ok(number(0.0, e.ty)),
        }
    }
}

/// An entry of the table of built-ins, with the weight and the arguments of a call.
pub(super) fn written(slope: &Slope, (e, args): (&Expr, &[Expr]), w: &Expr) -> Expr {
    match slope {
        Slope::Weight => w.clone(),
        Slope::Value => e.clone(),
        Slope::Argument(n) => args[*n].clone(),
        Slope::Number(x) => number(*x, w.ty),
        Slope::Call(op, parts) => call(*op, parts.iter().map(|part| written(part, (e, args), w)).collect()),
    }
}

/// Whether a local is set somewhere.
fn assigns(stmts: &[Stmt], local: LocalId) -> bool {
    stmts.iter().any(|stmt| match stmt {
        Stmt::Set(l, _) => *l == local,
        Stmt::While(_, body) => assigns(body, local),
        Stmt::If(_, yes, no) => assigns(yes, local) || assigns(no, local),
    })
}

/// The function without statements, if its value reads no local that they set and no loop may fail to end.
fn used(mut function: Function) -> Function {
    let mut reads = false;
    function.value.walk(&mut |e| reads |= matches!(e.kind, Kind::Local(l) if l.index() >= function.arity));
    let arity = function.arity;
    let sets = (0..arity as u32).any(|l| assigns(&function.stmts, LocalId(l)));
    if !reads && !sets {
        function.stmts.clear();
        function.locals.truncate(arity);
    }
    function
}
