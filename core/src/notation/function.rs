//! Evaluation of declared functions on values: for trying their properties and for folding constants.

use super::typed::{Expr, FnId, Fun, Function, Kind, LocalId, Stmt};
use crate::algebra::{Mode, Op, Type, Value, evaluate};

/// Steps that an evaluation may still take.
#[derive(Clone, Copy, Debug)]
pub struct Fuel(pub u64);

impl Fuel {
    fn burn(&mut self) -> Option<()> {
        self.0 = self.0.checked_sub(1)?;
        Some(())
    }
}

/// The bodies of declared functions, and how their floats are understood.
#[derive(Clone, Copy, Debug)]
pub struct Bodies<'a> {
    /// All that are declared.
    pub functions: &'a [Function],
    /// What may be assumed of floats.
    pub mode: Mode,
    /// Whether `f32` is computed as `f64`: as nearly as if nothing were rounded to it.
    pub wide: bool,
}

impl<'a> Bodies<'a> {
    /// A function applied to arguments of its parameters' types. `None` if it takes more steps than there is fuel.
    pub fn call(self, f: FnId, args: &[Value], fuel: &mut Fuel) -> Option<Value> {
        let function = &self.functions[f.index()];
        let mut locals: Vec<Value> = function.locals.iter().map(|(_, ty)| self.held(Value::zero(*ty))).collect();
        locals.iter_mut().zip(args).for_each(|(local, arg)| *local = self.held(*arg));
        let mut frame = Frame { bodies: self, locals, fuel };
        frame.block(&function.stmts)?;
        frame.value(&function.value)
    }

    /// An expression over the parameters of a function: the right side of a `case`.
    pub fn value(self, e: &Expr, params: &[Value], fuel: &mut Fuel) -> Option<Value> {
        Frame { bodies: self, locals: params.iter().map(|v| self.held(*v)).collect(), fuel }.value(e)
    }

    /// A value in the type that it is computed in.
    fn held(self, v: Value) -> Value {
        if self.wide && v.ty() == Type::F32 { Value::from_f64(Type::F64, v.as_f64()) } else { v }
    }
}

struct Frame<'a> {
    bodies: Bodies<'a>,
    locals: Vec<Value>,
    fuel: &'a mut Fuel,
}

impl Frame<'_> {
    fn block(&mut self, stmts: &[Stmt]) -> Option<()> {
        stmts.iter().try_for_each(|s| {
            self.fuel.burn()?;
            match s {
                Stmt::Set(LocalId(n), e) => {
                    self.locals[*n as usize] = self.value(e)?;
                    Some(())
                }
                Stmt::While(c, body) => {
                    while self.value(c)?.is_true() {
                        self.fuel.burn()?;
                        self.block(body)?;
                    }
                    Some(())
                }
                Stmt::If(c, t, e) => {
                    let branch = if self.value(c)?.is_true() { t } else { e };
                    self.block(branch)
                }
            }
        })
    }

    fn value(&mut self, e: &Expr) -> Option<Value> {
        self.fuel.burn()?;
        match &e.kind {
            Kind::Literal(v) => Some(self.bodies.held(*v)),
            Kind::Local(l) => self.locals.get(l.index()).copied(),
            Kind::Call(fun, args) => {
                let args: Option<Vec<Value>> = args.iter().map(|a| self.value(a)).collect();
                match fun {
                    Fun::Op(Op::Convert(Type::F32)) if self.bodies.wide => {
                        evaluate(Op::Convert(Type::F64), &args?, self.bodies.mode)
                    }
                    Fun::Op(op) => evaluate(*op, &args?, self.bodies.mode),
                    Fun::User(f) => self.bodies.call(*f, &args?, self.fuel),
                }
            }
            // Functions know no tensors and no index variables: the checker has refused them.
            _ => None,
        }
    }
}
