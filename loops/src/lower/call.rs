//! Calls of declared functions, which are inlined.
//!
//! ```text
//!  fn mygcd(x, y) { let a = abs(x); …          let a = abs(A_vals[p])
//!    while a != 0 { let t = a; … }      ─▶     while a != 0 { turns = turns + 1; if turns > … { fail steps } … }
//!    b }                                       … b …
//! ```
//!
//! Parameters and locals that are set once are `let`s, other locals are variables. Functions that a function calls are inlined too; none
//! is recursive. The loops of one call, including those of the functions that it calls, share a counter of iterations, `turns`.

use super::builtin::{builtin, tests_numerator};
use super::{Context, Expr, binary, int, plus};
use crate::{Entry, Failure, Stmt, Symbolic, Var};
use fiberloom_core::algebra::{Mode, Op, Type, Value};
use fiberloom_core::notation::typed::{self, FnId, Fun, Function, Kind, LocalId, TURNS};

/// The value of a function applied to arguments; declared functions are inlined.
pub(super) fn applied(cx: &Context, d: &mut Symbolic, fun: Fun, args: Vec<Expr>) -> Expr {
    match fun {
        Fun::Op(op) => builtin(d, op, args, cx.simplify.mode),
        Fun::User(f) => call(cx, d, f, args),
    }
}

/// Inlines a declared function applied to arguments.
fn call(cx: &Context, d: &mut Symbolic, f: FnId, args: Vec<Expr>) -> Expr {
    Call { functions: &cx.program.functions, mode: cx.simplify.mode, turns: None }.call(d, f, args)
}

/// The state of a call and of the calls inside it.
struct Call<'a> {
    functions: &'a [Function],
    mode: Mode,
    /// The counter of iterations of the call's loops, once a loop needs it.
    turns: Option<Var>,
}

/// A function's locals.
struct Frame<'a> {
    function: &'a Function,
    /// The value of each local that is set so far: an expression, or the variable that holds it.
    locals: Vec<Option<Expr>>,
    /// For each local, the number of statements that set it.
    sets: Vec<usize>,
}

impl Call<'_> {
    fn call(&mut self, d: &mut Symbolic, f: FnId, args: Vec<Expr>) -> Expr {
        let function = &self.functions[f.index()];
        if self.turns.is_none() && self.loops(&function.stmts, &function.value) {
            let turns = d.fresh("turns", Type::I64);
            d.assign(turns, int(0));
            self.turns = Some(turns);
        }
        let mut sets = vec![0; function.locals.len()];
        count_sets(&function.stmts, &mut sets);
        let mut frame = Frame { function, locals: vec![None; function.locals.len()], sets };
        for (n, arg) in args.into_iter().enumerate() {
            frame.begin(d, n, arg);
        }
        self.block(d, &mut frame, &function.stmts);
        let value = self.value(d, &frame, &function.value);
        d.define(&function.name, function.result, value)
    }

    /// Whether a function body, or a function that it calls, contains a loop.
    fn loops(&self, stmts: &[typed::Stmt], value: &typed::Expr) -> bool {
        let calls = |e: &typed::Expr| {
            let mut found = false;
            e.walk(&mut |e| {
                if let Kind::Call(Fun::User(f), _) = &e.kind {
                    let f = &self.functions[f.index()];
                    found |= self.loops(&f.stmts, &f.value);
                }
            });
            found
        };
        calls(value)
            || stmts.iter().any(|s| match s {
                typed::Stmt::Set(_, e) => calls(e),
                typed::Stmt::While(..) => true,
                typed::Stmt::If(c, yes, no) => self.loops(yes, c) || self.loops(no, c),
            })
    }

    fn block(&mut self, d: &mut Symbolic, frame: &mut Frame, stmts: &[typed::Stmt]) {
        for stmt in stmts {
            match stmt {
                typed::Stmt::Set(LocalId(n), e) => {
                    let value = self.value(d, frame, e);
                    frame.set(d, *n as usize, value);
                }
                typed::Stmt::If(c, yes, no) => {
                    let c = self.value(d, frame, c);
                    // Both blocks set the same locals; those that outlive a block are variables.
                    let then = d.block(|d| self.block(d, frame, yes));
                    let otherwise = d.block(|d| self.block(d, frame, no));
                    d.emit(Stmt::If(c, then, otherwise));
                }
                typed::Stmt::While(c, body) => self.repeat(d, frame, c, body),
            }
        }
    }

    /// Emits a `while` loop. If the condition needs statements of its own, they run inside the loop and set a flag.
    fn repeat(&mut self, d: &mut Symbolic, frame: &mut Frame, c: &typed::Expr, body: &[typed::Stmt]) {
        let mut takes_statements = false;
        c.walk(&mut |e| {
            takes_statements |= match e.kind {
                Kind::Call(Fun::User(_), _) => true,
                Kind::Call(Fun::Op(op), _) => tests_numerator(op, self.mode) && e.ty.is_float(),
                _ => false,
            }
        });
        if !takes_statements {
            let c = self.value(d, frame, c);
            return d.during(c, |d| {
                self.turn(d);
                self.block(d, frame, body);
            });
        }
        let go = d.fresh("go", Type::Bool);
        d.assign(go, Expr::Const(Value::bool(true)));
        d.during(Expr::Var(go), |d| {
            self.turn(d);
            let c = self.value(d, frame, c);
            d.assign(go, c);
            let body = d.block(|d| self.block(d, frame, body));
            d.emit(Stmt::If(Expr::Var(go), body, vec![]));
        });
    }

    /// Counts an iteration, and makes the kernel fail at the limit.
    fn turn(&self, d: &mut Symbolic) {
        let turns = self.turns.expect("made for functions with loops");
        d.assign(turns, plus(Expr::Var(turns), int(1)));
        let over = binary(Op::Gt, Expr::Var(turns), int(TURNS as i64));
        d.when(over, |d| d.call(Entry::Fail(Failure::Steps)), |_| {});
    }

    fn value(&mut self, d: &mut Symbolic, frame: &Frame, e: &typed::Expr) -> Expr {
        match &e.kind {
            Kind::Literal(v) => Expr::Const(*v),
            Kind::Local(l) => frame.locals[l.index()].clone().expect("locals are set before they are read: checked"),
            Kind::Call(fun, args) => {
                let args = args.iter().map(|a| self.value(d, frame, a)).collect();
                match fun {
                    Fun::Op(op) => builtin(d, *op, args, self.mode),
                    Fun::User(f) => self.call(d, *f, args),
                }
            }
            _ => unreachable!("functions know no tensors and no index variables: checked"),
        }
    }
}

impl Frame<'_> {
    /// Sets parameter `n` to its argument.
    fn begin(&mut self, d: &mut Symbolic, n: usize, value: Expr) {
        let (name, ty) = &self.function.locals[n];
        self.locals[n] = Some(match self.sets[n] {
            0 if matches!(value, Expr::Var(_)) => value,
            0 => d.define(name, *ty, value),
            _ => {
                let v = d.fresh(name, *ty);
                d.assign(v, value);
                Expr::Var(v)
            }
        });
    }

    fn set(&mut self, d: &mut Symbolic, n: usize, value: Expr) {
        let (name, ty) = &self.function.locals[n];
        match &self.locals[n] {
            None if self.sets[n] == 1 => self.locals[n] = Some(d.define(name, *ty, value)),
            None => {
                let v = d.fresh(name, *ty);
                d.assign(v, value);
                self.locals[n] = Some(Expr::Var(v));
            }
            Some(Expr::Var(v)) => d.assign(*v, value),
            Some(_) => unreachable!("what is set twice is a variable"),
        }
    }
}

fn count_sets(stmts: &[typed::Stmt], sets: &mut [usize]) {
    for stmt in stmts {
        match stmt {
            typed::Stmt::Set(l, _) => sets[l.index()] += 1,
            typed::Stmt::While(_, body) => count_sets(body, sets),
            typed::Stmt::If(_, yes, no) => [yes, no].into_iter().for_each(|block| count_sets(block, sets)),
        }
    }
}
