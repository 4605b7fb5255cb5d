//! Random tables: bound and decoded they are what they were, and each step is as long as its table.

use super::files::{all_of, cells};
use super::*;
use quickcheck::{Arbitrary, Gen, QuickCheck};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// A table and its data: keys of up to three modes, columns of every kind.
#[derive(Clone, Debug)]
struct Case {
    keys: Vec<Key>,
    format: usize,
    rows: Vec<Drawn>,
}

/// What a mode is.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Key {
    Integer,
    Text,
    Date,
    Decimal,
    Coordinate,
    Row,
}

/// A row: numbers for its keys and for its columns, of which some are null.
#[derive(Clone, Debug)]
struct Drawn {
    keys: [i8; 3],
    values: [i64; 6],
    nulls: [bool; 6],
}

const FORMATS: [&str; 6] = ["dense", "coo", "csf", "hashed", "ragged", "runs"];

impl Arbitrary for Case {
    fn arbitrary(g: &mut Gen) -> Case {
        let kinds = [Key::Integer, Key::Text, Key::Date, Key::Decimal, Key::Coordinate, Key::Row];
        let modes = *g.choose(&[1, 2, 3]).unwrap();
        let keys: Vec<Key> = (0..modes).map(|_| *g.choose(&kinds).unwrap()).collect();
        let many = *g.choose(&[0, 1, 2, 5, 20]).unwrap();
        let spread = *g.choose(&[1i8, 3, 100]).unwrap();
        let edges = [0, 1, -1, i64::MAX, i64::MIN + 1, 7];
        let row = |g: &mut Gen| Drawn {
            keys: [(); 3].map(|()| i8::arbitrary(g) % spread),
            values: [(); 6].map(|()| *g.choose(&edges).unwrap()),
            nulls: [(); 6].map(|()| *g.choose(&[true, false, false]).unwrap()),
        };
        let rows = (0..many).map(|_| row(g)).collect();
        Case { keys, format: usize::arbitrary(g) % FORMATS.len(), rows }
    }

    fn shrink(&self) -> Box<dyn Iterator<Item = Case>> {
        let case = self.clone();
        let without = move |n: usize| {
            let mut case = case.clone();
            case.rows.remove(n);
            case
        };
        Box::new((0..self.rows.len()).map(without))
    }
}

impl Case {
    fn relations(&self) -> Relations {
        let labels = [Labels::Integer(Type::I64), Labels::Text, Labels::Date, Labels::Decimal(2)];
        let domains = labels.iter().enumerate().map(|(n, labels)| domain(&format!("D{n}"), *labels)).collect();
        let over = |key: &Key| match key {
            Key::Coordinate => Over::Coordinate,
            Key::Row => Over::Row,
            key => Over::Domain(*key as usize),
        };
        let modes = self.keys.iter().enumerate().map(|(m, key)| mode(&format!("k{m}"), over(key))).collect();
        let null = |name: &str, holds, null| TableColumn { null: Some(null), ..holding(name, holds) };
        let columns = vec![
            null("c0", Holds::Plain(Type::I64), Value::i64(i64::MIN)),
            holding("c1", Holds::Domain(0)),
            holding("c2", Holds::Domain(1)),
            holding("c3", Holds::Domain(2)),
            null("c4", Holds::Decimal(3), Value::i64(i64::MIN)),
            null("c5", Holds::Date, Value::i64(i32::MIN.into())),
        ];
        Relations { domains, tables: vec![table("t", modes, columns)], ..Relations::default() }
    }

    fn program(&self) -> Program {
        let rank = self.keys.len();
        let format = match FORMATS[self.format] {
            "hashed" => format!("{{{}}}", vec!["hashed"; rank].join(", ")),
            last @ ("ragged" | "runs") => format!("{{{}{last}}}", "compressed, ".repeat(rank - 1)),
            named => named.to_string(),
        };
        let size = |(m, key): (usize, &Key)| match key {
            Key::Row | Key::Coordinate => format!("S{m}"),
            key => format!("D{}", *key as usize),
        };
        let sizes = self.keys.iter().enumerate().map(size).collect::<Vec<_>>().join(", ");
        let (at, mut text) = (["i", "j", "k"][..rank].join(","), String::new());
        writeln!(text, "tensor t: bool[{sizes}] {format}").unwrap();
        for (n, ty) in ["i64", "i64", "i64", "i64", "i64", "i64"].iter().enumerate() {
            let fill = if (1..4).contains(&n) { " fill -1" } else { "" };
            writeln!(text, "tensor c{n}: {ty}[{sizes}]{fill} {format}").unwrap();
        }
        let all = (0..6).map(|n| format!("c{n}[{at}] == 0")).collect::<Vec<_>>().join(" && ");
        writeln!(text, "s[] = any({}: t[{at}] && {all})", at.replace(',', ", ")).unwrap();
        coordinates(&text)
    }

    /// The data, and in which order rows come back: each key once, unless rows are numbered.
    fn frames(&self) -> (Frame<'static>, Frame<'static>) {
        let mut rows: BTreeMap<Vec<(i8, usize)>, &Drawn> = BTreeMap::new();
        let mut given = Vec::new();
        for row in &self.rows {
            let mut key = Vec::new();
            for (m, kind) in self.keys.iter().enumerate() {
                let number = match kind {
                    Key::Row => given.iter().filter(|other: &&Vec<(i8, usize)>| other[..m] == key[..]).count(),
                    Key::Coordinate => row.keys[m].unsigned_abs().into(),
                    _ => 0,
                };
                let label = if matches!(kind, Key::Row | Key::Coordinate) { 0 } else { row.keys[m] };
                key.push((label, number));
            }
            if rows.insert(key.clone(), row).is_none() {
                given.push(key);
            }
        }
        let kept = |key: &Vec<(i8, usize)>| rows[key];
        let frame = |keys: &[&Vec<(i8, usize)>]| {
            let rows: Vec<&Drawn> = keys.iter().map(|key| kept(key)).collect();
            let modes =
                self.keys.iter().enumerate().map(|(m, kind)| key_column(m, *kind, keys.iter().map(|key| key[m])));
            Frame::new("t.csv", modes.chain((0..6).map(|n| column(n, &rows))).collect()).unwrap()
        };
        (frame(&given.iter().collect::<Vec<_>>()), frame(&rows.keys().collect::<Vec<_>>()))
    }
}

/// Labels that ascend as the numbers do.
fn key_column(m: usize, kind: Key, of: impl Iterator<Item = (i8, usize)>) -> Column<'static> {
    let name = format!("k{m}");
    let of: Vec<(i8, usize)> = of.collect();
    let numbers =
        |f: &dyn Fn(i64) -> i64| Array::from(of.iter().map(|(label, _)| f((*label).into())).collect::<Vec<i64>>());
    let values = match kind {
        Key::Integer => Values::Plain(numbers(&|x| x << 40)),
        Key::Date => Values::Dates(Array::from(of.iter().map(|(label, _)| i32::from(*label)).collect::<Vec<_>>())),
        Key::Decimal => Values::Decimals(numbers(&|x| 3 * x), 2),
        Key::Text => {
            let text: Vec<String> = of.iter().map(|(label, _)| format!("{:03}\"", i64::from(*label) + 200)).collect();
            Values::Texts(Texts::of(text.iter().map(String::as_str)).unwrap())
        }
        Key::Coordinate | Key::Row => Values::Plain(Array::from(of.iter().map(|(_, n)| *n as i64).collect::<Vec<_>>())),
    };
    Column::new(name, values)
}

fn column(n: usize, rows: &[&Drawn]) -> Column<'static> {
    let array = || Array::from(rows.iter().map(|row| row.values[n]).collect::<Vec<i64>>());
    let days = || Array::from(rows.iter().map(|row| (row.values[n] >> 50) as i32).collect::<Vec<i32>>());
    let values = match n {
        2 => {
            let text: Vec<String> = rows.iter().map(|row| row.values[n].to_string().replace('0', "")).collect();
            Values::Texts(Texts::of(text.iter().map(String::as_str)).unwrap())
        }
        3 | 5 => Values::Dates(days()),
        4 => Values::Decimals(array(), 3),
        _ => Values::Plain(array()),
    };
    let nulls: Vec<bool> = rows.iter().map(|row| row.nulls[n]).collect();
    let column = Column::new(format!("c{n}"), values);
    if nulls.contains(&true) { column.with_nulls(nulls) } else { column }
}

/// A random table, in a random format: what was bound is decoded, in the order of its keys; and so is what was written.
#[test]
fn tables_come_back() {
    fn comes_back(case: Case) -> bool {
        let (relations, program) = (case.relations(), case.program());
        let (given, expected) = case.frames();
        for name in Kind::ALL.iter().map(|kind| format!("t.{}", kind.extension())) {
            if name.ends_with("parquet") && cfg!(not(feature = "parquet")) {
                continue;
            }
            let bytes = to_bytes(Path::new(&name), &given).unwrap();
            let again = read_bytes(Path::new(&name), &bytes, &all_of(&given), &Options::default()).unwrap();
            assert_eq!(cells(&again), cells(&given), "{name}");
        }
        let table = &relations.tables[0];
        let given = Given { frames: &[("t", given)], sizes: &[], limit: 1 << 30 };
        let bound = bind(&relations, &program, &given).unwrap();
        bound.operands.iter().for_each(|(name, t)| t.check().unwrap_or_else(|e| panic!("{name}: {e}")));
        let results: Vec<(&str, &Tensor)> =
            bound.operands.iter().map(|(name, tensor)| (name.as_str(), tensor)).collect();
        let decoded = decode_table(&relations, table, &results, &bound.labels).unwrap();
        assert_eq!(cells(&decoded), cells(&expected));
        true
    }
    let source = Gen::from_size_and_seed(30, 38);
    QuickCheck::new().rng(source).tests(600).max_tests(600).quickcheck(comes_back as fn(Case) -> bool);
}
