//! The rows of a table whose columns statements define: those at which a statement tells some column a value.

use super::{Env, Function, World, each};
use crate::relation::value::{Of, added};
use fiberloom_core::algebra::Type;
use fiberloom_core::notation::syntax::*;
use std::collections::{BTreeMap, BTreeSet};

/// The table of each column whose statements define its rows: the table is defined by no statement of its own.
pub(super) fn followed(program: &Program) -> BTreeMap<String, String> {
    let defined: BTreeSet<&str> = program
        .items
        .iter()
        .filter_map(|item| if let Item::Statement(s) = item { Some(s.lhs.tensor.name.as_str()) } else { None })
        .collect();
    let mut all = BTreeMap::new();
    for item in &program.items {
        let Item::Table(table) = item else { continue };
        if table.columns.iter().any(|c| defined.contains(&*c.name.name)) && !defined.contains(&*table.name.name) {
            all.extend(table.columns.iter().map(|c| (c.name.name.clone(), table.name.name.clone())));
        }
    }
    all
}

impl World {
    /// Adds the rows that a statement defines.
    pub(super) fn rows(&mut self, table: &str, s: &Statement) -> Result<(), String> {
        let mut made = Vec::new();
        self.each_of(s, &mut |env| {
            if let Some(key) = self.keys(&s.lhs, env)?
                && self.told(&s.rhs, env)?.unwrap_or(true)
            {
                made.push(key);
            }
            Ok(())
        })?;
        let empty = Function { at: BTreeMap::new(), fill: Of::Bool(false) };
        let rows = self.functions.entry(table.to_string()).or_insert(empty);
        rows.at.extend(made.into_iter().map(|key| (key, Of::Bool(true))));
        Ok(())
    }

    /// Whether a value tells something, so that its row exists; `None` if every value does.
    fn told(&self, e: &Expr, env: &Env) -> Result<Option<bool>, String> {
        let and = |a: Option<bool>, b: Option<bool>| match (a, b) {
            (Some(a), Some(b)) => Some(a && b),
            (a, b) => a.or(b),
        };
        let or = |a: Option<bool>, b: Option<bool>| match (a, b) {
            (Some(a), Some(b)) => Some(a || b),
            (a, b) => a.or(b),
        };
        Ok(match &e.kind {
            ExprKind::Access(a) => {
                let bare = !a.indices.is_empty() && a.indices.iter().all(|index| index.variable().is_some());
                if bare && self.functions.contains_key(&a.tensor.name) {
                    return Ok(Some(self.stands(a, env)?));
                }
                let mut all = None;
                for index in &a.indices {
                    let told = match index {
                        Index::Access(inner) => {
                            let kind = ExprKind::Access(inner.clone());
                            self.told(&Expr { kind, span: inner.span }, env)?
                        }
                        Index::Computed { of, .. } => self.told(of, env)?,
                        _ => None,
                    };
                    all = and(all, told);
                }
                all
            }
            ExprKind::Unary(_, x) => self.told(x, env)?,
            ExprKind::Binary(BinaryOp::Mul | BinaryOp::AndAlso, a, b) => and(self.told(a, env)?, self.told(b, env)?),
            ExprKind::Binary(_, a, b) => or(self.told(a, env)?, self.told(b, env)?),
            ExprKind::If(c, a, b) => self.one_told(c, a, b, env)?,
            ExprKind::Call(name, args) => {
                let args: Vec<&Expr> =
                    args.iter().filter_map(|a| if let Argument::Expr(e) = a { Some(e) } else { None }).collect();
                match (name.name.as_str(), &args[..]) {
                    ("mask", [c, x]) => and(Some(self.truth(c, env)?), self.told(x, env)?),
                    ("select", [c, a, b]) => self.one_told(c, a, b, env)?,
                    _ => {
                        let mut all = None;
                        for arg in args {
                            all = or(all, self.told(arg, env)?);
                        }
                        all
                    }
                }
            }
            ExprKind::Reduce { function, vars, body, .. } => {
                let names: Vec<String> = vars.iter().map(|v| v.name.clone()).collect();
                let mut spaces = Vec::new();
                for name in &names {
                    spaces.push(self.space(name, &[], &[body])?);
                }
                let (mut any, mut done) = (false, Ok(()));
                each(&names, &spaces, &mut env.clone(), &mut |env| {
                    let told = match function.name.as_str() {
                        "count" => self.truth(body, env).map(Some),
                        _ => self.told(body, env),
                    };
                    match told {
                        Ok(told) => any |= told == Some(true),
                        Err(e) => done = Err(e),
                    }
                });
                done?;
                (function.name == "count" || self.may_tell(body)).then_some(any)
            }
            _ => None,
        })
    }

    /// Whether a value may tell nothing.
    fn may_tell(&self, e: &Expr) -> bool {
        let literal = |e: &Expr| matches!(e.kind, ExprKind::Literal(_));
        match &e.kind {
            ExprKind::Access(a) => {
                let bare = !a.indices.is_empty() && a.indices.iter().all(|index| index.variable().is_some());
                let inside = |index: &Index| match index {
                    Index::Access(a) => self.may_tell(&Expr { kind: ExprKind::Access(a.clone()), span: a.span }),
                    Index::Computed { of, .. } => self.may_tell(of),
                    _ => false,
                };
                bare && self.functions.contains_key(&a.tensor.name) || a.indices.iter().any(inside)
            }
            ExprKind::Unary(_, x) => self.may_tell(x),
            ExprKind::Binary(_, a, b) => self.may_tell(a) || self.may_tell(b),
            ExprKind::If(_, a, b) => literal(a) || literal(b) || self.may_tell(a) && self.may_tell(b),
            ExprKind::Call(name, args) => {
                let tells = |arg: &Argument| matches!(arg, Argument::Expr(e) if self.may_tell(e));
                let part = |n: usize| matches!(&args[n], Argument::Expr(e) if literal(e));
                match name.name.as_str() {
                    "mask" => true,
                    "select" => part(1) || part(2) || tells(&args[1]) && tells(&args[2]),
                    _ => args.iter().any(tells),
                }
            }
            ExprKind::Reduce { function, body, .. } => function.name == "count" || self.may_tell(body),
            _ => false,
        }
    }

    /// Calls `act` with each of the values that tell something.
    fn each_told(
        &self,
        (names, spaces): (&[String], &[Vec<Of>]),
        body: &Expr,
        env: &Env,
        act: &mut dyn FnMut(Of) -> Result<(), String>,
    ) -> Result<(), String> {
        let mut done = Ok(());
        each(names, spaces, &mut env.clone(), &mut |env| {
            if done.is_err() {
                return;
            }
            done = self.told(body, env).and_then(|told| match told {
                Some(false) => Ok(()),
                _ => self.eval(body, env).and_then(&mut *act),
            });
        });
        done
    }

    /// The average of the values that tell something, as a float; 0 if there are none.
    pub(super) fn average(&self, names: &[String], spaces: &[Vec<Of>], body: &Expr, env: &Env) -> Result<Of, String> {
        let (mut sum, mut count) = (Of::Literal("0".to_string()), 0u32);
        self.each_told((names, spaces), body, env, &mut |value| {
            (sum, count) = (added(sum.clone(), value)?, count + 1);
            Ok(())
        })?;
        let Of::Float(sum) = sum.converted(Type::F64)? else { return Err("an average".to_string()) };
        Ok(Of::Float(if sum == 0.0 { 0.0 } else { sum / f64::from(count) }))
    }

    /// The variance of a sample of the values that tell something, or its root; 0 of one, and of none.
    pub(super) fn spread(
        &self,
        name: &str,
        (names, spaces): (&[String], &[Vec<Of>]),
        body: &Expr,
        env: &Env,
    ) -> Result<Of, String> {
        let Of::Float(mean) = self.average(names, spaces, body, env)? else { return Err("an average".to_string()) };
        let (mut squares, mut count) = (0.0, 0u32);
        self.each_told((names, spaces), body, env, &mut |value| {
            let Of::Float(x) = value.converted(Type::F64)? else { return Err("a variance".to_string()) };
            (squares, count) = (squares + (x - mean) * (x - mean), count + 1);
            Ok(())
        })?;
        let variance = if squares == 0.0 { 0.0 } else { squares / (f64::from(count) - 1.0) };
        Ok(Of::Float(if name == "stddev" { variance.sqrt() } else { variance }))
    }

    /// As `told`, for a choice between two values, of which a literal tells nothing.
    fn one_told(&self, c: &Expr, a: &Expr, b: &Expr, env: &Env) -> Result<Option<bool>, String> {
        let literal = |e: &Expr| matches!(e.kind, ExprKind::Literal(_));
        let holds = self.truth(c, env)?;
        Ok(match (literal(a), literal(b)) {
            (_, true) => Some(holds && self.told(a, env)?.unwrap_or(true)),
            (true, false) => Some(!holds && self.told(b, env)?.unwrap_or(true)),
            (false, false) => match (self.told(a, env)?, self.told(b, env)?) {
                (Some(a), Some(b)) => Some(if holds { a } else { b }),
                _ => None,
            },
        })
    }

    /// Whether a row of a table exists, or a value differs from its array's fill.
    fn stands(&self, a: &Access, env: &Env) -> Result<bool, String> {
        match self.table_of.get(&a.tensor.name).and_then(|table| self.functions.get(table)) {
            Some(rows) => Ok(self.keys(a, env)?.is_some_and(|key| rows.at.get(&key) == Some(&Of::Bool(true)))),
            None => Ok(self.read(a, env)? != self.functions[&a.tensor.name].fill),
        }
    }
}
