//! Functions of values, of texts and of moments.

use super::moment::Unit;
use super::value::{self, Key, Of, like, part};
use super::{Env, World, folded};
use fiberloom_core::notation::syntax::{Argument, Expr};

impl World {
    /// The value of a call.
    pub(super) fn call(&self, name: &str, args: &[Argument], env: &Env) -> Result<Of, String> {
        let exprs: Vec<&Expr> =
            args.iter().filter_map(|a| if let Argument::Expr(e) = a { Some(e) } else { None }).collect();
        let at = |n: usize| {
            exprs.get(n).ok_or_else(|| format!("`{name}` lacks an argument")).and_then(|e| self.eval(e, env))
        };
        Ok(match (name, args) {
            ("like" | "prefix" | "suffix" | "contains", _) => {
                let Of::Literal(pattern) = at(1)? else { return Err("a pattern".to_string()) };
                let escape = match exprs.len() {
                    3 => at(2)?.written().and_then(|text| text.chars().next()),
                    _ => None,
                };
                let Some(text) = at(0)?.text() else { return Ok(Of::Bool(false)) };
                Of::Bool(match name {
                    "like" => like(&text, &pattern, escape),
                    "prefix" => text.starts_with(&pattern),
                    "suffix" => text.ends_with(&pattern),
                    _ => text.contains(&pattern),
                })
            }
            ("is_none", _) => Of::Bool(matches!(at(0)?, Of::Label(None) | Of::Absent)),
            ("length", _) => Of::Integer(at(0)?.text().map_or(0, |text| text.chars().count() as i64)),
            (name, _) if OF_LABELS.contains(&name) => {
                of_label(name, &exprs.iter().map(|e| self.eval(e, env)).collect::<Result<Vec<_>, _>>()?)?
            }
            ("year" | "month" | "day" | "hour" | "minute" | "second", _) => Of::Integer(part(name, &at(0)?)?),
            ("mask", _) => match self.truth(exprs[0], env)? {
                true => at(1)?,
                false => at(1)?.zero(),
            },
            ("select", _) => {
                let (a, b) = value::alike(at(1)?, at(2)?)?;
                if self.truth(exprs[0], env)? { a } else { b }
            }
            ("min" | "max", [_, _]) => folded(name, at(0)?, at(1)?)?,
            ("convert", [_, Argument::Type(ty, _)]) => at(0)?.converted(*ty)?,
            _ => return Err(format!("the function `{name}`")),
        })
    }
}

/// The functions that take a text or a moment to another, or to a date: of labels they may give labels.
pub(super) const OF_LABELS: [&str; 7] = ["lower", "upper", "trim", "substr", "concat", "date", "trunc"];

/// The value of one of them; nothing of nothing.
pub(super) fn of_label(name: &str, args: &[Of]) -> Result<Of, String> {
    let first = args.first().ok_or_else(|| format!("`{name}` lacks an argument"))?;
    match (name, first) {
        ("date" | "trunc", Of::Label(None)) => Ok(Of::Label(None)),
        ("date", of) => day(of),
        ("trunc", of) => {
            let unit = args.get(1).and_then(Of::written).and_then(Unit::named).ok_or("no unit of time")?;
            Ok(Of::Moment(of.moment().ok_or("no moment")?.cut_down(unit)))
        }
        ("concat", _) => {
            let part = |of: &Of| of.written().map(str::to_string).or_else(|| of.text());
            let parts: Option<Vec<String>> = args.iter().map(part).collect();
            Ok(parts.map_or(Of::Absent, |parts| Of::Text(parts.concat())))
        }
        _ => changed(name, args),
    }
}

/// A text, changed; nothing of what is no text.
fn changed(name: &str, args: &[Of]) -> Result<Of, String> {
    let Some(text) = args[0].text() else { return Ok(Of::Absent) };
    let number = |n: usize| args[n].written().and_then(|text| text.parse::<usize>().ok()).ok_or("no number");
    Ok(Of::Text(match (name, args.len()) {
        ("lower", _) => text.to_lowercase(),
        ("upper", _) => text.to_uppercase(),
        ("trim", _) => text.trim().to_string(),
        (_, 2) => text.chars().skip(number(1)? - 1).collect(),
        _ => {
            let (from, many) = (number(1)?, number(2)?);
            let within = |n: &(usize, char)| n.0 + 1 >= from && n.0 + 1 < from + many;
            text.chars().enumerate().filter(within).map(|(_, c)| c).collect()
        }
    }))
}

/// The day of a moment.
fn day(of: &Of) -> Result<Of, String> {
    Ok(match of {
        Of::Date(y, m, d) | Of::Label(Some(Key::Date(y, m, d))) => Of::Date(*y, *m, *d),
        of => {
            let (y, m, d) = of.moment().ok_or("no moment")?.date;
            Of::Date(y, m, d)
        }
    })
}
