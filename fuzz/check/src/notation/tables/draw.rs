//! Programs over labels, drawn.

use super::Labelled;
use arbitrary::Unstructured;
use fiberloom_semantics::relation::{Cell, Moment, Rows};
use std::collections::BTreeMap;

/// What labels are, or values of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Integer,
    Decimal(u8),
    Date,
    Moment,
    Text,
    Bool,
}

/// What a mode runs over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Over {
    Domain(usize),
    /// Rows, or coordinates, of this size.
    Size(usize),
}

#[derive(Clone, Debug)]
enum Holds {
    Domain(usize),
    Value(Kind),
}

#[derive(Clone, Debug)]
struct Column {
    name: String,
    holds: Holds,
    /// What stands for a null.
    fill: bool,
}

#[derive(Clone, Debug)]
struct Table {
    name: String,
    modes: Vec<(String, Over)>,
    columns: Vec<Column>,
}

/// A variable in scope.
#[derive(Clone, Debug)]
struct Var {
    name: String,
    over: Over,
}

struct Draw<'u, 'b> {
    u: &'u mut Unstructured<'b>,
    domains: Vec<Kind>,
    tables: Vec<Table>,
    /// How many sizes there are.
    sizes: usize,
    words: Vec<String>,
}

const TEXTS: [&str; 8] = ["", "a", "ab", "b", "ba", "a b", "green", "\"q\""];
/// Decimals of 12 digits: 0, 0.05, 0.15, their neighbours, and the largest.
const FINE: [i64; 8] =
    [0, 50_000_000_000, 150_000_000_000, 149_999_999_999, -50_000_000_001, 1, i64::MAX, i64::MIN + 1];
const PATTERNS: [&str; 7] = ["%", "a%", "%b", "_", "%a%b%", "green", "%r_e%"];
const DATES: [(i64, u8, u8); 6] =
    [(1969, 12, 31), (1970, 1, 1), (1994, 1, 1), (1994, 2, 28), (2000, 2, 29), (1995, 12, 1)];
/// Moments beside the ends of days, hours and of what is counted from.
const MOMENTS: [&str; 7] = [
    "1969-12-31 23:59:59.999999",
    "1970-01-01 00:00:00",
    "1994-02-28 23:30:00",
    "1994-02-28 23:59:59.000001",
    "1994-03-01 00:00:00",
    "2000-02-29 12:30:00.25",
    "2000-02-29 12:59:59",
];
/// Other spellings, of some of these and of others.
const SPELLED: [&str; 5] = [
    "1994-02-28T23:30:00Z",
    "1994-03-01 01:30+02:00",
    "2000-02-29",
    "1994-02-28 23:30",
    "1969-12-31 22:59:59.999999-01:00",
];

impl Labelled {
    /// A program over labels.
    pub fn any(u: &mut Unstructured) -> Labelled {
        let mut draw = Draw { u, domains: vec![], tables: vec![], sizes: 0, words: vec![] };
        let mut declared = draw.domains();
        let mut tables = BTreeMap::new();
        for n in 0..1 + draw.below(3) {
            let (text, table, rows) = draw.table(n);
            declared.push(text);
            tables.insert(table.name.clone(), rows);
            draw.tables.push(table);
        }
        declared.push("dim Y = 2100".to_string());
        if let Some(d) = draw.dates() {
            declared.push(format!("tensor year: i64[D{d}] {{function}}"));
        }
        let statements = (0..1 + draw.below(3)).map(|n| draw.statement(n)).collect();
        let mut words = draw.words;
        words.sort();
        words.dedup();
        Labelled { declared, statements, tables, words }
    }
}

impl Draw<'_, '_> {
    fn below(&mut self, n: usize) -> usize {
        self.u.int_in_range(0..=n.max(1) - 1).unwrap_or(0)
    }

    fn one<T: Clone>(&mut self, of: &[T]) -> T {
        let n = self.below(of.len());
        of[n].clone()
    }

    fn said(&mut self, word: impl Into<String>) {
        self.words.push(word.into());
    }

    fn domains(&mut self) -> Vec<String> {
        let count = 1 + self.below(3);
        (0..count)
            .map(|n| {
                let kind = self.one(&[
                    Kind::Integer,
                    Kind::Text,
                    Kind::Date,
                    Kind::Text,
                    Kind::Integer,
                    Kind::Decimal(1),
                    Kind::Moment,
                ]);
                self.domains.push(kind);
                self.said(format!("domain of {kind:?}"));
                format!("dim D{n}: {}", sort(kind))
            })
            .collect()
    }

    /// The first domain of dates: that of the array `year`.
    fn dates(&self) -> Option<usize> {
        self.domains.iter().position(|kind| *kind == Kind::Date)
    }

    fn table(&mut self, n: usize) -> (String, Table, Rows) {
        let mut modes = Vec::new();
        for m in 0..1 + self.below(2) {
            // A row may stand alone, or below a key.
            match self.below(4) {
                0 => {
                    modes.push(("row".to_string(), Over::Size(self.sizes)));
                    self.sizes += 1;
                    break;
                }
                1 if m == 0 && self.below(3) == 0 => {
                    modes.push((format!("t{n}_k{m}"), Over::Size(self.sizes)));
                    self.sizes += 1;
                }
                _ => {
                    let domain = self.below(self.domains.len());
                    modes.push((format!("t{n}_k{m}"), Over::Domain(domain)));
                }
            }
        }
        let mut columns = Vec::new();
        for c in 0..self.below(4) {
            let value = [
                Kind::Decimal(2),
                Kind::Integer,
                Kind::Date,
                Kind::Text,
                Kind::Bool,
                Kind::Decimal(2),
                Kind::Decimal(12),
                Kind::Moment,
            ];
            let holds = match self.below(2) {
                0 => Holds::Domain(self.below(self.domains.len())),
                _ => Holds::Value(self.one(&value)),
            };
            let fill = matches!(holds, Holds::Value(kind) if kind != Kind::Text) && self.below(3) == 0;
            columns.push(Column { name: format!("t{n}_c{c}"), holds, fill });
        }
        let table = Table { name: format!("T{n}"), modes, columns };
        let format = self.format(&table);
        let text = declaration(&table, &format);
        let rows = self.rows(&table);
        (text, table, rows)
    }

    fn format(&mut self, table: &Table) -> String {
        let rows_last = table.modes.last().is_some_and(|(name, _)| name == "row");
        let formats: &[&str] = match (table.modes.len(), rows_last) {
            (1, _) => &["", "dense", "sparse", "{bitmap}", "{hashed}"],
            (_, true) => &["{dense, ragged}", "csr", "{compressed, compressed}", "coo", "", "{compressed, ragged}"],
            _ => &["csr", "csc", "dcsr", "coo", "", "{dense, hashed}"],
        };
        let format = self.one(formats);
        self.said(format!(
            "table of {} modes in {}",
            table.modes.len(),
            if format.is_empty() { "no format" } else { format }
        ));
        format.to_string()
    }

    fn rows(&mut self, table: &Table) -> Rows {
        let keys: Vec<&(String, Over)> = table.modes.iter().filter(|(name, _)| name != "row").collect();
        let is_bag = keys.len() < table.modes.len();
        let columns = keys.iter().map(|(name, _)| name.clone()).chain(table.columns.iter().map(|c| c.name.clone()));
        let mut rows = Rows { columns: columns.collect(), rows: vec![] };
        for _ in 0..self.below(8) {
            let mut row: Vec<Cell> = keys
                .iter()
                .map(|(_, over)| match over {
                    Over::Domain(d) => self.cell(self.domains[*d]),
                    Over::Size(_) => Cell::Number(self.below(4) as i64),
                })
                .collect();
            if !is_bag && rows.rows.iter().any(|before| before[..row.len()] == row[..]) {
                continue;
            }
            for column in &table.columns {
                let (kind, may_be_null) = match column.holds {
                    Holds::Domain(d) => (self.domains[d], true),
                    Holds::Value(kind) => (kind, column.fill || kind == Kind::Text),
                };
                let null = may_be_null && self.below(5) == 0;
                if null {
                    self.said("null");
                }
                let cell = if null { Cell::Null } else { self.cell(kind) };
                row.push(cell);
            }
            rows.rows.push(row);
        }
        rows
    }

    fn cell(&mut self, kind: Kind) -> Cell {
        match kind {
            Kind::Integer => Cell::Number(self.below(7) as i64 - 3),
            Kind::Decimal(12) => Cell::Number(self.one(&FINE)),
            // A large one times its 10¹⁰ leaves 64 bits, and so do its products.
            Kind::Decimal(2) if self.below(8) == 0 => Cell::Number(self.one(&[1_000_000_000, -3_000_000_000])),
            Kind::Decimal(_) => Cell::Number(self.below(9) as i64 * 5 - 15),
            Kind::Date => {
                let (y, m, d) = self.one(&DATES);
                Cell::Date(y, m, d)
            }
            Kind::Moment => Cell::Moment(Moment::read(self.one(&MOMENTS)).expect("a moment")),
            Kind::Text => Cell::Text(self.one(&TEXTS).to_string()),
            Kind::Bool => Cell::Bool(self.below(2) == 1),
        }
    }

    /// A literal of a kind, as it is written.
    fn literal(&mut self, kind: Kind) -> String {
        match kind {
            Kind::Integer => (self.below(9) as i64 - 4).to_string(),
            Kind::Decimal(12) => self.one(&["0", "-1", "0.05", "0.000000000001", "10000000", "-99999999"]).to_string(),
            Kind::Decimal(2) => self.one(&["0", "-1", "0.5", "0.125", "-0.051", "10000000", "0.1"]).to_string(),
            Kind::Decimal(_) => self.one(&["0", "-1", "0.5", "1.5", "2", "-0.5"]).to_string(),
            Kind::Date => {
                let (y, m, d) = self.one(&DATES);
                format!("\"{y:04}-{m:02}-{d:02}\"")
            }
            Kind::Moment if self.below(3) == 0 => quoted(self.one(&SPELLED)),
            Kind::Moment => quoted(self.one(&MOMENTS)),
            Kind::Text => quoted(self.one(&["", "a", "ab", "c", "green", "\"q\""])),
            Kind::Bool => self.one(&["true", "false"]).to_string(),
        }
    }

    /// A coordinate of a domain, of these variables: one of them, or one that a column holds.
    fn coordinate(&mut self, domain: usize, vars: &[Var], depth: usize) -> Option<String> {
        let own: Vec<&Var> = vars.iter().filter(|v| v.over == Over::Domain(domain)).collect();
        if !own.is_empty() && (depth == 0 || self.below(2) == 0) {
            return Some(self.one(&own).name.clone());
        }
        if depth == 0 {
            return None;
        }
        let of = |t: &Table| {
            let columns = t.columns.iter().filter(|c| matches!(c.holds, Holds::Domain(d) if d == domain));
            columns.map(|c| (c.name.clone(), t.clone())).collect::<Vec<_>>()
        };
        let columns: Vec<(String, Table)> = self.tables.iter().flat_map(of).collect();
        for _ in 0..3 {
            if columns.is_empty() {
                break;
            }
            let (name, table) = self.one(&columns);
            if let Some(at) = self.at(&table, vars, depth - 1) {
                self.said("gather");
                return Some(format!("{name}{at}"));
            }
        }
        own.first().map(|v| v.name.clone())
    }

    /// Indices of a table.
    fn at(&mut self, table: &Table, vars: &[Var], depth: usize) -> Option<String> {
        let mut all = Vec::new();
        for (_, over) in &table.modes {
            all.push(match over {
                Over::Domain(d) => self.coordinate(*d, vars, depth)?,
                size => {
                    let own: Vec<&Var> = vars.iter().filter(|v| v.over == *size).collect();
                    if own.is_empty() {
                        return None;
                    }
                    self.one(&own).name.clone()
                }
            });
        }
        Some(format!("[{}]", all.join(",")))
    }

    /// A column of this kind, read.
    fn column(&mut self, kind: Kind, vars: &[Var]) -> Option<String> {
        let of = |t: &Table| {
            let columns = t.columns.iter().filter(|c| matches!(c.holds, Holds::Value(k) if k == kind));
            columns.map(|c| (c.name.clone(), t.clone())).collect::<Vec<_>>()
        };
        let columns: Vec<(String, Table)> = self.tables.iter().flat_map(of).collect();
        if columns.is_empty() {
            return None;
        }
        let (name, table) = self.one(&columns);
        Some(format!("{name}{}", self.at(&table, vars, 2)?))
    }

    fn condition(&mut self, vars: &[Var], depth: usize) -> String {
        if depth > 0 && self.below(3) == 0 {
            let (a, b) = (self.condition(vars, depth - 1), self.condition(vars, depth - 1));
            let op = self.one(&["&&", "||"]);
            return match self.below(4) {
                0 => format!("!({a})"),
                _ => format!("({a} {op} {b})"),
            };
        }
        for _ in 0..4 {
            if let Some(made) = self.comparison(vars) {
                return made;
            }
        }
        "true".to_string()
    }

    fn comparison(&mut self, vars: &[Var]) -> Option<String> {
        let op = self.one(&["<", "<=", ">", ">=", "==", "!="]);
        match self.below(8) {
            7 => {
                let d = self.below(self.domains.len());
                let of = match self.below(2) {
                    0 => self.coordinate(d, vars, 2)?,
                    _ => self.column(Kind::Text, vars)?,
                };
                self.said("is none");
                Some(format!("is_none({of})"))
            }
            0 | 1 => {
                let d = self.below(self.domains.len());
                let (at, literal) = (self.coordinate(d, vars, 2)?, self.literal(self.domains[d]));
                self.said(format!("a label of {:?} compared by {op}", self.domains[d]));
                Some(if self.below(4) == 0 { format!("{literal} {op} {at}") } else { format!("{at} {op} {literal}") })
            }
            2 => {
                let d = self.below(self.domains.len());
                self.said("labels compared");
                Some(format!("{} {op} {}", self.coordinate(d, vars, 2)?, self.coordinate(d, vars, 2)?))
            }
            3 => {
                let table = self.one(&self.tables.clone());
                self.said("a row stands");
                Some(format!("{}{}", table.name, self.at(&table, vars, 2)?))
            }
            4 => {
                let (function, pattern) = match self.below(4) {
                    0 => ("prefix", quoted(self.one(&TEXTS))),
                    1 => ("suffix", quoted(self.one(&TEXTS))),
                    2 => ("contains", quoted(self.one(&TEXTS))),
                    3 if self.below(3) == 0 => {
                        ("like", format!("{}, \"!\"", quoted(self.one(&["%!%", "a!_%", "!!", "_!b"]))))
                    }
                    _ => ("like", quoted(self.one(&PATTERNS))),
                };
                let texts: Vec<usize> = (0..self.domains.len()).filter(|d| self.domains[*d] == Kind::Text).collect();
                let text = match !texts.is_empty() && self.below(2) == 0 {
                    true => {
                        let d = self.one(&texts);
                        self.coordinate(d, vars, 2)?
                    }
                    false => self.column(Kind::Text, vars)?,
                };
                self.said(function);
                let change = self.one(&["", "", "lower", "upper", "trim", "substr"]);
                let text = match change {
                    "" => text,
                    "substr" => format!("substr({text}, {}, {})", 1 + self.below(2), self.below(3)),
                    change => format!("{change}({text})"),
                };
                if !change.is_empty() && self.below(2) == 0 {
                    self.said("a text that is changed, compared");
                    let literal = quoted(self.one(&["", "A", "AB", "green", "b"]));
                    return Some(format!("{text} {op} {literal}"));
                }
                Some(format!("{function}({text}, {pattern})"))
            }
            5 => self.values_compared(op, vars),
            _ => {
                let op = self.one(&["==", "!="]);
                self.said("a text of a column compared");
                let literal = self.literal(Kind::Text);
                Some(format!("{} {op} {literal}", self.column(Kind::Text, vars)?))
            }
        }
    }

    /// Values of columns, compared with one another or with a literal.
    fn values_compared(&mut self, op: &str, vars: &[Var]) -> Option<String> {
        let kind = self.one(&[Kind::Date, Kind::Decimal(2), Kind::Integer, Kind::Decimal(12), Kind::Moment]);
        if self.below(3) == 0
            && let (Some(a), Some(b)) = (self.column(Kind::Moment, vars), self.column(Kind::Date, vars))
        {
            self.said("a timestamp beside a date");
            return Some(if self.below(2) == 0 { format!("{a} {op} {b}") } else { format!("{b} {op} {a}") });
        }
        if self.below(2) == 0
            && let (Some(a), Some(b)) = (self.column(Kind::Decimal(2), vars), self.column(Kind::Decimal(12), vars))
        {
            self.said("decimals of two scales compared");
            return Some(if self.below(2) == 0 { format!("{a} {op} {b}") } else { format!("{b} {op} {a}") });
        }
        let literal = self.literal(kind);
        self.said(format!("{kind:?} compared"));
        Some(format!("{} {op} {literal}", self.column(kind, vars)?))
    }

    /// A value, and how many digits stand behind its point.
    fn value(&mut self, vars: &[Var], depth: usize) -> (String, u8) {
        if depth > 0 {
            match self.below(5) {
                0 => {
                    let ((a, p), (b, q)) = (self.value(vars, depth - 1), self.value(vars, depth - 1));
                    return if p + q <= 18 { (format!("({a}) * ({b})"), p + q) } else { (a, p) };
                }
                1 => {
                    let (a, p) = self.value(vars, depth - 1);
                    let op = self.one(&["+", "-"]);
                    return (format!("(1 {op} {a})"), p);
                }
                4 if self.below(2) == 0 => {
                    if let Some(a) = self.column(Kind::Decimal(2), vars) {
                        let condition = self.condition(vars, 1);
                        self.said("a choice of literals beside a decimal");
                        return (format!("{a} * (if {condition} then -(0.5) else mask({condition}, 3))"), 3);
                    }
                }
                2 => {
                    let (a, p) = self.value(vars, depth - 1);
                    let condition = self.condition(vars, 1);
                    self.said("mask");
                    return (format!("mask({condition}, {a})"), p);
                }
                _ => {}
            }
        }
        let leaf = match self.below(6) {
            5 => self.of_moment(vars),
            0 | 1 => self.column(Kind::Decimal(2), vars).map(|c| (c, 2)),
            2 => self.column(Kind::Integer, vars).map(|c| (c, 0)),
            3 if self.dates().is_some() && self.below(2) == 0 => {
                let d = self.dates().expect("there is one");
                self.coordinate(d, vars, 1).map(|c| {
                    self.words.push("a function of labels as an array".to_string());
                    (format!("year[{c}]"), 0)
                })
            }
            3 if self.below(3) == 0 => self.column(Kind::Date, vars).map(|c| {
                self.words.push("a difference of dates".to_string());
                (format!("({c} - \"1994-02-28\")"), 0)
            }),
            3 => self.column(Kind::Date, vars).map(|c| {
                let part = ["year", "month", "day"][c.len() % 3];
                (format!("{part}({c})"), 0)
            }),
            _ => {
                let integers: Vec<usize> =
                    (0..self.domains.len()).filter(|d| self.domains[*d] == Kind::Integer).collect();
                if integers.is_empty() {
                    None
                } else {
                    let d = self.one(&integers);
                    self.coordinate(d, vars, 1).map(|c| {
                        self.words.push("a label as a number".to_string());
                        (format!("(0 + {c})"), 0)
                    })
                }
            }
        };
        leaf.unwrap_or_else(|| (format!("{}", 1 + self.below(3)), 0))
    }

    /// What is computed of a timestamp of a column or of a label, and how many digits stand behind its point.
    fn of_moment(&mut self, vars: &[Var]) -> Option<(String, u8)> {
        let labels: Vec<usize> = (0..self.domains.len()).filter(|d| self.domains[*d] == Kind::Moment).collect();
        let at = match !labels.is_empty() && self.below(3) == 0 {
            true => {
                let d = self.one(&labels);
                let at = self.coordinate(d, vars, 1)?;
                self.said("a part of a label that is a timestamp");
                return Some((format!("{}({at})", self.one(&["hour", "minute", "second", "year", "day"])), 0));
            }
            false => self.column(Kind::Moment, vars)?,
        };
        let unit = self.one(&["day", "hour", "minute", "second"]);
        Some(match self.below(7) {
            0 => (format!("({at} - {})", self.literal(Kind::Moment)), 6),
            1 => (format!("({at} - trunc({at}, \"{unit}\"))"), 6),
            2 => (format!("({at} + 90.5 - trunc({at}, \"{unit}\"))"), 6),
            3 => {
                self.said("seconds of a timestamp");
                (format!("convert({at}, i64)"), 0)
            }
            4 => (format!("{}(date({at}))", self.one(&["year", "month", "day"])), 0),
            5 => (format!("{}({at} - 3600)", self.one(&["hour", "minute", "second", "month"])), 0),
            _ => (format!("{}({at})", self.one(&["hour", "minute", "second", "year", "month", "day"])), 0),
        })
    }

    /// A label of a domain that a label of an earlier one becomes.
    fn image(&mut self, domain: usize, vars: &[Var]) -> Option<String> {
        let wanted = match self.domains[domain] {
            Kind::Text => Kind::Text,
            Kind::Date | Kind::Moment => Kind::Moment,
            _ => return None,
        };
        let from: Vec<usize> = (0..domain).filter(|d| self.domains[*d] == wanted).collect();
        if from.is_empty() {
            return None;
        }
        let d = self.one(&from);
        let at = self.coordinate(d, vars, 2)?;
        self.said(format!("labels of {wanted:?} become labels of {:?}", self.domains[domain]));
        Some(match self.domains[domain] {
            Kind::Date => format!("date({at})"),
            Kind::Moment => format!("trunc({at}, \"{}\")", self.one(&["day", "hour", "minute", "second"])),
            _ => {
                let text = match self.below(5) {
                    0 => format!("lower({at})"),
                    1 => format!("substr({at}, {}, {})", 1 + self.below(2), self.below(3)),
                    2 => format!("trim({at})"),
                    _ => format!("upper({at})"),
                };
                match self.below(4) {
                    0 => format!("concat({text}, {})", quoted(self.one(&["", "!", "b"]))),
                    1 => format!("concat({}, {at})", quoted(self.one(&["a", "b "]))),
                    _ => text,
                }
            }
        })
    }

    fn statement(&mut self, n: usize) -> (String, String) {
        let table = self.one(&self.tables.clone());
        let vars: Vec<Var> = table
            .modes
            .iter()
            .enumerate()
            .map(|(m, (_, over))| Var { name: format!("v{n}_{m}"), over: *over })
            .collect();
        let names = vars.iter().map(|v| v.name.clone()).collect::<Vec<_>>().join(",");
        let (value, digits) = self.value(&vars, 2);
        let condition = self.condition(&vars, 1);
        let sort = if digits == 0 { "i64".to_string() } else { format!("dec({digits})") };
        // Variables have extents where they stand in a mode.
        let row = format!("{}[{names}]", table.name);
        match self.below(6) {
            5 => {
                let d = self.below(self.domains.len());
                let (over, of) = (self.below(self.domains.len()), self.coordinate(d, &vars, 2));
                match (of, self.coordinate(over, &vars, 2)) {
                    (Some(of), Some(at)) if of.contains('[') => {
                        self.end_of_group(n, &vars, (over, &at), (d, &of), &format!("{row} && {condition}"))
                    }
                    _ => (format!("tensor R{n}: i64[]"), format!("R{n}[] = count({names}: {row})")),
                }
            }
            0 | 1 => self.scatter(n, &vars, (&value, &sort), &format!("{row} && {condition}")),
            2 => {
                self.said("a sum");
                (
                    format!("tensor R{n}: {sort}[]"),
                    format!("R{n}[] = sum({names}: if {row} && {condition} then {value} else 0)"),
                )
            }
            3 if self.below(2) == 0 => self.statistic(n, &vars, &format!("{row} && {condition}"), &value),
            3 => {
                self.said("a count");
                (format!("tensor R{n}: i64[]"), format!("R{n}[] = count({names}: {row} && {condition})"))
            }
            _ => {
                self.said("a map");
                let sizes = vars.iter().map(|v| size(v.over)).collect::<Vec<_>>().join(", ");
                let format = match vars.len() {
                    1 => self.one(&["", "sparse", "dense"]),
                    _ => self.one(&["", "csr", "coo"]),
                };
                (
                    format!("tensor R{n}: {sort}[{sizes}] {format}"),
                    format!("R{n}[{names}] = if {row} && {condition} then {value} else 0"),
                )
            }
        }
    }

    /// An average, a variance or its root: of all, or of each label of a domain.
    fn statistic(&mut self, n: usize, vars: &[Var], condition: &str, value: &str) -> (String, String) {
        let fold = self.one(&["avg", "variance", "stddev"]);
        // Sums of products may leave 64 bits, which no average says.
        let value = if value.contains(") * (") { self.value(vars, 0).0 } else { value.to_string() };
        let names = vars.iter().map(|v| v.name.clone()).collect::<Vec<_>>().join(",");
        let d = self.below(self.domains.len());
        match self.coordinate(d, vars, 2) {
            Some(at) if self.below(2) == 0 => {
                self.said(format!("{fold} of groups"));
                (
                    format!("tensor R{n}: f64[D{d}]"),
                    format!("R{n}[g{n}] = {fold}({names}: if {condition} && {at} == g{n} then {value} else 0)"),
                )
            }
            _ => {
                self.said(fold);
                (format!("tensor R{n}: f64[]"), format!("R{n}[] = {fold}({names}: if {condition} then {value} else 0)"))
            }
        }
    }

    /// The least or the greatest label of each group.
    fn end_of_group(
        &mut self,
        n: usize,
        vars: &[Var],
        (over, at): (usize, &str),
        (d, of): (usize, &str),
        condition: &str,
    ) -> (String, String) {
        let fold = self.one(&["min", "max"]);
        self.said(format!("{fold}= of labels"));
        let format = self.one(&["", "sparse", "{hashed}"]);
        let declared = format!("table G{n}[g{n}: D{over}] {{ R{n}: D{d} }} {format}");
        let of = match self.below(2) {
            0 => {
                self.said("mask of labels");
                format!("mask({condition}, {of})")
            }
            // A variable runs over the mode that it stands in.
            _ => self.image(d, vars).filter(|image| image.contains('[')).unwrap_or_else(|| of.to_string()),
        };
        (declared, format!("R{n}[{at}] {fold}= {of}"))
    }

    fn scatter(&mut self, n: usize, vars: &[Var], (value, sort): (&str, &str), condition: &str) -> (String, String) {
        let (mut sizes, mut places) = (Vec::new(), Vec::new());
        for _ in 0..1 + self.below(2) {
            let domain = self.below(self.domains.len());
            let image = if self.below(2) == 0 { self.image(domain, vars) } else { None };
            if let Some(at) = image.or_else(|| self.coordinate(domain, vars, 2)) {
                sizes.push(format!("D{domain}"));
                places.push(at);
            }
        }
        if let Some(date) = self.column(Kind::Date, vars)
            && self.below(3) == 0
        {
            self.said("a computed index");
            sizes.push("Y".to_string());
            places.push(format!("year({date})"));
        }
        let format = match places.len() {
            0 => "",
            1 => self.one(&["", "sparse", "dense", "{hashed}"]),
            2 => self.one(&["csr", "coo", "dcsr"]),
            _ => self.one(&["coo", "csf"]),
        };
        self.said(format!("a scatter under {} indices", places.len()));
        let names: Vec<&str> = vars.iter().map(|v| v.name.as_str()).collect();
        // A scatter without a place is a sum.
        if places.is_empty() {
            let sum = format!("R{n}[] = sum({}: if {condition} then {value} else 0)", names.join(","));
            return (format!("tensor R{n}: {sort}[]"), sum);
        }
        let declared = match self.below(3) {
            0 => {
                self.said("a table of sums");
                let modes = sizes.iter().enumerate().map(|(m, size)| format!("g{n}_{m}: {size}"));
                format!("table G{n}[{}] {{ R{n}: {sort} }} {format}", modes.collect::<Vec<_>>().join(", "))
            }
            _ => format!("tensor R{n}: {sort}[{}] {format}", sizes.join(", ")),
        };
        (declared, format!("R{n}[{}] += if {condition} then {value} else 0", places.join(", ")))
    }
}

fn sort(kind: Kind) -> String {
    match kind {
        Kind::Integer => "i64".to_string(),
        Kind::Decimal(digits) => format!("dec({digits})"),
        Kind::Date => "date".to_string(),
        Kind::Moment => "timestamp".to_string(),
        Kind::Text => "string".to_string(),
        Kind::Bool => "bool".to_string(),
    }
}

fn size(over: Over) -> String {
    match over {
        Over::Domain(d) => format!("D{d}"),
        Over::Size(n) => format!("N{n}"),
    }
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('"', "\"\""))
}

fn declaration(table: &Table, format: &str) -> String {
    let modes =
        table.modes.iter().map(|(name, over)| format!("{name}: {}", size(*over))).collect::<Vec<_>>().join(", ");
    let column = |c: &Column| {
        let (sort, fill) = match c.holds {
            Holds::Domain(d) => (format!("D{d}"), ""),
            Holds::Value(kind) => (
                sort(kind),
                match kind {
                    Kind::Date => "\"1994-01-01\"",
                    Kind::Moment => "\"1994-01-01 10:30\"",
                    Kind::Decimal(_) => "0.25",
                    Kind::Bool => "true",
                    _ => "2",
                },
            ),
        };
        format!("{}: {sort}{}", c.name, if c.fill { format!(" fill {fill}") } else { String::new() })
    };
    let columns = table.columns.iter().map(column).collect::<Vec<_>>().join(", ");
    format!("table {}[{modes}] {{ {columns} }} {format}", table.name)
}
