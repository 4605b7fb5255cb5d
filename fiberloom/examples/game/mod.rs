//! Noughts and crosses as a tensor: a mode for each move from a position on, a value where a game has ended.
//!
//! ```text
//!   A[m0, m1, m2]     the squares of three moves; 1 where who moves first has won, -1 where the other has, 0 a draw
//!   -inf elsewhere    a square that is taken, or a game that nobody plays on: pruned
//!
//!   best = max over m0, min over m1, max over m2     and what is pruned counts for neither
//! ```
//!
//! The fill value is what a maximum begins with; [`program`] turns it into what a minimum begins with and back, so loops come to
//! the games that are stored and to no others, though there are 9⁷ for seven moves.

use fiberloom::{Error, Format, Kernel, Options, Program, Tensor, Type, Value};

/// Who plays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Player {
    /// The first.
    Crosses,
    /// The other.
    Noughts,
}

/// Nine squares, row by row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position(pub [Option<Player>; 9]);

/// Three squares in a row.
const ROWS: [[usize; 3]; 8] = [[0, 1, 2], [3, 4, 5], [6, 7, 8], [0, 3, 6], [1, 4, 7], [2, 5, 8], [0, 4, 8], [2, 4, 6]];

impl Position {
    /// `X`, `O` and `.` for the nine squares.
    pub fn read(text: &str) -> Option<Position> {
        let square = |c: char| match c {
            'X' => Some(Some(Player::Crosses)),
            'O' => Some(Some(Player::Noughts)),
            '.' => Some(None),
            _ => None,
        };
        let squares: Option<Vec<_>> = text.chars().map(square).collect();
        squares?.try_into().ok().map(Position)
    }

    /// Whose turn it is.
    pub fn mover(&self) -> Player {
        let count = |p: Player| self.0.iter().filter(|s| **s == Some(p)).count();
        if count(Player::Crosses) == count(Player::Noughts) { Player::Crosses } else { Player::Noughts }
    }

    /// The squares that are free.
    pub fn free(&self) -> Vec<usize> {
        (0..9).filter(|s| self.0[*s].is_none()).collect()
    }

    /// The position after a move to a free square.
    pub fn after(&self, square: usize) -> Position {
        let mut squares = self.0;
        squares[square] = Some(self.mover());
        Position(squares)
    }

    /// Who has three in a row.
    pub fn winner(&self) -> Option<Player> {
        ROWS.iter().find_map(|row| self.0[row[0]].filter(|p| row.iter().all(|s| self.0[*s] == Some(*p))))
    }

    /// What a game that has ended here is worth to a player.
    pub fn worth(&self, to: Player) -> f64 {
        self.winner().map_or(0.0, |winner| if winner == to { 1.0 } else { -1.0 })
    }
}

/// All games from a position that is not the end, as a tensor of a mode for each free square.
pub fn games(from: &Position) -> Tensor<'static> {
    let mut entries = Vec::new();
    play(from, from.mover(), &mut Vec::new(), &mut entries);
    let moves = from.free().len();
    let format = Format::named("csf", moves).expect("a format of any number of modes");
    Tensor::from_entries(vec![9; moves], format, value(f64::NEG_INFINITY), Type::I32, Type::I32, entries)
        .expect("no game is there twice")
}

fn play(at: &Position, first: Player, moves: &mut Vec<i64>, entries: &mut Vec<(Vec<i64>, Value)>) {
    let free = at.free();
    if free.is_empty() || at.winner().is_some() {
        // What is left of a game that has ended is played one way, and changes nothing.
        let rest = free.iter().map(|s| *s as i64);
        return entries.push((moves.iter().copied().chain(rest).collect(), value(at.worth(first))));
    }
    for square in free {
        moves.push(square as i64);
        play(&at.after(square), first, moves, entries);
        moves.pop();
    }
}

fn value(x: f64) -> Value {
    Value::from_f64(Type::F64, x)
}

/// The program for so many moves: `v` is what each first move is worth, `best` what the best is.
pub fn program(moves: usize) -> String {
    let vars: Vec<String> = (0..moves).map(|m| format!("m{m}")).collect();
    let fold = |inner: String, m: usize| match m % 2 {
        0 => format!("max({}: {inner})", vars[m]),
        _ => format!("-turned(-min({}: turned({inner})))", vars[m]),
    };
    let value = (1..moves).rev().fold(format!("A[{}]", vars.join(",")), fold);
    let extents = vec!["9"; moves].join(", ");
    format!(
        "fn turned(x: f64) -> f64 {{ if x == -inf then inf else x }}
         tensor A: f64[{extents}] fill -inf csf
         tensor v: f64[9] fill -inf sparse
         tensor best: f64[]
         v[m0] = {value}
         best[] = max(m0: v[m0])"
    )
}

/// The kernel of [`program`].
pub fn kernel(moves: usize) -> Result<Kernel, Error> {
    Program::parse(&program(moves))?.compile(&Options::default())
}

/// What each move from a position is worth to who moves, and what the best of them is.
pub fn best(kernel: &Kernel, from: &Position) -> Result<(Vec<(usize, f64)>, f64), Error> {
    let outcome = kernel.run(&[("A", &games(from))])?;
    let moves = outcome["v"].entries().map(|(at, v)| (at[0] as usize, v.as_f64())).collect();
    Ok((moves, outcome["best"].values.get(0).as_f64()))
}
