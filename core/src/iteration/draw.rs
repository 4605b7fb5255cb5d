//! Lattices as pictures: points in rows by number of exhaustions, edges labelled with what is exhausted.

use super::Lattice;
use crate::notation::concrete::AccessId;
use std::fmt::Write;

const WIDTH: usize = 260;
const HEIGHT: usize = 46;
const GAP: usize = 54;
const MARGIN: usize = 24;

/// One lattice as an SVG group under a title, and its height in pixels; `name` names the lists.
pub fn group(lattice: &Lattice, title: &str, name: &impl Fn(AccessId) -> String, top: usize) -> (String, usize) {
    let rows = rows(lattice);
    let depth = rows.iter().max().map_or(0, |d| d + 1);
    let mut places = vec![(0, 0); lattice.points.len()];
    let mut used = vec![0; depth];
    for (point, &row) in rows.iter().enumerate() {
        places[point] = (MARGIN + used[row] * (WIDTH + GAP), top + 34 + row * (HEIGHT + GAP));
        used[row] += 1;
    }
    let mut svg = format!("<text x='{MARGIN}' y='{}' font-weight='bold'>{}</text>\n", top + 20, escape(title));
    for (point, p) in lattice.points.iter().enumerate() {
        let (x, y) = places[point];
        for (list, to) in &p.edges {
            let (tx, ty) = places[*to];
            let (x1, y1, x2, y2) = (x + WIDTH / 2, y + HEIGHT, tx + WIDTH / 2, ty);
            let (mx, my) = ((x1 + x2) / 2 + 6, (y1 + y2) / 2);
            let label = escape(&format!("{} exhausted", name(*list)));
            writeln!(
                svg,
                "<line x1='{x1}' y1='{y1}' x2='{x2}' y2='{y2}' stroke='#666' marker-end='url(#arrow)'/>\
                 <text x='{mx}' y='{my}' fill='#666' font-size='11'>{label}</text>"
            )
            .expect("strings take everything");
        }
        let (sequence, shape) = (escape(&p.sequence.show(name)), format!("{:?}", p.shape).to_lowercase());
        writeln!(
            svg,
            "<rect x='{x}' y='{y}' width='{WIDTH}' height='{HEIGHT}' rx='6' fill='#eef3fb' stroke='#35507a'/>\
             <text x='{}' y='{}'>{sequence}</text><text x='{}' y='{}' fill='#666' font-size='11'>{shape}</text>",
            x + 10,
            y + 20,
            x + 10,
            y + 38
        )
        .expect("strings take everything");
    }
    (svg, 34 + depth * (HEIGHT + GAP))
}

/// Groups one below the other, as a whole picture.
pub fn picture(groups: &[(String, usize)], columns: usize) -> String {
    let height: usize = groups.iter().map(|(_, h)| h).sum::<usize>() + MARGIN;
    let width = MARGIN + columns.max(1) * (WIDTH + GAP);
    let body: String = groups.iter().map(|(g, _)| g.as_str()).collect();
    format!(
        "<svg xmlns='http://www.w3.org/2000/svg' width='{width}' height='{height}' font-family='sans-serif' \
         font-size='13'>\n<defs><marker id='arrow' markerWidth='8' markerHeight='8' refX='7' refY='3' orient='auto'>\
         <path d='M0,0 L7,3 L0,6 z' fill='#666'/></marker></defs>\n{body}</svg>\n"
    )
}

/// The greatest number of points side by side.
pub fn columns(lattice: &Lattice) -> usize {
    let rows = rows(lattice);
    (0..lattice.points.len()).map(|r| rows.iter().filter(|x| **x == r).count()).max().unwrap_or(0)
}

/// Each point's distance from the first. Edges lead from smaller to larger points.
fn rows(lattice: &Lattice) -> Vec<usize> {
    let mut rows = vec![0; lattice.points.len()];
    for (point, p) in lattice.points.iter().enumerate() {
        for (_, to) in &p.edges {
            rows[*to] = rows[*to].max(rows[point] + 1);
        }
    }
    rows
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
