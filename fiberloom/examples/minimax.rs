//! The best move in noughts and crosses: a fold of maxima and minima over a sparse tensor of all games.
//!
//! ```text
//! cargo run --release --example minimax -- X.O.X...O minimax.svg
//! ```

mod game;

use game::{Player, Position, best, kernel};
use std::fmt::Write;

fn main() -> Result<(), String> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [position, picture] = &args[..] else {
        return Err("expected: POSITION PICTURE.svg, a position as nine of `X`, `O` and `.`".to_string());
    };
    let position = Position::read(position).ok_or("a position is nine of `X`, `O` and `.`, row by row")?;
    if position.free().is_empty() || position.winner().is_some() {
        return Err("this game has ended".to_string());
    }
    let kernel = kernel(position.free().len()).map_err(|e| e.to_string())?;
    let (moves, best) = best(&kernel, &position).map_err(|e| e.to_string())?;
    let word = |worth: f64| {
        if worth > 0.0 {
            "wins"
        } else if worth < 0.0 {
            "loses"
        } else {
            "draws"
        }
    };
    for (square, worth) in &moves {
        println!("{} to square {}: {}", letter(position.mover()), square + 1, word(*worth));
    }
    println!("{} {}", letter(position.mover()), word(best));
    std::fs::write(picture, svg(&position, &moves)).map_err(|e| format!("{picture}: {e}"))
}

fn letter(player: Player) -> char {
    if player == Player::Crosses { 'X' } else { 'O' }
}

/// The position, with what each move is worth on its square.
fn svg(position: &Position, moves: &[(usize, f64)]) -> String {
    let mut out =
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"310\" height=\"310\" viewBox=\"0 0 310 310\">\n".to_string();
    for square in 0..9 {
        let (x, y) = (5 + 100 * (square % 3), 5 + 100 * (square / 3));
        let worth = moves.iter().find(|(s, _)| *s == square).map(|(_, worth)| *worth);
        let colour = match worth {
            Some(worth) if worth > 0.0 => "#c8e6c9",
            Some(worth) if worth < 0.0 => "#ffcdd2",
            Some(_) => "#fff9c4",
            None => "white",
        };
        let text = match (position.0[square], worth) {
            (Some(player), _) => letter(player).to_string(),
            (None, Some(worth)) => format!("{worth:+}"),
            (None, None) => String::new(),
        };
        let size = if position.0[square].is_some() { 64 } else { 28 };
        let _ =
            writeln!(out, "<rect x=\"{x}\" y=\"{y}\" width=\"100\" height=\"100\" fill=\"{colour}\" stroke=\"#444\"/>");
        let _ = writeln!(
            out,
            "<text x=\"{}\" y=\"{}\" font-size=\"{size}\" font-family=\"sans-serif\" text-anchor=\"middle\" dominant-baseline=\"central\">{text}</text>",
            x + 50,
            y + 50
        );
    }
    out + "</svg>\n"
}
