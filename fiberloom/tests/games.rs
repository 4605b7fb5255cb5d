//! The minimax example, against the same by recursion.

#[path = "../examples/game/mod.rs"]
mod game;

use game::{Player, Position, best, kernel};

/// What a position is worth to a player, by playing on.
fn worth(at: &Position, to: Player) -> f64 {
    if at.free().is_empty() || at.winner().is_some() {
        return at.worth(to);
    }
    let all = at.free().into_iter().map(|s| worth(&at.after(s), to));
    if at.mover() == to { all.fold(f64::NEG_INFINITY, f64::max) } else { all.fold(f64::INFINITY, f64::min) }
}

/// Positions after so many moves that are not the end.
fn after(moves: usize) -> Vec<Position> {
    let step = |all: Vec<Position>| {
        let next = |at: Position| at.free().into_iter().map(move |s| at.after(s));
        all.into_iter().flat_map(next).filter(|at| at.winner().is_none()).collect()
    };
    (0..moves).fold(vec![Position([None; 9])], |all, _| step(all))
}

#[test]
fn the_best_moves_are_those_of_a_recursion() {
    for (moves, every) in [(2, 9), (4, 100), (5, 200), (6, 300)] {
        let kernel = kernel(9 - moves).unwrap();
        for at in after(moves).into_iter().step_by(every) {
            let wanted: Vec<_> = at.free().into_iter().map(|s| (s, worth(&at.after(s), at.mover()))).collect();
            let most = wanted.iter().fold(f64::NEG_INFINITY, |most, (_, worth)| worth.max(most));
            assert_eq!(best(&kernel, &at).unwrap(), (wanted, most), "{at:?}");
        }
    }
}

#[test]
fn a_position_is_read() {
    let at = Position::read("X.O.X...O").unwrap();
    assert_eq!((at.free(), at.mover()), (vec![1, 3, 5, 6, 7], Player::Crosses));
    assert_eq!(Position::read("X.O.X..."), None);
    assert_eq!(Position::read("X.O.X...Y"), None);
}
