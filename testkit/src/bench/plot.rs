//! The comparison as a picture: a bar for each load and peer, glint's operations in a second over the peer's.

use std::fmt::Write;

use super::contest::{Contest, Figure};

const LEFT: f64 = 330.0;
const WIDTH: f64 = 480.0;
const ROW: f64 = 18.0;
const TOP: f64 = 48.0;

/// The ratios that the left and the right end of the scale stand for; it is logarithmic, so that half and double look alike.
const SCALE: (f64, f64) = (0.25, 8.0);

fn x_of(ratio: f64) -> f64 {
    let share = (ratio.clamp(SCALE.0, SCALE.1) / SCALE.0).ln() / (SCALE.1 / SCALE.0).ln();
    LEFT + share * WIDTH
}

/// An SVG document.
#[must_use]
pub fn svg(contests: &[Contest]) -> String {
    let bars: Vec<(String, f64)> = contests
        .iter()
        .flat_map(|contest| {
            contest.results.iter().skip(1).filter_map(|other| {
                let ratio = contest.ratio(Figure::Iops, &other.entrant)?;
                let label = format!("{}, {}, against {}", contest.store, contest.work.name, other.entrant);
                Some((label, ratio))
            })
        })
        .collect();
    let height = TOP + ROW * bars.len() as f64 + 16.0;
    let mut text = format!(
        "<svg xmlns='http://www.w3.org/2000/svg' width='{}' height='{height}' font-family='sans-serif' font-size='11'>\n\
         <rect width='100%' height='100%' fill='white'/>\n\
         <text x='{LEFT}' y='16' font-size='13'>glint's IOPS over the peer's (median of rounds)</text>\n",
        LEFT + WIDTH + 60.0
    );
    for ratio in [0.25, 0.5, 1.0, 2.0, 4.0, 8.0] {
        let (x, colour) = (x_of(ratio), if ratio == 1.0 { "#444" } else { "#ccc" });
        let _ = writeln!(
            text,
            "<line x1='{x}' x2='{x}' y1='{TOP}' y2='{}' stroke='{colour}'/><text x='{x}' y='{}' text-anchor='middle'>{ratio}</text>",
            height - 12.0,
            TOP - 6.0
        );
    }
    for (row, (label, ratio)) in bars.iter().enumerate() {
        let y = TOP + ROW * row as f64;
        let (from, to) = (x_of(ratio.min(1.0)), x_of(ratio.max(1.0)));
        let colour = if *ratio < 1.0 { "#c85" } else { "#48a" };
        let _ = writeln!(
            text,
            "<text x='{}' y='{}' text-anchor='end'>{label}</text><rect x='{from:.1}' y='{}' width='{:.1}' height='{}' fill='{colour}'/>\
             <text x='{:.1}' y='{}'>{ratio:.2}</text>",
            LEFT - 8.0,
            y + 13.0,
            y + 3.0,
            (to - from).max(1.0),
            ROW - 6.0,
            to + 4.0,
            y + 13.0
        );
    }
    text.push_str("</svg>\n");
    text
}
