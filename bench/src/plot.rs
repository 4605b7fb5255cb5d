//! The ratios as a picture: one panel a kernel, in SVG.
//!
//! ```text
//!   4 ┤                     ● ─── fiberloom : by hand       a colour a kind of matrix
//!   2 ┤      ○- - -○        ○ - - fiberloom : the best peer
//!   1 ┼──●───●───●──        both axes logarithmic; below 1 fiberloom is faster
//! 0.5 ┤
//!      10⁴  10⁵  10⁶  nonzeros
//! ```

use crate::generate::{KINDS, Kind};
use crate::kernels::Compared;
use crate::report::Row;
use std::fmt::Write;

const COLUMNS: usize = 3;
const WIDTH: f64 = 320.0;
const HEIGHT: f64 = 230.0;
/// Of the head, with the legend.
const HEAD: f64 = 64.0;
/// Around the axes of a panel: left, top, right, bottom.
const MARGINS: [f64; 4] = [44.0, 30.0, 12.0, 32.0];
/// Colours that are told apart by nearly everyone (Okabe and Ito, *Color Universal Design*, 2008).
const COLOURS: [&str; 4] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7"];

/// The picture; kernels in the order of the rows, panels without a measured case left out.
pub fn svg(rows: &[Row]) -> String {
    let mut kernels: Vec<&str> = rows.iter().filter(|r| r.compared().is_some()).map(|r| r.kernel).collect();
    kernels.dedup();
    let height = HEAD + kernels.len().div_ceil(COLUMNS) as f64 * HEIGHT;
    let width = COLUMNS as f64 * WIDTH;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" \
         height=\"{height}\" font-family=\"sans-serif\" font-size=\"11\">\n\
         <rect width=\"{width}\" height=\"{height}\" fill=\"#ffffff\"/>\n"
    );
    legend(&mut svg);
    for (n, kernel) in kernels.iter().enumerate() {
        let (x, y) = ((n % COLUMNS) as f64 * WIDTH, HEAD + (n / COLUMNS) as f64 * HEIGHT);
        let of_kernel: Vec<&Row> = rows.iter().filter(|r| r.kernel == *kernel && r.compared().is_some()).collect();
        let _ = writeln!(svg, "<g class=\"panel\" transform=\"translate({x} {y})\">");
        Panel::of(&of_kernel).draw(kernel, &of_kernel, &mut svg);
        svg.push_str("</g>\n");
    }
    svg + "</svg>\n"
}

fn colour(kind: Kind) -> &'static str {
    COLOURS[KINDS.iter().position(|k| *k == kind).expect("it is a kind")]
}

fn legend(svg: &mut String) {
    let _ = writeln!(
        svg,
        "<text x=\"12\" y=\"22\" font-size=\"14\">time of fiberloom : time of another, by nonzeros; below 1 fiberloom \
         is faster</text>"
    );
    let mut x = 12.0;
    for kind in KINDS {
        let _ = writeln!(
            svg,
            "<rect x=\"{x}\" y=\"37\" width=\"10\" height=\"10\" fill=\"{}\"/><text x=\"{}\" y=\"46\">{}</text>",
            colour(kind),
            x + 15.0,
            kind.name()
        );
        x += 95.0;
    }
    for (series, name) in [(&BY_HAND, "to loops by hand"), (&PEER, "to the best peer")] {
        series.line(&[(x, 42.0), (x + 30.0, 42.0)], "#444444", svg);
        series.mark((x + 15.0, 42.0), "#444444", "", svg);
        let _ = writeln!(svg, "<text x=\"{}\" y=\"46\">{name}</text>", x + 37.0);
        x += 150.0;
    }
}

/// How one of the two ratios is found and drawn.
struct Series {
    ratio: fn(&Compared) -> Option<f64>,
    dashes: &'static str,
    hollow: bool,
}

const BY_HAND: Series = Series { ratio: |c| Some(c.times.ratio), dashes: "none", hollow: false };
const PEER: Series = Series { ratio: |c| Some(c.times.best_peer()?.ratio), dashes: "4 3", hollow: true };

impl Series {
    fn line(&self, points: &[(f64, f64)], colour: &str, svg: &mut String) {
        let points: Vec<String> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        let _ = writeln!(
            svg,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.5\" stroke-dasharray=\"{}\"/>",
            points.join(" "),
            self.dashes
        );
    }

    fn mark(&self, (x, y): (f64, f64), colour: &str, title: &str, svg: &mut String) {
        let fill = if self.hollow { "#ffffff" } else { colour };
        let _ = writeln!(
            svg,
            "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\" fill=\"{fill}\" stroke=\"{colour}\" stroke-width=\"1.5\">\
             <title>{title}</title></circle>"
        );
    }
}

/// What the axes of a panel span: powers of ten and of two.
struct Panel {
    nonzeros: (f64, f64),
    ratios: (i32, i32),
}

impl Panel {
    fn of(rows: &[&Row]) -> Panel {
        let sizes = rows.iter().map(|r| (r.nonzeros as f64).log10());
        let (least, most) = sizes.fold((f64::MAX, f64::MIN), |(a, b), s| (a.min(s), b.max(s)));
        let ratios = rows.iter().filter_map(|r| r.compared()).flat_map(|c| [(BY_HAND.ratio)(c), (PEER.ratio)(c)]);
        let ratios = ratios.flatten().map(f64::log2);
        let (low, high) = ratios.fold((-1.0, 1.0), |(a, b): (f64, f64), r| (a.min(r), b.max(r)));
        Panel { nonzeros: (least - 0.25, most + 0.25), ratios: (low.floor() as i32, high.ceil() as i32) }
    }

    fn x(&self, nonzeros: f64) -> f64 {
        let [left, _, right, _] = MARGINS;
        let (low, high) = self.nonzeros;
        left + (nonzeros.log10() - low) / (high - low) * (WIDTH - left - right)
    }

    fn y(&self, ratio: f64) -> f64 {
        let [_, top, _, bottom] = MARGINS;
        let (low, high) = (self.ratios.0 as f64, self.ratios.1 as f64);
        top + (high - ratio.log2()) / (high - low) * (HEIGHT - top - bottom)
    }

    fn draw(&self, kernel: &str, rows: &[&Row], svg: &mut String) {
        let _ =
            writeln!(svg, "<text x=\"{}\" y=\"20\" font-size=\"13\" font-weight=\"bold\">{kernel}</text>", MARGINS[0]);
        self.grid(rows, svg);
        for kind in KINDS {
            for (series, to) in [(&PEER, "the best peer"), (&BY_HAND, "by hand")] {
                let points = rows.iter().filter(|r| r.kind == kind).filter_map(|r| {
                    let ratio = (series.ratio)(r.compared()?)?;
                    let title = format!("{kernel}, {} {}: {ratio:.2} to {to}", kind.name(), r.nonzeros);
                    Some((self.x(r.nonzeros as f64), self.y(ratio), title))
                });
                let points: Vec<_> = points.collect();
                if points.len() > 1 {
                    series.line(&points.iter().map(|p| (p.0, p.1)).collect::<Vec<_>>(), colour(kind), svg);
                }
                points.iter().for_each(|(x, y, title)| series.mark((*x, *y), colour(kind), title, svg));
            }
        }
    }

    fn grid(&self, rows: &[&Row], svg: &mut String) {
        let (left, right) = (MARGINS[0], WIDTH - MARGINS[2]);
        // At most about eight labels, whatever the span; 1 always has its line.
        let step = ((self.ratios.1 - self.ratios.0) / 8 + 1) as u32;
        for power in (self.ratios.0..=self.ratios.1).filter(|p| p.unsigned_abs().is_multiple_of(step)) {
            let (y, ratio) = (self.y(2f64.powi(power)), 2f64.powi(power));
            let (stroke, width) = if power == 0 { ("#333333", 1.2) } else { ("#dddddd", 0.8) };
            let label = if power < -3 { format!("1/{}", 2f64.powi(-power)) } else { ratio.to_string() };
            let _ = writeln!(
                svg,
                "<line x1=\"{left}\" y1=\"{y:.1}\" x2=\"{right}\" y2=\"{y:.1}\" stroke=\"{stroke}\" \
                 stroke-width=\"{width}\"/><text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{label}</text>",
                left - 6.0,
                y + 4.0
            );
        }
        let mut sizes: Vec<usize> = rows.iter().map(|r| r.nonzeros).collect();
        sizes.sort_unstable();
        sizes.dedup();
        for size in sizes {
            let (x, y) = (self.x(size as f64), HEIGHT - MARGINS[3] + 16.0);
            let _ = writeln!(svg, "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"middle\">{}</text>", short(size));
        }
    }
}

/// A size in a few characters.
fn short(size: usize) -> String {
    match size {
        _ if size.is_multiple_of(1_000_000) => format!("{}M", size / 1_000_000),
        _ if size.is_multiple_of(1_000) => format!("{}k", size / 1_000),
        _ => size.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::tests::row;

    #[test]
    fn a_panel_a_kernel_and_every_mark_within_it() {
        let sizes = [1_000, 1_000_000];
        let rows = ["spmv", "ttv"].map(|k| sizes.map(|n| row(k, Kind::Stencil, n, 1.0 + n as f64 / 1000.0)));
        let svg = svg(&rows.into_iter().flatten().collect::<Vec<_>>());
        assert_eq!(svg.matches("class=\"panel\"").count(), 2);
        assert_eq!(svg.matches("<circle").count(), 2 + 2 * 2 * 2);
        assert_eq!(svg.matches("<polyline").count(), 2 + 2 * 2);
        let number = |attribute: &str| {
            let values = svg.split(attribute).skip(1).map(|s| s.split('"').next().unwrap_or_default());
            values.map(|v| v.parse::<f64>().unwrap()).collect::<Vec<_>>()
        };
        assert!(number(" cx=\"").iter().all(|x| (0.0..=3.0 * WIDTH).contains(x)));
        assert!(number(" cy=\"").iter().skip(2).all(|y| (0.0..=HEIGHT).contains(y)));
        for tag in ["g", "text", "svg", "circle", "title"] {
            let opened = svg.matches(&format!("<{tag} ")).count() + svg.matches(&format!("<{tag}>")).count();
            assert_eq!(opened, svg.matches(&format!("</{tag}>")).count(), "{tag}");
        }
    }
}
