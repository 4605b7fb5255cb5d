//! Frames bound to programs: which coordinates labels are, how tables are stored, what is asked of labels, what is refused.

use super::*;
use fiberloom_core::format::Level;
use fiberloom_relation::days;

const ORDER: usize = 0;
const SUPP: usize = 1;
const NATION: usize = 2;
const DAY: usize = 3;

/// Two tables of orders.
fn relations() -> Relations {
    let line = table(
        "line",
        vec![mode("order", Over::Domain(ORDER)), mode("row", Over::Row)],
        vec![
            holding("supp", Holds::Domain(SUPP)),
            holding("price", Holds::Decimal(2)),
            TableColumn { null: Some(Value::from_i128(Type::I32, -1)), ..holding("many", Holds::Plain(Type::I32)) },
            holding("note", Holds::Text),
        ],
    );
    let supp = table(
        "supp_table",
        vec![mode("key", Over::Domain(SUPP))],
        vec![
            holding("nation", Holds::Domain(NATION)),
            holding("since", Holds::Domain(DAY)),
            holding("born", Holds::Date),
        ],
    );
    let integers = |name| domain(name, Labels::Integer(Type::I64));
    Relations {
        domains: vec![integers("ORDER"), integers("SUPP"), domain("NATION", Labels::Text), domain("DAY", Labels::Date)],
        tables: vec![line, supp],
        ..Relations::default()
    }
}

/// The plain program of these tables, in such a format; each tensor is read.
fn plain(line: &str, supp: &str) -> Program {
    let text = format!(
        "tensor line: bool[ORDER, L] {line}
        tensor supp: i64[ORDER, L] fill -1 {line}
        tensor price: i64[ORDER, L] {line}
        tensor many: i32[ORDER, L] fill -1 {line}
        tensor noted: bool[ORDER, L] {line}
        tensor supp_table: bool[SUPP] {supp}
        tensor nation: i64[SUPP] fill -1 {supp}
        tensor since: i64[SUPP] fill -1 {supp}
        tensor born: i64[SUPP] {supp}
        tensor ORDERs: bool[ORDER] dense
        tensor NATIONs: bool[NATION] sparse
        tensor days: i64[DAY] dense
        tensor at: i64[] tensor absent: i64[] tensor below: i64[] tensor upto: i64[]
        tensor passes: bool[NATION] dense
        a[] = any(o, l: line[o,l] && noted[o,l] && supp[o,l] > 0 && price[o,l] > 0 && many[o,l] > 0)
        b[] = any(s: supp_table[s] && nation[s] > 0 && since[s] > 0 && born[s] > 0)
        c[] = any(o: ORDERs[o])
        d[] = any(n: NATIONs[n] && passes[n])
        e[] = sum(x: days[x]) + at[] + absent[] + below[] + upto[]"
    );
    coordinates(&text)
}

fn line() -> Frame<'static> {
    let columns = vec![
        Column::new("order", whole([30, 10, 30, 10, 30])),
        Column::new("supp", whole([7, 9, 0, 8, 7])).with_nulls(vec![false, false, true, false, false]),
        Column::new("price", Values::Decimals(Array::from(vec![100i32, 200, 300, 400, 500]), 1)),
        Column::new("many", whole([1, 2, 3, 4, 5])).with_nulls(vec![false, true, false, false, false]),
        Column::new("note", texts(["green", "red", "dark green", "blue", "greenish"])),
    ];
    Frame::new("line.csv", columns).unwrap()
}

fn supp() -> Frame<'static> {
    let day = |text: &str| days(text).unwrap();
    let columns = vec![
        Column::new("key", whole([9, 7, 6])),
        Column::new("nation", texts(["PERU", "FRANCE", "PERU"])),
        Column::new("since", texts(["1994-03-01", "1994-01-07", "1994-03-01"])),
        Column::new("born", Values::Dates(Array::from(vec![day("1970-01-02"), 0, day("1969-12-31")]))),
    ];
    Frame::new("supp.csv", columns).unwrap()
}

fn bound(
    relations: &Relations,
    program: &Program,
    line: Frame,
    supp: Frame,
) -> Result<Bound, fiberloom_data::error::Error> {
    let given = Given { frames: &[("line", line), ("supp_table", supp)], sizes: &[], limit: 1 << 20 };
    let bound = bind(relations, program, &given)?;
    for (name, tensor) in &bound.operands {
        tensor.check().unwrap_or_else(|e| panic!("{name}: {e}"));
    }
    Ok(bound)
}

fn operand<'b>(bound: &'b Bound, name: &str) -> &'b Tensor<'static> {
    &bound.operands.iter().find(|(n, _)| n == name).unwrap_or_else(|| panic!("no operand {name}")).1
}

/// Every value of a tensor, in the order of coordinates.
fn dense(bound: &Bound, name: &str) -> Vec<i64> {
    let all = operand(bound, name).to_dense(1 << 10).unwrap();
    all.iter().map(|value| value.as_i128().unwrap() as i64).collect()
}

const FORMATS: [&str; 8] = [
    "{dense, ragged}",
    "{dense, compressed}",
    "{compressed, compressed}",
    "dense",
    "coo",
    "{bytemap, hashed} order(1, 0)",
    "{dense, runs}",
    "{compressed, band}",
];

/// Ranks of labels, numbers of rows, and what stands there, worked out by hand: orders 10, 30; suppliers 6, 7, 8, 9.
#[test]
fn tables_stand_at_ranks() {
    for format in FORMATS {
        let bound = bound(&relations(), &plain(format, "dense"), line(), supp()).unwrap();
        assert_eq!(bound.labels[ORDER], Dictionary::Numbers(vec![10, 30]));
        assert_eq!(bound.labels[SUPP], Dictionary::Range { first: 6, len: 4 });
        assert_eq!(bound.labels[NATION], Dictionary::Texts(Texts::of(["FRANCE", "PERU"]).unwrap()));
        assert_eq!(bound.labels[DAY], Dictionary::Numbers(vec![8772, 8825]));
        let tensor = |name: &str| dense(&bound, name);
        assert_eq!(operand(&bound, "line").extents, [2, 3]);
        assert_eq!(tensor("line"), [1, 1, 0, 1, 1, 1], "{format}");
        assert_eq!(tensor("supp"), [3, 2, -1, 1, -1, 1], "{format}");
        assert_eq!(tensor("price"), [2000, 4000, 0, 1000, 3000, 5000], "{format}");
        assert_eq!(tensor("many"), [-1, 4, -1, 1, 3, 5], "{format}");
        assert_eq!(tensor("supp_table"), [1, 1, 0, 1]);
        assert_eq!(tensor("nation"), [1, 0, -1, 1]);
        assert_eq!(tensor("since"), [1, 0, -1, 1]);
        assert_eq!(tensor("born"), [-1, 0, 0, 1]);
    }
}

/// The columns of a table have the same arrays of levels, not equal ones.
#[test]
fn columns_share_their_levels() {
    let bound = bound(&relations(), &plain("{dense, compressed}", "dense"), line(), supp()).unwrap();
    let arrays = |name: &str| match &operand(&bound, name).levels[1] {
        Level::Compressed { pos, crd } => (pos.as_ptr(), crd.as_ptr()),
        other => panic!("{other:?}"),
    };
    for name in ["supp", "price", "many"] {
        assert_eq!(arrays(name), arrays("line"));
    }
}

#[test]
fn labels_are_asked() {
    let label = |text: &str| Label::Text(text.into());
    let day = |text: &str| Label::Number(days(text).unwrap());
    let asked = |tensor: &str, what| Asked { tensor: tensor.into(), what };
    let mut relations = relations();
    relations.asked = vec![
        asked("ORDERs", What::Extent(ORDER)),
        asked("NATIONs", What::Extent(NATION)),
        asked("days", What::Values(DAY)),
        asked("at", What::At(NATION, label("PERU"))),
        asked("absent", What::At(NATION, label("GHANA"))),
        asked("below", What::Below(DAY, day("1994-02-01"))),
        asked("upto", What::UpTo(DAY, day("1994-03-01"))),
        asked("passes", What::Passes(NATION, Test::Like("%R_NC%".into(), None))),
        asked("noted", What::Column { table: 0, column: 3, test: Test::Like("%green".into(), None) }),
    ];
    let program = plain("{dense, ragged}", "dense");
    let bound = bound(&relations, &program, line(), supp()).unwrap();
    let tensor = |name: &str| dense(&bound, name);
    assert_eq!((tensor("ORDERs"), tensor("NATIONs")), (vec![0, 0], vec![0, 0]));
    assert_eq!(tensor("days"), [8772, 8825]);
    assert_eq!([tensor("at"), tensor("absent"), tensor("below"), tensor("upto")].concat(), [1, -2, 1, 2]);
    assert_eq!(tensor("passes"), [1, 0]);
    assert_eq!(tensor("noted"), [0, 0, 0, 1, 1, 0]);
    // They are the operands that the program takes.
    let results = meaning(&program, &bound);
    assert!(results["a"].at(&[]).value.is_true());
    assert_eq!(results["e"].at(&[]).value, Value::i64(8772 + 8825 + 1 - 2 + 1 + 2));
}

/// Labels between, below and above those that are there.
#[test]
fn ranks_of_labels() {
    let numbers = [Dictionary::Range { first: -2, len: 4 }, Dictionary::Numbers(vec![-2, -1, 0, 1])];
    for dictionary in numbers {
        let rank = |x| dictionary.rank(&Label::Number(x));
        assert_eq!(
            [rank(i64::MIN), rank(-3), rank(-2), rank(1), rank(2), rank(i64::MAX)],
            [Err(0), Err(0), Ok(0), Ok(3), Err(4), Err(4)]
        );
        assert_eq!(dictionary.label(3), Some(Label::Number(1)));
        assert_eq!((dictionary.label(4), dictionary.label(-1)), (None, None));
        assert_eq!(dictionary.rank(&Label::Text("".into())), Err(4));
    }
    let ends = Dictionary::Numbers(vec![i64::MIN, i64::MAX]);
    assert_eq!([i64::MIN, 0, i64::MAX].map(|x| ends.rank(&Label::Number(x))), [Ok(0), Err(1), Ok(1)]);
    let texts = Dictionary::Texts(Texts::of(["", "B", "a", "é"]).unwrap());
    let rank = |text: &str| texts.rank(&Label::Text(text.into()));
    assert_eq!(
        [rank(""), rank("A"), rank("a"), rank("z"), rank("é"), rank("ü")],
        [Ok(0), Err(1), Ok(2), Err(3), Ok(3), Err(4)]
    );
}

/// Numbers that are far apart, close with gaps, and all there are, of the ends of their type.
#[test]
fn dictionaries_of_numbers() {
    let relations = Relations {
        domains: vec![domain("D", Labels::Integer(Type::I64))],
        tables: vec![table("t", vec![mode("k", Over::Domain(0))], vec![])],
        ..Relations::default()
    };
    let program = coordinates("tensor t: bool[D] dense s[] = any(i: t[i])");
    for (numbers, expected) in [
        (vec![i64::MAX, i64::MIN, 0], Dictionary::Numbers(vec![i64::MIN, 0, i64::MAX])),
        (vec![i64::MAX, i64::MAX - 2], Dictionary::Numbers(vec![i64::MAX - 2, i64::MAX])),
        (vec![i64::MIN + 1, i64::MIN], Dictionary::Range { first: i64::MIN, len: 2 }),
        (vec![64, 127, 63, 128], Dictionary::Numbers(vec![63, 64, 127, 128])),
        (vec![], Dictionary::Range { first: 0, len: 0 }),
    ] {
        let frame = Frame::new("t", vec![Column::new("k", Values::Plain(Array::from(numbers)))]).unwrap();
        let given = Given { frames: &[("t", frame)], sizes: &[], limit: 1 << 20 };
        assert_eq!(bind(&relations, &program, &given).unwrap().labels, [expected]);
    }
    let frame = Frame::new("t", vec![Column::new("k", Values::Plain(Array::from(vec![1u64, 1 << 63])))]).unwrap();
    let wide = Relations { domains: vec![domain("D", Labels::Integer(Type::U64))], ..relations };
    let given = Given { frames: &[("t", frame)], sizes: &[], limit: 1 << 20 };
    let (exit, text) = says(bind(&wide, &program, &given));
    assert_eq!((exit, &*text), (3, "t: row 2, column k: 9223372036854775808 is no label: labels are below 2^63"));
}

#[test]
fn what_is_refused_says_where() {
    let program = plain("{dense, ragged}", "dense");
    let with = |column: Column<'static>, frame: Frame<'static>| {
        let others =
            frame.columns.into_iter().map(|c| if c.name == column.name { column.clone() } else { c }).collect();
        Frame { columns: others, ..frame }
    };
    let of_line = |column| says(bound(&relations(), &program, with(column, line()), supp()));
    let of_supp = |column| says(bound(&relations(), &program, line(), with(column, supp())));
    let third = vec![false, false, true, false, false];
    let (exit, text) = of_line(Column::new("order", whole([30, 10, 30, 10, 30])).with_nulls(third.clone()));
    let help = "a key has none; `--table NAME=null-keys=drop` leaves such rows out";
    assert_eq!((exit, text), (3, format!("line.csv: row 3, column order: a null, and `i64` holds none: {help}")));
    let help = "where a null stands, the column says what stands for it, `fill VALUE`, or is of a domain";
    let (_, text) = of_line(Column::new("price", whole([1, 2, 3, 4, 5])).with_nulls(third));
    assert_eq!(text, format!("line.csv: row 3, column price: a null, and `dec(2)` holds none: {help}"));
    let (_, text) = of_line(Column::new("price", Values::Plain(Array::from(vec![1.5, 0.25, 0.125, 1.0, 1.0]))));
    let digits = "0.125 has 3 digits behind its point, and `dec(2)` holds 2";
    assert_eq!(text, format!("line.csv: row 3, column price: {digits}"));
    let (exit, text) = of_supp(Column::new("key", whole([9, 7, 9])));
    let twice = "the key 9 stands in row 1 too: a mode `row` would number the rows of one key";
    assert_eq!((exit, text), (3, format!("supp.csv: row 3, column key: {twice}")));
    let (_, text) = of_supp(Column::new("born", whole([9, 7, 9])));
    assert_eq!(text, "supp.csv: row 1, column born: 9, of type i64, stands where the program declares `date`");
    let far =
        Column::new("since", Values::Dates(Array::from(vec![0i64, 1 << 31, -1 << 40]))).with_nulls(vec![false; 3]);
    let bounds = "a date 2147483648 days from 1970-01-01 is no label: 32 bits hold those of labels";
    assert_eq!(of_supp(far), (3, format!("supp.csv: row 2, column since: {bounds}")));
    let (_, text) = of_supp(Column::new("since", texts(["1994-01-01", "", "x"])));
    assert!(
        text.starts_with("supp.csv: row 2, column since: expected a date of the calendar, as 1994-12-31"),
        "{text}"
    );
    let (_, text) = of_supp(Column::new("since", whole([1])));
    assert_eq!(text, "supp.csv: column `since`: 1 values and 0 marks of nulls for 3 rows");
    let short = Frame::new("supp.csv", supp().columns.into_iter().take(2).collect()).unwrap();
    let (exit, text) = says(bound(&relations(), &program, line(), short));
    assert_eq!((exit, &*text), (3, "supp.csv: no column `since` among 2 columns: `key`, `nation`"));
    let none = Given { frames: &[("line", line())], sizes: &[], limit: 1 << 20 };
    let (exit, text) = says(bind(&relations(), &program, &none));
    assert_eq!((exit, &*text), (2, "no data are given for table `supp_table`: `--in supp_table=FILE`"));
    let small = Given { frames: &[("line", line()), ("supp_table", supp())], sizes: &[], limit: 10 };
    assert_eq!(says(bind(&relations(), &program, &small)).0, 5);
}

/// Coordinates that are none of a domain, under extents that the program, another operand, or nobody says.
#[test]
fn coordinates_are_bounded() {
    let edges = vec![mode("from", Over::Coordinate), mode("to", Over::Coordinate)];
    let relations = Relations { tables: vec![table("edge", edges, vec![])], ..Relations::default() };
    let of = |program: &str, from: [i64; 3], sizes: &[(&str, u64)]| {
        let program = coordinates(program);
        let columns = vec![Column::new("from", whole(from)), Column::new("to", whole([2, 1, 2]))];
        let frames = &[("edge", Frame::new("e.csv", columns).unwrap())];
        bind(&relations, &program, &Given { frames, sizes, limit: 1 << 20 })
            .map(|bound| operand(&bound, "edge").clone())
    };
    let free = "tensor edge: bool[N, N] csr s[] = any(i, j: edge[i,j])";
    assert_eq!(of(free, [4, 0, 1], &[]).unwrap().extents, [5, 5]);
    assert_eq!(of(free, [4, 0, 1], &[("N", 9)]).unwrap().extents, [9, 9]);
    let said = says(of(free, [1, 5, 0], &[("N", 5)])).1;
    assert_eq!(said, "e.csv: row 2, column from: coordinate 5 is not in 0..5, the extent of `N`");
    let said = says(of(&format!("dim N = 2 {free}"), [1, 0, 0], &[])).1;
    assert_eq!(said, "e.csv: row 1, column to: coordinate 2 is not in 0..2, the extent of `N`");
    assert_eq!(says(of(free, [0, 1, -1], &[])).1, "e.csv: row 3, column from: coordinate -1: 0 or more expected");
    let twice = "the key 1, 2 stands in row 1 too: a mode `row` would number the rows of one key";
    assert_eq!(says(of(free, [1, 2, 1], &[])).1, format!("e.csv: row 3, column from, to: {twice}"));
    let triangle = "tensor edge: bool[N, N] {dense, lower} s[] = any(i, j: edge[i,j])";
    let said = says(of(triangle, [4, 3, 1], &[])).1;
    assert!(said.starts_with("e.csv: row 3, column from, to: a value stands at (1, 2), above the diagonal"), "{said}");
}

/// A sum over nations by the rows of both tables, from text to text: worked out by hand.
#[test]
fn from_file_to_file() {
    let relations = Relations {
        results: [(
            "revenue".to_string(),
            Shown { modes: vec![("n_name".into(), Some(NATION))], holds: Holds::Decimal(2) },
        )]
        .into(),
        ..relations()
    };
    let program = "tensor supp: i64[ORDER, L] fill -1 {dense, ragged}
        tensor price: i64[ORDER, L] {dense, ragged}
        tensor nation: i64[SUPP] fill -1 dense
        tensor revenue: i64[NATION] dense
        tensor NATIONs: bool[NATION] dense
        revenue[n] = sum(o, l, s: if supp[o,l] == s && nation[s] == n && !NATIONs[n] then price[o,l] else 0)";
    let program = coordinates(program);
    let relations =
        Relations { asked: vec![Asked { tensor: "NATIONs".into(), what: What::Extent(NATION) }], ..relations };
    let line = "order,supp,price,many,note\n30,7,1.00,1,\n10,9,2.5,,\"\"\n30,,3,1,\n10,8,4,1,\n30,7,5.25,1,\n"
        .replace(",\n", ",x\n");
    let supp = "key,nation,since,born\n9,PERU,1994-03-01,1970-01-01\n7,FRANCE,1994-01-07,1970-01-01\n";
    let options = Options::default();
    let frame = |n: usize, text: &str| {
        let wanted = wanted(&relations, &relations.tables[n]);
        read_bytes(Path::new("t.csv"), text.as_bytes(), &wanted, &options).unwrap()
    };
    let given =
        Given { frames: &[("line", frame(0, &line)), ("supp_table", frame(1, supp))], sizes: &[], limit: 1 << 20 };
    let bound = bind(&relations, &program, &given).unwrap();
    let revenue = &meaning(&program, &bound)["revenue"];
    let revenue: Vec<i64> = (0..2).filter_map(|nation| revenue.at(&[nation]).value.as_i64()).collect();
    let shown = &relations.results["revenue"];
    let frame = decode(&relations, "revenue", &Tensor::vector(&revenue), shown, &bound.labels).unwrap();
    let text = String::from_utf8(to_bytes(Path::new("r.csv"), &frame).unwrap()).unwrap();
    assert_eq!(text, "n_name,revenue\nFRANCE,6.25\nPERU,2.50\n");
}

/// The columns of a table that is a result stand in the same rows; what a null stands for is one again.
#[test]
fn a_table_is_decoded() {
    let relations = relations();
    let bound = bound(&relations, &plain("csr", "sparse"), line(), supp()).unwrap();
    let results: Vec<(&str, &Tensor)> = bound.operands.iter().map(|(name, tensor)| (name.as_str(), tensor)).collect();
    let mut made = relations.tables[0].clone();
    made.columns.truncate(3);
    let text = |results: &[(&str, &Tensor)], table: &Table| {
        let frame = decode_table(&relations, table, results, &bound.labels).unwrap();
        String::from_utf8(to_bytes(Path::new("r.csv"), &frame).unwrap()).unwrap()
    };
    let all =
        "order,row,supp,price,many\n10,0,9,20.00,\n10,1,8,40.00,4\n30,0,7,10.00,1\n30,1,,30.00,3\n30,2,7,50.00,5\n";
    assert_eq!(text(&results, &made), all);
    // Without the tensor of its rows, a row stands where a column holds something.
    let columns: Vec<(&str, &Tensor)> =
        results.iter().filter(|(name, _)| *name == "supp" || *name == "many").copied().collect();
    made.columns.remove(1);
    let some = "order,row,supp,many\n10,0,9,\n10,1,8,4\n30,0,7,1\n30,1,,3\n30,2,7,5\n";
    assert_eq!(text(&columns, &made), some);
    made.columns.remove(1);
    assert_eq!(text(&columns[..1], &made), "order,row,supp\n10,0,9\n10,1,8\n30,0,7\n30,2,7\n");
    let (exit, said) = says(decode_table(&relations, &made, &[], &bound.labels));
    assert_eq!((exit, &*said), (2, "table `line`: no result `supp`, one of its columns"));
    let wrong = Tensor::vector(&[0i64, 2]).with_fill(-1i64).unwrap();
    let shown = Shown { modes: vec![("k".into(), Some(ORDER))], holds: Holds::Domain(NATION) };
    let (_, said) = says(decode(&relations, "r", &wrong, &shown, &bound.labels));
    assert!(said.ends_with("result `r` has coordinate 2 of `NATION`, which has 2 labels"), "{said}");
}
