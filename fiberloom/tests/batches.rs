//! Tables that memory does not hold, in batches of row groups, on the command line: the answers of plain Rust over all rows, whatever
//! the limit; and memory that stays bounded.
#![cfg(feature = "parquet")]

use parquet::basic::{LogicalType, Repetition, Type as Physical};
use parquet::data_type::{ByteArray, ByteArrayType, Int32Type, Int64Type};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type as Schema;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

/// A row of the table that is read in batches.
#[derive(Clone)]
struct Row {
    city: Option<u64>,
    /// In hundredths.
    amount: i64,
    many: i64,
    /// Days from 1970-01-01 on.
    day: i32,
}

/// A generator of numbers: xorshift.
struct Draw(u64);

impl Draw {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % n
    }
}

fn rows(draw: &mut Draw, count: usize, cities: u64) -> Vec<Row> {
    let row = |_| {
        let city = (draw.below(9) > 0).then(|| draw.below(cities));
        let (amount, many) = (draw.below(200_000) as i64 - 50_000, draw.below(20) as i64);
        Row { city, amount, many, day: 8_000 + draw.below(2_000) as i32 }
    };
    (0..count).map(row).collect()
}

/// Writes rows, so many a row group.
fn write(path: &Path, rows: &[Row], group: usize) {
    let field = |name: &str, physical, logical, repetition, digits: i32| {
        let field = Schema::primitive_type_builder(name, physical).with_repetition(repetition);
        let precision = if digits > 0 { 18 } else { -1 };
        let digits = if digits > 0 { digits } else { -1 };
        let field = field.with_logical_type(logical).with_precision(precision).with_scale(digits);
        Arc::new(field.build().unwrap())
    };
    let fields = vec![
        field("city", Physical::BYTE_ARRAY, Some(LogicalType::String), Repetition::OPTIONAL, 0),
        field("amount", Physical::INT64, Some(LogicalType::decimal(2, 18)), Repetition::REQUIRED, 2),
        field("many", Physical::INT64, None, Repetition::REQUIRED, 0),
        field("day", Physical::INT32, Some(LogicalType::Date), Repetition::REQUIRED, 0),
    ];
    let schema = Arc::new(Schema::group_type_builder("schema").with_fields(fields).build().unwrap());
    let properties = Arc::new(WriterProperties::builder().build());
    let mut file = SerializedFileWriter::new(File::create(path).unwrap(), schema, properties).unwrap();
    for rows in rows.chunks(group) {
        let mut to = file.next_row_group().unwrap();
        let mut column = to.next_column().unwrap().unwrap();
        let texts: Vec<ByteArray> =
            rows.iter().filter_map(|row| row.city).map(|c| ByteArray::from(named(c).as_str())).collect();
        let levels: Vec<i16> = rows.iter().map(|row| i16::from(row.city.is_some())).collect();
        column.typed::<ByteArrayType>().write_batch(&texts, Some(&levels), None).unwrap();
        column.close().unwrap();
        for of in [|row: &Row| row.amount, |row: &Row| row.many] {
            let mut column = to.next_column().unwrap().unwrap();
            column.typed::<Int64Type>().write_batch(&rows.iter().map(of).collect::<Vec<_>>(), None, None).unwrap();
            column.close().unwrap();
        }
        let mut column = to.next_column().unwrap().unwrap();
        let days: Vec<i32> = rows.iter().map(|row| row.day).collect();
        column.typed::<Int32Type>().write_batch(&days, None, None).unwrap();
        column.close().unwrap();
        to.close().unwrap();
    }
    file.close().unwrap();
}

fn named(city: u64) -> String {
    format!("c{city:03}")
}

/// A directory that goes away with the test.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Scratch {
        let dir = std::env::temp_dir().join(format!("fiberloom-batches-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&dir);
        std::fs::create_dir_all(&dir).unwrap();
        Scratch(dir)
    }

    /// What a program prints, or the exit status and what it says; and the most memory that it took, in MB.
    fn run(&self, program: &str, args: &[&str]) -> (Result<String, (i32, String)>, u64) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fiberloom"));
        command.args(["run", "-e", program]).args(args).current_dir(&self.0);
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let status = format!("/proc/{}/status", child.id());
        let output = std::thread::spawn(move || child.wait_with_output().unwrap());
        let mut most = 0;
        while !output.is_finished() {
            let text = std::fs::read_to_string(&status).unwrap_or_default();
            let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
            most = line.and_then(|line| line.trim().trim_end_matches("kB").trim().parse().ok()).unwrap_or(0).max(most);
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
        let output = output.join().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim_end().to_string();
        let made = match output.status.code() {
            Some(0) => Ok(text(&output.stdout)),
            code => Err((code.unwrap_or(-1), text(&output.stderr))),
        };
        (made, most / 1024)
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.0.join(name)).unwrap()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

const DECLARED: &str = "dim CITY: string
    table s[row: N] { city: CITY, amount: dec(2), many: i64, day: date }\n";

/// A condition, as it is written and as it is meant.
type Condition = (String, Box<dyn Fn(&Row) -> bool>);

fn condition(draw: &mut Draw) -> Condition {
    let (amount, day) = (draw.below(150_000) as i64, 8_000 + draw.below(2_000) as i32);
    match draw.below(4) {
        0 => (format!("amount[n] > {}", decimal(amount)), Box::new(move |row| row.amount > amount)),
        1 => (format!("day[n] >= \"{}\"", fiberloom::relation::date(day.into())), Box::new(move |row| row.day >= day)),
        2 => ("prefix(city[n], \"c00\")".to_string(), Box::new(|row| row.city.is_some_and(|c| c < 10))),
        _ => ("many[n] % 3 == 1".to_string(), Box::new(|row| row.many % 3 == 1)),
    }
}

/// Hundredths as they are written.
fn decimal(x: i64) -> String {
    let sign = if x < 0 { "-" } else { "" };
    format!("{sign}{}.{:02}", x.abs() / 100, x.abs() % 100)
}

/// Groups: sums, counts, least and greatest labels and dates, and what is computed of them when they are known.
#[test]
fn groups_are_merged() {
    let (dir, mut draw) = (Scratch::new("groups"), Draw(0x5eed));
    for round in 0..6 {
        let (count, cities) = (3_000 + draw.below(3_000) as usize, 5 + draw.below(200));
        let (all, size) = (rows(&mut draw, count, cities), 1 + draw.below(900) as usize);
        write(&dir.0.join("s.parquet"), &all, size);
        let (written, holds) = condition(&mut draw);
        let program = format!(
            "{DECLARED}table out[place: CITY] {{ total: dec(2), rows: i64, last: date fill \"1970-01-01\" }}
             total[city[n]] += mask({written}, amount[n] * many[n])
             rows[city[n]] += if {written} then 1 else 0
             last[city[n]] max= if {written} then day[n] else \"1970-01-01\"
             tensor large: dec(2)[CITY] sparse  large[c] = if total[c] > 5000 then total[c] else 0"
        );
        let mut groups: BTreeMap<u64, (i64, i64, i32)> = BTreeMap::new();
        for row in all.iter().filter(|row| holds(row)) {
            let Some(city) = row.city else { continue };
            let (total, rows, last) = groups.entry(city).or_default();
            (*total, *rows, *last) = (*total + row.amount * row.many, *rows + 1, row.day.max(*last));
        }
        let (mut out, mut large) = ("place,total,rows,last\n".to_string(), "CITY,large\n".to_string());
        for (city, (total, rows, last)) in &groups {
            let last = fiberloom::relation::date((*last).into());
            writeln!(out, "{},{},{rows},{last}", named(*city), decimal(*total)).unwrap();
            if *total > 500_000 {
                writeln!(large, "{},{}", named(*city), decimal(*total)).unwrap();
            }
        }
        for memory in ["1G", "200K", "120K"] {
            let args = ["--in", "s=s.parquet", "--memory", memory, "--out", "out=out.csv", "--out", "large=large.csv"];
            let (made, _) = dir.run(&program, &args);
            assert!(made.is_ok(), "round {round}, {memory}: {made:?}");
            assert_eq!(dir.read("out.csv"), out, "round {round}, {memory}, groups of {size}: {written}");
            assert_eq!(dir.read("large.csv"), large, "round {round}, {memory}");
        }
    }
}

/// Scalars: folds, averages, which are computed of two folds, and what is read in a second pass.
#[test]
fn scalars_are_folded() {
    let (dir, mut draw) = (Scratch::new("scalars"), Draw(0xf01d));
    for round in 0..4 {
        let all = rows(&mut draw, 4_000, 30);
        write(&dir.0.join("s.parquet"), &all, 333);
        let (written, holds) = condition(&mut draw);
        let program = format!(
            "{DECLARED}most[] = max(n: amount[n])  none[] = all(n: many[n] < 20)  some[] = any(n: many[n] > 19)
             mean[] = avg(n: mask({written}, many[n]))  half[] = sum(n: many[n]) / 2
             above[] = count(n: convert(many[n], f64) > mean[])  less[] = half[] - N"
        );
        let kept: Vec<i64> = all.iter().filter(|row| holds(row)).map(|row| row.many).collect();
        let mean = kept.iter().sum::<i64>() as f64 / kept.len() as f64;
        let above = all.iter().filter(|row| row.many as f64 > mean).count();
        let (most, half) =
            (all.iter().map(|row| row.amount).max().unwrap(), all.iter().map(|row| row.many).sum::<i64>() / 2);
        let expected = [
            ("above", above.to_string()),
            ("half", half.to_string()),
            ("less", (half - all.len() as i64).to_string()),
            ("mean", mean.to_string()),
            ("most", decimal(most)),
            ("none", "true".to_string()),
            ("some", "false".to_string()),
        ];
        let expected = expected.map(|(name, value)| format!("{name}: 1 row\n  {name}\n  {value}")).join("\n");
        for memory in ["1G", "150K"] {
            let (made, _) = dir.run(&program, &["--in", "s=s.parquet", "--memory", memory]);
            assert_eq!(made.as_ref(), Ok(&expected), "round {round}, {memory}: {written}");
        }
    }
}

/// What labels of all batches become are labels of all batches; and a variance takes a pass more, behind that for the average.
#[test]
fn labels_and_averages_are_of_all_rows() {
    let (dir, mut draw) = (Scratch::new("labels"), Draw(0x1abe1));
    let all = rows(&mut draw, 4_000, 300);
    write(&dir.0.join("s.parquet"), &all, 350);
    let program = format!(
        "{DECLARED}dim TENS: string  tensor by: i64[TENS]  by[concat(substr(city[n], 1, 3), \"*\")] += many[n]
         spread[] = stddev(n: many[n])"
    );
    let mut groups: BTreeMap<u64, i64> = BTreeMap::new();
    all.iter()
        .filter_map(|row| Some((row.city?, row.many)))
        .for_each(|(c, many)| *groups.entry(c / 10).or_default() += many);
    let by: String = groups.iter().map(|(tens, sum)| format!("c{tens:02}*,{sum}\n")).collect();
    let count = all.len() as f64;
    let mean = all.iter().map(|row| row.many).sum::<i64>() as f64 / count;
    let squares: f64 = all.iter().map(|row| (row.many as f64 - mean).powi(2)).sum();
    let spread = (squares / (count - 1.0)).sqrt();
    for memory in ["1G", "150K"] {
        let args = ["--in", "s=s.parquet", "--memory", memory, "--out", "by=by.csv", "--out", "spread=spread.csv"];
        let (made, _) = dir.run(&program, &args);
        assert!(made.is_ok(), "{memory}: {made:?}");
        assert_eq!(dir.read("by.csv"), format!("TENS,by\n{by}"), "{memory}");
        let made: f64 = dir.read("spread.csv").lines().nth(1).unwrap().parse().unwrap();
        assert!((made - spread).abs() < 1e-9 * spread, "{memory}: {made}, {spread}");
    }
}

/// Rows that are kept stand one behind the other, under their numbers in the data; other tables are whole, and several files are one table.
#[test]
fn rows_are_kept() {
    let (dir, mut draw) = (Scratch::new("rows"), Draw(0xca7));
    let all = rows(&mut draw, 5_000, 12);
    all.chunks(2_100).enumerate().for_each(|(n, rows)| write(&dir.0.join(format!("s-{n}.parquet")), rows, 400));
    std::fs::write(dir.0.join("rates.csv"), "town,rate\nc003,0.5\nc007,2\nelsewhere,9\n").unwrap();
    let program = format!(
        "{DECLARED}table rates[town: CITY] {{ rate: dec(1) }}
         table kept[row: N] {{ place: CITY, paid: dec(3) }} sparse
         place[n] = mask(amount[n] > 1400, city[n])  paid[n] = mask(amount[n] > 1400, amount[n] * rate[city[n]])"
    );
    let mut expected = "row,place,paid\n".to_string();
    for (n, row) in all.iter().enumerate().filter(|(_, row)| row.amount > 140_000) {
        let rate = [(3, 5), (7, 20)].iter().find(|(city, _)| row.city == Some(*city)).map_or(0, |(_, rate)| *rate);
        let paid = row.amount * rate;
        let city = row.city.map_or(String::new(), named);
        writeln!(expected, "{n},{city},{}.{:03}", paid / 1000, paid % 1000).unwrap();
    }
    for memory in ["1G", "300K", "100K"] {
        let args = ["--in", "s=s-*.parquet", "--in", "rates=rates.csv", "--memory", memory, "--out", "kept=kept.csv"];
        let (made, _) = dir.run(&program, &args);
        assert!(made.is_ok(), "{memory}: {made:?}");
        assert_eq!(dir.read("kept.csv"), expected, "{memory}");
    }
}

/// What 64 bits do not hold is refused, and a sum that leaves them on the way is not.
#[test]
fn sums_of_decimals_are_held() {
    let dir = Scratch::new("held");
    let row = |amount| Row { city: Some(1), amount, many: 1, day: 8_000 };
    let large = 4_000_000_000_000_000_000;
    let total = format!("{DECLARED}tensor total: dec(2)[CITY]  total[city[n]] += amount[n]");
    let run = |amounts: &[i64]| {
        let all: Vec<Row> =
            amounts.iter().flat_map(|amount| std::iter::once(row(*amount)).chain(vec![row(0); 999])).collect();
        write(&dir.0.join("s.parquet"), &all, 1_000);
        dir.run(&total, &["--in", "s=s.parquet", "--memory", "150K"]).0
    };
    let fits = run(&[large, large, large, -large, -large]);
    assert_eq!(fits, Ok("total: 1 row\n  CITY  total\n  c001  40000000000000000.00".to_string()));
    let (status, says) = run(&[large, large, large]).unwrap_err();
    assert!(
        status == 3 && says.contains("`total`: a value is about 1.200e17, and a dec(2), 64 bits"),
        "{status} {says}"
    );
}

/// What is wrong with a row is said with its row group, of all rows at once and of batches.
#[test]
fn faults_are_in_row_groups() {
    use fiberloom::relation::{self, Column, Frame, Values};
    let (dir, mut draw) = (Scratch::new("faults"), Draw(0xbad));
    let all = rows(&mut draw, 1_000, 30);
    write(&dir.0.join("keys.parquet"), &all, 7);
    let null = all.iter().position(|row| row.city.is_none()).unwrap();
    let keyed = "dim CITY: string  table s[city: CITY, row: N] { amount: dec(2) }  t[] = sum(c, n: amount[c,n])";
    let (status, says) = dir.run(keyed, &["--in", "s=keys.parquet"]).0.unwrap_err();
    let (at, group) = (format!("keys.parquet: row {}, column city: a null", null + 1), null / 7 + 1);
    assert!(status == 3 && says.starts_with(&at), "{says}");
    assert!(says.ends_with(&format!(" (row group {group} of 143)")), "{says}");
    for n in 0..3 {
        let column = Column::new("x", Values::Plain((0..3_000i64).map(|x| x * x * x).collect::<Vec<_>>().into()));
        let nulls: Vec<bool> = (0..3_000).map(|row| n == 1 && row == 16).collect();
        let frame = Frame::new("s", vec![column.with_nulls(nulls)]).unwrap();
        relation::write(&dir.0.join(format!("s-{n}.parquet")), &frame).unwrap();
    }
    let program = "table s[row: N] { x: i64 }  t[] = sum(n: x[n])";
    for memory in ["1G", "120K"] {
        let (status, says) = dir.run(program, &["--in", "s=s-*.parquet", "--memory", memory]).0.unwrap_err();
        let (at, end) = ("s-1.parquet: row 17, column x: a null, and `i64` holds none", " (row group 1 of 1)");
        assert!(status == 3 && says.starts_with(at) && says.ends_with(end), "{memory}: {says}");
    }
}

/// Ten times as many rows take no more memory.
#[test]
fn memory_is_bounded() {
    let (dir, mut draw) = (Scratch::new("memory"), Draw(0xb16));
    let some = rows(&mut draw, 100_000, 900);
    write(&dir.0.join("small.parquet"), &some, 20_000);
    let all: Vec<Row> = (0..16).flat_map(|_| some.iter().cloned()).collect();
    write(&dir.0.join("large.parquet"), &all, 20_000);
    drop(all);
    let program =
        format!("{DECLARED}table out[place: CITY] {{ total: dec(2) }}  total[city[n]] += amount[n] * many[n]");
    let run = |file: &str, memory: &str| {
        let (made, most) = dir.run(&program, &["--in", &format!("s={file}"), "--memory", memory]);
        assert!(made.is_ok(), "{made:?}");
        most
    };
    let (small, whole, batches) = (run("small.parquet", "1G"), run("large.parquet", "4G"), run("large.parquet", "20M"));
    assert!(batches <= small + 20, "{batches} MB in batches, {small} MB of few rows, {whole} MB whole");
    assert!(whole >= batches + 30, "{batches} MB in batches, {whole} MB whole");
}

/// What is not read in batches is refused before it is read, with what it takes, and why.
#[test]
fn what_is_not_cut_is_refused() {
    let (dir, mut draw) = (Scratch::new("refused"), Draw(7));
    write(&dir.0.join("s.parquet"), &rows(&mut draw, 4_000, 30), 500);
    let refused = |program: &str, args: &[&str], says: &[&str]| {
        let (made, _) = dir.run(program, &[&["--in", "s=s.parquet"], args].concat());
        let (status, text) = made.unwrap_err();
        let lacks: Vec<_> = says.iter().filter(|part| !text.contains(**part)).collect();
        assert!(status == 5 && lacks.is_empty(), "{status} {lacks:?} {text}");
    };
    let takes = "fiberloom: table `s` takes about 226 kB in 8 row groups, for the columns city, amount, many, day, and 150 kB are allowed";
    let limit = ["--memory", "150K"];
    let triples = format!("{DECLARED}triples[] = count(n, m, k: many[n] == many[m] && many[m] == many[k])");
    let refusal = "it is not read in batches of row groups:";
    refused(&triples, &limit, &[takes, refusal, "`n` and `k` are both rows of `s`"]);
    let apart = format!("{DECLARED}y[] = amount[3]");
    refused(&apart, &limit, &[takes, "`amount` is read at rows of `s` that may stand in any batch"]);
    let shifted = format!("{DECLARED}y[n] = amount[n] - coalesce(amount[~(n + 1)], 0)");
    refused(&shifted, &limit, &[takes, "index variable `n` is not split"]);
    let keyed = "dim CITY: string  table s[many: K, row: N] { city: CITY, amount: dec(2), day: date }
        total[] = sum(d, n: amount[d,n])";
    refused(
        keyed,
        &limit,
        &[
            "table `s` is not read in batches: its key `many` is a coordinate",
            "number its rows, `table s[row: N] { … }`",
        ],
    );
    let plain = format!("{DECLARED}total[] = sum(n: amount[n])");
    refused(
        &plain,
        &["--memory", "20K"],
        &["its largest row group takes about 28 kB: write the file in smaller row groups"],
    );
}
