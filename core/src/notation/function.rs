//! Evaluation of declared functions on values: for trying their properties and for folding constants.

use super::typed::{Expr, FnId, Fun, Function, Kind, LocalId, Stmt};
use crate::algebra::{Mode, Value, evaluate};

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
}

impl<'a> Bodies<'a> {
    /// A function applied to arguments of its parameters' types. `None` if it takes more steps than there is fuel.
    pub fn call(self, f: FnId, args: &[Value], fuel: &mut Fuel) -> Option<Value> {
        let function = &self.functions[f.index()];
        let mut locals: Vec<Value> = function.locals.iter().map(|(_, ty)| Value::zero(*ty)).collect();
        locals[..args.len()].copy_from_slice(args);
        let mut frame = Frame { bodies: self, locals, fuel };
        frame.block(&function.stmts)?;
        frame.value(&function.value)
    }

    /// An expression over the parameters of a function: the right side of a `case`.
    pub fn value(self, e: &Expr, params: &[Value], fuel: &mut Fuel) -> Option<Value> {
        Frame { bodies: self, locals: params.to_vec(), fuel }.value(e)
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
            Kind::Literal(v) => Some(*v),
            Kind::Local(l) => self.locals.get(l.index()).copied(),
            Kind::Call(fun, args) => {
                let args: Option<Vec<Value>> = args.iter().map(|a| self.value(a)).collect();
                match fun {
                    Fun::Op(op) => evaluate(*op, &args?, self.bodies.mode),
                    Fun::User(f) => self.bodies.call(*f, &args?, self.fuel),
                }
            }
            // Functions know no tensors and no index variables: the checker has refused them.
            _ => None,
        }
    }
}
