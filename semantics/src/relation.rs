//! The meaning of programs over labels, from their syntax: arrays are functions of labels, and coordinates do not occur.
//!
//! ```text
//!  tables: rows of cells ──┐
//!                          ├─▶ a function from labels to values for each column ─▶ … for each result
//!  syntax, sums written ───┘
//! ```
//!
//! The labels of a domain are those that occur in a column or mode bound to it. An index variable runs over the labels of the domain of
//! its modes, in ascending order; rows are numbered in the order of the data. A null is no label: every array has its fill there, and
//! adding there has no effect. A null equals a null, and is neither less nor greater than anything.
//!
//! Decimals are whole numbers of any size with a power of ten; dates are years, months and days; timestamps a date and a time of day.
//! A label that a function takes to a label is one of the domain in whose mode the call stands (`images`). Constructs that are not defined
//! here (shape operators, user functions, floats beyond `convert`) are refused: the meaning of the plain language defines them.

mod call;
mod images;
mod moment;
mod rows;
mod value;

use crate::notation::einsum;
use fiberloom_core::notation::syntax::*;
pub use moment::Moment;
use std::collections::{BTreeMap, BTreeSet};
pub use value::{Cell, Key, Of, like};
use value::{added, arithmetic, compared, part};

/// The data of a table.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Rows {
    /// The names of its columns.
    pub columns: Vec<String>,
    /// The rows, with a cell per column.
    pub rows: Vec<Vec<Cell>>,
}

/// A function of labels and of row numbers, with a fill value.
#[derive(Clone, Debug, PartialEq)]
pub struct Function {
    /// The values at which the function is defined explicitly.
    pub at: BTreeMap<Vec<Key>, Of>,
    /// The value everywhere else.
    pub fill: Of,
}

/// The set over which a mode runs.
#[derive(Clone, Debug)]
enum Over {
    Domain(String),
    Numbers(String),
}

/// A declared tensor: its modes, the kind of its values, and its fill.
#[derive(Clone, Debug)]
struct Declared {
    modes: Vec<Over>,
    sort: Option<Sort>,
    fill: Of,
}

/// Evaluates a program on tables, by their names.
///
/// # Errors
/// A message about a construct that is not defined here, or about data that the program refuses.
pub fn evaluate(program: &Program, tables: &BTreeMap<String, Rows>) -> Result<BTreeMap<String, Function>, String> {
    let program = einsum::explicit(program);
    let mut world = World { declared_sizes: einsum::sizes(&program), ..World::default() };
    for item in &program.items {
        world.declare(item)?;
    }
    for item in &program.items {
        if let Item::Table(table) = item
            && let Some(rows) = tables.get(&table.name.name)
        {
            world.table(table, rows)?;
        }
    }
    world.images(&program)?;
    let mut results = BTreeSet::new();
    let followed = rows::followed(&program);
    for item in &program.items {
        match item {
            Item::Statement(s) => {
                world.statement(s)?;
                results.insert(s.lhs.tensor.name.clone());
                if let Some(table) = followed.get(&s.lhs.tensor.name) {
                    world.rows(table, s)?;
                    results.insert(table.clone());
                }
            }
            Item::Repeat(_) | Item::Function(_) => return Err("blocks and functions of the user's".to_string()),
            _ => {}
        }
    }
    Ok(world.functions.into_iter().filter(|(name, _)| results.contains(name)).collect())
}

#[derive(Default)]
struct World {
    domains: BTreeMap<String, Sort>,
    labels: BTreeMap<String, BTreeSet<Key>>,
    /// The sizes that are numbers.
    sizes: BTreeMap<String, i64>,
    /// The names of all sizes.
    declared_sizes: BTreeSet<String>,
    declared: BTreeMap<String, Declared>,
    functions: BTreeMap<String, Function>,
    /// The table of each column, by the column's name.
    table_of: BTreeMap<String, String>,
}

type Env = BTreeMap<String, Of>;

impl World {
    fn declare(&mut self, item: &Item) -> Result<(), String> {
        match item {
            Item::Dim(dim) => {
                let value = dim.value.ok_or_else(|| format!("the size `{}` is the caller's", dim.name))?;
                self.sizes.insert(dim.name.name.clone(), value as i64);
            }
            Item::Domain(domain) => {
                self.domains.insert(domain.name.name.clone(), domain.labels.clone());
                self.labels.entry(domain.name.name.clone()).or_default();
            }
            Item::Table(table) => {
                let modes: Vec<Over> = table.modes.iter().map(|m| self.over(&m.size)).collect();
                let rows = Declared {
                    modes: modes.clone(),
                    sort: Some(Sort::Plain(fiberloom_core::algebra::Type::Bool)),
                    fill: Of::Bool(false),
                };
                self.declared.insert(table.name.name.clone(), rows);
                for column in &table.columns {
                    let fill = fill(&column.sort, column.fill.as_ref().map(|(l, _)| l))?;
                    let declared = Declared { modes: modes.clone(), sort: Some(column.sort.clone()), fill };
                    self.table_of.insert(column.name.name.clone(), table.name.name.clone());
                    self.declared.insert(column.name.name.clone(), declared);
                }
            }
            Item::Tensor(t) => {
                let fill = fill(&t.sort, t.fill.as_ref().map(|(l, _)| l))?;
                let modes = t.sizes.iter().map(|s| self.over(s)).collect();
                self.declared.insert(t.name.name.clone(), Declared { modes, sort: Some(t.sort.clone()), fill });
            }
            _ => {}
        }
        Ok(())
    }

    fn over(&mut self, size: &Size) -> Over {
        match size {
            Size::Name(name) if self.domains.contains_key(&name.name) => Over::Domain(name.name.clone()),
            Size::Name(name) => Over::Numbers(name.name.clone()),
            Size::Int(n, _) => {
                self.sizes.insert(n.to_string(), *n as i64);
                Over::Numbers(n.to_string())
            }
        }
    }

    /// The kind of the labels or coordinates of a mode.
    fn labels_of(&self, over: &Over) -> Sort {
        match over {
            Over::Domain(domain) => self.domains[domain].clone(),
            Over::Numbers(_) => Sort::Plain(fiberloom_core::algebra::Type::I64),
        }
    }

    /// Defines the functions of a table from its rows.
    fn table(&mut self, table: &Table, rows: &Rows) -> Result<(), String> {
        let place = |name: &str| {
            let found = rows.columns.iter().position(|c| c == name);
            found.ok_or_else(|| format!("no column `{name}`"))
        };
        let mut counts: BTreeMap<Vec<Key>, i64> = BTreeMap::new();
        let mut keys = Vec::new();
        for row in &rows.rows {
            let mut key = Vec::new();
            for mode in &table.modes {
                let at = match (mode.name.name.as_str(), self.over(&mode.size)) {
                    (ROW, Over::Numbers(size)) => {
                        let count = counts.entry(key.clone()).or_default();
                        *count += 1;
                        let extent = self.sizes.entry(size).or_default();
                        *extent = (*extent).max(*count);
                        Key::Number(*count - 1)
                    }
                    (name, over) => {
                        let labels = self.labels_of(&over);
                        let at = row[place(name)?].key(&labels).ok_or("a row without a key")?;
                        match (over, &at) {
                            (Over::Domain(domain), _) => {
                                self.labels.entry(domain).or_default().insert(at.clone());
                            }
                            (Over::Numbers(size), Key::Number(n)) => {
                                let extent = self.sizes.entry(size).or_default();
                                *extent = (*extent).max(n + 1);
                            }
                            _ => return Err("a coordinate that is no number".to_string()),
                        }
                        at
                    }
                };
                key.push(at);
            }
            if keys.contains(&key) {
                return Err("a key twice".to_string());
            }
            keys.push(key);
        }
        let stands = keys.iter().map(|key| (key.clone(), Of::Bool(true))).collect();
        self.functions.insert(table.name.name.clone(), Function { at: stands, fill: Of::Bool(false) });
        for column in &table.columns {
            let source = column.source.as_ref().unwrap_or(&column.name.name);
            let place = place(source)?;
            let fill = self.declared[&column.name.name].fill.clone();
            let mut at = BTreeMap::new();
            for (row, key) in rows.rows.iter().zip(&keys) {
                let cell = &row[place];
                let label = match &column.sort {
                    Sort::Domain(domain) => cell.key(&self.domains[&domain.name]),
                    _ => None,
                };
                if let (Sort::Domain(domain), Some(label)) = (&column.sort, &label) {
                    self.labels.entry(domain.name.clone()).or_default().insert(label.clone());
                }
                let value = match (cell, &column.sort, &column.fill) {
                    (Cell::Null, Sort::Domain(_), _) => Of::Label(None),
                    (Cell::Null, Sort::Text, _) => Of::Absent,
                    (Cell::Null, _, None) => return Err("a null".to_string()),
                    (Cell::Null, _, Some(_)) => fill.clone(),
                    (_, Sort::Domain(_), _) => Of::Label(label),
                    (cell, sort, _) => cell.value(sort),
                };
                at.insert(key.clone(), value);
            }
            self.functions.insert(column.name.name.clone(), Function { at, fill });
        }
        Ok(())
    }

    /// Calls `act` for all values of a statement's variables.
    fn each_of(&self, s: &Statement, act: &mut dyn FnMut(&Env) -> Result<(), String>) -> Result<(), String> {
        // For a fold other than a sum, the variables of the right side count as the left side's.
        let mut vars: Vec<&Ident> = einsum::left(s, &self.declared_sizes);
        if let Assign::Fold(_) = s.op {
            vars.extend(einsum::absent(s, &self.declared_sizes));
        }
        let names: Vec<String> = vars.iter().map(|v| v.name.clone()).collect();
        let mut spaces = Vec::new();
        for name in &names {
            spaces.push(self.space(name, &[&s.lhs], &[&s.rhs])?);
        }
        let mut done = Ok(());
        each(&names, &spaces, &mut Env::new(), &mut |env| {
            if done.is_ok() {
                done = act(env);
            }
        });
        done
    }

    fn statement(&mut self, s: &Statement) -> Result<(), String> {
        if !s.locals.is_empty() {
            return Err("`where`".to_string());
        }
        let name = &s.lhs.tensor.name;
        let fold = match &s.op {
            Assign::Set => None,
            Assign::Add => Some("sum"),
            Assign::Fold(f) => Some(f.name.as_str()),
        };
        let mut made: Vec<(Vec<Key>, Of)> = Vec::new();
        self.each_of(s, &mut |env| self.assigned(s, env, &mut made))?;
        let declared = self.declared.get(name).cloned();
        let before = self.functions.get(name).cloned();
        let mut function = match (&declared, before, fold) {
            (_, Some(before), Some(_)) => before,
            (Some(declared), ..) => Function { at: BTreeMap::new(), fill: declared.fill.clone() },
            (None, ..) => Function { at: BTreeMap::new(), fill: Of::Literal("0".to_string()) },
        };
        for (key, value) in made {
            let value = match fold {
                None => value,
                Some(fold) => folded(fold, function.at.get(&key).unwrap_or(&function.fill).clone(), value)?,
            };
            let value = match declared.as_ref().and_then(|d| d.sort.as_ref()) {
                Some(sort) => value.of_sort(sort)?,
                None => value,
            };
            function.at.insert(key, value);
        }
        self.functions.insert(name.clone(), function);
        Ok(())
    }

    /// Adds the elements that a statement defines at these values of its variables.
    fn assigned(&self, s: &Statement, env: &Env, made: &mut Vec<(Vec<Key>, Of)>) -> Result<(), String> {
        if let Some(key) = self.keys(&s.lhs, env)? {
            let value = self.eval(&s.rhs, env)?;
            let sort = self.declared.get(&s.lhs.tensor.name).and_then(|declared| declared.sort.as_ref());
            // What a label becomes is a label before it is compared with others.
            made.push((key, if let Some(sort @ Sort::Domain(_)) = sort { value.of_sort(sort)? } else { value }));
        }
        Ok(())
    }

    /// The labels or numbers over which a variable runs.
    fn space(&self, var: &str, accesses: &[&Access], exprs: &[&Expr]) -> Result<Vec<Of>, String> {
        let mut found = None;
        accesses.iter().for_each(|a| self.seen(a, var, &mut found));
        exprs.iter().for_each(|e| self.seen_in(e, var, &mut found));
        match found.ok_or_else(|| format!("`{var}` runs over nothing"))? {
            Over::Domain(domain) => Ok(self.labels[&domain].iter().map(|l| Of::Label(Some(l.clone()))).collect()),
            Over::Numbers(size) => Ok((0..self.sizes.get(&size).copied().unwrap_or(0)).map(Of::Integer).collect()),
        }
    }

    fn seen(&self, a: &Access, var: &str, found: &mut Option<Over>) {
        for (mode, index) in a.indices.iter().enumerate() {
            match index {
                Index::Access(inner) => self.seen(inner, var, found),
                Index::Computed { of, .. } => self.seen_in(of, var, found),
                _ if index.variable().is_some_and(|v| v.name == var) => {
                    let over = self.declared.get(&a.tensor.name).and_then(|d| d.modes.get(mode));
                    *found = found.take().or(over.cloned());
                }
                _ => {}
            }
        }
    }

    fn seen_in(&self, e: &Expr, var: &str, found: &mut Option<Over>) {
        match &e.kind {
            ExprKind::Access(a) => self.seen(a, var, found),
            ExprKind::Unary(_, x) => self.seen_in(x, var, found),
            ExprKind::Binary(_, a, b) => [a, b].into_iter().for_each(|x| self.seen_in(x, var, found)),
            ExprKind::If(c, t, e) => [c, t, e].into_iter().for_each(|x| self.seen_in(x, var, found)),
            ExprKind::Call(_, args) => args.iter().for_each(|arg| {
                if let Argument::Expr(x) = arg {
                    self.seen_in(x, var, found);
                }
            }),
            ExprKind::Reduce { vars, body, .. } if vars.iter().all(|v| v.name != var) => self.seen_in(body, var, found),
            _ => {}
        }
    }

    /// The labels and numbers of these indices; `None` if one is null.
    fn keys(&self, a: &Access, env: &Env) -> Result<Option<Vec<Key>>, String> {
        let mut keys = Vec::new();
        for index in &a.indices {
            let value = match index {
                Index::Access(inner) => self.read(inner, env)?,
                Index::Computed { of, .. } => self.eval(of, env)?,
                index => match index.variable() {
                    Some(v) => env.get(&v.name).cloned().ok_or_else(|| format!("`{v}` is not bound"))?,
                    None => return Err("an index that is no variable".to_string()),
                },
            };
            match value.key() {
                Some(key) => keys.push(key),
                None => return Ok(None),
            }
        }
        Ok(Some(keys))
    }

    fn read(&self, a: &Access, env: &Env) -> Result<Of, String> {
        if self.is_part_of_date(&a.tensor.name) {
            let Some(Key::Date(year, month, day)) = self.keys(a, env)?.and_then(|key| key.into_iter().next()) else {
                return Ok(self.declared[&a.tensor.name].fill.clone());
            };
            return Ok(Of::Integer(part(&a.tensor.name, &Of::Date(year, month, day))?));
        }
        let function = self.functions.get(&a.tensor.name).ok_or_else(|| format!("`{}` has no value", a.tensor))?;
        let at = self.keys(a, env)?.and_then(|key| function.at.get(&key));
        Ok(at.unwrap_or(&function.fill).clone())
    }

    fn eval(&self, e: &Expr, env: &Env) -> Result<Of, String> {
        Ok(match &e.kind {
            ExprKind::Literal(Literal::Bool(b)) => Of::Bool(*b),
            ExprKind::Literal(Literal::Int(n)) => Of::Literal(n.to_string()),
            ExprKind::Literal(Literal::Float(x)) => Of::Literal(format!("{}", x.0)),
            ExprKind::Literal(Literal::Text(text)) => Of::Literal(text.clone()),
            ExprKind::Name(name) => env.get(&name.name).cloned().ok_or_else(|| format!("`{name}` is not bound"))?,
            ExprKind::Access(a) => self.read(a, env)?,
            ExprKind::Unary(UnaryOp::Not, x) => Of::Bool(!self.truth(x, env)?),
            ExprKind::Unary(UnaryOp::Neg, x) => match self.eval(x, env)? {
                Of::Literal(text) => Of::Literal(text.strip_prefix('-').map_or(format!("-{text}"), str::to_string)),
                x => arithmetic(BinaryOp::Sub, Of::Literal("0".to_string()), x)?,
            },
            ExprKind::Binary(op @ (BinaryOp::AndAlso | BinaryOp::OrElse), a, b) => {
                let (a, b) = (self.truth(a, env)?, self.truth(b, env)?);
                Of::Bool(if *op == BinaryOp::AndAlso { a && b } else { a || b })
            }
            ExprKind::Binary(op, a, b) => {
                use BinaryOp::*;
                let (a, b) = (self.eval(a, env)?, self.eval(b, env)?);
                match op {
                    Lt | Le | Gt | Ge | Eq | Ne => Of::Bool(compared(*op, &a, &b)?),
                    op => arithmetic(*op, a, b)?,
                }
            }
            ExprKind::If(c, t, e) => {
                let (t, e) = (self.eval(t, env)?, self.eval(e, env)?);
                let (t, e) = value::alike(t, e)?;
                if self.truth(c, env)? { t } else { e }
            }
            ExprKind::Call(name, args) => self.call(&name.name, args, env)?,
            ExprKind::Reduce { function, vars, body, start } => {
                if start.is_some() {
                    return Err("`start`".to_string());
                }
                let names: Vec<String> = vars.iter().map(|v| v.name.clone()).collect();
                let mut spaces = Vec::new();
                for name in &names {
                    spaces.push(self.space(name, &[], &[body])?);
                }
                match function.name.as_str() {
                    "avg" => return self.average(&names, &spaces, body, env),
                    "variance" | "stddev" => return self.spread(&function.name, (&names, &spaces), body, env),
                    _ => {}
                }
                let (mut sum, mut error) = (None, None);
                each(&names, &spaces, &mut env.clone(), &mut |env| {
                    if error.is_some() {
                        return;
                    }
                    let value = self.eval(body, env);
                    let next = value.and_then(|value| match sum.take() {
                        None if function.name == "count" => folded("count", Of::Integer(0), value),
                        None => Ok(value),
                        Some(before) => folded(&function.name, before, value),
                    });
                    match next {
                        Ok(next) => sum = Some(next),
                        Err(e) => error = Some(e),
                    }
                });
                if let Some(error) = error {
                    return Err(error);
                }
                match (sum, function.name.as_str()) {
                    (Some(sum), _) => sum,
                    (None, "sum" | "count") => Of::Literal("0".to_string()),
                    (None, "any") => Of::Bool(false),
                    (None, "all") => Of::Bool(true),
                    _ => return Err("a fold over nothing".to_string()),
                }
            }
            _ => return Err("a shape operator".to_string()),
        })
    }

    /// Whether `year`, `month` or `day` is declared as an array of the function's values at each date.
    fn is_part_of_date(&self, name: &str) -> bool {
        matches!(name, "year" | "month" | "day")
            && self.declared.contains_key(name)
            && !self.functions.contains_key(name)
    }

    fn truth(&self, e: &Expr, env: &Env) -> Result<bool, String> {
        match self.eval(e, env)? {
            Of::Bool(b) => Ok(b),
            other => Err(format!("{other:?} is no truth")),
        }
    }
}

/// The result of folding the next value into the value so far.
fn folded(fold: &str, before: Of, next: Of) -> Result<Of, String> {
    match fold {
        "sum" => added(before, next),
        "count" => match next {
            Of::Bool(b) => added(before, Of::Integer(i64::from(b))),
            other => Err(format!("{other:?} is counted")),
        },
        "min" | "max" => {
            let (before, next) = value::alike(before, next)?;
            // A null is no label: the least and the greatest are those of the others.
            match (&before, &next) {
                (Of::Label(None), _) => return Ok(next),
                (_, Of::Label(None)) => return Ok(before),
                _ => {}
            }
            let less = compared(BinaryOp::Lt, &next, &before)?;
            Ok(if less == (fold == "min") { next } else { before })
        }
        "any" | "all" => match (before, next) {
            (Of::Bool(a), Of::Bool(b)) => Ok(Of::Bool(if fold == "any" { a || b } else { a && b })),
            _ => Err("truths are folded".to_string()),
        },
        _ => Err(format!("the fold `{fold}`")),
    }
}

/// The fill value of an array of such values.
fn fill(sort: &Sort, written: Option<&Literal>) -> Result<Of, String> {
    let zero = match sort {
        Sort::Domain(_) => return Ok(Of::Label(None)),
        Sort::Text => return Ok(Of::Absent),
        Sort::Date => Of::Date(1970, 1, 1),
        Sort::Timestamp => Of::Moment(Moment::from(((1970, 1, 1), 0))),
        Sort::Decimal(digits) => Of::Decimal(0.into(), *digits),
        Sort::Plain(fiberloom_core::algebra::Type::Bool) => Of::Bool(false),
        Sort::Plain(ty) if ty.is_float() => Of::Float(0.0),
        Sort::Plain(_) => Of::Integer(0),
    };
    match written {
        None => Ok(zero),
        Some(Literal::Text(text)) => Of::Literal(text.clone()).of_sort(sort),
        Some(Literal::Bool(b)) => Ok(Of::Bool(*b)),
        Some(Literal::Int(n)) => Of::Literal(n.to_string()).of_sort(sort),
        Some(Literal::Float(x)) => Of::Literal(format!("{}", x.0)).of_sort(sort),
    }
}

/// Calls `act` at all values of these variables in lexicographic order.
fn each(names: &[String], spaces: &[Vec<Of>], env: &mut Env, act: &mut dyn FnMut(&Env)) {
    let (Some(name), Some(space)) = (names.first(), spaces.first()) else { return act(env) };
    for value in space {
        env.insert(name.clone(), value.clone());
        each(&names[1..], &spaces[1..], env, act);
    }
    env.remove(name);
}
