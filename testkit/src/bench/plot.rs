//! The comparison as a picture: for each load and peer glint's operations in a second over the peer's, and the peer's CPU time
//! for an operation over glint's: more to the right is better.

use std::fmt::Write;

use super::contest::{Contest, Figure, Spread};

const LEFT: f64 = 330.0;
const WIDTH: f64 = 480.0;
const ROW: f64 = 24.0;
const TOP: f64 = 48.0;

/// The ratios that the left and the right end of the scale stand for; it is logarithmic, so that half and double look alike.
const SCALE: (f64, f64) = (0.25, 8.0);

fn x_of(ratio: f64) -> f64 {
    let share = (ratio.clamp(SCALE.0, SCALE.1) / SCALE.0).ln() / (SCALE.1 / SCALE.0).ln();
    LEFT + share * WIDTH
}

/// One line of the picture.
struct Row {
    label: String,
    iops: Spread,
    cpu: Option<Spread>,
}

fn rows(contests: &[Contest]) -> Vec<Row> {
    let row = |contest: &Contest, other: &str| {
        let label = format!("{}, {}, against {other}", contest.store, contest.work.name);
        let inverse = |of: Spread| Spread { median: 1.0 / of.median, low: 1.0 / of.high, high: 1.0 / of.low };
        let cpu = contest.ratio(Figure::Cpu, other).map(inverse);
        Some(Row { label, iops: contest.ratio(Figure::Iops, other)?, cpu })
    };
    contests
        .iter()
        .flat_map(|contest| {
            contest.results.iter().skip(1).filter_map(move |other| row(contest, &other.entrant))
        })
        .collect()
}

/// A bar from 1 to the median with its figure, and a line from the least to the most.
fn bar(text: &mut String, y: f64, ratio: Spread, colour: &str) {
    let (from, to) = (x_of(ratio.median.min(1.0)), x_of(ratio.median.max(1.0)));
    let (low, high, middle) = (x_of(ratio.low), x_of(ratio.high), y + 4.5);
    let _ = writeln!(
        text,
        "<rect x='{from:.1}' y='{y}' width='{:.1}' height='9' fill='{colour}'/>\
         <line x1='{low:.1}' x2='{high:.1}' y1='{middle}' y2='{middle}' stroke='#222'/>\
         <text x='{:.1}' y='{}'>{:.2}</text>",
        (to - from).max(1.0),
        to.max(high) + 4.0,
        y + 9.0,
        ratio.median
    );
}

/// An SVG document.
#[must_use]
pub fn svg(contests: &[Contest]) -> String {
    let rows = rows(contests);
    let height = TOP + ROW * rows.len() as f64 + 16.0;
    let mut text = format!(
        "<svg xmlns='http://www.w3.org/2000/svg' width='{}' height='{height}' font-family='sans-serif' font-size='10'>\n\
         <rect width='100%' height='100%' fill='white'/>\n\
         <text x='{LEFT}' y='16' font-size='13'><tspan fill='#48a'>glint's IOPS over the peer's</tspan>, \
         <tspan fill='#7a5'>the peer's CPU time for an operation over glint's</tspan>: medians, least and most</text>\n",
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
    for (number, row) in rows.iter().enumerate() {
        let y = TOP + ROW * number as f64;
        let _ = writeln!(
            text,
            "<text x='{}' y='{}' text-anchor='end'>{}</text>",
            LEFT - 8.0,
            y + 14.0,
            row.label
        );
        bar(&mut text, y + 2.0, row.iops, "#48a");
        if let Some(cpu) = row.cpu {
            bar(&mut text, y + 12.0, cpu, "#7a5");
        }
    }
    text.push_str("</svg>\n");
    text
}

#[cfg(test)]
mod tests {
    use super::super::contest::tests::contest;
    use super::*;

    #[test]
    fn one_is_in_the_place_of_one_and_the_scale_has_ends() {
        assert_eq!((x_of(0.001), x_of(100.0)), (LEFT, LEFT + WIDTH));
        // Two of the five doublings from a quarter to eight.
        assert!((x_of(1.0) - (LEFT + WIDTH * 2.0 / 5.0)).abs() < 1e-9);
    }

    #[test]
    fn a_pair_is_a_bar_with_its_figure() {
        let text = svg(&[contest(&[30.0, 60.0], &[10.0, 20.0])]);
        assert!(text.contains("against b</text>") && text.contains(">3.00</text>"), "{text}");
        assert_eq!(text.matches("<rect").count(), 2, "the ground, and a bar: nothing is known of CPU time");
    }
}
