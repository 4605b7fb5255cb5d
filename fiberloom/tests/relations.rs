//! Programs over labels: answers worked out by hand, and each refusal.

use fiberloom::relation::{self, Cell, Given, Wanted};
use fiberloom::{Engine, Error, Options, Program, Tensor, Type, Value, data};
use std::path::Path;

/// Rows of a result, each value as a file has it.
fn rows(text: &str, tables: &[(&str, &str)], result: &str) -> Result<Vec<String>, Error> {
    let program = Program::parse(text)?;
    let relations = program.relations();
    let mut frames = Vec::new();
    for (name, csv) in tables {
        let table = program.table(name).expect("the program has it");
        let wanted: Vec<Wanted> = relation::wanted(relations, table);
        let name_of_file = format!("{name}.csv");
        let options = data::Options::default();
        frames.push((*name, relation::read_bytes(Path::new(&name_of_file), csv.as_bytes(), &wanted, &options)?));
    }
    let bound = relation::bind(relations, program.typed(), &Given { frames: &frames, sizes: &[], limit: 1 << 30 })?;
    let operands: Vec<(&str, &Tensor)> = bound.operands.iter().map(|(name, tensor)| (name.as_str(), tensor)).collect();
    let mut all: Option<Vec<String>> = None;
    for engine in [Engine::Llvm, Engine::Loops, Engine::Meaning] {
        let outcome = program.compile(&Options { engine, ..Options::default() })?.run(&operands)?;
        let shown = &relations.results[result];
        let frame = relation::decode(relations, result, &outcome[result], shown, &bound.labels)?;
        let bytes = relation::to_bytes(Path::new("result.csv"), &frame)?;
        let text = String::from_utf8(bytes).expect("CSV is text");
        let lines: Vec<String> = text.lines().skip(1).map(str::to_string).collect();
        assert_eq!(all.get_or_insert(lines.clone()), &lines, "{engine:?}");
    }
    Ok(all.unwrap_or_default())
}

fn refusal(text: &str) -> String {
    match Program::parse(text) {
        Err(Error::Program { diagnostics, .. }) => {
            let said = |d: &fiberloom_core::notation::Diagnostic| match &d.help {
                Some(help) => format!("{}; {help}", d.message),
                None => d.message.clone(),
            };
            diagnostics.iter().map(said).collect::<Vec<_>>().join("\n")
        }
        other => panic!("{text} is not refused: {other:?}"),
    }
}

const SALES: &str = "city,day,amount\nRome,1994-12-31,7.25\nParis,1995-01-01,10\nRome,1995-06-30,0.5\n,1995-07-01,99\n";

#[test]
fn groups_are_scatters() {
    let text = "dim CITY: string  table sales[row: N] { city: CITY, amount: dec(2) }
        tensor total: dec(2)[CITY]  total[city[n]] += amount[n]";
    assert_eq!(rows(text, &[("sales", SALES)], "total").unwrap(), ["Paris,10.00", "Rome,7.75"]);
}

#[test]
fn dates_are_compared_and_taken_apart() {
    let text = "dim CITY: string  dim YEAR = 2000  table sales[row: N] { city: CITY, day: date, amount: dec(2) }
        tensor by: dec(2)[YEAR] sparse  tensor late: i64[]
        by[year(day[n])] += amount[n]
        late[] = count(n: day[n] >= \"1995-01-01\" && month(day[n]) > 5)";
    assert_eq!(rows(text, &[("sales", SALES)], "by").unwrap(), ["1994,7.25", "1995,109.50"]);
    assert_eq!(rows(text, &[("sales", SALES)], "late").unwrap(), ["2"]);
}

/// A label that no data have is the label of no coordinate: below some, above others, equal to none.
#[test]
fn labels_need_not_be_there() {
    let of = |condition: &str| {
        let text = format!(
            "dim CITY: string  table sales[row: N] {{ city: CITY }}
            tensor n: i64[]  n[] = count(n: {condition})"
        );
        rows(&text, &[("sales", SALES)], "n").unwrap().join("")
    };
    let known = [("==", "0"), ("!=", "4"), ("<", "1"), ("<=", "1"), (">", "2"), (">=", "2")];
    for (op, count) in known {
        assert_eq!(of(&format!("city[n] {op} \"Quito\"")), count, "{op}");
    }
    assert_eq!(of("city[n] == city[n]"), "4");
    assert_eq!(of("city[n] <= city[n]"), "3");
    assert_eq!(of("like(city[n], \"%o%\")"), "2");
}

/// Keys that dangle have a fill, and what is added under none is added nowhere.
#[test]
fn joins_are_gathers() {
    let text = "dim CITY: string  dim LAND: string
        table sales[row: N] { city: CITY, amount: dec(2) }
        table city_of[name: CITY] { land: LAND, people: i64 fill -1 }
        tensor total: dec(2)[LAND]  total[land[city[n]]] += amount[n]
        tensor people_of: i64[CITY]  people_of[c] = people[c]";
    let cities = "name,land,people\nRome,Italy,\nOslo,Norway,5\n";
    assert_eq!(rows(text, &[("sales", SALES), ("city_of", cities)], "total").unwrap(), ["Italy,7.75"]);
    let people = rows(text, &[("sales", SALES), ("city_of", cities)], "people_of").unwrap();
    assert_eq!(people, ["Oslo,5", "Paris,-1", "Rome,-1"]);
}

/// A row of sums of two tables stands where either has one; one of products, where both have.
#[test]
fn sums_of_two_tables_have_the_rows_of_both() {
    let tables = [("a", "k,x\nOslo,1.00\nBonn,0\nRome,-2.00\n"), ("b", "k,y\nParis,0.50\nRome,2.00\n")];
    let of = |value: &str| {
        let text = format!(
            "dim CITY: string  table a[k: CITY] {{ x: dec(2) }}  table b[k: CITY] {{ y: dec(2) }}
            table out[c: CITY] {{ total: dec(4) }}  total[c] = {value}"
        );
        all_rows(&text, &tables, "out").1
    };
    assert_eq!(of("x[c] + y[c]"), ["Bonn,0.0000", "Oslo,1.0000", "Paris,0.5000", "Rome,0.0000"]);
    assert_eq!(of("x[c] - y[c]"), ["Bonn,0.0000", "Oslo,1.0000", "Paris,-0.5000", "Rome,-4.0000"]);
    assert_eq!(of("x[c] * y[c]"), ["Rome,-4.0000"]);
    // What is counted is a row where it is so.
    let text = "dim CITY: string  table a[k: CITY] { x: dec(2) }  table b[k: CITY] { y: dec(2) }
        table out[c: CITY] { many: i64 }  many[c] = count(d: x[c] > y[d] && c != d)";
    assert_eq!(all_rows(text, &tables, "out").1, ["Oslo,2"]);
}

/// A variable that stands in the start of a fold alone runs over what it reads there.
#[test]
fn starts_of_folds_are_read_at_labels() {
    let tables = [("s", "amount\n1.50\n2\n"), ("b", "k,base\nOslo,10\nRome,0.25\n")];
    let text = "dim CITY: string  table s[row: N] { amount: dec(2) }  table b[k: CITY] { base: dec(2) }
        r[c] = sum(n: amount[n] start base[c])";
    assert_eq!(rows(text, &tables, "r").unwrap(), ["Oslo,13.50", "Rome,3.75"]);
}

/// The least and the greatest of no labels are none, which equals none.
#[test]
fn the_ends_of_no_labels_are_none() {
    let tables = [("s", "city\n"), ("t", "k,other\n1,\n2,Rome\n")];
    for fold in ["max", "min"] {
        let text = format!(
            "dim CITY: string  dim K: i64  table s[row: N] {{ city: CITY }}  table t[k: K] {{ other: CITY }}
            tensor same: bool[K]  same[k] = {fold}(n: city[n]) == other[k]"
        );
        assert_eq!(rows(&text, &tables, "same").unwrap(), ["1,1"], "{fold}");
        let text = text.replace("tensor same: bool[K]  same[k]", "table out[k: K] { end: CITY }  end[k]");
        let text = text.replace(" == other[k]", "").replace("bool", "i64");
        assert!(all_rows(&text, &tables, "out").1.iter().all(|row| row.ends_with(',')), "{fold}");
    }
}

/// A program's own functions fold as they are declared, whatever they are called.
#[test]
fn own_functions_are_no_statistics() {
    for name in ["var", "mean", "median", "avg", "stddev"] {
        let text = format!(
            "fn {name}(a: i64, b: i64) -> i64 {{ a ^ b }} where associative, commutative, identity(0)
            table t[row: N] {{ x: i64 }}  s[] = {name}(n: x[n])"
        );
        assert_eq!(rows(&text, &[("t", "x\n5\n3\n8\n")], "s").unwrap(), ["14"], "{name}");
    }
}

/// A variance of groups whose variable is compared alone, of labels and of numbers: values worked out by hand.
#[test]
fn variances_are_of_groups() {
    let table = ("t", "k,x,q\na,1,1\na,2,8\nb,5,1\nb,5,1\nb,8.5,1\nc,1,0\n");
    let of = |result: &str, statement: &str| {
        let text = format!(
            "dim K: string  dim M = 9  table t[row: N] {{ k: K, x: dec(2), q: i64 }}
            tensor {result}  {statement}"
        );
        rows(&text, &[table], "r").unwrap()
    };
    let by = |condition: &str| format!("variance(n: if {condition} then x[n] else 0)");
    // (1, 2) and (5, 5, 8.5), of which the mean is 18.5 / 3; (1, 5, 5, 8.5).
    assert_eq!(of("r: f64[K]", &format!("r[g] = {}", by("k[n] == g"))), ["a,0.5", "b,4.083333333333333"]);
    assert_eq!(of("r: f64[M]", &format!("r[g] = {}", by("q[n] == g"))), ["1,9.395833333333334"]);
    let both = format!("r[h,g] = {}", by("q[n] == h && k[n] == g"));
    assert_eq!(of("r: f64[M, K] csr", &both), ["1,b,4.083333333333333"]);
}

/// Decimals and literals: products have the digits of both, up to 18; a quotient by what is no integer is refused.
#[test]
fn digits_of_decimals_add_up() {
    let of = |digits: u8, value: &str| {
        let text = format!(
            "table t[row: N] {{ a: dec(2), b: dec(9), c: dec(9), n: i64 }}  tensor s: dec({digits})[]  s[] = sum(i: {value})"
        );
        rows(&text, &[("t", "a,b,c,n\n-7.25,0.000000003,-0.5,3\n")], "s").unwrap().join("")
    };
    assert_eq!(of(5, "a[i] * (0.5 * 0.25)"), "-0.90625");
    assert_eq!(of(4, "a[i] * (0.5 + 0.25)"), "-5.4375");
    assert_eq!(of(3, "a[i] * (1.5 * 2)"), "-21.750");
    assert_eq!(of(2, "a[i] * (3 * 2)"), "-43.50");
    assert_eq!(of(4, "a[i] * (-0.5 * 0.5)"), "1.8125".to_string());
    assert_eq!(of(18, "b[i] * c[i]"), "-0.000000001500000000");
    assert_eq!(of(2, "a[i] / n[i]"), "-2.41");
    assert_eq!(of(2, "a[i] / 2"), "-3.62");
    let refused = |value: &str| {
        refusal(&format!("table t[row: N] {{ a: dec(2), b: dec(9), c: dec(10), n: i64 }}  s[] = sum(i: {value})"))
    };
    assert!(refused("b[i] * c[i]").starts_with("a product with 19 digits behind its point; an i64 holds 18"));
    for quotient in ["a[i] / b[i]", "a[i] / a[i]", "a[i] / 0.5"] {
        let says = "a decimal is divided by what is no integer; an average is a quotient of numbers";
        assert!(refused(quotient).starts_with(says), "{quotient}: {}", refused(quotient));
    }
}

/// Decimals beside literals with more digits, of either sign: as whole numbers of any size are.
#[test]
fn decimals_are_compared_exactly() {
    let csv = "a,b\n-1.5,-1.501\n-1.5,-1.499\n-1.5,-1.500\n1.5,1.499\n1.5,1.501\n,0\n";
    let of = |condition: &str| {
        let text =
            format!("table t[row: N] {{ a: dec(1) fill 0, b: dec(3) }}  tensor n: i64[]  n[] = count(i: {condition})");
        rows(&text, &[("t", csv)], "n").unwrap().join("")
    };
    // Worked out by hand: how many of -1.5 (three times), 1.5 (twice) and 0.
    let literals = [
        ("a[i] < -1.45", "3"),
        ("a[i] <= -1.55", "0"),
        ("a[i] < -1.55", "0"),
        ("a[i] >= -1.55", "6"),
        ("a[i] > -1.55", "6"),
        ("a[i] > -1.45", "3"),
        ("a[i] >= -1.45", "3"),
        ("a[i] == -1.55", "0"),
        ("a[i] != -1.55", "6"),
        ("a[i] < 1.55", "6"),
        ("a[i] >= 1.45", "2"),
        ("a[i] > -0.05", "3"),
        ("a[i] < 0.05", "4"),
        ("a[i] == -1.50", "3"),
        ("-1.45 > a[i]", "3"),
    ];
    // Of two columns: row by row.
    let columns = [("a[i] < b[i]", "2"), ("a[i] <= b[i]", "4"), ("a[i] > b[i]", "2"), ("a[i] >= b[i]", "4")];
    let more = [("a[i] == b[i]", "2"), ("a[i] != b[i]", "4"), ("b[i] < a[i]", "2"), ("b[i] >= a[i]", "4")];
    for (condition, count) in literals.into_iter().chain(columns).chain(more) {
        assert_eq!(of(condition), count, "{condition}");
    }
}

/// Columns whose greatest and least are at the ends of narrow integers.
#[test]
fn narrow_columns_hold_their_data() {
    for end in [7, 8, 15, 16, 31, 32].map(|bits| 1i64 << bits) {
        for most in [end - 1, end, -end, -end - 1] {
            let text = "table t[row: N] { a: i64, b: dec(2) }  tensor s: i64[]  tensor r: dec(2)[]
                s[] = sum(i: a[i])  r[] = sum(i: b[i])";
            let program = Program::parse(text).unwrap();
            let wanted = relation::wanted(program.relations(), program.table("t").unwrap());
            let csv = format!("a,b\n{most},{}\n1,0.01\n", most / 100);
            let frame = relation::read_bytes(Path::new("t.csv"), csv.as_bytes(), &wanted, &data::Options::default());
            let bound = program.bind_tables(&[("t", frame.unwrap())], &[], 1 << 30).unwrap();
            let (program, bound) = relation::narrow(&program, bound).unwrap();
            let operands: Vec<(&str, &Tensor)> = bound.operands.iter().map(|(name, t)| (name.as_str(), t)).collect();
            let outcome = program.compile(&Options::default()).unwrap().run(&operands).unwrap();
            let found = ["s", "r"].map(|name| outcome[name].values.get(0).as_i64());
            assert_eq!(found, [Some(most + 1), Some(most / 100 * 100 + 1)], "{most}");
        }
    }
}

/// What is there always is not none; a name that nothing has is an error there too.
#[test]
fn values_are_never_none() {
    let declared = "dim CITY: string  table s[row: N] { city: CITY, amount: dec(2), day: date, truth: bool, x: f64 }";
    let csv = "city,amount,day,truth,x\nRome,1,2024-01-01,1,nan\n,0,2024-01-02,0,0\n";
    let of = |asked: &str| {
        rows(&format!("{declared}  n[] = count(n: is_none({asked}))"), &[("s", csv)], "n").unwrap().join("")
    };
    for (asked, count) in [
        ("city[n]", "1"),
        ("amount[n]", "0"),
        ("day[n]", "0"),
        ("truth[n]", "0"),
        ("x[n]", "0"),
        ("amount[n] + 1", "0"),
    ] {
        assert_eq!(of(asked), count, "{asked}");
    }
    let said = refusal(&format!("{declared}  n[] = count(n: is_none(m) && amount[n] > 0)"));
    assert!(said.contains("unknown name `m`"), "{said}");
    let said = refusal(&format!("{declared}  n[] = count(n: is_none(nothing[n]) && amount[n] > 0)"));
    assert!(!said.is_empty());
}

/// Texts are as long as they have characters, and are ordered by their bytes, whatever is asked of them.
#[test]
fn texts_beyond_ascii_are_texts() {
    let csv = "city\nÅlesund\nÄänekoski\n日本\nrome\nRome\n\n";
    let of = |condition: &str, column: &str| {
        let text = format!(
            "dim CITY: string  table s[row: N] {{ city: {column} }}  tensor n: i64[]  n[] = count(n: {condition})"
        );
        rows(&text, &[("s", csv)], "n").unwrap().join("")
    };
    for (length, count) in [(7, "1"), (2, "1"), (9, "1"), (4, "2"), (6, "0"), (8, "0"), (0, "1")] {
        assert_eq!(of(&format!("length(city[n]) == {length}"), "CITY"), count, "{length}");
    }
    for column in ["CITY", "string"] {
        assert_eq!(of("lower(city[n]) == \"rome\"", column), "2", "{column}");
        assert_eq!(of("lower(city[n]) == \"ålesund\"", column), "1", "{column}");
        assert_eq!(of("upper(city[n]) == \"ÄÄNEKOSKI\"", column), "1", "{column}");
        assert_eq!(of("substr(city[n], 1, 1) == \"日\"", column), "1", "{column}");
        assert_eq!(of("upper(city[n]) <= \"ROME\"", column), "2", "{column}");
        assert_eq!(of("upper(city[n]) < \"ROME\"", column), "0", "{column}");
        assert_eq!(of("upper(city[n]) >= \"ROME\"", column), "5", "{column}");
    }
}

/// Dates before the common era's first year, at the ends of eras, and at ends of February.
#[test]
fn dates_are_those_of_the_calendar() {
    let known = [
        ("0000-01-01", "0,1,1"),
        ("0000-02-29", "0,2,29"),
        ("0000-12-31", "0,12,31"),
        ("0001-01-01", "1,1,1"),
        ("0400-02-29", "400,2,29"),
        ("0400-03-01", "400,3,1"),
        ("1600-02-29", "1600,2,29"),
        ("1900-02-28", "1900,2,28"),
        ("1900-03-01", "1900,3,1"),
        ("1969-12-31", "1969,12,31"),
        ("2000-01-31", "2000,1,31"),
        ("2000-02-29", "2000,2,29"),
        ("2000-12-31", "2000,12,31"),
        ("9999-12-31", "9999,12,31"),
    ];
    for (day, parts) in known {
        let text = "table t[row: N] { d: date }
            table out[row: N] { y: i64, m: i64, k: i64 }  y[n] = year(d[n])  m[n] = month(d[n])  k[n] = day(d[n])";
        assert_eq!(all_rows(text, &[("t", &format!("d\n{day}\n"))], "out").1, [format!("0,{parts}")], "{day}");
        let same = format!(
            "table t[row: N] {{ d: date }}  s[] = count(n: d[n] == \"{day}\") + 2 * count(n: d[n] < \"{day}\")"
        );
        assert_eq!(rows(&same, &[("t", &format!("d\n{day}\n"))], "s").unwrap(), ["1"], "{day}");
    }
}

/// Columns of one table, read under the same indices, are walked as one list.
#[test]
fn tables_are_walked_once() {
    let text = "dim K: i64  table t[k: K, row: R] { a: dec(2), b: dec(2), c: dec(1) } {compressed, ragged}
        tensor s: dec(5)[]  s[] = sum(k, r: a[k,r] * b[k,r] * (1 - c[k,r]))";
    let program = Program::parse(text).unwrap();
    let loops = program.lowered(fiberloom::Mode::Algebraic).unwrap().kernel.to_string();
    assert_eq!(loops.matches("for ").count(), 2, "{loops}");
    let csv = "k,a,b,c\n5,1.00,2.00,0.5\n-3,0.10,0.10,0\n5,1,1,0.9\n";
    assert_eq!(rows(text, &[("t", csv)], "s").unwrap(), ["1.11000"]);
}

/// A function of labels is an array: of dates, of numbers, and of what is none, where it is its fill.
#[test]
fn functions_are_arrays_of_labels() {
    let text = "dim CITY: string  dim DAY: date  dim SIZE: i64
        fn squared(n: i64) -> i64 { n * n }  fn between(d: i64, n: i64) -> bool { d > n }
        tensor year: i64[DAY] {function}  tensor squared: i64[SIZE] {function}
        tensor between: bool[DAY, SIZE] {function, function}
        table sales[row: N] { city: CITY, day: DAY, size = \"amount\": SIZE }
        tensor total: i64[CITY]
        total[city[n]] += squared[size[n]] + mask(between[day[n], size[n]], year[day[n]])";
    let sales = "city,day,amount\nRome,1994-12-31,7\nParis,1970-01-01,10\nRome,1995-06-30,-5\nParis,,3\n";
    assert_eq!(rows(text, &[("sales", sales)], "total").unwrap(), ["Paris,109", "Rome,4063"]);
}

/// A function of labels has its fill at none, not what the function gives for some number.
#[test]
fn functions_of_no_label_are_their_fill() {
    let text = "dim DAY: date  dim SIZE: i64  fn next(n: i64) -> i64 { n + 1 }
        tensor year: i64[DAY] {function}  tensor next: i64[SIZE] {function}
        table s[row: N] { day: DAY, size: SIZE }
        tensor y: i64[]  tensor x: i64[]  y[] = sum(n: year[day[n]])  x[] = sum(n: next[size[n]])";
    let csv = "day,size\n1994-12-31,7\n,\n2000-01-01,\n,-3\n";
    let of = |result: &str| rows(text, &[("s", csv)], result).unwrap();
    assert_eq!((of("y"), of("x")), (vec!["3994".to_string()], vec!["6".to_string()]));
}

/// Literals of which one is taken have the digits of the decimal that they stand beside.
#[test]
fn literals_are_chosen_as_decimals() {
    let text = "dim CITY: string  table sales[row: N] { city: CITY, amount: dec(2) }  tensor s: dec(4)[]
        s[] = sum(n: amount[n] * (if amount[n] > 1 then -(0.05) else select(amount[n] > 0.5, 1, 0.5))
          + mask(amount[n] > 7.2, 0.125) + mask(amount[n] >= select(amount[n] < 8, 7.25, 100), 1))";
    assert_eq!(rows(text, &[("sales", SALES)], "s").unwrap(), ["-4.1875"]);
}

/// A scalar is one row, that which is its fill value, too.
#[test]
fn scalars_are_one_row() {
    let text = "table t[row: N] { a: dec(2) }  s[] = sum(i: a[i])";
    assert_eq!(rows(text, &[("t", "a\n1.50\n-1.50\n")], "s").unwrap(), ["0.00"]);
    assert_eq!(rows(text, &[("t", "a\n1.50\n-1.25\n")], "s").unwrap(), ["0.25"]);
}

/// A table whose columns statements define comes back with labels: a row stands where its rows are defined, or some column holds
/// something.
#[test]
fn tables_are_results() {
    let declared = "dim CITY: string  table sales[row: N] { city: CITY, day: date, amount: dec(2) }";
    let csv = "city,day,amount\nRome,2024-01-01,5.00\nParis,2024-02-01,10.50\nRome,2024-03-01,2.25\n,2024-01-01,1\n\
        Oslo,2024-01-02,0\n";
    let columns = "total[city[n]] += amount[n]  last[city[n]] max= day[n]";
    let table = "table out[place: CITY] { total: dec(2), last = \"last day\": date }";
    let all = ["Oslo,0.00,2024-01-02", "Paris,10.50,2024-02-01", "Rome,7.25,2024-03-01"];
    for format in ["", "sparse", "dense"] {
        let text = format!("{declared} {table} {format} {columns}");
        assert_eq!(table_rows(&text, csv, "out"), ("place,total,last day".to_string(), all.map(String::from).to_vec()));
    }
    let alone = "table out[place: CITY] { total: dec(2) }  total[city[n]] += amount[n]";
    let (_, some) = table_rows(&format!("{declared} {alone}"), csv, "out");
    assert_eq!(some, ["Oslo,0.00", "Paris,10.50", "Rome,7.25"]);
    let (_, rows) = table_rows(&format!("{declared} {alone}  out[c] = count(n: city[n] == c) > 0"), csv, "out");
    assert_eq!(rows, ["Oslo,0.00", "Paris,10.50", "Rome,7.25"]);
    let bag = "table out[row: N] { place: CITY, twice: dec(2) }  place[n] = city[n]  twice[n] = 2 * amount[n]";
    let (names, rows) = table_rows(&format!("{declared} {bag}"), csv, "out");
    assert_eq!((&*names, rows.len(), &*rows[3]), ("row,place,twice", 5, "3,,2.00"));
}

/// The names of the columns of a table that a program defines of `sales`, and its rows, whoever computes them.
fn table_rows(text: &str, sales: &str, result: &str) -> (String, Vec<String>) {
    all_rows(text, &[("sales", sales)], result)
}

/// The same of any tables.
fn all_rows(text: &str, tables: &[(&str, &str)], result: &str) -> (String, Vec<String>) {
    let program = Program::parse(text).unwrap_or_else(|e| panic!("{e}"));
    let mut frames = Vec::new();
    for (name, csv) in tables {
        let wanted = relation::wanted(program.relations(), program.table(name).unwrap());
        let (path, options) = (format!("{name}.csv"), data::Options::default());
        frames.push((*name, relation::read_bytes(Path::new(&path), csv.as_bytes(), &wanted, &options).unwrap()));
    }
    let bound = program.bind_tables(&frames, &[], 1 << 30).unwrap();
    let operands: Vec<(&str, &Tensor)> = bound.operands.iter().map(|(name, tensor)| (name.as_str(), tensor)).collect();
    let mut all = Vec::new();
    for engine in [Engine::Llvm, Engine::Loops, Engine::Meaning] {
        let outcome = program.compile(&Options { engine, ..Options::default() }).unwrap().run(&operands).unwrap();
        let frame = program.decoded(result, &outcome, &bound.labels).unwrap().unwrap();
        all.push(String::from_utf8(relation::to_bytes(Path::new("result.csv"), &frame).unwrap()).unwrap());
    }
    assert!(all[0] == all[1] && all[1] == all[2], "{all:?}");
    let mut lines = all[0].lines().map(str::to_string);
    (lines.next().unwrap(), lines.collect())
}

/// What is given for two columns of a table has one structure, or is refused.
#[test]
fn columns_have_one_structure() {
    let text = "dim K: i64  table t[k: K] { a: i64, b: i64 } sparse  tensor s: i64[]  s[] = sum(k: a[k] * b[k])";
    let kernel = Program::parse(text).unwrap().compile(&Options::default()).unwrap();
    let list = |crd: Vec<i32>, values: Vec<i64>| {
        let levels = vec![fiberloom::Level::Compressed { pos: vec![0i32, crd.len() as i32].into(), crd: crd.into() }];
        Tensor::from_levels(vec![4], vec![0], levels, values).unwrap()
    };
    let rows = fiberloom::Level::Compressed { pos: vec![0i32, 2].into(), crd: vec![0i32, 1].into() };
    let rows = Tensor::from_levels(
        vec![4],
        vec![0],
        vec![rows],
        fiberloom::Array::from_values(Type::Bool, [true; 2].map(Value::bool)),
    )
    .unwrap();
    let (a, b) = (list(vec![0, 1], vec![1, 2]), list(vec![0, 2], vec![3, 4]));
    let wrong = kernel.run(&[("t", &rows), ("a", &a), ("b", &b)]).unwrap_err().to_string();
    assert!(wrong.contains("its levels are others than those of `t`, a column of the same table"), "{wrong}");
}

#[test]
fn what_is_wrong_with_labels_is_said() {
    let known = [
        ("dim D: f64", "labels of `D` are of type f64"),
        ("dim D: i64  dim D = 4", "dim `D` is declared twice"),
        ("table t[k: N] { a: E }", "`E` is no type and no domain"),
        ("dim D: i64  table t[row: D] {}", "`row` counts rows, and `D` has labels"),
        ("dim D: i64  table t[k: D] { a: i64 }  table u[k: D] { a: i64 }", "`a` is declared twice"),
        ("dim D: i64  table t[k: D] { a: D fill 0 }", "what stands for a null in a column of a domain"),
        ("tensor a: string[4]", "tensor `a` of texts"),
        (
            "dim D: i64  table t[k: D] {}  table u[k: D] { a: i64, b: i64 }  a[i] = convert(t[i], i64)",
            "no statement defines `b`, a column of a table that statements define; define it, or leave it away",
        ),
        (
            "dim D: i64  table t[k: D] {}  table u[k: D] { a: i64, b: string }  a[i] = convert(t[i], i64)",
            "no statement defines `b`, a column of a table that statements define; no array holds texts",
        ),
        ("dim D: date  table t[k: D] {}  s[] = count(i: i > \"1994-13-01\" && t[i])", "no label of `D`"),
        (
            "dim D: i64  table t[k: D] {}  s[] = count(i: i == \"a\" && t[i])",
            "`\"a\"` is no label of `D`; its labels are integers",
        ),
        (
            "dim D: i64  dim E: i64  table t[k: D] { e: E }  s[] = count(i: t[i] && i == e[i])",
            "labels of `D` beside labels of `E`",
        ),
        (
            "dim D: i64  dim E: i64  table t[k: D] {}  table u[k: E] {}  s[] = count(i: t[i] && u[i])",
            "runs over `E` here and over `D` elsewhere",
        ),
        (
            "dim D: i64  dim E: i64  table t[k: D] { e: E }  s[] = count(i: t[e[i]])",
            "a coordinate of `E`, and `t` is read at a coordinate of `D`",
        ),
        ("table t[row: N] { a: string }  s[] = count(i: a[i] < \"b\")", "an order of texts of a column"),
        ("table t[row: N] { a: dec(2), x: f64 }  s[] = sum(i: a[i] * x[i])", "a decimal stands beside what is none"),
        (
            "table t[row: N] { a: dec(2) }  tensor s: dec(1)[]  s[] = sum(i: a[i])",
            "a decimal stands beside what is none",
        ),
        ("table t[row: N] { a: dec(2) }  s[] = sum(i: sqrt(a[i]))", "`sqrt` does not take decimals"),
        ("table t[row: N] { a: dec(12) }  s[] = sum(i: a[i] * a[i])", "24 digits behind its point"),
        ("table t[row: N] { a: dec(19) }", "19 digits behind its point"),
        ("table t[row: N] { a: i64 }  s[] = sum(i: mask(a[i] == \"x\", 1))", "a text stands where a value is needed"),
        (
            "dim D: string  fn f(n: i64) -> i64 { n }  tensor f: i64[D] {function}  table t[k: D] {}
             s[] = sum(i: mask(t[i], f[i]))",
            "a label of `D` is a text, and a value is needed",
        ),
        (
            "dim D: i64  fn f(n: f64) -> i64 { 1 }  tensor f: i64[D] {function}",
            "`f` is not given by the function `f`: its types are others; a function of labels takes an i64 for each mode",
        ),
        (
            "dim D: i64  dim E: i64  fn f(n: i64) -> i64 { n }  tensor f: i64[D] {function}  table t[k: E] {}
             s[] = sum(i: mask(t[i], f[i]))",
            "runs over",
        ),
        ("dim D: i64  tensor year: i64[D] {function}  s[] = sum(i: year[i])", "`year` takes a date, and this is none"),
        ("x[i] = \"a\"", "the text `\"a\"` stands where a value is needed"),
        ("tensor a: i64[N]  h[abs(sum(i: a[i]))] += 1", "an index is computed of values, and this is a fold"),
    ];
    for (text, what) in known {
        let said = refusal(text);
        assert!(said.contains(what), "{text}\n  says: {said}\n  expected: {what}");
    }
}

/// An index is computed of what is read, in a program without labels, too.
#[test]
fn indices_are_computed() {
    let text = "tensor a: i64[N] dense  tensor h: i64[4] dense  tensor g: i64[N] dense  tensor t: i64[4] dense
        h[min(a[i], 3)] += 1
        g[i] = t[max(min(a[i], 3), 0)]";
    let program = Program::parse(text).unwrap();
    for engine in [Engine::Llvm, Engine::Loops, Engine::Meaning] {
        let kernel = program.compile(&Options { engine, ..Options::default() }).unwrap();
        let outcome = kernel.run(&fiberloom::operands! { a: &[5i64, 0, 3, 1], t: &[10i64, 11, 12, 13] }).unwrap();
        assert_eq!(outcome.dense::<i64>("h").unwrap(), [1, 1, 0, 2]);
        assert_eq!(outcome.dense::<i64>("g").unwrap(), [13, 10, 13, 11]);
        let wrong = kernel.run(&fiberloom::operands! { a: &[-1i64], t: &[0i64; 4] }).unwrap_err();
        let Error::Mismatch { diagnostics, .. } = &wrong else { panic!("{engine:?}: {wrong:?}") };
        assert!(diagnostics[0].message.contains("`h`, whose extent is 4"), "{wrong:?}");
    }
}

/// Cells are what a reader gives.
#[test]
fn cells_are_read() {
    let wanted = [Wanted { source: "amount".to_string(), holds: relation::Holds::Decimal(2) }];
    let frame = relation::read_bytes(Path::new("s.csv"), SALES.as_bytes(), &wanted, &data::Options::default()).unwrap();
    assert_eq!(frame.columns[0].cell(0), Some(Cell::Decimal(725, 2)));
}

/// Rows of edges as comma-separated values.
fn edges(all: &[(i64, i64)]) -> String {
    all.iter().fold("a,b\n".to_string(), |text, (a, b)| format!("{text}{a},{b}\n"))
}

fn example(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../examples/graphs/{name}.loom"));
    std::fs::read_to_string(path).unwrap()
}

/// Joins of a table with itself, against what loops over all corners find.
#[test]
fn graphs_are_joined() {
    let all: Vec<(i64, i64)> = (0..7).flat_map(|a| (0..7).map(move |b| (a, b))).collect();
    let mut seed = 1u64;
    let mut drawn = |n: u64| {
        seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (seed >> 33) % n
    };
    for _ in 0..20 {
        let some: Vec<(i64, i64)> = all.iter().copied().filter(|_| drawn(3) > 0).collect();
        let is = |a: i64, b: i64| i64::from(some.contains(&(a, b)));
        let corners = || 0..7i64;
        let of = |a: i64| {
            corners()
                .flat_map(|b| corners().map(move |c| (b, c)))
                .map(|(b, c)| is(a, b) * is(b, c) * is(a, c))
                .sum::<i64>()
        };
        let triangles: i64 = corners().map(of).sum();
        let bows: i64 = corners().map(|a| of(a) * of(a)).sum();
        let (mut cliques, mut paths) = (0, 0);
        for (a, b) in &some {
            for (c, d) in &some {
                paths += is(*b, *c);
                cliques += is(*a, *c) * is(*a, *d) * is(*b, *c) * is(*b, *d);
            }
        }
        let known = [
            ("triangles", "triangles", triangles),
            ("bow_ties", "bows", bows),
            ("cliques", "cliques", cliques),
            ("paths", "paths", paths),
        ];
        for (file, result, count) in known {
            let found = rows(&example(file), &[("edge", &edges(&some))], result).unwrap();
            let wanted: Vec<String> = (count != 0).then(|| count.to_string()).into_iter().collect();
            assert_eq!(found, wanted, "{file} of {some:?}");
        }
    }
}

/// On a star, where joins of two edge tables have n² rows, what closes triangles costs a time in proportion to n.
#[test]
fn stars_are_joined_in_linear_time() {
    for file in ["triangles", "bow_ties", "paths"] {
        let ops = |n: i64| {
            let star: Vec<(i64, i64)> = (1..n).flat_map(|i| [(0, i), (i, 0)]).chain([(0, 0)]).collect();
            let program = Program::parse(&example(file)).unwrap();
            let (relations, options) = (program.relations(), data::Options::default());
            let wanted = relation::wanted(relations, &relations.tables[0]);
            let frame =
                relation::read_bytes(Path::new("edge.csv"), edges(&star).as_bytes(), &wanted, &options).unwrap();
            let given = Given { frames: &[("edge", frame)], sizes: &[], limit: 1 << 30 };
            let bound = relation::bind(relations, program.typed(), &given).unwrap();
            let operands: Vec<(&str, &Tensor)> = bound.operands.iter().map(|(name, t)| (name.as_str(), t)).collect();
            let kernel = program.compile(&Options { engine: Engine::Loops, ..Options::default() }).unwrap();
            kernel.run(&operands).unwrap().ops.unwrap().iter().map(|(_, n)| n).sum::<u64>()
        };
        let (small, large) = (ops(200), ops(800));
        assert!(large < 5 * small, "{file}: {small} operations become {large}");
    }
}
