//! What the bench is asked to measure.

use std::path::PathBuf;
use std::time::Duration;

use super::contest::Rounds;
use super::stores::Store;
use super::work::{self, Work};

/// The command line, as `--help` shows it.
pub const USAGE: &str = "\
usage: bench [--quick] [--rounds N] [--seconds N] [--out DIR] [STORE|LOAD]...

Compares glint with tgt, and on Gluster with fio's own gfapi_async engine, which is the limit: round after round one after the other,
medians, and ratios pair by pair. Prints a table and the goals, and writes DIR/bench.json and DIR/bench.svg. It takes root.

  STORE         null ram digests file file-tmpfs gluster-1-brick gluster-replica-3; default: all
  LOAD          the beginning of a load's name: '4k randread qd1' '4k randwrite qd1' '4k randread qd32' '4k randwrite qd32'
                '4k 70/30 qd32' '256k read qd8' '256k write qd8' '4k randread x4' '4k randwrite x4'; default: all
  --quick       null, ram, file and gluster-1-brick under 4k at depth 32 and reads at depth 1; 3 rounds of half a second
  --rounds N    how often each runs under each load (default 5)
  --seconds N   for how long each time (default 1.5)
  --out DIR     where to write";

/// What is to be measured, and how.
#[derive(Debug, PartialEq)]
pub struct Options {
    /// How thoroughly.
    pub rounds: Rounds,
    /// Where to write the results.
    pub out: Option<PathBuf>,
    /// On what.
    pub stores: Vec<Store>,
    /// Under which loads.
    pub works: Vec<Work>,
}

impl Options {
    /// Read a command line; none when it says what nobody knows.
    #[must_use]
    pub fn parse(arguments: impl IntoIterator<Item = String>) -> Option<Self> {
        let mut arguments = arguments.into_iter();
        let (mut quick, mut count, mut time, mut out) = (false, None, None, None);
        let (mut stores, mut works) = (Vec::new(), Vec::new());
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--quick" => quick = true,
                "--rounds" => count = Some(arguments.next()?.parse().ok().filter(|&count| count > 0)?),
                "--seconds" => time = Some(seconds(&arguments.next()?)?),
                "--out" => out = Some(PathBuf::from(arguments.next()?)),
                name => match Store::ALL.into_iter().find(|store| store.name() == name) {
                    Some(store) => stores.push(store),
                    None => works.extend(named(name)?),
                },
            }
        }
        let (default_count, default_time) = if quick { (3, 500) } else { (5, 1500) };
        let rounds = Rounds {
            count: count.unwrap_or(default_count),
            time: time.unwrap_or(Duration::from_millis(default_time)),
        };
        if stores.is_empty() {
            stores = match quick {
                true => vec![Store::Null, Store::Ram, Store::File, Store::Brick],
                false => Store::ALL.to_vec(),
            };
        }
        if works.is_empty() {
            works = match quick {
                true => vec![work::READ_QD32, work::WRITE_QD32, work::READ_QD1],
                false => work::ALL.to_vec(),
            };
        }
        Some(Self { rounds, out, stores, works })
    }
}

/// A time between a tenth of a second and an hour.
fn seconds(text: &str) -> Option<Duration> {
    let seconds: f64 = text.parse().ok()?;
    (0.1..=3600.0).contains(&seconds).then(|| Duration::from_secs_f64(seconds))
}

/// The loads whose names begin so; none when there is none.
fn named(beginning: &str) -> Option<Vec<Work>> {
    let works: Vec<Work> = work::ALL.into_iter().filter(|work| work.name.starts_with(beginning)).collect();
    (!beginning.is_empty() && !works.is_empty()).then_some(works)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(arguments: &[&str]) -> Option<Options> {
        Options::parse(arguments.iter().map(|argument| (*argument).to_owned()))
    }

    #[test]
    fn all_is_measured_five_times_by_itself() {
        let options = parse(&[]).expect("nothing has to be said");
        assert_eq!((options.stores, options.works), (Store::ALL.to_vec(), work::ALL.to_vec()));
        assert_eq!(options.rounds, Rounds { count: 5, time: Duration::from_millis(1500) });
    }

    #[test]
    fn what_is_said_goes_before_what_quick_means() {
        let options = parse(&["--rounds", "7", "--quick", "ram", "256k"]).expect("it is right");
        assert_eq!(
            (options.stores, options.works),
            (vec![Store::Ram], vec![work::READ_256K, work::WRITE_256K])
        );
        assert_eq!(options.rounds, Rounds { count: 7, time: Duration::from_millis(500) });
    }

    #[test]
    fn what_nobody_knows_is_refused() {
        for wrong in
            [&["--fast"][..], &["--rounds", "0"], &["--rounds"], &["--seconds", "-1"], &["8k"], &[""]]
        {
            assert_eq!(parse(wrong), None, "{wrong:?}");
        }
    }

    #[test]
    fn the_usage_names_all_there_is() {
        let stores = Store::ALL.into_iter().map(Store::name);
        for name in stores.chain(work::ALL.into_iter().map(|work| work.name)) {
            assert!(USAGE.contains(name), "{name}");
        }
    }
}
