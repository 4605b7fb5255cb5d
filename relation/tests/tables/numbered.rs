//! Rows numbered below equal coordinates, against counting.

use super::*;

const ROWS: usize = 50;

/// The same rows in the order of their coordinates.
fn sorted(columns: &[Vec<i64>]) -> Vec<Vec<i64>> {
    let mut rows: Vec<Vec<i64>> = (0..ROWS).map(|row| columns.iter().map(|column| column[row]).collect()).collect();
    rows.sort();
    (0..columns.len()).map(|c| rows.iter().map(|row| row[c]).collect()).collect()
}

/// Of each row how many rows before it have its coordinates.
fn counted(columns: &[Vec<i64>]) -> Vec<i64> {
    let before = |row: usize| {
        let equal = |other: &usize| columns.iter().all(|c| c[*other] == c[row]);
        (0..row).filter(equal).count() as i64
    };
    (0..ROWS).map(before).collect()
}

/// The table of rows with these coordinates in its first modes, whose last mode numbers them; each row holds its own number.
fn given(columns: &[Vec<i64>], format: &str) -> ((Relations, Program), Frame<'static>) {
    let names = &["a", "b"][..columns.len()];
    let modes: String = names.iter().map(|name| format!("{name}: {}, ", name.to_uppercase())).collect();
    let at: String = names.iter().map(|name| format!("{name}, ")).collect();
    let text = format!("table t[{modes}row: N] {{ n: i8 }} {format}  s[] = sum({at}r: n[{at}r])");
    let columns = names.iter().zip(columns).map(|(name, all)| Column::new(*name, Values::Plain(all.clone().into())));
    let numbers = Column::new("n", Values::Plain((0..ROWS as i8).collect::<Vec<_>>().into()));
    (checked(&text), Frame::new("t.csv", columns.chain([numbers]).collect()).unwrap())
}

/// The number of each row below its coordinates, where it stands in a table.
fn numbers(columns: &[Vec<i64>]) -> Vec<i64> {
    let ((relations, program), frame) = given(columns, if columns.is_empty() { "sparse" } else { "csf" });
    let bound = bind(&relations, &program, &Given { frames: &[("t", frame)], sizes: &[], limit: 1 << 20 }).unwrap();
    let (_, tensor) = bound.operands.iter().find(|(name, _)| name == "n").unwrap();
    let mut numbers = vec![-1; ROWS];
    for (at, row) in tensor.entries() {
        let row = row.as_i64().unwrap() as usize;
        let (number, coordinates) = at.split_last().unwrap();
        assert!(coordinates.iter().zip(columns).all(|(c, column)| *c == column[row]));
        numbers[row] = *number;
    }
    numbers
}

/// How many coordinates the mode needs that numbers rows.
fn tallest(columns: &[Vec<i64>]) -> i64 {
    let ((relations, program), frame) = given(columns, "");
    let bare = Table { columns: vec![], ..relations.tables[0].clone() };
    let needs = needs(&relations, &program, (&bare, frame), &[]).unwrap();
    assert_eq!(needs.len(), columns.len() + 1);
    needs[columns.len()] as i64
}

/// The same as counting, for each row, the rows before it.
#[test]
fn rows_are_counted_below_their_key() {
    let mut x = 1u64;
    let mut draw = |most: u64| {
        x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        ((x >> 33) % most) as i64
    };
    for (first, second) in [(3, 2), (1 << 30, 2), (2, 1 << 30), (1 << 30, 1 << 30)] {
        let columns = [first, second].map(|most| (0..ROWS).map(|_| draw(most) / (most as i64 / 3).max(1)).collect());
        let columns: [Vec<i64>; 2] = columns.map(|c: Vec<i64>| c.iter().map(|x| x << 28).collect());
        for columns in [&columns[..], &columns[..1], &[]] {
            assert_eq!(numbers(columns), counted(columns));
            let sorted: Vec<Vec<i64>> = sorted(columns);
            let expected = counted(&sorted);
            let most = expected.iter().max().map_or(0, |most| most + 1);
            assert_eq!((tallest(&sorted), tallest(columns)), (most, most));
            let small: Vec<Vec<i64>> = columns.iter().map(|c| c.iter().map(|x| x >> 28).collect()).collect();
            assert_eq!(tallest(&small), most);
            assert_eq!(numbers(&sorted), expected);
            // Below one key of few values rows are put in their places: their numbers take no memory.
            if let [keys] = &small[..] {
                let ((relations, program), frame) = given(&small, "{dense, ragged}");
                let limit = 8 * ROWS as u64;
                let bound = bind(&relations, &program, &Given { frames: &[("t", frame)], sizes: &[], limit }).unwrap();
                assert!(
                    bound.operands.iter().any(|(name, tensor)| name == "n" && tensor.check() == Ok(())),
                    "{keys:?}"
                );
            }
        }
    }
}
