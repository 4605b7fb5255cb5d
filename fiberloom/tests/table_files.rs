//! Tables from several files, read as they are written, and their results in another order: on the command line.

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// A directory that goes away with the test.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str, files: &[(&str, &str)]) -> Scratch {
        let dir = std::env::temp_dir().join(format!("fiberloom-tables-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&dir);
        std::fs::create_dir_all(dir.join("parts")).unwrap();
        files.iter().for_each(|(name, text)| std::fs::write(dir.join(name), text).unwrap());
        Scratch(dir)
    }

    /// What a program prints, or the exit status and what it says.
    fn run(&self, program: &str, args: &[&str], stdin: &str) -> Result<String, (i32, String)> {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fiberloom"));
        command.args(["run", "-e", program]).args(args).current_dir(&self.0);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        // A command that reads nothing may have ended.
        let _ = child.stdin.take().unwrap().write_all(stdin.as_bytes());
        let output = child.wait_with_output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim_end().to_string();
        match output.status.code() {
            Some(0) => Ok(text(&output.stdout)),
            code => Err((code.unwrap_or(-1), text(&output.stderr))),
        }
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

const TOTALS: &str = "dim CITY: string  table s[row: N] { city: CITY, amount: dec(2) }
    table out[place: CITY] { total: dec(2) }  total[city[n]] += amount[n]";

const PARTS: [(&str, &str); 4] = [
    ("parts/a-1.csv", "city,amount\nRome,7.25\nOslo,1\n"),
    ("parts/a-2.csv", "amount,city\n0.75,Rome\n3,\n2,Paris\n"),
    ("parts/_log", "no data"),
    ("parts/.hidden.csv", "no data either"),
];

/// A pattern, a folder, files one by one, standard input: one table.
#[test]
fn rows_stand_in_several_files() {
    let dir = Scratch::new("parts", &PARTS);
    let all = "place,total\nOslo,1.00\nParis,2.00\nRome,8.00";
    for inputs in
        [&["s=parts/a-*.csv"][..], &["s=parts"], &["s=parts/a-2.csv", "s=parts/a-1.csv"], &["s=parts/a-?.csv"]]
    {
        let args: Vec<&str> = inputs.iter().flat_map(|input| ["--in", input]).chain(["--out", "out=-"]).collect();
        assert_eq!(dir.run(TOTALS, &args, ""), Ok(all.to_string()), "{inputs:?}");
    }
    let piped = dir.run(TOTALS, &["--in", "s=-", "--in", "s=parts/a-1.csv", "--out", "out=-"], PARTS[1].1);
    assert_eq!(piped, Ok(all.to_string()));
    let none = dir.run(TOTALS, &["--in", "s=parts/b-*.csv"], "").unwrap_err();
    assert_eq!((none.0, none.1.contains("--in s=parts/b-*.csv: no file has such a name")), (2, true), "{none:?}");
    let empty = dir.run(TOTALS, &["--in", "s=."], "").unwrap_err();
    assert_eq!((empty.0, empty.1.contains("the folder has no file whose name ends in .csv")), (2, true), "{empty:?}");
}

/// A fault is named in the file that it is in, and in its rows.
#[test]
fn faults_of_several_files_are_in_one() {
    let dir = Scratch::new("faults", &PARTS);
    let keyed = "dim CITY: string  table s[city: CITY] { amount: dec(2) }  t[] = sum(c: amount[c])";
    let null = dir.run(keyed, &["--in", "s=parts"], "").unwrap_err();
    assert_eq!(null.0, 3);
    let says = "parts/a-2.csv: row 2, column city: a null, and `string` holds none: a key has none; \
        `--table NAME=null-keys=drop` leaves such rows out";
    assert_eq!(null.1, says);
    let dropped = dir.run(keyed, &["--in", "s=parts", "--table", "s=null-keys=drop"], "").unwrap_err();
    let says = "parts/a-2.csv without 1 row whose keys are null: row 1, column city: the key `Rome` stands in row 1 of \
        parts/a-1.csv too: a mode `row` would number the rows of one key";
    assert_eq!(dropped, (3, says.to_string()));
}

/// What separates fields, no header, what a null is, and keys that are null.
#[test]
fn files_are_read_as_they_are_written() {
    let files = [("semi.csv", "city;amount\nRome;NA\n\"NA\";2\n;3\n"), ("tabs.csv", "Rome\t7\nOslo\t8\n")];
    let dir = Scratch::new("settings", &files);
    let keyed = "dim CITY: string  table s[city: CITY] { amount: dec(2) fill 0.5 }
        table out[c: CITY] { got: dec(2) }  got[c] = amount[c]";
    let settings = ["s=separator=;", "s=null=NA", "s=null-keys=drop"];
    let args: Vec<&str> = settings.iter().flat_map(|s| ["--table", s]).collect();
    let read = dir.run(keyed, &[&["--in", "s=semi.csv", "--out", "out=-"], &args[..]].concat(), "");
    assert_eq!(read, Ok("c,got\nNA,2.00\nRome,0.50".to_string()));
    let other = dir.run(keyed, &["--in", "s=semi.csv"], "").unwrap_err();
    assert!(other.1.ends_with("`--table NAME=separator=;` reads others"), "{other:?}");
    let numbered = "dim CITY: string  table s[row: N] { city = \"1\": CITY, many = \"2\": i64 }
        tensor by: i64[CITY]  by[city[n]] += many[n]";
    let args = ["--in", "s=tabs.csv", "--table", "s=header=no", "--table", "s=separator=tab", "--out", "by=-"];
    assert_eq!(dir.run(numbered, &args, ""), Ok("CITY,by\nOslo,8\nRome,7".to_string()));
    let wrong = dir.run(numbered, &["--in", "s=tabs.csv", "--table", "s=header=maybe"], "").unwrap_err();
    assert_eq!((wrong.0, wrong.1.contains("`header=maybe` given, separator=;,")), (2, true), "{wrong:?}");
}

/// Rows in the order of columns; equal ones in that of labels; the first of them.
#[test]
fn results_are_ordered_and_cut_off() {
    let dir = Scratch::new("order", &[("s.csv", "city,amount\nRome,2\nOslo,1\nParis,2\nBonn,-1\n")]);
    let run = |args: &[&str]| dir.run(TOTALS, &[&["--in", "s=s.csv", "--out", "out=-"], args].concat(), "");
    let ordered = run(&["--order", "out=total:desc"]);
    assert_eq!(ordered, Ok("place,total\nParis,2.00\nRome,2.00\nOslo,1.00\nBonn,-1.00".to_string()));
    let both = run(&["--order", "out=total:desc,place:desc", "--limit", "out=2"]);
    assert_eq!(both, Ok("place,total\nRome,2.00\nParis,2.00".to_string()));
    // The first column orders first: by the last alone Rome would be first, and Bonn last.
    let first = run(&["--order", "out=total,place:desc"]);
    assert_eq!(first, Ok("place,total\nBonn,-1.00\nOslo,1.00\nRome,2.00\nParis,2.00".to_string()));
    assert_eq!(run(&["--limit", "out=1"]), Ok("place,total\nBonn,-1.00".to_string()));
    let refused = |args: &[&str], says: &str| {
        let (status, said) = run(args).unwrap_err();
        assert!(status == 2 && said.contains(says), "{status} {said}");
    };
    refused(&["--order", "out=totl"], "`out` has no column `totl`: `place`, `total`");
    refused(&["--order", "city=total"], "the program has no result `city` with labels");
    refused(&["--limit", "out=some"], "--limit out takes a number of rows, not `some`");
}

/// Rows of a generated table, as a file of comma-separated values has them: labels that repeat and that do not, nulls, texts with commas.
fn lines(count: u64, separator: &str, end: &str) -> String {
    let mut seed = 0x2545_f491_4f6c_dd1du64;
    let mut below = |n: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) % n
    };
    let mut text = String::new();
    for n in 0..count {
        let city = match below(9) {
            0 => String::new(),
            1 => format!("\"own{separator}{n}\""),
            _ => format!("c{}", below(40)),
        };
        let amount = format!("{}.{:02}", below(5_000), below(100));
        let note = ["", "\"\"", "red", "\"dark\nred\"", "é"][below(5) as usize];
        let at = format!("2024-02-{:02} {:02}:30", 1 + below(29), below(24));
        text += &[city, amount, note.to_string(), at].join(separator);
        text += end;
    }
    text
}

const BATCHED: &str = "dim CITY: string  dim DAY: date  dim WHEN: timestamp
    table s[row: N] { city: CITY, amount: dec(2), note: string, at: WHEN }
    table out[place: CITY] { total: dec(2), rows: i64, last: WHEN }
    total[city[n]] += if contains(note[n], \"red\") then amount[n] else 0  rows[city[n]] += 1
    last[city[n]] max= at[n]
    tensor days: i64[DAY]  days[date(at[n])] += 1
    table kept[row: N] { where_ = \"where\": CITY, paid: dec(2) } sparse
    where_[n] = mask(amount[n] > 4990, city[n])  paid[n] = mask(amount[n] > 4990, amount[n])
    spread[] = stddev(n: amount[n])  above[] = count(n: convert(amount[n], f64) > spread[])";

/// A table in files of comma-separated values that is read in batches gives what it gives at once: however lines end, packed, in several
/// files, with other separators, without a header.
#[test]
fn lines_are_read_in_batches() {
    use flate2::{Compression, write::GzEncoder};
    let head = "city,amount,note,at\n";
    let dir = Scratch::new(
        "batches",
        &[
            ("s.csv", &(head.to_string() + &lines(9_000, ",", "\n"))),
            ("parts/1.csv", &(head.to_string() + &lines(5_000, ",", "\r\n"))),
            ("parts/2.csv", "at,city,note,amount\n2024-02-29,last,,7\n"),
            ("parts/3.csv", head),
            ("semi.csv", &lines(9_000, ";", "\n")),
            ("empty.csv", head),
        ],
    );
    let mut packer = GzEncoder::new(Vec::new(), Compression::fast());
    packer.write_all((head.to_string() + &lines(9_000, ",", "\r")).as_bytes()).unwrap();
    std::fs::write(dir.0.join("packed.csv.gz"), packer.finish().unwrap()).unwrap();
    let numbered = ["city", "amount", "note", "at"].iter().enumerate().fold(BATCHED.to_string(), |text, (n, name)| {
        text.replacen(&format!("{name}: "), &format!("{name} = \"{}\": ", n + 1), 1)
    });
    let settings = ["--table", "s=separator=;", "--table", "s=header=no"];
    let cases: [(&str, &[&str], &str); 5] = [
        (BATCHED, &[], "s=s.csv"),
        (BATCHED, &[], "s=parts"),
        (BATCHED, &[], "s=packed.csv.gz"),
        (&numbered, &settings, "s=semi.csv"),
        (BATCHED, &[], "s=empty.csv"),
    ];
    for (program, settings, input) in cases {
        let run = |memory: &[&str]| -> Vec<String> {
            let results = ["out", "days", "kept", "spread", "above"];
            let named: Vec<String> = results.iter().map(|name| format!("{name}={name}.csv")).collect();
            let outputs: Vec<&str> = named.iter().flat_map(|name| ["--out", name]).collect();
            let all = [&["--in", input], settings, memory, &outputs[..]].concat();
            assert_eq!(dir.run(program, &all, ""), Ok(String::new()), "{input} {memory:?}");
            results.iter().map(|name| std::fs::read_to_string(dir.0.join(format!("{name}.csv"))).unwrap()).collect()
        };
        let whole = run(&[]);
        let within = |text: &str, other: &str| {
            let number = |text: &str| text.lines().nth(1).and_then(|x| x.parse::<f64>().ok());
            text == other || number(text).zip(number(other)).is_some_and(|(a, b)| (a - b).abs() <= 1e-9 * b.abs())
        };
        for memory in ["2M", "600K"] {
            let batches = run(&["--memory", memory]);
            for (n, (made, meant)) in batches.iter().zip(&whole).enumerate() {
                // Sums of floats are grouped otherwise.
                assert!(made == meant || n == 3 && within(made, meant), "{input}, {memory}: {made}\n{meant}");
            }
        }
    }
}

/// A fault is in its row of its file, whatever batch that is in; a row that is uneven, in its line.
#[test]
fn faults_of_batches_are_in_their_rows() {
    let good = lines(9_000, ",", "\n");
    let head = "city,amount,note,at\n";
    let (begin, end) = good.split_at(good.match_indices('\n').nth(7_000).unwrap().0 + 1);
    let bad = |row: &str| format!("{head}{begin}{row}\n{end}");
    let row = lines_to_rows(begin) + 1;
    let dir = Scratch::new(
        "batched-faults",
        &[("amount.csv", &bad("x,1.234,,2024-02-01")), ("uneven.csv", &bad("x,1")), ("parts/b.csv", &bad("x,1,,late"))],
    );
    std::fs::write(dir.0.join("parts/a.csv"), head).unwrap();
    for memory in [&[][..], &["--memory", "600K"]] {
        let refused = |input: &str| dir.run(BATCHED, &[&["--in", input], memory].concat(), "").unwrap_err();
        let digits = "1.234 has 3 digits behind its point, and `dec(2)` holds 2";
        assert_eq!(
            refused("s=amount.csv"),
            (3, format!("amount.csv: row {row}, column amount: {digits}")),
            "{memory:?}"
        );
        let line = begin.matches('\n').count() + 2;
        let uneven = format!("uneven.csv:{line}:1: 2 fields in a row, and 4 columns in the header");
        assert_eq!(refused("s=uneven.csv"), (3, uneven), "{memory:?}");
        let (status, said) = refused("s=parts");
        let at = format!("parts/b.csv: row {row}, column at: expected a timestamp");
        assert!(status == 3 && said.starts_with(&at), "{memory:?}: {said}");
    }
    // Rows of keys are not left out of batches, and that is refused with what to write.
    let keyed = "dim CITY: string  table s[city: CITY, row: N] { amount: dec(2) }  t[] = sum(c, n: amount[c,n])";
    std::fs::write(dir.0.join("good.csv"), format!("{head}{good}")).unwrap();
    let args = ["--in", "s=good.csv", "--table", "s=null-keys=drop", "--memory", "100K"];
    let (status, said) = dir.run(keyed, &args, "").unwrap_err();
    assert!(status == 5 && said.contains("null-keys=drop leaves no rows out of batches: write its files"), "{said}");
}

/// How many rows such lines are: some texts have a line of their own.
fn lines_to_rows(text: &str) -> usize {
    text.matches('\n').count() - text.matches("\"dark\n").count()
}
