//! Tables of keys, pairs of rows, and comparisons, where memory does not hold the rows: answers of plain Rust over all of them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::PathBuf;
use std::process::Command;

/// A directory that goes away with the test.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Scratch {
        let dir = std::env::temp_dir().join(format!("fiberloom-keyed-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&dir);
        std::fs::create_dir_all(&dir).unwrap();
        Scratch(dir)
    }

    fn write(&self, name: &str, header: &str, rows: impl Iterator<Item = String>) {
        let text: String = std::iter::once(header.to_string()).chain(rows).map(|row| row + "\n").collect();
        std::fs::write(self.0.join(name), text).unwrap();
    }

    /// What a program writes to its results' files, `NAME.csv` each.
    fn made<const N: usize>(&self, program: &str, args: &[&str], results: [&str; N]) -> [String; N] {
        let outs: Vec<String> = results.iter().map(|name| format!("{name}={name}.csv")).collect();
        let outs = outs.iter().flat_map(|out| ["--out", out.as_str()]);
        let all: Vec<&str> = args.iter().copied().chain(outs).collect();
        let (status, _, says) = self.run(program, &all);
        assert_eq!(status, 0, "{args:?}: {says}");
        results.map(|name| std::fs::read_to_string(self.0.join(format!("{name}.csv"))).unwrap())
    }

    /// The exit status, what is printed, and what is said.
    fn run(&self, program: &str, args: &[&str]) -> (i32, String, String) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fiberloom"));
        let output = command.args(["run", "-e", program]).args(args).current_dir(&self.0).output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim_end().to_string();
        (output.status.code().unwrap_or(-1), text(&output.stdout), text(&output.stderr))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// That files have these lines.
fn agree(made: &[String], expected: &[String], limit: &str) {
    for (made, expected) in made.iter().zip(expected) {
        let name = expected.lines().next().unwrap();
        let differ = made.lines().zip(expected.lines()).find(|(made, expected)| made != expected);
        assert_eq!(differ, None, "{name}, {limit}");
        assert_eq!(made.lines().count(), expected.lines().count(), "{name}, {limit}");
    }
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

    fn within(&mut self, least: i64, most: i64) -> i64 {
        least + self.below((most - least) as u64) as i64
    }
}

/// A row a key: what is computed of keys that have no row, of another table at the same keys, and by group; a value a key.
#[test]
fn a_row_a_key() {
    let (dir, mut draw) = (Scratch::new("row"), Draw(0x4e1));
    let drawn = (0..22_000).map(|_| (draw.within(-50_000, 50_000), (draw.below(9), draw.within(-99, 100))));
    let orders: BTreeMap<i64, (u64, i64)> = drawn.collect();
    let late: BTreeMap<i64, i64> = (0..300).map(|_| (draw.within(-50_500, 50_500), draw.within(1, 9))).collect();
    dir.write("orders.csv", "o,who,x", orders.iter().map(|(o, (who, x))| format!("{o},w{who},{x}")));
    dir.write("late.csv", "o,days", late.iter().map(|(o, days)| format!("{o},{days}")));
    let program = "dim ORDER: i64  dim WHO: string
        table orders[o: ORDER] { who: WHO, x: i64 }  table late[o: ORDER] { days: i64 }
        table out[who_of: WHO] { total: i64 }  total[who[k]] += x[k] * (1 + days[k])
        few[] = count(k: x[k] < 3)  missing[] = count(k: !orders[k])
        most[] = max(k: x[k] - days[k])
        tensor far: i64[ORDER] sparse  far[k] = if x[k] - days[k] > most[] - 4 then x[k] + 200 else 0";
    let labels: BTreeSet<i64> = orders.keys().chain(late.keys()).copied().collect();
    let x = |o: &i64| orders.get(o).map_or(0, |(_, x)| *x);
    let days = |o: &i64| late.get(o).copied().unwrap_or_default();
    let most = labels.iter().map(|o| x(o) - days(o)).max().unwrap();
    let mut totals: BTreeMap<u64, i64> = BTreeMap::new();
    orders.iter().for_each(|(o, (who, x))| *totals.entry(*who).or_default() += x * (1 + days(o)));
    let out: String = totals.iter().map(|(who, total)| format!("w{who},{total}\n")).collect();
    let far = labels.iter().filter(|o| x(o) - days(o) > most - 4);
    let far: String = far.map(|o| format!("{o},{}\n", x(o) + 200)).collect();
    let expected = [
        format!("who_of,total\n{out}"),
        format!("few\n{}\n", labels.iter().filter(|o| x(o) < 3).count()),
        format!("missing\n{}\n", labels.len() - orders.len()),
        format!("most\n{most}\n"),
        format!("ORDER,far\n{far}"),
    ];
    for limit in ["1G", "700K", "400K"] {
        let args = ["--in", "orders=orders.csv", "--in", "late=late.csv", "--memory", limit];
        agree(&dir.made(program, &args, ["out", "few", "missing", "most", "far"]), &expected, limit);
    }
}

/// Several rows a key, which batches end within: sums a key, the most rows of one, and what another pass reads.
#[test]
fn rows_below_a_key() {
    let (dir, mut draw) = (Scratch::new("rows"), Draw(0xbe10));
    let mut lines: Vec<(usize, i64)> = Vec::new();
    for key in 0..900 {
        let many = if key == 400 { 6_000 } else { draw.below(40) };
        (0..many).for_each(|_| lines.push((key, draw.within(-9, 90))));
    }
    dir.write("lines.csv", "k,v", lines.iter().map(|(k, v)| format!("k{k:04},{v}")));
    dir.write("keys.csv", "k,bonus", (0..905).map(|key| format!("k{key:04},{}", key % 7)));
    let program = "dim K: string  table lines[k: K, row: L] { v: i64 } {dense, ragged}  table keys[k: K] { bonus: i64 }
        sum_of[k] = sum(l: v[k,l] * bonus[k])  many[k] = count(l: lines[k,l])  longest[] = max(k: many[k])
        width[] = L  average[] = convert(sum(k: sum_of[k]), f64) / 905.0  above[] = count(k: convert(sum_of[k], f64) > average[])";
    let (mut sums, mut counts) = (vec![0; 905], vec![0; 905]);
    for (key, v) in &lines {
        sums[*key] += v * (*key as i64 % 7);
        counts[*key] += 1;
    }
    let (mut sum_of, mut many) = ("k,sum_of\n".to_string(), "k,many\n".to_string());
    for (key, (sum, count)) in sums.iter().zip(&counts).enumerate() {
        if *sum != 0 {
            writeln!(sum_of, "k{key:04},{sum}").unwrap();
        }
        if *count != 0 {
            writeln!(many, "k{key:04},{count}").unwrap();
        }
    }
    let average = sums.iter().sum::<i64>() as f64 / 905.0;
    let above = sums.iter().filter(|sum| **sum as f64 > average).count();
    let six_thousand = |name: &str| format!("{name}\n6000\n");
    let expected = [sum_of, many, six_thousand("longest"), six_thousand("width"), format!("above\n{above}\n")];
    for limit in ["1G", "700K", "400K"] {
        let args = ["--in", "lines=lines.csv", "--in", "keys=keys.csv", "--memory", limit];
        agree(&dir.made(program, &args, ["sum_of", "many", "longest", "width", "above"]), &expected, limit);
    }
}

/// What rows of keys may not be is said with the row, wherever a batch ends.
#[test]
fn keys_stand_once_and_in_order() {
    let dir = Scratch::new("order");
    let program = "dim K: i64  table s[k: K] { x: i64 }  t[] = sum(k: x[k])";
    let run = |keys: &[i64]| {
        dir.write("s.csv", "k,x", keys.iter().map(|k| format!("{k},1")));
        dir.run(program, &["--in", "s=s.csv", "--memory", "400K"])
    };
    // A batch of a .csv file has some times 4,096 rows.
    for at in [1, 4_095, 4_096, 4_097, 8_192, 19_999] {
        let mut keys: Vec<i64> = (0..20_000).map(|k| 3 * k).collect();
        keys[at] = keys[at - 1];
        let (status, _, says) = run(&keys);
        let expected = format!("s.csv: row {}, column k: the key {} stands in row {at} of s.csv", at + 1, keys[at]);
        assert!(status == 3 && says.starts_with(&expected), "{says}, {expected} expected");
        keys[at] = keys[at - 1] - 1;
        let (status, _, says) = run(&keys);
        let expected = format!("s.csv: row {}, column k: the key is less than that of the row before", at + 1);
        assert!(status == 3 && says.starts_with(&expected) && says.contains("sort its rows by it"), "{says}");
    }
    let keys: Vec<i64> = (0..20_000).map(|k| 3 * k).collect();
    assert_eq!(run(&keys), (0, "t: 1 row\n  t\n  20000".to_string(), String::new()));
}

/// Pairs of rows of one table: counted, summed by group, a value a row, and what is computed of that in another pass.
#[test]
fn pairs_of_rows() {
    let (dir, mut draw) = (Scratch::new("pairs"), Draw(0xa1b));
    let rows: Vec<(u64, i64, i64)> =
        (0..10_000).map(|_| (draw.below(11), draw.within(0, 3_000), draw.within(-40, 41))).collect();
    dir.write("s.csv", "city,a,b", rows.iter().map(|(city, a, b)| format!("c{city:02},{a},{b}")));
    let program = "dim CITY: string  table s[row: N] { city: CITY, a: i64, b: i64 }
        pairs[] = count(n, m: a[n] == a[m])
        table out[place: CITY] { total: i64 }  total[city[n]] += sum(m: mask(a[n] == a[m], b[m]))
        same[n] = count(m: a[n] == a[m])  place_of[n] = 1 + count(m: b[m] > b[n])
        most[] = max(n: same[n])  tensor best: i64[CITY]  best[city[n]] max= same[n] * place_of[n]
        sum_of[] = sum(n: b[n])";
    let (mut count, mut sum, mut of_b) = (BTreeMap::<i64, i64>::new(), BTreeMap::<i64, i64>::new(), [0i64; 81]);
    for (_, a, b) in &rows {
        *count.entry(*a).or_default() += 1;
        *sum.entry(*a).or_default() += b;
        of_b[(b + 40) as usize] += 1;
    }
    let place = |b: i64| 1 + of_b[(b + 41) as usize..].iter().sum::<i64>();
    let (mut total, mut best) = (BTreeMap::<u64, i64>::new(), BTreeMap::<u64, i64>::new());
    let (mut same, mut place_of) = ("n,same\n".to_string(), "n,place_of\n".to_string());
    for (n, (city, a, b)) in rows.iter().enumerate() {
        *total.entry(*city).or_default() += sum[a];
        let best = best.entry(*city).or_default();
        *best = (*best).max(count[a] * place(*b));
        writeln!(same, "{n},{}", count[a]).unwrap();
        // The result's fill is what is computed of nothing: 1.
        if place(*b) > 1 {
            writeln!(place_of, "{n},{}", place(*b)).unwrap();
        }
    }
    let lines = |groups: &BTreeMap<u64, i64>| -> String {
        groups.iter().map(|(city, x)| format!("c{city:02},{x}\n")).collect()
    };
    let expected = [
        format!("pairs\n{}\n", count.values().map(|n| n * n).sum::<i64>()),
        format!("place,total\n{}", lines(&total)),
        same,
        place_of,
        format!("most\n{}\n", count.values().max().unwrap()),
        format!("CITY,best\n{}", lines(&best)),
        format!("sum_of\n{}\n", rows.iter().map(|(_, _, b)| b).sum::<i64>()),
    ];
    for limit in ["1G", "400K"] {
        let args = ["--in", "s=s.csv", "--memory", limit];
        let made = dir.made(program, &args, ["pairs", "out", "same", "place_of", "most", "best", "sum_of"]);
        agree(&made, &expected, limit);
    }
}

/// Pairs of rows that are read below a sign and within an index, folds of folds with another function, and what a result begins with.
#[test]
fn pairs_are_read_in_all_places() {
    let (dir, mut draw) = (Scratch::new("places"), Draw(0x91ac));
    let rows: Vec<(usize, i64, i64)> =
        (0..10_500).map(|_| (draw.below(11) as usize, draw.within(0, 3_000), draw.within(-40, 41))).collect();
    dir.write("s.csv", "city,a,b", rows.iter().map(|(city, a, b)| format!("c{city:02},{a},{b}")));
    dir.write("cities.csv", "c,w", (0..11).map(|city| format!("c{city:02},{}", city * city - 7)));
    dir.write("r.tns", "# extents 10500", (0..10_500).map(|n| format!("{} {}", n + 1, n % 13)));
    let program = "dim CITY: string  table s[row: N] { city: CITY, a: i64, b: i64 }  table cities[c: CITY] { w: i64 }
        near[n] = sum(m: mask(a[n] == a[m], w[city[m]] + 2 * w[city[n]]))
        mirrored[n] = count(m: -b[m] == b[n])  against[n] = count(m: b[m] == -b[n])
        widest[] = max(n: sum(m: mask(a[n] == a[m], b[m])))
        tensor v: i64[3000]  picked[n] = sum(m: mask(b[n] == b[m], v[a[m]]))
        tensor r: i64[N]  r[n] += sum(m: mask(a[n] == a[m], 1))";
    dir.write("v.tns", "# extents 3000", (0..3_000).map(|n| format!("{} {}", n + 1, n * n % 17 - 5)));
    let w = |city: usize| (city * city) as i64 - 7;
    let mut of_a: BTreeMap<i64, (i64, i64, i64)> = BTreeMap::new();
    let mut of_b: BTreeMap<i64, (i64, i64)> = BTreeMap::new();
    for (city, a, b) in &rows {
        let (count, weights, sum) = of_a.entry(*a).or_default();
        (*count, *weights, *sum) = (*count + 1, *weights + w(*city), *sum + b);
        let (count, picked) = of_b.entry(*b).or_default();
        (*count, *picked) = (*count + 1, *picked + a * a % 17 - 5);
    }
    let column = |name: &str, value: &dyn Fn(usize) -> i64| {
        let rows = (0..rows.len()).filter(|n| value(*n) != 0).map(|n| format!("{n},{}\n", value(n)));
        format!("n,{name}\n{}", rows.collect::<String>())
    };
    let mirrored = |n: usize| of_b.get(&-rows[n].2).map_or(0, |(count, _)| *count);
    let near = |n: usize| {
        let (count, weights, _) = of_a[&rows[n].1];
        weights + 2 * count * w(rows[n].0)
    };
    let widest = of_a.values().map(|(.., sum)| sum).max().unwrap();
    let expected = [
        column("near", &near),
        column("mirrored", &mirrored),
        column("against", &mirrored),
        format!("widest\n{widest}\n"),
        column("picked", &|n| of_b[&rows[n].2].1),
        column("r", &|n| n as i64 % 13 + of_a[&rows[n].1].0).replace("n,r", "N,r"),
    ];
    for limit in ["1G", "380K"] {
        let given = ["--in", "s=s.csv", "--in", "cities=cities.csv", "--in", "r=r.tns", "--in", "v=v.tns"];
        let args = [&given[..], &["--memory", limit]].concat();
        agree(&dir.made(program, &args, ["near", "mirrored", "against", "widest", "picked", "r"]), &expected, limit);
    }
}

/// A fold over rows within a sum of another table's rows is one for each of them; a table whose keys are of one domain is not read in batches.
#[test]
fn folds_are_in_sums_over_other_rows() {
    let (dir, mut draw) = (Scratch::new("sums"), Draw(0x5005));
    let rows: Vec<i64> = (0..60_000).map(|_| draw.within(0, 3_000)).collect();
    let bars: Vec<i64> = (0..40).map(|_| draw.within(0, 3_000)).collect();
    dir.write("s.csv", "a", rows.iter().map(i64::to_string));
    dir.write("bars.csv", "least", bars.iter().map(i64::to_string));
    let program = "table s[row: N] { a: i64 }  table bars[row: B] { least: i64 }
        t[] = least[k] * count(n: a[n] * least[k] % 7 == 3)";
    let passing = |least: i64| rows.iter().filter(|a| *a * least % 7 == 3).count() as i64;
    let expected = [format!("t\n{}\n", bars.iter().map(|least| least * passing(*least)).sum::<i64>())];
    for limit in ["1G", "400K"] {
        let args = ["--in", "s=s.csv", "--in", "bars=bars.csv", "--memory", limit];
        assert_eq!(dir.made(program, &args, ["t"]), expected, "{limit}");
    }
    dir.write("two.csv", "k,l,x", (0..9_000).map(|n| format!("k{n:05},k{:05},{}", n * 7 % 9_000, n % 5)));
    let program = "dim K: string  table two[k: K, l: K] { x: i64 }  t[] = sum(k, l: x[k,l])";
    let (status, _, says) = dir.run(program, &["--in", "two=two.csv", "--memory", "400K"]);
    assert!(
        status == 5 && says.contains("table `two` is not read in batches: two of its keys are of one domain"),
        "{says}"
    );
}

/// A fold over rows within an expression at another table's rows is computed at each of them.
#[test]
fn folds_are_at_other_rows() {
    let (dir, mut draw) = (Scratch::new("other"), Draw(0x07e4));
    let rows: Vec<i64> = (0..60_000).map(|_| draw.within(0, 100)).collect();
    let bars: Vec<i64> = (0..40).map(|_| draw.within(0, 100)).collect();
    dir.write("s.csv", "a", rows.iter().map(i64::to_string));
    dir.write("bars.csv", "of,least", bars.iter().enumerate().map(|(n, least)| format!("g{},{least}", n % 3)));
    let program = "dim OF: string  table s[row: N] { a: i64 }  table bars[row: B] { of: OF, least: i64 }
        tensor most: i64[OF]  most[of[k]] max= 1 + count(n: a[n] * least[k] % 7 == 3)";
    let passing = |least: i64| rows.iter().filter(|a| *a * least % 7 == 3).count();
    let most = |group: usize| bars.iter().skip(group).step_by(3).map(|least| 1 + passing(*least)).max().unwrap();
    let expected: String = (0..3).map(|group| format!("g{group},{}\n", most(group))).collect();
    for limit in ["1G", "400K"] {
        let args = ["--in", "s=s.csv", "--in", "bars=bars.csv", "--memory", limit];
        assert_eq!(dir.made(program, &args, ["most"]), [format!("OF,most\n{expected}")], "{limit}");
    }
}

/// The larger table is not cut where only the smaller can be: it is read whole, if it fits.
#[test]
fn the_table_that_can_be_cut_is() {
    let (dir, mut draw) = (Scratch::new("smaller"), Draw(0x5a11));
    let price: Vec<i64> = (0..20_000).map(|_| draw.within(1, 100)).collect();
    let sold: Vec<u64> = (0..18_000).map(|_| draw.below(20_000)).collect();
    dir.write("goods.csv", "g,price,weight", price.iter().enumerate().map(|(g, price)| format!("{g},{price},1")));
    dir.write("sold.csv", "of", sold.iter().map(u64::to_string));
    let program = "dim G: i64  table goods[g: G] { price: i64, weight: i64 }  table sold[row: N] { of: G }
        paid[] = sum(n: price[of[n]] * weight[of[n]])";
    let paid: i64 = sold.iter().map(|g| price[*g as usize]).sum();
    for limit in ["1G", "850K"] {
        let args = ["--in", "goods=goods.csv", "--in", "sold=sold.csv", "--memory", limit];
        assert_eq!(dir.made(program, &args, ["paid"]), [format!("paid\n{paid}\n")], "{limit}");
    }
}

/// `--check` compares each batch, and `--repeat` reads them again.
#[test]
fn batches_are_checked_and_repeated() {
    let dir = Scratch::new("checked");
    dir.write("s.csv", "city,x", (0..300_000).map(|n| format!("c{},{}", n % 3, n % 11)));
    let program = "dim CITY: string  table s[row: N] { city: CITY, x: i64 }
        tensor total: i64[CITY]  total[city[n]] += x[n]";
    let args = ["--in", "s=s.csv", "--memory", "7900K", "--check", "--repeat", "3"];
    let (status, printed, says) = dir.run(program, &args);
    let total = |city: usize| (0..300_000usize).filter(|n| n % 3 == city).map(|n| n % 11).sum::<usize>();
    let totals =
        format!("total: 3 rows\n  CITY  total\n  c0    {}\n  c1    {}\n  c2    {}\n", total(0), total(1), total(2));
    assert!(status == 0 && printed.starts_with(&totals) && says.is_empty(), "{status} {printed} {says}");
    let mut lines = printed.lines().skip(5);
    assert!(lines.next().is_some_and(|line| line.starts_with("3 calls: ")), "{printed}");
    let checked = lines.next().and_then(|line| line.strip_prefix("checked: "));
    let values =
        checked.and_then(|line| line.strip_suffix(" values agree with the reference semantics, batch by batch"));
    // Three groups and a fill in each batch, of which there are two at least, and in their fold.
    assert!(values.and_then(|n| n.parse().ok()).is_some_and(|n: u64| n >= 12), "{printed}");
}
